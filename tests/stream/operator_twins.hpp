// operator_twins.hpp: an operator of a graph as the interpreter and as compiled code do it, each with a
// state store of its own, for tests that give both the same rows: what goes out must be the same. A
// process that ends may go on as the other one.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/kv/cursor.hpp>
#include <holdfast/stream/compile/runtime/graph.hpp>
#include <holdfast/stream/graph/operator.hpp>

#include "kept_stores.hpp"
#include "no_host.hpp"

namespace holdfast::stream::graph {

inline constexpr std::int64_t kFirstSlice = query::first_slice(0);

// How long state is kept that no row changes, 0: for ever; and what time it is.
inline std::int64_t test_idle_ms = 0, test_clock_ms = 0;

inline Retention test_retention() {
  return {test_idle_ms, [] { return test_clock_ms; }};
}

// With little memory each checkpoint takes from it what is there; with the least a restart reads
// nothing but rows that wait.
inline constexpr std::uint64_t kMuchMemory = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMemories[] = {kMuchMemory, 2'000, 200};

// What goes out.
using Shown = std::vector<std::string>;

inline std::string shown(RowKind kind, const std::vector<std::int64_t>& values) {
  std::string text = std::to_string(static_cast<int>(kind));
  for (const auto value : values)
    text += " " + std::to_string(value);
  return text;
}

// Rows of two columns, `k` and `v`, come to an operator of this node.
struct Subject {
  std::function<std::unique_ptr<Operator>(const Parts&)> make;
  sql::Node node;
  std::size_t inputs = 1;
};

inline const std::vector<sql::Column> kColumns{{"k", sql::kBigIntType}, {"v", sql::kBigIntType}};

inline Parts parts_of(const Subject& subject, StateStore& store) {
  const std::vector<const std::vector<sql::Column>*> inputs(subject.inputs, &kColumns);
  return {subject.node, inputs, &store, kFirstSlice, test_retention()};
}

inline sql::ExpressionPointer column(std::uint32_t number) {
  return sql::column_of(number, sql::kBigIntType, {});
}

using Watermarks = std::array<std::int64_t, 2>;

using Row = query::RowOf<std::int64_t, std::int64_t>;

template <class... Values>
void show_compiled(Shown& all, query::Change change, const query::RowOf<Values...>& row,
                   std::vector<std::int64_t> more = {}) {
  std::vector<std::int64_t> values;
  row.all().apply(
      [&](const auto&... value) { (values.push_back(value.known ? value.value : -1), ...); });
  values.insert(values.end(), more.begin(), more.end());
  all.push_back(shown(static_cast<RowKind>(change), values));
}

// ---- A process with an operator and a store of its own ----

class Process {
 public:
  virtual ~Process() = default;
  virtual void take(std::size_t input, RowKind kind, std::int64_t key, std::int64_t value) = 0;
  virtual void advance(std::size_t input, std::int64_t watermark) = 0;
  virtual void tick() = 0;
  virtual void put_state() = 0;
  virtual std::uint64_t late_rows() const = 0;
  Shown rows;
};

class Interpreted final : public Process {
 public:
  Interpreted(const Subject& subject, StateStore& store, const Watermarks& watermarks)
      : operator_(subject.make(parts_of(subject, store))),
        last_({subject.node, {&subject.node.columns}, nullptr, 0}, rows) {
    operator_->add_reader(last_, 0);
    for (std::size_t i = 0; i < subject.inputs; ++i)
      operator_->set_watermark(i, watermarks[i]);
    operator_->restore().value();
  }
  void advance(std::size_t input, std::int64_t watermark) override {
    operator_->advance(input, watermark).value();
  }
  void take(std::size_t input, RowKind kind, std::int64_t key, std::int64_t value) override {
    operator_->take(input, kind, {sql::Value::of(key), sql::Value::of(value)}).value();
  }
  void tick() override { operator_->tick().value(); }
  void put_state() override { operator_->put_state().value(); }
  std::uint64_t late_rows() const override { return operator_->late_rows; }
  const Operator& subject() const { return *operator_; }

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
  static std::string_view view(query::Text text) { return {text.data, text.size}; }
  static auto visit_by(query::VisitVersions& visit) {
    return [&visit](std::string_view key, std::string_view state, std::uint64_t version) -> Status {
      if (visit.entry({key.data(), key.size()}, {state.data(), state.size()}, version)) return {};
      return Error{Errc::kCorrupt, "none of this query"};
    };
  }

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
    return store_.for_each_of_group(slice, view(group), visit_by(visit)).has_value();
  }
  bool for_each_of_times(std::int64_t slice, std::int64_t from, std::int64_t until,
                         query::VisitVersions& visit, std::int64_t& beyond) override {
    const auto found = store_.for_each_of_times(slice, from, until, visit_by(visit));
    if (found) beyond = *found;
    return found.has_value();
  }
  void ask_for_checkpoint() override { store_.ask_for_checkpoint(); }
  std::int64_t idle_ms() const override { return test_idle_ms; }
  std::int64_t now_ms() const override { return test_clock_ms; }
  void end_idle(std::int64_t slice, std::int64_t oldest_ms, std::int64_t began_ms,
                std::int64_t parts) override {
    store_.end_idle(slice, oldest_ms, began_ms, parts);
  }

 private:
  StateStore& store_;
};

// Goes on where the interpreter is: one that has read the store, or that `before` runs.
template <class Compiled, bool kTwoInputs = false>
class CompiledProcess final : public Process {
 public:
  CompiledProcess(const Subject& subject, StateStore& store, const Watermarks& watermarks)
      : CompiledProcess(store) {
    const auto before = subject.make(parts_of(subject, store));
    before->restore().value();
    adopt(*before, watermarks);
  }
  CompiledProcess(const Operator& before, StateStore& store, const Watermarks& watermarks)
      : CompiledProcess(store) {
    adopt(before, watermarks);
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
  void advance(std::size_t input, std::int64_t watermark) override {
    if (!marks_.move(input, watermark)) return;
    if constexpr (requires { operator_.pass(rows, std::int64_t{}, std::int64_t{}); })
      operator_.pass(rows, marks_.now(), marks_.next());
    EXPECT_FALSE(run_.failed);
    marks_.settle();
  }
  void tick() override {
    if constexpr (requires { operator_.tick(rows); }) operator_.tick(rows);
    EXPECT_FALSE(run_.failed);
  }
  void put_state() override { EXPECT_TRUE(operator_.put_state()); }
  std::uint64_t late_rows() const override { return operator_.late_rows; }

 private:
  explicit CompiledProcess(StateStore& store)
      : host_(store), run_{host_, output_}, operator_(run_) {}
  void adopt(const Operator& before, const Watermarks& watermarks) {
    if constexpr (kTwoInputs)
      marks_.set({watermarks[0], watermarks[1]});
    else
      marks_.set({watermarks[0]});
    if constexpr (requires { operator_.set_watermark(std::int64_t{}); })
      operator_.set_watermark(marks_.now());
    if constexpr (requires { operator_.adopt_stored(std::int64_t{}); }) {
      for (const auto slice : before.stored_slices())
        operator_.adopt_stored(slice - kFirstSlice);
    }
    before
        .visit_state([&](std::int64_t slice, std::string_view key, std::string_view state,
                         std::uint64_t version, bool changed) -> Status {
          EXPECT_TRUE(operator_.adopt(
              {slice, {key.data(), key.size()}, {state.data(), state.size()}, version, changed}));
          return {};
        })
        .value();
  }

  StoreHost host_;
  query::Output output_;
  query::Run run_;
  Compiled operator_;
  query::Marks<kTwoInputs ? 2 : 1> marks_;
};

// Without memory, a checkpoint leaves no entry of the interpreter's in it.
inline void expect_nothing_in_memory(const Process& process) {
  if (const auto* const interpreted = dynamic_cast<const Interpreted*>(&process)) {
    EXPECT_EQ(interpreted->subject().state_size().entries, 0u);
  }
}

using Begin =
    std::function<std::unique_ptr<Process>(const Subject&, StateStore&, const Watermarks&)>;

inline std::unique_ptr<Process> begin_interpreted(const Subject& subject, StateStore& store,
                                                  const Watermarks& watermarks) {
  return std::make_unique<Interpreted>(subject, store, watermarks);
}
template <class Compiled, bool kTwoInputs = false>
std::unique_ptr<Process> begin_compiled(const Subject& subject, StateStore& store,
                                        const Watermarks& watermarks) {
  return std::make_unique<CompiledProcess<Compiled, kTwoInputs>>(subject, store, watermarks);
}

// Its lives, on one region.
class World {
 public:
  World(std::string place, std::uint64_t memory_bytes)
      : place_(std::move(place)), memory_bytes_(memory_bytes) {}

