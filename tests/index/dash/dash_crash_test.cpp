// A Dash index in every state that a power failure can leave.
#include <array>

#include "dash_crash.hpp"

namespace holdfast::index {
namespace {

using enum IndexOperation::Kind;

// Hashes of one index, counted up so that no two are the same.
class Hashes {
 public:
  explicit Hashes(std::uint32_t buckets) : buckets_(buckets) {}
  std::uint64_t next(std::uint32_t bucket, std::uint32_t pattern = 0) {
    return hash_in(bucket, buckets_, pattern, ++number_);
  }

 private:
  std::uint32_t buckets_;
  std::uint16_t number_ = 0;
};

// `count` inserts of keys of the bucket.
void add_inserts(std::vector<IndexOperation>& operations, Hashes& hashes, unsigned count,
                 std::uint32_t bucket, std::uint32_t pattern = 0) {
  for (unsigned i = 0; i < count; ++i)
    operations.push_back({1'000 + operations.size(), kInsert, hashes.next(bucket, pattern)});
}

crash::Report check_all(const DashRun& run) { return check_index(run.protocol()); }

DashOptions small(std::uint32_t buckets, std::uint32_t stash, std::uint32_t segments = 3) {
  DashOptions options;
  options.buckets = buckets, options.stash_buckets = stash;
  options.segments = segments, options.max_depth = 4;
  return options;
}

DashRun run_of(const DashOptions& options) {
  DashRun run;
  run.options = options;
  return run;
}

TEST(DashCrash, InsertUpdateAndEraseTakeOneFenceAndOneLineEach) {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 1));
  const auto old = hashes.next(0), other = hashes.next(1), added = hashes.next(0);
  run.before = {{1, kInsert, old}, {2, kInsert, other}};
  run.operations = {{3, kInsert, added}, {4, kUpdate, added}, {5, kErase, old}};
  run.after = {{6, kInsert, hashes.next(0)}, {7, kErase, other}};
  const auto report = check_all(run);
  EXPECT_TRUE(report.exhaustive());
  for (const auto id : {3u, 4u, 5u}) {
    EXPECT_EQ(report.operation(id).barriers(), 1u);
    EXPECT_EQ(report.operation(id).lines_written_back, 1u);
  }
}

TEST(DashCrash, AnIndexThatIsCreatedIsThereWhollyOrNotAtAll) {
  DashRun run = run_of(small(2, 1));
  auto protocol = run.protocol();
  protocol.initial = {false, {}};
  // What lies there before is no structure of Holdfast's and no zeros.
  protocol.setup = [](Region& region) {
    const std::vector<std::byte> rubbish(region.size_bytes(), std::byte{0xa5});
    region.write(0, rubbish).value();
  };
  protocol.then = nullptr;
  protocol.workload = [&](Region& region, crash::Workload& workload) {
    workload.perform(1, [&] { Dash::create(region, blocks::whole(region), run.options).value(); });
  };
  protocol.check = [](const crash::Past<IndexState>& past, const IndexState& seen) -> std::string {
    if (!seen.records.empty()) return "a record came out of nothing";
    return past.operations.back().acknowledged() && !seen.exists ? "the index is gone" : "";
  };
  EXPECT_EQ(check_index(protocol).operation(1).barriers(), 2u);
}

TEST(DashCrash, ARecordThatMovesToTheNextBucketIsNeitherLostNorThereTwice) {
  Hashes hashes(3);
  DashRun run = run_of(small(3, 0));
  // Bucket 1 gets 6 of its own, of which 6 more visit bucket 2; then buckets 0 and 1 fill up.
  add_inserts(run.before, hashes, 12, 1);
  add_inserts(run.before, hashes, 18, 0);
  run.operations = {{1, kInsert, hashes.next(0)}};
  run.after = {{2, kUpdate, run.before[0].key}, {3, kErase, run.before[0].key}};
  const auto report = check_all(run);
  EXPECT_EQ(report.operation(1).barriers(), 2u);  // The copy, then the record in its old place.
  EXPECT_EQ(report.operation(1).lines_written_back, 2u);
  EXPECT_TRUE(report.exhaustive());
}

TEST(DashCrash, AVisitorThatGoesHomeIsNeitherLostNorThereTwice) {
  Hashes hashes(3);
  DashRun run = run_of(small(3, 0));
  add_inserts(run.before, hashes, 12, 1);  // 6 in bucket 1, 6 visit bucket 2.
  add_inserts(run.before, hashes, 8, 0);   // 7 in bucket 0, 1 visits bucket 1.
  const auto visitor = run.before.back().key;
  add_inserts(run.before, hashes, 11, 1);  // Buckets 1 and 2 are full.
  run.operations = {{1, kInsert, hashes.next(1)}};
  run.after = {{2, kUpdate, visitor}, {3, kErase, visitor}};
  const auto report = check_all(run);
  EXPECT_EQ(report.operation(1).barriers(), 2u);
  EXPECT_TRUE(report.exhaustive());
}

TEST(DashCrash, ARecordInTheStashIsFoundWheneverItIsThere) {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 1));
  add_inserts(run.before, hashes, 24, 0);
  // The second one has the same bit of the filter: the numbers differ in the fingerprint only.
  run.operations = {{1, kInsert, hashes.next(0)}, {2, kInsert, hashes.next(0)}};
  run.after = {{3, kInsert, hashes.next(0)}, {4, kErase, run.before[0].key}};
  const auto report = check_all(run);
  EXPECT_EQ(report.operation(1).barriers(), 2u);  // The filter, then the record.
  EXPECT_EQ(report.operation(2).barriers(), 1u);
  EXPECT_TRUE(report.exhaustive());
}

