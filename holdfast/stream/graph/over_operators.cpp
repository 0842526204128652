#include "over_operators.hpp"

#include <set>
#include <utility>

namespace holdfast::stream::graph {

void OverRows::Codec::encode(const Accumulators& accumulators, std::string& bytes) const {
  for (std::size_t i = 0; i < over->aggregates.size(); ++i)
    accumulators[i].append_bytes(over->aggregates[i], bytes);
}

bool OverRows::Codec::decode(std::string_view& bytes, Accumulators& accumulators) const {
  accumulators.resize(over->aggregates.size());
  for (std::size_t i = 0; i < over->aggregates.size(); ++i) {
    if (!accumulators[i].take_bytes(over->aggregates[i], bytes)) return false;
  }
  return true;
}

OverRows::OverRows(const Parts& parts)
    : Operator(parts),
      over_(std::get<sql::OverAggregate>(parts.node.what)),
      waiting_(parts.store, parts.first_slice, RowCodec{parts.inputs[0], {1, 4, 1}}),
      frames_(parts.store, parts.first_slice + 1, RowCodec{parts.inputs[0], {0, 4, 2}}, {},
              StateStore::Grouping::kFirstPart),
      sums_(parts.store, parts.first_slice + 2, Codec{&over_}, {},
            StateStore::Grouping::kFirstPart),
      passed_(parts.store, parts.first_slice + 3, PassedCodec{{}, this},
              ends_by_time() ? Retention() : parts.retention, StateStore::Grouping::kFirstPart),
      sweeps_(ends_by_time() ? Retention() : parts.retention) {}

Status OverRows::restore() {
  HF_RETURN_IF_ERROR(waiting_.restore());
  HF_RETURN_IF_ERROR(frames_.restore());
  for (auto* table : {&waiting_, &frames_}) {
    for (const auto& [key, entry] : *table)
      next_number_ = std::max(next_number_, sequence_of(key) + 1);
  }
  HF_RETURN_IF_ERROR(sums_.restore());
  HF_RETURN_IF_ERROR(passed_.restore());
  if (frames_.is_partial() || sums_.is_partial() || passed_.is_partial()) return leave();
  if (!ends_by_time()) return {};
  for (const auto& [partition, entry] : passed_)
    ends_.emplace(end_of(entry.value), partition);
  return {};
}

Status OverRows::put_state() {
  HF_RETURN_IF_ERROR(waiting_.put_all());
  HF_RETURN_IF_ERROR(frames_.put_all());
  HF_RETURN_IF_ERROR(sums_.put_all());
  HF_RETURN_IF_ERROR(passed_.put_all());
  looks_at_stored_ = true;
  const bool leaves = frames_.wants_room() || sums_.wants_room() || passed_.wants_room();
  return leaves ? leave() : Status();
}

Status OverRows::leave() {
  ends_.clear();
  looks_at_stored_ = true;
  HF_RETURN_IF_ERROR(frames_.leave());
  HF_RETURN_IF_ERROR(sums_.leave());
  return passed_.leave();
}

Status OverRows::fetch(const std::string& partition) {
  if (!is_partial() || passed_.find(partition) != passed_.end()) return {};
  HF_RETURN_IF_ERROR(frames_.fetch(partition));
  HF_RETURN_IF_ERROR(sums_.fetch(partition));
  HF_RETURN_IF_ERROR(passed_.fetch(partition));
  const auto passed = passed_.find(partition);
  if (passed == passed_.end()) return {};
  if (!ends_by_time()) {
    const bool idle = has_ended(passed->second, oldest_ms_);
    // Rows that wait are to find what is before them.
    const bool waits = idle && HF_MUTANT("ST63", waiting_partitions().contains(partition), false);
    return idle && !waits ? forget(partition) : Status();
  }
  ends_.emplace(end_of(passed->second.value), partition);
  const auto now = watermark();
  const bool ended = now != kNoWatermark && has_ended(passed->second, now - 1);
  return HF_MUTANT("ST62", ended, false) ? forget(partition) : Status();
}

// Whether the partition ends by then: by the watermark, or by the clock.
bool OverRows::has_ended(const Passed::Entry& passed, std::int64_t until) const {
  if (ends_by_time()) return end_of(passed.value) - 1 <= until;
  return passed_.times() && passed.used_ms <= until;
}

// Of the partitions that memory does not have.
Status OverRows::end_stored(std::int64_t until) {
  constexpr std::size_t kMost = 65'536;  // More wait for the next checkpoint.
  const bool looks = is_partial() && std::exchange(looks_at_stored_, false);
  if (!HF_MUTANT("ST64", looks, false) || until == kNoWatermark) return {};
  const auto waiting = ends_by_time() ? std::set<std::string>() : waiting_partitions();
  std::vector<std::string> ended;
  const auto take = [&](std::string_view key, const Passed::Entry& entry) {
    const std::string partition(key);
    if (ended.size() < kMost && has_ended(entry, until) && passed_.find(key) == passed_.end() &&
        !waiting.contains(partition))
      ended.push_back(partition);
    return Status();
  };
  HF_RETURN_IF_ERROR(passed_.for_each_of_times(kNoWatermark, until, take));
  for (const auto& partition : ended) {
    HF_RETURN_IF_ERROR(fetch(partition));
    if (passed_.find(partition) != passed_.end()) HF_RETURN_IF_ERROR(forget(partition));
  }
  return {};
}

Status OverRows::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(waiting_.visit_state(visit));
  HF_RETURN_IF_ERROR(frames_.visit_state(visit));
  HF_RETURN_IF_ERROR(sums_.visit_state(visit));
  return passed_.visit_state(visit);
}

