#include <holdfast/index/fptree/fptree.hpp>

#include <algorithm>
#include <array>
#include <string>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/index/fptree/latched.hpp>

namespace holdfast::index {

using namespace fptree_detail;

// ---- Leaves ----

Status FpTree::repair(const Route& route) const {
  const auto one = leaf(route.leaf);
  Status repaired;
  if (!read_only_)
    repaired = one.repair(route.range);
  else if (auto checked = one.check(route.range); !checked)
    repaired = std::move(checked).error();
  if (repaired) return {};
  return Error{repaired.code(), "fp-tree: leaf " + std::to_string(route.leaf) + ": " +
                                    repaired.error().detail + "; restore the tree from a copy"};
}

Result<FpTree::Latched> FpTree::latch_for(std::uint64_t key) const {
  for (SpinWait wait;; wait()) {
    const auto route = inner_.find(key);
    if (!latch(route.leaf).try_lock()) continue;
    Latched at(latch(route.leaf), leaf(route.leaf), route);
    // It may have been split or unlinked before it was latched.
    if (HF_MUTANT("T13", !InnerLevels::still(route), false)) {
      at.unchanged();
      continue;
    }
    if (HF_MUTANT("T14", at.first_access(), false)) {
      if (auto status = repair(route); !status) {
        at.unchanged();
        return std::move(status).error();
      }
    }
    return at;
  }
}

template <class Read>
Status FpTree::read_leaf(std::uint64_t key, Read&& read) const {
  for (SpinWait wait;; wait()) {
    const auto route = inner_.find(key);
    leaf(route.leaf).prefetch_all();
    const auto& latch = this->latch(route.leaf);
    const auto begin = latch.begin_read();
    if ((begin & 1) != 0) continue;
    if (HF_MUTANT("T15", begin == 0, false)) [[unlikely]] {
      HF_RETURN_IF_ERROR(latch_for(key));
      continue;
    }
    // It was for the key when its number was read.
    if (HF_MUTANT("T16", !InnerLevels::still(route), false)) continue;
    read(leaf(route.leaf), route);
    if (HF_MUTANT("T17", latch.unchanged(begin), true)) return {};
  }
}

// ---- Verbs ----

Result<std::uint64_t> FpTree::find(std::uint64_t key) const {
  std::optional<std::uint64_t> value;
  HF_RETURN_IF_ERROR(read_leaf(key, [&](const Leaf& leaf, const Route&) {
    const auto slot = leaf.find(key);
    value = slot ? std::optional(leaf.value(*slot)) : std::nullopt;
  }));
  if (!value) return Error{Errc::kNotFound, {}};
  return *value;
}

Status FpTree::refuse_if_read_only() const {
  if (!read_only_) return {};
  return Error{Errc::kReadOnly, "fp-tree: it was opened read-only; nothing was changed"};
}

Status FpTree::add(const FpRecord& record, bool may_exist) {
  HF_RETURN_IF_ERROR(refuse_if_read_only());
  for (;;) {
    HF_ASSIGN_OR_RETURN(auto at, latch_for(record.key));
    if (const auto slot = at->find(record.key)) {
      if (!may_exist) {
        at.unchanged();
        return Error{Errc::kAlreadyExists, {}};
      }
      at->replace_value(*slot, record.value);
      return {};
    }
    if (const auto slot = at->free_slot()) {
      at->add(*slot, record);
      return {};
    }
    HF_RETURN_IF_ERROR(split(at, record.key));
  }
}

Status FpTree::insert(std::uint64_t key, std::uint64_t value) { return add({key, value}, false); }

Status FpTree::put(std::uint64_t key, std::uint64_t value) { return add({key, value}, true); }

Status FpTree::update(std::uint64_t key, std::uint64_t value) {
  HF_RETURN_IF_ERROR(refuse_if_read_only());
  HF_ASSIGN_OR_RETURN(auto at, latch_for(key));
  const auto slot = at->find(key);
  if (!slot) {
    at.unchanged();
    return Error{Errc::kNotFound, {}};
  }
  at->replace_value(*slot, value);
  return {};
}

Status FpTree::erase(std::uint64_t key) {
  HF_RETURN_IF_ERROR(refuse_if_read_only());
  std::uint64_t low = 0;
  {
    HF_ASSIGN_OR_RETURN(auto at, latch_for(key));
    const auto slot = at->find(key);
    if (!slot) {
      at.unchanged();
      return Error{Errc::kNotFound, {}};
    }
    at->remove(*slot);
    if (!at->empty()) return {};
    low = at.route().range.low;
  }
  // The record is gone, durably. What is left to do concerns space only, and is tried again when
  // the leaf next becomes empty.
  (void)unlink_if_empty(low);
  return {};
}

Status FpTree::scan(std::uint64_t from,
                    FunctionRef<bool(std::uint64_t, std::uint64_t)> visit) const {
  std::array<FpRecord, FpTreeShape::kMaxRecords> records;
  for (;;) {
    std::size_t count = 0;
    KeyRange range;
    HF_RETURN_IF_ERROR(read_leaf(from, [&](const Leaf& leaf, const Route& route) {
      count = 0;
      range = route.range;
      for (auto slots = leaf.used(); slots != 0; slots &= slots - 1) {
        const auto record = leaf.record(static_cast<unsigned>(std::countr_zero(slots)));
        // Read-only, a split that a crash interrupted has left some above the range.
        if (record.key >= from && HF_MUTANT("T18", !range.above(record.key), true))
          records[count++] = record;
      }
    }));
    std::sort(records.begin(), records.begin() + count,
              [](const FpRecord& a, const FpRecord& b) { return a.key < b.key; });
    for (std::size_t i = 0; i < count; ++i) {
      if (!visit(records[i].key, records[i].value)) return {};
    }
    if (range.last) return {};
    from = range.high;
  }
}

// ---- Splitting and unlinking ----

// The new leaf is complete before it is in use, and it is in use before the old one drops what has
// moved. In between both hold it, and the old one's does not count: it lies above its range.
Status FpTree::split(const Latched& at, std::uint64_t key) {
  InnerLevels::Reservation reservation(inner_);
  HF_ASSIGN_OR_RETURN(const auto number, space_.take());
  auto& new_latch = latch(number);
  // A thread that came by an old way may hold it for a moment.
  for (SpinWait wait; !new_latch.try_lock();)
    wait();
  const auto right = leaf(number);

  // In the last leaf, a key above all others begins a leaf of its own: what arrives in order fills
  // its leaves.
  const bool append = at.route().range.last && at->slots_from(key) == 0;
  const auto low = append ? key : at->middle();
  const auto moved = at->slots_from(low);
  std::array<FpRecord, FpTreeShape::kMaxRecords> records;
  std::size_t count = 0;
  for (auto slots = moved; slots != 0; slots &= slots - 1)
    records[count++] = at->record(static_cast<unsigned>(std::countr_zero(slots)));
  if (HF_MUTANT("T19", false, true)) right.enter(id_, number, low);
  right.fill(std::span(records).first(count));
  writer_.persist().fence();
  if (HF_MUTANT("T20", false, true) && moved != 0) at->drop(moved);
  right.enter(id_, number, low);
  writer_.persist().fence();
  if (moved != 0 && HF_MUTANT("T21", true, false)) at->drop(moved);
  inner_.add(low, number, reservation);
  new_latch.unlock();
  return {};
}

// Its keys go to the leaf on its left, which is repaired before: what a split has left in it would
// count again.
Status FpTree::unlink_if_empty(std::uint64_t low) {
  if (low == 0) return {};
  HF_ASSIGN_OR_RETURN(auto left, latch_for(low - 1));
  left.unchanged();
  // Another thread was first: the keys belong to the left leaf already. While that is latched they
  // cannot come to it.
  if (inner_.find(low).leaf == left.route().leaf) return {};
  HF_ASSIGN_OR_RETURN(auto at, latch_for(low));
  if (at.route().range.low != low || !at->empty()) {
    at.unchanged();
    return {};
  }
  at->leave();
  inner_.remove(low);
  space_.give(at.route().leaf);
  return {};
}

}  // namespace holdfast::index
