#include "simple_operators.hpp"

#include <algorithm>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/nested.hpp>
#include <holdfast/stream/graph/windows.hpp>

namespace holdfast::stream::graph {

Status AssignWindowRows::take(std::size_t, RowKind kind, const sql::Row& row) {
  const auto& window = std::get<sql::AssignWindows>(node().what).window;
  const sql::Value& time = row[window.time_column];
  if (time.null) return ++rows_without_time, Status();
  sql::Row copy = row;
  copy.resize(row.size() + 3);
  return for_each_window(window, static_cast<std::int64_t>(time.number),
                         [&](std::int64_t start, std::int64_t end) {
                           copy[row.size()] = sql::Value::of(start);
                           copy[row.size() + 1] = sql::Value::of(end);
                           copy[row.size() + 2] = sql::Value::of(end - 1);
                           return emit(kind, copy);
                         });
}

Status UnnestRows::take(std::size_t, RowKind kind, const sql::Row& row) {
  const auto& unnest = std::get<sql::Unnest>(node().what);
  const sql::Type& type = unnest.array->type;
  sql::Value array;
  HF_RETURN_IF_ERROR(sql::evaluate(*unnest.array, row, array));
  sql::Row copy = row;
  copy.resize(node().columns.size());
  std::int64_t number = 0;
  if (!array.null) {
    sql::NestedReader reader(array.text, type);
    const bool rows =
        type.kind == sql::Kind::kArray && sql::element_of(type).kind == sql::Kind::kRow;
    const std::size_t parts = type.nested->fields.size();
    for (std::uint32_t i = 0; i < reader.count(); ++i) {
      std::size_t at = row.size();
      if (rows) {
        sql::Value element;
        if (!reader.next(element)) break;
        const auto& fields = sql::element_of(type).nested->fields;
        const auto values =
            element.null ? sql::Row(fields.size()) : sql::parts_of(element, sql::element_of(type));
        for (const auto& value : values)
          copy[at++] = value;
      } else {
        for (std::size_t part = 0; part < parts; ++part)
          reader.next(copy[at++]);
      }
      ++number;
      if (unnest.numbered) copy[at] = sql::Value::of(number);
      HF_RETURN_IF_ERROR(emit(kind, copy));
    }
  }
  if (number != 0 || !unnest.keeps_all) return {};
  for (std::size_t i = row.size(); i < copy.size(); ++i)
    copy[i] = sql::Value();
  return emit(kind, copy);
}

// ---- Sessions ----
AssignSessionRows::AssignSessionRows(const Parts& parts)
    : Operator(parts),
      sessions_(std::get<sql::AssignSessions>(parts.node.what)),
      rows_(parts.store, parts.first_slice, Codec{{parts.inputs[0], {0, 4, 2}}, sessions_.gap_ms},
            {}, StateStore::Grouping::kFirstPart) {}

std::string AssignSessionRows::row_key(const std::string& key, std::int64_t time,
                                       std::int64_t number) const {
  std::string full;
  append_part(key, full);
  append_ordered(time, full);
  append_ordered(number, full);
  return full;
}

Status AssignSessionRows::take(std::size_t input, RowKind, const sql::Row& row) {
  const sql::Value& value = row[sessions_.time_column];
  if (value.null) return ++rows_without_time, Status();
  const auto time = static_cast<std::int64_t>(value.number);
  std::string key;
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(sessions_.keys, row, key, null));
  HF_RETURN_IF_ERROR(fetch(key));
  if (time + sessions_.gap_ms - 1 <= watermark()) {
    // A row that is near belongs to an open session, else it would not be there.
    const auto near = rows_.lower_bound(row_key(key, time - sessions_.gap_ms, 0));
    const auto last = row_key(key, time + sessions_.gap_ms + 1, 0);
    if (near == rows_.end() || near->first >= last) return drop_late(input, row);
  }
  rows_.at(row_key(key, time, next_number_++)) = row;
  ends_.emplace(time + sessions_.gap_ms, std::move(key));
  return {};
}

// The rows of a key that memory has none of.
Status AssignSessionRows::fetch(const std::string& key) {
  if (!rows_.is_partial()) return {};
  std::string prefix;
  append_part(key, prefix);
  const auto known = rows_.lower_bound(prefix);
  if (known != rows_.end() && known->first.starts_with(prefix)) return {};
  HF_RETURN_IF_ERROR(rows_.fetch(prefix));
  return adopt_all(prefix);
}

