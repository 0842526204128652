// graph_operators.hpp: the operators of a plan that is more than a chain, interpreted: several
// tables, joins, changes of rows.
//
// Order  Rows come from the table whose watermark is the earliest, of equal ones from the first.
//        So what is shown depends on the tables' rows alone, and a run that resumes shows the same.
//        A table whose next row is not there yet does not keep the others waiting.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/graph/graph_inputs.hpp>
#include <holdfast/stream/graph/graph_source.hpp>
#include <holdfast/stream/graph/make_operator.hpp>
#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/sink.hpp>

namespace holdfast::stream::graph {

// What a checkpoint has beside the state of the operators: of each input its watermark and rows, of
// each operator what it has dropped, of one that follows the clock how far it came.
class GraphProgress {
 public:
  explicit GraphProgress(StateStore* store) : numbers_(store, 0, {}) {}

  std::int64_t get(char of, std::size_t number, std::int64_t otherwise) const {
    const auto found = numbers_.find(of + std::to_string(number));
    return found == numbers_.end() ? otherwise : found->second.value;
  }
  void set_input(std::size_t number, std::int64_t watermark, std::uint64_t rows) {
    set('w', number, watermark);
    set('r', number, static_cast<std::int64_t>(rows));
  }
  void set_clock(std::size_t node, std::int64_t watermark) { set('c', node, watermark); }
  void set_dropped(std::size_t node, std::uint64_t late, std::uint64_t without_time) {
    if (late != 0) set('l', node, static_cast<std::int64_t>(late));
    if (without_time != 0) set('t', node, static_cast<std::int64_t>(without_time));
  }
  Status restore() { return numbers_.restore(); }
  Status put_all() { return numbers_.put_all(); }

 private:
  void set(char of, std::size_t at, std::int64_t number) {
    const auto key = of + std::to_string(at);
    const auto known = numbers_.find(key);
    if (known == numbers_.end() || known->second.value != number) numbers_.at(key) = number;
  }

  // A watermark may be at either end of all times, too.
  struct Codec : NumberCodec {
    bool decode(std::string_view& bytes, std::int64_t& number) const {
      if (bytes.size() < 8) return false;
      number = take_ordered(bytes);
      return number == kNoWatermark || number == kEndOfTime || sql::is_summable(number);
    }
  };

  StateTable<std::int64_t, Codec> numbers_;
};

class GraphOperators : public Operators {
 public:
  // All outlive it. `source` is the one that take() is given.
  // `late_rows`, the sink, if the plan has a table for them.
  GraphOperators(const sql::Plan& plan, GraphSource& source, Sink& sink, StateStore* store,
                 const Retention& retention = {}, LateRows* late_rows = nullptr);
  ~GraphOperators() override;

  Status restore(const OperatorCounts& counts) override;
  Result<Progress> take(Source& source) override;
  Status end() override { return {}; }
  bool has_begun() const override { return begun_ || !has_lookups(); }
  Status put_state() override;
  OperatorCounts counts() const override;
  void watch() override;
  std::vector<OperatorProgress> operators() const override;
  std::set<std::int64_t> stored_slices() const override { return {}; }
  Status visit_entries(VisitEntry) const override { return {}; }

  // For others that go on from here (compile/compiled_graph.hpp).
  struct TableProgress {
    const sql::Table* table;
    std::int64_t watermark;
    std::uint64_t rows;
    bool ended;
  };
  std::vector<TableProgress> tables() const;
  const GraphProgress& progress() const { return progress_; }
  GraphSource& source() const { return source_; }
  const Retention& retention() const { return retention_; }
  LateRows* late_rows() const { return late_rows_; }
  bool follows_clock() const { return !ticking_.empty(); }
  const Operator& node(std::size_t number) const { return *operators_[number]; }

 private:
  void build(std::size_t node, StateStore* store);
  void connect();
  Result<bool> begin();
  bool has_lookups() const;
  Result<bool> read_lookups();
  Result<bool> ask(GraphInput& input);
  Result<bool> take_row(GraphInput& input);
  Status take_rows(std::vector<bool>& waits, std::uint64_t most, std::uint64_t& rows);
  Status follow(GraphInput& input, std::int64_t watermark);
  Status take_values(GraphInput& input, const sql::Table& table);
  Operator& scan(const GraphInput& input) { return *operators_[input.node]; }

  const sql::Plan& plan_;
  GraphSource& source_;
  const Retention retention_;
  LateRows* const late_rows_;
  std::vector<std::unique_ptr<Operator>> operators_;  // By node.
  std::vector<Operator*> ticking_;                    // Those that follow the clock.
  std::set<std::size_t> clocks_;                      // Nodes whose watermark is that of the clock.
  std::unique_ptr<OutputRows> output_;
  std::vector<GraphInput> inputs_;
  GraphProgress progress_;
  bool begun_ = false;
  Timing timing_;
  bool measures_ = false;
  std::uint64_t rows_until_sample_ = 0;
  sql::Row row_;
};

}  // namespace holdfast::stream::graph
