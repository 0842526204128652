// The values of a changing group in parts: what parts add up to, and how much a checkpoint writes.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/graph_groups.hpp>
#include <holdfast/stream/graph/group_operators.hpp>

#include "kept_stores.hpp"
#include "no_host.hpp"

namespace holdfast::stream::graph {
namespace {

using query::Mark;
using query::Text;
using query::ValueParts;

// What a store has of the parts of one aggregate.
class StoredParts {
 public:
  void put(ValueParts& parts, const std::map<std::string, std::int64_t>& values) {
    written_bytes = 0;
    std::map<std::int64_t, std::uint64_t> gone;
    const auto all = [&](const auto& visit) {
      for (const auto& [value, times] : values)
        visit(Text{value.data(), value.size()}, times);
    };
    const auto put_one = [&](std::int64_t number, Text part, Mark& mark) {
      gone.erase(number);
      parts_[number] = {part.data, part.size};
      mark.version = 1;
      written_bytes += part.size;
      return true;
    };
    ASSERT_TRUE(parts.put(values.size(), all, put_one, [&](std::int64_t number, const Mark& mark) {
      gone.emplace(number, mark.version);
    }));
    for (const auto& [number, version] : gone)
      parts_.erase(number);
  }
  // In any order.
  std::map<std::string, std::int64_t> read(ValueParts& parts, Random& random) const {
    std::map<std::string, std::int64_t> values;
    std::vector<std::int64_t> numbers;
    parts.expect(static_cast<std::uint32_t>(parts_.size()));
    for (const auto& part : parts_)
      numbers.insert(
          numbers.begin() + static_cast<std::ptrdiff_t>(random.below(numbers.size() + 1)),
          part.first);
    for (const auto number : numbers) {
      const auto& part = parts_.at(number);
      EXPECT_TRUE(
          parts.take(number, {part.data(), part.size()}, 1, [&](Text value, std::int64_t by) {
            return values[std::string(value.data, value.size)] += by, true;
          }));
    }
    std::erase_if(values, [](const auto& value) { return value.second == 0; });
    return values;
  }
  std::size_t size() const { return parts_.size(); }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& part : parts_)
      sum += part.second.size();
    return sum;
  }

  std::size_t written_bytes = 0;  // By the last put().

 private:
  std::map<std::int64_t, std::string> parts_;
};

void note(ValueParts& parts, const std::string& value, std::int64_t change) {
  parts.note({value.data(), value.size()}, change);
}

TEST(ValueParts, WhatComesAndGoesIsThereAgain) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    auto parts = std::make_unique<ValueParts>();
    StoredParts store;
    std::map<std::string, std::int64_t> values;
    for (int round = 0; round < 60; ++round) {
      const auto changes = random.below(round % 7 == 0 ? 5'000 : 60);
      for (std::uint64_t i = 0; i < changes; ++i) {
        std::string value = std::to_string(random.below(3'000));
        if (seed == 2 && value.ends_with('7')) value.append(40'000, 'x');  // More than a part has.
        if (seed == 3) value = value.front();
        const auto found = values.find(value);
        if (found != values.end() && random.below(round < 30 ? 3 : 2) == 0) {
          if (--found->second == 0) values.erase(found);
          note(*parts, value, -1);
        } else {
          ++values[value];
          note(*parts, value, 1);
        }
      }
      store.put(*parts, values);
      EXPECT_EQ(parts->count(), store.size());
      if (random.below(3) != 0) continue;
      parts = std::make_unique<ValueParts>();
      ASSERT_EQ(store.read(*parts, random), values) << "seed " << seed << ", round " << round;
      EXPECT_TRUE(parts->end_taking());
      EXPECT_EQ(parts->count(), store.size());
      ValueParts more;
      store.read(more, random);
      more.expect(static_cast<std::uint32_t>(store.size() + 1));
      EXPECT_FALSE(more.end_taking());
    }
  }
}

// It was the whole group each time.
TEST(ValueParts, ACheckpointWritesWhatCameAndNotWhatIsThere) {
  ValueParts parts;
  StoredParts store;
  std::map<std::string, std::int64_t> values;
  std::size_t written = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 100; ++i) {
      const auto value = std::to_string(1'000'000 + 100 * round + i);
      values[value] = 1;
      note(parts, value, 1);
    }
    store.put(parts, values);
    written += store.written_bytes;
    EXPECT_LE(store.written_bytes, ValueParts::kPartBytes + 100 * 19) << round;
  }
  EXPECT_EQ(store.bytes(), values.size() * 19);
  EXPECT_LT(written, 6 * store.bytes());  // The last part again, until it is full.
  store.put(parts, values);
  EXPECT_EQ(store.written_bytes, 0u);
}

