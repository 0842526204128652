// make_operator.hpp: the operator of a node of a plan, and what stands behind the last one.
#pragma once

#include <cstddef>
#include <memory>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream/sink.hpp>

namespace holdfast::stream::graph {

// All arguments outlive it. Nobody reads it yet.
std::unique_ptr<Operator> make_operator(const sql::Plan& plan, std::size_t node, StateStore* store,
                                        const Retention& retention, LateRows* late_rows);

// Gives the rows of the root to the sink.
class OutputRows final : public Operator {
 public:
  OutputRows(const sql::Plan& plan, Sink& sink);
  Status take(std::size_t, RowKind kind, const sql::Row& row) override {
    ++rows_out;
    return sink_.write_change(kind, row);
  }

 private:
  Sink& sink_;
};

}  // namespace holdfast::stream::graph
