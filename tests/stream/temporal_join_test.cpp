// Joins of versions, interpreted and compiled, beside a model that has all in memory: the same rows
// go out, and the state has the same versions and waiting rows, over lives that go on as one
// another, with memory for all rows, for few and for none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/temporal_join.hpp>
#include <holdfast/stream/graph/join_operators.hpp>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

// A row is a number and its time. Its key is the number modulo 7. Left numbers of which no right
// row is wanted are a multiple of 5.
constexpr std::int64_t kVersionKeys = 7, kWantsNone = 5;

sql::ExpressionPointer remainder(std::int64_t by) {
  return sql::made(sql::Operation::kModulo, sql::kBigIntType, {}, column(0),
                   sql::literal_of(sql::Value::of(by), sql::kBigIntType, {}));
}

Subject versions(sql::JoinKind kind, std::int64_t keys = kVersionKeys) {
  Subject subject;
  sql::Join join;
  join.kind = kind;
  join.form = sql::JoinForm::kTemporal;
  join.left_keys.push_back(remainder(keys));
  join.right_keys.push_back(remainder(keys));
  join.left_time = join.right_time = 1;
  join.condition =
      sql::made(sql::Operation::kNotEqual, {sql::Kind::kBoolean}, {}, remainder(kWantsNone),
                sql::literal_of(sql::Value::of(0), sql::kBigIntType, {}));
  subject.node.what = std::move(join);
  subject.node.columns.assign(4, {"c", sql::kBigIntType});
  subject.inputs = 2;
  subject.make = [](const Parts& parts) { return std::make_unique<TemporalJoin>(parts); };
  return subject;
}

template <query::JoinKind kOfKind, std::int64_t kKeys = kVersionKeys>
struct CompiledVersions {
  using Left = graph::Row;
  using Right = graph::Row;
  using Out = query::RowOf<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr auto kKind = kOfKind;
  static Key left_key(const Left& row, query::Run&) {
    return Key(query::some(row.get<0>().value % kKeys));
  }
  static Key right_key(const Right& row, query::Run& run) { return left_key(row, run); }
  static auto left_time(const Left& row) { return row.get<1>(); }
  static auto right_time(const Right& row) { return row.get<1>(); }
  static bool holds(const Left& left, const Right&, query::Run&) {
    return left.get<0>().value % kWantsNone != 0;
  }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};
template <query::JoinKind kOfKind>
using CompiledJoinOf = query::TemporalJoin<CompiledVersions<kOfKind>>;

// A time and a number of each row.
using Rows = std::set<std::pair<std::int64_t, std::int64_t>>;

class VersionsModel {
 public:
  explicit VersionsModel(bool keeps_left) : keeps_left_(keeps_left) {}

  void wait(std::int64_t number, std::int64_t time) {
    waiting_.emplace(std::pair(time, came_++), number);
  }
  // Of versions that the watermark and all waiting rows are behind, the newest one stays.
  void come(std::int64_t number, std::int64_t time) {
    auto& all = versions_[number % kVersionKeys];
    all[time] = number;
    auto passed = watermark;
    if (!waiting_.empty()) passed = std::min(passed, waiting_.begin()->first.first - 1);
    while (all.size() > 1 && std::next(all.begin())->first <= passed)
      all.erase(all.begin()), ++forgotten;
  }
  Shown advance(std::int64_t to) {
    watermark = to;
    Shown all;
    for (; !waiting_.empty() && waiting_.begin()->first.first <= to;
         waiting_.erase(waiting_.begin())) {
      const auto time = waiting_.begin()->first.first;
      const auto number = waiting_.begin()->second;
      const auto& of_key = versions_[number % kVersionKeys];
      const auto behind = of_key.upper_bound(time);
      if (behind != of_key.begin() && number % kWantsNone != 0) {
        const auto& [since, version] = *std::prev(behind);
        all.push_back(shown(RowKind::kInsert, {number, time, version, since}));
      } else if (keeps_left_) {
        all.push_back(shown(RowKind::kInsert, {number, time, -1, -1}));
      }
    }
    return all;
  }
  Rows waiting() const {
    Rows rows;
    for (const auto& [place, number] : waiting_)
      rows.emplace(place.first, number);
    return rows;
  }
  Rows versions() const {
    Rows rows;
    for (const auto& [key, all] : versions_)
      rows.insert(all.begin(), all.end());
    return rows;
  }
  std::int64_t watermark = kNoWatermark;
  std::uint64_t forgotten = 0;

