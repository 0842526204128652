#include "group_operators.hpp"

#include <utility>

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kHalfOfSlices = std::int64_t{1} << 49;

// Each aggregate whose filter holds, with the value of its argument: visit(i, value) -> Status.
template <class Visit>
Status for_each_value(const sql::Group& group, const sql::Row& row, Visit visit) {
  sql::Value value;
  for (std::size_t i = 0; i < group.aggregates.size(); ++i) {
    const auto& aggregate = group.aggregates[i];
    if (aggregate.filter != nullptr) {
      HF_RETURN_IF_ERROR(sql::evaluate(*aggregate.filter, row, value));
      if (!value.is_true()) continue;
    }
    if (aggregate.argument != nullptr)
      HF_RETURN_IF_ERROR(sql::evaluate(*aggregate.argument, row, value));
    visit(i, value);
  }
  return {};
}

Status take_keys(const sql::Group& group, std::string_view key, sql::Row& row) {
  row.resize(group.keys.size());
  for (std::size_t i = 0; i < group.keys.size(); ++i) {
    if (!sql::take_bytes(key, group.keys[i]->type, row[i]))
      return Error{Errc::kCorrupt, "a key of the state is none of this query"};
  }
  return {};
}

}  // namespace

Result<std::vector<std::int64_t>> OperatorStore::slices() {
  HF_ASSIGN_OR_RETURN(const auto all, store_.slices());
  std::vector<std::int64_t> own;
  for (const auto slice : all) {
    if (slice >= first_ - kHalfOfSlices && slice < first_ + kHalfOfSlices)
      own.push_back(slice - first_);
  }
  return own;
}

// ---- By slices ----
SliceGroups::SliceGroups(const Parts& parts)
    : Operator(parts),
      store_(parts.store == nullptr
                 ? nullptr
                 : std::make_unique<OperatorStore>(*parts.store, parts.first_slice)),
      groups_(std::get<sql::Group>(parts.node.what), store_.get()) {}

Status SliceGroups::take(std::size_t, RowKind, const sql::Row& row) {
  HF_RETURN_IF_ERROR(groups_.add(row));
  late_rows = groups_.late_rows();
  rows_without_time = groups_.rows_without_time();
  return {};
}

Status SliceGroups::restore() {
  groups_.set_counters(late_rows, rows_without_time);
  return groups_.restore(watermark());
}

Status SliceGroups::visit_state(VisitState visit) const {
  return groups_.visit_entries(
      [&](std::int64_t number, std::string_view key, std::string_view state) {
        return visit(slice(number), key, state, 0, true);
      });
}

std::set<std::int64_t> SliceGroups::stored_slices() const {
  std::set<std::int64_t> slices;
  for (const auto number : groups_.stored_slices())
    slices.insert(slice(number));
  return slices;
}

Status SliceGroups::pass(std::int64_t watermark) {
  return groups_.advance(watermark, [this](sql::Row& row) { return emit(RowKind::kInsert, row); });
}

// ---- By columns ----
void WindowGroups::Codec::encode(const Accumulators& accumulators, std::string& bytes) const {
  for (std::size_t i = 0; i < group->aggregates.size(); ++i)
    accumulators[i].append_bytes(group->aggregates[i], bytes);
}

bool WindowGroups::Codec::decode(std::string_view& bytes, Accumulators& accumulators) const {
  accumulators.resize(group->aggregates.size());
  for (std::size_t i = 0; i < group->aggregates.size(); ++i) {
    if (!accumulators[i].take_bytes(group->aggregates[i], bytes)) return false;
  }
  return true;
}

WindowGroups::WindowGroups(const Parts& parts)
    : Operator(parts),
      group_(std::get<sql::Group>(parts.node.what)),
      table_(parts.store, parts.first_slice, Codec{&group_}) {}

Status WindowGroups::take(std::size_t, RowKind, const sql::Row& row) {
  const auto& start = row[group_.start_column];
  const auto& end = row[group_.end_column];
  if (start.null || end.null) return ++rows_without_time, Status();
  const auto ends = static_cast<std::int64_t>(end.number);
  if (ends - 1 <= watermark()) return ++late_rows, Status();
  std::string key;
  append_ordered(ends, key);
  append_ordered(static_cast<std::int64_t>(start.number), key);
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(group_.keys, row, key, null));
  auto& accumulators = table_.at(key);
  accumulators.resize(group_.aggregates.size());
  return for_each_value(group_, row, [&](std::size_t i, const sql::Value& value) {
    accumulators[i].add(group_.aggregates[i], value);
  });
}

