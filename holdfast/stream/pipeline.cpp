#include "pipeline.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/sql/secrets.hpp>
#include <holdfast/sql/user_aggregate.hpp>
#include <holdfast/stream/bytes.hpp>

namespace holdfast::stream {

Pipeline::Pipeline(const sql::Plan& plan, std::unique_ptr<Source> source,
                   std::unique_ptr<Sink> sink, StateStore* store,
                   std::unique_ptr<Operators> operators)
    : source_(std::move(source)),
      sink_(std::move(sink)),
      store_(store),
      operators_(std::move(operators)),
      plan_text_(sql::text_of(plan)) {}

void Pipeline::watch(QueryMonitor& monitor, const WatchedSink& sink) {
  monitor_ = &monitor;
  watched_sink_ = &sink;
  operators_->watch();
}

Status Pipeline::run(std::chrono::milliseconds interval, const std::atomic<bool>& stop) {
  if (report_.finished_before) return publish(QueryState::kFinished, {}), Status();
  const Status status = run_to_end(interval, stop);
  publish(!status            ? QueryState::kFailed
          : report_.finished ? QueryState::kFinished
                             : QueryState::kStopped,
          status);
  return status;
}

Status Pipeline::run_to_end(std::chrono::milliseconds interval, const std::atomic<bool>& stop) {
  HF_RETURN_IF_ERROR(read_all(interval, stop));
  if (report_.finished) HF_RETURN_IF_ERROR(operators_->end());
  HF_RETURN_IF_ERROR(checkpoint(report_.finished ? RunEnd::kFinished : RunEnd::kNone));
  if (report_.finished) HF_RETURN_IF_ERROR(note_shown());
  report_.malformed = source_->malformed();
  report_.malformed_samples = source_->malformed_samples();
  const auto counts = operators_->counts();
  report_.rows_out = counts.rows_out;
  report_.late_rows = counts.late_rows;
  report_.rows_without_time = counts.rows_without_time;
  return {};
}

void Pipeline::publish(QueryState state, const Status& status) {
  if (monitor_ == nullptr) return;
  const auto counts = operators_->counts();
  progress_.state = state;
  progress_.rows_in = report_.rows_in;
  progress_.rows_out = counts.rows_out;
  progress_.late_rows = counts.late_rows;
  progress_.rows_without_time = counts.rows_without_time;
  progress_.malformed = source_->malformed();
  progress_.malformed_samples = source_->malformed_samples();
  progress_.watermark_ms = counts.watermark;
  progress_.checkpoints = report_.checkpoints;
  progress_.last_epoch = epoch_;
  progress_.writing_seconds = watched_sink_->seconds();
  progress_.compiled = report_.taken_over;
  progress_.workers = operators_->workers();
  progress_.place = source_->place();
  progress_.operators = operators_->operators();
  if (!status) progress_.error = status.error().detail;
  monitor_->publish(progress_);
}

std::string Pipeline::metadata(RunEnd end) const {
  const auto counts = operators_->counts();
  const RunMetadata run{plan_text_,
                        source_->position(),
                        sink_->state(),
                        counts.watermark,
                        counts.late_rows,
                        counts.rows_without_time,
                        end,
                        sink_base_};
  return run.bytes();
}

Status Pipeline::resume(const std::optional<Checkpoint>& found) {
  if (!found) return sink_->begin(0, {});
  HF_ASSIGN_OR_RETURN(const auto run, RunMetadata::of(*found));
  // That of an earlier build may have passwords.
  const auto plan = run.plan == plan_text_ ? plan_text_ : sql::without_secrets(run.plan);
  if (plan != plan_text_) {
    return Error{Errc::kInvalidOption,
                 "the checkpoint is of another query:\n" + plan +
                     "run that one, or name another directory for this one:\n" + plan_text_};
  }
  sink_base_ = run.sink_base;
  epoch_ = found->epoch;
  report_.resumed_epoch = epoch_;
  // What was complete is shown, also where a crash came before the sink could do so.
  HF_RETURN_IF_ERROR(begin_sink(run.sink));
  HF_RETURN_IF_ERROR(source_->seek(run.position));
  report_.resumed_place = source_->place();
  report_.finished_before = run.end != RunEnd::kNone;
  if (!report_.finished_before)
    return operators_->restore({run.watermark, run.late_rows, run.rows_without_time, 0});
  return note_shown();
}

Status Pipeline::note_shown() {
  if (store_ == nullptr) return {};
  return store_->complete({++epoch_, metadata(RunEnd::kShown)});
}

Status Pipeline::begin_sink(std::string_view state) {
  if (epoch_ != sink_base_) return sink_->begin(epoch_ - sink_base_, state);
  if (state.empty()) return sink_->begin(0, {});  // A savepoint of an earlier build.
  ByteReader bytes(state);
  const auto epoch = bytes.number();
  const auto given = bytes.text();
  if (!bytes.ok() || !bytes.at_end())
    return Error{Errc::kCorrupt, "the savepoint's state of the sink is damaged"};
  return sink_->begin_from(epoch, given);
}

Status Pipeline::look_for_successor() {
  if (!successor_ || report_.taken_over) return {};
  HF_ASSIGN_OR_RETURN(auto others, successor_(*operators_, *sink_, store_));
  if (others == nullptr) return {};
  operators_ = std::move(others);
  report_.taken_over = true;
  return {};
}

// Some rows. False: there are no more.
Result<bool> Pipeline::take_some() {
  const auto begun = monitor_ == nullptr ? Clock::time_point() : Clock::now();
  HF_ASSIGN_OR_RETURN(const auto progress, operators_->take(*source_));
  report_.rows_in += progress.rows;
  report_.finished = progress.ended;
  if (monitor_ == nullptr) return !progress.ended;
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - begun).count();
  (progress.rows == 0 ? progress_.waiting_seconds : progress_.working_seconds) += seconds;
  if (now >= publish_again_) {
    publish(QueryState::kRunning, {});
    publish_again_ = now + std::chrono::milliseconds(100);
  }
  return !progress.ended;
}

