// Compiled sessions beside a dull search for them, under the sanitizers: rows out of order and late,
// and a state that is read back at any time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/session_rows.hpp>

#include "no_host.hpp"

namespace holdfast::query {
namespace {

constexpr std::int64_t kGap = 10;

// A store that keeps nothing: each checkpoint has all entries.
class AllEntries final : public NoHost {
 public:
  bool replace(std::int64_t, Text key, Text state, std::uint64_t&) override {
    const bool fresh =
        entries.emplace(std::string(key.data, key.size), std::string(state.data, state.size))
            .second;
    EXPECT_TRUE(fresh);
    return true;
  }

  std::map<std::string, std::string> entries;
};

struct Shown {
  std::int64_t start, end, time, number;
  std::string key;
  auto operator<=>(const Shown&) const = default;
};

// What reads the rows.
struct Reader {
  std::vector<Shown> shown;
};

struct Definition {
  static constexpr std::int64_t kNode = 3, kGapMs = kGap;
  using Row = RowOf<std::int64_t, Text, std::int64_t>;  // Time, key, number.
  using Key = KeyOf<Text>;
  static Key key(const Row& row, Run&) { return Key(row.get<1>()); }
  static Maybe<std::int64_t> time(const Row& row) { return row.get<0>(); }
  static void give(Reader& graph, Change, const Row& row, std::int64_t start, std::int64_t end) {
    const auto& key = row.get<1>().value;
    graph.shown.push_back(
        {start, end, row.get<0>().value, row.get<2>().value, std::string(key.data, key.size)});
  }
};

struct DullRow {
  std::int64_t time, number;
};

// The rows that are there, and the sessions that they make when they are looked at.
class Dull {
 public:
  bool take(const std::string& key, DullRow row) {
    auto& rows = rows_[key];
    const bool near = std::any_of(rows.begin(), rows.end(), [&](const DullRow& other) {
      return std::abs(other.time - row.time) <= kGap;
    });
    if (row.time + kGap - 1 <= watermark_ && !near) return false;
    rows.push_back(row);
    return true;
  }
  std::vector<Shown> pass(std::int64_t watermark) {
    watermark_ = watermark;
    std::vector<std::pair<std::int64_t, std::vector<Shown>>> ended;
    for (auto& [key, rows] : rows_) {
      std::stable_sort(rows.begin(), rows.end(), [](const DullRow& a, const DullRow& b) {
        return std::tie(a.time, a.number) < std::tie(b.time, b.number);
      });
      std::vector<DullRow> left;
      for (std::size_t from = 0; from < rows.size();) {
        auto to = from + 1;
        while (to < rows.size() && rows[to].time - rows[to - 1].time <= kGap)
          ++to;
        const auto end = rows[to - 1].time + kGap;
        std::vector<Shown> session;
        for (auto i = from; i < to; ++i) {
          session.push_back({rows[from].time, end, rows[i].time, rows[i].number, key});
          if (end - 1 > watermark) left.push_back(rows[i]);
        }
        if (end - 1 <= watermark) ended.emplace_back(end, std::move(session));
        from = to;
      }
      rows = std::move(left);
    }
    // Keys of one letter: the map has them in the order of their bytes.
    std::stable_sort(ended.begin(), ended.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Shown> all;
    for (auto& [end, session] : ended)
      all.insert(all.end(), session.begin(), session.end());
    return all;
  }

 private:
  std::map<std::string, std::vector<DullRow>> rows_;
  std::int64_t watermark_ = INT64_MIN;
};

TEST(RuntimeSession, SessionsAreThoseThatASearchFinds) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    AllEntries host;
    Output output;
    query::Run run{host, output};
    auto sessions = std::make_unique<SessionRows<Definition>>(run);
    Dull dull;
    Reader graph;
    std::vector<Shown> wanted;
    std::int64_t now = 0, watermark = INT64_MIN;
    std::uint64_t late = 0, taken_over = 0;
    const auto spread = 1 + random.below(60);  // How far rows are out of order.
    for (std::int64_t number = 0; number < 2'000; ++number) {
      now += static_cast<std::int64_t>(random.below(6));
      const auto time = now - static_cast<std::int64_t>(random.below(spread));
      const std::string key(1, static_cast<char>('a' + random.below(4)));
      late += !dull.take(key, {time, number});
      sessions->take(graph, Change::kInsert,
                     Definition::Row(some(time), some(Text{key.data(), 1}), some(number)));
      if (random.below(8) == 0 && now - 20 > watermark) {
        sessions->pass(graph, watermark, now - 20);
        watermark = now - 20;
        for (auto& row : dull.pass(watermark))
          wanted.push_back(std::move(row));
      }
      if (random.below(100) != 0) continue;
      host.entries.clear();
      ASSERT_TRUE(sessions->put_state());
      late -= sessions->late_rows;
      sessions = std::make_unique<SessionRows<Definition>>(run);
      sessions->set_watermark(watermark);
      std::vector<std::pair<std::string, std::string>> entries(host.entries.begin(),
                                                               host.entries.end());
      for (std::size_t i = entries.size(); i > 1; --i)  // A store may have any order.
        std::swap(entries[i - 1], entries[random.below(i)]);
      for (const auto& [full, state] : entries) {
        ASSERT_TRUE(sessions->adopt({first_slice(Definition::kNode),
                                     {full.data(), full.size()},
                                     {state.data(), state.size()},
                                     0,
                                     false}));
      }
      ++taken_over;
    }
    sessions->pass(graph, watermark, kEndOfTime);
    for (auto& row : dull.pass(kEndOfTime))
      wanted.push_back(std::move(row));
    EXPECT_EQ(sessions->late_rows, late) << seed;
    EXPECT_GT(taken_over, 3u);
    ASSERT_EQ(graph.shown.size(), wanted.size()) << seed;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_EQ(graph.shown[i], wanted[i]) << seed << ", row " << i;
  }
}

}  // namespace
}  // namespace holdfast::query
