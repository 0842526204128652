// State that ends when no row changes it, of operators that keep all of it in memory, that fetch it
// group by group, and that are compiled: the same rows go out.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/stream/compile/runtime/graph.hpp>
#include <holdfast/stream/graph/group_operators.hpp>
#include <holdfast/stream/graph/join_operators.hpp>
#include <holdfast/stream/graph/rank_operators.hpp>

#include "kept_stores.hpp"
#include "no_host.hpp"

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kIdleMs = 100;
constexpr std::int64_t kFirstSlice = query::first_slice(0);
std::int64_t clock_ms = 0;

Retention retention() {
  return {kIdleMs, [] { return clock_ms; }};
}

using Shown = std::vector<std::string>;

std::string shown(RowKind kind, const std::vector<std::int64_t>& values) {
  std::string text = std::to_string(static_cast<int>(kind));
  for (const auto value : values)
    text += " " + std::to_string(value);
  return text;
}

// Rows of two columns, `k` and `v`, come to an operator of this node.
struct Subject {
  sql::Node node;
  std::size_t inputs = 1;
  bool retracts = false;
};

const std::vector<sql::Column> kColumns{{"k", sql::kBigIntType}, {"v", sql::kBigIntType}};

sql::ExpressionPointer column(std::uint32_t number) {
  return sql::column_of(number, sql::kBigIntType, {});
}

// COUNT(*), SUM(v) by k.
Subject groups_of(bool retracts) {
  Subject subject;
  sql::Group group;
  group.keys.push_back(column(0));
  sql::Aggregate count, sum;
  count.kind = sql::AggregateKind::kCount;
  sum.kind = sql::AggregateKind::kSum;
  sum.argument = column(1);
  count.type = sum.type = sql::kBigIntType;
  group.aggregates.push_back(std::move(count));
  group.aggregates.push_back(std::move(sum));
  subject.node.what = std::move(group);
  subject.node.columns.assign(3, {"c", sql::kBigIntType});
  subject.retracts = retracts;
  return subject;
}

// SELECT DISTINCT k.
Subject distinct() {
  Subject subject;
  sql::Group group;
  group.keys.push_back(column(0));
  subject.node.what = std::move(group);
  subject.node.columns.assign(1, {"c", sql::kBigIntType});
  return subject;
}

// a LEFT JOIN b ON a.k = b.k.
Subject left_join() {
  Subject subject;
  sql::Join join;
  join.kind = sql::JoinKind::kLeft;
  join.left_keys.push_back(column(0));
  join.right_keys.push_back(column(0));
  subject.node.what = std::move(join);
  subject.node.columns.assign(4, {"c", sql::kBigIntType});
  subject.inputs = 2;
  subject.retracts = true;
  return subject;
}

// The first two of each k in the order of v, with their number.
Subject first_two(bool retracts) {
  Subject subject;
  sql::Rank rank;
  rank.partition.push_back(column(0));
  rank.order.push_back({column(1), false, true});
  rank.last = 2;
  subject.node.what = std::move(rank);
  subject.node.columns.assign(3, {"c", sql::kBigIntType});
  subject.retracts = retracts;
  return subject;
}

std::unique_ptr<Operator> interpreted(const Subject& subject, StateStore* store) {
  const Parts parts{subject.node, {&kColumns, &kColumns}, store, kFirstSlice, retention()};
  if (std::holds_alternative<sql::Join>(subject.node.what))
    return std::make_unique<RegularJoin>(parts);
  if (std::holds_alternative<sql::Rank>(subject.node.what))
    return std::make_unique<RunningRank>(parts, subject.retracts);
  return std::make_unique<RunningGroups>(parts, subject.retracts);
}

// ---- The same, compiled ----

using Row = query::RowOf<std::int64_t, std::int64_t>;

template <class... Values>
void show_compiled(Shown& all, query::Change change, const query::RowOf<Values...>& row,
                   std::vector<std::int64_t> more = {}) {
  std::vector<std::int64_t> values;
  std::apply([&](const auto&... value) { (values.push_back(value.known ? value.value : -1), ...); },
             row.all());
  values.insert(values.end(), more.begin(), more.end());
  all.push_back(shown(static_cast<RowKind>(change), values));
}

