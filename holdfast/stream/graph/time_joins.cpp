// Joins by near times, of versions by their time, and look-ups.
#include <algorithm>
#include <utility>

#include <holdfast/stream/graph/join_operators.hpp>

namespace holdfast::stream::graph {

// ---- Intervals ----
void IntervalJoin::Codec::encode(const Kept& kept, std::string& bytes) const {
  bytes += kept.matched ? '\1' : '\0';
  RowCodec{&join->columns_of(side)}.encode(kept.row, bytes);
}

bool IntervalJoin::Codec::decode(std::string_view& bytes, Kept& kept) const {
  if (bytes.empty()) return false;
  kept.matched = bytes.front() != '\0';
  bytes.remove_prefix(1);
  return take_row(bytes, join->columns_of(side), kept.row);
}

IntervalJoin::IntervalJoin(const Parts& parts)
    : JoinOperator(parts),
      tables_{Table(parts.store, parts.first_slice, Codec{this, kLeft}, {},
                    StateStore::Grouping::kFirstPart),
              Table(parts.store, parts.first_slice + 1, Codec{this, kRight}, {},
                    StateStore::Grouping::kFirstPart)} {}

Status IntervalJoin::restore() {
  HF_ASSIGN_OR_RETURN(const bool whole, lacks_times(tables_));
  for (const auto side : {kLeft, kRight}) {
    auto& table = tables_[side];
    HF_RETURN_IF_ERROR(table.restore(whole));
    for (auto place = table.begin(); place != table.end();)
      place = adopt(side, place);
  }
  const bool one_is_partial = tables_[kLeft].is_partial() || tables_[kRight].is_partial();
  return one_is_partial ? leave() : Status();
}

// Of one that the store gave; the next one. What has ended stays there until a checkpoint.
IntervalJoin::Table::iterator IntervalJoin::adopt(std::size_t side, Table::iterator place) {
  const auto end = end_of(side, place->second.value.row);
  next_number_ = std::max(next_number_, sequence_of(place->first) + 1);
  if (HF_MUTANT("ST58", end < watermark(), false)) return tables_[side].erase(place);
  ends_.emplace(std::pair(end, side), place->first);
  return std::next(place);
}

Status IntervalJoin::put_state() {
  for (auto& table : tables_)
    HF_RETURN_IF_ERROR(table.put_all());
  if (tables_[kLeft].wants_room() || tables_[kRight].wants_room()) HF_RETURN_IF_ERROR(leave());
  end_passed(tables_);
  return {};
}

Status IntervalJoin::leave() {
  for (auto& table : tables_)
    HF_RETURN_IF_ERROR(table.leave());
  ends_.clear();
  due_.clear();
  if (keeps(kLeft) || keeps(kRight)) next_due_ = watermark();
  return {};
}

Status IntervalJoin::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(tables_[kLeft].visit_state(visit));
  return tables_[kRight].visit_state(visit);
}

std::int64_t IntervalJoin::held_back() const {
  return std::max<std::int64_t>({0, -join_.low_ms, join_.high_ms});
}

// The rows of a key that memory has none of.
Status IntervalJoin::fetch(std::size_t side, const std::string& key) {
  auto& table = tables_[side];
  if (!table.is_partial()) return {};
  const auto is_of_key = [&](auto place) {
    return place != table.end() && place->first.starts_with(key);
  };
  if (is_of_key(table.lower_bound(key))) return {};
  HF_RETURN_IF_ERROR(table.fetch(key));
  for (auto place = table.lower_bound(key); is_of_key(place);)
    place = adopt(side, place);
  return {};
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
  if (!null) {
    HF_RETURN_IF_ERROR(fetch(kLeft, key));
    HF_RETURN_IF_ERROR(fetch(kRight, key));
    HF_RETURN_IF_ERROR(meet_all(side, key, row, matched));
  }
  const auto end = null ? kNoWatermark : last_partner(side, time);
  if (null || end <= watermark()) {  // No partner is to come.
    if (matched) return {};
    if (keeps(side)) return emit_alone(RowKind::kInsert, side, row);
    return HF_MUTANT("ST90", !null, true) ? drop_late(side, row) : Status();
  }
  append_ordered(time, key);
  append_ordered(next_number_++, key);
  tables_[side].at(key) = {row, matched};
  ends_.emplace(std::pair(end, side), std::move(key));
  return {};
}

