// graph_operators.hpp: the operators of a plan that is more than a chain, interpreted: several
// tables, joins, changes of rows.
//
// Order  Rows come from the table whose watermark is the earliest, of equal ones from the first.
//        So what is shown depends on the tables' rows alone, and a run that resumes shows the same.
//        A table whose next row is not there yet does not keep the others waiting.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/graph/graph_source.hpp>
#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/sink.hpp>

namespace holdfast::stream::graph {

class GraphOperators : public Operators {
 public:
  // All outlive it. `source` is the one that take() is given.
  GraphOperators(const sql::Plan& plan, GraphSource& source, Sink& sink, StateStore* store);
  ~GraphOperators() override;

  Status restore(const OperatorCounts& counts) override;
  Result<Progress> take(Source& source) override;
  Status end() override { return {}; }
  Status put_state() override;
  OperatorCounts counts() const override;
  std::set<std::int64_t> stored_slices() const override { return {}; }
  Status visit_entries(VisitEntry) const override { return {}; }

 private:
  class Output;
  struct Input {  // A table, or rows of VALUES.
    const sql::Table* table = nullptr;
    Operator* scan = nullptr;
    std::size_t part = 0;  // Of the source.
    std::int64_t watermark = kNoWatermark;
    std::uint64_t rows = 0;
    bool ended = false;
    bool looked_up = false;  // It is read before the others, and moves no watermark.
  };
  void build(std::size_t node, StateStore* store);
  void connect();
  void find_inputs();
  Status begin();
  Status read_lookups();
  Result<bool> take_row(Input& input);
  Status follow(Input& input, std::int64_t watermark);
  Status compute(const sql::Table& table, sql::Row& row) const;
  Input* next_input(const std::vector<bool>& waits);

  const sql::Plan& plan_;
  GraphSource& source_;
  std::vector<std::unique_ptr<Operator>> operators_;  // By node.
  std::unique_ptr<Output> output_;
  std::vector<Input> inputs_;
  NumberTable progress_;  // Of each input: its watermark and rows; counters of operators.
  bool begun_ = false;
  sql::Row row_;
};

}  // namespace holdfast::stream::graph
