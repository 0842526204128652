#include "row_windows.hpp"

#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/stream/graph/group_operators.hpp>

namespace holdfast::stream::graph {

void RowWindows::Codec::encode(const Windows& windows, std::string& bytes) const {
  append_ordered(static_cast<std::int64_t>(windows.size()), bytes);
  std::string aggregates;
  for (const auto& window : windows) {
    aggregates.clear();
    for (std::size_t i = 0; i < group->aggregates.size(); ++i)
      window.aggregates[i].append_bytes(group->aggregates[i], aggregates);
    append_ordered(window.rows, bytes);
    append_part(aggregates, bytes);
  }
}

bool RowWindows::Codec::decode(std::string_view& bytes, Windows& windows) const {
  if (bytes.size() < 8) return false;
  const auto count = take_ordered(bytes);
  if (count < 1 || count - 1 > (group->row_size - 1) / group->row_slide) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    auto& window = windows.emplace_back();
    if (bytes.size() < 8) return false;
    window.rows = take_ordered(bytes);
    std::string_view part;
    if (window.rows < 1 || window.rows >= group->row_size || !take_part(bytes, part)) return false;
    window.aggregates.resize(group->aggregates.size());
    for (std::size_t k = 0; k < group->aggregates.size(); ++k) {
      if (!window.aggregates[k].take_bytes(group->aggregates[k], part)) return false;
    }
    if (!part.empty()) return false;
  }
  return true;
}

RowWindows::RowWindows(const Parts& parts)
    : Operator(parts),
      group_(std::get<sql::Group>(parts.node.what)),
      table_(parts.store, parts.first_slice, Codec{&group_}, parts.retention,
             StateStore::Grouping::kKey),
      sweeps_(parts.retention) {}

Status RowWindows::take(std::size_t, RowKind, const sql::Row& row) {
  if (std::int64_t oldest = 0; sweeps_.due(oldest))
    table_.sweep(oldest, [](const std::string&, const Windows&) {});
  std::string key;
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(group_.keys, row, key, null));
  HF_RETURN_IF_ERROR(table_.fetch(key));
  auto& windows = table_.at(key);
  if (windows.empty() ||
      HF_MUTANT("ST95", windows.back().rows == group_.row_slide, windows.back().rows == 1)) {
    windows.emplace_back();
    windows.back().aggregates.resize(group_.aggregates.size());
  }
  for (auto& window : windows) {
    ++window.rows;
    HF_RETURN_IF_ERROR(for_each_value(group_, row, [&](std::size_t i, const sql::Value& value) {
      window.aggregates[i].add(group_.aggregates[i], value);
      return window.aggregates[i].failure(group_.aggregates[i]);
    }));
  }
  if (HF_MUTANT("ST96", windows.front().rows < group_.row_size,
                windows.front().rows <= group_.row_size))
    return {};
  HF_ASSIGN_OR_RETURN(const auto full, row_of(key, windows.front()));
  windows.erase(windows.begin());
  if (windows.empty()) table_.erase(table_.find(key));
  return emit(RowKind::kInsert, full);
}

Result<sql::Row> RowWindows::row_of(std::string_view key, const Open& window) const {
  return row_of_group(group_, key, [&](std::size_t i) {
    return window.aggregates[i].result(group_.aggregates[i]);
  });
}

Status RowWindows::put_state() {
  HF_RETURN_IF_ERROR(table_.put_all());
  return table_.wants_room() ? table_.leave() : Status();
}

}  // namespace holdfast::stream::graph
