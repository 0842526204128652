#include <holdfast/baselines/fp_leaves.hpp>

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <holdfast/blocks/interleave/fiber.hpp>

namespace holdfast::baselines {

using namespace holdfast::blocks;  // NOLINT: of these the baselines are made.

using Leaf = FpLeaves::Leaf;

namespace {

// ---- What an operation does to a leaf; the three machineries below only arrange it ----

// The slots whose fingerprint is `print`, as bits. Words are loaded one by one: each is one store
// of a writer.
std::uint32_t matching(const Leaf& leaf, std::uint8_t print) {
  static_assert(FpLeaves::kSlots == 32);
#if defined(__SSE2__)
  const auto wanted = _mm_set1_epi8(static_cast<char>(print));
  const auto half = [&](unsigned first) {
    const auto prints =
        _mm_set_epi64x(static_cast<long long>(Persist::load(&leaf.prints[first + 1])),
                       static_cast<long long>(Persist::load(&leaf.prints[first])));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(prints, wanted)));
  };
  const auto slots = half(0) | half(2) << 16;
#else
  std::uint32_t slots = 0;
  for (unsigned slot = 0; slot < FpLeaves::kSlots; ++slot)
    slots |= std::uint32_t{(Persist::load(&leaf.prints[slot / 8]) >> slot % 8 * 8 & 0xff) == print}
             << slot;
#endif
  return slots & static_cast<std::uint32_t>(Persist::load(&leaf.used));
}

std::uint32_t free_slot(const Leaf& leaf) {  // kSlots: none.
  return static_cast<std::uint32_t>(
      std::countr_one(static_cast<std::uint32_t>(Persist::load(&leaf.used))));
}

// Phase 1, of Member or Persist: the pair, in a slot that nobody looks at.
template <class Writer>
void write_pair(Writer& writer, Leaf& leaf, std::uint32_t slot, const KeyValue& pair) {
  auto& to = leaf.slots[slot];
  writer.store(&to.key, pair.key);
  writer.store(&to.value, pair.value);
  writer.write_back(&to, sizeof to);
}

// Phase 2, after a fence: fingerprint, then used word. One line, ordinary stores: in this order.
template <class Writer>
void commit(Writer& writer, Leaf& leaf, std::uint32_t slot, std::uint64_t key) {
  auto& prints = leaf.prints[slot / 8];
  const auto shift = slot % 8 * 8;
  writer.store(&prints, (prints & ~(std::uint64_t{0xff} << shift)) |
                            std::uint64_t{FpLeaves::fingerprint(key)} << shift);
  writer.store(&leaf.used, leaf.used | std::uint64_t{1} << slot);
  writer.write_back(&leaf, kCacheLineBytes);
}

}  // namespace

Result<FpLeaves> FpLeaves::open(Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(check_extent("fp leaves", region, extent));
  if (region.granularity() == Granularity::kPage)
    return Error{Errc::kUnsupported,
                 "fp leaves: the region is durable by system calls only (granularity page)"};
  return FpLeaves(region.persist(), reinterpret_cast<Leaf*>(region.data() + extent.offset_bytes),
                  extent.size_bytes / sizeof(Leaf));
}

// ---- Hand-written ----

class FpLeaves::Lookup {
 public:
  Lookup(const FpLeaves& leaves, std::uint64_t key)
      : leaf_(&leaves.leaf_of(key)), latch_(&leaves.latch_of(key)), key_(key) {}
  Step step(Member& member) {
    const auto& leaf = *leaf_;
    const auto& latch = *latch_;
    switch (state_) {
      case State::kBegin:
        state_ = State::kLeaf;
        if (member.touch(&leaf)) return Step::kAgain;
        [[fallthrough]];
      case State::kLeaf:
        seen_ = latch.begin_read();
        if ((seen_ & 1) != 0) return Step::kBlocked;
        candidates_ = matching(leaf, fingerprint(key_));
        state_ = State::kSlot;
        if (candidates_ != 0 && member.touch(&leaf.slots[std::countr_zero(candidates_)]))
          return Step::kAgain;
        [[fallthrough]];
      case State::kSlot:
        // A second candidate is one in 256 slots: no switch for it.
        value_.reset();
        for (; candidates_ != 0; candidates_ &= candidates_ - 1) {
          const auto& slot = leaf.slots[std::countr_zero(candidates_)];
          if (Persist::load(&slot.key) != key_) continue;
          value_ = Persist::load(&slot.value);
          break;
        }
        if (latch.unchanged(seen_)) return Step::kDone;
        state_ = State::kLeaf;
        return Step::kBlocked;
    }
    return Step::kDone;
  }
  const std::optional<std::uint64_t>& result() const { return value_; }

