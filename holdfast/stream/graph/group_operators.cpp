#include "group_operators.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kHalfOfSlices = std::int64_t{1} << 49;
constexpr std::int64_t kParts = 1;  // Of running groups: the slice of the parts of their values.

// Of groups that hold values all are in memory: their parts would have to be fetched, too.
std::optional<StateStore::Grouping> grouping_of(const sql::Group& group, bool retracts) {
  if (RunningAggregate::any_holds_values(group.aggregates, retracts)) return {};
  return StateStore::Grouping::kKey;
}

std::string key_of_part(std::string_view group, std::size_t aggregate, std::int64_t number) {
  std::string key;
  append_part(group, key);
  append_ordered(static_cast<std::int64_t>(aggregate), key);
  append_ordered(number, key);
  return key;
}

}  // namespace

Result<sql::Row> row_of_group(const sql::Group& group, std::string_view key,
                              ResultOfAggregate result) {
  sql::Row row(group.keys.size());
  for (std::size_t i = 0; i < group.keys.size(); ++i) {
    if (!sql::take_bytes(key, group.keys[i]->type, row[i]))
      return Error{Errc::kCorrupt, "a key of the state is none of this query"};
  }
  for (std::size_t i = 0; i < group.aggregates.size(); ++i) {
    HF_ASSIGN_OR_RETURN(auto value, result(i));
    row.push_back(std::move(value));
  }
  return row;
}

void append_window(std::int64_t start, std::int64_t end, sql::Row& row) {
  for (const auto bound : {start, end, end - 1})
    row.push_back(sql::Value::of(bound));
}

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

Status SliceGroups::take(std::size_t input, RowKind, const sql::Row& row) {
  HF_RETURN_IF_ERROR(groups_.add(row));
  rows_without_time = groups_.rows_without_time();
  return groups_.late_rows() == late_rows ? Status() : drop_late(input, row);
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

Status WindowGroups::take(std::size_t input, RowKind, const sql::Row& row) {
  const auto& start = row[group_.start_column];
  const auto& end = row[group_.end_column];
  if (start.null || end.null) return ++rows_without_time, Status();
  const auto ends = static_cast<std::int64_t>(end.number);
  if (ends - 1 <= watermark()) return drop_late(input, row);
  std::string key;
  append_ordered(ends, key);
  append_ordered(static_cast<std::int64_t>(start.number), key);
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(group_.keys, row, key, null));
  auto& accumulators = table_.at(key);
  accumulators.resize(group_.aggregates.size());
  return for_each_value(group_, row, [&](std::size_t i, const sql::Value& value) {
    accumulators[i].add(group_.aggregates[i], value);
    return accumulators[i].failure(group_.aggregates[i]);
  });
}

Status WindowGroups::pass(std::int64_t watermark) {
  for (auto place = table_.begin(); place != table_.end();) {
    std::string_view key = place->first;
    const auto end = take_ordered(key), start = take_ordered(key);
    if (end - 1 > watermark) break;
    const auto result = [&](std::size_t i) {
      return place->second.value[i].result(group_.aggregates[i]);
    };
    HF_ASSIGN_OR_RETURN(auto row, row_of_group(group_, key, result));
    append_window(start, end, row);
    place = table_.erase(place);
    HF_RETURN_IF_ERROR(emit(RowKind::kInsert, row));
  }
  return {};
}

// ---- That change ----
Status ChangingGroups::change(State& state, bool adding, const sql::Row& row) const {
  state.rows += adding ? 1 : -1;
  return for_each_value(group_, row, [&](std::size_t i, const sql::Value& value) {
    if (adding)
      state.aggregates[i].add(group_.aggregates[i], retracts_, value);
    else
      state.aggregates[i].take_back(group_.aggregates[i], value);
    return HF_MUTANT("ST81", state.aggregates[i].failure(group_.aggregates[i]), Status());
  });
}

Result<sql::Row> ChangingGroups::row_of(std::string_view key, const State& state) const {
  return row_of_group(group_, key, [&](std::size_t i) {
    return state.aggregates[i].result(group_.aggregates[i], retracts_);
  });
}

// ---- Running ----
void RunningGroups::Codec::append(const State& state, bool whole, std::string& bytes) const {
  append_ordered(state.rows, bytes);
  for (std::size_t i = 0; i < group->aggregates.size(); ++i)
    state.aggregates[i].append_bytes(group->aggregates[i], retracts, whole, bytes);
}

bool RunningGroups::Codec::encode_whole(const State& state, std::string& bytes) const {
  append(state, true, bytes);
  return std::any_of(state.aggregates.begin(), state.aggregates.end(),
                     [](const RunningAggregate& aggregate) { return aggregate.has_parts(); });
}

bool RunningGroups::Codec::decode(std::string_view& bytes, State& state) const {
  if (bytes.size() < 8) return false;
  state.rows = take_ordered(bytes);
  if (state.rows < 0 || !sql::is_summable(state.rows)) return false;
  state.aggregates.resize(group->aggregates.size());
  for (std::size_t i = 0; i < group->aggregates.size(); ++i) {
    if (!state.aggregates[i].take_bytes(group->aggregates[i], retracts, state.rows, bytes))
      return false;
  }
  return true;
}

RunningGroups::RunningGroups(const Parts& parts, bool retracts)
    : ChangingGroups(parts, retracts),
      table_(parts.store, parts.first_slice, Codec{&group_, retracts}, parts.retention,
             grouping_of(group_, retracts)),
      sweeps_(parts.retention) {}

