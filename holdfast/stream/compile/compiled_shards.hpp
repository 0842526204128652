// compiled_shards.hpp: a compiled graph on several workers: each has one of its own, with the rows
// of its keys. For plans all of whose operators are in shards. docs/stream_workers.md.
//
// Guarantee  Results are those of CompiledGraph. Rows that a row caused come in its order; rows
//            that a watermark caused come shard by shard.
// Threads    One at a time; it has threads of its own.
// Errors     Those of CompiledGraph, of the first row that fails. kNoSpace: there are no threads.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/compile/compiled_host.hpp>
#include <holdfast/stream/compile/library.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/graph/graph_operators.hpp>
#include <holdfast/stream/workers/shard_rounds.hpp>
#include <holdfast/stream/workers/shard_store.hpp>

namespace holdfast::stream::compile {

// How the rows of a plan are shared out.
struct Shards {
  ShardKeys keys;
  unsigned workers = 1;
};
// Whether this can do it; else why not. `store` may be null.
Status can_compile_shards(const sql::Plan& plan, const ShardKeys& keys, const StateStore* store);

class CompiledShards final : public Operators {
 public:
  // `plan` outlives it. Goes on where `before` is, on its source. Errors: kCorrupt, an entry of the
  // state is none of this query.
  static Result<std::unique_ptr<CompiledShards>> after(const graph::GraphOperators& before,
                                                       const sql::Plan& plan, Shards shards,
                                                       std::shared_ptr<const QuerySource> source,
                                                       std::shared_ptr<const Library> library,
                                                       Sink& sink, StateStore* store);
  ~CompiledShards() override;

  // It goes on where others are: after().
  Status restore(const OperatorCounts&) override { return {}; }
  Result<Progress> take(Source& source) override;
  Status end() override { return {}; }
  Status put_state() override;
  OperatorCounts counts() const override;
  unsigned workers() const override { return rounds_.shards(); }
  std::vector<OperatorProgress> operators() const override;
  std::set<std::int64_t> stored_slices() const override { return {}; }
  Status visit_entries(VisitEntry) const override { return {}; }

 private:
  class Shard;
  struct Before {  // What those before have done, of a node.
    std::uint64_t late, without_time, rows_out;
  };

  CompiledShards(const sql::Plan& plan, Shards shards, std::shared_ptr<const QuerySource> source,
                 std::shared_ptr<const Library> library, Sink& sink, StateStore* store,
                 const graph::GraphOperators& before, std::unique_ptr<WorkerCrew> crew);
  Status adopt(const graph::GraphOperators& before);
  Status adopt_entry(const query::GraphEntry& entry);
  std::uint64_t late_rows(std::size_t node) const;
  std::uint64_t rows_without_time(std::size_t node) const;

  const sql::Plan& plan_;
  const ShardKeys keys_;
  const StateOwners owners_;
  const std::shared_ptr<const QuerySource> source_;
  const std::shared_ptr<const Library> library_;
  GraphReader reader_;
  StateStore* const store_;  // Null: no checkpoints. Then neither are the next two.
  const std::unique_ptr<SharedStore> shared_;
  std::vector<std::unique_ptr<ShardStore>> stores_;  // By shard.
  std::vector<std::unique_ptr<Shard>> shards_;       // They go before the library.
  graph::GraphProgress progress_;
  std::vector<Before> before_;               // By node.
  std::vector<std::uint64_t> taken_before_;  // By input.
  std::uint64_t rows_out_;
  ShardRounds rounds_;
};

}  // namespace holdfast::stream::compile
