// Interleaved operations under the crash checker: nothing is acknowledged before the group's fence,
// two members on one node, both machineries, fences per group as tested constants.
#include <gtest/gtest.h>

#include <map>

#include <holdfast/baselines/fp_leaves.hpp>
#include <holdfast/baselines/hash_buckets.hpp>
#include <holdfast/crash/checker.hpp>

namespace holdfast::blocks {
namespace {

using namespace holdfast::baselines;  // NOLINT: what this tests.

using Contents = std::map<std::uint64_t, std::uint64_t>;

struct How {
  Machinery machinery;
  Interleaving how;
};

Contents read(const FpLeaves& leaves) {
  Contents contents;
  for (std::uint64_t i = 0; i < leaves.leaves(); ++i) {
    const auto& leaf = leaves.leaf(i);
    for (unsigned slot = 0; slot < FpLeaves::kSlots; ++slot) {
      if ((leaf.used >> slot & 1) != 0) contents[leaf.slots[slot].key] = leaf.slots[slot].value;
    }
  }
  return contents;
}

template <class Table>
Result<Contents> recover(Region& region, std::uint64_t keys) {
  HF_ASSIGN_OR_RETURN(const auto table, Table::open(region, whole(region)));
  std::vector<std::uint64_t> all(keys);
  for (std::uint64_t key = 0; key < keys; ++key)
    all[key] = key;
  std::vector<std::optional<std::uint64_t>> values(keys);
  table.lookup_many(all, values, Machinery::kLoop);
  Contents contents;
  for (std::uint64_t key = 0; key < keys; ++key) {
    if (values[key]) contents[key] = *values[key];
  }
  // Lookups by fingerprint and a walk over slots show the same.
  if constexpr (std::is_same_v<Table, FpLeaves>) {
    if (read(table) != contents)
      return Error{Errc::kCorrupt, "a slot is used that a lookup does not find"};
  }
  return contents;
}

// Operation id inserts pairs[id - 1]; ids above the first call's belong to `then`.
template <class Table>
crash::Protocol<Contents> inserts(const How& run, const std::vector<KeyValue>& pairs,
                                  std::uint64_t keys) {
  crash::Protocol<Contents> protocol;
  const auto insert = [run](Region& region, crash::Workload& workload,
                            std::span<const KeyValue> batch, std::uint64_t first_id) {
    auto table = Table::open(region, whole(region)).value();
    for (std::size_t i = 0; i < batch.size(); ++i)
      workload.begin(first_id + i, static_cast<std::uint32_t>(i));
    struct Context {
      crash::Workload& workload;
      std::uint64_t first_id;
    } context{workload, first_id};
    std::vector<InsertResult> results(batch.size());
    table.insert_many(
        batch, results, run.machinery, run.how,
        [](void* where, std::size_t i) {
          auto& acknowledged = *static_cast<Context*>(where);
          acknowledged.workload.acknowledge(acknowledged.first_id + i);
        },
        &context);
  };
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    insert(region, workload, pairs, 1);
  };
  protocol.recover = [=](Region& region) { return recover<Table>(region, keys); };
  const std::vector<KeyValue> later = {{keys - 1, 77}};
  protocol.then = [=](Region& region, crash::Workload& workload, const Contents&) {
    insert(region, workload, later, 100);
  };
  protocol.check = [=](const crash::Past<Contents>& past, const Contents& seen) -> std::string {
    auto expected = past.base;
    auto possible = past.base;
    for (const auto& operation : past.operations) {
      const auto& pair = operation.id >= 100 ? later[0] : pairs[operation.id - 1];
      // A key that is there stays as it is; of two pairs of one key either may be first.
      possible.emplace(pair.key, pair.value);
      if (operation.acknowledged()) expected.emplace(pair.key, pair.value);
    }
    for (const auto& [key, value] : expected) {
      const auto found = seen.find(key);
      if (found == seen.end())
        return "key " + std::to_string(key) + " was acknowledged and is lost";
    }
    for (const auto& [key, value] : seen) {
      const auto found = possible.find(key);
      if (found == possible.end()) return "key " + std::to_string(key) + " comes from nowhere";
      if (found->second != value) return "key " + std::to_string(key) + " has a torn value";
    }
    return "";
  };
  return protocol;
}

crash::Options medium(const crash::Model& model) {
  crash::Options options;
  options.model = model;
  options.size_bytes = options.unit_bytes = options.max_size_bytes = 4 * KiB;
  options.images_per_run = 1'000'000;
  options.kept_once_shown = false;  // To open these baselines writes nothing back.
  return options;
}

class InterleaveCrash : public testing::TestWithParam<crash::Model> {};
INSTANTIATE_TEST_SUITE_P(Models, InterleaveCrash,
                         testing::Values(crash::kLine, crash::kLineStreaming, crash::kByte),
                         [](const auto& model) { return crash::name(model.param); });

constexpr Machinery kMachineries[] = {Machinery::kLoop, Machinery::kStateMachines,
                                      Machinery::kCoroutines};

TEST_P(InterleaveCrash, LeavesKeepWhatWasAcknowledgedAfterTheGroupsFence) {
  for (const auto machinery : kMachineries) {
    for (const bool shared_fences : {false, true}) {
      const How run{machinery, {3, true, shared_fences}};
      // Three leaves.
      const std::vector<KeyValue> pairs = {{1, 11}, {70, 12}, {140, 13}};
      const auto report = crash::check(inserts<FpLeaves>(run, pairs, 192), medium(GetParam()));
      EXPECT_TRUE(report.ok()) << report;
      EXPECT_TRUE(report.exhaustive());
      EXPECT_GT(report.images_in_all(), 10u);
      // Three inserts, two fences each, or together.
      const bool together = shared_fences && machinery != Machinery::kLoop;
      EXPECT_EQ(report.operation(3).barriers(), together ? 2u : 6u);
    }
  }
}

TEST_P(InterleaveCrash, MembersThatMeetOnALeafTakeTurns) {
  for (const auto machinery : kMachineries) {
    const How run{machinery, {4, true, true}};
    // Two on leaf 0, one of them twice; one elsewhere.
    const std::vector<KeyValue> pairs = {{1, 11}, {2, 12}, {1, 11}, {70, 13}};
    const auto report = crash::check(inserts<FpLeaves>(run, pairs, 192), medium(GetParam()));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_TRUE(report.exhaustive());
  }
}

TEST_P(InterleaveCrash, BucketsNeedOneFencePerGroup) {
  for (const auto machinery : kMachineries) {
    const How run{machinery, {4, true, true}};
    const std::vector<KeyValue> pairs = {{1, 11}, {2, 12}, {3, 13}};
    const auto report = crash::check(inserts<HashBuckets>(run, pairs, 8), medium(GetParam()));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_TRUE(report.exhaustive());
    EXPECT_EQ(report.operation(3).barriers(), machinery == Machinery::kLoop ? 3u : 1u);
  }
}

// An operation that is done leaves its place to the next one before its own fence. Without a switch
// for the first miss, the third insert meets the first one's leaf while that one waits to be
// acknowledged.
TEST_P(InterleaveCrash, OperationsThatBeginBeforeTheFenceOfOthers) {
  for (const auto machinery : {Machinery::kStateMachines, Machinery::kCoroutines}) {
    for (const bool reads : {true, false}) {
      const How run{machinery, {2, reads, true}};
      for (const std::uint64_t third : {140, 2}) {
        const std::vector<KeyValue> pairs = {{1, 11}, {70, 12}, {third, 13}, {210, 14}};
        const auto report = crash::check(inserts<FpLeaves>(run, pairs, 256), medium(GetParam()));
        EXPECT_TRUE(report.ok()) << report;
        EXPECT_TRUE(report.exhaustive());
        EXPECT_EQ(report.operation(3).barriers(), 4u);  // Two for each group of two.
      }
      const std::vector<KeyValue> pairs = {{1, 11}, {2, 12}, {3, 13}, {4, 14}};
      const auto report = crash::check(inserts<HashBuckets>(run, pairs, 8), medium(GetParam()));
      EXPECT_TRUE(report.ok()) << report;
      EXPECT_TRUE(report.exhaustive());
      EXPECT_EQ(report.operation(3).barriers(), 2u);
    }
  }
}

// ---- Published: members that do not know of each other ----

// Hole 25. Both read the used word before either sets its bit, and take the same slot; and a result
// is given when the member ends, not when its fence is over.
enum class Mistake { kSharedSlot, kEarlyAcknowledgement };

class UnawareInsert {
 public:
  UnawareInsert(FpLeaves& leaves, const KeyValue& pair) : leaf_(&leaves.leaf(0)), pair_(pair) {}
  Step step(Member& member) {
    switch (state_++) {
      case 0:
        slot_ = static_cast<unsigned>(std::countr_one(static_cast<std::uint32_t>(leaf_->used)));
        member.store(&leaf_->slots[slot_].key, pair_.key);
        member.store(&leaf_->slots[slot_].value, pair_.value);
        member.write_back(&leaf_->slots[slot_], sizeof(KeyValue));
        if (member.order()) return Step::kFence;
        [[fallthrough]];
      default: {
        auto& prints = leaf_->prints[slot_ / 8];
        const auto shift = slot_ % 8 * 8;
        member.store(&prints, (prints & ~(std::uint64_t{0xff} << shift)) |
                                  std::uint64_t{FpLeaves::fingerprint(pair_.key)} << shift);
        member.store(&leaf_->used, leaf_->used | std::uint64_t{1} << slot_);
        member.write_back(leaf_, kCacheLineBytes);
        return Step::kDone;
      }
    }
  }