TEST(DashCrash, ARecordInTheStashIsUpdatedAndErasedWithOneFenceEach) {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 1));
  add_inserts(run.before, hashes, 26, 0);
  run.operations = {{1, kUpdate, run.before[24].key}, {2, kErase, run.before[24].key}};
  run.after = {{3, kErase, run.before[25].key}, {4, kInsert, hashes.next(0)}};
  const auto report = check_all(run);
  EXPECT_EQ(report.operation(1).barriers(), 1u);
  EXPECT_EQ(report.operation(2).barriers(), 1u);
  EXPECT_TRUE(report.exhaustive());
}

// Two records go to the upper half: few states of the new segment differ, and all that differ
// elsewhere are tried. (A whole segment is stored, so the checker counts too many to exhaust them.)
DashRun split_of_few() {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 1));
  add_inserts(run.before, hashes, 1, 0, 1);
  add_inserts(run.before, hashes, 23, 1, 0);
  add_inserts(run.before, hashes, 11, 0, 0);
  add_inserts(run.before, hashes, 1, 1, 1);
  run.operations = {{1, kInsert, hashes.next(0, 1)}};
  run.after = {{2, kInsert, hashes.next(1, 0)}, {3, kUpdate, run.before[0].key}};
  return run;
}

TEST(DashCrash, TheFirstSplitAndDoublingLoseNothing) {
  const auto report = check_all(split_of_few());
  // The directory's copy, its depth, the new segment, the split word, the directory, the old
  // segment, the record.
  EXPECT_EQ(report.operation(1).barriers(), 7u);
}

TEST(DashCrash, ASplitWithoutDoublingLosesNothing) {
  auto run = split_of_few();
  Hashes hashes(2);
  // Segment 0 is split twice, then segment 1 once: the directory is deep enough for that.
  run.options = small(2, 0, 4);
  run.before.clear();
  add_inserts(run.before, hashes, 20, 0, 0);
  add_inserts(run.before, hashes, 4, 1, 2);
  add_inserts(run.before, hashes, 2, 0, 1);  // Splits: depth 1.
  add_inserts(run.before, hashes, 2, 1, 2);  // Splits the lower half: depth 2.
  add_inserts(run.before, hashes, 20, 1, 1);
  add_inserts(run.before, hashes, 2, 0, 3);
  run.operations = {{1, kInsert, hashes.next(1, 3)}};
  run.after = {{2, kInsert, hashes.next(1, 1)}, {3, kErase, run.before.back().key}};
  const auto report = check_all(run);
  EXPECT_EQ(report.operation(1).barriers(), 5u);
}