TEST(ValueParts, ValuesThatGoTakeTheirSpaceAlong) {
  ValueParts parts;
  StoredParts store;
  std::map<std::string, std::int64_t> values;
  for (int i = 0; i < 30'000; ++i) {
    const auto value = std::to_string(1'000'000 + i);
    values[value] = 1;
    note(parts, value, 1);
    if (i >= 1'000) {  // The last thousand are there.
      const auto first = values.begin()->first;
      values.erase(values.begin());
      note(parts, first, -1);
    }
    if (i % 500 == 0) store.put(parts, values);
    EXPECT_LE(store.bytes(), (2 * 1'000 + ValueParts::kMostWhole) * 19);
  }
}

TEST(ValueParts, DamagedPartsAreRefused) {
  ValueParts parts;
  StoredParts store;
  std::map<std::string, std::int64_t> values{{"a", 1}, {"b", 2}};
  store.put(parts, values);
  const auto any = [](Text, std::int64_t) { return true; };
  ValueParts found;
  EXPECT_FALSE(found.take(-1, {"x", 1}, 1, any));
  EXPECT_FALSE(found.take(0, {"", 0}, 1, any));
  EXPECT_FALSE(found.take(0, {"\0\0\0\1a", 5}, 1, any));
  const char part[] = "\0\0\0\1a\1\0\0\0\0\0\0";
  const auto are_all = [&](std::vector<std::int64_t> numbers) {
    ValueParts one;
    one.expect(2);
    for (const auto number : numbers)
      EXPECT_TRUE(one.take(number, {part, 13}, 1, any));
    return one.end_taking();
  };
  EXPECT_TRUE(are_all({1, 0}));
  EXPECT_FALSE(are_all({1}));
  EXPECT_FALSE(are_all({1, 1}));
  EXPECT_FALSE(are_all({0, 1, 2}));
  EXPECT_FALSE(are_all({0, std::int64_t{1} << 40}));
}

// ---- Groups that change ----

// COUNT(DISTINCT v), MAX(v), SUM(DISTINCT v) by k, of rows (k, v).
class GroupParts : public KeptStores {
 public:
  struct Last : Operator {
    explicit Last(const Parts& parts) : Operator(parts) {}
    Status take(std::size_t, RowKind kind, const sql::Row& row) override {
      if (kind == RowKind::kInsert || kind == RowKind::kUpdateAfter)
        rows[static_cast<std::int64_t>(row[0].number)] = row;
      if (kind == RowKind::kDelete) rows.erase(static_cast<std::int64_t>(row[0].number));
      return {};
    }
    std::map<std::int64_t, sql::Row> rows;
  };

  static sql::Node node_of_sums() {
    sql::Node node;
    sql::Group group;
    const auto column = [](std::uint32_t number) {
      return sql::column_of(number, sql::kBigIntType, {});
    };
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
    node.what = std::move(group);
    node.columns.assign(4, {"c", sql::kBigIntType});
    return node;
  }

  // A process that goes on, with `retracts` as before.
  struct Life {
    Life(GroupParts& test, bool retracts)
        : store(open_one(test.place_ / "state")),
          groups({test.node_, {}, store.get(), 0}, retracts),
          last({test.node_, {}, nullptr, 0}) {
      groups.add_reader(last, 0);
      store->open().value();
    }
    void change(RowKind kind, std::int64_t key, std::int64_t value) {
      groups.take(0, kind, {sql::Value::of(key), sql::Value::of(value)}).value();
    }
    std::unique_ptr<StateStore> store;
    RunningGroups groups;
    Last last;
  };

  Place place_;
  const sql::Node node_ = node_of_sums();
};
INSTANTIATE_TEST_SUITE_P(Kept, GroupParts, kKeptStores, kept_name);

TEST_P(GroupParts, GroupsOfManyValuesGoOnAsTheyWere) {
  for (const bool retracts : {false, true}) {
    Random random(7);
    std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> values;
    std::filesystem::remove_all(place_ / "state");
    std::uint64_t epoch = 0;
    for (int life = 0; life < 8; ++life) {
      Life process(*this, retracts);
      process.groups.restore().value();
      for (int checkpoint = 0; checkpoint < 5; ++checkpoint) {
        const auto change = [&](RowKind kind, std::int64_t key, std::int64_t value) {
          process.change(kind, key, value);
          auto& of_key = values[key];
          const auto by = kind == RowKind::kInsert ? 1 : -1;
          if ((of_key[value] += by) == 0) of_key.erase(value);
          if (of_key.empty()) values.erase(key);
        };
        for (int i = 0; i < 400; ++i)
          change(RowKind::kInsert, static_cast<std::int64_t>(random.below(3)),
                 static_cast<std::int64_t>(random.below(4'000)));
        if (retracts && random.below(2) == 0) {  // A group goes, and perhaps comes again.
          const auto key = static_cast<std::int64_t>(random.below(3));
          while (values.contains(key))
            change(RowKind::kDelete, key, values[key].begin()->first);
          for (int i = 0; life % 2 == 0 && i < 300; ++i)
            change(RowKind::kInsert, key, i);
        }
        for (const auto& [key, row] : process.last.rows) {
          const auto& of_key = values.at(key);
          std::int64_t sum = 0;
          for (const auto& value : of_key)
            sum += value.first;
          EXPECT_EQ(row[1].number, static_cast<std::int64_t>(of_key.size())) << epoch;
          EXPECT_EQ(row[2].number, of_key.rbegin()->first) << epoch;
          EXPECT_EQ(row[3].number, sum) << epoch;
        }
        process.groups.put_state().value();
        process.store->complete({++epoch, "m"}).value();
      }
    }
  }
}

// Counts what it is given, and forgets it.
class CountingStore final : public StateStore {
 public:
  Result<std::optional<Checkpoint>> open() override { return std::optional<Checkpoint>(); }
  Result<std::vector<std::int64_t>> slices() override { return std::vector<std::int64_t>(); }
  Status for_each(std::int64_t, Visit) override { return {}; }
  Status put(std::int64_t, std::string_view, std::string_view) override { return {}; }
  Status put_copy(std::int64_t, std::string_view, std::string_view, std::uint64_t) override {
    return {};
  }
  Status replace(std::int64_t, std::string_view, std::string_view state,
                 std::uint64_t& version) override {
    version = 1;
    bytes_put += state.size();
    return {};
  }
  Status for_each_version(std::int64_t, VisitVersion) override { return {}; }
  void remove_version(std::int64_t, std::string_view, std::uint64_t) override {}
  void drop(std::int64_t) override {}
  Status complete(const Checkpoint&) override { return {}; }
  bool keeps_entries() const override { return true; }

  std::size_t bytes_put = 0;
};

class CountingHost final : public query::NoHost {
 public:
  bool replace(std::int64_t slice, Text key, Text state, std::uint64_t& version) override {
    return store.replace(slice, {key.data, key.size}, {state.data, state.size}, version)
        .has_value();
  }
  bool keeps_entries() const override { return true; }
  CountingStore store;
};

// COUNT(DISTINCT v), MAX(v) of rows (v) that may go, compiled.
struct Compiled {
  using Row = query::RowOf<std::int64_t>;
  using Out = query::RowOf<std::int64_t, std::int64_t>;
  using Key = query::KeyOf<>;
  using State =
      query::StateOf<query::OfValues<std::int64_t, query::Count, true>,
                     query::OfValues<std::int64_t, query::Extreme<std::int64_t, true>, false>>;
  static constexpr std::int64_t kNode = 0;
  static constexpr bool kRetracts = true;
  static Key key(const Row&, query::Run&) { return {}; }
  static void add(State& state, const Row& row, query::Run&) {
    state.get<0>().add(row.get<0>());
    state.get<1>().add(row.get<0>());
  }
  static void take_back(State& state, const Row& row, query::Run&) {
    state.get<0>().take_back(row.get<0>());
    state.get<1>().take_back(row.get<0>());
  }
  static Out out(const Key&, const State& state, query::Run& run) {
    return Out(state.get<0>().result(run), state.get<1>().result(run));
  }
  template <class Graph>
  static void give(Graph& last, query::Change, const Out& row) {
    last = row.template get<0>().value;
  }
};

// Of 20,000 values 50 change: a part or two of each aggregate are written, not 400 KB.
TEST(ValueParts, GroupsWriteWhatChanged) {
  CountingStore store;
  sql::Node node = GroupParts::node_of_sums();
  RunningGroups interpreted({node, {}, &store, 0}, true);
  CountingHost host;
  query::Output output;
  query::Run run{host, output};
  query::RunningGroups<Compiled> compiled(run);
  std::int64_t last = 0;
  const auto change = [&](bool comes, std::int64_t value) {
    interpreted
        .take(0, comes ? RowKind::kInsert : RowKind::kDelete,
              {sql::Value::of(1), sql::Value::of(value)})
        .value();
    compiled.take(last, comes ? query::Change::kInsert : query::Change::kDelete,
                  Compiled::Row(query::some(value)));
  };
  const auto put = [&] {
    store.bytes_put = host.store.bytes_put = 0;
    interpreted.put_state().value();
    EXPECT_TRUE(compiled.put_state());
  };
  for (std::int64_t value = 0; value < 20'000; ++value)
    change(true, value);
  put();
  EXPECT_GT(store.bytes_put, 3 * 20'000 * 21u);
  EXPECT_GT(host.store.bytes_put, 2 * 20'000 * 21u);
  for (std::int64_t value = 0; value < 25; ++value) {
    change(true, 30'000 + value);
    change(false, value);
  }
  put();
  EXPECT_EQ(last, 20'000);
  EXPECT_LT(store.bytes_put, 3 * 2 * ValueParts::kPartBytes);
  EXPECT_LT(host.store.bytes_put, 2 * 2 * ValueParts::kPartBytes);
  put();  // Nobody has changed the group.
  EXPECT_EQ(store.bytes_put + host.store.bytes_put, 0u);
}

// What the store has of a group is less than all of its parts.
TEST_P(GroupParts, AMissingPartIsNoticed) {
  {
    Life process(*this, true);
    process.groups.restore().value();
    for (std::int64_t value = 0; value < 5'000; ++value)
      process.change(RowKind::kInsert, 1, value);
    process.groups.put_state().value();
    process.store->complete({1, "m"}).value();
  }
  {
    const auto store = open_one(place_ / "state");
    store->open().value();
    std::string key;
    std::uint64_t of_part = 0;
    store
        ->for_each_version(1,
                           [&](std::string_view name, std::string_view, std::uint64_t version) {
                             key = name;
                             of_part = version;
                             return Status();
                           })
        .value();
    ASSERT_NE(of_part, 0u);
    store->replace(1, key, {}, of_part).value();
    store->complete({2, "m"}).value();
  }
  Life process(*this, true);
  const auto restored = process.groups.restore();
  EXPECT_EQ(restored.code(), Errc::kCorrupt);
}

// What compiled code goes on with has all values, and what the store has of parts goes.
TEST_P(GroupParts, WhoTakesOverIsGivenWholeGroups) {
  Life process(*this, true);
  process.groups.restore().value();
  for (std::int64_t value = 0; value < 5'000; ++value)
    process.change(RowKind::kInsert, 1, value);
  process.groups.put_state().value();
  process.store->complete({1, "m"}).value();
  int gone = 0, whole = 0;
  process.groups
      .visit_state([&](std::int64_t slice, std::string_view, std::string_view state,
                       std::uint64_t version, bool changed) {
        EXPECT_NE(version, 0u);
        EXPECT_TRUE(changed);
        EXPECT_EQ(slice == 1, state.empty());
        ++(state.empty() ? gone : whole);
        if (!state.empty()) {
          EXPECT_GT(state.size(), 2 * 5'000 * 9u);
        }
        return Status();
      })
      .value();
  EXPECT_EQ(whole, 1);
  EXPECT_GT(gone, 3 * 5'000 * 21 / static_cast<int>(ValueParts::kPartBytes));
}

}  // namespace
}  // namespace holdfast::stream::graph
