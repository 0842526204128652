// sharded_graph.hpp: the operators of a graph on several workers, each with a shard of the rows:
// docs/stream_workers.md.
//
// Guarantee  Results are those of one worker. Rows that a row caused come in its order; rows that a
//            watermark caused come shard by shard.
// Threads    One at a time; it has threads of its own.
// Errors     Those of GraphOperators, of the first row that fails. kNoSpace: there are no threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include <holdfast/stream/graph/graph_operators.hpp>
#include <holdfast/stream/workers/graph_shard.hpp>
#include <holdfast/stream/workers/shard_rounds.hpp>
#include <holdfast/stream/workers/shard_store.hpp>

namespace holdfast::stream {

class ShardedGraph final : public Operators {
 public:
  struct Setting {
    unsigned workers = 2;
    graph::Retention retention = {};
    std::chrono::milliseconds round = ShardRounds::kRound;
  };

  // All but `keys` and `setting` outlive it. `source` is the one that take() is given.
  static Result<std::unique_ptr<ShardedGraph>> start(const sql::Plan& plan, ShardKeys keys,
                                                     graph::GraphSource& source, Sink& sink,
                                                     StateStore* store, const Setting& setting);
  ~ShardedGraph() override;

  Status restore(const OperatorCounts& counts) override;
  Result<Progress> take(Source& source) override;
  Status end() override { return {}; }
  Status put_state() override;
  OperatorCounts counts() const override;
  unsigned workers() const override { return rounds_.shards(); }
  void watch() override;
  std::vector<OperatorProgress> operators() const override;
  std::set<std::int64_t> stored_slices() const override { return {}; }
  Status visit_entries(VisitEntry) const override { return {}; }

 private:
  ShardedGraph(const sql::Plan& plan, ShardKeys keys, graph::GraphSource& source, Sink& sink,
               StateStore* store, const Setting& setting, std::unique_ptr<WorkerCrew> crew);
  void pass_requests_on();
  Status put_node(std::size_t node);
  Status restore_node(std::size_t node);
  void set_watermarks(GraphHalf& half, std::size_t node) const;
  template <class Visit>
  void for_each(std::size_t node, const Visit& visit) const;

  const sql::Plan& plan_;
  const ShardKeys keys_;
  const StateOwners owners_;
  GraphReader reader_;
  StateStore* const store_;  // Null: no checkpoints. Then neither are the next two.
  const std::unique_ptr<SharedStore> shared_;
  std::vector<std::unique_ptr<ShardStore>> stores_;  // By shard.
  std::vector<std::unique_ptr<GraphShard>> shards_;
  GraphRest rest_;
  graph::GraphProgress progress_;
  ShardRounds rounds_;
};

}  // namespace holdfast::stream
