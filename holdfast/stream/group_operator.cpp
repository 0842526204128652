#include "group_operator.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/evaluate.hpp>

namespace holdfast::stream {

Status GroupOperator::restore(std::int64_t watermark) {
  watermark_ = watermark;
  HF_RETURN_IF_ERROR(state_.restore());
  next_end_ = kEndOfTime;
  if (!group_.windowed) return {};
  if (watermark != kNoWatermark && watermark != kEndOfTime && !sql::is_summable(watermark))
    return Error{Errc::kCorrupt,
                 "the watermark of the state, " + std::to_string(watermark) + " ms, is no time"};
  for (const auto slice : state_.slices()) {
    if (!sql::is_summable(slice))
      return Error{Errc::kCorrupt, "a window of the state ends at " + std::to_string(slice) +
                                       " ms, which is no time"};
    const auto end = first_open_end(slice);
    // A crash came between a checkpoint and the removal of what it no longer needs.
    if (HF_MUTANT("ST01", end > last_end(slice), false))
      state_.drop(slice);
    else
      next_end_ = std::min(next_end_, end);
  }
  return {};
}

// Of the window that ends there.
std::int64_t GroupOperator::start_of(std::int64_t window_end) const {
  const auto& window = group_.window;
  if (!window.cumulates) return window_end - window.size_ms;
  return sql::floor_divide(window_end - 1 - window.offset_ms, window.size_ms) * window.size_ms +
         window.offset_ms;
}

// Of the last window that has this slice.
std::int64_t GroupOperator::last_end(std::int64_t slice) const {
  const auto& window = group_.window;
  return window.cumulates ? start_of(slice) + window.size_ms
                          : slice + window.size_ms - window.slide_ms;
}

// The end of the first window that has this slice and is not past: window_end - 1 > watermark.
std::int64_t GroupOperator::first_open_end(std::int64_t slice) const {
  if (watermark_ == kNoWatermark || HF_MUTANT("ST02", slice - 1, slice) > watermark_) return slice;
  if (watermark_ == kEndOfTime) return kEndOfTime;  // All are past.
  const std::int64_t slide = group_.window.slide_ms;
  return slice + (sql::floor_divide(watermark_ + 1 - slice, slide) + 1) * slide;
}

// False: the row is in no open window.
bool GroupOperator::slice_of(const sql::Row& row, std::int64_t& slice) {
  if (!group_.windowed) return slice = kNoWindow, true;
  const sql::Value& time = row[group_.window.time_column];
  if (time.null) return ++rows_without_time_, false;
  const auto& window = group_.window;
  const auto ms = static_cast<std::int64_t>(time.number) - window.offset_ms;
  slice = (sql::floor_divide(ms, window.slide_ms) + 1) * window.slide_ms + window.offset_ms;
  const auto end = first_open_end(slice);
  const auto last = last_end(slice);
  if (HF_MUTANT("ST03", end > last, end > last + window.slide_ms)) return ++late_rows_, false;
  next_end_ = std::min(next_end_, end);
  return true;
}

Status GroupOperator::key_of(const sql::Row& row) {
  key_.clear();
  sql::Value value;
  for (const auto& key : group_.keys) {
    HF_RETURN_IF_ERROR(sql::evaluate(*key, row, value));
    sql::append_bytes(value, key->type, key_);
  }
  return {};
}

bool GroupOperator::is_ours() const { return ((hash64(key_) & 0xFFFFFFFF) * of_ >> 32) == number_; }

Status GroupOperator::add(const sql::Row& row) {
  if (of_ > 1) {
    HF_RETURN_IF_ERROR(key_of(row));
    if (!is_ours()) return {};
  }
  std::int64_t slice = 0;
  if (!slice_of(row, slice)) return {};
  if (of_ == 1) HF_RETURN_IF_ERROR(key_of(row));
  sql::Value value;
  auto& accumulators = state_.at(slice, key_);
  for (std::size_t i = 0; i < group_.aggregates.size(); ++i) {
    const auto& aggregate = group_.aggregates[i];
    if (aggregate.filter != nullptr) {
      HF_RETURN_IF_ERROR(sql::evaluate(*aggregate.filter, row, value));
      if (HF_MUTANT("ST04", !value.is_true(), value.null)) continue;
    }
    if (aggregate.argument != nullptr)
      HF_RETURN_IF_ERROR(sql::evaluate(*aggregate.argument, row, value));
    accumulators[i].add(aggregate, value);
    HF_RETURN_IF_ERROR(HF_MUTANT("ST80", accumulators[i].failure(aggregate), Status()));
  }
  return {};
}

Status GroupOperator::advance(std::int64_t watermark, Emit emit) {
  if (!group_.windowed) {
    if (watermark != kEndOfTime) return {};
    // Without keys there is a group even where there was no row.
    if (group_.keys.empty()) state_.at(kNoWindow, "");
    HF_RETURN_IF_ERROR(fire(kNoWindow, emit));
    state_.drop(kNoWindow);
    return {};
  }
  while (next_end_ != kEndOfTime && HF_MUTANT("ST05", next_end_ - 1, next_end_) <= watermark) {
    const std::int64_t end = next_end_;
    if (hand_over_)
      hand_over_(end, state_.take_slices(end));
    else
      HF_RETURN_IF_ERROR(fire(end, emit));
    watermark_ = std::max(watermark_, end - 1);
    next_end_ = kEndOfTime;
    for (const auto slice : state_.slices()) {
      // One that is in no later window goes: so this ends, whatever the slices are.
      if (HF_MUTANT("ST06", last_end(slice) <= end, slice <= end))
        state_.drop(slice);
      else
        next_end_ = std::min(next_end_, first_open_end(slice));
    }
  }
  watermark_ = std::max(watermark_, watermark);
  return {};
}

void GroupOperator::give_rest() {
  next_end_ = kEndOfTime;
  hand_over_(kEndOfTime, state_.take_slices(kEndOfTime));
}

void GroupOperator::absorb(SliceMap slices) {
  for (const auto& [slice, groups] : slices)
    if (group_.windowed) next_end_ = std::min(next_end_, first_open_end(slice));
  state_.absorb(std::move(slices));
}

Status GroupOperator::fire(std::int64_t window_end, Emit emit) {
  std::vector<std::int64_t> slices;
  if (!group_.windowed) {
    slices.push_back(kNoWindow);
  } else {
    const auto first = start_of(window_end) + group_.window.slide_ms;
    for (const auto slice : state_.slices()) {
      if (HF_MUTANT("ST07", slice >= first, slice > first) && slice <= window_end)
        slices.push_back(slice);
    }
  }
  return state_.gather(slices, [&](std::string_view key, const Accumulators& accumulators) {
    return emit_group(key, accumulators, window_end, emit);
  });
}

Status GroupOperator::emit_group(std::string_view key, const Accumulators& accumulators,
                                 std::int64_t window_end, Emit emit) {
  sql::Row row(group_.keys.size());
  for (std::size_t i = 0; i < group_.keys.size(); ++i) {
    if (!sql::take_bytes(key, group_.keys[i]->type, row[i]))
      return Error{Errc::kCorrupt, "a key of the state is none of this query"};
  }
  for (std::size_t i = 0; i < group_.aggregates.size(); ++i) {
    HF_ASSIGN_OR_RETURN(auto value, accumulators[i].result(group_.aggregates[i]));
    row.push_back(std::move(value));
  }
  if (group_.windowed) {
    row.push_back(sql::Value::of(start_of(window_end)));
    row.push_back(sql::Value::of(window_end));
    row.push_back(sql::Value::of(window_end - 1));
  }
  return emit(row);
}

}  // namespace holdfast::stream
