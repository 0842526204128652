// node.hpp: one node of a FAST+FAIR tree: ascending entries that are shifted in place, in an order
// of stores that leaves a readable node at any time.
//
// The rule   Of two neighbours with one key, the left one does not count. Behind the last entry all
//            keys are kNoKey. So a slot is taken out of sight by one store: its neighbour's key.
// Guarantee  insert(), erase() and replace_value() are durable on return, and a crash leaves each
//            wholly or not at all.
// Fences     insert, erase: one for each line between the place and the last entry, at least one.
//            replace_value, link, truncate: 1.
// Threads    Looking from any, beside a writer, without a latch and without a store. Changing needs
//            the latch.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/blocks/interleave/node_latches.hpp>
#include <holdfast/index/fastfair/fastfair_format.hpp>
#include <holdfast/memory/persist.hpp>
#include <holdfast/memory/sealed_word.hpp>

namespace holdfast::index::fastfair_detail {

// The state of one node, in DRAM. Zero bytes: not accessed since the tree was opened.
class NodeState {
 public:
  blocks::NodeLatch latch;

  enum class Way : std::uint32_t { kRight = 0, kLeft = 1 };
  // The last bit: which way entries were shifted last. A reader goes the same way: an entry that
  // moves ahead of it is met, perhaps twice, and never missed.
  std::uint32_t turn() const { return word().load(std::memory_order_acquire); }
  static Way way_of(std::uint32_t turn) { return static_cast<Way>(turn & 1); }
  bool repaired() const { return turn() != 0; }
  void set_repaired() {
    if (!repaired()) word().store(2, std::memory_order_release);
  }
  // Before entries are shifted.
  void turn_to(Way way) {
    const auto now = turn();
    if (way_of(now) != way) word().store(now + 1, std::memory_order_seq_cst);
  }

 private:
  std::atomic_ref<std::uint32_t> word() const {
    return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(turn_));
  }
  std::uint32_t turn_ = 0;  // A plain one: arrays of zeros hold nothing that cannot be copied.
};

class Node {
 public:
  Node(const Persist& persist, std::byte* at, const FastFairShape& shape, std::uint64_t id,
       std::uint32_t number, NodeState& state)
      : persist_(persist),
        head_(reinterpret_cast<NodeHead*>(at)),
        shape_(shape),
        id_(id),
        number_(number),
        state_(&state) {}

  std::uint32_t number() const { return number_; }
  NodeState& state() const { return *state_; }

  // ---- The head ----

  // Nothing: damaged, or never a node.
  std::optional<std::uint32_t> level() const;
  std::uint64_t low() const { return Persist::load(&head_->low); }
  std::uint64_t high() const { return Persist::load(&head_->high); }
  bool has_sibling() const { return Persist::load(&head_->sibling) != 0; }
  // Nothing: damaged. Ask has_sibling() before.
  std::optional<std::uint32_t> sibling() const {
    return number_in(Persist::load(&head_->sibling), sibling_context(id_, number_));
  }
  std::optional<std::uint32_t> leftmost() const { return child({low(), leftmost_word()}); }
  // The child that an entry above the leaves leads to. Nothing: the entry is damaged.
  std::optional<std::uint32_t> child(const Entry& entry) const {
    return number_in(entry.value, child_context(id_, entry.key));
  }
  Entry child_entry(std::uint64_t low, std::uint32_t number) const {
    return {low, seal_word<SealedWord>(number, child_context(id_, low))};
  }

  // ---- Looking, also beside a writer ----

  void prefetch() const;
  std::optional<std::uint64_t> find(std::uint64_t key) const;
  // The last entry whose key is not above. Nothing: the leftmost child is for the key.
  std::optional<Entry> entry_for(std::uint64_t key) const;
  // All entries that count, ascending. `out` has room for kMaxSlots. Returns how many there are.
  std::size_t copy(Entry* out) const;

  // ---- Changing, under the latch ----

  struct Place {
    std::uint32_t slot;   // The first one whose key is not below.
    std::uint32_t count;  // Entries.
    bool found;           // The key is in it.
  };
  Place place_of(std::uint64_t key) const;
  bool full(const Place& place) const { return place.count == shape_.slots; }
  Entry entry(std::uint32_t slot) const { return {key(slot), value(slot)}; }
  // Not into a full node.
  void insert(const Place& place, const Entry& entry) const;
  void erase(const Place& place) const;
  void replace_value(std::uint32_t slot, std::uint64_t value) const;
  // From now on the keys from `low` on are node `sibling`'s.
  void link(std::uint32_t sibling, std::uint64_t low) const;
  // The slots from `first` on, which are a sibling's by now, hold nothing any more.
  void truncate(std::uint32_t first) const;

  struct Contents {
    std::uint32_t level;
    std::uint64_t low, high;
    std::optional<std::uint32_t> sibling;
    std::uint64_t leftmost;  // The word.
    std::span<const Entry> entries;
  };
  std::uint64_t leftmost_word() const { return Persist::load(&head_->leftmost); }
  // All of a node that nobody looks at. Not durable before the next fence.
  void fill(const Contents& contents) const;
  // How many entries a repair leaves, before neighbours of one key are made one. `high`: where its
  // sibling begins. kCorrupt, naming the slot.
  Result<std::uint32_t> check(std::uint64_t high) const;
  // For the first access: makes everything durable that a process that was killed may have left,
  // and ends what a crash interrupted. kCorrupt: nothing was changed.
  Status repair(std::uint64_t high) const;

 private:
  static constexpr std::uint32_t kSlotsOfLine = kCacheLineBytes / sizeof(Entry);

  static std::optional<std::uint32_t> number_in(std::uint64_t word, std::uint64_t context) {
    const auto value = open_word<SealedWord>(word, context);
    if (!value || *value > ~std::uint32_t{0}) return std::nullopt;
    return static_cast<std::uint32_t>(*value);
  }
  Entry* entries() const { return reinterpret_cast<Entry*>(head_ + 1); }
  std::uint64_t key(std::uint32_t slot) const { return Persist::load(&entries()[slot].key); }
  std::uint64_t value(std::uint32_t slot) const { return Persist::load(&entries()[slot].value); }
  std::uint64_t key_behind(std::uint32_t slot) const {
    return slot + 1 < shape_.slots ? key(slot + 1) : kNoKey;
  }
  // The entry of a slot if it counts and did not move meanwhile.
  std::optional<std::uint64_t> value_if(std::uint32_t slot, std::uint64_t key) const;
  std::optional<std::uint64_t> find_rightwards(std::uint64_t key) const;
  std::optional<std::uint64_t> find_leftwards(std::uint64_t key) const;
  std::size_t copy_once(NodeState::Way way, Entry* out) const;
  void persist_line_of(std::uint32_t slot) const { persist_.persist(&entries()[slot], 1); }
  void shift_left(std::uint32_t slot, std::uint32_t count) const;

  Persist persist_;
  NodeHead* head_;
  FastFairShape shape_;
  std::uint64_t id_;
  std::uint32_t number_;
  NodeState* state_;
};

}  // namespace holdfast::index::fastfair_detail
