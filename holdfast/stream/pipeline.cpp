#include "pipeline.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/stream/bytes.hpp>

namespace holdfast::stream {

Pipeline::Pipeline(const sql::Plan& plan, std::unique_ptr<Source> source,
                   std::unique_ptr<Sink> sink, StateStore* store)
    : plan_(plan),
      source_(std::move(source)),
      sink_(std::move(sink)),
      store_(store),
      plan_text_(sql::text_of(plan)) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (const auto* group = std::get_if<sql::Group>(&plan.nodes[i].what)) {
      group_ = std::make_unique<GroupOperator>(*group, store);
      group_node_ = i;
    }
  }
}

Status Pipeline::run(std::chrono::milliseconds interval, const std::atomic<bool>& stop) {
  if (report_.finished_before) return {};
  HF_RETURN_IF_ERROR(read_all(interval, stop));
  if (report_.finished) HF_RETURN_IF_ERROR(advance(kEndOfTime));
  HF_RETURN_IF_ERROR(checkpoint(report_.finished));
  report_.malformed = source_->malformed();
  if (group_ != nullptr) {
    report_.late_rows = group_->late_rows();
    report_.rows_without_time += group_->rows_without_time();
  }
  return {};
}

std::string Pipeline::metadata(bool finished) const {
  ByteWriter bytes;
  bytes.text(plan_text_);
  bytes.text(source_->position());
  bytes.text(sink_->state());
  bytes.number(static_cast<std::uint64_t>(watermark_));
  bytes.number(group_ == nullptr ? 0 : group_->late_rows());
  bytes.number(group_ == nullptr ? 0 : group_->rows_without_time());
  bytes.number(finished ? 1 : 0);
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
  HF_RETURN_IF_ERROR(sink_->begin(epoch_, sink));
  HF_RETURN_IF_ERROR(source_->seek(position));
  report_.resumed_place = source_->place();
  report_.finished_before = finished;
  watermark_ = watermark;
  if (group_ == nullptr || finished) return {};
  group_->set_counters(late, without_time);
  return group_->restore(watermark);
}

Status Pipeline::read_all(std::chrono::milliseconds interval, const std::atomic<bool>& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kRowsPerLook = 64;  // At the clock and at `stop`.
  auto due = Clock::now() + interval;
  sql::Row row(plan_.source().columns.size());
  for (;;) {
    if (report_.rows_in % kRowsPerLook == 0) {
      if (stop.load(std::memory_order_relaxed)) return {};
      if (store_ != nullptr && interval.count() > 0 && Clock::now() >= due) {
        HF_RETURN_IF_ERROR(checkpoint(false));
        due = Clock::now() + interval;
      }
    }
    HF_ASSIGN_OR_RETURN(const bool more, source_->next(row));
    if (!more) break;
    ++report_.rows_in;
    if (const Status taken = take(row); !taken) {
      Error error = taken.error();
      error.detail += " (at " + source_->place() + ")";
      return error;
    }
  }
  report_.finished = true;
  return {};
}

// One row of the source: computed columns, the operators, then the watermark.
Status Pipeline::take(sql::Row& row) {
  const auto& table = plan_.source();
  for (std::size_t i = 0; i < table.computed.size(); ++i) {
    if (table.computed[i] != nullptr)
      HF_RETURN_IF_ERROR(sql::evaluate(*table.computed[i], row, row[i]));
  }
  HF_RETURN_IF_ERROR(pass_on(1, row));
  return table.has_watermark ? follow_watermark(row) : Status();
}

Status Pipeline::follow_watermark(const sql::Row& row) {
  sql::Value value;
  HF_RETURN_IF_ERROR(sql::evaluate(*plan_.source().watermark, row, value));
  if (value.null) return {};
  const auto watermark = static_cast<std::int64_t>(value.number);
  return watermark > watermark_ ? advance(watermark) : Status();
}

Status Pipeline::advance(std::int64_t watermark) {
  watermark_ = watermark;
  if (group_ == nullptr) return {};
  return group_->advance(watermark,
                         [this](sql::Row& row) { return pass_on(group_node_ + 1, row); });
}

Status Pipeline::pass_on(std::size_t node, sql::Row& row) {
  for (; node < plan_.nodes.size(); ++node) {
    const auto& what = plan_.nodes[node].what;
    if (const auto* filter = std::get_if<sql::Filter>(&what)) {
      sql::Value value;
      HF_RETURN_IF_ERROR(sql::evaluate(*filter->predicate, row, value));
      if (!value.is_true()) return {};
    } else if (const auto* windows = std::get_if<sql::AssignWindows>(&what)) {
      return assign(*windows, node, row);
    } else if (std::holds_alternative<sql::Group>(what)) {
      return group_->add(row);
    } else if (const auto* project = std::get_if<sql::Project>(&what)) {
      sql::Row result(project->expressions.size());
      for (std::size_t i = 0; i < result.size(); ++i)
        HF_RETURN_IF_ERROR(sql::evaluate(*project->expressions[i], row, result[i]));
      ++report_.rows_out;  // A projection is the last node.
      return sink_->write(result);
    }
  }
  return {};
}

Status Pipeline::assign(const sql::AssignWindows& windows, std::size_t node, const sql::Row& row) {
  const auto& window = windows.window;
  const sql::Value& time = row[window.time_column];
  if (time.null) return ++report_.rows_without_time, Status();
  const auto ms = static_cast<std::int64_t>(time.number) - window.offset_ms;
  const auto last_start =
      sql::floor_divide(ms, window.slide_ms) * window.slide_ms + window.offset_ms;
  for (auto start = last_start; start > last_start - window.size_ms; start -= window.slide_ms) {
    sql::Row copy = row;
    for (const auto bound : {start, start + window.size_ms, start + window.size_ms - 1})
      copy.push_back(sql::Value::of(bound));
    HF_RETURN_IF_ERROR(pass_on(node + 1, copy));
  }
  return {};
}

Status Pipeline::checkpoint(bool finished) {
  const std::uint64_t epoch = epoch_ + 1;
  HF_RETURN_IF_ERROR(sink_->prepare(epoch));
  if (store_ != nullptr) {
    if (group_ != nullptr) HF_RETURN_IF_ERROR(group_->put_state());
    HF_RETURN_IF_ERROR(store_->complete({epoch, metadata(finished)}));
    ++report_.checkpoints;
  }
  epoch_ = epoch;
  return sink_->commit(epoch);
}

}  // namespace holdfast::stream
