// Joins by near times, of versions by their time, and look-ups.
#include <algorithm>
#include <utility>

#include <holdfast/stream/graph/join_operators.hpp>

namespace holdfast::stream::graph {

// ---- Intervals ----
void IntervalJoin::Codec::encode(const Kept& kept, std::string& bytes) const {
  bytes += kept.matched ? '\1' : '\0';
  RowCodec{columns}.encode(kept.row, bytes);
}

bool IntervalJoin::Codec::decode(std::string_view& bytes, Kept& kept) const {
  if (bytes.empty()) return false;
  kept.matched = bytes.front() != '\0';
  bytes.remove_prefix(1);
  return take_row(bytes, *columns, kept.row);
}

IntervalJoin::IntervalJoin(const Parts& parts)
    : JoinOperator(parts),
      tables_{Table(parts.store, parts.first_slice, Codec{parts.inputs[0]}),
              Table(parts.store, parts.first_slice + 1, Codec{parts.inputs[1]})} {}

Status IntervalJoin::restore() {
  for (const auto side : {kLeft, kRight}) {
    HF_RETURN_IF_ERROR(tables_[side].restore());
    for (const auto& [key, entry] : tables_[side]) {
      next_number_ = std::max(next_number_, sequence_of(key) + 1);
      ends_.emplace(std::pair(last_partner(side, time_in(side, entry.value.row)), side), key);
    }
  }
  return {};
}

Status IntervalJoin::put_state() {
  HF_RETURN_IF_ERROR(tables_[kLeft].put_all());
  return tables_[kRight].put_all();
}

Status IntervalJoin::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(tables_[kLeft].visit_state(visit));
  return tables_[kRight].visit_state(visit);
}

std::int64_t IntervalJoin::held_back() const {
  return std::max<std::int64_t>({0, -join_.low_ms, join_.high_ms});
}

Status IntervalJoin::meet_all(std::size_t side, const std::string& key, const sql::Row& row,
                              bool& matched) {
  const auto time = time_in(side, row);
  auto& others = tables_[1 - side];
  const auto first = side == kLeft ? time - join_.high_ms : time + join_.low_ms;
  const auto last = side == kLeft ? time - join_.low_ms : time + join_.high_ms;
  std::string from = key, to = key;
  append_ordered(first, from);
  append_ordered(last + 1, to);
  for (auto place = others.lower_bound(from); place != others.end() && place->first < to; ++place) {
    const auto& other = place->second.value.row;
    HF_ASSIGN_OR_RETURN(const bool matches, side == kLeft ? holds(row, other) : holds(other, row));
    if (!matches) continue;
    matched = true;
    if (!place->second.value.matched && keeps(1 - side)) others.changing(place).matched = true;
    HF_RETURN_IF_ERROR(side == kLeft ? emit_pair(RowKind::kInsert, row, other)
                                     : emit_pair(RowKind::kInsert, other, row));
  }
  return {};
}

Status IntervalJoin::take(std::size_t side, RowKind, const sql::Row& row) {
  const auto time = time_in(side, row);
  bool null = false, matched = false;
  HF_ASSIGN_OR_RETURN(auto key, key_of(side, row, null));
  if (time == kNoWatermark) null = true;  // Near nothing.
  if (!null) HF_RETURN_IF_ERROR(meet_all(side, key, row, matched));
  const auto end = null ? kNoWatermark : last_partner(side, time);
  if (null || end <= watermark()) {  // No partner is to come.
    return keeps(side) && !matched ? emit_alone(RowKind::kInsert, side, row) : Status();
  }
  append_ordered(time, key);
  append_ordered(next_number_++, key);
  tables_[side].at(key) = {row, matched};
  ends_.emplace(std::pair(end, side), std::move(key));
  return {};
}

Status IntervalJoin::pass(std::int64_t watermark) {
  while (!ends_.empty() && ends_.begin()->first.first < watermark) {
    const auto [end, key] = *ends_.begin();
    ends_.erase(ends_.begin());
    const std::size_t side = end.second;
    const auto found = tables_[side].find(key);
    if (found == tables_[side].end()) continue;
    const auto kept = std::move(found->second.value);
    tables_[side].erase(found);
    if (keeps(side) && !kept.matched)
      HF_RETURN_IF_ERROR(emit_alone(RowKind::kInsert, side, kept.row));
  }
  return {};
}

