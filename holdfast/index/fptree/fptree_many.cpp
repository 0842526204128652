// Look-ups and inserts of an FP-Tree, many at once: the machines of blocks::interleave().
//
// What is rare ends a machine with kAlone: a leaf that was not repaired yet, one that is full, one
// that was split while the latch was waited for. The plain verb does it afterwards, when the group
// holds nothing.
#include <vector>

#include <holdfast/base/check.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/index/fptree/fptree.hpp>

namespace holdfast::index {

using namespace fptree_detail;
using blocks::Interleaving;
using blocks::Member;
using blocks::Step;

class FpTree::Lookup {
 public:
  Lookup(const FpTree& tree, std::uint64_t key) : tree_(&tree), key_(key) {}

  Step step(Member& member) {
    switch (state_) {
      case State::kBegin:
        route_ = tree_->inner_.find(key_);
        state_ = State::kLeaf;
        if (member.touch(tree_->leaf_address(route_.leaf))) return Step::kAgain;
        [[fallthrough]];
      case State::kLeaf: {
        begin_ = latch().begin_read();
        if ((begin_ & 1) != 0 || !InnerLevels::still(route_)) return again();
        if (begin_ == 0) return alone();
        candidates_ = leaf().candidates(print_of(key_));
        state_ = State::kSlot;
        if (candidates_ != 0 &&
            member.touch(leaf().slot_address(static_cast<unsigned>(std::countr_zero(candidates_)))))
          return Step::kAgain;
        [[fallthrough]];
      }
      case State::kSlot: {
        const auto slot = leaf().find_among(candidates_, key_);
        value_ = slot ? std::optional(leaf().value(*slot)) : std::nullopt;
        if (HF_MUTANT("T30", !latch().unchanged(begin_), false)) return again();
        return Step::kDone;
      }
    }
    return Step::kDone;
  }
  bool is_alone() const { return alone_; }
  const std::optional<std::uint64_t>& value() const { return value_; }

 private:
  enum class State : std::uint8_t { kBegin, kLeaf, kSlot };
  Leaf leaf() const { return tree_->leaf(route_.leaf); }
  const blocks::NodeLatch& latch() const { return tree_->latch(route_.leaf); }
  Step again() {
    state_ = State::kBegin;
    return Step::kBlocked;
  }
  Step alone() {
    alone_ = true;
    return Step::kDone;
  }

  const FpTree* tree_;
  std::uint64_t key_;
  Route route_{};
  std::uint64_t candidates_ = 0;
  std::uint32_t begin_ = 0;
  State state_ = State::kBegin;
  bool alone_ = false;
  std::optional<std::uint64_t> value_;
};

class FpTree::Insert {
 public:
  Insert(const FpTree& tree, const FpRecord& record) : tree_(&tree), record_(record) {}

  Step step(Member& member) {
    switch (state_) {
      case State::kBegin:
        route_ = tree_->inner_.find(record_.key);
        state_ = State::kLatch;
        if (member.touch(tree_->leaf_address(route_.leaf))) return Step::kAgain;
        [[fallthrough]];
      case State::kLatch: {
        auto& latch = tree_->latch(route_.leaf);
        // Odd: its holder may be about to repair it, and may release it unrepaired. Even and not 0:
        // it is repaired, and stays so.
        const auto now = latch.begin_read();
        if (now == 0) return alone();
        if (HF_MUTANT("T33", (now & 1) != 0, false) || !member.latch(latch)) {
          state_ = State::kBegin;
          return Step::kBlocked;
        }
        if (HF_MUTANT("T31", !InnerLevels::still(route_), false)) return alone();
        return look(member);
      }
      case State::kWrite:
        if (leaf().find_among(candidates_, record_.key)) {
          outcome_ = Errc::kAlreadyExists;
          return Step::kDone;
        }
        if (!slot_) return alone();
        leaf().write_record(member, *slot_, record_);
        state_ = State::kCount;
        if (HF_MUTANT("T32", member.order(), false)) return Step::kFence;
        [[fallthrough]];
      case State::kCount: leaf().count_record(member, *slot_, record_.key); return Step::kDone;
    }
    return Step::kDone;
  }
  bool is_alone() const { return alone_; }
  Errc outcome() const { return outcome_; }

 private:
  enum class State : std::uint8_t { kBegin, kLatch, kWrite, kCount };
  Leaf leaf() const { return tree_->leaf(route_.leaf); }
  Step alone() {
    alone_ = true;
    return Step::kDone;
  }
  Step look(Member& member) {
    candidates_ = leaf().candidates(print_of(record_.key));
    slot_ = leaf().free_slot();
    if (candidates_ != 0)
      (void)member.touch(leaf().slot_address(static_cast<unsigned>(std::countr_zero(candidates_))));
    else if (slot_)
      (void)member.touch(leaf().slot_address(*slot_));
    state_ = State::kWrite;
    return Step::kAgain;
  }

  const FpTree* tree_;
  FpRecord record_;
  Route route_{};
  std::uint64_t candidates_ = 0;
  std::optional<unsigned> slot_;
  State state_ = State::kBegin;
  bool alone_ = false;
  Errc outcome_ = Errc::kOk;
};

Status FpTree::find_many(std::span<const std::uint64_t> keys,
                         std::span<std::optional<std::uint64_t>> values,
                         const Interleaving& how) const {
  HF_CHECK(keys.size() == values.size());
  std::vector<std::size_t> alone;
  blocks::interleave<Lookup>(
      writer_.persist(), how, keys.size(),
      [&](std::size_t i, Member&) { return Lookup(*this, keys[i]); },
      [&](std::size_t i, Lookup& lookup) {
        if (lookup.is_alone())
          alone.push_back(i);
        else
          values[i] = lookup.value();
      });
  for (const auto i : alone) {
    const auto found = find(keys[i]);
    if (!found && found.code() != Errc::kNotFound) return found.error();
    values[i] = found ? std::optional(*found) : std::nullopt;
  }
  return {};
}

Status FpTree::insert_many(std::span<const FpRecord> records, std::span<Errc> outcomes,
                           const Interleaving& how) {
  HF_CHECK(records.size() == outcomes.size());
  HF_RETURN_IF_ERROR(refuse_if_read_only());
  // Nothing is allocated while records are written: an exception would show what is not durable.
  constexpr Errc kLeft = Errc::kBusy;  // No outcome of an insert.
  blocks::interleave<Insert>(
      writer_.persist(), how, records.size(),
      [&](std::size_t i, Member&) { return Insert(*this, records[i]); },
      [&](std::size_t i, Insert& insert) {
        outcomes[i] = insert.is_alone() ? kLeft : insert.outcome();
      });
  Status first;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (outcomes[i] != kLeft) continue;
    const auto status = insert(records[i].key, records[i].value);
    outcomes[i] = status.code();
    if (!status && status.code() != Errc::kAlreadyExists && first) first = status;
  }
  return first;
}

}  // namespace holdfast::index
