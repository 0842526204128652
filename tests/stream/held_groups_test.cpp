// Groups whose aggregates hold values, interpreted and compiled, where memory has not all of them: a
// group comes back with all of its parts, and takes them along. Beside a model that knows all rows.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/group_operators.hpp>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kParts = kFirstSlice + 1;

// COUNT(DISTINCT v), MAX(v), SUM(DISTINCT v) by k.
Subject held_groups(bool retracts) {
  Subject subject;
  sql::Group group;
  group.keys.push_back(column(0));
  for (const auto kind :
       {sql::AggregateKind::kCount, sql::AggregateKind::kMax, sql::AggregateKind::kSum}) {
    sql::Aggregate aggregate;
    aggregate.kind = kind;
    aggregate.distinct = kind != sql::AggregateKind::kMax;
    aggregate.argument = column(1);
    aggregate.type = sql::kBigIntType;
    group.aggregates.push_back(std::move(aggregate));
  }
  subject.node.what = std::move(group);
  subject.node.columns.assign(4, {"c", sql::kBigIntType});
  subject.make = [retracts](const Parts& parts) {
    return std::make_unique<RunningGroups>(parts, retracts);
  };
  return subject;
}

template <bool kMayRetract>
struct CompiledHeldGroups {
  using Row = graph::Row;
  using Number = std::int64_t;
  using Key = query::KeyOf<Number>;
  using Out = query::RowOf<Number, Number, Number, Number>;
  template <class Inner>
  using DistinctOf = std::conditional_t<kMayRetract, query::OfValues<Number, Inner, true>,
                                        query::Distinct<Number, Inner>>;
  using Greatest = query::Extreme<Number, true>;
  using State = query::StateOf<
      DistinctOf<query::Count>,
      std::conditional_t<kMayRetract, query::OfValues<Number, Greatest, false>, Greatest>,
      DistinctOf<query::SumOfIntegers<Number>>>;
  static constexpr std::int64_t kNode = 0;
  static constexpr bool kRetracts = kMayRetract;
  static Key key(const Row& row, query::Run&) { return Key(row.get<0>()); }
  static void add(State& state, const Row& row, query::Run&) {
    state.template get<0>().add(row.get<1>());
    state.template get<1>().add(row.get<1>());
    state.template get<2>().add(row.get<1>());
  }
  static void take_back(State& state, const Row& row, query::Run&) {
    if constexpr (kMayRetract) {
      state.template get<0>().take_back(row.get<1>());
      state.template get<1>().take_back(row.get<1>());
      state.template get<2>().take_back(row.get<1>());
    }
  }
  static Out out(const Key& key, const State& state, query::Run& run) {
    return Out(key.template get<0>(), state.template get<0>().result(run),
               state.template get<1>().result(run), state.template get<2>().result(run));
  }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};
template <bool kMayRetract>
using CompiledGroups = query::RunningGroups<CompiledHeldGroups<kMayRetract>>;

class HeldModel {
 public:
  Shown take(RowKind kind, std::int64_t key, std::int64_t value) {
    auto& values = groups_[key];
    const auto before = row(key, values);
    const bool is_new = values.empty();
    if (adds(kind))
      ++values[value];
    else if (--values[value] == 0)
      values.erase(value);
    const auto after = row(key, values);
    if (is_new) return {shown(RowKind::kInsert, after)};
    if (values.empty()) return {shown(RowKind::kDelete, before)};
    if (before == after) return {};
    return {shown(RowKind::kUpdateBefore, before), shown(RowKind::kUpdateAfter, after)};
  }
  // How often each value of a group is there.
  const std::map<std::int64_t, std::int64_t>& of(std::int64_t key) { return groups_[key]; }

 private:
  static std::vector<std::int64_t> row(std::int64_t key,
                                       const std::map<std::int64_t, std::int64_t>& values) {
    if (values.empty()) return {};
    std::int64_t sum = 0;
    for (const auto& [value, times] : values)
      sum += value;
    return {key, static_cast<std::int64_t>(values.size()), values.rbegin()->first, sum};
  }
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> groups_;
};

