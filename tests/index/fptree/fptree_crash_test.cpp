// An FP-Tree in every state that a power failure can leave.
#include <array>

#include <holdfast/index/fptree/fptree.hpp>

#include "../index_crash.hpp"

namespace holdfast::index {
namespace {

using enum IndexOperation::Kind;
using Run = IndexRun<FpTree, FpTreeOptions>;

Run run_of(std::uint32_t records, std::uint32_t leaves) {
  Run run;
  run.options.records = records, run.options.leaves = leaves;
  return run;
}

crash::Report check_all(const Run& run) { return check_index(run.protocol()); }

TEST(FpTreeCrash, InsertTakesTwoFencesUpdateAndEraseOne) {
  auto run = run_of(6, 4);
  run.add_before(10, 3);
  run.operations = {{1, kInsert, 15}, {2, kUpdate, 20}, {3, kErase, 10}};
  run.after = {{4, kInsert, 25}, {5, kErase, 30}};
  const auto report = check_all(run);
  EXPECT_TRUE(report.exhaustive()) << report;
  EXPECT_EQ(report.operation(1).barriers(), 2u);
  EXPECT_EQ(report.operation(1).lines_written_back, 2u);
  for (const auto id : {2u, 3u}) {
    EXPECT_EQ(report.operation(id).barriers(), 1u);
    EXPECT_EQ(report.operation(id).lines_written_back, 1u);
  }
}

// The slot of an erased record is taken again: its old contents are still there.
TEST(FpTreeCrash, ASlotThatIsTakenAgainShowsNothingOfItsPast) {
  auto run = run_of(4, 4);
  run.add_before(10, 3);
  run.operations = {{1, kErase, 20}, {2, kInsert, 20}, {3, kErase, 10}, {4, kInsert, 11}};
  run.after = {{5, kInsert, 12}, {6, kUpdate, 30}};
  EXPECT_TRUE(check_all(run).exhaustive());
}

TEST(FpTreeCrash, ATreeThatIsCreatedIsThereWhollyOrNotAtAll) {
  auto run = run_of(4, 4);
  auto protocol = run.protocol();
  protocol.initial = {false, {}};
  // What lies there before is no structure of Holdfast's and no zeros.
  protocol.setup = [](Region& region) {
    const std::vector<std::byte> rubbish(region.size_bytes(), std::byte{0xa5});
    region.write(0, rubbish).value();
  };
  protocol.workload = [&](Region& region, crash::Workload& workload) {
    workload.perform(1,
                     [&] { FpTree::create(region, blocks::whole(region), run.options).value(); });
  };
  // Leaves that come into use later lie in rubbish, too.
  run.after = {
      {2, kInsert, 10}, {3, kInsert, 20}, {4, kInsert, 30}, {5, kInsert, 40}, {6, kInsert, 50}};
  protocol.then = [run](Region& region, crash::Workload& workload, const IndexState& seen) {
    if (seen.exists)
      Run::perform(*FpTree::open(region, blocks::whole(region)).value(), region, workload,
                   run.after);
  };
  protocol.check = [run](const crash::Past<IndexState>& past,
                         const IndexState& seen) -> std::string {
    if (past.operations.size() > 1 || !seen.records.empty()) return run.check(past, seen);
    return past.operations.back().acknowledged() && !seen.exists ? "the tree is gone" : "";
  };
  check_index(protocol);
}

TEST(FpTreeCrash, ATreeThatIsLoadedIsThereWhollyOrNotAtAll) {
  auto run = run_of(8, 4);
  auto protocol = run.protocol();
  protocol.initial = {false, {}};
  protocol.setup = [](Region&) {};
  protocol.then = nullptr;
  protocol.workload = [&](Region& region, crash::Workload& workload) {
    workload.perform(1, [&] {
      std::uint64_t key = 0;
      const auto next = [&]() -> std::optional<FpRecord> {
        if (++key > 10) return std::nullopt;
        return FpRecord{key, key};
      };
      FpTree::load(region, blocks::whole(region), next, run.options).value();
    });
  };
  protocol.check = [](const crash::Past<IndexState>& past, const IndexState& seen) -> std::string {
    if (seen.exists) return seen.records.size() == 10 ? "" : "a part of it is there";
    return past.operations.back().acknowledged() ? "the tree is gone" : "";
  };
  check_index(protocol);
}

// A new leaf is stored as a whole, so the checker counts more states of it than can be tried; nobody
// reads it before it is in use. All other states of a split are tried.
TEST(FpTreeCrash, ASplitLosesNothingAndShowsNothingTwice) {
  auto run = run_of(4, 32);  // Leaves come into use two at a time.
  run.add_before(10, 4);
  run.operations = {{1, kInsert, 15}};
  run.after = {{2, kInsert, 35}, {3, kUpdate, 30}, {4, kErase, 40}};
  const auto report = check_all(run);
  // The states of two new leaves and how far they are used; the new leaf, its head, what the old
  // one drops; the record.
  EXPECT_EQ(report.operation(1).barriers(), 2u + 3u + 2u);
}

TEST(FpTreeCrash, ASplitIntoALeafThatWasUsedBeforeTakesThreeFences) {
  auto run = run_of(2, 8);
  run.before = {{101, kInsert, 10},
                {102, kInsert, 20},
                {103, kInsert, 30},
                {104, kInsert, 15},
                {105, kErase, 30}};
  run.operations = {{1, kInsert, 5}};
  run.after = {{2, kInsert, 8}, {3, kErase, 20}};
  const auto report = check_all(run);
  EXPECT_EQ(report.operation(1).barriers(), 3u + 2u);
}

// The records that the old leaf has not dropped yet are erased, and their leaf unlinked, after a
// crash: they must not come back.
TEST(FpTreeCrash, WhatASplitLeftBehindNeverComesBack) {
  auto run = run_of(2, 8);
  run.before = {{101, kInsert, 10}, {102, kInsert, 20}, {103, kInsert, 5}};
  run.operations = {{1, kInsert, 15}};
  run.after = {{2, kErase, 20}, {3, kInsert, 25}, {4, kErase, 25}, {5, kErase, 10}};
  check_all(run);
}

TEST(FpTreeCrash, AKeyAboveAllOthersBeginsALeaf) {
  auto run = run_of(4, 3);
  run.add_before(10, 4);
  run.operations = {{1, kInsert, 100}};
  run.after = {{2, kInsert, 45}, {3, kInsert, 110}};
  const auto report = check_all(run);
  EXPECT_EQ(report.operation(1).barriers(), 2u + 2u + 2u);
}

TEST(FpTreeCrash, TheLastEraseInALeafUnlinksIt) {
  auto run = run_of(2, 8);
  run.before = {{101, kInsert, 10},
                {102, kInsert, 20},
                {103, kInsert, 30},
                {104, kInsert, 40},
                {105, kInsert, 50}};
  run.operations = {{1, kErase, 30}, {2, kErase, 40}};
  run.after = {{3, kInsert, 35}, {4, kErase, 10}, {5, kErase, 50}};
  const auto report = check_all(run);
  EXPECT_EQ(report.operation(1).barriers(), 1u);
  EXPECT_EQ(report.operation(2).barriers(), 2u);
  EXPECT_TRUE(report.exhaustive()) << report;
}

TEST(FpTreeCrash, AFullTreeRefusesAnInsertAndKeepsEverything) {
  auto run = run_of(2, 1);
  run.add_before(10, 2);
  run.operations = {{1, kRefused, 30}, {2, kErase, 10}};
  run.after = {{3, kUpdate, 20}};
  check_all(run);
}

// Three inserts of one group, two of them into one leaf: any of them may be lost before the group
// is acknowledged, and none may be half there. They share fences.
TEST(FpTreeCrash, InterleavedInsertsAreEachThereOrNot) {
  auto run = run_of(6, 8);
  run.add_before(10, 7);
  run.add_before(15, 1);
  run.operations = {{1, kInsert, 11}, {2, kInsert, 41}, {3, kInsert, 12}};
  run.after = {{4, kInsert, 13}, {5, kErase, 40}};
  auto protocol = run.protocol();
  protocol.workload = [run](Region& region, crash::Workload& workload) {
    const auto tree = FpTree::open(region, blocks::whole(region)).value();
    tree->scan(0, [](std::uint64_t, std::uint64_t) { return true; }).value();
    std::vector<FpRecord> records;
    for (const auto& operation : run.operations) {
      records.push_back({operation.key, operation.id});
      workload.begin(operation.id);
    }
    std::array<Errc, 3> outcomes;
    tree->insert_many(records, outcomes).value();
    for (const auto& operation : run.operations)
      workload.acknowledge(operation.id);
  };
  const auto report = check_index(protocol);
  // Two inserts share two fences. The third waits for its leaf, and has two of its own.
  EXPECT_EQ(report.operation(1).barriers(), 4u);
}

// Two writers in one leaf, which one of them splits and the other one empties a neighbour of.
TEST(FpTreeCrash, WritersSideBySideLoseNothing) {
  auto run = run_of(3, 8);
  run.add_before(10, 5);
  run.after = {{90, kInsert, 35}, {91, kErase, 20}};
  const auto report = check_index(
      side_by_side(run, {{{1, kInsert, 12}, {2, kInsert, 14}}, {{3, kErase, 40}, {4, kErase, 50}}}),
      16 * KiB, kIndexSchedules);
  EXPECT_GT(report.schedules, 8u);
}

TEST(FpTreeCrash, WhatAReaderSeesBesideAWriterIsDurable) {
  for (const auto kind : {kInsert, kUpdate}) {
    auto run = run_of(4, 4);
    run.add_before(10, 3);
    run.after = {{90, kErase, 20}};
    const auto key = kind == kInsert ? 15u : 10u;
    check_index(side_by_side(run, {{{1, kInsert, 35}}}, IndexOperation{2, kind, key}), 16 * KiB,
                kIndexSchedules);
  }
}

}  // namespace
}  // namespace holdfast::index