TEST(DashCrash, ASplitInTheMiddleLosesNothing) {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 1));
  for (unsigned i = 0; i < 36; ++i)
    add_inserts(run.before, hashes, 1, i % 2, i / 2 % 2);
  run.operations = {{1, kInsert, hashes.next(0, 1)}, {2, kErase, run.before[5].key}};
  run.after = {{3, kInsert, hashes.next(1, 0)}, {4, kUpdate, run.before[2].key}};
  check_all(run);
}

TEST(DashCrash, AFullIndexRefusesAnInsertAndKeepsEverything) {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 0, 1));
  add_inserts(run.before, hashes, 24, 0);
  run.operations = {{1, kRefused, hashes.next(0)}, {2, kErase, run.before[3].key}};
  run.after = {{3, kUpdate, run.before[0].key}};
  check_all(run);
}

// The operations, which are inserts, as one group.
crash::Protocol<IndexState> one_group(const DashRun& run) {
  auto protocol = run.protocol();
  protocol.workload = [run](Region& region, crash::Workload& workload) {
    const auto dash = Dash::open(region, blocks::whole(region)).value();
    const auto id = id_of(region);
    std::vector<DashRecord> records;
    for (const auto& operation : run.operations) {
      const auto key = key_of_hash(operation.key, id);
      (void)dash->find(key);  // The first access to each segment repairs it.
      records.push_back({key, operation.id});
    }
    for (const auto& operation : run.operations)
      workload.begin(operation.id);
    std::vector<Errc> outcomes(records.size());
    dash->insert_many(records, outcomes).value();
    for (const auto& operation : run.operations)
      workload.acknowledge(operation.id);
  };
  return protocol;
}

// Three inserts of one group, two of them into one segment: any of them may be lost before the
// group is acknowledged, and none may be half there. They share fences.
TEST(DashCrash, InterleavedInsertsAreEachThereOrNot) {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 0));
  add_inserts(run.before, hashes, 24, 0, 0);
  add_inserts(run.before, hashes, 1, 0, 1);  // Splits: two segments, of even and odd patterns.
  for (unsigned i = 0; i < 24; ++i)
    run.before.push_back({2'000 + i, kErase, run.before[i].key});
  run.operations = {{1, kInsert, hashes.next(0, 0)},
                    {2, kInsert, hashes.next(0, 1)},
                    {3, kInsert, hashes.next(1, 0)}};
  run.after = {{4, kInsert, hashes.next(1, 1)}, {5, kErase, run.before[24].key}};
  const auto protocol = one_group(run);
  for (const auto& model : index_models()) {
    const auto report = crash::check(protocol, index_medium(model, 16 * KiB));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_TRUE(report.exhaustive());
    // Two inserts share a fence. The third waits for its segment, and has one of its own.
    EXPECT_EQ(report.operation(1).barriers(), 2u);
    if (&model == &index_models().front()) {
      EXPECT_EQ(report.operation(1).lines_written_back, 3u);
    }
  }
}

// The member of a group that goes to the stash waits for the group's fence between its two steps.
TEST(DashCrash, InterleavedInsertsIntoTheStashAreAnnouncedFirst) {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 1));
  add_inserts(run.before, hashes, 24, 0);
  run.operations = {{1, kInsert, hashes.next(0)}};
  run.after = {{2, kInsert, hashes.next(0)}, {3, kErase, run.before[0].key}};
  for (const auto& model : index_models()) {
    const auto report = crash::check(one_group(run), index_medium(model, 16 * KiB));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_TRUE(report.exhaustive());
    EXPECT_EQ(report.operation(1).barriers(), 2u);  // The filter, then the record.
  }
}

