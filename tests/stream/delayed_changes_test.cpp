// Late changes of windows that wait for others, interpreted and compiled, beside a model: over lives
// that go on as one another, by a clock that the test turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/delayed_changes.hpp>

#include "crafted_state.hpp"
#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

// A row is a number and the end of its window, which is its start, too. Its group is the number
// modulo 5.
constexpr std::int64_t kDelayedKeys = 5, kDelayedWindowMs = 70, kDelayedLateMs = 100,
                       kDelayedWaitMs = 40;
using GroupPlace = std::pair<std::int64_t, std::int64_t>;  // End, key.

Subject delayed_changes() {
  Subject subject;
  sql::DelayChanges delay;
  delay.keys.push_back(
      sql::made(sql::Operation::kModulo, sql::kBigIntType, {}, column(0),
                sql::literal_of(sql::Value::of(kDelayedKeys), sql::kBigIntType, {})));
  delay.start_column = delay.end_column = 1;
  delay.delay_ms = kDelayedWaitMs;
  delay.lateness_ms = kDelayedLateMs;
  subject.node.what = std::move(delay);
  subject.node.columns = kColumns;
  subject.make = [](const Parts& parts) { return std::make_unique<DelayedChanges>(parts); };
  return subject;
}

struct CompiledDelay {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0, kDelayMs = kDelayedWaitMs, kLatenessMs = kDelayedLateMs;
  static Key key(const Row& row, query::Run&) {
    return Key(query::some(row.get<0>().value % kDelayedKeys));
  }
  static query::Maybe<std::int64_t> start(const Row& row) { return row.get<1>(); }
  static query::Maybe<std::int64_t> end(const Row& row) { return row.get<1>(); }
  static void give(Shown& all, query::Change change, const Row& row) {
    show_compiled(all, change, row);
  }
};
using CompiledDelays = query::DelayedChanges<CompiledDelay>;

class DelayModel {
 public:
  Shown take(RowKind kind, std::int64_t number, std::int64_t end) {
    if (end - 1 > watermark_) return {shown(kind, {number, end})};
    const GroupPlace place(end, number % kDelayedKeys);
    const auto [known, made] = waiting_.try_emplace(place);
    auto& change = known->second;
    if (made) change.due = test_clock_ms + kDelayedWaitMs;
    if (made && !adds(kind)) change.shown = number;
    change.now = adds(kind) ? std::optional(number) : std::nullopt;
    return {};
  }
  Shown tick() {
    std::vector<std::pair<std::int64_t, GroupPlace>> due;
    for (const auto& [place, change] : waiting_)
      if (change.due <= test_clock_ms) due.emplace_back(change.due, place);
    std::sort(due.begin(), due.end());
    Shown all;
    for (const auto& one : due)
      give(one.second, all);
    by_clock += all.size();
    return all;
  }
  Shown advance(std::int64_t watermark) {
    watermark_ = watermark;
    Shown all;
    while (!waiting_.empty() && waiting_.begin()->first.first - 1 + kDelayedLateMs <= watermark)
      give(waiting_.begin()->first, all);
    by_watermark += all.size();
    return all;
  }
  std::size_t by_clock = 0, by_watermark = 0, nothing = 0;

 private:
  struct Change {
    std::int64_t due = 0;
    std::optional<std::int64_t> shown, now;
  };
  void give(GroupPlace place, Shown& all) {
    const auto change = waiting_.extract(place).mapped();
    const auto show = [&](RowKind kind, std::int64_t number) {
      all.push_back(shown(kind, {number, place.first}));
    };
    if (change.shown == change.now) return static_cast<void>(++nothing);
    if (change.shown) show(change.now ? RowKind::kUpdateBefore : RowKind::kDelete, *change.shown);
    if (change.now) show(change.shown ? RowKind::kUpdateAfter : RowKind::kInsert, *change.now);
  }

  std::map<GroupPlace, Change> waiting_;
  std::int64_t watermark_ = kNoWatermark;
};