Status IntervalJoin::pass(std::int64_t watermark) {
  for (;;) {
    const auto end_in_memory = ends_.empty() ? kEndOfTime : ends_.begin()->first.first;
    const auto end_of_due = due_.empty() ? kEndOfTime : due_.begin()->first.first.first;
    const auto next = std::min(end_in_memory, end_of_due);
    if (std::min(next, next_due_) >= watermark) return {};
    if (next_due_ <= next) {
      HF_RETURN_IF_ERROR(find_due());
    } else if (ends_.empty() || (!due_.empty() && due_.begin()->first < *ends_.begin())) {
      const auto due = due_.extract(due_.begin());
      HF_RETURN_IF_ERROR(emit_alone(RowKind::kInsert, due.key().first.second, due.mapped()));
    } else {
      HF_RETURN_IF_ERROR(end_row(End(*ends_.begin())));
    }
  }
}

// The next of the rows that memory does not have: a part of what the store keeps.
Status IntervalJoin::find_due() {
  constexpr std::int64_t kParts = 32;
  const auto from = next_due_;
  const auto until = from + (join_.high_ms - join_.low_ms) / kParts;
  next_due_ = kEndOfTime;
  for (const auto side : {kLeft, kRight}) {
    if (!keeps(side)) continue;
    const auto take = [&](std::string_view key, const Table::Entry& entry) {
      const auto& kept = entry.value;
      if (!kept.matched)
        due_.emplace(End({end_of(side, kept.row), side}, std::string(key)), kept.row);
      return Status();
    };
    HF_ASSIGN_OR_RETURN(const auto beyond, tables_[side].for_each_of_times(from, until, take));
    next_due_ = std::min(next_due_, beyond);
  }
  return {};
}

Status IntervalJoin::end_row(const End& end) {
  ends_.erase(end);
  const auto side = end.first.second;
  if (HF_MUTANT("ST59", true, false)) due_.erase(end);  // What memory has of it counts.
  const auto found = tables_[side].find(end.second);
  const auto kept = std::move(found->second.value);
  tables_[side].erase(found);
  return keeps(side) && !kept.matched ? emit_alone(RowKind::kInsert, side, kept.row) : Status();
}

// ---- Versions ----
TemporalJoin::TemporalJoin(const Parts& parts)
    : JoinOperator(parts),
      left_(parts.store, parts.first_slice, LeftCodec{{parts.inputs[0], {1, 0, 1}}, this}, {},
            StateStore::Grouping::kKey),
      right_(parts.store, parts.first_slice + 1, RowCodec{parts.inputs[1], {0, 4, 1}}, {},
             StateStore::Grouping::kFirstPart),
      numbers_(parts.store, parts.first_slice + 2) {}

Status TemporalJoin::restore() {
  HF_RETURN_IF_ERROR(numbers_.restore());
  HF_ASSIGN_OR_RETURN(const bool says_times, left_.says_times());
  HF_RETURN_IF_ERROR(left_.restore(!says_times));
  for (const auto& [key, entry] : left_)
    numbers_.raise_to(sequence_of(key) + 1);
  HF_RETURN_IF_ERROR(right_.restore());
  if (!left_.is_partial()) return {};
  HF_RETURN_IF_ERROR(leave_left());
  return find_least();
}

Status TemporalJoin::put_state() {
  HF_RETURN_IF_ERROR(left_.put_all());
  HF_RETURN_IF_ERROR(right_.put_all());
  HF_RETURN_IF_ERROR(HF_MUTANT("ST130", numbers_.put(), Status()));
  if (left_.is_partial() || left_.wants_room()) HF_RETURN_IF_ERROR(leave_left());
  if (right_.wants_room()) HF_RETURN_IF_ERROR(right_.leave());
  if (watermark() != kNoWatermark) left_.end_until(watermark() - 1);
  return {};
}

Status TemporalJoin::leave_left() {
  if (!left_.empty()) {
    std::string_view first = left_.begin()->first;
    const auto least = std::min(least_stored_, take_ordered(first));
    least_stored_ = HF_MUTANT("ST132", least, least_stored_);
  }
  next_stored_ = watermark();
  return left_.leave();
}

// Of rows whose time the watermark has passed, and that wait for the next one.
Status TemporalJoin::find_least() {
  const auto take = [this](std::string_view key, const auto&) {
    least_stored_ = HF_MUTANT("ST131", std::min(least_stored_, take_ordered(key)), least_stored_);
    return Status();
  };
  const auto beyond = left_.for_each_of_times(watermark(), watermark(), take);
  return beyond ? Status() : beyond.error();
}

Status TemporalJoin::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(left_.visit_state(visit));
  HF_RETURN_IF_ERROR(right_.visit_state(visit));
  return numbers_.visit_state(visit);
}

