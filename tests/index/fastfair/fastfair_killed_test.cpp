// A process that was killed has stored words that nobody wrote back. The next one sees them: before
// it answers by them they are durable, so that a power failure later does not take them back.
#include <holdfast/index/fastfair/fastfair.hpp>
#include <holdfast/memory/sealed_word.hpp>

#include "../index_crash.hpp"
#include "fastfair_support.hpp"

namespace holdfast::index {
namespace {

using namespace fastfair_detail;

constexpr FastFairShape kShape{4, 8};

// Three records; then `interrupt`, whose last store is not written back; then operation 1: the tree
// is opened and key 77 looked up.
crash::Protocol<IndexState> killed_in(
    const std::function<void(Region&, const DurableWriter&)>& interrupt, bool changes = false,
    unsigned records = 3) {
  IndexRun<FastFair, FastFairOptions> run;
  run.options.slots = kShape.slots, run.options.nodes = kShape.nodes;
  run.add_before(10, records);
  run.operations = {{1, IndexOperation::kInsert, 77}};
  run.after = {{2, IndexOperation::kErase, 10}};
  auto protocol = run.protocol();
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    workload.begin(1);
    interrupt(region, DurableWriter(region));
    (void)FastFair::open(region, blocks::whole(region)).value()->find(77);
    workload.acknowledge(1);
  };
  protocol.check = [=](const crash::Past<IndexState>& past, const IndexState& seen) {
    const auto what = run.check(past, seen);
    return what.empty() || (!changes && seen == past.base) ? "" : what;
  };
  return protocol;
}

TEST(FastFairKilled, ARecordThatIsFoundIsDurable) {
  check_index(killed_in(
      [](Region& region, const DurableWriter& writer) {
        auto& slot = entries_of(head_of(region, kShape, 0))[3];
        writer.persist().store(&slot.value, 1);
        writer.persist().store(&slot.key, 77);
      },
      true));
}

TEST(FastFairKilled, AShiftThatWasInterruptedIsEndedAndDurable) {
  check_index(killed_in([](Region& region, const DurableWriter& writer) {
    auto* const slots = entries_of(head_of(region, kShape, 0));
    writer.persist().store(&slots[3].value, slots[2].value);
    writer.persist().store(&slots[3].key, slots[2].key);
    writer.persist().store(&slots[2].value, slots[1].value);
  }));
}

// Nodes 1, the right half, and 2, the root above, as split() and raise_root() write them.
TEST(FastFairKilled, ASplitThatIsSeenIsDurable) {
  for (unsigned stores = 1; stores <= 3; ++stores) {
    check_index(killed_in(
        [=](Region& region, const DurableWriter& writer) {
          const auto id = id_of(region);
          std::array<NodeState, 3> states;
          const auto node = [&](std::uint32_t number) {
            return Node(writer.persist(), region.data() + kShape.node_at(number), kShape, id,
                        number, states[number]);
          };
          auto& left = head_of(region, kShape, 0);
          const Entry moved[] = {entries_of(left)[2], entries_of(left)[3]};
          node(1).fill({0, moved[0].key, kNoKey, {}, 0, moved});
          writer.put_word(kTakenAt, seal_word<SealedWord>(2, taken_context(id))).value();
          writer.order().value();
          writer.persist().store(&left.sibling, seal_word<SealedWord>(1, sibling_context(id, 0)));
          if (stores > 1) writer.persist().store(&left.high, moved[0].key);
          if (stores > 2) {
            writer.persist().persist(&left, sizeof left);
            writer.persist().store(&entries_of(left)[2].key, kNoKey);
          }
        },
        false, 4));
  }
}

TEST(FastFairKilled, ARootThatIsSeenIsDurable) {
  check_index(killed_in(
      [](Region& region, const DurableWriter& writer) {
        // The tree has nodes 0, 1 and 2, the root. Once more the word's last store, undone before.
        const auto word = writer.word(kRootAt);
        const auto id = id_of(region);
        writer.put_word(kRootAt, seal_word<SealedWord>(0, root_context(id))).value();
        writer.order().value();
        writer.persist().store(reinterpret_cast<std::uint64_t*>(writer.at(kRootAt)), word);
      },
      false, 5));
}

TEST(FastFairKilled, TheNumberOfNodesThatWereTakenIsDurable) {
  check_index(killed_in([](Region& region, const DurableWriter& writer) {
    writer.persist().store(reinterpret_cast<std::uint64_t*>(writer.at(kTakenAt)),
                           seal_word<SealedWord>(2, taken_context(id_of(region))));
  }));
}

// The number of nodes was written back by the thread that opened the tree. Another one, whose fences
// do not wait for that, linked the node that the killed process had taken; after a power failure it
// was taken once more.
TEST(FastFairKilled, ANodeThatAKilledProcessTookIsTakenOnce) {
  IndexRun<FastFair, FastFairOptions> run;
  run.options.slots = kShape.slots, run.options.nodes = kShape.nodes;
  run.add_before(10, 3);
  run.operations = {{1, IndexOperation::kInsert, 40}, {2, IndexOperation::kInsert, 50}};
  run.after = {{3, IndexOperation::kInsert, 60},
               {4, IndexOperation::kInsert, 70},
               {5, IndexOperation::kInsert, 80}};
  auto protocol = run.protocol();
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    region.persist().store(reinterpret_cast<std::uint64_t*>(region.data() + kTakenAt),
                           seal_word<SealedWord>(2, taken_context(id_of(region))));
    std::unique_ptr<FastFair> tree;
    std::thread([&] { tree = FastFair::open(region, blocks::whole(region)).value(); }).join();
    run.perform(*tree, region, workload, run.operations);
  };
  check_index(protocol);
}

TEST(FastFairKilled, ATreeThatAKilledProcessCreatedStaysOnceItWasOpened) {
  IndexRun<FastFair, FastFairOptions> run;
  run.options.slots = kShape.slots, run.options.nodes = kShape.nodes;
  check_index(created_by_a_killed_process(run, kFastFairFormat.magic));
}

}  // namespace
}  // namespace holdfast::index