template <bool kMayRetract>
struct CompiledGroups {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  using Out = query::RowOf<std::int64_t, std::int64_t, std::int64_t>;
  using State = query::StateOf<query::Count, query::SumOfIntegers<std::int64_t>>;
  static constexpr std::int64_t kNode = 0;
  static constexpr bool kRetracts = kMayRetract, kHoldsValues = false;
  static Key key(const Row& row, query::Run&) { return Key(row.get<0>()); }
  static void add(State& state, const Row& row, query::Run&) {
    state.template get<0>().add();
    state.template get<1>().add(row.get<1>());
  }
  static void take_back(State& state, const Row& row, query::Run&) {
    state.template get<0>().take_back();
    state.template get<1>().take_back(row.get<1>());
  }
  static Out out(const Key& key, const State& state, query::Run& run) {
    return Out(key.template get<0>(), state.template get<0>().result(run),
               state.template get<1>().result(run));
  }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

struct CompiledDistinct {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  using Out = query::RowOf<std::int64_t>;
  using State = query::StateOf<>;
  static constexpr std::int64_t kNode = 0;
  static constexpr bool kRetracts = false, kHoldsValues = false;
  static Key key(const Row& row, query::Run&) { return Key(row.get<0>()); }
  static void add(State&, const Row&, query::Run&) {}
  static Out out(const Key& key, const State&, query::Run&) { return Out(key.get<0>()); }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

struct CompiledJoin {
  using Left = Row;
  using Right = Row;
  using Out = query::RowOf<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr auto kKind = query::JoinKind::kLeft;
  static Key left_key(const Left& row, query::Run&) { return Key(row.get<0>()); }
  static Key right_key(const Right& row, query::Run&) { return Key(row.get<0>()); }
  static bool holds(const Left&, const Right&, query::Run&) { return true; }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

template <bool kMayRetract>
struct CompiledRank {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kFirst = 1, kLast = 2;
  static constexpr bool kRetracts = kMayRetract;
  static Key key(const Row& row, query::Run&) { return Key(row.get<0>()); }
  static int compare(const Row& a, const Row& b) {
    return query::compare_in_order<false, true>(a.get<1>(), b.get<1>());
  }
  static void give(Shown& all, query::Change change, const Row& row, std::int64_t number) {
    show_compiled(all, change, row, {number});
  }
};

// ---- A process with an operator and a store of its own ----

class Process {
 public:
  virtual ~Process() = default;
  virtual void take(std::size_t input, RowKind kind, std::int64_t key, std::int64_t value) = 0;
  virtual void put_state() = 0;
  Shown rows;
};

class Interpreted final : public Process {
 public:
  Interpreted(const Subject& subject, StateStore& store)
      : operator_(interpreted(subject, &store)),
        last_({subject.node, {&subject.node.columns}, nullptr, 0}, rows) {
    operator_->add_reader(last_, 0);
    operator_->restore().value();
  }
  void take(std::size_t input, RowKind kind, std::int64_t key, std::int64_t value) override {
    operator_->take(input, kind, {sql::Value::of(key), sql::Value::of(value)}).value();
  }
  void put_state() override { operator_->put_state().value(); }