// Two groups have thousands of values, the others some.
std::pair<std::int64_t, std::int64_t> random_row(Random& random) {
  const bool large = random.below(2) == 0;
  return {static_cast<std::int64_t>(large ? random.below(2) : random.below(40)),
          static_cast<std::int64_t>(random.below(large ? 2'500 : 30))};
}

template <bool kMayRetract>
void check_held_groups(unsigned seed, std::uint64_t memory_bytes) {
  SCOPED_TRACE(std::to_string(seed) + ", " + std::to_string(memory_bytes));
  const auto subject = held_groups(kMayRetract);
  using Compiled = CompiledGroups<kMayRetract>;
  Random random(seed);
  Place place;
  test_idle_ms = 0;
  World one(place / "one", memory_bytes), other(place / "other", memory_bytes);
  HeldModel model;
  bool swapped = false;
  const auto begin = [&] {
    one.begin(subject, swapped ? begin_compiled<Compiled> : begin_interpreted);
    other.begin(subject, swapped ? begin_interpreted : begin_compiled<Compiled>);
    swapped = !swapped;
  };
  begin();
  const auto take = [&](RowKind kind, std::int64_t key, std::int64_t value) {
    const auto wanted = model.take(kind, key, value);
    for (auto* const world : {&one, &other}) {
      world->process->rows.clear();
      world->process->take(0, kind, key, value);
      ASSERT_EQ(world->process->rows, wanted);
    }
  };
  for (int step = 0; step < 12'000 && !testing::Test::HasFatalFailure(); ++step) {
    const auto kind = random.below(1'000);
    if (kind < 990) {
      auto [key, value] = random_row(random);
      const bool goes = kMayRetract && random.below(step % 4'000 < 2'500 ? 4 : 2) == 0;
      if (!goes) {
        take(RowKind::kInsert, key, value);
      } else if (const auto& values = model.of(key); !values.empty()) {
        const auto found = values.lower_bound(value);
        value = found == values.end() ? values.begin()->first : found->first;
        take(random.below(2) == 0 ? RowKind::kDelete : RowKind::kUpdateBefore, key, value);
      }
      continue;
    }
    if (kMayRetract && kind == 990) {  // A large group goes, and its parts.
      const auto& values = model.of(0);
      while (!values.empty() && !testing::Test::HasFatalFailure())
        take(RowKind::kDelete, 0, values.begin()->first);
    }
    if (kind != 998) one.complete(), other.complete();
    if (memory_bytes == kMemories[2] && kind != 998) expect_nothing_in_memory(*one.process);
    if (kind >= 999) begin();
    if (kind == 998 && dynamic_cast<Interpreted*>(one.process.get()) != nullptr)
      one.template take_over<Compiled>({});
  }
  one.complete(), other.complete();
  EXPECT_GE(one.entries(kParts).size(), 2u);
  one.close(), other.close();
}

TEST(HeldGroups, ComeBackWithAllOfTheirValues) {
  for (const unsigned seed : {1u, 2u}) {
    for (const auto memory_bytes : kMemories)
      check_held_groups<false>(seed, memory_bytes);
  }
}

TEST(HeldGroups, OfRowsThatMayGoComeBackWithAllOfTheirValues) {
  for (const unsigned seed : {1u, 2u}) {
    for (const auto memory_bytes : kMemories)
      check_held_groups<true>(seed, memory_bytes);
  }
}

// As where state ends when it is idle: of a group that came anew a row goes that it never saw. Then
// it has fewer rows than it has the value.
template <bool kInParts>
void check_unknown_rows() {
  SCOPED_TRACE(kInParts ? "in parts" : "in the entry");
  const auto subject = held_groups(true);
  Place place;
  test_idle_ms = 0;
  World whole(place / "whole", kMuchMemory), one(place / "one", 1), other(place / "other", 1);
  const auto begin = [&] {
    whole.begin(subject, begin_interpreted);
    one.begin(subject, begin_interpreted);
    other.begin(subject, begin_compiled<CompiledGroups<true>>);
  };
  const auto take = [&](RowKind kind, std::int64_t value) {
    for (auto* const world : {&whole, &one, &other})
      world->process->take(0, kind, 7, value);
  };
  const auto complete = [&] { whole.complete(), one.complete(), other.complete(); };
  begin();
  constexpr std::int64_t kValues = kInParts ? 300 : 1;
  for (std::int64_t value = 0; value < kValues; ++value)
    take(RowKind::kInsert, value);
  take(RowKind::kInsert, 0);
  for (std::int64_t row = 0; row < kValues; ++row)
    take(RowKind::kDelete, 1'000);  // One row is left, and 0 is there twice.
  complete();
  EXPECT_EQ(one.entries(kParts).size() > 1, kInParts);
  for (int round = 0; round < 2; ++round) {  // In memory no more, then of another process.
    take(RowKind::kInsert, 2'000 + round);
    complete();
    EXPECT_EQ(one.process->rows, whole.process->rows);
    EXPECT_EQ(other.process->rows, whole.process->rows);
    EXPECT_EQ(
        whole.process->rows.back(),
        shown(RowKind::kUpdateAfter, {7, kValues + round + 1, 2'000 + round,
                                      kValues * (kValues - 1) / 2 + (round == 0 ? 2'000 : 4'001)}));
    begin();
  }
}

TEST(HeldGroups, OfWhichARowWentThatTheyNeverSawComeBack) {
  check_unknown_rows<false>();
  check_unknown_rows<true>();
}

// ---- State that ends when it is idle ----

constexpr std::int64_t kIdleMs = 100;

// Of entries with a key each, in both slices.
std::size_t entries_in(const std::string& region) {
  KvStateStore store(KvStateStore::open_region(region).value(), 1);
  store.open().value();
  std::map<std::string, std::string> newest;
  for (const auto slice : {kFirstSlice, kParts}) {
    store
        .for_each_version(slice,
                          [&](std::string_view key, std::string_view state, std::uint64_t) {
                            newest[std::to_string(slice) + std::string(key)] = state;
                            return Status();
                          })
        .value();
  }
  std::erase_if(newest, [](const auto& entry) { return entry.second.empty(); });
  return newest.size();
}

template <bool kMayRetract>
void check_idle_groups(unsigned seed, bool copied) {
  SCOPED_TRACE(std::to_string(seed) + (copied ? ", copied" : ""));
  const auto subject = held_groups(kMayRetract);
  using Compiled = CompiledGroups<kMayRetract>;
  Random random(seed);
  Place place;
  test_idle_ms = kIdleMs;
  test_clock_ms = 1'000'000;
  const std::string names[] = {"whole", "fetched", "third"};
  std::vector<std::unique_ptr<World>> worlds;
  int copies = 0;
  const auto path_of = [&](int number) {
    return place / (names[number] + std::to_string(number == 0 ? 0 : copies));
  };
  const auto make_worlds = [&] {
    worlds.clear();
    for (int i = 0; i < 3; ++i)
      worlds.push_back(std::make_unique<World>(path_of(i), i == 0 ? kMuchMemory : 1));
  };
  make_worlds();
  bool swapped = false;
  const auto begin = [&] {
    worlds[0]->begin(subject, begin_interpreted);
    // The second run reads what the other kind has written.
    worlds[1]->begin(subject, swapped ? begin_compiled<Compiled> : begin_interpreted);
    worlds[2]->begin(subject, swapped ? begin_interpreted : begin_compiled<Compiled>);
    swapped = !swapped;
  };
  begin();
  const auto take = [&](std::int64_t key, std::int64_t value) {
    for (const auto& world : worlds)
      world->process->take(0, RowKind::kInsert, key, value);
  };
  std::size_t rows = 0;
  for (int step = 0; step < 400; ++step) {
    const auto kind = random.below(100);
    if (kind < 60) {
      const auto key = static_cast<std::int64_t>(random.below(12));
      const auto count = random.below(3) == 0 ? 400 : 5;  // A row each, some have parts then.
      const auto first = static_cast<std::int64_t>(random.below(1'000));
      for (std::int64_t i = 0; i < count; ++i)
        take(key, first + i);
    } else if (kind < 80) {
      test_clock_ms += static_cast<std::int64_t>(random.below(kIdleMs / 2));
    } else {
      for (const auto& world : worlds)
        world->complete();
      if (kind >= 95) {
        for (const auto& world : worlds)
          rows += world->process->rows.size();
        if (copied) {
          for (const auto& world : worlds)
            world->close();
          const auto from = std::vector{path_of(1), path_of(2)};
          ++copies;
          copy_entries(from[0], path_of(1), 2);
          copy_entries(from[1], path_of(2), 2);
          make_worlds();
        }
        begin();
      }
    }
    for (const auto& world : worlds)
      ASSERT_EQ(worlds[0]->process->rows, world->process->rows) << step;
  }
  EXPECT_GT(rows, 1'000u);
  // In the end nothing of it is left but what the last row has.
  for (int i = 0; i < 4; ++i) {
    test_clock_ms += kIdleMs;
    take(100 + i, 0);
    for (const auto& world : worlds)
      world->complete();
  }
  for (const auto& world : worlds)
    world->close();
  for (int i = 0; i < 3; ++i)
    EXPECT_LE(entries_in(path_of(i)), 2u) << i;
  test_idle_ms = 0;
}

TEST(HeldGroups, ThatAreIdleEndWithTheirParts) {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    check_idle_groups<false>(seed, false);
    check_idle_groups<true>(seed, false);
  }
}

TEST(HeldGroups, OfACopyThatAreIdleEndWithTheirParts) {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    check_idle_groups<false>(seed, true);
    check_idle_groups<true>(seed, true);
  }
}

// ---- Memory ----

constexpr std::uint64_t kLittleMemory = 2'000'000;

// A query has a checkpoint when one is asked for. The most bytes that memory had above those at the
// beginning.
template <class Take>
std::size_t most_bytes(World& world, int rows, const Take& take) {
  const auto before = ::mallinfo2().uordblks;
  std::size_t most = 0;
  for (int row = 0; row < rows; ++row) {
    take(row);
    world.process->rows.clear();
    if (world.take_request()) world.complete();
    if (row % 1'000 == 0) most = std::max(most, ::mallinfo2().uordblks);
  }
  return most - std::min<std::size_t>(most, before);
}

template <bool kMayRetract>
void check_bound(const Begin& begin) {
  test_idle_ms = 0;
  for (const auto memory_bytes : {kMuchMemory, kLittleMemory}) {
    Place place;
    const auto subject = held_groups(kMayRetract);
    World world(place / "one", memory_bytes);
    world.begin(subject, begin);
    const auto most = most_bytes(
        world, 300'000, [&](int row) { world.process->take(0, RowKind::kInsert, row / 150, row); });
    const bool is_counted = ::mallinfo2().uordblks != 0;  // Not by sanitizers.
    if (!is_counted) continue;
    if (memory_bytes == kLittleMemory) {
      EXPECT_LT(most, 6 * kLittleMemory);
    } else {
      EXPECT_GT(most, 10 * kLittleMemory);
    }
  }
}

TEST(HeldGroups, LeaveMemoryWhereTheirValuesAreTooMany) {
  check_bound<false>(begin_interpreted);
  check_bound<true>(begin_interpreted);
}
TEST(HeldGroups, CompiledLeaveMemoryWhereTheirValuesAreTooMany) {
  check_bound<false>(begin_compiled<CompiledGroups<false>>);
  check_bound<true>(begin_compiled<CompiledGroups<true>>);
}

// It would come back at once.
TEST(HeldGroups, OneThatIsLargerThanMemoryAsksForNoCheckpoint) {
  constexpr std::int64_t kValues = 60'000;
  for (const auto& begin :
       {Begin(begin_interpreted), Begin(begin_compiled<CompiledGroups<false>>)}) {
    Place place;
    const auto subject = held_groups(false);
    World world(place / "one", kLittleMemory);
    world.begin(subject, begin);
    std::int64_t value = 0;
    for (; value < kValues; ++value)
      world.process->take(0, RowKind::kInsert, 1, value);
    world.complete();
    world.take_request();  // Before it had parts all of it was to be written.
    world.begin(subject, begin);
    expect_nothing_in_memory(*world.process);
    for (; value < 2 * kValues; ++value) {
      world.process->take(0, RowKind::kInsert, 1, value);
      if (value % 30'000 == 0) world.complete();
    }
    const auto sum = (2 * kValues - 1) * kValues;
    EXPECT_EQ(world.process->rows.back(),
              shown(RowKind::kUpdateAfter, {1, 2 * kValues, 2 * kValues - 1, sum}));
    EXPECT_FALSE(world.take_request());
  }
}

// ---- What a store has ----

struct StoredEntry {
  std::int64_t slice;
  std::string key, state;
};

std::string key_of(std::int64_t number) {
  std::string key;
  sql::append_bytes(sql::Value::of(number), sql::kBigIntType, key);
  return key;
}

// Of values 0 to `count` - 1, each of which is there once.
std::string part_of(std::int64_t count) {
  std::string part{'\1'};
  for (std::int64_t value = 0; value < count; ++value) {
    append_part(key_of(value), part);
    query::append_raw(std::int64_t{1}, part);
  }
  return part;
}
std::string key_of_part(std::int64_t group, std::int64_t aggregate, std::int64_t number) {
  std::string key;
  append_part(key_of(group), key);
  append_ordered(aggregate, key);
  append_ordered(number, key);
  return key;
}

// The group 7 with the values 0 to 299, as builds wrote it that had all groups in memory.
std::vector<StoredEntry> stored_group(std::uint32_t parts = 1) {
  std::string state{'\1'};
  append_ordered(300, state);
  for (int aggregate = 0; aggregate < 3; ++aggregate) {
    append_ordered(-1, state);
    query::append_raw(parts, state);
  }
  std::vector<StoredEntry> entries{{kFirstSlice, key_of(7), state}};
  for (int aggregate = 0; aggregate < 3; ++aggregate)
    entries.push_back({kParts, key_of_part(7, aggregate, 0), part_of(300)});
  return entries;
}

void store_all(const std::string& region, const std::vector<StoredEntry>& entries) {
  KvStateStore store(KvStateStore::open_region(region).value(), 1);
  store.open().value();
  for (const auto& [slice, key, state] : entries) {
    std::uint64_t version = 0;
    store.replace(slice, key, state, version).value();
  }
  store.complete({1, "m"}).value();
}

// What an operator says that has one more row of the group, with so much memory.
Status go_on(const std::vector<StoredEntry>& entries, std::uint64_t memory_bytes, bool compiled) {
  Place place;
  const auto subject = held_groups(true);
  store_all(place / "one", entries);
  KvStateStore store(KvStateStore::open_region(place / "one").value(), 1, memory_bytes);
  store.open().value();
  RunningGroups interpreted(parts_of(subject, store), true);
  HF_RETURN_IF_ERROR(interpreted.restore());
  if (!compiled)
    return interpreted.take(0, RowKind::kInsert, {sql::Value::of(7), sql::Value::of(1'000)});
  StoreHost host(store);
  query::Output output;
  query::Run run{host, output};
  CompiledGroups<true> one(run);
  EXPECT_EQ(interpreted.stored_slices(), std::set{kFirstSlice});
  one.adopt_stored(0);
  Shown rows;
  one.take(rows, query::Change::kInsert,
           Row(query::some(std::int64_t{7}), query::some(std::int64_t{1'000})));
  if (run.failed) return Error{Errc::kCorrupt, "refused"};
  EXPECT_EQ(rows.back(), shown(RowKind::kUpdateAfter, {7, 301, 1'000, 299 * 150 + 1'000}));
  return {};
}

TEST(HeldGroups, OfABuildThatHadAllInMemoryAreFetched) {
  for (const bool compiled : {false, true})
    EXPECT_TRUE(go_on(stored_group(), 1, compiled));
  EXPECT_TRUE(go_on(stored_group(), kMuchMemory, false));  // All at once.
}

TEST(HeldGroups, WithDamagedPartsAreRefused) {
  const auto expect_refused = [](const std::vector<StoredEntry>& entries) {
    EXPECT_EQ(go_on(entries, 1, false).code(), Errc::kCorrupt);
    EXPECT_EQ(go_on(entries, 1, true).code(), Errc::kCorrupt);
    EXPECT_EQ(go_on(entries, kMuchMemory, false).code(), Errc::kCorrupt);
  };
  expect_refused(stored_group(2));
  expect_refused(stored_group(0));
  expect_refused(stored_group(UINT32_MAX));
  for (std::size_t part = 1; part <= 3; ++part) {
    SCOPED_TRACE(part);
    auto entries = stored_group();
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(part));  // Missing.
    expect_refused(entries);
    const auto change = [&](const auto& how) {
      auto changed = stored_group();
      how(changed[part]);
      expect_refused(changed);
    };
    const auto aggregate = static_cast<std::int64_t>(part) - 1;
    change([&](StoredEntry& one) { one.key = key_of_part(7, 3, 0); });
    change([&](StoredEntry& one) { one.key = key_of_part(7, -1, 0); });
    change([&](StoredEntry& one) { one.key = key_of_part(7, aggregate, 1); });
    change([&](StoredEntry& one) { one.key = key_of_part(7, aggregate, INT64_MAX); });
    change([&](StoredEntry& one) { one.key = key_of_part(7, aggregate, -1); });
    change([&](StoredEntry& one) { one.key += '\0'; });
    change([&](StoredEntry& one) { one.state.pop_back(); });
    change([&](StoredEntry& one) { one.state.resize(1); });
    change([&](StoredEntry& one) { one.state[one.state.size() - 1] = '\x20'; });  // 2^61 times.
    change([&](StoredEntry& one) { one.state[one.state.size() - 8] = '\0'; });    // Never.
    change([&](StoredEntry& one) { one.state[5] = '\2'; });                       // Of no type.
  }
}

}  // namespace
}  // namespace holdfast::stream::graph
