// compiled_graph.hpp: the operators of a plan that is more than a chain as compiled code does them.
//
// A row that a connector gives is taken before the next one is asked for, so a source stands where
// its rows do. Records in memory are given in blocks; what is left of one at a checkpoint is given
// back.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/compile/compiled_host.hpp>
#include <holdfast/stream/compile/library.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/graph/graph_operators.hpp>
#include <holdfast/stream/operators.hpp>

namespace holdfast::stream::compile {

class CompiledGraph final : public Operators {
 public:
  // `plan` outlives it. Goes on where `before` is, on its source. Errors: kCorrupt, an entry of the
  // state is none of this query.
  static Result<std::unique_ptr<CompiledGraph>> after(const graph::GraphOperators& before,
                                                      const sql::Plan& plan,
                                                      std::shared_ptr<const QuerySource> source,
                                                      std::shared_ptr<const Library> library,
                                                      Sink& sink, StateStore* store);

  // It goes on where others are: after().
  Status restore(const OperatorCounts&) override { return {}; }
  Result<Progress> take(Source& source) override;
  Status end() override { return {}; }
  Status put_state() override;
  OperatorCounts counts() const override;
  std::vector<OperatorProgress> operators() const override;
  std::set<std::int64_t> stored_slices() const override { return {}; }
  Status visit_entries(VisitEntry) const override { return {}; }

 private:
  struct Dropped {
    std::uint64_t late, without_time;
  };
  struct Table {
    const sql::Table* table = nullptr;
    const RecordLayout* layout = nullptr;
    Source* source = nullptr;
    RecordSource* records = nullptr;  // The source, if it gives records.
    sql::Row row;                     // What a record of our own was made of.
    std::vector<std::byte> record;
    std::string block_begins;  // The source's position.
    std::size_t block_rows = 0;
    graph::Idle idle;
    bool rests = false;  // Since it had no row a short while ago.
  };

  CompiledGraph(const sql::Plan& plan, std::shared_ptr<const QuerySource> source,
                std::shared_ptr<const Library> library, Sink& sink, StateStore* store,
                const graph::GraphOperators& before);
  Status adopt(const graph::GraphOperators& before);
  void open_table(std::size_t number, const sql::Table& table, graph::GraphSource& source);
  Result<bool> fill(std::size_t number);
  Result<bool> fill_from_row(std::size_t number);
  bool wake();
  Error at_place(std::size_t number, Error error);
  std::uint64_t late_rows(std::size_t node) const {
    return dropped_before_[node].late + graph_->late_rows(node);
  }
  std::uint64_t rows_without_time(std::size_t node) const {
    return dropped_before_[node].without_time + graph_->rows_without_time(node);
  }

  const sql::Plan& plan_;
  const std::shared_ptr<const QuerySource> source_;
  StateStore* store_;
  const std::shared_ptr<const Library> library_;
  CompiledHost host_;
  std::unique_ptr<query::Graph> graph_;  // Goes before the library.
  const bool reads_clock_;               // A node follows it, or state ends by it.
  graph::GraphProgress progress_;
  std::vector<Dropped> dropped_before_;      // By node, by those before.
  std::vector<std::uint64_t> rows_before_;   // By node: rows that those before gave out.
  std::vector<std::uint64_t> taken_before_;  // By table: rows that were taken then.
  std::vector<Table> tables_;
  std::vector<query::GraphInput> inputs_;  // Of each table.
};

}  // namespace holdfast::stream::compile
