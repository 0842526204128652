#include "group_operators.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kHalfOfSlices = std::int64_t{1} << 49;
constexpr std::int64_t kParts = 1;  // Of running groups: the slice of the parts of their values.
constexpr auto kFirstPart = StateStore::Grouping::kFirstPart;

Error no_part() { return {Errc::kCorrupt, "a part of the state is none of this query"}; }

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
      table_(parts.store, parts.first_slice, Codec{&group_}, {}, StateStore::Grouping::kKey) {}

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
  HF_RETURN_IF_ERROR(table_.fetch(key));
  auto& accumulators = table_.at(key);
  accumulators.resize(group_.aggregates.size());
  return for_each_value(group_, row, [&](std::size_t i, const sql::Value& value) {
    accumulators[i].add(group_.aggregates[i], value);
    return accumulators[i].failure(group_.aggregates[i]);
  });
}

// Group by group; those of the store that end with the next one of memory, or before it, come
// first.
Status WindowGroups::pass(std::int64_t watermark) {
  for (auto place = table_.begin();;) {
    const auto next = place == table_.end() ? kEndOfTime : lives_until(place->first);
    if (std::min(next, next_stored_) >= watermark) return {};
    if (HF_MUTANT("ST148", next_stored_ <= next, next_stored_ < next)) {
      HF_ASSIGN_OR_RETURN(next_stored_, table_.fetch_times(next_stored_, next_stored_));
      place = table_.begin();
      continue;
    }
    HF_ASSIGN_OR_RETURN(place, show(place));
  }
}

// Gives the one behind it.
Result<WindowGroups::Table::iterator> WindowGroups::show(Table::iterator place) {
  std::string_view key = place->first;
  const auto end = take_ordered(key), start = take_ordered(key);
  const auto result = [&](std::size_t i) {
    return place->second.value[i].result(group_.aggregates[i]);
  };
  HF_ASSIGN_OR_RETURN(auto row, row_of_group(group_, key, result));
  append_window(start, end, row);
  const auto behind = table_.erase(place);
  HF_RETURN_IF_ERROR(emit(RowKind::kInsert, row));
  return behind;
}

Status WindowGroups::restore() {
  HF_ASSIGN_OR_RETURN(const bool says_times, table_.says_times());
  HF_RETURN_IF_ERROR(table_.restore(!says_times));
  return table_.is_partial() ? leave() : Status();
}

Status WindowGroups::put_state() {
  HF_RETURN_IF_ERROR(table_.put_all());
  return table_.is_partial() || table_.wants_room() ? leave() : Status();
}

Status WindowGroups::leave() {
  next_stored_ = HF_MUTANT("ST149", watermark(), watermark() + 1);
  return table_.leave();
}

// ---- That change ----
bool ChangingGroups::has_parts(const State& state) {
  return std::any_of(state.aggregates.begin(), state.aggregates.end(),
                     [](const RunningAggregate& aggregate) { return aggregate.has_parts(); });
}

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
  return has_parts(state);
}

bool RunningGroups::Codec::decode(std::string_view& bytes, State& state) const {
  if (bytes.size() < 8) return false;
  state.rows = take_ordered(bytes);
  if (state.rows < 0 || !sql::is_summable(state.rows)) return false;
  state.aggregates.resize(group->aggregates.size());
  for (std::size_t i = 0; i < group->aggregates.size(); ++i) {
    if (!state.aggregates[i].take_bytes(group->aggregates[i], retracts, bytes)) return false;
  }
  return true;
}

RunningGroups::RunningGroups(const Parts& parts, bool retracts)
    : ChangingGroups(parts, retracts),
      table_(parts.store, parts.first_slice, Codec{&group_, retracts}, parts.retention,
             StateStore::Grouping::kKey),
      holds_(RunningAggregate::any_holds_values(group_.aggregates, retracts)),
      sweeps_(parts.retention) {}

// ---- Groups that memory may not have ----
Status RunningGroups::restore() {
  HF_RETURN_IF_ERROR(table_.restore(false, holds_ ? slice(kParts) : query::kNoSlice));
  if (store() == nullptr || !holds_) return {};
  if (table_.is_partial()) return group_parts();
  HF_RETURN_IF_ERROR(restore_parts());
  for (auto& [key, entry] : table_) {
    HF_RETURN_IF_ERROR(end_parts(entry.value));
    table_.hold(0, held_bytes(entry.value));
  }
  return {};
}

std::uint64_t RunningGroups::held_bytes(const State& state) {
  std::uint64_t bytes = 0;
  for (const auto& aggregate : state.aggregates)
    bytes += aggregate.held_bytes();
  return bytes;
}

Status RunningGroups::fetch(const std::string& key) {
  if (!table_.is_partial() || table_.find(key) != table_.end()) return {};
  HF_RETURN_IF_ERROR(table_.fetch(key));
  if (!holds_) return {};
  const auto found = table_.find(key);
  if (found != table_.end()) return fetch_parts(key, found->second.value);
  return table_.times() ? forget_parts_of_store(key) : Status();
}

