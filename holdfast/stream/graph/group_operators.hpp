// group_operators.hpp: groups of rows: of windows by slices, of windows that rows bring along, and
// those that change with each row.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream/graph/running_aggregate.hpp>
#include <holdfast/stream/group_operator.hpp>

namespace holdfast::stream::graph {

// Each aggregate whose filter holds, with the value of its argument: visit(i, value) -> Status.
template <class Visit>
Status for_each_value(const sql::Group& group, const sql::Row& row, Visit visit) {
  sql::Value value;
  for (std::size_t i = 0; i < group.aggregates.size(); ++i) {
    const auto& aggregate = group.aggregates[i];
    if (aggregate.filter != nullptr) {
      HF_RETURN_IF_ERROR(sql::evaluate(*aggregate.filter, row, value));
      if (!value.is_true()) continue;
    }
    if (aggregate.argument != nullptr)
      HF_RETURN_IF_ERROR(sql::evaluate(*aggregate.argument, row, value));
    HF_RETURN_IF_ERROR(visit(i, value));
  }
  return {};
}

// The row of a group: its keys, of their bytes, and the results of its aggregates: result(i) ->
// Result<sql::Value>.
using ResultOfAggregate = FunctionRef<Result<sql::Value>(std::size_t number)>;
Result<sql::Row> row_of_group(const sql::Group& group, std::string_view key,
                              ResultOfAggregate result);
// The bounds and the time of its window, behind it.
void append_window(std::int64_t start, std::int64_t end, sql::Row& row);

// A store's slices that belong to one operator, by the times that it knows them by.
class OperatorStore : public StateStore {
 public:
  // Times are of the years 1 to 9999, so 50 bits hold them; `first` is a multiple of 2^50.
  OperatorStore(StateStore& store, std::int64_t first) : store_(store), first_(first) {}

  Result<std::optional<Checkpoint>> open() override { return std::optional<Checkpoint>(); }
  Result<std::vector<std::int64_t>> slices() override;
  Status for_each(std::int64_t slice, Visit visit) override {
    return store_.for_each(first_ + slice, visit);
  }
  Status put(std::int64_t slice, std::string_view key, std::string_view state) override {
    return store_.put(first_ + slice, key, state);
  }
  Status put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                  std::uint64_t number) override {
    return store_.put_copy(first_ + slice, key, state, number);
  }
  Status replace(std::int64_t slice, std::string_view key, std::string_view state,
                 std::uint64_t& version) override {
    return store_.replace(first_ + slice, key, state, version);
  }
  Status for_each_version(std::int64_t slice, VisitVersion visit) override {
    return store_.for_each_version(first_ + slice, visit);
  }
  void remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) override {
    store_.remove_version(first_ + slice, key, version);
  }
  void drop(std::int64_t slice) override { store_.drop(first_ + slice); }
  Status complete(const Checkpoint&) override { return {}; }
  bool keeps_entries() const override { return store_.keeps_entries(); }

 private:
  StateStore& store_;
  const std::int64_t first_;
};

class SliceGroups : public Operator {
 public:
  explicit SliceGroups(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override { return groups_.put_state(); }
  Status visit_state(VisitState visit) const override;
  std::set<std::int64_t> stored_slices() const override;
  StateSize state_size() const override { return {groups_.entries(), groups_.bytes()}; }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  std::unique_ptr<OperatorStore> store_;
  GroupOperator groups_;
};

// Groups of rows that have window_start and window_end; they come when the window has ended, in the
// order of the ends, then of the starts and keys. Where memory has not all groups, it has those of
// rows since the last checkpoint, and one window's while it is shown.
//
// State  [end, start, keys] -> accumulators.
class WindowGroups : public Operator {
 public:
  explicit WindowGroups(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override { return table_.visit_state(visit); }
  std::set<std::int64_t> stored_slices() const override {
    return table_.is_partial() ? std::set{slice(0)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(table_); }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  struct Codec {
    const sql::Group* group;
    KeyForm form = {2, 0, 0};
    void encode(const Accumulators& accumulators, std::string& bytes) const;
    bool decode(std::string_view& bytes, Accumulators& accumulators) const;
    std::int64_t end_of(std::string_view key, const Accumulators&) const {
      return lives_until(key);
    }
  };
  using Table = StateTable<Accumulators, Codec>;
  // The last watermark that does not end a group.
  static std::int64_t lives_until(std::string_view key) { return take_ordered(key) - 2; }
  Result<Table::iterator> show(Table::iterator place);
  Status leave();

  const sql::Group& group_;
  Table table_;
  std::int64_t next_stored_ = kEndOfTime;  // Groups of the store live so long at least.
};

// What operators do alike that change what they have shown of a group.
class ChangingGroups : public Operator {
 protected:
  struct State {
    std::int64_t rows = 0;
    std::vector<RunningAggregate> aggregates;
  };
  ChangingGroups(const Parts& parts, bool retracts)
      : Operator(parts), group_(std::get<sql::Group>(parts.node.what)), retracts_(retracts) {}
  // One more row, or one less.
  Status change(State& state, bool adding, const sql::Row& row) const;
  // Without its window.
  Result<sql::Row> row_of(std::string_view key, const State& state) const;
  static bool has_parts(const State& state);

  const sql::Group& group_;
  const bool retracts_;
};

// Groups without a window: each change of a group's row goes out. A group is fetched when a row of
// it comes, with all of its values. One that is used must fit memory; where it is larger than what
// the operator may have, it leaves with each checkpoint.
//
// State  keys -> how many rows, aggregates; and the values that aggregates hold, in parts
//        (compile/runtime/value_parts.hpp), where they are many and the store keeps what it was
//        given.
class RunningGroups : public ChangingGroups {
 public:
  RunningGroups(const Parts& parts, bool retracts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override;
  std::set<std::int64_t> stored_slices() const override {
    return table_.is_partial() ? std::set{slice(0)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(table_); }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  struct Codec {
    const sql::Group* group;
    bool retracts;
    void encode(const State& state, std::string& bytes) const { append(state, false, bytes); }
    bool encode_whole(const State& state, std::string& bytes) const;
    bool decode(std::string_view& bytes, State& state) const;

   private:
    void append(const State& state, bool whole, std::string& bytes) const;
  };
  using Table = StateTable<State, Codec>;
  static std::uint64_t held_bytes(const State& state);
  // The group of this key is in memory from now on.
  Status fetch(const std::string& key);
  Status fetch_parts(const std::string& key, State& state);
  Status forget_parts_of_store(const std::string& key);
  Status group_parts();
  Status restore_parts();
  Status take_part(std::string_view key, State& state, std::string_view part,
                   std::uint64_t version) const;
  Status end_parts(State& state) const;
  Status put_parts(const std::string& key, State& state);
  Status leave();
  void forget_parts(const std::string& key, const State& state);
  Status change_held(State& state, bool adding, const sql::Row& row);
  // What was shown of it changes.
  Status change_known(Table::iterator known, RowKind kind, const sql::Row& row);

  Table table_;
  const bool holds_;                                 // An aggregate holds values.
  std::map<std::string, std::uint64_t> gone_parts_;  // Versions the store still has.
  Sweeps sweeps_;
};

}  // namespace holdfast::stream::graph
