// The state of a compiled ranking, under the sanitizers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/graph_ranks.hpp>

#include "no_host.hpp"

namespace holdfast::query {
namespace {

// A store that keeps its entries, of one checkpoint.
class OneCheckpoint final : public NoHost {
 public:
  bool replace(std::int64_t, Text key, Text state, std::uint64_t&) override {
    ++(state.size == 0 ? gone : put_entries);
    return keys_.emplace(key.data, key.size).second;
  }
  bool keeps_entries() const override { return true; }

  int gone = 0, put_entries = 0;

 private:
  std::set<std::string> keys_;
};

// What is shown of a ranking of the first column: change, number, first and second column.
using Shown = std::vector<std::tuple<Change, std::int64_t, std::int64_t, std::int64_t>>;

template <bool kMayRetract, std::uint64_t kUpTo = 5>
struct Recorded {
  using Row = RowOf<std::int64_t, std::int64_t>;
  using Key = KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kFirst = 2, kLast = kUpTo;
  static constexpr bool kLatest = false;
  static constexpr bool kRetracts = kMayRetract;
  static Key key(const Row&, Run&) { return Key(some(std::int64_t{1})); }
  static int compare(const Row& a, const Row& b) {
    return compare_in_order<true, false>(a.template get<0>(), b.template get<0>());
  }
  static void give(Shown& shown, Change change, const Row& row, std::int64_t number) {
    shown.emplace_back(change, number, row.get<0>().value, row.get<1>().value);
  }
};

// The newest row went before compiled code took over: what a store is told of it, and of a row that
// comes, are two entries.
TEST(RuntimeRank, ARowThatComesDoesNotHaveTheNumberOfOneThatIsGone) {
  OneCheckpoint host;
  query::Output output;
  query::Run run{host, output};
  using Definition = Recorded<true>;
  RunningRank<Definition> ranking(run);
  std::string key;
  append_key_part(Definition::key({}, run), key);
  append_ordered(0, key);  // The number that the next row of an empty ranking would have.
  ASSERT_TRUE(ranking.adopt({first_slice(0), {key.data(), key.size()}, {nullptr, 0}, 3, true}));
  Shown shown;
  ranking.take(shown, Change::kInsert,
               Definition::Row(some(std::int64_t{5}), some(std::int64_t{0})));
  // One that comes and goes leaves nothing.
  ranking.take(shown, Change::kInsert,
               Definition::Row(some(std::int64_t{6}), some(std::int64_t{0})));
  ranking.take(shown, Change::kDelete,
               Definition::Row(some(std::int64_t{6}), some(std::int64_t{0})));
  EXPECT_TRUE(ranking.put_state()) << "a key twice in a checkpoint";
  EXPECT_EQ(host.gone, 1);
  EXPECT_EQ(host.put_entries, 1);
  EXPECT_FALSE(ranking.adopt({first_slice(0), {"short", 5}, {nullptr, 0}, 3, true}));
}

// All rows in a list: those that are equal in the order in which they came.
class ListRank {
 public:
  using Pair = std::pair<std::int64_t, std::int64_t>;

  void come(Shown& shown, Pair row) {
    const auto before = rows_;
    rows_.insert(std::find_if(rows_.begin(), rows_.end(),
                              [&](const Pair& one) { return one.first < row.first; }),
                 row);
    show(shown, before);
  }
  void go(Shown& shown, std::size_t place) {
    const auto before = rows_;
    rows_.erase(std::find(rows_.begin(), rows_.end(), rows_[place]));
    show(shown, before);
  }
  const std::vector<Pair>& rows() const { return rows_; }

 private:
  void show(Shown& shown, const std::vector<Pair>& before) {
    std::size_t from = 0;
    while (from < before.size() && from < rows_.size() && before[from] == rows_[from])
      ++from;
    for (std::size_t i = std::max<std::size_t>(from, Recorded<true>::kFirst - 1);
         i < Recorded<true>::kLast; ++i) {
      const bool was = i < before.size(), is = i < rows_.size();
      const auto number = static_cast<std::int64_t>(i) + 1;
      if (was)
        shown.emplace_back(is ? Change::kUpdateBefore : Change::kDelete, number, before[i].first,
                           before[i].second);
      if (is)
        shown.emplace_back(was ? Change::kUpdateAfter : Change::kInsert, number, rows_[i].first,
                           rows_[i].second);
    }
  }

