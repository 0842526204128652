// pipeline.hpp: one plan, run from its source to its sink. An interpreter begins; compiled
// operators take over when they are ready.
//
// Guarantee  A checkpoint covers the source's place, the state of the windows, the watermark, the
//            counters and the sink, at one point between two rows. A run that resumes goes on
//            there: each row counts once, and a transactional sink shows each result once.
// Threads    run() is one thread; `stop` may be raised by another or by a signal handler.
// Errors     Those of source, sink, state and expressions; kInvalidOption: the checkpoint is of
//            another query.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/monitor.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/run_metadata.hpp>
#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/source.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream {

struct PipelineReport {
  std::uint64_t rows_in = 0, rows_out = 0, late_rows = 0, rows_without_time = 0, malformed = 0;
  std::vector<std::string> malformed_samples;
  std::uint64_t checkpoints = 0;    // Of this run.
  std::uint64_t resumed_epoch = 0;  // 0: it began.
  std::string resumed_place;
  bool finished_before = false;  // The checkpoint says so: nothing was done.
  bool finished = false;         // The input has ended.
  bool taken_over = false;       // By other operators than the interpreter.
};

// Asked between two rows for operators that go on where `now` is; null: there are none yet. It is
// kept until the pipeline goes.
using Successor = std::function<Result<std::unique_ptr<Operators>>(Operators& now, Sink& sink,
                                                                   StateStore* store)>;

class Pipeline {
 public:
  // `operators` begin; they read `source` and write to `sink`. `store` may be null: no checkpoints.
  // `plan` and `store` outlive it.
  Pipeline(const sql::Plan& plan, std::unique_ptr<Source> source, std::unique_ptr<Sink> sink,
           StateStore* store, std::unique_ptr<Operators> operators);

  // Called at most once, before run().
  void set_successor(Successor successor) { successor_ = std::move(successor); }
  // Called before run(). `monitor` and `sink`, the sink of this pipeline, outlive the pipeline.
  void watch(QueryMonitor& monitor, const WatchedSink& sink);
  // Called first. Goes back to the last checkpoint, which open() of the store gave, or begins.
  // report() says from where.
  Status resume(const std::optional<Checkpoint>& found = {});
  const PipelineReport& report() const { return report_; }
  // Runs until the input ends or `stop` is raised. Takes a checkpoint every `interval` (0: at the
  // end only), and one at either end.
  Status run(std::chrono::milliseconds interval, const std::atomic<bool>& stop);

 private:
  using Clock = std::chrono::steady_clock;

  Status run_to_end(std::chrono::milliseconds interval, const std::atomic<bool>& stop);
  Status read_all(std::chrono::milliseconds interval, const std::atomic<bool>& stop);
  Result<bool> take_some();
  void publish(QueryState state, const Status& status);
  Status look_for_successor();
  Status checkpoint(RunEnd end);
  // Once more, behind the commit() of the last checkpoint: later runs have nothing to do.
  Status note_shown();
  Status begin_sink(std::string_view state);
  std::string metadata(RunEnd end) const;

  std::unique_ptr<Source> source_;
  std::unique_ptr<Sink> sink_;
  StateStore* store_;
  std::unique_ptr<Operators> operators_;
  Successor successor_;
  std::string plan_text_;
  std::uint64_t epoch_ = 0;
  // Of the checkpoint that a savepoint became; the sink counts its epochs from here.
  std::uint64_t sink_base_ = 0;
  QueryMonitor* monitor_ = nullptr;
  const WatchedSink* watched_sink_ = nullptr;
  QueryProgress progress_;  // What only a watched pipeline counts.
  Clock::time_point publish_again_;
  PipelineReport report_;
};

}  // namespace holdfast::stream