Result<std::string> OverRows::partition_of(const sql::Row& row) const {
  std::string values, partition;
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(over_.partition, row, values, null));
  append_part(values, partition);
  return partition;
}

Status OverRows::add(const sql::Row& row, Accumulators& accumulators) const {
  accumulators.resize(over_.aggregates.size());
  sql::Value value;
  for (std::size_t i = 0; i < over_.aggregates.size(); ++i) {
    const auto& aggregate = over_.aggregates[i];
    if (aggregate.filter != nullptr) {
      HF_RETURN_IF_ERROR(sql::evaluate(*aggregate.filter, row, value));
      if (!value.is_true()) continue;
    }
    if (aggregate.argument != nullptr)
      HF_RETURN_IF_ERROR(sql::evaluate(*aggregate.argument, row, value));
    accumulators[i].add(aggregate, value);
    HF_RETURN_IF_ERROR(accumulators[i].failure(aggregate));
  }
  return {};
}

Status OverRows::show(const sql::Row& row, const Accumulators& accumulators) {
  sql::Row result = row;
  for (std::size_t i = 0; i < over_.aggregates.size(); ++i) {
    HF_ASSIGN_OR_RETURN(auto value, accumulators[i].result(over_.aggregates[i]));
    result.push_back(std::move(value));
  }
  return emit(RowKind::kInsert, result);
}

Status OverRows::take_at_once(const sql::Row& row) {
  if (std::int64_t oldest = 0; sweeps_.due(oldest)) HF_RETURN_IF_ERROR(end_idle(oldest));
  HF_RETURN_IF_ERROR(end_stored(oldest_ms_));
  HF_ASSIGN_OR_RETURN(const auto partition, partition_of(row));
  HF_RETURN_IF_ERROR(fetch(partition));
  auto& passed = passed_.at(partition);
  passed = sql::wrapped(sql::Int128{passed} + HF_MUTANT("ST140", 1, 0), sql::Kind::kBigInt);
  return unbounded() ? give(partition, passed, {row}) : give_bounded(partition, passed, {row});
}

Status OverRows::take(std::size_t input, RowKind, const sql::Row& row) {
  if (over_.as_they_come) return take_at_once(row);
  const auto& value = row[over_.time_column];
  if (value.null) return ++rows_without_time, Status();
  const auto time = static_cast<std::int64_t>(value.number);
  if (std::int64_t oldest = 0; sweeps_.due(oldest)) HF_RETURN_IF_ERROR(end_idle(oldest));
  if (unbounded() && HF_MUTANT("ST70", time <= watermark(), time < watermark()))
    return drop_late(input, row);
  HF_ASSIGN_OR_RETURN(const auto partition, partition_of(row));
  HF_RETURN_IF_ERROR(fetch(partition));
  const auto passed = passed_.find(partition);
  if (passed != passed_.end() && time <= passed->second.value) return drop_late(input, row);
  if (passed != passed_.end() && passed_.times()) passed_.changing(passed);
  std::string key;
  append_ordered(time, key);
  key += partition;
  append_ordered(next_number_++, key);
  waiting_.at(key) = row;
  return {};
}

Status OverRows::pass(std::int64_t watermark) {
  HF_RETURN_IF_ERROR(give_until(watermark));
  while (!ends_.empty() && HF_MUTANT("ST51", ends_.begin()->first <= watermark, false))
    HF_RETURN_IF_ERROR(forget(std::string(ends_.begin()->second)));
  if (!ends_by_time()) return end_stored(oldest_ms_);
  return watermark == kEndOfTime ? Status() : end_stored(watermark - 1);
}