// Both processes, which change parts, beside the model.
class DelayTwins {
 public:
  DelayTwins(std::uint64_t memory_bytes, Left left)
      : memory_bytes_(memory_bytes),
        left_(left),
        one_(one_region_, memory_bytes),
        other_(other_region_, memory_bytes) {
    begin();
  }
  void begin() {
    leave_state(one_, one_region_, left_, 1);
    leave_state(other_, other_region_, left_, 1);
    const Watermarks watermarks{watermark_, watermark_};
    one_.begin(subject_, swapped_ ? begin_compiled<CompiledDelays> : begin_interpreted, watermarks);
    other_.begin(subject_, swapped_ ? begin_interpreted : begin_compiled<CompiledDelays>,
                 watermarks);
    swapped_ = !swapped_;
  }
  void complete() {
    one_.complete(), other_.complete();
    if (memory_bytes_ == kMemories[2])
      expect_nothing_in_memory(*one_.process), expect_nothing_in_memory(*other_.process);
  }
  void take_over() {
    if (dynamic_cast<Interpreted*>(one_.process.get()) != nullptr)
      one_.take_over<CompiledDelays>({watermark_, watermark_});
  }
  void take(RowKind kind, std::int64_t number, std::int64_t end) {
    add(model.take(kind, number, end));
    one_.process->take(0, kind, number, end);
    other_.process->take(0, kind, number, end);
  }
  void tick() {
    add(model.tick());
    one_.process->tick(), other_.process->tick();
  }
  void advance(std::int64_t watermark) {
    add(model.advance(watermark_ = watermark));
    one_.process->advance(0, watermark), other_.process->advance(0, watermark);
  }
  // What went out since the last time is the same.
  void compare() {
    ASSERT_EQ(one_.process->rows, wanted_);
    ASSERT_EQ(other_.process->rows, wanted_);
    one_.process->rows.clear(), other_.process->rows.clear();
    wanted_.clear();
  }
  void compare_state() { ASSERT_EQ(one_.entries(kFirstSlice), other_.entries(kFirstSlice)); }
  std::size_t entries() { return one_.entries(kFirstSlice).size(); }
  std::int64_t watermark() const { return watermark_; }

  DelayModel model;

 private:
  void add(const Shown& more) { wanted_.insert(wanted_.end(), more.begin(), more.end()); }

  const Subject subject_ = delayed_changes();
  const std::uint64_t memory_bytes_;
  const Left left_;
  Place place_;
  std::string one_region_ = place_ / "one", other_region_ = place_ / "other";
  World one_, other_;
  std::int64_t watermark_ = kNoWatermark;
  bool swapped_ = false;
  Shown wanted_;
};

// Groups as a window's changes come: each has a number, or none.
class DelayGroups {
 public:
  DelayGroups(DelayTwins& twins, Random& random) : twins_(twins), random_(random) {}
  void change(std::int64_t end) {
    if (end - 1 + kDelayedLateMs <= twins_.watermark()) return;  // It is late.
    const auto key = static_cast<std::int64_t>(random_.below(kDelayedKeys));
    const auto number = key + kDelayedKeys * static_cast<std::int64_t>(random_.below(3));
    const auto before = std::exchange(known_[{end, key}],
                                      random_.below(4) == 0 ? std::nullopt : std::optional(number));
    const auto now = known_[{end, key}];
    if (end - 1 > twins_.watermark() || (!before && !now)) return;
    if (before) twins_.take(now ? RowKind::kUpdateBefore : RowKind::kDelete, *before, end);
    if (now) twins_.take(before ? RowKind::kUpdateAfter : RowKind::kInsert, *now, end);
  }
  void advance(std::int64_t watermark) {
    for (const auto& [place, number] : known_) {
      const auto last = place.first - 1;
      if (number && last > twins_.watermark() && last <= watermark)
        twins_.take(RowKind::kInsert, *number, place.first);
    }
    twins_.advance(watermark);
  }

 private:
  DelayTwins& twins_;
  Random& random_;
  std::map<GroupPlace, std::optional<std::int64_t>> known_;
};

void check_delayed_changes(unsigned seed, std::uint64_t memory_bytes, Left left = Left::kHere) {
  SCOPED_TRACE(std::to_string(seed) + ", " + std::to_string(memory_bytes) + ", " +
               std::to_string(static_cast<int>(left)));
  test_idle_ms = 0;
  test_clock_ms = 1'000'000;
  Random random(seed);
  DelayTwins twins(memory_bytes, left);
  DelayGroups groups(twins, random);
  std::int64_t now = 1'000;
  for (int step = 0; step < 5'000 && !testing::Test::HasFatalFailure(); ++step) {
    SCOPED_TRACE(step);
    const auto kind = random.below(100);
    if (kind < 70) {
      const auto time = now - static_cast<std::int64_t>(random.below(300));
      groups.change(time + kDelayedWindowMs - time % kDelayedWindowMs);
    } else if (kind < 84) {
      now += static_cast<std::int64_t>(random.below(12));
      auto watermark = std::max(twins.watermark(), now - 120);
      if (random.below(4) == 0) watermark += (kDelayedWindowMs - watermark % kDelayedWindowMs) - 1;
      groups.advance(watermark);
    } else if (kind < 95) {
      test_clock_ms += static_cast<std::int64_t>(random.below(12));
      twins.tick();
    } else {
      if (kind != 98) twins.complete();
      if (kind < 97) twins.compare_state();
      twins.compare();
      if (kind == 99) twins.begin();
      if (kind == 98) twins.take_over();
    }
    twins.compare();
  }
  EXPECT_GT(twins.model.by_clock, 300u);
  EXPECT_GT(twins.model.by_watermark, 100u);
  EXPECT_GT(twins.model.nothing, 10u);
  twins.advance(kEndOfTime);
  twins.compare();
  twins.complete();
  EXPECT_EQ(twins.entries(), 0u);
}

