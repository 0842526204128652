// monitor.hpp: what queries are doing now, for people and programs that look.
//
// Costs    A pipeline that is watched reads the clock twice for each few rows, and for each result.
// Threads  A QueryMonitor is written by its pipeline's thread and read by any; a Monitor is for
//          any.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/thread_annotations.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/sink.hpp>

namespace holdfast::stream {

class RowWriter;

enum class QueryState : std::uint8_t { kRunning, kFinished, kStopped, kFailed };

// The progress of one query, or of one split of it. Counts are of this run.
struct QueryProgress {
  QueryState state = QueryState::kRunning;
  std::uint64_t rows_in = 0, rows_out = 0, late_rows = 0, rows_without_time = 0, malformed = 0;
  std::int64_t watermark_ms = kNoWatermark;
  std::uint64_t checkpoints = 0, last_epoch = 0;
  std::int64_t last_checkpoint_ms = 0;  // When: milliseconds since 1970. 0: none yet.
  double last_checkpoint_seconds = 0, longest_checkpoint_seconds = 0;  // How long.
  std::uint64_t state_bytes = 0;                                       // At the last checkpoint.
  // Where the time since it began went: waiting for rows; at work; writing results; at checkpoints.
  double waiting_seconds = 0, working_seconds = 0, writing_seconds = 0, checkpoint_seconds = 0;
  bool compiled = false;
  unsigned workers = 1;  // That are at work on rows.
  std::string place;     // Of the source.
  std::vector<std::string> malformed_samples;
  std::vector<OperatorProgress> operators;
  std::string error;
};

struct QueryView {
  std::size_t number = 1;
  std::string split, plan;
  std::uint64_t begun_ms = 0;  // Since 1970.
  QueryProgress progress;
  std::vector<std::string> sample;  // Of results, the newest last: objects of JSON.
};

class QueryMonitor {
 public:
  static constexpr std::size_t kSample = 20;

  QueryMonitor(std::size_t number, std::string split, std::string plan);

  void publish(QueryProgress progress) HF_EXCLUDES(mutex_);
  void add_to_sample(std::string row) HF_EXCLUDES(mutex_);
  QueryView view() const HF_EXCLUDES(mutex_);

 private:
  mutable KernelMutex mutex_;
  QueryView view_ HF_GUARDED_BY(mutex_);
  std::deque<std::string> sample_ HF_GUARDED_BY(mutex_);
};

class Monitor {
 public:
  // A split that is begun anew takes its former place.
  std::shared_ptr<QueryMonitor> add(std::size_t number, const std::string& split, std::string plan)
      HF_EXCLUDES(mutex_);
  std::vector<QueryView> views() const HF_EXCLUDES(mutex_);

 private:
  struct Entry {
    std::size_t number;
    std::string split;
    std::shared_ptr<QueryMonitor> monitor;
  };
  mutable KernelMutex mutex_;
  std::vector<Entry> entries_ HF_GUARDED_BY(mutex_);
};

// A sink that takes note of how long `sink` takes and of some of its rows.
class WatchedSink final : public Sink {
 public:
  // `columns` and `monitor` outlive it.
  WatchedSink(std::unique_ptr<Sink> sink, const std::vector<sql::Column>& columns,
              QueryMonitor& monitor);
  ~WatchedSink() override;

  Status begin(std::uint64_t epoch, std::string_view state) override {
    return sink_->begin(epoch, state);
  }
  Status begin_from(std::uint64_t epoch, std::string_view state) override {
    return sink_->begin_from(epoch, state);
  }
  Status write(const sql::Row& row) override;
  bool takes_changes() const override { return sink_->takes_changes(); }
  Status write_change(RowKind kind, const sql::Row& row) override;
  Status prepare(std::uint64_t epoch) override { return sink_->prepare(epoch); }
  Status commit(std::uint64_t epoch) override { return sink_->commit(epoch); }
  std::string state() const override { return sink_->state(); }
  bool full() const override { return sink_->full(); }
  bool transactional() const override { return sink_->transactional(); }

  double seconds() const { return seconds_; }

 private:
  void note(std::string_view kind, const sql::Row& row);

  std::unique_ptr<Sink> sink_;
  QueryMonitor& monitor_;
  std::unique_ptr<RowWriter> writer_;  // Of the sample.
  double seconds_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace holdfast::stream