 private:
  FpLeaves::Leaf* leaf_;
  KeyValue pair_;
  unsigned state_ = 0, slot_ = 0;
};

TEST(InterleaveHoles, Hole25TwoMembersOfAGroupTakeTheSameSlotOfOneLeaf) {
  const std::vector<KeyValue> pairs = {{1, 11}, {2, 12}};
  auto protocol = inserts<FpLeaves>({Machinery::kLoop, {}}, pairs, 64);
  protocol.then = nullptr;
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    auto leaves = FpLeaves::open(region, whole(region)).value();
    workload.begin(1, 1);
    workload.begin(2, 2);
    interleave<UnawareInsert>(
        region.persist(), {2, true, true}, 2,
        [&](std::size_t i, Member&) { return UnawareInsert(leaves, pairs[i]); },
        [&](std::size_t i, UnawareInsert&) { workload.acknowledge(i + 1); });
  };
  auto options = medium(crash::kLine);
  options.keep_going = true;
  const auto report = crash::check(protocol, options);
  ASSERT_FALSE(report.ok());
  // Of the pair that was overwritten nothing is left, in every image from the last commit on; half
  // way through it, the first pair's fingerprint stands for the second pair.
  EXPECT_EQ(report.violations[0], 2u) << report;
}

TEST(InterleaveHoles, Hole25AResultThatIsGivenBeforeTheGroupsFenceIsLost) {
  const std::vector<KeyValue> pairs = {{1, 11}};
  auto protocol = inserts<HashBuckets>({Machinery::kLoop, {}}, pairs, 8);
  protocol.then = nullptr;
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    auto buckets = HashBuckets::open(region, whole(region)).value();
    auto& bucket = buckets.bucket(buckets.bucket_of(1));
    const auto& persist = region.persist();
    workload.begin(1);
    persist.store(&bucket.slots[0].key, 1);
    persist.store(&bucket.slots[0].value, 11);
    persist.store(&bucket.used, 1);
    persist.write_back(&bucket, sizeof bucket);
    workload.acknowledge(1);  // As the published group does: its fence comes with the next round.
    persist.fence();
  };
  auto options = medium(crash::kLine);
  options.keep_going = true;
  options.durable_at_acknowledge = false;  // Found by crashing, too.
  const auto report = crash::check(protocol, options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.violations[0], 3u) << report;  // Three stores of which the last is not durable.
}

}  // namespace
}  // namespace holdfast::blocks