 private:
  enum class State : std::uint8_t { kBegin, kLeaf, kSlot };
  const Leaf* leaf_;
  const NodeLatch* latch_;
  std::uint64_t key_;
  State state_ = State::kBegin;
  std::uint32_t seen_ = 0, candidates_ = 0;
  std::optional<std::uint64_t> value_;
};

class FpLeaves::Insert {
 public:
  Insert(FpLeaves& leaves, const KeyValue& pair)
      : leaf_(&leaves.leaf_of(pair.key)), latch_(&leaves.latch_of(pair.key)), pair_(pair) {}
  Step step(Member& member) {
    auto& leaf = *leaf_;
    switch (state_) {
      case State::kBegin:
        state_ = State::kLeaf;
        if (member.touch(&leaf)) return Step::kAgain;
        [[fallthrough]];
      case State::kLeaf: {
        if (!member.latch(*latch_)) return Step::kBlocked;
        state_ = State::kSlot;
        candidates_ = matching(leaf, fingerprint(pair_.key));
        slot_ = free_slot(leaf);
        const auto look_at =
            candidates_ != 0 ? static_cast<std::uint32_t>(std::countr_zero(candidates_)) : slot_;
        if (look_at < kSlots) (void)member.touch(&leaf.slots[look_at]);
        return Step::kAgain;
      }
      case State::kSlot:
        for (; candidates_ != 0; candidates_ &= candidates_ - 1) {
          if (leaf.slots[std::countr_zero(candidates_)].key == pair_.key) {
            result_ = InsertResult::kExists;
            return Step::kDone;
          }
        }
        if (slot_ == kSlots) {
          result_ = InsertResult::kFull;
          return Step::kDone;
        }
        write_pair(member, leaf, slot_, pair_);
        state_ = State::kCommit;
        if (member.order()) return Step::kFence;
        [[fallthrough]];
      case State::kCommit: commit(member, leaf, slot_, pair_.key); return Step::kDone;
    }
    return Step::kDone;
  }
  InsertResult result() const { return result_; }

 private:
  enum class State : std::uint8_t { kBegin, kLeaf, kSlot, kCommit };
  Leaf* leaf_;
  NodeLatch* latch_;
  KeyValue pair_;
  State state_ = State::kBegin;
  InsertResult result_ = InsertResult::kInserted;
  std::uint32_t candidates_ = 0, slot_ = 0;
};

// ---- Coroutines: the same, as it reads ----

namespace {

Fiber<std::optional<std::uint64_t>> lookup(Member& member, const Leaf& leaf, const NodeLatch& latch,
                                           std::uint64_t key) {
  co_await touched(member, &leaf);
  for (;; co_await blocked()) {
    const auto seen = latch.begin_read();
    if ((seen & 1) != 0) continue;
    std::optional<std::uint64_t> value;
    auto candidates = matching(leaf, FpLeaves::fingerprint(key));
    if (candidates != 0) co_await touched(member, &leaf.slots[std::countr_zero(candidates)]);
    for (; candidates != 0; candidates &= candidates - 1) {
      const auto& slot = leaf.slots[std::countr_zero(candidates)];
      if (Persist::load(&slot.key) != key) continue;
      value = Persist::load(&slot.value);
      break;
    }
    if (latch.unchanged(seen)) co_return value;
  }
}

Fiber<InsertResult> insert(Member& member, Leaf& leaf, NodeLatch& latch, const KeyValue pair) {
  co_await touched(member, &leaf);
  while (!member.latch(latch))
    co_await blocked();
  auto candidates = matching(leaf, FpLeaves::fingerprint(pair.key));
  const auto slot = free_slot(leaf);
  const auto look_at =
      candidates != 0 ? static_cast<std::uint32_t>(std::countr_zero(candidates)) : slot;
  if (look_at < FpLeaves::kSlots) (void)member.touch(&leaf.slots[look_at]);
  co_await switched();
  for (; candidates != 0; candidates &= candidates - 1) {
    if (leaf.slots[std::countr_zero(candidates)].key == pair.key) co_return InsertResult::kExists;
  }
  if (slot == FpLeaves::kSlots) co_return InsertResult::kFull;
  write_pair(member, leaf, slot, pair);
  co_await ordered(member);
  commit(member, leaf, slot, pair.key);
  co_return InsertResult::kInserted;
}

}  // namespace

