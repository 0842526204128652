// leaf.hpp: a page of sorted keys of the ordered index, and the range of keys that it is for.
//
//   | header, fences | slots, ascending -> |   free   | <- texts |
//
// A leaf holds the keys k with low <= k < high, and knows both. What low and high have in common,
// every key in between begins with; it is not stored. A slot holds the four bytes behind that and
// says where the rest lies. Keys whose rest is longer than kNearBytes lie in an allocation of their
// own, whole, so that a split or a merge moves a pointer and cannot fail.
//
// Invariants (1) slots ascend strictly by key. (2) low never changes while the leaf is linked; high
//            is the low of the next leaf. (3) A leaf that is gone holds nothing, never comes back,
//            and stays readable until no guard sees it.
// Threads    Everything but latch() and prefetch() needs the latch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <holdfast/base/spin.hpp>
#include <holdfast/index/ordered/far_key.hpp>
#include <holdfast/index/ordered/key_batch.hpp>
#include <holdfast/index/ordered/leaf_pool.hpp>

namespace holdfast::index::ordered {

// What a descent looks for: the leaf whose range holds `key`, or, with `below`, the one that holds
// the keys just below it. `end` stands for a key above all keys.
struct Target {
  std::string_view key;
  bool below = false;
  bool end = false;
};

struct Position {
  std::uint32_t slot = 0;  // Of the first key that is not below.
  bool found = false;
};

enum class Inserted : std::uint8_t { kYes, kFull, kNoMemory };

class Leaf {
 public:
  static constexpr std::uint32_t kNearBytes = 128;
  static constexpr std::uint32_t kHeaderBytes = 80;
  static constexpr std::uint32_t kRoom = LeafPool::kPageBytes - kHeaderBytes;

  // What a key takes of kRoom in a leaf whose keys share so many bytes.
  static std::uint32_t bytes_for(std::size_t key_bytes, std::size_t prefix);

  // An empty leaf without a range. Null if the system has no memory.
  static Leaf* make(LeafPool& pool);
  // Frees the far keys and gives the page back.
  static void destroy(Leaf* leaf);

  SpinLatch& latch() { return latch_; }
  // Prefetches the lines that a search reads first; or all lines, for a reader of many keys. The
  // leaf may be gone by then.
  void prefetch() const;
  static void prefetch_all(const void* leaf);

  bool gone() const { return gone_; }
  std::string_view low() const { return low_.view(); }
  std::string_view high() const { return high_.view(); }  // If there is a next leaf.
  Leaf* next() const { return next_; }
  bool holds(const Target& target) const;

  std::uint32_t size() const { return count_; }
  Position find(std::string_view key) const;
  // The key must be in range and absent, `at` where find() said. kFull changes nothing.
  Inserted insert(std::uint32_t at, std::string_view key);
  void erase(std::uint32_t at);
  // Appends the keys of slots begin to end to the batch.
  void copy_to(KeyBatch& batch, std::uint32_t begin, std::uint32_t end) const;

  // Moves the keys from slot `at` on into `right`, a new leaf, and links it behind this one.
  // `absent` is the key that has no room: where `at` is size(), it chooses the border. False if the
  // system has no memory: nothing changed.
  bool split(std::uint32_t at, std::string_view absent, Leaf& right);
  // Moves the keys of the next leaf here if they leave a quarter free; the next leaf is gone then.
  bool absorb_next();
  bool sparse() const { return used_bytes() < kRoom / 4; }

  // For bulk load: the range of a leaf that is not yet shared, and the leaf behind it. An empty
  // `high` with next == nullptr means: no end. False if the system has no memory.
  bool set_range(std::string_view low, std::string_view high, Leaf* next);

 private:
  struct Text {
    std::uint16_t offset;  // In the page.
    std::uint16_t length;  // Of the key behind the prefix, head included; or kFar.
  };
  struct Slot {
    std::uint32_t head;  // First bytes behind the prefix, as a big-endian number, padded with 0.
    Text text;
  };
  static constexpr std::uint16_t kFar = 0xffff;
  static constexpr std::uint32_t kHeadBytes = 4;
  class Copy;

  explicit Leaf(LeafPool& pool) : pool_(&pool) {}

  // A key in two pieces, without the prefix.
  struct Parts {
    std::uint32_t head;
    std::string_view rest;
    std::size_t length;  // Of both.
  };
  Parts parts_of(std::string_view key) const;
  Parts parts_of(const Slot& slot) const;
  static int compare(const Parts& a, const Parts& b);
  static std::uint32_t head_of(std::string_view suffix);

  Slot* slots() { return reinterpret_cast<Slot*>(page() + kHeaderBytes); }
  const Slot* slots() const { return reinterpret_cast<const Slot*>(page() + kHeaderBytes); }
  char* page() { return reinterpret_cast<char*>(this); }
  const char* page() const { return reinterpret_cast<const char*>(this); }
  FarKey* far_at(const Slot& slot) const;
  static std::uint32_t text_bytes(Text text);
  std::uint32_t used_bytes() const { return count_ * std::uint32_t{sizeof(Slot)} + live_; }
  std::uint32_t gap() const { return heap_ - kHeaderBytes - count_ * std::uint32_t{sizeof(Slot)}; }
  bool far(std::string_view key) const { return key.size() > prefix_ + kNearBytes; }

  void clear();
  void set_prefix();
  void put(std::uint32_t at, std::uint32_t head, std::string_view rest, std::size_t length,
           FarKey* far);
  // Appends slots of `from`, which has no keys of its own any more after that.
  void take_from(const Leaf& from, std::uint32_t begin, std::uint32_t end);
  void compact();
  std::uint32_t needed_for(const Leaf& other, std::uint32_t prefix) const;

  SpinLatch latch_;
  bool gone_ = false;
  std::uint16_t count_ = 0;
  std::uint16_t heap_ = LeafPool::kPageBytes;  // Where the lowest text begins.
  std::uint16_t live_ = 0;                     // Bytes of texts that slots refer to.
  std::uint32_t prefix_ = 0;                   // Bytes that all keys have in common with low.
  Leaf* next_ = nullptr;
  LeafPool* pool_;
  Fence low_, high_;
};

// How many bytes both begin with.
inline std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t length = 0;
  while (length < shorter && a[length] == b[length])
    ++length;
  return length;
}

}  // namespace holdfast::index::ordered
