// graph_batch.hpp: rows of all tables of a graph that were read together, in their order; and what
// reads them.
//
// Threads  A batch is written by one, then read by any number; a row is its shard's then. The
//          reader: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/graph/graph_inputs.hpp>
#include <holdfast/stream/graph/graph_source.hpp>
#include <holdfast/stream/workers/shard_keys.hpp>

namespace holdfast::stream {

struct GraphBatch {
  // A row of an input, or the watermark that it has from here on.
  struct Event {
    std::uint32_t input = 0;
    bool is_row = false;
    std::uint32_t shard = 0;     // Of a row.
    std::size_t row = 0;         // In `rows`.
    std::int64_t watermark = 0;  // Of a watermark.
  };
  std::vector<Event> events;
  std::vector<sql::Row> rows;  // The first `count` are of this batch.
  std::size_t count = 0;
  std::vector<std::string> positions;  // Of each input's source, before them.
  Status behind;                       // What went wrong behind them.
};

class GraphReader {
 public:
  // All outlive it. Rows are for so many shards.
  GraphReader(const sql::Plan& plan, const ShardKeys& keys, graph::GraphSource& source,
              std::uint32_t shards);

  // The next rows; none: there are none now.
  void read(GraphBatch& batch);
  // Of a table there are those columns only that its watermark and its keys are made of. These are
  // the others.
  Status compute_rest(std::size_t input, sql::Row& row) const {
    return graph::compute(*inputs_[input].table, later_[input], row);
  }
  bool ended() const;

  std::vector<graph::GraphInput>& inputs() { return inputs_; }
  const std::vector<graph::GraphInput>& inputs() const { return inputs_; }
  // Where the source of the input of this event stood behind its row, as far as it can be found;
  // behind the last one: where it stands now. It stands there then.
  Error at_place(Error error, const GraphBatch& batch, std::size_t event);

 private:
  Status read_rows(GraphBatch& batch, std::vector<bool>& waits);
  Result<bool> read_row(GraphBatch& batch, graph::GraphInput& input);
  std::uint32_t number_of(const graph::GraphInput& input) const {
    return static_cast<std::uint32_t>(&input - inputs_.data());
  }
  std::uint32_t shard_for(const graph::GraphInput& input, const sql::Row& row);
  Error told(Error error, const graph::GraphInput& input) const;

  const ShardKeys& keys_;
  graph::GraphSource& source_;
  const std::uint32_t shards_;
  std::vector<graph::GraphInput> inputs_;
  std::vector<std::vector<bool>> first_, later_;  // By input: columns that are computed when.
  std::string values_;
};

}  // namespace holdfast::stream