// ---- Versions ----
TemporalJoin::TemporalJoin(const Parts& parts)
    : JoinOperator(parts),
      left_(parts.store, parts.first_slice, RowCodec{parts.inputs[0], {1, 0, 1}}),
      right_(parts.store, parts.first_slice + 1, RowCodec{parts.inputs[1]}) {}

Status TemporalJoin::restore() {
  HF_RETURN_IF_ERROR(left_.restore());
  for (const auto& [key, entry] : left_)
    next_number_ = std::max(next_number_, sequence_of(key) + 1);
  return right_.restore();
}

Status TemporalJoin::put_state() {
  HF_RETURN_IF_ERROR(left_.put_all());
  return right_.put_all();
}

Status TemporalJoin::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(left_.visit_state(visit));
  return right_.visit_state(visit);
}

Status TemporalJoin::take(std::size_t side, RowKind, const sql::Row& row) {
  const auto time = time_in(side, row);
  if (time == kNoWatermark) return ++rows_without_time, Status();
  std::string key;
  if (side == kLeft) {
    append_ordered(time, key);
    append_ordered(next_number_++, key);
    left_.at(key) = row;
    return {};
  }
  bool null = false;
  HF_ASSIGN_OR_RETURN(const auto prefix, key_of(kRight, row, null));
  if (null) return {};
  key = prefix;
  append_ordered(time, key);
  right_.at(key) = row;
  // Of the versions that the watermark has passed only the newest can be asked for, but by rows
  // that wait.
  auto least = watermark();
  if (!left_.empty()) {
    std::string_view first = left_.begin()->first;
    least = std::min(least, take_ordered(first) - 1);
  }
  std::string passed = prefix;
  append_ordered(least == kEndOfTime || least == kNoWatermark ? least : least + 1, passed);
  auto newest = right_.lower_bound(passed);
  if (newest == right_.begin()) return {};
  --newest;
  while (newest != right_.begin() && newest->first.starts_with(prefix)) {
    const auto older = std::prev(newest);
    if (!older->first.starts_with(prefix)) break;
    right_.erase(older);
  }
  return {};
}

Status TemporalJoin::pass(std::int64_t watermark) {
  while (!left_.empty()) {
    const auto first = left_.begin();
    std::string_view key = first->first;
    if (take_ordered(key) > watermark) return {};
    const auto row = std::move(first->second.value);
    left_.erase(first);
    HF_RETURN_IF_ERROR(show(row));
  }
  return {};
}

Status TemporalJoin::show(const sql::Row& left) {
  bool null = false;
  HF_ASSIGN_OR_RETURN(const auto prefix, key_of(kLeft, left, null));
  if (!null) {
    std::string behind = prefix;
    append_ordered(time_in(kLeft, left) + 1, behind);
    auto version = right_.lower_bound(behind);
    if (version != right_.begin() && (--version)->first.starts_with(prefix)) {
      HF_ASSIGN_OR_RETURN(const bool matches, holds(left, version->second.value));
      if (matches) return emit_pair(RowKind::kInsert, left, version->second.value);
    }
  }
  return keeps(kLeft) ? emit_alone(RowKind::kInsert, kLeft, left) : Status();
}

// ---- Look-ups ----
Status LookupJoin::visit_state(VisitState visit) const {
  std::string bytes;
  for (const auto& [key, rows] : table_) {
    for (const auto& row : rows) {
      bytes.clear();
      query::append_begin(nullptr, bytes);
      RowCodec{&columns_of(kRight)}.encode(row, bytes);
      HF_RETURN_IF_ERROR(visit(slice(0), key, bytes, 0, false));
    }
  }
  return {};
}

Status LookupJoin::take(std::size_t side, RowKind kind, const sql::Row& row) {
  bool null = false, matched = false;
  HF_ASSIGN_OR_RETURN(const auto key, key_of(side, row, null));
  if (side == kRight) {
    if (!null) table_[key].push_back(row);
    return {};
  }
  const auto found = table_.find(key);
  if (!null && found != table_.end()) {
    for (const auto& other : found->second) {
      HF_ASSIGN_OR_RETURN(const bool matches, holds(row, other));
      if (!matches) continue;
      matched = true;
      HF_RETURN_IF_ERROR(emit_pair(kind, row, other));
    }
  }
  return !matched && keeps(kLeft) ? emit_alone(kind, kLeft, row) : Status();
}

}  // namespace holdfast::stream::graph