// Two writers in one segment, which one of them splits.
TEST(DashCrash, WritersSideBySideLoseNothing) {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 0));
  // Both buckets have one place left.
  add_inserts(run.before, hashes, 11, 0, 0);
  add_inserts(run.before, hashes, 11, 1, 1);
  const auto erased = run.before.front().key;
  run.after = {{90, kInsert, hashes.next(0, 2)}, {91, kErase, run.before.back().key}};
  const auto report = check_index(
      side_by_side(run, {{{1, kInsert, hashes.next(0, 1)}, {2, kInsert, hashes.next(0, 0)}},
                         {{3, kInsert, hashes.next(1, 0)}, {4, kErase, erased}}}),
      16 * KiB, kIndexSchedules);
  EXPECT_GT(report.schedules, 8u);
}

// An interleaved insert asks for the lines of a segment, and latches it one step later. In between
// another one of its group stores its record, and there another thread splits the first segment:
// the record belongs elsewhere then. Members step together; one that must go alone makes them
// differ.
TEST(DashCrash, AnInterleavedInsertIntoASegmentThatIsSplitMeanwhileIsNotLost) {
  Hashes hashes(2);
  DashRun run = run_of(small(2, 0, 5));
  add_inserts(run.before, hashes, 24, 0, 0);
  add_inserts(run.before, hashes, 1, 0, 1);  // Splits: segments of even and of odd patterns.
  add_inserts(run.before, hashes, 1, 0, 2);  // Splits: of patterns 0 and 2.
  for (unsigned i = 0; i < 2; ++i)
    run.before.push_back({2'000 + i, kErase, run.before[i].key});
  const std::vector<IndexOperation> many = {{1, kInsert, hashes.next(0, 2)},
                                            {2, kInsert, hashes.next(0, 1)},
                                            {3, kInsert, hashes.next(0, 4)}};
  const std::vector<IndexOperation> splitting = {{4, kInsert, hashes.next(1, 4)},
                                                 {5, kInsert, hashes.next(1, 4)},
                                                 {6, kInsert, hashes.next(1, 4)}};
  run.operations = many;
  run.operations.insert(run.operations.end(), splitting.begin(), splitting.end());
  auto protocol = run.protocol();
  protocol.then = nullptr;
  protocol.workload = [&](Region& region, crash::Workload& workload) {
    const auto dash = Dash::open(region, blocks::whole(region)).value();
    const auto id = id_of(region);
    // The first access to a segment repairs it. The one of pattern 2 is not: its insert goes alone.
    for (const auto number : {23u, 24u})
      dash->find(key_of_hash(run.before[number].key, id)).value();
    workload.threads({[&] {
                        std::vector<DashRecord> records;
                        for (const auto& operation : many) {
                          records.push_back({key_of_hash(operation.key, id), operation.id});
                          workload.begin(operation.id, 0);
                        }
                        std::array<Errc, 3> outcomes;
                        blocks::Interleaving how;
                        how.group = 2;
                        dash->insert_many(records, outcomes, how).value();
                        for (const auto& operation : many)
                          workload.acknowledge(operation.id);
                      },
                      [&] {
                        for (const auto& operation : splitting) {
                          workload.begin(operation.id, 1);
                          do_operation(*dash, region, operation);
                          workload.acknowledge(operation.id);
                        }
                      }});
    ASSERT_EQ(dash->segments(), 4u);
  };
  auto options = index_medium(crash::kLine, 32 * KiB);
  options.schedules = {0, 1, 100};
  options.states_per_point = 20;
  const auto report = crash::check(protocol, options);
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_GT(report.schedules, 20u);
}

TEST(DashCrash, WhatAReaderSeesBesideAWriterIsDurable) {
  for (const auto kind : {kInsert, kUpdate}) {
    Hashes hashes(2);
    DashRun run = run_of(small(2, 1));
    add_inserts(run.before, hashes, 3, 0);
    run.after = {{90, kErase, run.before[1].key}};
    const auto key = kind == kInsert ? hashes.next(0) : run.before[0].key;
    check_index(side_by_side(run, {{{1, kInsert, hashes.next(1)}}}, IndexOperation{2, kind, key}),
                16 * KiB, kIndexSchedules);
  }
}

}  // namespace
}  // namespace holdfast::index
