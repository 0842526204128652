// The watermark of instants as one of a zone's wall clock, interpreted and compiled.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/zone.hpp>
#include <holdfast/stream/graph/simple_operators.hpp>

#include "no_host.hpp"

namespace holdfast::stream::graph {
namespace {

std::int64_t ms(std::string_view text) { return sql::timestamp_of(text).value(); }

struct WatermarksSeen : Operator {
  explicit WatermarksSeen(const Parts& parts) : Operator(parts) {}
  Status take(std::size_t, RowKind, const sql::Row&) override { return {}; }
  Status advance(std::size_t, std::int64_t watermark) override {
    all.push_back(watermark);
    return {};
  }
  std::vector<std::int64_t> all;
};

// Asks the zone, and counts how often.
class ZoneHost final : public query::NoHost {
 public:
  explicit ZoneHost(const sql::Zone& zone) : zone_(zone) {}
  void find_span(bool of_walls, std::int64_t time, query::ZoneSpan& span) const override {
    const auto found = of_walls ? zone_.span_of_wall(time) : zone_.span_at(time);
    span = {found.from, found.until, found.shift_ms, found.least_wall};
    ++asked;
  }
  mutable int asked = 0;

 private:
  const sql::Zone& zone_;
};

const std::vector<sql::Column> kNoColumns;

// 02:00 to 03:00 comes at 00:00 UTC and at 01:00 UTC.
TEST(WallClock, AWatermarkDoesNotPassWhatComesAgain) {
  const auto* const zone = sql::Zone::named("Europe/Berlin").value();
  sql::Node node;
  node.what = sql::WallClock{zone};
  WallClockRows rows({node, {&kNoColumns}, nullptr, 0});
  WatermarksSeen seen({node, {&kNoColumns}, nullptr, 0});
  rows.add_reader(seen, 0);
  ZoneHost host(*zone);
  query::Output output;
  query::Run run{host, output};
  std::vector<std::int64_t> compiled, wanted;
  for (const auto& [instant, wall] : {std::pair{"2024-10-26 23:59", "2024-10-27 01:59"},
                                      {"2024-10-27 00:10", "2024-10-27 02:00"},
                                      {"2024-10-27 00:59", "2024-10-27 02:00"},
                                      {"2024-10-27 01:30", "2024-10-27 02:30"},
                                      {"2024-10-27 02:00", "2024-10-27 03:00"},
                                      {"2025-03-30 00:59", "2025-03-30 01:59"},
                                      {"2025-03-30 01:00", "2025-03-30 03:00"}}) {
    ASSERT_TRUE(rows.advance(0, ms(instant)));
    compiled.push_back(query::settled_wall_of(run, ms(instant)));
    wanted.push_back(ms(wall));
  }
  EXPECT_EQ(seen.all, wanted);
  EXPECT_EQ(compiled, wanted);
  EXPECT_EQ(host.asked, 3) << "summer, winter, summer";
  ASSERT_TRUE(rows.advance(0, kEndOfTime));
  EXPECT_EQ(seen.all.back(), kEndOfTime);
  EXPECT_EQ(query::settled_wall_of(run, query::kNoTime), query::kNoTime);
}

}  // namespace
}  // namespace holdfast::stream::graph
