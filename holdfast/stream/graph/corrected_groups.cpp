#include "corrected_groups.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream::graph {

void CorrectedGroups::Codec::encode(const State& state, std::string& bytes) const {
  append_ordered(state.rows, bytes);
  for (std::size_t i = 0; i < group->aggregates.size(); ++i)
    state.aggregates[i].append_bytes(group->aggregates[i], retracts, true, bytes);
}

bool CorrectedGroups::Codec::decode(std::string_view& bytes, State& state) const {
  if (bytes.size() < 8) return false;
  state.rows = take_ordered(bytes);
  if (state.rows <= 0 || !sql::is_summable(state.rows)) return false;
  state.aggregates.resize(group->aggregates.size());
  for (std::size_t i = 0; i < group->aggregates.size(); ++i) {
    auto& aggregate = state.aggregates[i];
    if (!aggregate.take_bytes(group->aggregates[i], retracts, bytes) || aggregate.has_parts())
      return false;
  }
  return true;
}

CorrectedGroups::CorrectedGroups(const Parts& parts, bool retracts)
    : ChangingGroups(parts, retracts),
      table_(parts.store, parts.first_slice, Codec{&group_, retracts}, {},
             StateStore::Grouping::kKey) {}

Result<sql::Row> CorrectedGroups::window_row_of(std::string_view key, const State& state) const {
  const auto end = take_ordered(key), start = take_ordered(key);
  HF_ASSIGN_OR_RETURN(auto row, row_of(key, state));
  append_window(start, end, row);
  return row;
}

Status CorrectedGroups::take(std::size_t input, RowKind kind, const sql::Row& row) {
  const auto& start = row[group_.start_column];
  const auto& end = row[group_.end_column];
  if (start.null || end.null) return ++rows_without_time, Status();
  const auto last = static_cast<std::int64_t>(end.number) - 1;
  if (HF_MUTANT("ST91", last + group_.lateness_ms <= watermark(),
                last + group_.lateness_ms < watermark()))
    return drop_late(input, row);
  std::string key;
  append_ordered(last + 1, key);
  append_ordered(static_cast<std::int64_t>(start.number), key);
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(group_.keys, row, key, null));
  const bool shown = HF_MUTANT("ST92", last <= watermark(), last < watermark());
  HF_RETURN_IF_ERROR(table_.fetch(key));
  const auto known = table_.find(key);
  if (known != table_.end()) {
    if (shown) return correct(known, adds(kind), row);
    State& state = table_.changing(known);
    HF_RETURN_IF_ERROR(change(state, adds(kind), row));
    if (state.rows == 0) table_.erase(known);
    return {};
  }
  if (!adds(kind)) return {};  // Of a row that was late, and was never seen.
  State& state = table_.at(key);
  state.aggregates.resize(group_.aggregates.size());
  HF_RETURN_IF_ERROR(change(state, true, row));
  if (!shown) return {};
  HF_ASSIGN_OR_RETURN(const auto first, window_row_of(key, state));
  return emit(RowKind::kInsert, first);
}

// A group that was shown.
Status CorrectedGroups::correct(Table::iterator place, bool adding, const sql::Row& row) {
  HF_ASSIGN_OR_RETURN(const auto before, window_row_of(place->first, place->second.value));
  State& state = table_.changing(place);
  HF_RETURN_IF_ERROR(change(state, adding, row));
  if (state.rows == 0) {
    table_.erase(place);
    return emit(RowKind::kDelete, before);
  }
  HF_ASSIGN_OR_RETURN(const auto after, window_row_of(place->first, state));
  return emit_update(before, after);
}

// Window by window, the earliest end first.
Status CorrectedGroups::pass(std::int64_t watermark) {
  const auto until = life_of_hidden(watermark);
  // Those that were not shown before end here at the earliest.
  std::string first;
  if (this->watermark() != kNoWatermark) append_ordered(this->watermark() + 2, first);
  for (;;) {
    const auto place = table_.lower_bound(first);
    const auto next = place == table_.end() ? kEndOfTime : lives_until(place->first, group_);
    if (HF_MUTANT("ST93", std::min(next, next_stored_) >= until,
                  std::min(next, next_stored_) >= until - 1))
      break;
    if (HF_MUTANT("ST97", next_stored_ <= next, next_stored_ < next)) {
      HF_ASSIGN_OR_RETURN(next_stored_, table_.fetch_times(next_stored_, next_stored_));
      continue;
    }
    std::string_view key = place->first;
    const auto end = take_ordered(key);
    HF_RETURN_IF_ERROR(show_window(place));
    forget(std::min(watermark, end - 1 + group_.lateness_ms));
    first.clear();
    append_ordered(end + 1, first);
  }
  forget(watermark);
  return {};
}

std::int64_t CorrectedGroups::life_of_hidden(std::int64_t watermark) const {
  if (watermark == kNoWatermark || watermark == kEndOfTime) return watermark;
  return watermark + HF_MUTANT("ST98", group_.lateness_ms, group_.lateness_ms + 1);
}

Status CorrectedGroups::show_window(Table::iterator first) {
  const auto end = first->first.substr(0, 8);
  for (auto place = first; place != table_.end() && place->first.starts_with(end); ++place) {
    HF_ASSIGN_OR_RETURN(const auto row, window_row_of(place->first, place->second.value));
    HF_RETURN_IF_ERROR(emit(RowKind::kInsert, row));
  }
  return {};
}

// Groups whose time is over at this watermark.
void CorrectedGroups::forget(std::int64_t watermark) {
  for (auto place = table_.begin(); place != table_.end();) {
    std::string_view key = place->first;
    const auto last = take_ordered(key) - 1;
    if (HF_MUTANT("ST94", last + group_.lateness_ms > watermark, last > watermark)) break;
    place = table_.erase(place);
  }
}

// ---- State ----
Status CorrectedGroups::restore() {
  HF_ASSIGN_OR_RETURN(const bool says_times, table_.says_times());
  HF_RETURN_IF_ERROR(table_.restore(!says_times));
  return table_.is_partial() ? leave() : Status();
}

Status CorrectedGroups::put_state() {
  HF_RETURN_IF_ERROR(table_.put_all());
  if (table_.is_partial() || table_.wants_room()) HF_RETURN_IF_ERROR(leave());
  if (watermark() != kNoWatermark) table_.end_until(watermark() - 1);
  return {};
}

Status CorrectedGroups::leave() {
  next_stored_ = life_of_hidden(watermark());
  return table_.leave();
}

}  // namespace holdfast::stream::graph