Status Pipeline::read_all(std::chrono::milliseconds interval, const std::atomic<bool>& stop) {
  auto due = Clock::now() + interval;
  while (!stop.load(std::memory_order_relaxed)) {
    HF_RETURN_IF_ERROR(look_for_successor());
    const bool asked = store_ != nullptr && store_->take_request();
    if (asked || sink_->full() ||
        (store_ != nullptr && interval.count() > 0 && Clock::now() >= due)) {
      HF_RETURN_IF_ERROR(checkpoint(RunEnd::kNone));
      due = Clock::now() + interval;
    }
    HF_ASSIGN_OR_RETURN(const bool more, take_some());
    if (!more) return {};
  }
  return {};
}

Status Pipeline::checkpoint(RunEnd end) {
  const auto begun = Clock::now();
  const std::uint64_t epoch = epoch_ + 1;
  HF_RETURN_IF_ERROR(sink_->prepare(epoch - sink_base_));
  if (store_ != nullptr) {
    HF_RETURN_IF_ERROR(operators_->put_state());
    HF_RETURN_IF_ERROR(sql::UserState::take_unwritten());
    HF_RETURN_IF_ERROR(store_->complete({epoch, metadata(end)}));
    ++report_.checkpoints;
  }
  epoch_ = epoch;
  HF_RETURN_IF_ERROR(sink_->commit(epoch - sink_base_));
  if (store_ == nullptr) return {};
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  progress_.last_checkpoint_seconds = seconds;
  progress_.longest_checkpoint_seconds = std::max(progress_.longest_checkpoint_seconds, seconds);
  progress_.checkpoint_seconds += seconds;
  progress_.last_checkpoint_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
  progress_.state_bytes = store_->bytes();
  return source_->checkpointed();
}

}  // namespace holdfast::stream
