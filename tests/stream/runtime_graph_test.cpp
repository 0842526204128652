// In which order a compiled graph takes the rows of its tables, against a model that looks at all
// of them before each row.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/graph.hpp>

#include "no_host.hpp"

namespace holdfast::query {
namespace {

using TakenRow = std::pair<std::size_t, std::int64_t>;  // Of which table, and its time.

// Three tables, the last without a watermark. A row is its time, which is also the watermark.
class ThreeTables final : public GraphOf<ThreeTables> {
 public:
  static constexpr std::size_t kInputs = 3;
  static constexpr bool kHasWatermark[] = {true, true, false};
  static constexpr std::size_t kRecordBytes[] = {8, 8, 8};
  static constexpr bool kMakesTexts = false;
  explicit ThreeTables(Host& host) : GraphOf(host) {}

  void take_row(std::size_t input, const std::byte* record, Maybe<std::int64_t>& watermark) {
    std::int64_t time = 0;
    std::memcpy(&time, record, sizeof time);
    taken.emplace_back(input, time);
    if (kHasWatermark[input]) watermark = some(time);
  }
  void follow(std::size_t, std::int64_t) {}
  void set_watermarks(const GraphInput*) {}
  void tick_clocks() {}
  void adopt_clock(std::size_t, std::int64_t) override {}
  bool clock_watermark(std::size_t, std::int64_t&) const override { return false; }
  bool adopt_entry(const GraphEntry&) override { return false; }
  void adopt_stored(std::int64_t) override {}
  bool put_state() override { return true; }
  std::uint64_t late_rows(std::size_t) const override { return 0; }
  std::uint64_t rows_without_time(std::size_t) const override { return 0; }
  bool rows_out(std::size_t, std::uint64_t&) const override { return false; }

  std::vector<TakenRow> taken;
};

using Times = std::vector<std::int64_t>;

// The table whose watermark is least, the first of several; one without takes turns by rows.
std::size_t next_by_model(const std::array<GraphInput, 3>& inputs) {
  std::size_t next = 3;
  for (std::size_t i = 0; i < 2; ++i) {
    if (inputs[i].ended || inputs[i].waits) continue;
    if (next == 3 || inputs[i].watermark < inputs[next].watermark) next = i;
  }
  if (inputs[2].ended || inputs[2].waits) return next;
  return next == 3 || inputs[2].rows <= inputs[next].rows ? 2 : next;
}

std::vector<TakenRow> taken_by_model(const std::array<Times, 3>& tables,
                                     std::array<GraphInput, 3> inputs) {
  std::vector<TakenRow> taken;
  std::array<std::size_t, 3> at{};
  for (;;) {
    const auto next = next_by_model(inputs);
    if (next == 3) return taken;
    if (at[next] == tables[next].size()) {
      inputs[next].ended = true;
      continue;
    }
    const auto time = tables[next][at[next]++];
    ++inputs[next].rows;
    if (next != 2) inputs[next].watermark = std::max(inputs[next].watermark, time);
    taken.emplace_back(next, time);
  }
}

// A compiler copied a row's bytes all at once, just after it had written them one by one: the CPU
// waited for them, and NEXMark's q7 took twice as long.
TEST(RuntimeGraph, ARowIsCopiedMemberByMember) {
  EXPECT_FALSE(std::is_trivially_copyable_v<Maybe<std::int64_t>>);
  EXPECT_FALSE(std::is_trivially_copyable_v<Maybe<bool>>);
}

TEST(RuntimeGraph, RowsOfTablesAreTakenInTheOrderOfTheirWatermarks) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    std::array<Times, 3> tables;
    std::array<GraphInput, 3> inputs;
    for (std::size_t i = 0; i < 3; ++i) {
      std::int64_t time = static_cast<std::int64_t>(random.below(5));
      tables[i].resize(random.below(60));
      for (auto& row : tables[i]) {
        row = time - static_cast<std::int64_t>(random.below(3));  // Some are late.
        time += static_cast<std::int64_t>(random.below(4) * random.below(4));
      }
      inputs[i].ended = random.below(6) == 0 || (i == 2 && round % 2 == 0);
    }
    const auto wanted = taken_by_model(tables, inputs);
    NoHost host;
    ThreeTables graph(host);
    std::array<std::size_t, 3> at{};
    for (std::size_t next = 0;;) {
      ASSERT_TRUE(graph.take(inputs.data(), 1 + random.below(20), next));
      if (next == 3) break;
      if (inputs[next].count != 0) continue;
      const auto count = std::min<std::size_t>(1 + random.below(8), tables[next].size() - at[next]);
      if (count == 0) {
        ASSERT_TRUE(graph.end(inputs.data(), next));
        continue;
      }
      inputs[next].records = reinterpret_cast<const std::byte*>(tables[next].data() + at[next]);
      inputs[next].count = count;
      at[next] += count;
    }
    ASSERT_EQ(graph.taken, wanted) << "round " << round;
  }
}

}  // namespace
}  // namespace holdfast::query
