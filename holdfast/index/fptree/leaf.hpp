// leaf.hpp: one leaf of an FP-Tree: records in no order, found by a byte of their keys' hashes.
//
// Guarantee  add(), replace_value() and remove() are durable on return, and a crash leaves each
//            wholly or not at all: a record is durable before the word that counts it.
// Cost       find: the head's line, and one line for each slot with the key's print: mostly one,
//            rarely two. Fences: add 2; replace_value, remove, trim 1.
// Threads    Any may read, and then checks the leaf's latch. Changes need the latch.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/index/fptree/fptree_format.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::index::fptree_detail {

class Leaf {
 public:
  Leaf(const Persist& persist, std::byte* at, const FpTreeShape& shape)
      : persist_(persist), head_(reinterpret_cast<LeafHead*>(at)), shape_(shape) {}

  // ---- Looking ----

  std::uint64_t used() const { return Persist::load(&head_->used) & shape_.all_slots(); }
  bool empty() const { return used() == 0; }
  // Slots that hold a key of this print, as bits.
  std::uint64_t candidates(std::uint8_t print) const;
  std::optional<unsigned> find(std::uint64_t key) const {
    return find_among(candidates(print_of(key)), key);
  }
  std::optional<unsigned> find_among(std::uint64_t slots, std::uint64_t key) const;
  FpRecord record(unsigned slot) const {
    return {Persist::load(&records()[slot].key), Persist::load(&records()[slot].value)};
  }
  std::uint64_t value(unsigned slot) const { return Persist::load(&records()[slot].value); }
  std::optional<unsigned> free_slot() const;
  const void* slot_address(unsigned slot) const { return &records()[slot]; }
  void prefetch() const { prefetch_for_read(head_); }
  // Prefetches all of the leaf, for one look-up. So the record's line need not wait for the head,
  // which tells the slot.
  void prefetch_all() const {
    const auto* const begin = reinterpret_cast<const std::byte*>(head_);
    for (std::uint64_t at = 0; at < shape_.leaf_bytes(); at += kCacheLineBytes)
      prefetch_for_read(begin + at);
  }

  // ---- Changing ----

  // Writer: Persist, or a member of an interleaved group. First the record is written, in a slot
  // that no thread looks at; then comes a fence, then count_record(). Its stores go to one line,
  // where ordinary stores become durable in order.
  template <class Writer>
  void write_record(Writer& writer, unsigned slot, const FpRecord& record) const {
    auto& to = records()[slot];
    writer.store(&to.key, record.key);
    writer.store(&to.value, record.value);
    writer.write_back(&to, sizeof to);
  }
  template <class Writer>
  void count_record(Writer& writer, unsigned slot, std::uint64_t key) const {
    const auto now = Persist::load(&head_->used) | std::uint64_t{1} << slot;
    if (HF_MUTANT("T02", false, true)) writer.store(&head_->used, now);
    auto* const prints = &head_->prints[slot / 8];
    const auto shift = slot % 8 * 8;
    writer.store(prints, (Persist::load(prints) & ~(std::uint64_t{0xff} << shift)) |
                             std::uint64_t{print_of(key)} << shift);
    writer.store(&head_->used, now);
    writer.write_back(head_, kCacheLineBytes);
  }
  void add(unsigned slot, const FpRecord& record) const;
  void replace_value(unsigned slot, std::uint64_t value) const;
  void remove(unsigned slot) const;

  // ---- Splitting and unlinking ----

  // The slots of the keys from `key` on, as bits.
  std::uint64_t slots_from(std::uint64_t key) const;
  // The key below which half of the records lie.
  std::uint64_t middle() const;
  // Makes a free leaf hold these records, at most as many as it has slots. Not durable before the
  // next fence; no thread looks at it before enter().
  void fill(std::span<const FpRecord> records) const;
  // From now on leaf `number` is in use, for the keys from `low` on. Not durable before the next
  // fence.
  void enter(std::uint64_t id, std::uint32_t number, std::uint64_t low) const;
  // From now on it is free.
  void leave() const;
  // The slots hold nothing any more.
  void drop(std::uint64_t slots) const;

  // ---- Recovery ----

  enum class Use : std::uint8_t { kFree, kInUse, kDamaged };
  Use use(std::uint64_t id, std::uint32_t number) const;
  std::uint64_t low() const { return Persist::load(&head_->low); }
  void write_back_use() const { persist_.write_back(&head_->low, kCacheLineBytes); }
  // The slots whose keys are in the range, as bits. Keys above it may be left from a split that a
  // crash interrupted. Errors: kCorrupt, naming the slot.
  Result<std::uint64_t> check(const KeyRange& range) const;
  // For the first access: checks, drops records above the range, and makes durable all that a
  // killed process may have left. Errors: kCorrupt; nothing was changed then.
  Status repair(const KeyRange& range) const;

 private:
  FpRecord* records() const { return reinterpret_cast<FpRecord*>(head_ + 1); }

  Persist persist_;
  LeafHead* head_;
  FpTreeShape shape_;
};

}  // namespace holdfast::index::fptree_detail