TEST(DelayedChanges, AChangeWaitsForOthersByTheClockAndNoLongerThanItsWindow) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    for (const auto memory_bytes : kMemories)
      check_delayed_changes(seed, memory_bytes);
  }
}

TEST(DelayedChanges, StateOfAnEarlierBuildAndOfASavepointGoesOn) {
  for (const auto left : {Left::kByEarlierBuild, Left::kBySavepoint}) {
    for (const auto memory_bytes : kMemories)
      check_delayed_changes(4, memory_bytes, left);
  }
}

// The region of a process that has left so many changes, at most 500, that wait for at least 10 ms.
std::string left_waiting(const Place& place, std::int64_t count) {
  const auto subject = delayed_changes();
  test_idle_ms = 0;
  test_clock_ms = 1'000'000;
  const auto region = place / "one";
  World world(region, 200);
  world.begin(subject, begin_interpreted);
  world.process->advance(0, 5'000);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % 20 == 0) ++test_clock_ms;
    world.process->take(0, RowKind::kInsert, i, 5'000 - i / kDelayedKeys);
    if (i % 70 == 0) world.complete();
  }
  world.complete();
  world.close();
  return region;
}

TEST(DelayedChanges, ThatARestartFindsGoOutWhenTheirTimeHasCome) {
  const auto subject = delayed_changes();
  for (const Begin& begin : {Begin(begin_interpreted), Begin(begin_compiled<CompiledDelays>)}) {
    Place place;
    World world(left_waiting(place, 400), 200);
    world.begin(subject, begin, {5'000, 5'000});
    expect_nothing_in_memory(*world.process);
    std::size_t shown_before = 0;
    for (std::int64_t ms = 1; ms <= kDelayedWaitMs; ++ms) {
      ++test_clock_ms;
      world.process->tick();
      const auto due = std::max<std::int64_t>(0, 20 * (ms + 20 - kDelayedWaitMs));
      EXPECT_EQ(world.process->rows.size(), static_cast<std::size_t>(due)) << ms;
      shown_before = world.process->rows.size();
    }
    EXPECT_EQ(shown_before, 400u);
    world.process->advance(0, kEndOfTime);
    EXPECT_EQ(world.process->rows.size(), 400u);
  }
}

struct CraftedDelay {
  CraftedPlace where;
  std::int64_t number;
};

TEST(DelayedChanges, StateThatNoRunHasWrittenIsRefused) {
  const auto subject = delayed_changes();
  const CraftedDelay all[] = {{{0, kInKey, 0}, INT64_MAX},
                              {{0, kInKey, 8}, INT64_MIN + 1},
                              {{0, kInState, 9}, INT64_MAX},
                              {{0, kInState, 9}, 1'000'000},
                              {{0, kInState, 1}, 1'000'000}};
  for (const auto& [where, number] : all) {
    SCOPED_TRACE(std::to_string(where.in_key) + " " + std::to_string(where.at));
    Place place;
    const auto region = left_waiting(place, 20);
    craft(region, where, number);
    test_clock_ms += 1'000;
    KvStateStore store(KvStateStore::open_region(region).value(), 1, 200);
    EXPECT_TRUE(store.open().value());
    const auto interpreted = subject.make(parts_of(subject, store));
    interpreted->set_watermark(0, 5'000);
    auto status = interpreted->restore();
    if (status) status = interpreted->tick();
    EXPECT_EQ(status.code(), Errc::kCorrupt);
    StoreHost host(store);
    query::Output output;
    query::Run run{host, output};
    CompiledDelays compiled(run);
    compiled.set_watermark(5'000);
    compiled.adopt_stored(0);
    Shown rows;
    compiled.tick(rows);
    EXPECT_TRUE(run.failed);
  }
}

}  // namespace
}  // namespace holdfast::stream::graph
