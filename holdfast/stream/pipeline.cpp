#include "pipeline.hpp"

#include <utility>

#include <holdfast/stream/bytes.hpp>

namespace holdfast::stream {

Pipeline::Pipeline(const sql::Plan& plan, std::unique_ptr<Source> source,
                   std::unique_ptr<Sink> sink, StateStore* store)
    : plan_(plan),
      source_(std::move(source)),
      sink_(std::move(sink)),
      store_(store),
      interpreter_(std::make_unique<InterpretedOperators>(plan, *sink_, store)),
      operators_(interpreter_.get()),
      plan_text_(sql::text_of(plan)) {}

Status Pipeline::run(std::chrono::milliseconds interval, const std::atomic<bool>& stop) {
  if (report_.finished_before) return {};
  HF_RETURN_IF_ERROR(read_all(interval, stop));
  if (report_.finished) HF_RETURN_IF_ERROR(operators_->end());
  HF_RETURN_IF_ERROR(checkpoint(report_.finished));
  report_.malformed = source_->malformed();
  report_.malformed_samples = source_->malformed_samples();
  const auto counts = operators_->counts();
  report_.rows_out = counts.rows_out;
  report_.late_rows = counts.late_rows;
  report_.rows_without_time = counts.rows_without_time;
  return {};
}

std::string Pipeline::metadata(bool finished) const {
  const auto counts = operators_->counts();
  ByteWriter bytes;
  bytes.text(plan_text_);
  bytes.text(source_->position());
  bytes.text(sink_->state());
  bytes.number(static_cast<std::uint64_t>(counts.watermark));
  bytes.number(counts.late_rows);
  bytes.number(counts.rows_without_time);
  bytes.number(finished ? 1 : 0);
  bytes.number(sink_base_);
  return bytes.take();
}

Status Pipeline::resume() {
  std::optional<Checkpoint> found;
  if (store_ != nullptr) {
    HF_ASSIGN_OR_RETURN(found, store_->open());
  }
  if (!found) return sink_->begin(0, {});
  ByteReader bytes(found->metadata);
  const auto plan = bytes.text(), position = bytes.text(), sink = bytes.text();
  const auto watermark = static_cast<std::int64_t>(bytes.number());
  const auto late = bytes.number(), without_time = bytes.number();
  const bool finished = bytes.number() != 0;
  sink_base_ = bytes.number();
  if (!bytes.ok() || !bytes.at_end())
    return Error{Errc::kCorrupt, "the checkpoint's metadata is damaged"};
  if (plan != plan_text_) {
    return Error{Errc::kInvalidOption,
                 "the checkpoint is of another query:\n" + std::string(plan) +
                     "run that one, or name another directory for this one:\n" + plan_text_};
  }
  epoch_ = found->epoch;
  report_.resumed_epoch = epoch_;
  // What was complete is shown, also where a crash came before the sink could do so.
  HF_RETURN_IF_ERROR(sink_->begin(epoch_ - sink_base_, sink));
  HF_RETURN_IF_ERROR(source_->seek(position));
  report_.resumed_place = source_->place();
  report_.finished_before = finished;
  return finished ? Status() : interpreter_->restore({watermark, late, without_time, 0});
}

Status Pipeline::look_for_successor() {
  if (!successor_) return {};
  HF_ASSIGN_OR_RETURN(others_, successor_(*operators_, *sink_, store_));
  if (others_ == nullptr) return {};
  operators_ = others_.get();
  interpreter_.reset();
  successor_ = nullptr;
  report_.taken_over = true;
  return {};
}

Status Pipeline::read_all(std::chrono::milliseconds interval, const std::atomic<bool>& stop) {
  using Clock = std::chrono::steady_clock;
  auto due = Clock::now() + interval;
  while (!stop.load(std::memory_order_relaxed)) {
    HF_RETURN_IF_ERROR(look_for_successor());
    if (sink_->full() || (store_ != nullptr && interval.count() > 0 && Clock::now() >= due)) {
      HF_RETURN_IF_ERROR(checkpoint(false));
      due = Clock::now() + interval;
    }
    HF_ASSIGN_OR_RETURN(const auto progress, operators_->take(*source_));
    report_.rows_in += progress.rows;
    if (!progress.ended) continue;
    report_.finished = true;
    return {};
  }
  return {};
}

Status Pipeline::checkpoint(bool finished) {
  const std::uint64_t epoch = epoch_ + 1;
  HF_RETURN_IF_ERROR(sink_->prepare(epoch - sink_base_));
  if (store_ != nullptr) {
    HF_RETURN_IF_ERROR(operators_->put_state());
    HF_RETURN_IF_ERROR(store_->complete({epoch, metadata(finished)}));
    ++report_.checkpoints;
  }
  epoch_ = epoch;
  HF_RETURN_IF_ERROR(sink_->commit(epoch - sink_base_));
  return store_ == nullptr ? Status() : source_->checkpointed();
}

Result<std::string> metadata_of_beginning(std::string_view metadata) {
  ByteReader bytes(metadata);
  ByteWriter changed;
  for (int text = 0; text < 2; ++text)
    changed.text(bytes.text());  // Plan, source.
  bytes.text();
  changed.text({});  // The sink's.
  for (int number = 0; number < 4; ++number)
    changed.number(bytes.number());  // Watermark, counters, finished.
  bytes.number();
  changed.number(1);
  if (!bytes.ok() || !bytes.at_end())
    return Error{Errc::kCorrupt, "the checkpoint's metadata is damaged"};
  return changed.take();
}

}  // namespace holdfast::stream