 private:
  struct Last final : Operator {
    Last(const Parts& parts, Shown& shown) : Operator(parts), all(shown) {}
    Status take(std::size_t, RowKind kind, const sql::Row& row) override {
      std::vector<std::int64_t> values;
      for (const auto& value : row)
        values.push_back(value.null ? -1 : static_cast<std::int64_t>(value.number));
      all.push_back(shown(kind, values));
      return {};
    }
    Shown& all;
  };
  std::unique_ptr<Operator> operator_;
  Last last_;
};

class StoreHost final : public query::NoHost {
 public:
  explicit StoreHost(StateStore& store) : store_(store) {}
  bool replace(std::int64_t slice, query::Text key, query::Text state,
               std::uint64_t& version) override {
    return store_.replace(slice, view(key), view(state), version).has_value();
  }
  bool keeps_entries() const override { return true; }
  bool finds_groups(std::uint64_t& bytes) const override { return store_.finds_groups(bytes); }
  bool group_by(std::int64_t slice, query::Grouping grouping) override {
    return store_.group_by(slice, grouping, 0).value();
  }
  bool for_each_of_group(std::int64_t slice, query::Text group,
                         query::VisitVersions& visit) override {
    const auto visit_one = [&](std::string_view key, std::string_view state,
                               std::uint64_t version) -> Status {
      if (visit.entry({key.data(), key.size()}, {state.data(), state.size()}, version)) return {};
      return Error{Errc::kCorrupt, "none of this query"};
    };
    return store_.for_each_of_group(slice, view(group), visit_one).has_value();
  }
  std::int64_t idle_ms() const override { return kIdleMs; }
  std::int64_t now_ms() const override { return clock_ms; }
  void end_idle(std::int64_t slice, std::int64_t oldest_ms, std::int64_t began_ms) override {
    store_.end_idle(slice, oldest_ms, began_ms);
  }

 private:
  static std::string_view view(query::Text text) { return {text.data, text.size}; }
  StateStore& store_;
};

// Goes on where the interpreter is that has read the store.
template <class Compiled, bool kTwoInputs = false>
class CompiledProcess final : public Process {
 public:
  CompiledProcess(const Subject& subject, StateStore& store)
      : host_(store), run_{host_, output_}, operator_(run_) {
    const auto before = interpreted(subject, &store);
    before->restore().value();
    for (const auto slice : before->stored_slices())
      operator_.adopt_stored(slice);
    before
        ->visit_state([&](std::int64_t slice, std::string_view key, std::string_view state,
                          std::uint64_t version, bool changed) -> Status {
          EXPECT_TRUE(operator_.adopt({slice,
                                       {key.data(), key.size()},
                                       {state.data(), state.size()},
                                       version,
                                       changed}));
          return {};
        })
        .value();
  }
  void take(std::size_t input, RowKind kind, std::int64_t key, std::int64_t value) override {
    const Row row(query::some(key), query::some(value));
    const auto change = static_cast<query::Change>(kind);
    if constexpr (!kTwoInputs) {
      operator_.take(rows, change, row);
    } else if (input == 0) {
      operator_.template take<query::Side::kLeft>(rows, change, row);
    } else {
      operator_.template take<query::Side::kRight>(rows, change, row);
    }
    EXPECT_FALSE(run_.failed);
  }
  void put_state() override { EXPECT_TRUE(operator_.put_state()); }

 private:
  StoreHost host_;
  query::Output output_;
  query::Run run_;
  Compiled operator_;
};

using Begin = std::function<std::unique_ptr<Process>(const Subject&, StateStore&)>;

std::unique_ptr<Process> begin_interpreted(const Subject& subject, StateStore& store) {
  return std::make_unique<Interpreted>(subject, store);
}
template <class Compiled, bool kTwoInputs = false>
std::unique_ptr<Process> begin_compiled(const Subject& subject, StateStore& store) {
  return std::make_unique<CompiledProcess<Compiled, kTwoInputs>>(subject, store);
}

// Its lives, on one region.
class World {
 public:
  World(std::string place, std::uint64_t memory_bytes)
      : place_(std::move(place)), memory_bytes_(memory_bytes) {}

  void begin(const Subject& subject, const Begin& begin) {
    process.reset();
    store_.reset();
    region_.reset();
    region_ = KvStateStore::open_region(place_).value();
    store_ = std::make_unique<KvStateStore>(region_, 1, memory_bytes_);
    const auto found = store_->open().value();
    epoch_ = found ? found->epoch : 0;
    process = begin(subject, *store_);
  }
  void complete() {
    process->put_state();
    store_->complete({++epoch_, "m"}).value();
  }
  // Of blocks of entries.
  std::size_t bytes() {
    std::size_t bytes = 0;
    auto cursor = region_->cursor().value();
    for (const auto slice : {kFirstSlice, kFirstSlice + 1}) {
      for (cursor.first(StateKeys(1).log_of_slice(slice)); cursor; cursor.next())
        bytes += cursor.value().size();
    }
    return bytes;
  }