Status RunningGroups::fetch_parts(const std::string& key, State& state) {
  if (HF_MUTANT("ST144", has_parts(state), false)) {
    std::string group;
    append_part(key, group);
    HF_RETURN_IF_ERROR(store()->for_each_of_group(
        slice(kParts), group,
        [&](std::string_view of_part, std::string_view part, std::uint64_t version) -> Status {
          of_part.remove_prefix(group.size());
          return take_part(of_part, state, part, version);
        }));
    HF_RETURN_IF_ERROR(end_parts(state));
  }
  table_.hold(0, held_bytes(state));
  return {};
}

// Of a group that has ended, or of none. What is gone since the last checkpoint is known.
Status RunningGroups::forget_parts_of_store(const std::string& key) {
  std::string group;
  append_part(key, group);
  return store()->for_each_of_group(
      slice(kParts), group,
      [this](std::string_view of_part, std::string_view, std::uint64_t version) -> Status {
        if (HF_MUTANT("ST145", true, false)) gone_parts_.emplace(of_part, version);
        return {};
      });
}

// ---- Parts of the values ----
Status RunningGroups::restore_parts() {
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
  for (const auto& [key, part] : newest) {
    std::string_view rest = key, group;
    const bool is_key = graph::take_part(rest, group);
    const auto found = is_key ? table_.find(group) : table_.end();
    if (found == table_.end()) return no_part();
    HF_RETURN_IF_ERROR(take_part(rest, found->second.value, part.first, part.second));
  }
  return {};
}

// `key`: what is behind that of the group.
Status RunningGroups::take_part(std::string_view key, State& state, std::string_view part,
                                std::uint64_t version) const {
  if (key.size() != 16 || part.empty()) return no_part();
  part.remove_prefix(1);  // As of other entries (state_table.hpp).
  const auto aggregate = static_cast<std::uint64_t>(take_ordered(key));
  const auto number = take_ordered(key);
  const bool taken =
      aggregate < group_.aggregates.size() &&
      state.aggregates[aggregate].take_part(group_.aggregates[aggregate], number, part, version);
  return taken ? Status() : no_part();
}

Status RunningGroups::end_parts(State& state) const {
  for (std::size_t i = 0; i < state.aggregates.size(); ++i) {
    if (!state.aggregates[i].end_parts(group_.aggregates[i], store()->keeps_entries()))
      return Error{Errc::kCorrupt, "of the values of a group some parts are missing"};
  }
  return {};
}

Status RunningGroups::put_state() {
  HF_RETURN_IF_ERROR(table_.put_all(
      [this](const std::string& key, State& state) { return put_parts(key, state); }));
  // Those that were written anew are among them.
  for (auto& [key, version] : gone_parts_)
    HF_RETURN_IF_ERROR(store()->replace(slice(kParts), key, {}, version));
  gone_parts_.clear();
  return table_.wants_room() ? leave() : Status();
}

Status RunningGroups::leave() {
  if (!holds_) return table_.leave();
  HF_RETURN_IF_ERROR(group_parts());
  return table_.leave(slice(kParts));
}

Status RunningGroups::group_parts() {
  const auto grouped = store()->group_by(slice(kParts), kFirstPart, 0);
  return grouped ? Status() : grouped.error();
}

Status RunningGroups::put_parts(const std::string& key, State& state) {
  Status status;
  std::string bytes;
  const auto before = held_bytes(state);
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
  table_.hold(before, held_bytes(state));
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
  const auto forget = [this](const std::string& key, const State& state) {
    table_.hold(held_bytes(state), 0);
    forget_parts(key, state);
  };
  if (std::int64_t oldest = 0; sweeps_.due(oldest)) table_.sweep(oldest, forget);
  std::string key;
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(group_.keys, row, key, null));
  HF_RETURN_IF_ERROR(fetch(key));
  const auto known = table_.find(key);
  if (known == table_.end()) {
    if (!adds(kind)) return {};  // Of a row that was late, and was never seen.
    State& state = table_.at(key);
    state.aggregates.resize(group_.aggregates.size());
    HF_RETURN_IF_ERROR(change_held(state, true, row));
    HF_ASSIGN_OR_RETURN(const auto first, row_of(key, state));
    return emit(RowKind::kInsert, first);
  }
  if (group_.aggregates.empty() && !retracts_) {  // DISTINCT of rows that stay.
    if (table_.times()) table_.changing(known);
    return {};
  }
  return change_known(known, kind, row);
}

Status RunningGroups::change_held(State& state, bool adding, const sql::Row& row) {
  if (!holds_ || !table_.is_bounded()) return change(state, adding, row);
  table_.look_at_room();
  const auto before = held_bytes(state);
  const auto changed = change(state, adding, row);
  table_.hold(before, held_bytes(state));
  return changed;
}

Status RunningGroups::change_known(Table::iterator known, RowKind kind, const sql::Row& row) {
  const std::string& key = known->first;
  HF_ASSIGN_OR_RETURN(const auto before, row_of(key, known->second.value));
  State& state = table_.changing(known);
  HF_RETURN_IF_ERROR(change_held(state, adds(kind), row));
  if (state.rows == 0) {
    table_.hold(held_bytes(state), 0);
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
  HF_RETURN_IF_ERROR(fetch(""));
  if (!table_.empty()) return {};
  State none;
  none.aggregates.resize(group_.aggregates.size());
  HF_ASSIGN_OR_RETURN(const auto row, row_of("", none));
  return emit(RowKind::kInsert, row);
}

}  // namespace holdfast::stream::graph
