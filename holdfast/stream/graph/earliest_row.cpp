#include "earliest_row.hpp"

namespace holdfast::stream::graph {

EarliestRow::EarliestRow(const Parts& parts)
    : Operator(parts),
      rank_(std::get<sql::Rank>(parts.node.what)),
      waiting_(parts.store, parts.first_slice, RowCodec{parts.inputs[0], {0, 4, 0}}),
      shown_(parts.store, parts.first_slice + 1, {}, parts.retention,
             StateStore::Grouping::kFirstPart),
      sweeps_(parts.retention) {}

std::int64_t EarliestRow::time_of(const sql::Row& row) const {
  return static_cast<std::int64_t>(row[rank_.order.front().value->column].number);
}

Status EarliestRow::take(std::size_t input, RowKind, const sql::Row& row) {
  if (row[rank_.order.front().value->column].null) return ++rows_without_time, Status();
  const auto time = time_of(row);
  if (HF_MUTANT("ST54", time < watermark(), time <= watermark())) return drop_late(input, row);
  if (std::int64_t oldest = 0; sweeps_.due(oldest))
    shown_.sweep(oldest, [](const std::string&, std::int64_t) {});
  std::string values, partition;
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(rank_.partition, row, values, null));
  append_part(values, partition);
  const auto before = waiting_.find(partition);
  if (before != waiting_.end()) {
    const auto waits = time_of(before->second.value);
    if (HF_MUTANT("ST55", waits <= time, waits < time)) return {};
    order_.erase({waits, partition});
  } else {
    HF_RETURN_IF_ERROR(shown_.fetch(partition));
    if (shown_.find(partition) != shown_.end()) return {};
  }
  waiting_.at(partition) = row;
  order_.emplace(time, std::move(partition));
  return {};
}

Status EarliestRow::pass(std::int64_t watermark) {
  while (!order_.empty() &&
         HF_MUTANT("ST56", order_.begin()->first <= watermark, order_.begin()->first < watermark)) {
    const auto [time, partition] = std::move(order_.extract(order_.begin()).value());
    const auto place = waiting_.find(partition);
    sql::Row row = std::move(place->second.value);
    waiting_.erase(place);
    shown_.at(partition) = time;
    if (rank_.numbered) row.push_back(sql::Value::of(1));
    HF_RETURN_IF_ERROR(emit(RowKind::kInsert, row));
  }
  return {};
}

Status EarliestRow::restore() {
  HF_RETURN_IF_ERROR(waiting_.restore());
  HF_RETURN_IF_ERROR(shown_.restore());
  for (const auto& [partition, entry] : waiting_)
    order_.emplace(time_of(entry.value), partition);
  return {};
}

Status EarliestRow::put_state() {
  HF_RETURN_IF_ERROR(waiting_.put_all());
  HF_RETURN_IF_ERROR(shown_.put_all());
  return shown_.wants_room() ? shown_.leave() : Status();
}

Status EarliestRow::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(waiting_.visit_state(visit));
  return shown_.visit_state(visit);
}

}  // namespace holdfast::stream::graph