  void begin(const Subject& subject, const Begin& begin,
             const Watermarks& watermarks = {kNoWatermark, kNoWatermark}) {
    close();
    region_ = KvStateStore::open_region(place_).value();
    store_ = std::make_unique<KvStateStore>(region_, 1, memory_bytes_);
    const auto found = store_->open().value();
    epoch_ = found ? found->epoch : 0;
    process = begin(subject, *store_, watermarks);
  }
  void close() {
    process.reset();
    store_.reset();
    region_.reset();
  }
  // The next process has its state in this region.
  void move_to(std::string place) { place_ = std::move(place); }
  // Compiled code goes on where the interpreter is, without a checkpoint.
  template <class Compiled, bool kTwoInputs = false>
  void take_over(const Watermarks& watermarks) {
    const auto before = std::move(process);
    process = std::make_unique<CompiledProcess<Compiled, kTwoInputs>>(
        dynamic_cast<const Interpreted&>(*before).subject(), *store_, watermarks);
  }
  void complete() {
    process->put_state();
    store_->complete({++epoch_, "m"}).value();
  }
  // A checkpoint was asked for.
  bool take_request() { return store_->take_request(); }
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

  // Of a slice, the entries of the last checkpoint.
  std::map<std::string, std::string> entries(std::int64_t slice) {
    std::map<std::string, std::string> entries;
    store_
        ->for_each_version(slice,
                           [&](std::string_view key, std::string_view state, std::uint64_t) {
                             EXPECT_TRUE(entries.emplace(key, state).second);
                             return Status();
                           })
        .value();
    return entries;
  }