  std::vector<Pair> rows_;
};

// `values`: rows of as many ranks; of 2 some are among hundreds that are equal to them.
template <bool kMayRetract>
void check_against_a_list(std::uint64_t seed, std::uint64_t values) {
  OneCheckpoint host;
  query::Output output;
  query::Run run{host, output};
  RunningRank<Recorded<kMayRetract>> ranking(run);
  ListRank list;
  Random random(seed);
  const auto row_of = [](const ListRank::Pair& pair) {
    return typename Recorded<kMayRetract>::Row(some(pair.first), some(pair.second));
  };
  for (int step = 0; step < 1'000; ++step) {
    Shown shown, expected;
    if (kMayRetract && !list.rows().empty() && random.below(5) < 2) {
      const auto place = random.below(list.rows().size());
      ranking.take(shown, Change::kDelete, row_of(list.rows()[place]));
      list.go(expected, place);
    } else {  // Each row once: of two that are the same the list would not know which one moved.
      const ListRank::Pair row(static_cast<std::int64_t>(random.below(values)), step);
      ranking.take(shown, Change::kInsert, row_of(row));
      list.come(expected, row);
    }
    ASSERT_EQ(shown, expected) << "seed " << seed << ", step " << step;
  }
  Shown shown;
  ranking.take(shown, Change::kDelete, row_of({3, -1}));  // One that never came.
  EXPECT_TRUE(shown.empty());
}

TEST(RuntimeRank, RowsThatComeAndGoShowWhatAListShows) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    check_against_a_list<true>(seed, seed % 2 == 0 ? 2 : 8);
}

TEST(RuntimeRank, RowsThatComeShowWhatAListShows) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    check_against_a_list<false>(seed, 8);
}

// ---- One row of each partition, with texts ----

// What a sink has of rows with a text: it reads them when they are flushed.
class TextHost final : public NoHost {
 public:
  bool write(const Change* changes, const std::byte* records, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i, records += Record::kBytes) {
      std::int64_t key = 0;
      Text text;
      std::memcpy(&key, records + Record::kOffsets[0], sizeof key);
      std::memcpy(&text, records + Record::kOffsets[1], sizeof text);
      shown.emplace_back(changes[i], key, std::string(text.data, text.size));
    }
    return true;
  }
  bool replace(std::int64_t, Text key, Text state, std::uint64_t& version) override {
    version = ++versions_;
    if (state.size == 0)
      entries.erase(std::string(key.data, key.size));
    else
      entries[std::string(key.data, key.size)] = std::string(state.data, state.size);
    return true;
  }
  bool keeps_entries() const override { return true; }
  std::int64_t idle_ms() const override { return idle; }
  std::int64_t now_ms() const override { return now; }

  using Record = RecordOf<std::int64_t, Text>;
  std::int64_t idle = 0, now = 1'000;
  std::vector<std::tuple<Change, std::int64_t, std::string>> shown;
  std::map<std::string, std::string> entries;

 private:
  std::uint64_t versions_ = 0;
};

// The row of each key whose time is the highest: of key, time and text.
template <bool kNewest>
struct FirstOfKey {
  using Row = RowOf<std::int64_t, std::int64_t, Text>;
  using Key = KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kFirst = 1, kLast = 1;
  static constexpr bool kLatest = kNewest;
  static constexpr bool kRetracts = false;
  static Key key(const Row& row, Run&) { return Key(row.get<0>()); }
  static int compare(const Row& a, const Row& b) {
    return compare_in_order<true, false>(a.get<1>(), b.get<1>());
  }
  static void give(Run& run, Change change, const Row& row, std::int64_t) {
    write(run, change, row.get<0>(), row.get<2>());
  }
};

// Rows with texts of every length, beside a map. A checkpoint now and then is adopted by another.
template <bool kNewest>
void check_first_of_key(std::uint64_t seed) {
  using Definition = FirstOfKey<kNewest>;
  TextHost host;
  query::Output output;
  query::Run run{host, output};
  auto ranking = std::make_unique<RunningRank<Definition>>(run);
  std::map<std::int64_t, std::pair<std::int64_t, std::string>> model;
  decltype(host.shown) expected;
  Random random(seed);
  for (int step = 0; step < 3'000; ++step) {
    const auto key = static_cast<std::int64_t>(random.below(20));
    const auto time = static_cast<std::int64_t>(random.below(50));
    const std::string text(random.below(40), static_cast<char>('a' + step % 26));
    const auto found = model.find(key);
    if (found == model.end()) {
      expected.emplace_back(Change::kInsert, key, text);
      model[key] = {time, text};
    } else if (kNewest ? time >= found->second.first : time > found->second.first) {
      expected.emplace_back(Change::kUpdateBefore, key, found->second.second);
      expected.emplace_back(Change::kUpdateAfter, key, text);
      found->second = {time, text};
    }
    ranking->take(run, Change::kInsert,
                  typename Definition::Row(some(key), some(time), some(text_of(text))));
    if (random.below(500) == 0) {
      run.flush();
      ASSERT_TRUE(ranking->put_state());
      ASSERT_EQ(host.entries.size(), model.size()) << "seed " << seed << ", step " << step;
      ranking = std::make_unique<RunningRank<Definition>>(run);
      for (const auto& [bytes, state] : host.entries)
        ASSERT_TRUE(ranking->adopt({first_slice(0), text_of(bytes), text_of(state), 1, false}));
    }
    if (random.below(50) == 0) run.flush();
  }
  run.flush();
  EXPECT_EQ(host.shown, expected) << "seed " << seed;
}

