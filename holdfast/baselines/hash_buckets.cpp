#include <holdfast/baselines/hash_buckets.hpp>

#include <bit>

#include <holdfast/blocks/interleave/fiber.hpp>

namespace holdfast::baselines {

using namespace holdfast::blocks;  // NOLINT: of these the baselines are made.

using Bucket = HashBuckets::Bucket;

namespace {

// ---- What an operation does to a bucket; the three machineries below only arrange it ----

// Valid if the bucket's latch did not change meanwhile.
std::optional<std::uint64_t> find(const Bucket& bucket, std::uint64_t key) {
  const auto used = Persist::load(&bucket.used);
  for (unsigned slot = 0; slot < HashBuckets::kSlots; ++slot) {
    if ((used >> slot & 1) != 0 && Persist::load(&bucket.slots[slot].key) == key)
      return Persist::load(&bucket.slots[slot].value);
  }
  return std::nullopt;
}

// Under the latch. One line, ordinary stores, the used word last: durable in this order.
template <class Writer>
InsertResult put(Writer& writer, Bucket& bucket, const KeyValue& pair) {
  if (find(bucket, pair.key)) return InsertResult::kExists;
  const auto slot = static_cast<unsigned>(std::countr_one(bucket.used));
  if (slot >= HashBuckets::kSlots) return InsertResult::kFull;
  writer.store(&bucket.slots[slot].key, pair.key);
  writer.store(&bucket.slots[slot].value, pair.value);
  writer.store(&bucket.used, bucket.used | std::uint64_t{1} << slot);
  writer.write_back(&bucket, sizeof bucket);
  return InsertResult::kInserted;
}

}  // namespace

Result<HashBuckets> HashBuckets::open(Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(check_extent("hash buckets", region, extent));
  if (region.granularity() == Granularity::kPage)
    return Error{Errc::kUnsupported,
                 "hash buckets: the region is durable by system calls only (granularity page)"};
  return HashBuckets(region.persist(),
                     reinterpret_cast<Bucket*>(region.data() + extent.offset_bytes),
                     extent.size_bytes / sizeof(Bucket));
}

// ---- Hand-written ----

class HashBuckets::Lookup {
 public:
  Lookup(const HashBuckets& buckets, std::uint64_t key)
      : bucket_(&buckets.first_[buckets.bucket_of(key)]),
        latch_(&buckets.latches_.of(buckets.bucket_of(key))),
        key_(key) {}
  Step step(Member& member) {
    if (!std::exchange(asked_, true) && member.touch(bucket_)) return Step::kAgain;
    const auto seen = latch_->begin_read();
    value_ = find(*bucket_, key_);
    return latch_->unchanged(seen) ? Step::kDone : Step::kBlocked;
  }
  const std::optional<std::uint64_t>& result() const { return value_; }

 private:
  const Bucket* bucket_;
  const NodeLatch* latch_;
  std::uint64_t key_;
  bool asked_ = false;
  std::optional<std::uint64_t> value_;
};

class HashBuckets::Insert {
 public:
  Insert(HashBuckets& buckets, const KeyValue& pair)
      : bucket_(&buckets.first_[buckets.bucket_of(pair.key)]),
        latch_(&buckets.latches_.of(buckets.bucket_of(pair.key))),
        pair_(pair) {}
  Step step(Member& member) {
    switch (state_) {
      case State::kBegin:
        state_ = State::kLatch;
        if (member.touch(bucket_)) return Step::kAgain;
        [[fallthrough]];
      case State::kLatch:
        if (!member.latch(*latch_)) return Step::kBlocked;
        state_ = State::kPut;
        return Step::kAgain;
      case State::kPut: result_ = put(member, *bucket_, pair_); break;
    }
    return Step::kDone;
  }
  InsertResult result() const { return result_; }

 private:
  Bucket* bucket_;
  NodeLatch* latch_;
  KeyValue pair_;
  enum class State : std::uint8_t { kBegin, kLatch, kPut } state_ = State::kBegin;
  InsertResult result_ = InsertResult::kInserted;
};

// ---- Coroutines ----

namespace {

Fiber<std::optional<std::uint64_t>> lookup_in_bucket(Member& member, const Bucket& bucket,
                                                     const NodeLatch& latch, std::uint64_t key) {
  co_await touched(member, &bucket);
  for (;; co_await blocked()) {
    const auto seen = latch.begin_read();
    const auto value = find(bucket, key);
    if (latch.unchanged(seen)) co_return value;
  }
}

Fiber<InsertResult> insert_in_bucket(Member& member, Bucket& bucket, NodeLatch& latch,
                                     const KeyValue pair) {
  co_await touched(member, &bucket);
  while (!member.latch(latch))
    co_await blocked();
  co_await switched();
  co_return put(member, bucket, pair);
}

}  // namespace

[[gnu::flatten]] void HashBuckets::lookup_many(std::span<const std::uint64_t> keys,
                                               std::span<std::optional<std::uint64_t>> out,
                                               Machinery machinery, const Interleaving& how) const {
  HF_CHECK(keys.size() == out.size());
  const auto done = [&](std::size_t i, auto& machine) { out[i] = machine.result(); };
  switch (machinery) {
    case Machinery::kLoop:
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto number = bucket_of(keys[i]);
        const auto& latch = latches_.of(number);
        for (SpinWait wait;; wait()) {
          const auto seen = latch.begin_read();
          out[i] = find(first_[number], keys[i]);
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
            const auto number = bucket_of(keys[i]);
            return lookup_in_bucket(member, first_[number], latches_.of(number), keys[i]);
          },
          done);
      break;
  }
}

[[gnu::flatten]] void HashBuckets::insert_many(std::span<const KeyValue> pairs,
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
        const auto number = bucket_of(pairs[i].key);
        auto& latch = latches_.of(number);
        for (SpinWait wait; !latch.try_lock();)
          wait();
        const auto result = put(persist_, first_[number], pairs[i]);
        if (result == InsertResult::kInserted) persist_.fence();
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
            const auto number = bucket_of(pairs[i].key);
            return insert_in_bucket(member, first_[number], latches_.of(number), pairs[i]);
          },
          done);
      break;
  }
}

}  // namespace holdfast::baselines