  std::unique_ptr<Process> process;

 private:
  std::string place_;
  const std::uint64_t memory_bytes_;
  std::shared_ptr<kv::Store<>> region_;
  std::unique_ptr<KvStateStore> store_;
  std::uint64_t epoch_ = 0;
};

// Where the state is from that a life begins with: this build has written it where it is, or one
// that wrote no times, or a savepoint brought it.
enum class Left { kHere, kByEarlierBuild, kBySavepoint };

// Makes a region that has what another has, of an operator with so many tables, as a savepoint brings
// it: entries with a key of the store each.
inline void copy_entries(const std::string& from, const std::string& to, std::int64_t tables) {
  KvStateStore source(KvStateStore::open_region(from).value(), 1);
  KvStateStore target(KvStateStore::open_region(to).value(), 1);
  const auto found = source.open().value();
  EXPECT_FALSE(target.open().value());
  if (!found) return;
  for (auto slice = kFirstSlice; slice < kFirstSlice + tables; ++slice) {
    source
        .for_each_version(slice,
                          [&](std::string_view key, std::string_view state, std::uint64_t) {
                            return target.put_copy(slice, key, state, 1);
                          })
        .value();
  }
  target.complete({found->epoch, "m"}).value();
}

// Makes the state of a region that of a build which wrote no times: of an operator with so many
// tables, behind which is that of its next number, if it has one.
inline void forget_times(const std::string& place, std::int64_t tables) {
  struct Entry {
    std::string key, state;
    std::uint64_t version;
  };
  KvStateStore store(KvStateStore::open_region(place).value(), 1);
  const auto found = store.open().value();
  if (!found) return;
  for (auto slice = kFirstSlice; slice <= kFirstSlice + tables; ++slice) {
    std::vector<Entry> entries;
    const auto take = [&](std::string_view key, std::string_view state, std::uint64_t version) {
      entries.push_back({std::string(key), std::string(state), version});
      return Status();
    };
    store.for_each_version(slice, take).value();
    for (auto& [key, state, version] : entries) {
      if (slice == kFirstSlice + tables)
        state = "";
      else if (state.front() == query::kTimedEntry)
        state = query::kPlainEntry + state.substr(1 + 8);
      store.replace(slice, key, state, version).value();
    }
  }
  store.complete({found->epoch + 1, "m"}).value();
}

// Of a process that has ended in a world of this place, whose operator has so many tables, and
// behind them perhaps one more.
inline void leave_state(World& world, std::string& place, Left left, std::int64_t tables) {
  world.close();
  if (left == Left::kByEarlierBuild) forget_times(place, tables);
  if (left != Left::kBySavepoint) return;
  const auto next = place + "+";
  copy_entries(place, next, tables + 1);
  world.move_to(place = next);
}

}  // namespace holdfast::stream::graph
