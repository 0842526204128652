#include "corrected_groups.hpp"

#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/stream/graph/group_operators.hpp>

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
    if (!aggregate.take_bytes(group->aggregates[i], retracts, state.rows, bytes) ||
        aggregate.has_parts())
      return false;
  }
  return true;
}

CorrectedGroups::CorrectedGroups(const Parts& parts, bool retracts)
    : Operator(parts),
      group_(std::get<sql::Group>(parts.node.what)),
      retracts_(retracts),
      table_(parts.store, parts.first_slice, Codec{&group_, retracts}) {}

Status CorrectedGroups::change(State& state, bool adding, const sql::Row& row) const {
  state.rows += adding ? 1 : -1;
  return for_each_value(group_, row, [&](std::size_t i, const sql::Value& value) {
    if (adding)
      state.aggregates[i].add(group_.aggregates[i], retracts_, value);
    else
      state.aggregates[i].take_back(group_.aggregates[i], value);
    return state.aggregates[i].failure(group_.aggregates[i]);
  });
}

Result<sql::Row> CorrectedGroups::row_of(std::string_view key, const State& state) const {
  const auto end = take_ordered(key), start = take_ordered(key);
  sql::Row row;
  HF_RETURN_IF_ERROR(take_keys(group_, key, row));
  for (std::size_t i = 0; i < group_.aggregates.size(); ++i) {
    HF_ASSIGN_OR_RETURN(auto value, state.aggregates[i].result(group_.aggregates[i], retracts_));
    row.push_back(std::move(value));
  }
  for (const auto bound : {start, end, end - 1})
    row.push_back(sql::Value::of(bound));
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
  HF_ASSIGN_OR_RETURN(const auto first, row_of(key, state));
  return emit(RowKind::kInsert, first);
}

// A group that was shown.
Status CorrectedGroups::correct(Table::iterator place, bool adding, const sql::Row& row) {
  HF_ASSIGN_OR_RETURN(const auto before, row_of(place->first, place->second.value));
  State& state = table_.changing(place);
  HF_RETURN_IF_ERROR(change(state, adding, row));
  if (state.rows == 0) {
    table_.erase(place);
    return emit(RowKind::kDelete, before);
  }
  HF_ASSIGN_OR_RETURN(const auto after, row_of(place->first, state));
  bool same = true;
  for (std::size_t i = 0; i < after.size(); ++i)
    same = same && sql::same(before[i], after[i], node().columns[i].type);
  if (same) return {};
  HF_RETURN_IF_ERROR(emit(RowKind::kUpdateBefore, before));
  return emit(RowKind::kUpdateAfter, after);
}

Status CorrectedGroups::pass(std::int64_t watermark) {
  // Those that were not shown before end here at the earliest.
  std::string first;
  if (this->watermark() != kNoWatermark) append_ordered(this->watermark() + 2, first);
  for (auto place = table_.lower_bound(first); place != table_.end(); ++place) {
    std::string_view key = place->first;
    const auto last = take_ordered(key) - 1;
    if (HF_MUTANT("ST93", last > watermark, last >= watermark)) break;
    HF_ASSIGN_OR_RETURN(const auto row, row_of(place->first, place->second.value));
    HF_RETURN_IF_ERROR(emit(RowKind::kInsert, row));
  }
  for (auto place = table_.begin(); place != table_.end();) {
    std::string_view key = place->first;
    const auto last = take_ordered(key) - 1;
    if (HF_MUTANT("ST94", last + group_.lateness_ms > watermark, last > watermark)) break;
    place = table_.erase(place);
  }
  return {};
}

}  // namespace holdfast::stream::graph
