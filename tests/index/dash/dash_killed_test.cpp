// A process that was killed has stored words that nobody wrote back. The next one sees them: before
// it answers by them they are durable, so that a power failure later does not take them back.
#include <holdfast/memory/sealed_word.hpp>

#include "dash_crash.hpp"

namespace holdfast::index {
namespace {

using namespace dash_detail;

constexpr DashShape kShape{2, 1, 3, 4};

// A few records; then `interrupt`, whose last store is not written back; then operation 1: the
// index is opened and `hash` is looked up.
crash::Protocol<IndexState> killed_in(
    std::uint64_t hash, const std::function<void(Region&, const DurableWriter&)>& interrupt) {
  DashRun run;
  run.options.buckets = 2, run.options.stash_buckets = 1;
  run.options.segments = 3, run.options.max_depth = 4;
  for (std::uint16_t i = 1; i <= 6; ++i)
    run.before.push_back({1'000u + i, IndexOperation::kInsert, hash_in(i % 2, 2, i / 2 % 2, i)});
  run.operations = {{1, IndexOperation::kInsert, hash}};
  run.after = {{2, IndexOperation::kErase, run.before[1].key}};
  auto protocol = run.protocol();
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    workload.begin(1);
    interrupt(region, DurableWriter(region));
    (void)Dash::open(region, blocks::whole(region)).value()->find(key_of_hash(hash, id_of(region)));
    workload.acknowledge(1);
  };
  // The record is there or is not; the other words hold no record.
  protocol.check = [=](const crash::Past<IndexState>& past, const IndexState& seen) {
    const auto what = run.check(past, seen);
    return what.empty() || seen == past.base ? "" : what;
  };
  return protocol;
}

TEST(DashKilled, ARecordThatIsFoundIsDurable) {
  const auto hash = hash_in(0, 2, 1, 77);
  check_index(killed_in(hash, [=](Region& region, const DurableWriter& writer) {
    const auto id = id_of(region);
    auto& line = reinterpret_cast<Bucket*>(writer.at(kShape.segment_at(0)))->lines[3];
    const Record record{key_of_hash(hash, id), 1};
    writer.persist().store(&line.records[0].key, record.key);
    writer.persist().store(&line.records[0].value, record.value);
    writer.persist().store(&line.meta, LineMeta{}.with(0, KeyHash{hash}.fingerprint(), false).word);
  }));
}

TEST(DashKilled, ADirectoryThatDoubledIsDurable) {
  const auto old = hash_in(0, 2, 1, 2);
  check_index(killed_in(old, [](Region& region, const DurableWriter& writer) {
    const auto id = id_of(region);
    Directory directory(writer, kShape, id);
    directory.open().value();
    const auto depth = writer.word(kDepthAt);
    directory.grow().value();
    const auto grown = writer.word(kDepthAt);
    writer.put_word(kDepthAt, depth).value();
    writer.order().value();
    writer.persist().store(reinterpret_cast<std::uint64_t*>(writer.at(kDepthAt)), grown);
  }));
}

TEST(DashKilled, ASplitThatIsGoneOnWithIsDurable) {
  const auto old = hash_in(0, 2, 1, 2);
  check_index(killed_in(old, [](Region& region, const DurableWriter& writer) {
    const auto id = id_of(region);
    Directory directory(writer, kShape, id);
    directory.open().value();
    directory.grow().value();
    const Segment from(writer.persist(), writer.at(kShape.segment_at(0)), kShape, id);
    const Segment to(writer.persist(), writer.at(kShape.segment_at(1)), kShape, id);
    from.copy_upper(to, 1, {1, 1});
    const auto word = seal_word<SealedWord>(SplitWord{0, 1}.word(), split_context(id));
    writer.persist().store(reinterpret_cast<std::uint64_t*>(writer.at(kSplitAt)), word);
  }));
}

TEST(DashKilled, AnIndexThatAKilledProcessCreatedStaysOnceItWasOpened) {
  DashRun run;
  run.options.buckets = 2, run.options.stash_buckets = 1;
  run.options.segments = 3, run.options.max_depth = 4;
  check_index(created_by_a_killed_process(run, kDashFormat.magic));
}

}  // namespace
}  // namespace holdfast::index