// Rows that the store gave, whose keys begin so. Numbers tell rows of one key apart, so those of
// keys that are not in memory do not count.
Status AssignSessionRows::adopt_all(const std::string& prefix) {
  return rows_.for_each(prefix, [this](const std::string& full, auto) {
    next_number_ = HF_MUTANT("ST124", std::max(next_number_, sequence_of(full) + 1), next_number_);
    ends_.emplace(time_of(full) + sessions_.gap_ms, full.substr(4, full.size() - 20));
    return Status();
  });
}

// By the ends of sessions, then by their keys.
Status AssignSessionRows::pass(std::int64_t watermark) {
  for (;;) {
    const auto next = ends_.empty() ? kEndOfTime : lives_until(ends_.begin()->first);
    if (std::min(next, next_stored_) >= watermark) return {};
    if (HF_MUTANT("ST125", next_stored_ <= next, next_stored_ < next)) {
      HF_RETURN_IF_ERROR(find_due());
      continue;
    }
    const auto [end, key] = std::move(ends_.extract(ends_.begin()).value());
    HF_RETURN_IF_ERROR(give(key, end - sessions_.gap_ms));
  }
}

// All rows of the keys that have a session which may end next.
Status AssignSessionRows::find_due() {
  constexpr std::int64_t kParts = 32;
  std::set<std::string> keys;
  const auto until = next_stored_ + sessions_.gap_ms / kParts;
  const auto take = [&](std::string_view full, const Table::Entry&) {
    keys.emplace(full.substr(4, full.size() - 20));
    return Status();
  };
  HF_ASSIGN_OR_RETURN(next_stored_, rows_.for_each_of_times(next_stored_, until, take));
  for (const auto& key : keys)
    HF_RETURN_IF_ERROR(fetch(key));
  return {};
}

// The session whose last row is of `last`, if there is one.
Status AssignSessionRows::give(const std::string& key, std::int64_t last) {
  std::string prefix;
  append_part(key, prefix);
  const auto behind = rows_.lower_bound(row_key(key, last + 1, 0));
  const bool goes_on = behind != rows_.end() && behind->first.starts_with(prefix) &&
                       time_of(behind->first) - last <= sessions_.gap_ms;
  if (goes_on || behind == rows_.begin()) return {};
  auto first = std::prev(behind);
  if (!first->first.starts_with(prefix) || time_of(first->first) != last) return {};
  for (auto before = first; before != rows_.begin();) {
    --before;
    if (!before->first.starts_with(prefix) ||
        time_of(first->first) - time_of(before->first) > sessions_.gap_ms)
      break;
    first = before;
  }
  const auto start = time_of(first->first);
  for (auto place = first; place != behind;) {
    sql::Row row = place->second.value;
    for (const auto bound : {start, last + sessions_.gap_ms, last + sessions_.gap_ms - 1})
      row.push_back(sql::Value::of(bound));
    place = rows_.erase(place);
    HF_RETURN_IF_ERROR(emit(RowKind::kInsert, row));
  }
  return {};
}

Status AssignSessionRows::restore() {
  HF_ASSIGN_OR_RETURN(const bool says_times, rows_.says_times());
  HF_RETURN_IF_ERROR(rows_.restore(!says_times));
  return rows_.is_partial() ? leave() : adopt_all("");
}

Status AssignSessionRows::put_state() {
  HF_RETURN_IF_ERROR(rows_.put_all());
  return rows_.wants_room() ? leave() : Status();
}

Status AssignSessionRows::leave() {
  HF_RETURN_IF_ERROR(rows_.leave());
  if (!rows_.is_partial()) return {};
  ends_.clear();
  next_stored_ = HF_MUTANT("ST126", watermark(), watermark() + 1);
  return {};
}

// ---- Order ----
int compare_keys(const sql::Row& left, const sql::Row& right,
                 const std::vector<sql::OrderKey>& keys) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (left[i].null || right[i].null) {
      if (left[i].null && right[i].null) continue;
      return left[i].null == keys[i].nulls_first ? -1 : 1;
    }
    const int order = sql::compare(left[i], right[i], keys[i].value->type);
    if (order != 0) return keys[i].descending ? -order : order;
  }
  return 0;
}

FirstRows::FirstRows(const Parts& parts)
    : Operator(parts),
      sort_(std::get<sql::Sort>(parts.node.what)),
      count_(parts.store, parts.first_slice + 1, {}) {}

Status FirstRows::take(std::size_t, RowKind kind, const sql::Row& row) {
  auto& count = count_.at("");
  const auto place = static_cast<std::uint64_t>(count++);
  if (place < sort_.offset || place - sort_.offset >= sort_.limit) return {};
  return emit(kind, row);
}

}  // namespace holdfast::stream::graph