Status WindowGroups::pass(std::int64_t watermark) {
  for (auto place = table_.begin(); place != table_.end();) {
    std::string_view key = place->first;
    const auto end = take_ordered(key), start = take_ordered(key);
    if (end - 1 > watermark) break;
    sql::Row row;
    HF_RETURN_IF_ERROR(take_keys(group_, key, row));
    for (std::size_t i = 0; i < group_.aggregates.size(); ++i) {
      HF_ASSIGN_OR_RETURN(auto value, place->second.value[i].result(group_.aggregates[i]));
      row.push_back(std::move(value));
    }
    for (const auto bound : {start, end, end - 1})
      row.push_back(sql::Value::of(bound));
    place = table_.erase(place);
    HF_RETURN_IF_ERROR(emit(RowKind::kInsert, row));
  }
  return {};
}

// ---- Running ----
void RunningGroups::Codec::encode(const State& state, std::string& bytes) const {
  append_ordered(state.rows, bytes);
  for (std::size_t i = 0; i < group->aggregates.size(); ++i)
    state.aggregates[i].append_bytes(group->aggregates[i], retracts, bytes);
}

bool RunningGroups::Codec::decode(std::string_view& bytes, State& state) const {
  if (bytes.size() < 8) return false;
  state.rows = take_ordered(bytes);
  state.aggregates.resize(group->aggregates.size());
  for (std::size_t i = 0; i < group->aggregates.size(); ++i) {
    if (!state.aggregates[i].take_bytes(group->aggregates[i], retracts, bytes)) return false;
  }
  return true;
}

RunningGroups::RunningGroups(const Parts& parts, bool retracts)
    : Operator(parts),
      group_(std::get<sql::Group>(parts.node.what)),
      retracts_(retracts),
      table_(parts.store, parts.first_slice, Codec{&group_, retracts}, parts.retention),
      sweeps_(parts.retention) {}

Status RunningGroups::change(State& state, bool adding, const sql::Row& row) {
  state.rows += adding ? 1 : -1;
  return for_each_value(group_, row, [&](std::size_t i, const sql::Value& value) {
    if (adding)
      state.aggregates[i].add(group_.aggregates[i], retracts_, value);
    else
      state.aggregates[i].take_back(group_.aggregates[i], value);
  });
}

Result<sql::Row> RunningGroups::row_of(std::string_view key, const State& state) const {
  sql::Row row;
  HF_RETURN_IF_ERROR(take_keys(group_, key, row));
  for (std::size_t i = 0; i < group_.aggregates.size(); ++i) {
    HF_ASSIGN_OR_RETURN(auto value, state.aggregates[i].result(group_.aggregates[i], retracts_));
    row.push_back(std::move(value));
  }
  return row;
}

Status RunningGroups::take(std::size_t, RowKind kind, const sql::Row& row) {
  if (std::int64_t oldest = 0; sweeps_.due(oldest))
    table_.sweep(oldest, [](const std::string&, const State&) {});
  std::string key;
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(group_.keys, row, key, null));
  const auto known = table_.find(key);
  if (known == table_.end()) {
    if (!adds(kind)) return {};  // Of a row that was late, and was never seen.
    State& state = table_.at(key);
    state.aggregates.resize(group_.aggregates.size());
    HF_RETURN_IF_ERROR(change(state, true, row));
    HF_ASSIGN_OR_RETURN(const auto first, row_of(key, state));
    return emit(RowKind::kInsert, first);
  }
  if (group_.aggregates.empty() && !retracts_) {  // DISTINCT of rows that stay.
    if (table_.times()) table_.changing(known);
    return {};
  }
  HF_ASSIGN_OR_RETURN(const auto before, row_of(key, known->second.value));
  State& state = table_.changing(known);
  HF_RETURN_IF_ERROR(change(state, adds(kind), row));
  if (state.rows == 0) {
    table_.erase(known);
    return emit(RowKind::kDelete, before);
  }
  HF_ASSIGN_OR_RETURN(const auto after, row_of(key, state));
  bool same = true;
  for (std::size_t i = 0; i < after.size(); ++i)
    same = same && sql::same(before[i], after[i], node().columns[i].type);
  if (same) return {};
  HF_RETURN_IF_ERROR(emit(RowKind::kUpdateBefore, before));
  return emit(RowKind::kUpdateAfter, after);
}

// Without keys there is a group even where there was no row.
Status RunningGroups::pass(std::int64_t watermark) {
  if (watermark != kEndOfTime || !group_.keys.empty() || !table_.empty()) return {};
  State none;
  none.aggregates.resize(group_.aggregates.size());
  HF_ASSIGN_OR_RETURN(const auto row, row_of("", none));
  return emit(RowKind::kInsert, row);
}

}  // namespace holdfast::stream::graph
