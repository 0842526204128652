// restore(): into what lies in a region already, and of runs that lie.
#include <algorithm>
#include <cstring>

#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/checkpoint_format.hpp>
#include <holdfast/kv/sealed_run.hpp>
#include <holdfast/kv/superblock.hpp>
#include <holdfast/memory/superblock.hpp>

#include "for_tests.hpp"
#include "kept_checkpoints.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class Restores : public OnEveryPlace {
 protected:
  // Restores it under this name and opens it.
  Store<> restored(const Kept& kept, const std::string& name) const {
    const Status done = kept.restore_to(spec(name));
    EXPECT_TRUE(done) << done.error().message();
    return open(with_access(RegionAccess::kOpen), name);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Restores, kEveryPlace, place_name);

// The region had runs of the same store's later life, with the generations that the restored store
// was about to hand out. After a death the footer of such a run passed for the end of a new one:
// its records were listed, and what was acknowledged since was gone.
TEST_P(Restores, RunsThatAFailedRestoreLeftAreNotTakenForThoseOfTheStore) {
  Kept small, large;
  Contents expected;
  {
    auto store = open();
    ASSERT_TRUE(store.put("key0", expected["key0"] = "of the small one"));
    small.take(store.checkpoint().value());
  }
  {
    auto later = restored(small, "later");
    for (int i = 0; i < 60; ++i)
      ASSERT_TRUE(later.put("later" + std::to_string(i), text_of(i, 400)));
    large.take(later.checkpoint().value());
  }
  const CheckpointPlan plan = CheckpointPlan::decode(large.private_part).value();
  ASSERT_GE(plan.runs.size(), 4u) << "one of the small one, and several behind it";
  large.runs.at(plan.runs.back().name).back() ^= std::byte{1};
  EXPECT_EQ(large.restore_to(spec("again")).code(), Errc::kCorrupt);
  {
    auto copy = restored(small, "again");
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(copy.put("new" + std::to_string(i),
                           expected["new" + std::to_string(i)] = text_of(100 + i, 400)));
    ForTests::abandon(copy);
  }
  auto copy = open(with_access(RegionAccess::kOpen), "again");
  expect_contents(copy, expected);
}

// Backups are read from elsewhere. Places of records that their summaries made up were read.
TEST_P(Restores, ARunWhoseSummaryLeadsOutOfItIsNotRestored) {
  auto store = open();
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i), text_of(i, 40)));
  Kept kept;
  kept.take(store.checkpoint().value());
  const CheckpointPlan plan = CheckpointPlan::decode(kept.private_part).value();
  ASSERT_EQ(plan.runs.size(), 1u);
  const PlannedRun& run = plan.runs[0];
  const std::uint64_t last = (1u << 26) - 1, own = run.used_bytes / kCacheLineBytes;
  for (const std::uint64_t line : {last, own, std::uint64_t{0}}) {
    Kept forged = kept;
    std::byte* const tail = forged.runs.at(run.name).data() + run.used_bytes;
    std::byte* const at = tail + dead_bits_bytes(run.records) + 5 * sizeof(SummaryEntry);
    SummaryEntry entry;
    std::memcpy(&entry, at, sizeof entry);
    entry.packed = (entry.packed & ~std::uint64_t{last}) | line;
    std::memcpy(at, &entry, sizeof entry);
    const std::uint64_t sum = run_tail_checksum(
        tail, run.records, geometry_of(plan.superblock).seed(run.name.generation));
    std::memcpy(tail + run_tail_bytes(run.records) - sizeof(RunFooter), &sum, sizeof sum);
    EXPECT_EQ(forged.restore_to(spec("forged" + std::to_string(line))).code(), Errc::kCorrupt);
  }
}

// A device is given as it is.
TEST(Restore, ARegionThatHoldsSomethingElseStaysAsItIs) {
  StoreOptions options = tiny();
  const auto memory = [&] {
    return Region::open("dram", {.access = RegionAccess::kCreate,
                                 .size_bytes = options.segment_bytes,
                                 .unit_bytes = options.segment_bytes})
        .value();
  };
  Store<> store = Store<>::open(memory(), options).value();
  ASSERT_TRUE(store.put("a", "1"));
  Kept kept;
  kept.take(store.checkpoint().value());
  const CheckpointPlan plan = CheckpointPlan::decode(kept.private_part).value();
  for (const KnownStructure& other : kKnownStructures) {
    Medium medium(memory());
    ASSERT_TRUE(medium.put_word(other.magic_at, other.magic));
    const auto read = kept.reader();
    const Status refused = restore_into(medium, plan, read);
    EXPECT_EQ(refused.code(), Errc::kAlreadyExists) << other.name;
    EXPECT_TRUE(refused || mentions(refused.error(), other.name));
    EXPECT_EQ(medium.word(other.magic_at), other.magic);
  }
}

}  // namespace
}  // namespace holdfast::kv
