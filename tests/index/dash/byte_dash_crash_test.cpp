// A ByteDash in every state that a power failure can leave.
#include "../index_crash.hpp"
#include "byte_dash_support.hpp"

namespace holdfast::index {

template <>
struct IndexTraits<NumberedBytes> {
  static constexpr bool kOrdered = false;
  static std::uint64_t key_of(const Region&, std::uint64_t name) { return name; }
  static std::uint64_t name_of(const Region&, std::uint64_t key) { return key; }
  template <class Visit>
  static Status each(const NumberedBytes& index, Visit&& visit) {
    return index.each(std::forward<Visit>(visit));
  }
};

namespace {

using enum IndexOperation::Kind;
using BytesRun = IndexRun<NumberedBytes, NumberedOptions>;

constexpr std::uint64_t kBytes = 60 * KiB;
// Log and Dash are tried with more by themselves.
constexpr std::uint64_t kImages = 4'000;

// The record is durable before Dash leads to it: two fences. An erase is Dash's alone.
TEST(ByteDashCrash, WritesTakeTwoFencesAndEraseOne) {
  BytesRun run;
  run.add_before(10, 3);
  run.operations = {{1, kInsert, 15}, {2, kUpdate, 15}, {3, kErase, 10}};
  run.after = {{4, kInsert, 25}, {5, kErase, 30}};
  const auto report = check_index(run.protocol(), kBytes, {}, kImages);
  for (const auto id : {2u})
    EXPECT_EQ(report.operation(id).barriers(), 2u) << id;
  EXPECT_EQ(report.operation(3).barriers(), 1u);
}

TEST(ByteDashCrash, KeysOfOneHashAreEachThereOrNot) {
  NumberedOptions::mask = 0;
  BytesRun run;
  run.add_before(10, 3);
  run.operations = {{1, kInsert, 15}, {2, kErase, 10}, {3, kUpdate, 20}};
  run.after = {{4, kErase, 30}, {5, kInsert, 40}};
  check_index(run.protocol(), kBytes, {}, kImages);
  NumberedOptions::mask = ~std::uint64_t{0};
}

TEST(ByteDashCrash, AnIndexThatIsCreatedIsThereWhollyOrNotAtAll) {
  BytesRun run;
  auto protocol = run.protocol();
  protocol.initial = {false, {}};
  protocol.setup = [](Region& region) {
    const std::vector<std::byte> rubbish(region.size_bytes(), std::byte{0xa5});
    region.write(0, rubbish).value();
  };
  protocol.workload = [&](Region& region, crash::Workload& workload) {
    workload.perform(
        1, [&] { NumberedBytes::create(region, blocks::whole(region), run.options).value(); });
  };
  protocol.then = nullptr;
  protocol.check = [](const crash::Past<IndexState>& past, const IndexState& seen) -> std::string {
    if (!seen.records.empty()) return "a new index holds something";
    return past.operations.back().acknowledged() && !seen.exists ? "the index is gone" : "";
  };
  check_index(protocol, kBytes, {}, kImages);
}

TEST(ByteDashCrash, AnIndexThatAKilledProcessCreatedStaysOnceItWasOpened) {
  check_index(created_by_a_killed_process(BytesRun(), magic_of("HLDBDSH1")), kBytes, {}, kImages);
}

// Live records are copied, Dash is led to the copies, the log is cut: each is found at any time.
TEST(ByteDashCrash, ReclaimLosesNothing) {
  BytesRun run;
  run.add_before(10, 4);
  // Overwritten often: what came before is dropped.
  for (unsigned i = 0; i < 60; ++i)
    run.before.push_back({2'000 + i, kUpdate, 10 + i % 2 * 10});
  run.operations = {{1, kInsert, 15}, {2, kErase, 30}};
  run.after = {{3, kInsert, 25}, {4, kUpdate, 40}};
  auto protocol = run.protocol();
  protocol.workload = [run](Region& region, crash::Workload& workload) {
    const auto index = NumberedBytes::open(region, blocks::whole(region)).value();
    {
      const auto quiet = workload.quiet();
      index->each([](std::uint64_t, std::uint64_t) {}).value();
    }
    const auto head = index->bytes().log().head();
    index->bytes().reclaim().value();
    EXPECT_GT(index->bytes().log().head(), head);
    BytesRun::perform(*index, region, workload, run.operations);
  };
  check_index(protocol, kBytes, {}, kImages);
}

TEST(ByteDashCrash, WritersSideBySideLoseNothing) {
  BytesRun run;
  run.add_before(10, 3);
  run.after = {{90, kInsert, 35}, {91, kErase, 20}};
  check_index(side_by_side(
                  run, {{{1, kInsert, 12}, {2, kUpdate, 10}}, {{3, kInsert, 22}, {4, kErase, 30}}}),
              kBytes, {2, 0, 2}, kImages);
}

}  // namespace
}  // namespace holdfast::index
