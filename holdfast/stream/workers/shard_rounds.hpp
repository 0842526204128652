// shard_rounds.hpp: rounds of work of the shards of a graph: docs/stream_workers.md.
//
// In a round workers read rows for some milliseconds. All look at all rows that are read, in one
// order; each takes those of its shard. What comes out of the shards goes on in the order of the
// rows that caused it.
//
// Threads  One at a time; it has threads of its own.
// Errors   Those of the first row that fails, with its place; of the reader.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/workers/graph_batch.hpp>
#include <holdfast/stream/workers/graph_shard.hpp>
#include <holdfast/stream/workers/worker_crew.hpp>

namespace holdfast::stream {

class ShardRounds {
 public:
  static constexpr std::chrono::milliseconds kRound{20};

  // What a shard does with its rows of a batch, and with all watermarks. With an error: `event` is
  // the one that failed. Called by several workers at a time, each for its shard.
  using Take = std::function<Status(std::uint32_t shard, GraphBatch& batch, Crossings& crossings,
                                    std::size_t& event)>;
  // What is done with what comes out of them; one at a time.
  using Give = std::function<Status(const Crossed& crossed)>;

  // As many shards as the crew has workers. `reader` outlives it.
  ShardRounds(GraphReader& reader, std::unique_ptr<WorkerCrew> crew,
              std::chrono::milliseconds round, Take take, Give give);
  ~ShardRounds();

  std::uint32_t shards() const { return crew_->size(); }
  // A round. No worker is at work when it returns.
  Result<Operators::Progress> take() HF_EXCLUDES(mutex_);

 private:
  struct Slot {
    GraphBatch batch;
    std::vector<Crossings> crossings;  // By shard.
  };
  // The event of a batch at which something went wrong; behind the last one: the reader said so.
  struct Failure {
    std::uint64_t batch = 0;
    std::size_t event = 0;
    Error error;
  };
  struct Round {
    std::uint64_t batches = 0, merged = 0, rows = 0;
    std::vector<std::uint64_t> done;  // By shard: how many batches.
    bool reading = false, merging = false, over = false;
    std::optional<Failure> failure;
  };

  void work(std::uint32_t number) HF_EXCLUDES(mutex_);
  Slot* fetch(std::uint32_t number, std::uint64_t batch) HF_EXCLUDES(mutex_);
  Slot& slot(std::uint64_t batch) { return *slots_[batch % slots_.size()]; }
  std::uint64_t done_by_all() const HF_REQUIRES(mutex_);
  void read_one() HF_REQUIRES(mutex_);
  void merge_one() HF_REQUIRES(mutex_);
  void note(Failure failure) HF_REQUIRES(mutex_);
  Status merge(const Slot& slot, std::size_t last, std::size_t& event);
  Status merge_watermark(const Slot& slot, std::size_t event);
  Status give_rows(const Crossings& crossings, std::size_t event, std::size_t& at);
  Status end_round();

  GraphReader& reader_;
  const std::unique_ptr<WorkerCrew> crew_;
  const std::chrono::milliseconds round_;
  const Take take_;
  const Give give_;
  std::vector<std::unique_ptr<Slot>> slots_;  // Batch n is at n modulo their number.
  std::vector<std::size_t> heads_;            // By shard: what comes next of a batch.
  std::chrono::steady_clock::time_point until_;
  KernelMutex mutex_;
  Condition moved_;
  Round now_ HF_GUARDED_BY(mutex_);
};

}  // namespace holdfast::stream