Status OverRows::give_until(std::int64_t watermark) {
  while (!waiting_.empty()) {
    const auto first = waiting_.begin()->first;
    std::string_view rest = first;
    const auto time = take_ordered(rest);
    if (time > watermark) return {};
    const auto prefix = first.substr(0, first.size() - 8);
    const auto partition = prefix.substr(8);
    HF_RETURN_IF_ERROR(fetch(partition));
    Rows peers;
    while (!waiting_.empty() && waiting_.begin()->first.starts_with(prefix)) {
      peers.push_back(std::move(waiting_.begin()->second.value));
      waiting_.erase(waiting_.begin());
    }
    auto& passed = passed_.at(partition);
    if (ends_by_time()) {
      ends_.erase({end_of(passed), partition});
      ends_.emplace(end_of(time), partition);
    }
    passed = time;
    HF_RETURN_IF_ERROR(unbounded() ? give(partition, time, peers)
                                   : give_bounded(partition, time, peers));
  }
  return {};
}

// Rows of one time: with RANGE each sees all of them, with ROWS those before it.
Status OverRows::give(const std::string& partition, std::int64_t, const Rows& peers) {
  auto& sums = sums_.at(partition);
  if (!over_.rows) {
    for (const auto& row : peers)
      HF_RETURN_IF_ERROR(add(row, sums));
  }
  for (const auto& row : peers) {
    if (over_.rows) HF_RETURN_IF_ERROR(add(row, sums));
    HF_RETURN_IF_ERROR(show(row, sums));
  }
  return {};
}

Status OverRows::give_bounded(const std::string& partition, std::int64_t time, const Rows& peers) {
  Accumulators frame;
  const auto keep = [&](const sql::Row& row) {
    std::string key = partition;
    append_ordered(time, key);
    append_ordered(next_number_++, key);
    frames_.at(key) = row;
  };
  if (!over_.rows) {
    for (const auto& row : peers)
      keep(row);
    HF_RETURN_IF_ERROR(gather_frame(partition, time, frame));
  }
  for (const auto& row : peers) {
    if (over_.rows) {
      keep(row);
      HF_RETURN_IF_ERROR(gather_frame(partition, time, frame));
    }
    HF_RETURN_IF_ERROR(show(row, frame));
  }
  return {};
}

// What is in the frame of the newest row; what is before it goes.
Status OverRows::gather_frame(const std::string& partition, std::int64_t time,
                              Accumulators& accumulators) {
  accumulators.clear();
  std::vector<RowTable::iterator> rows;
  HF_RETURN_IF_ERROR(frames_.for_each(partition, [&](const std::string&, auto place) {
    rows.push_back(place);
    return Status();
  }));
  std::size_t first = 0;
  if (over_.rows) {
    const auto count = static_cast<std::size_t>(over_.preceding) + 1;
    first = rows.size() > count ? rows.size() - count : 0;
  } else {
    const auto is_old = [&](std::size_t i) {
      return static_cast<std::int64_t>(rows[i]->second.value[over_.time_column].number) <
             time - over_.preceding;
    };
    while (first < rows.size() && is_old(first))
      ++first;
  }
  for (std::size_t i = 0; i < first; ++i)
    frames_.erase(rows[i]);
  for (std::size_t i = first; i < rows.size(); ++i)
    HF_RETURN_IF_ERROR(add(rows[i]->second.value, accumulators));
  return {};
}

// All but what waits.
Status OverRows::forget(const std::string& partition) {
  std::vector<RowTable::iterator> rows;
  HF_RETURN_IF_ERROR(frames_.for_each(partition, [&](const std::string&, auto place) {
    rows.push_back(place);
    return Status();
  }));
  for (const auto place : rows)
    frames_.erase(place);
  if (const auto sums = sums_.find(partition); sums != sums_.end()) sums_.erase(sums);
  const auto passed = passed_.find(partition);
  ends_.erase({end_of(passed->second.value), partition});
  passed_.erase(passed);
  return {};
}

std::set<std::string> OverRows::waiting_partitions() const {
  std::set<std::string> waiting;
  for (const auto& [key, entry] : waiting_)
    waiting.insert(key.substr(8, key.size() - 16));
  return waiting;
}

// Rows that wait are to find what is before them.
Status OverRows::end_idle(std::int64_t oldest_ms) {
  oldest_ms_ = oldest_ms;
  const auto waiting = waiting_partitions();
  std::vector<std::string> idle;
  for (const auto& [partition, entry] : passed_) {
    if (HF_MUTANT("ST52", entry.used_ms <= oldest_ms && !waiting.contains(partition),
                  entry.used_ms <= oldest_ms))
      idle.push_back(partition);
  }
  for (const auto& partition : idle)
    HF_RETURN_IF_ERROR(forget(partition));
  return {};
}

}  // namespace holdfast::stream::graph
