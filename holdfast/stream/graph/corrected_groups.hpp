// corrected_groups.hpp: groups of windows that late rows still change, for some time behind the end
// of the window (Flink: 'table.exec.emit.allow-lateness').
#pragma once

#include <set>
#include <string>

#include <holdfast/stream/graph/group_operators.hpp>

namespace holdfast::stream::graph {

// Rows have window_start and window_end, and may be taken back. A window's groups are shown when
// the watermark has come to its last millisecond. A row that comes behind that changes its group,
// and the change goes out at once. When the watermark is `lateness_ms` further, the groups go; what
// comes then is late.
//
// Where memory has not all groups, it has those of rows since the last checkpoint, and those that
// were shown since.
//
// State  [end, start, keys] -> how many rows, aggregates.
// Order  Of groups that are shown together: by the end, the start, then the keys' bytes.
// Costs  O(log groups) per row.
class CorrectedGroups : public ChangingGroups {
 public:
  CorrectedGroups(const Parts& parts, bool retracts);
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
    bool retracts;
    KeyForm form = {2, 0, 0};
    void encode(const State& state, std::string& bytes) const;
    bool decode(std::string_view& bytes, State& state) const;
    std::int64_t end_of(std::string_view key, const State&) const {
      return lives_until(key, *group);
    }
  };
  using Table = StateTable<State, Codec>;
  Status correct(Table::iterator place, bool adding, const sql::Row& row);
  Result<sql::Row> window_row_of(std::string_view key, const State& state) const;
  Status leave();
  // The last watermark that does not end a group.
  static std::int64_t lives_until(std::string_view key, const sql::Group& group) {
    return take_ordered(key) - 2 + group.lateness_ms;
  }
  // What is not shown at this watermark lives until then at least.
  std::int64_t life_of_hidden(std::int64_t watermark) const;
  Status show_window(Table::iterator first);
  void forget(std::int64_t watermark);

  Table table_;
  // Groups of the store that have not been shown live so long at least.
  std::int64_t next_stored_ = kEndOfTime;
};

}  // namespace holdfast::stream::graph