// ---- Parts of the values ----
Status RunningGroups::restore() {
  HF_RETURN_IF_ERROR(table_.restore());
  if (store() == nullptr) return {};
  // A crash may have come before an older one was removed.
  std::map<std::string, std::pair<std::string, std::uint64_t>, std::less<>> newest;
  HF_RETURN_IF_ERROR(store()->for_each_version(
      slice(kParts),
      [&](std::string_view key, std::string_view part, std::uint64_t version) -> Status {
        const auto [place, first] = newest.try_emplace(std::string(key));
        if (!first) store()->remove_version(slice(kParts), key, place->second.second);
        place->second = {std::string(part), version};
        if (part.empty()) newest.erase(place);
        return {};
      }));
  for (const auto& [key, part] : newest)
    HF_RETURN_IF_ERROR(take_part(key, part.first, part.second, newest.size()));
  for (auto& [key, entry] : table_) {
    for (std::size_t i = 0; i < entry.value.aggregates.size(); ++i) {
      if (!entry.value.aggregates[i].end_parts(group_.aggregates[i], entry.value.rows,
                                               store()->keeps_entries()))
        return Error{Errc::kCorrupt, "of the values of a group some parts are missing"};
    }
  }
  return {};
}

Status RunningGroups::take_part(std::string_view key, std::string_view part, std::uint64_t version,
                                std::size_t parts) {
  part.remove_prefix(1);  // As of other entries (state_table.hpp).
  std::string_view rest = key, group;
  bool taken = graph::take_part(rest, group) && rest.size() == 16;
  const auto aggregate = static_cast<std::uint64_t>(take_ordered(rest));
  const auto number = take_ordered(rest);
  const auto found = taken ? table_.find(group) : table_.end();
  // Numbers of parts are those from 0 on, so none is larger than there are parts.
  taken = number >= 0 && static_cast<std::uint64_t>(number) < parts && found != table_.end() &&
          aggregate < group_.aggregates.size() &&
          found->second.value.aggregates[aggregate].take_part(group_.aggregates[aggregate], number,
                                                              part, version);
  return taken ? Status() : Error{Errc::kCorrupt, "a part of the state is none of this query"};
}

Status RunningGroups::put_state() {
  HF_RETURN_IF_ERROR(table_.put_all(
      [this](const std::string& key, State& state) { return put_parts(key, state); }));
  // Those that were written anew are among them.
  for (auto& [key, version] : gone_parts_)
    HF_RETURN_IF_ERROR(store()->replace(slice(kParts), key, {}, version));
  gone_parts_.clear();
  return table_.wants_room() ? table_.leave() : Status();
}

Status RunningGroups::put_parts(const std::string& key, State& state) {
  Status status;
  std::string bytes;
  for (std::size_t i = 0; i < state.aggregates.size() && status; ++i) {
    const auto put = [&](std::int64_t number, std::string_view part, query::Mark& mark) {
      const auto key_of_it = key_of_part(key, i, number);
      const auto gone = gone_parts_.find(key_of_it);
      if (HF_MUTANT("ST41", gone != gone_parts_.end(), false))
        mark.version = gone->second, gone_parts_.erase(gone);
      bytes = '\1';
      bytes += part;
      status = store()->replace(slice(kParts), key_of_it, bytes, mark.version);
      return status.has_value();
    };
    const auto erase = [&](std::int64_t number, const query::Mark& mark) {
      if (HF_MUTANT("ST43", mark.version != 0, false))
        gone_parts_.emplace(key_of_part(key, i, number), mark.version);
    };
    state.aggregates[i].put_parts(group_.aggregates[i], retracts_, put, erase);
  }
  return status;
}

void RunningGroups::forget_parts(const std::string& key, const State& state) {
  for (std::size_t i = 0; i < state.aggregates.size(); ++i) {
    state.aggregates[i].for_each_part([&](std::int64_t number, const query::Mark& mark) {
      if (HF_MUTANT("ST42", mark.version != 0, false))
        gone_parts_.emplace(key_of_part(key, i, number), mark.version);
    });
  }
}

// Groups are whole; so what the store has of parts goes.
Status RunningGroups::visit_state(VisitState visit) const {
  const auto gone = [&](const std::string& key, std::uint64_t version) {
    return version == 0 ? Status() : visit(slice(kParts), key, {}, version, true);
  };
  for (const auto& [key, version] : gone_parts_)
    HF_RETURN_IF_ERROR(gone(key, version));
  Status status;
  for (const auto& [key, entry] : table_) {
    for (std::size_t i = 0; i < entry.value.aggregates.size(); ++i) {
      entry.value.aggregates[i].for_each_part([&](std::int64_t number, const query::Mark& mark) {
        if (status) status = gone(key_of_part(key, i, number), mark.version);
      });
    }
    HF_RETURN_IF_ERROR(status);
  }
  return table_.visit_state(visit);
}

Status RunningGroups::take(std::size_t, RowKind kind, const sql::Row& row) {
  if (std::int64_t oldest = 0; sweeps_.due(oldest))
    table_.sweep(oldest,
                 [this](const std::string& key, const State& state) { forget_parts(key, state); });
  std::string key;
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(group_.keys, row, key, null));
  HF_RETURN_IF_ERROR(table_.fetch(key));
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
    forget_parts(key, state);
    table_.erase(known);
    return emit(RowKind::kDelete, before);
  }
  HF_ASSIGN_OR_RETURN(const auto after, row_of(key, state));
  return emit_update(before, after);
}

// Without keys there is a group even where there was no row.
Status RunningGroups::pass(std::int64_t watermark) {
  if (watermark != kEndOfTime || !group_.keys.empty()) return {};
  HF_RETURN_IF_ERROR(table_.fetch(""));
  if (!table_.empty()) return {};
  State none;
  none.aggregates.resize(group_.aggregates.size());
  HF_ASSIGN_OR_RETURN(const auto row, row_of("", none));
  return emit(RowKind::kInsert, row);
}

}  // namespace holdfast::stream::graph
