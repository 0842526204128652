#include "delayed_changes.hpp"

#include <algorithm>
#include <limits>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream::graph {

void DelayedChanges::Codec::encode(const Change& change, std::string& bytes) const {
  append_ordered(change.due_ms, bytes);
  for (const auto* row : {&change.shown, &change.now}) {
    bytes += row->has_value() ? '\1' : '\0';
    if (*row) RowCodec{columns}.encode(**row, bytes);
  }
}

bool DelayedChanges::Codec::decode(std::string_view& bytes, Change& change) const {
  if (bytes.size() < 8) return false;
  change.due_ms = take_ordered(bytes);
  for (auto* row : {&change.shown, &change.now}) {
    if (bytes.empty() || (bytes.front() != '\0' && bytes.front() != '\1')) return false;
    const bool has = bytes.front() == '\1';
    bytes.remove_prefix(1);
    if (has && !take_row(bytes, *columns, row->emplace())) return false;
  }
  return true;
}

DelayedChanges::DelayedChanges(const Parts& parts)
    : Operator(parts),
      delay_(std::get<sql::DelayChanges>(parts.node.what)),
      now_(parts.retention.now),
      waiting_(parts.store, parts.first_slice, Codec{parts.inputs[0]}, {},
               StateStore::Grouping::kKey) {}

Status DelayedChanges::take(std::size_t, RowKind kind, const sql::Row& row) {
  const auto end = static_cast<std::int64_t>(row[delay_.end_column].number);
  // A window that ends with the next watermark.
  if (HF_MUTANT("ST141", end - 1 > watermark(), end - 1 >= watermark())) return emit(kind, row);
  std::string key;
  append_ordered(end, key);
  append_ordered(static_cast<std::int64_t>(row[delay_.start_column].number), key);
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(delay_.keys, row, key, null));
  HF_RETURN_IF_ERROR(fetch(key));
  const bool is_first = waiting_.find(key) == waiting_.end();
  auto& change = waiting_.at(key);
  if (is_first) {
    change.due_ms = now_() + delay_.delay_ms;
    dues_.emplace(change.due_ms, key);
    if (!adds(kind)) change.shown = row;
  }
  change.now = adds(kind) ? std::optional(row) : std::nullopt;
  return {};
}

Status DelayedChanges::give(Table::iterator place) {
  const auto change = std::move(place->second.value);
  dues_.erase({change.due_ms, place->first});
  waiting_.erase(place);
  if (change.shown && change.now) return emit_update(*change.shown, *change.now);
  if (change.shown) return emit(RowKind::kDelete, *change.shown);
  return change.now ? emit(RowKind::kInsert, *change.now) : Status();
}

Status DelayedChanges::tick() {
  const auto now = now_();
  for (;;) {
    const auto next = dues_.empty() ? kEndOfTime : dues_.begin()->first;
    if (HF_MUTANT("ST142", std::min(next, next_stored_) > now, std::min(next, next_stored_) >= now))
      return {};
    if (HF_MUTANT("ST167", next_stored_ <= next, next_stored_ < next))
      HF_RETURN_IF_ERROR(fetch_due(now));
    else
      HF_RETURN_IF_ERROR(give(waiting_.find(dues_.begin()->second)));
  }
}

Status DelayedChanges::pass(std::int64_t watermark) {
  while (!waiting_.empty() || !stored_.empty()) {
    const auto known = waiting_.empty() ? kEndOfTime : end_of(waiting_.begin()->first);
    const auto end = stored_.empty() ? known : std::min(known, stored_.begin()->first);
    const auto last = end - 1;
    if (HF_MUTANT("ST143", last + delay_.lateness_ms > watermark,
                  last + delay_.lateness_ms >= watermark))
      return {};
    if (!stored_.empty() && stored_.begin()->first == end) {
      const auto window = stored_.extract(stored_.begin());
      HF_RETURN_IF_ERROR(fetch_window(end, window.mapped()));
    } else {
      HF_RETURN_IF_ERROR(give(waiting_.begin()));
    }
  }
  return {};
}

// ---- What memory does not have ----

Status DelayedChanges::fetch(const std::string& key) {
  if (!waiting_.is_partial()) return {};
  HF_RETURN_IF_ERROR(waiting_.fetch(key));
  const auto found = waiting_.find(key);
  if (found != waiting_.end()) dues_.emplace(found->second.value.due_ms, key);
  return {};
}

Status DelayedChanges::fetch_due(std::int64_t now) {
  const auto from = next_stored_, until = due_.begin(from, now);
  const auto take = [this](std::string_view key, const Table::Entry& entry) -> Status {
    if (entry.used_ms == entry.value.due_ms && due_.take(entry.used_ms, std::string(key), true))
      return {};
    return Error{Errc::kCorrupt, "a change of the state does not wait for its time"};
  };
  HF_ASSIGN_OR_RETURN(const auto beyond, waiting_.for_each_of_times(from, until, take));
  std::vector<std::string> keys;
  next_stored_ = due_.finish(beyond, [&](const std::string& key, bool) { keys.push_back(key); });
  for (const auto& key : keys)
    HF_RETURN_IF_ERROR(fetch(key));
  return {};
}

Status DelayedChanges::fetch_window(std::int64_t end, const Dues& dues) {
  std::vector<std::string> keys;
  const auto take = [&](std::string_view key, const Table::Entry&) {
    if (end_of(key) == end) keys.emplace_back(key);
    return Status();
  };
  HF_RETURN_IF_ERROR(waiting_.for_each_of_times(dues.first, dues.second, take));
  for (const auto& key : keys)
    HF_RETURN_IF_ERROR(fetch(key));
  return {};
}

void DelayedChanges::note_stored(std::string_view key, std::int64_t due_ms) {
  auto& dues = stored_.try_emplace(end_of(key), due_ms, due_ms).first->second;
  dues = {std::min(dues.first, due_ms),
          HF_MUTANT("ST168", std::max(dues.second, due_ms), dues.second)};
  next_stored_ = HF_MUTANT("ST169", std::min(next_stored_, due_ms), next_stored_);
}

Status DelayedChanges::restore() {
  HF_ASSIGN_OR_RETURN(const bool says_times, waiting_.says_times());
  HF_RETURN_IF_ERROR(waiting_.restore(!says_times));
  for (const auto& [key, entry] : waiting_)
    dues_.emplace(entry.value.due_ms, key);
  if (!waiting_.is_partial()) return {};
  constexpr auto kFirst = std::numeric_limits<std::int64_t>::min();
  return waiting_.for_each_stored(kFirst, [this](std::string_view key, const Table::Entry& entry) {
    note_stored(key, entry.used_ms);
    return Status();
  });
}

Status DelayedChanges::put_state() {
  HF_RETURN_IF_ERROR(waiting_.put_all());
  return waiting_.wants_room() ? leave() : Status();
}

Status DelayedChanges::leave() {
  for (const auto& [due_ms, key] : dues_)
    note_stored(key, due_ms);
  dues_.clear();
  return waiting_.leave();
}

}  // namespace holdfast::stream::graph
