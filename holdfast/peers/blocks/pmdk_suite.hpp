// pmdk_suite.hpp: the workloads of suite pmdk, shared by its subjects: bytes at places of an area
// (persist, memcpy, memset), ranges replaced in a transaction, allocation, locks.
//
// Every subject works on the same memory where its library lets it, sees the same places in the
// same order, and what it wrote is read back after each phase. Internal to peers/blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/bench/blocks/suites.hpp>

namespace holdfast::bench::blocks {

// How the copies of libpmem are told to store; the others have no such choice.
enum class StoreHint : std::uint8_t { kNone, kTemporal, kNonTemporal };

struct ByteShape {
  std::string verb;              // "persist", "memcpy" or "memset".
  std::uint32_t bytes = 0;       // Per operation: 8 to 8,192, a multiple of 8.
  bool sequential = true;        // One place after the other, or any.
  std::uint64_t area_bytes = 0;  // Per thread.
  StoreHint hint = StoreHint::kNone;

  results::Fields facts() const {
    results::Fields facts;
    facts.set("area_bytes", area_bytes);
    return facts;
  }
};

// Where the operations of one thread in one phase go: offsets of places that lie side by side. A
// function of the operation's number, so that a check can go through them once more.
class Places {
 public:
  Places(const ByteShape& shape, std::uint64_t seed)
      : bytes_(shape.bytes),
        places_(shape.area_bytes / shape.bytes),
        sequential_(shape.sequential),
        seed_(seed) {}
  std::uint64_t at(std::uint64_t operation) const {
    if (sequential_) return operation % places_ * bytes_;
    // The upper half of a product is an even draw; there are fewer than 2^32 places.
    return ((mix64(seed_ + operation) >> 32) * places_ >> 32) * bytes_;
  }

 private:
  std::uint64_t bytes_, places_;
  bool sequential_;
  std::uint64_t seed_;
};

// What an operation writes: its stamp as the first word and a pattern behind it (memcpy), one byte
// over and over (memset), its stamp as the first word of each line (persist).
class ByteContent {
 public:
  ByteContent(const ByteShape& shape, std::uint64_t phase, unsigned thread)
      : words_(shape.bytes / 8 + 8), base_((phase << 44) ^ (std::uint64_t{thread} << 40)) {
    const auto skip = (0 - reinterpret_cast<std::uintptr_t>(words_.data())) % kCacheLineBytes / 8;
    first_ = words_.data() + skip;
    for (std::size_t i = 0; i < shape.bytes / 8; ++i)
      first_[i] = mix64(thread * 1000 + i);
  }
  std::uint64_t stamp(std::uint64_t operation) const { return base_ + operation + 1; }
  unsigned char byte(std::uint64_t operation) const {
    return static_cast<unsigned char>(mix64(stamp(operation)));
  }
  // Valid until the next call; begins at a line.
  const std::byte* copy(std::uint64_t operation) {
    first_[0] = stamp(operation);
    return reinterpret_cast<const std::byte*>(first_);
  }
  ByteContent(const ByteContent&) = delete;
  ByteContent& operator=(const ByteContent&) = delete;

 private:
  std::vector<std::uint64_t> words_;
  std::uint64_t* first_;
  std::uint64_t base_;
};

// Makes a range leave every cache, so that each phase begins alike. A non-temporal store to a line
// that some check has just read may otherwise be done in the cache.
void evict(const std::byte* begin, std::uint64_t bytes);

// The bytes at an offset of a thread's area, as they are now; null: there are none.
using ReadPlace = std::function<const std::byte*(std::uint64_t offset)>;
// Walks the newest operations of a thread back: places that hold something else than the last
// operation on them wrote are a kCorrupt with "wrong" in it.
Status check_bytes(const ByteShape& shape, const Phase& phase, unsigned thread,
                   std::uint64_t operations, std::uint64_t seed, const ReadPlace& read);

// The seed of the places of a thread in a phase.
inline std::uint64_t place_seed(const Context& context, const Phase& phase, unsigned thread) {
  return mix64(context.options.seed + phase.number * 1000 + thread);
}

// ---- Experiments of objects: transactions, allocation, locks ----

// Transactions are shaped as copies: a range of shape.bytes of an area is replaced, whole or not at
// all. `tx_add_range_16` changes so many in one transaction.
inline constexpr unsigned kRangesPerTransaction = 16;

struct AllocationShape {
  std::uint32_t bytes = 0;    // Of each object; at least 8.
  std::uint64_t objects = 0;  // A phase of `alloc` or `free` has at most so many.

  results::Fields facts() const {
    results::Fields facts;
    facts.set("objects_max", objects);
    return facts;
  }
};

struct LockShape {
  bool shared = false;           // One lock for all threads, or one for each.
  std::uint64_t operations = 0;  // Of a phase; 0: until the time is up.
};

// The name of a subject of libpmem with this hint.
inline const char* libpmem_name(StoreHint hint) {
  constexpr const char* kNames[] = {"libpmem", "libpmem-temporal", "libpmem-nontemporal"};
  return kNames[static_cast<int>(hint)];
}

// Ours and the floors: pmdk_bytes.cpp, pmdk_transactions.cpp, pmdk_allocation.cpp, pmdk_locks.cpp.
std::vector<SubjectEntry> own_byte_entries(const Context& context, const ByteShape& shape);
std::vector<SubjectEntry> own_transaction_entries(const Context& context, const ByteShape& shape);
std::vector<SubjectEntry> own_allocation_entries(const Context& context,
                                                 const AllocationShape& shape);
std::vector<SubjectEntry> own_lock_entries(const Context& context, const LockShape& shape);

}  // namespace holdfast::bench::blocks