[[gnu::flatten]] void FpLeaves::lookup_many(std::span<const std::uint64_t> keys,
                                            std::span<std::optional<std::uint64_t>> out,
                                            Machinery machinery, const Interleaving& how) const {
  HF_CHECK(keys.size() == out.size());
  const auto done = [&](std::size_t i, auto& machine) { out[i] = machine.result(); };
  switch (machinery) {
    case Machinery::kLoop:
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto& leaf = leaf_of(keys[i]);
        const auto& latch = latch_of(keys[i]);
        for (SpinWait wait;; wait()) {
          const auto seen = latch.begin_read();
          out[i].reset();
          for (auto candidates = matching(leaf, fingerprint(keys[i])); candidates != 0;
               candidates &= candidates - 1) {
            const auto& slot = leaf.slots[std::countr_zero(candidates)];
            if (Persist::load(&slot.key) != keys[i]) continue;
            out[i] = Persist::load(&slot.value);
            break;
          }
          if (latch.unchanged(seen)) break;
        }
      }
      break;
    case Machinery::kStateMachines:
      interleave<Lookup>(
          persist_, how, keys.size(),
          [&](std::size_t i, Member&) { return Lookup(*this, keys[i]); }, done);
      break;
    case Machinery::kCoroutines:
      interleave<Fiber<std::optional<std::uint64_t>>>(
          persist_, how, keys.size(),
          [&](std::size_t i, Member& member) {
            return lookup(member, leaf_of(keys[i]), latch_of(keys[i]), keys[i]);
          },
          done);
      break;
  }
}

[[gnu::flatten]] void FpLeaves::insert_many(std::span<const KeyValue> pairs,
                                            std::span<InsertResult> out, Machinery machinery,
                                            const Interleaving& how,
                                            void (*on_done)(void*, std::size_t), void* context) {
  HF_CHECK(pairs.size() == out.size());
  const auto finish = [&](std::size_t i, InsertResult result) {
    out[i] = result;
    if (on_done != nullptr) on_done(context, i);
  };
  const auto done = [&](std::size_t i, auto& machine) { finish(i, machine.result()); };
  switch (machinery) {
    case Machinery::kLoop:
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        auto& leaf = leaf_of(pairs[i].key);
        auto& latch = latch_of(pairs[i].key);
        for (SpinWait wait; !latch.try_lock();)
          wait();
        auto result = InsertResult::kInserted;
        for (auto candidates = matching(leaf, fingerprint(pairs[i].key)); candidates != 0;
             candidates &= candidates - 1) {
          if (leaf.slots[std::countr_zero(candidates)].key == pairs[i].key)
            result = InsertResult::kExists;
        }
        const auto slot = free_slot(leaf);
        if (result == InsertResult::kInserted && slot == kSlots) result = InsertResult::kFull;
        if (result == InsertResult::kInserted) {
          write_pair(persist_, leaf, slot, pairs[i]);
          persist_.fence();
          commit(persist_, leaf, slot, pairs[i].key);
          persist_.fence();
        }
        latch.unlock();
        finish(i, result);
      }
      break;
    case Machinery::kStateMachines:
      interleave<Insert>(
          persist_, how, pairs.size(),
          [&](std::size_t i, Member&) { return Insert(*this, pairs[i]); }, done);
      break;
    case Machinery::kCoroutines:
      interleave<Fiber<InsertResult>>(
          persist_, how, pairs.size(),
          [&](std::size_t i, Member& member) {
            return insert(member, leaf_of(pairs[i].key), latch_of(pairs[i].key), pairs[i]);
          },
          done);
      break;
  }
}

}  // namespace holdfast::baselines
