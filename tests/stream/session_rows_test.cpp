// Rows of sessions, interpreted and compiled, beside a dull search for the sessions: over lives that
// go on as one another, with memory for all rows, for few and for none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/session_rows.hpp>
#include <holdfast/stream/graph/simple_operators.hpp>

#include "crafted_state.hpp"
#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

// A row is a number and its time. Its key is the number modulo 5.
constexpr std::int64_t kKeys = 5, kSessionGapMs = 64;

Subject session_rows() {
  Subject subject;
  sql::AssignSessions sessions;
  sessions.time_column = 1;
  sessions.gap_ms = kSessionGapMs;
  sessions.keys.push_back(sql::made(sql::Operation::kModulo, sql::kBigIntType, {}, column(0),
                                    sql::literal_of(sql::Value::of(kKeys), sql::kBigIntType, {})));
  subject.node.what = std::move(sessions);
  subject.node.columns.assign(5, {"c", sql::kBigIntType});
  subject.make = [](const Parts& parts) { return std::make_unique<AssignSessionRows>(parts); };
  return subject;
}

struct CompiledSessionRows {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0, kGapMs = kSessionGapMs;
  static Key key(const Row& row, query::Run&) {
    return Key(query::some(row.get<0>().value % kKeys));
  }
  static query::Maybe<std::int64_t> time(const Row& row) { return row.get<1>(); }
  static void give(Shown& all, query::Change change, const Row& row, std::int64_t start,
                   std::int64_t end) {
    show_compiled(all, change, row, {start, end, end - 1});
  }
};
using CompiledSessions = query::SessionRows<CompiledSessionRows>;

// The rows that are there, by key: time and number. Sessions are made when they are looked at.
class SessionModel {
 public:
  void take(std::int64_t number, std::int64_t time) {
    auto& rows = rows_[number % kKeys];
    const bool near = std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      return std::abs(row.first - time) <= kSessionGapMs;
    });
    if (time + kSessionGapMs - 1 <= watermark_ && !near) return static_cast<void>(++late);
    const auto behind =
        std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first > time; });
    rows.insert(behind, {time, number});
  }
  Shown advance(std::int64_t watermark) {
    watermark_ = watermark;
    std::map<std::pair<std::int64_t, std::int64_t>, Shown> ended;  // By end and key.
    for (auto& [key, rows] : rows_) {
      for (std::size_t from = 0; from < rows.size();) {
        auto to = from + 1;
        while (to < rows.size() && rows[to].first - rows[to - 1].first <= kSessionGapMs)
          ++to;
        const auto start = rows[from].first, end = rows[to - 1].first + kSessionGapMs;
        if (end - 1 > watermark) {
          from = to;
          continue;
        }
        auto& session = ended[{end, key}];
        for (auto i = from; i < to; ++i)
          session.push_back(
              shown(RowKind::kInsert, {rows[i].second, rows[i].first, start, end, end - 1}));
        rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(from),
                   rows.begin() + static_cast<std::ptrdiff_t>(to));
      }
    }
    Shown all;
    for (const auto& [place, session] : ended)
      all.insert(all.end(), session.begin(), session.end());
    return all;
  }
  std::uint64_t late = 0;

 private:
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> rows_;
  std::int64_t watermark_ = kNoWatermark;
};

void check_session_rows(unsigned seed, std::uint64_t memory_bytes, bool of_earlier_build = false) {
  SCOPED_TRACE(std::to_string(seed) + ", " + std::to_string(memory_bytes));
  const auto subject = session_rows();
  const Begin compiled = begin_compiled<CompiledSessions>;
  Random random(seed);
  Place place;
  test_idle_ms = 0;
  World one(place / "one", memory_bytes), other(place / "other", memory_bytes);
  SessionModel model;
  std::int64_t now = 1'000, watermark = kNoWatermark;
  bool swapped = false;
  std::uint64_t late_of_one = 0, late_of_other = 0;  // Before they began.
  const auto begin = [&] {
    late_of_one = late_of_other = model.late;
    one.close(), other.close();
    if (of_earlier_build) forget_times(place / "one", 1), forget_times(place / "other", 1);
    one.begin(subject, swapped ? compiled : begin_interpreted, {watermark, watermark});
    other.begin(subject, swapped ? begin_interpreted : compiled, {watermark, watermark});
    swapped = !swapped;
  };
  begin();
  std::size_t rows = 0;
  for (int step = 0; step < 6'000; ++step) {
    const auto kind_of_step = random.below(100);
    Shown wanted;
    one.process->rows.clear(), other.process->rows.clear();
    if (kind_of_step < 70) {
      now += static_cast<std::int64_t>(random.below(12));
      const auto time = now - static_cast<std::int64_t>(random.below(200));
      const auto number = static_cast<std::int64_t>(random.below(100));
      model.take(number, time);
      one.process->take(0, RowKind::kInsert, number, time);
      other.process->take(0, RowKind::kInsert, number, time);
    } else if (kind_of_step < 90) {
      if (random.below(8) == 0) now += 100;  // Sessions end.
      const auto next = now - 100 - static_cast<std::int64_t>(random.below(40));
      if (next <= watermark) continue;
      watermark = next;
      wanted = model.advance(watermark);
      one.process->advance(0, watermark);
      other.process->advance(0, watermark);
    } else {
      if (kind_of_step != 98) one.complete(), other.complete();
      if (kind_of_step != 98 && memory_bytes < 1'000) expect_nothing_in_memory(*one.process);
      if (kind_of_step == 99) begin();
      const bool interpreted = dynamic_cast<Interpreted*>(one.process.get()) != nullptr;
      if (kind_of_step == 98 && interpreted) {
        one.take_over<CompiledSessions>({watermark, watermark});
        late_of_one = model.late;
      }
    }
    rows += wanted.size();
    ASSERT_EQ(one.process->rows, wanted) << step;
    ASSERT_EQ(other.process->rows, wanted) << step;
    ASSERT_EQ(one.process->late_rows(), model.late - late_of_one) << step;
    ASSERT_EQ(other.process->late_rows(), model.late - late_of_other) << step;
  }
  EXPECT_GT(rows, 500u);
  EXPECT_GT(model.late, 50u);
  one.process->rows.clear(), other.process->rows.clear();
  const auto rest = model.advance(kEndOfTime);
  one.process->advance(0, kEndOfTime), other.process->advance(0, kEndOfTime);
  EXPECT_EQ(one.process->rows, rest);
  EXPECT_EQ(other.process->rows, rest);
  one.complete(), other.complete();
  one.complete(), other.complete();
  EXPECT_EQ(one.bytes() + other.bytes(), 0u) << "behind the end";
}

TEST(SessionRows, AreShownWhenTheirSessionHasEnded) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    for (const auto memory_bytes : kMemories)
      check_session_rows(seed, memory_bytes);
  }
}

// Such a state is read as a whole, and written anew.
TEST(SessionRows, OfABuildThatWroteNoTimes) {
  for (const auto memory_bytes : kMemories)
    check_session_rows(1, memory_bytes, true);
}

TEST(SessionRows, OfTimesThatNoRunCouldHaveWrittenAreRefused) {
  check_crafted<CompiledSessions>(session_rows(),
                                  {{0, kInState, 1}, {0, kInKey, -16}, {0, kInKey, -8}});
}

}  // namespace
}  // namespace holdfast::stream::graph
