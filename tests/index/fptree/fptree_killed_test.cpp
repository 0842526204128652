// A process that was killed has stored words that nobody wrote back. The next one sees them: before
// it answers by them they are durable, so that a power failure later does not take them back.
#include <memory>
#include <thread>

#include <holdfast/index/fptree/fptree.hpp>
#include <holdfast/index/fptree/leaf_space.hpp>
#include <holdfast/memory/sealed_word.hpp>

#include "../index_crash.hpp"
#include "fptree_support.hpp"

namespace holdfast::index {
namespace {

using namespace fptree_detail;

constexpr FpTreeShape kShape{4, 8};

// Five records in two leaves; then `interrupt`, whose last store is not written back; then
// operation 1: the tree is opened by a thread, and key 77 looked up by another.
crash::Protocol<IndexState> killed_in(
    const std::function<void(Region&, const DurableWriter&)>& interrupt, bool changes = false) {
  IndexRun<FpTree, FpTreeOptions> run;
  run.options.records = kShape.records, run.options.leaves = kShape.leaves;
  run.add_before(10, 4);
  run.add_before(15, 1);
  run.operations = {{1, IndexOperation::kInsert, 77}};
  run.after = {{2, IndexOperation::kErase, 10}};
  auto protocol = run.protocol();
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    workload.begin(1);
    interrupt(region, DurableWriter(region));
    // A fence of the thread that looks up does not wait for what another one has written back.
    std::unique_ptr<FpTree> tree;
    std::thread([&] { tree = FpTree::open(region, blocks::whole(region)).value(); }).join();
    (void)tree->find(77);
    workload.acknowledge(1);
  };
  protocol.check = [=](const crash::Past<IndexState>& past, const IndexState& seen) {
    const auto what = run.check(past, seen);
    return what.empty() || (!changes && seen == past.base) ? "" : what;
  };
  return protocol;
}

TEST(FpTreeKilled, ARecordThatIsFoundIsDurable) {
  check_index(killed_in(
      [](Region&, const DurableWriter& writer) {
        auto* const head = head_of(writer.at(kShape.leaf_at(1)));
        auto* const record = reinterpret_cast<std::uint64_t*>(head + 1) + 2 * 3;
        writer.persist().store(record, 77);
        writer.persist().store(record + 1, 1);
        writer.persist().persist(record, sizeof(FpRecord));
        writer.persist().store(&head->prints[0],
                               (head->prints[0] & 0x00ffffff) | std::uint64_t{print_of(77)} << 24);
        writer.persist().store(&head->used, head->used | 8);
      },
      true));
}

TEST(FpTreeKilled, ASplitThatIsSeenIsDurable) {
  check_index(killed_in([](Region& region, const DurableWriter& writer) {
    const auto id = id_of(region);
    LeafSpace space(writer, kShape, id);
    auto* const left = head_of(writer.at(kShape.leaf_at(0)));
    ASSERT_EQ(left->used & 1, 1u);
    // Two records go to leaf 2, which is for 15 up to leaf 1's low.
    const FpRecord moved[] = {{15, 1'004}, {20, 1'001}};
    space.put_ever_used(3).value();
    space.leaf(2).fill(moved);
    writer.order().value();
    auto* const head = head_of(writer.at(kShape.leaf_at(2)));
    writer.persist().store(&head->low, 15);
    writer.persist().store(&head->state,
                           seal_word<SealedWord>(kLeafInUse, leaf_context(id, 2, 15)));
  }));
}

TEST(FpTreeKilled, TheNumberOfLeavesThatWereEverUsedIsDurable) {
  const auto report = check_index(killed_in([](Region& region, const DurableWriter& writer) {
    const auto id = id_of(region);
    LeafSpace space(writer, kShape, id);
    const auto before = writer.word(kEverUsedAt);
    space.put_ever_used(4).value();
    const auto raised = writer.word(kEverUsedAt);
    writer.put_word(kEverUsedAt, before).value();
    writer.order().value();
    writer.persist().store(reinterpret_cast<std::uint64_t*>(writer.at(kEverUsedAt)), raised);
  }));
  // order() above, and the opening.
  EXPECT_EQ(report.operation(1).barriers(), 2u);
}

TEST(FpTreeKilled, ATreeThatAKilledProcessCreatedStaysOnceItWasOpened) {
  IndexRun<FpTree, FpTreeOptions> run;
  run.options.records = kShape.records, run.options.leaves = kShape.leaves;
  check_index(created_by_a_killed_process(run, kFpTreeFormat.magic));
}

}  // namespace
}  // namespace holdfast::index