  std::unique_ptr<Process> process;

 private:
  const std::string place_;
  const std::uint64_t memory_bytes_;
  std::shared_ptr<kv::Store<>> region_;
  std::unique_ptr<KvStateStore> store_;
  std::uint64_t epoch_ = 0;
};

void check(const Subject& subject, const Begin& compiled) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Place place;
    clock_ms = 1'000'000;
    World whole(place / "whole", std::uint64_t{1} << 30), fetched(place / "fetched", 1),
        third(place / "compiled", 1);
    bool swapped = false;
    const auto begin = [&] {
      whole.begin(subject, begin_interpreted);
      // Whoever goes on reads what the other has written.
      fetched.begin(subject, swapped ? compiled : begin_interpreted);
      third.begin(subject, swapped ? begin_interpreted : compiled);
      swapped = !swapped;
    };
    const auto take = [&](std::size_t input, RowKind kind, std::int64_t key, std::int64_t value) {
      for (auto* const world : {&whole, &fetched, &third})
        world->process->take(input, kind, key, value);
    };
    begin();
    std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>> there;
    std::size_t rows = 0;
    for (int step = 0; step < 3'000; ++step) {
      const auto kind = random.below(100);
      if (kind < 60 || (kind < 85 && !subject.retracts)) {
        const auto input = random.below(subject.inputs);
        const auto key = static_cast<std::int64_t>(random.below(12));
        const auto value = static_cast<std::int64_t>(random.below(5));
        take(input, RowKind::kInsert, key, value);
        there.emplace_back(input, key, value);
      } else if (kind < 85) {
        if (there.empty()) continue;
        const auto at = random.below(there.size());
        const auto [input, key, value] = there[at];
        there.erase(there.begin() + static_cast<std::ptrdiff_t>(at));
        take(input, RowKind::kDelete, key, value);
      } else if (kind < 93) {
        clock_ms += static_cast<std::int64_t>(random.below(kIdleMs / 2));
      } else {
        for (auto* const world : {&whole, &fetched, &third})
          world->complete();
        if (kind >= 98) {
          rows += whole.process->rows.size();
          begin();
        }
      }
      ASSERT_EQ(whole.process->rows, fetched.process->rows) << step;
      ASSERT_EQ(whole.process->rows, third.process->rows) << step;
    }
    EXPECT_GT(rows, 50u);
    // In the end nothing of it is left but what the last row has.
    for (int i = 0; i < 4; ++i) {
      clock_ms += kIdleMs;
      take(0, RowKind::kInsert, 100 + i, 0);
      for (auto* const world : {&whole, &fetched, &third})
        world->complete();
    }
    for (auto* const world : {&whole, &fetched, &third})
      EXPECT_LT(world->bytes(), 400u);
  }
}

TEST(IdleState, OfGroupsOfRowsThatStay) {
  check(groups_of(false), begin_compiled<query::RunningGroups<CompiledGroups<false>>>);
}
TEST(IdleState, OfGroupsOfRowsThatMayGo) {
  check(groups_of(true), begin_compiled<query::RunningGroups<CompiledGroups<true>>>);
}
TEST(IdleState, OfDistinctKeys) {
  check(distinct(), begin_compiled<query::RunningGroups<CompiledDistinct>>);
}
TEST(IdleState, OfJoins) {
  check(left_join(), begin_compiled<query::RegularJoin<CompiledJoin>, true>);
}
TEST(IdleState, OfRankingsOfRowsThatStay) {
  check(first_two(false), begin_compiled<query::RunningRank<CompiledRank<false>>>);
}
TEST(IdleState, OfRankingsOfRowsThatMayGo) {
  check(first_two(true), begin_compiled<query::RunningRank<CompiledRank<true>>>);
}

}  // namespace
}  // namespace holdfast::stream::graph
