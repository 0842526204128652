// What the checker must find, and what it must let pass, on two words and a flag.
#include <gtest/gtest.h>

#include <holdfast/crash/checker.hpp>
#include <holdfast/crash/key_value.hpp>
#include <holdfast/crash/mutation.hpp>

namespace holdfast::crash {
namespace {

std::uint64_t* word(Region& region, std::uint64_t offset) {
  return reinterpret_cast<std::uint64_t*>(region.data() + offset);
}
std::uint64_t load(Region& region, std::uint64_t offset) {
  return Persist::load(word(region, offset));
}

// A cell of one line: two words that must change together. `publish` says how.
constexpr std::uint64_t kFlag = 0, kFirst = 64, kSecond = 128;
using Pair = std::pair<std::uint64_t, std::uint64_t>;

// Writes (value, value) beside the published copy, then flips the flag: two copies, one selector.
void update(Region& region, std::uint64_t value, bool fence_data = true, bool persist_flag = true) {
  const Persist& persist = region.persist();
  const std::uint64_t next = 1 - load(region, kFlag);
  const std::uint64_t copy = next == 1 ? kSecond : kFirst;
  const std::uint64_t both[2] = {value, value};
  persist.copy(word(region, copy), both, sizeof both);
  persist.write_back(word(region, copy), sizeof both);
  if (fence_data) persist.fence();
  persist.store(word(region, kFlag), next);
  if (!persist_flag) return;
  persist.persist(word(region, kFlag), 8);
}

Pair read(Region& region) {
  const std::uint64_t copy = load(region, kFlag) == 1 ? kSecond : kFirst;
  return {load(region, copy), load(region, copy + 8)};
}

// Operation n writes (n, n): what is observed must be the last acknowledged or the one in flight.
std::string last_or_next(const Past<Pair>& past, const Pair& observed) {
  Pair last = past.base;
  for (const Operation& operation : past.operations) {
    if (operation.acknowledged()) {
      last = {operation.id, operation.id};
    } else if (observed == Pair{operation.id, operation.id}) {
      return {};
    }
  }
  return observed == last ? "" : "neither the last acknowledged pair nor the one in flight";
}

Protocol<Pair> cell(bool fence_data = true, bool persist_flag = true) {
  Protocol<Pair> protocol;
  protocol.workload = [=](Region& region, Workload& run) {
    for (std::uint64_t id = 1; id <= 3; ++id) {
      run.perform(id, [&] { update(region, id, fence_data, persist_flag); });
    }
  };
  protocol.recover = [](Region& region) -> Result<Pair> { return read(region); };
  protocol.check = last_or_next;
  protocol.then = [=](Region& region, Workload& run, const Pair&) {
    run.perform(9, [&] { update(region, 9, fence_data, persist_flag); });
  };
  protocol.print = [](const Pair& pair) {
    return "(" + std::to_string(pair.first) + ", " + std::to_string(pair.second) + ")";
  };
  return protocol;
}

TEST(CrashChecker, ACopyFencedBeforeItsSelectorIsSoundWithTwoBarriers) {
  for (const Model& model : {kLine, kLineStreaming, kByte}) {
    const Report report = check(cell(), {.model = model});
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_TRUE(report.exhaustive());
    EXPECT_GT(report.images_in_all(), 10u);
    EXPECT_EQ(report.operation(2).barriers(), model == kByte ? 0u : 2u);
    EXPECT_EQ(report.operation(2).redundant_fences, 0u);
    EXPECT_EQ(report.operation(2).redundant_write_backs, 0u);
  }
}

TEST(CrashChecker, AMissingFenceBetweenDataAndSelectorIsFoundAndExplained) {
  const Report report = check(cell(false), {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  const std::string& text = report.failures[0];
  EXPECT_NE(text.find("before the fence at tests/crash/checker_test.cpp:"), std::string::npos)
      << text;
  EXPECT_NE(text.find("in flight: operation 1"), std::string::npos) << text;
  EXPECT_NE(text.find("2 lines pending; 1 of them differ"), std::string::npos) << text;
  EXPECT_NE(text.find("seed 1"), std::string::npos) << text;
  EXPECT_NE(text.find("observed: (1, 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("LOST store"), std::string::npos) << text;
}

TEST(CrashChecker, TheSameMissingFenceIsNoneOnByteMedia) {
  const Report report = check(cell(false), {.model = kByte});
  EXPECT_TRUE(report.ok()) << report;
}

TEST(CrashChecker, AnAcknowledgedSelectorThatIsStillPendingIsFoundWithoutACrash) {
  const Report report = check(cell(true, false), {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("is not durable"), std::string::npos) << report;
}

TEST(CrashChecker, TheSamePendingSelectorIsFoundByItsCrashStateToo) {
  const Report report = check(cell(true, false), {.model = kLine, .durable_at_acknowledge = false});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("after the acknowledgement"), std::string::npos) << report;
}

}  // namespace
}  // namespace holdfast::crash