TEST(RuntimeRank, TheFirstRowOfAPartitionIsShownWithTextsThatAreStillThere) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    check_first_of_key<true>(seed);
    check_first_of_key<false>(seed);
  }
}

// A state that has two rows of such a partition: the one that comes first stays, the other goes.
TEST(RuntimeRank, OfTwoRowsInTheStateOfAFirstRowTheFirstStays) {
  using Definition = FirstOfKey<true>;
  for (const bool better_first : {true, false}) {
    TextHost host;
    query::Output output;
    query::Run run{host, output};
    RunningRank<Definition> ranking(run);
    for (const bool better : {better_first, !better_first}) {
      std::string key, state;
      const Definition::Row row(some<std::int64_t>(7), some<std::int64_t>(better ? 9 : 5),
                                some(text_of(better ? "better" : "worse")));
      append_key_part(Definition::key(row, run), key);
      append_ordered(better ? 3 : 4, key);
      append_begin(nullptr, state);
      row.append_exactly(state);
      host.entries[key] = state;
      ASSERT_TRUE(ranking.adopt({first_slice(0), text_of(key), text_of(state), 1, false}));
    }
    EXPECT_TRUE(ranking.put_state());
    EXPECT_EQ(host.entries.size(), 1u);
    ranking.take(
        run, Change::kInsert,
        Definition::Row(some<std::int64_t>(7), some<std::int64_t>(9), some(text_of("newer"))));
    run.flush();
    ASSERT_EQ(host.shown.size(), 2u);
    EXPECT_EQ(std::get<2>(host.shown[0]), "better");
  }
}

// ---- Rows with texts that may go ----

// All rows are equal in the ranking.
struct EqualRows {
  using Row = RowOf<std::int64_t, Text>;
  using Key = KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kFirst = 1, kLast = 100;
  static constexpr bool kLatest = false;
  static constexpr bool kRetracts = true;
  static Key key(const Row&, Run&) { return Key(some(std::int64_t{1})); }
  static int compare(const Row& a, const Row& b) {
    return compare_in_order<false, false>(a.get<0>(), b.get<0>());
  }
  static void give(Run& run, Change change, const Row& row, std::int64_t number) {
    write(run, change, some(number), row.get<1>());
  }
};

// It was looked for by bytes that were read from memory that it had given back.
TEST(RuntimeRank, ARowWithATextThatCameBackGoesAgain) {
  TextHost host;
  query::Output output;
  query::Run run{host, output};
  RunningRank<EqualRows> ranking(run);
  const auto take = [&](Change change, int number) {
    const std::string text = "a text, number " + std::to_string(number);
    ranking.take(run, change, EqualRows::Row(some(std::int64_t{0}), some(text_of(text))));
  };
  constexpr int kRows = 40;  // More than are looked at one by one.
  for (int i = 0; i < kRows; ++i)
    take(Change::kInsert, i);
  for (int i = 0; i < 3; ++i) {
    take(Change::kDelete, kRows - 1);
    take(Change::kInsert, kRows - 1);
  }
  take(Change::kDelete, kRows - 1);
  run.flush();
  EXPECT_TRUE(ranking.put_state());
  EXPECT_EQ(host.entries.size(), kRows - 1u);
  ASSERT_EQ(host.shown.size(), kRows + 7u);
  EXPECT_EQ(std::get<Change>(host.shown.back()), Change::kDelete);
}

// The same where the time of rows is over.
TEST(RuntimeRank, ARowWithATextThatEndedAndCameBackGoes) {
  TextHost host;
  host.idle = 100;
  query::Output output;
  query::Run run{host, output};
  RunningRank<EqualRows> ranking(run);
  const auto take = [&](Change change, int number) {
    const std::string text = "a text, number " + std::to_string(number);
    ranking.take(run, change, EqualRows::Row(some(std::int64_t{0}), some(text_of(text))));
  };
  constexpr int kRows = 40;
  for (int i = 0; i < kRows; ++i)
    take(Change::kInsert, i);
  take(Change::kDelete, kRows - 1);  // From now on they are known by their bytes.
  host.now += 60;
  take(Change::kInsert, kRows);
  host.now += 60;  // It stays; the others end.
  take(Change::kInsert, kRows - 1);
  take(Change::kInsert, 0);
  take(Change::kDelete, 0);
  take(Change::kDelete, kRows - 1);
  EXPECT_TRUE(ranking.put_state());
  EXPECT_EQ(host.entries.size(), 1u);
}

// It looked at the last of no rows.
TEST(RuntimeRank, ARankingUpToZeroShowsNothing) {
  OneCheckpoint host;
  query::Output output;
  query::Run run{host, output};
  RunningRank<Recorded<false, 0>> ranking(run);
  Shown shown;
  for (std::int64_t i = 0; i < 3; ++i)
    ranking.take(shown, Change::kInsert, Recorded<false, 0>::Row(some(i), some(i)));
  EXPECT_TRUE(shown.empty());
  EXPECT_TRUE(ranking.put_state());
  EXPECT_EQ(host.put_entries, 0);
}

}  // namespace
}  // namespace holdfast::query
