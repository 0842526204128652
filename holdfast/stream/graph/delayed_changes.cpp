#include "delayed_changes.hpp"

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
      waiting_(parts.store, parts.first_slice, Codec{parts.inputs[0]}) {}

Status DelayedChanges::take(std::size_t, RowKind kind, const sql::Row& row) {
  const auto end = static_cast<std::int64_t>(row[delay_.end_column].number);
  // A window that ends with the next watermark.
  if (HF_MUTANT("ST141", end - 1 > watermark(), end - 1 >= watermark())) return emit(kind, row);
  std::string key;
  append_ordered(end, key);
  append_ordered(static_cast<std::int64_t>(row[delay_.start_column].number), key);
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(delay_.keys, row, key, null));
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
  while (!dues_.empty() &&
         HF_MUTANT("ST142", dues_.begin()->first <= now, dues_.begin()->first < now))
    HF_RETURN_IF_ERROR(give(waiting_.find(dues_.begin()->second)));
  return {};
}

Status DelayedChanges::pass(std::int64_t watermark) {
  while (!waiting_.empty()) {
    std::string_view key = waiting_.begin()->first;
    const auto last = take_ordered(key) - 1;
    if (HF_MUTANT("ST143", last + delay_.lateness_ms > watermark,
                  last + delay_.lateness_ms >= watermark))
      return {};
    HF_RETURN_IF_ERROR(give(waiting_.begin()));
  }
  return {};
}

Status DelayedChanges::restore() {
  HF_RETURN_IF_ERROR(waiting_.restore());
  for (const auto& [key, entry] : waiting_)
    dues_.emplace(entry.value.due_ms, key);
  return {};
}

}  // namespace holdfast::stream::graph
