// graph_shard.hpp: the operators of a graph in two halves: those that each shard has, and those
// that read what comes out of the shards and are there once. docs/stream_workers.md.
//
// Threads  Each half one at a time; the shards beside one another.
// Errors   Those of expressions, state store and sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/graph/make_operator.hpp>
#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream/workers/graph_batch.hpp>
#include <holdfast/stream/workers/shard_keys.hpp>

namespace holdfast::stream {

// What a shard gave out: a row, or that a watermark came to this edge.
struct Crossed {
  std::size_t event = 0;   // Of the batch, that caused it.
  std::uint32_t edge = 0;  // Of edges_of().
  bool is_row = false;
  RowKind kind = RowKind::kInsert;
  std::int64_t watermark = 0;
  sql::Row row;
};

// Of one shard and one batch, in its order. Rows keep their room, but those of a large window.
class Crossings {
 public:
  void clear() {
    if (all_.size() > kKept) all_ = {};
    count_ = 0;
  }
  Crossed& add() {
    if (count_ == all_.size()) all_.emplace_back();
    return all_[count_++];
  }
  std::size_t size() const { return count_; }
  const Crossed& operator[](std::size_t number) const { return all_[number]; }

 private:
  static constexpr std::size_t kKept = 4096;

  std::vector<Crossed> all_;
  std::size_t count_ = 0;
};

// From an operator in shards to one that is not; `to` behind the last node: the sink.
struct ShardEdge {
  std::size_t from, to, input;
};
std::vector<ShardEdge> edges_of(const sql::Plan& plan, const ShardKeys& keys);

// What the operators of both halves have in common. By node; null: it is of the other half.
class GraphHalf {
 public:
  using Made = std::vector<std::unique_ptr<graph::Operator>>;

  bool has(std::size_t node) const { return operators_[node] != nullptr; }
  graph::Operator& at(std::size_t node) { return *operators_[node]; }
  const graph::Operator& at(std::size_t node) const { return *operators_[node]; }
  void measure();

 protected:
  GraphHalf(const sql::Plan& plan, const std::vector<bool>& has, StateStore* store,
            const graph::Retention& retention);
  ~GraphHalf() = default;

  Made operators_;
  graph::Timing timing_;
  bool measures_ = false;
};

class GraphShard final : public GraphHalf {
 public:
  // All arguments outlive it.
  GraphShard(const sql::Plan& plan, const ShardKeys& keys, const GraphReader& reader,
             StateStore* store, const graph::Retention& retention, std::uint32_t number);
  ~GraphShard();

  // Its rows of a batch, and all watermarks. With an error: `event` is the one that failed.
  Status take(GraphBatch& batch, Crossings& crossings, std::size_t& event);

 private:
  class Tap;
  struct Now {  // What the taps write to.
    Crossings* crossings = nullptr;
    std::size_t event = 0;
  };
  Status take_row(std::uint32_t input, sql::Row& row);
  Status take_values(std::uint32_t input, sql::Row& row);

  const GraphReader& reader_;
  const std::uint32_t number_;
  Now now_;
  std::vector<std::unique_ptr<Tap>> taps_;
  std::vector<graph::Operator*> scans_;  // By input.
  std::uint64_t rows_until_sample_ = 0;
};

class GraphRest final : public GraphHalf {
 public:
  GraphRest(const sql::Plan& plan, const ShardKeys& keys, StateStore* store,
            const graph::Retention& retention, Sink& sink);

  Status take(const Crossed& crossed);
  std::uint64_t rows_out() const { return output_.rows_out; }

 private:
  struct End {
    graph::Operator* reader;
    std::size_t input;
  };
  graph::OutputRows output_;
  std::vector<End> ends_;  // By edge.
};

}  // namespace holdfast::stream
