// corrected_groups.hpp: groups of windows that late rows still change, for some time behind the end
// of the window (Flink: 'table.exec.emit.allow-lateness').
#pragma once

#include <string>
#include <vector>

#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream/graph/running_aggregate.hpp>

namespace holdfast::stream::graph {

// Rows have window_start and window_end, and may be taken back. A window's groups are shown when
// the watermark has come to its last millisecond. A row that comes behind that changes its group,
// and the change goes out at once. When the watermark is `lateness_ms` further, the groups go; what
// comes then is late.
//
// State  [end, start, keys] -> how many rows, aggregates. All is in memory.
// Order  Of groups that are shown together: by the end, the start, then the keys' bytes.
// Costs  O(log groups) per row.
class CorrectedGroups : public Operator {
 public:
  CorrectedGroups(const Parts& parts, bool retracts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override { return table_.restore(); }
  Status put_state() override { return table_.put_all(); }
  Status visit_state(VisitState visit) const override { return table_.visit_state(visit); }
  StateSize state_size() const override { return size_of(table_); }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  struct State {
    std::int64_t rows = 0;
    std::vector<RunningAggregate> aggregates;
  };
  struct Codec {
    const sql::Group* group;
    bool retracts;
    KeyForm form = {2, 0, 0};
    void encode(const State& state, std::string& bytes) const;
    bool decode(std::string_view& bytes, State& state) const;
  };
  using Table = StateTable<State, Codec>;
  Status change(State& state, bool adding, const sql::Row& row) const;
  Status correct(Table::iterator place, bool adding, const sql::Row& row);
  Result<sql::Row> row_of(std::string_view key, const State& state) const;

  const sql::Group& group_;
  const bool retracts_;
  Table table_;
};

}  // namespace holdfast::stream::graph