std::set<std::int64_t> TemporalJoin::stored_slices() const {
  std::set<std::int64_t> slices;
  if (left_.is_partial()) slices.insert(slice(0));
  if (right_.is_partial()) slices.insert(slice(1));
  return slices;
}

Status TemporalJoin::take(std::size_t side, RowKind, const sql::Row& row) {
  const auto time = time_in(side, row);
  if (time == kNoWatermark) return ++rows_without_time, Status();
  std::string key;
  if (side == kLeft) {
    append_ordered(time, key);
    append_ordered(numbers_.take(), key);
    left_.at(key) = row;
    return {};
  }
  bool null = false;
  HF_ASSIGN_OR_RETURN(const auto prefix, key_of(kRight, row, null));
  if (null) return {};
  HF_RETURN_IF_ERROR(right_.fetch(prefix));
  key = prefix;
  append_ordered(time, key);
  right_.at(key) = row;
  forget_older(prefix);
  return {};
}

// Of the versions of a key that the watermark has passed only the newest can be asked for, but by
// rows that wait.
void TemporalJoin::forget_older(const std::string& prefix) {
  auto waiting = HF_MUTANT("ST127", least_stored_, kEndOfTime);
  if (!left_.empty()) {
    std::string_view first = left_.begin()->first;
    waiting = std::min(waiting, take_ordered(first));
  }
  const auto least = std::min(watermark(), waiting - 1);
  std::string passed = prefix;
  append_ordered(least == kEndOfTime || least == kNoWatermark ? least : least + 1, passed);
  auto newest = right_.lower_bound(passed);
  if (newest == right_.begin()) return;
  --newest;
  while (newest != right_.begin() && newest->first.starts_with(prefix)) {
    const auto older = std::prev(newest);
    if (!older->first.starts_with(prefix)) break;
    right_.erase(older);
  }
}

Status TemporalJoin::pass(std::int64_t watermark) {
  for (;;) {
    const auto next = left_.empty() ? kEndOfTime : waits_until(left_.begin()->first);
    if (std::min(next, next_stored_) >= watermark) break;
    const bool finds = HF_MUTANT("ST128", next_stored_ <= next, next_stored_ < next);
    HF_RETURN_IF_ERROR(finds ? find_left(watermark) : show_next());
  }
  // All that is left in the store is behind it.
  least_stored_ = std::max(least_stored_, watermark == kEndOfTime ? watermark : watermark + 1);
  if (!lent_.empty()) look_at_lent();  // A version that comes may change them.
  return {};
}

// The next left rows that the store has.
Status TemporalJoin::find_left(std::int64_t watermark) {
  const auto from = next_stored_;
  const auto until = due_.begin(from, watermark - 1);
  const auto take = [this](std::string_view key, auto& entry) -> Status {
    if (due_.take(waits_until(key), std::string(key), std::move(entry.value))) return {};
    return Error{Errc::kCorrupt, "a row of the state does not wait for its time"};
  };
  HF_ASSIGN_OR_RETURN(const auto beyond, left_.for_each_of_times(from, until, take));
  next_stored_ = due_.finish(
      beyond, [this](const std::string& key, sql::Row&& row) { left_.lend(key, std::move(row)); });
  return {};
}

Status TemporalJoin::show_next() {
  const auto first = left_.begin();
  const auto row = std::move(first->second.value);
  left_.erase(first);
  return show(row);
}

Status TemporalJoin::show(const sql::Row& left) {
  bool null = false;
  HF_ASSIGN_OR_RETURN(const auto prefix, key_of(kLeft, left, null));
  if (!null) {
    HF_RETURN_IF_ERROR(HF_MUTANT("ST129", borrow(prefix), Status()));
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

// The versions of a key, for a row that is shown.
Status TemporalJoin::borrow(const std::string& prefix) {
  constexpr std::size_t kBetweenLooks = 64;
  if (!right_.is_partial()) return {};
  const auto known = right_.lower_bound(prefix);
  if (known != right_.end() && known->first.starts_with(prefix)) return {};
  if (lent_.size() == kBetweenLooks) look_at_lent();
  HF_RETURN_IF_ERROR(right_.fetch(prefix));
  lent_.push_back(prefix);
  return {};
}

// Versions that were read for rows which were shown: they leave memory if it has no room.
void TemporalJoin::look_at_lent() {
  if (HF_MUTANT("ST133", right_.wants_room(), false)) {
    for (const auto& prefix : lent_)
      right_.give_back(prefix);
  }
  lent_.clear();
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