 private:
  const bool keeps_left_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> waiting_;  // By time.
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> versions_;  // By key and time.
  std::int64_t came_ = 0;
};

// Those of a slice, as the last checkpoint has them.
Rows rows_of(World& world, std::int64_t slice) {
  Rows rows;
  for (const auto& [key, state] : world.entries(slice)) {
    std::int64_t number = 0, time = 0;
    std::memcpy(&number, state.data() + state.size() - 2 * (1 + 8) + 1, 8);
    std::memcpy(&time, state.data() + state.size() - 8, 8);
    EXPECT_TRUE(rows.emplace(time, number).second);
  }
  return rows;
}

class TwoOfVersions {
 public:
  TwoOfVersions(query::JoinKind kind, unsigned seed, std::uint64_t memory_bytes, bool of_earlier)
      : left_(kind == query::JoinKind::kLeft),
        of_earlier_(of_earlier),
        memory_bytes_(memory_bytes),
        subject_(versions(left_ ? sql::JoinKind::kLeft : sql::JoinKind::kInner)),
        random_(seed),
        one_(place_ / "one", memory_bytes),
        other_(place_ / "other", memory_bytes),
        model_(left_) {
    begin();
  }
  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE(step);
      go();
    }
  }
  void end() {
    advance(kEndOfTime);
    complete();
    EXPECT_TRUE(rows_of(one_, kFirstSlice).empty());
    EXPECT_GT(shown_, 1'000u);
    EXPECT_GT(model_.forgotten, 100u);
    EXPECT_GT(late_, 100u);
  }

 private:
  void begin() {
    one_.close(), other_.close();
    if (of_earlier_) forget_times(place_ / "one", 2), forget_times(place_ / "other", 2);
    const Watermarks watermarks{model_.watermark, model_.watermark};
    const Begin compiled = left_ ? begin_compiled<CompiledJoinOf<query::JoinKind::kLeft>, true>
                                 : begin_compiled<CompiledJoinOf<query::JoinKind::kInner>, true>;
    one_.begin(subject_, swapped_ ? compiled : begin_interpreted, watermarks);
    other_.begin(subject_, swapped_ ? begin_interpreted : compiled, watermarks);
    swapped_ = !swapped_;
  }
  void go() {
    const auto kind_of_step = random_.below(100);
    if (kind_of_step < 40) return take(0);
    if (kind_of_step < 80) return take(1);
    if (kind_of_step < 92) {
      now_ += static_cast<std::int64_t>(random_.below(30));
      const auto next = now_ - 100 - static_cast<std::int64_t>(random_.below(40));
      if (next > model_.watermark) advance(next);
    } else if (kind_of_step == 98) {
      take_over();
    } else {
      complete();
      if (kind_of_step == 99) begin();
    }
  }
  void take(std::size_t input) {
    const auto number = next_number_++;  // Of which there is but one.
    const auto time = now_ - static_cast<std::int64_t>(random_.below(180));  // Late ones, too.
    if (input == 0)
      model_.wait(number, time);
    else
      model_.come(number, time);
    late_ += input == 0 && time <= model_.watermark ? 1 : 0;
    one_.process->take(input, RowKind::kInsert, number, time);
    other_.process->take(input, RowKind::kInsert, number, time);
  }
  void advance(std::int64_t watermark) {
    const auto wanted = model_.advance(watermark);
    for (auto* const world : {&one_, &other_}) {
      world->process->rows.clear();
      for (const std::size_t input : {0u, 1u})
        world->process->advance(input, watermark);
      ASSERT_EQ(world->process->rows, wanted);
    }
    shown_ += wanted.size();
  }
  void complete() {
    for (auto* const world : {&one_, &other_}) {
      world->complete();
      ASSERT_EQ(rows_of(*world, kFirstSlice), model_.waiting());
      ASSERT_EQ(rows_of(*world, kFirstSlice + 1), model_.versions());
      if (memory_bytes_ < 1'000) expect_nothing_in_memory(*world->process);
    }
  }
  void take_over() {
    const Watermarks watermarks{model_.watermark, model_.watermark};
    for (auto* const world : {&one_, &other_}) {
      if (dynamic_cast<Interpreted*>(world->process.get()) == nullptr) continue;
      if (left_)
        world->take_over<CompiledJoinOf<query::JoinKind::kLeft>, true>(watermarks);
      else
        world->take_over<CompiledJoinOf<query::JoinKind::kInner>, true>(watermarks);
    }
  }

  const bool left_, of_earlier_;
  const std::uint64_t memory_bytes_;
  const Subject subject_;
  Random random_;
  Place place_;
  World one_, other_;
  VersionsModel model_;
  bool swapped_ = false;
  std::int64_t now_ = 1'000, next_number_ = 0;
  std::uint64_t shown_ = 0, late_ = 0;
};

void check_kept_versions(query::JoinKind kind, bool of_earlier_build) {
  test_idle_ms = 0;
  for (const unsigned seed : {1u, 2u, 3u}) {
    for (const auto memory_bytes : kMemories) {
      SCOPED_TRACE(std::to_string(seed) + ", " + std::to_string(memory_bytes));
      TwoOfVersions two(kind, seed, memory_bytes, of_earlier_build);
      two.run(6'000);
      if (!testing::Test::HasFatalFailure()) two.end();
    }
  }
}

TEST(TemporalJoin, ShowsTheVersionOfTheTimeAndForgetsTheSameWhateverIsInMemory) {
  check_kept_versions(query::JoinKind::kInner, false);
}
TEST(TemporalJoin, ShowsLeftRowsWithoutAVersion) {
  check_kept_versions(query::JoinKind::kLeft, false);
}
// Such a state is read as a whole, and written anew.
TEST(TemporalJoin, RowsOfABuildThatWroteNoTimes) {
  check_kept_versions(query::JoinKind::kLeft, true);
}

// ---- Memory ----

constexpr std::int64_t kManyKeys = 8'000;
constexpr std::uint64_t kLittleMemory = 100'000;
constexpr std::uint64_t kMostDue = query::DueRows<int, int>::kMost;

// Many left rows wait for one watermark, each for the version of a key of its own. Of all rows a
// checkpoint takes from memory what is there.
template <class TakeAll, class Complete>
void take_many(const TakeAll& take, const Complete& complete) {
  for (std::int64_t number = 1; number <= kManyKeys; ++number) {
    take(1, number, 0);
    take(0, number, number);
    if (number % 500 == 0) complete();
  }
}

TEST(TemporalJoin, HasButSomeRowsInMemoryWhileItShowsMany) {
  struct Watcher final : Operator {
    Watcher(const Parts& parts, const Operator& watched) : Operator(parts), of(watched) {}
    Status take(std::size_t, RowKind, const sql::Row&) override {
      most = std::max(most, of.state_size().entries);
      return ++rows, Status();
    }
    const Operator& of;
    std::uint64_t rows = 0, most = 0;
  };
  Place place;
  const auto subject = versions(sql::JoinKind::kLeft, kManyKeys + 1);
  KvStateStore store(KvStateStore::open_region(place / "one").value(), 1, kLittleMemory);
  EXPECT_FALSE(store.open().value());
  TemporalJoin join(parts_of(subject, store));
  Watcher watcher({subject.node, {&subject.node.columns}, nullptr, 0}, join);
  join.add_reader(watcher, 0);
  std::uint64_t epoch = 0;
  const auto take = [&](std::size_t side, std::int64_t number, std::int64_t time) {
    join.take(side, RowKind::kInsert, {sql::Value::of(number), sql::Value::of(time)}).value();
  };
  take_many(take, [&] {
    join.put_state().value();
    store.complete({++epoch, "m"}).value();
  });
  for (const std::size_t side : {0u, 1u})
    join.advance(side, kEndOfTime).value();
  EXPECT_EQ(watcher.rows, static_cast<std::uint64_t>(kManyKeys));
  EXPECT_LT(watcher.most, kMostDue + 1'000);
}

// How many there are.
struct CountedRow : graph::Row {
  CountedRow() { come(); }
  CountedRow(const graph::Row& row) : graph::Row(row) { come(); }
  CountedRow(const CountedRow& other) : graph::Row(other) { come(); }
  CountedRow& operator=(const CountedRow&) = default;
  ~CountedRow() { --count; }
  static void come() { most = std::max(most, ++count); }
  static inline std::uint64_t count = 0, most = 0;
};

struct CountedVersions : CompiledVersions<query::JoinKind::kLeft, kManyKeys + 1> {
  using Left = CountedRow;
  using Right = CountedRow;
};

TEST(TemporalJoin, CompiledHasButSomeRowsInMemoryWhileItShowsMany) {
  Place place;
  World world(place / "one", kLittleMemory);
  world.begin(versions(sql::JoinKind::kLeft, kManyKeys + 1),
              begin_compiled<query::TemporalJoin<CountedVersions>, true>);
  const auto take = [&](std::size_t side, std::int64_t number, std::int64_t time) {
    world.process->take(side, RowKind::kInsert, number, time);
  };
  take_many(take, [&] { world.complete(); });
  CountedRow::most = 0;
  for (const std::size_t side : {0u, 1u})
    world.process->advance(side, kEndOfTime);
  EXPECT_EQ(world.process->rows.size(), static_cast<std::size_t>(kManyKeys));
  EXPECT_GT(CountedRow::most, 1'000u);
  EXPECT_LT(CountedRow::most, kMostDue + 3'000);
}

// Rows wait far apart, then close to one another, then equally long.
TEST(DueRows, ComeByTheirTimesAndNotTooManyAtOnce) {
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;  // End and number.
  std::int64_t number = 0, end = INT64_MIN;
  rows.emplace_back(end, number++);
  for (end = -1'000'000'000; end < 1'000'000'000; end += 1'000'000)
    rows.emplace_back(end, number++);
  for (int i = 0; i < 30'000; ++i)
    rows.emplace_back(end += i % 2, number++);
  for (int i = 0; i < 10'000; ++i)
    rows.emplace_back(end, number++);
  rows.emplace_back(INT64_MAX - 1, number++);
  std::vector<std::pair<std::int64_t, std::int64_t>> given;
  auto mixed = rows;
  Random random(1);
  for (std::size_t i = mixed.size(); i > 1; --i)
    std::swap(mixed[i - 1], mixed[random.below(i)]);
  query::DueRows<std::int64_t, std::int64_t> due;
  int looks = 0;
  for (auto from = INT64_MIN; from < INT64_MAX; ++looks) {
    const auto until = due.begin(from, INT64_MAX - 1);
    ASSERT_GE(until, from);
    std::int64_t beyond = INT64_MAX;
    for (const auto& [at, key] : mixed) {
      if (at > until) beyond = std::min(beyond, at);
      ASSERT_EQ(due.take(at, key, key), from <= at && at <= until);
    }
    const auto before = given.size();
    const auto next = due.finish(beyond, [&](std::int64_t key, std::int64_t&& row) {
      EXPECT_EQ(key, row);
      given.push_back(rows[static_cast<std::size_t>(row)]);
    });
    ASSERT_GT(next, from);
    const bool equal = given[before].first == given.back().first;
    EXPECT_TRUE(given.size() - before <= kMostDue || equal) << given.size() - before;
    from = next;
  }
  EXPECT_EQ(given, rows);
  EXPECT_LT(looks, 100);
}

}  // namespace
}  // namespace holdfast::stream::graph
