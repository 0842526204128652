#include "join_operators.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::stream::graph {
namespace {

using sql::JoinKind;

// -D for +I and the reverse.
RowKind opposite(RowKind kind) { return adds(kind) ? RowKind::kDelete : RowKind::kInsert; }
RowKind plain(RowKind kind) { return adds(kind) ? RowKind::kInsert : RowKind::kDelete; }

}  // namespace

JoinOperator::JoinOperator(const Parts& parts)
    : Operator(parts), join_(std::get<sql::Join>(parts.node.what)) {}

bool JoinOperator::keeps(std::size_t side) const {
  if (join_.kind == JoinKind::kFull) return true;
  return join_.kind == (side == kLeft ? JoinKind::kLeft : JoinKind::kRight);
}

bool JoinOperator::counts_partners(std::size_t side) const {
  return keeps(side) || (shows_left_alone() && side == kLeft);
}

bool JoinOperator::shows_left_alone() const {
  return join_.kind == JoinKind::kSemi || join_.kind == JoinKind::kAnti;
}

Result<std::string> JoinOperator::key_of(std::size_t side, const sql::Row& row, bool& null) const {
  std::string values, key;
  HF_RETURN_IF_ERROR(
      append_values(side == kLeft ? join_.left_keys : join_.right_keys, row, values, null));
  append_part(values, key);
  return key;
}

const sql::Row& JoinOperator::pair(const sql::Row& left, const sql::Row& right) {
  pair_ = left;
  pair_.insert(pair_.end(), right.begin(), right.end());
  return pair_;
}

Result<bool> JoinOperator::holds(const sql::Row& left, const sql::Row& right) {
  if (join_.condition == nullptr) return true;
  sql::Value value;
  HF_RETURN_IF_ERROR(sql::evaluate(*join_.condition, pair(left, right), value));
  return value.is_true();
}

Status JoinOperator::emit_pair(RowKind kind, const sql::Row& left, const sql::Row& right) {
  const sql::Row row = pair(left, right);  // What reads it may come back here.
  return emit(kind, row);
}

Status JoinOperator::emit_alone(RowKind kind, std::size_t side, const sql::Row& row) {
  const sql::Row none(columns_of(1 - side).size());
  return side == kLeft ? emit_pair(kind, row, none) : emit_pair(kind, none, row);
}

// ---- Regular ----
void RegularJoin::Codec::encode(const Counted& counted, std::string& bytes) const {
  append_ordered(counted.count, bytes);
  append_ordered(counted.partners, bytes);
  RowCodec{columns}.encode(counted.row, bytes);
}

bool RegularJoin::Codec::decode(std::string_view& bytes, Counted& counted) const {
  if (bytes.size() < 16) return false;
  counted.count = take_ordered(bytes);
  counted.partners = take_ordered(bytes);
  return counted.count > 0 && sql::is_summable(counted.count) && counted.partners >= 0 &&
         sql::is_summable(counted.partners) && take_row(bytes, *columns, counted.row);
}

RegularJoin::RegularJoin(const Parts& parts)
    : JoinOperator(parts),
      tables_{Table(parts.store, parts.first_slice, Codec{parts.inputs[0]}, parts.retention,
                    StateStore::Grouping::kFirstPart),
              Table(parts.store, parts.first_slice + 1, Codec{parts.inputs[1]}, parts.retention,
                    StateStore::Grouping::kFirstPart)},
      sweeps_(parts.retention) {}

Status RegularJoin::restore() {
  HF_RETURN_IF_ERROR(tables_[kLeft].restore());
  HF_RETURN_IF_ERROR(tables_[kRight].restore());
  return tables_[kLeft].is_partial() != tables_[kRight].is_partial() ? leave() : Status();
}

Status RegularJoin::leave() {
  HF_RETURN_IF_ERROR(tables_[kLeft].leave());
  return tables_[kRight].leave();
}

Status RegularJoin::put_state() {
  HF_RETURN_IF_ERROR(tables_[kLeft].put_all());
  HF_RETURN_IF_ERROR(tables_[kRight].put_all());
  return tables_[kLeft].wants_room() || tables_[kRight].wants_room() ? leave() : Status();
}

Status RegularJoin::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(tables_[kLeft].visit_state(visit));
  return tables_[kRight].visit_state(visit);
}

Status RegularJoin::take(std::size_t side, RowKind kind, const sql::Row& row) {
  if (std::int64_t oldest = 0; sweeps_.due(oldest)) {
    for (auto& table : tables_)
      table.sweep(oldest, [](const std::string&, const Counted&) {});
  }
  bool null = false;
  HF_ASSIGN_OR_RETURN(const auto key, key_of(side, row, null));
  if (null) return show_alone(side, kind, row, 0);
  for (auto& table : tables_)
    HF_RETURN_IF_ERROR(table.fetch(key));
  std::int64_t partners = 0;
  auto& others = tables_[1 - side];
  std::vector<typename Table::iterator> matches;
  HF_RETURN_IF_ERROR(others.for_each(key, [&](const std::string&, auto place) -> Status {
    const auto& other = place->second.value.row;
    HF_ASSIGN_OR_RETURN(const bool matches_row,
                        side == kLeft ? holds(row, other) : holds(other, row));
    if (!matches_row) return {};
    partners += place->second.value.count;
    matches.push_back(place);
    return {};
  }));
  // A row that goes is no more there when its partners are told.
  if (!keep(side, kind, key, row, partners)) return {};
  for (const auto place : matches) {
    auto& other = counts_partners(1 - side) ? others.changing(place) : place->second.value;
    HF_RETURN_IF_ERROR(meet(side, kind, row, other));
  }
  return show_alone(side, kind, row, partners);
}

// A row that is shown without a partner's columns, because of how many it has.
Status RegularJoin::show_alone(std::size_t side, RowKind kind, const sql::Row& row,
                               std::int64_t partners) {
  if (shows_left_alone()) {
    const bool wanted = (join_.kind == JoinKind::kSemi) == (partners > 0);
    return side == kLeft && wanted ? emit(kind, row) : Status();
  }
  return keeps(side) && partners == 0 ? emit_alone(kind, side, row) : Status();
}

// False: the row that goes is not there. It was late, or its time was over, so rows that came since
// have not counted it as a partner.
bool RegularJoin::keep(std::size_t side, RowKind kind, const std::string& key, const sql::Row& row,
                       std::int64_t partners) {
  auto full = key + bytes_of(row, columns_of(side));
  auto& table = tables_[side];
  if (adds(kind)) {
    Counted& counted = table.at(full);
    if (counted.count++ == 0) {
      counted.row = row;
      counted.partners = partners;
    }
    return true;
  }
  const auto found = table.find(full);
  if (found == table.end()) return false;
  if (--table.changing(found).count == 0) table.erase(found);
  return true;
}

// A row of `side` comes or goes, and is a partner of `other`.
Status RegularJoin::meet(std::size_t side, RowKind kind, const sql::Row& row, Counted& other) {
  const auto before = other.partners;
  const std::size_t side_of_other = 1 - side;
  if (counts_partners(side_of_other)) other.partners += adds(kind) ? 1 : -1;
  if (shows_left_alone()) return side == kRight ? meet_semi(before, kind, other) : Status();
  const bool alone_before = keeps(side_of_other) && adds(kind) && before == 0;
  const bool alone_after = keeps(side_of_other) && !adds(kind) && other.partners == 0;
  for (std::int64_t i = 0; i < other.count; ++i) {
    if (alone_before) HF_RETURN_IF_ERROR(emit_alone(RowKind::kDelete, side_of_other, other.row));
    HF_RETURN_IF_ERROR(side == kLeft ? emit_pair(kind, row, other.row)
                                     : emit_pair(kind, other.row, row));
    if (alone_after) HF_RETURN_IF_ERROR(emit_alone(RowKind::kInsert, side_of_other, other.row));
  }
  return {};
}

// The first partner of a left row comes, or its last goes.
Status RegularJoin::meet_semi(std::int64_t before, RowKind kind, Counted& left) {
  const bool changes = adds(kind) ? before == 0 : left.partners == 0;
  if (!changes) return {};
  const RowKind shown = join_.kind == JoinKind::kSemi ? plain(kind) : opposite(kind);
  for (std::int64_t i = 0; i < left.count; ++i)
    HF_RETURN_IF_ERROR(emit(shown, left.row));
  return {};
}

// ---- Windows ----

WindowJoin::WindowJoin(const Parts& parts)
    : JoinOperator(parts),
      tables_{Table(parts.store, parts.first_slice,
                    Codec{{parts.inputs[0], {1, 1, 1}}, join_.left_time}, {},
                    StateStore::Grouping::kKey),
              Table(parts.store, parts.first_slice + 1,
                    Codec{{parts.inputs[1], {1, 1, 1}}, join_.right_time}, {},
                    StateStore::Grouping::kKey)},
      numbers_(parts.store, parts.first_slice + 2) {}

Status WindowJoin::restore() {
  HF_RETURN_IF_ERROR(numbers_.restore());
  HF_ASSIGN_OR_RETURN(const bool whole, lacks_times(tables_));
  for (auto& table : tables_) {
    HF_RETURN_IF_ERROR(table.restore(whole));
    for (const auto& [key, entry] : table)
      numbers_.raise_to(sequence_of(key) + 1);
  }
  const bool one_is_partial = tables_[kLeft].is_partial() || tables_[kRight].is_partial();
  return one_is_partial ? leave() : Status();
}

Status WindowJoin::put_state() {
  for (auto& table : tables_)
    HF_RETURN_IF_ERROR(table.put_all());
  HF_RETURN_IF_ERROR(HF_MUTANT("ST61", numbers_.put(), Status()));
  if (is_partial() || tables_[kLeft].wants_room() || tables_[kRight].wants_room())
    HF_RETURN_IF_ERROR(leave());
  end_passed(tables_);
  return {};
}

Status WindowJoin::leave() {
  for (auto& table : tables_)
    HF_RETURN_IF_ERROR(table.leave());
  next_stored_ = watermark();
  return {};
}

Status WindowJoin::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(tables_[kLeft].visit_state(visit));
  HF_RETURN_IF_ERROR(tables_[kRight].visit_state(visit));
  return numbers_.visit_state(visit);
}

Status WindowJoin::take(std::size_t side, RowKind, const sql::Row& row) {
  const auto end = time_in(side, row);
  if (end == kNoWatermark) return ++rows_without_time, Status();
  if (end - 1 <= watermark()) return drop_late(side, row);
  bool null = false;
  HF_ASSIGN_OR_RETURN(const auto key, key_of(side, row, null));
  std::string full;
  append_ordered(end, full);
  full += null ? '\1' : '\0';
  full += key;
  append_ordered(numbers_.take(), full);
  tables_[side].at(full) = row;
  return {};
}

// Window by window, the earliest first.
Status WindowJoin::pass(std::int64_t watermark) {
  for (;;) {
    auto next = kEndOfTime;  // The last watermark that does not end it.
    for (const auto& table : tables_) {
      if (table.empty()) continue;
      std::string_view key = table.begin()->first;
      next = std::min(next, take_ordered(key) - 2);
    }
    if (std::min(next, next_stored_) >= watermark) return {};
    const bool finds = HF_MUTANT("ST60", next_stored_ <= next, next_stored_ < next);
    HF_RETURN_IF_ERROR(finds ? find_window() : join_next());
  }
}

// The rows of the next window that the store has.
Status WindowJoin::find_window() {
  const auto at = next_stored_;
  next_stored_ = kEndOfTime;
  for (auto& table : tables_) {
    const auto take = [&](std::string_view key, Table::Entry& entry) {
      return table.lend(key, std::move(entry.value)), Status();
    };
    HF_ASSIGN_OR_RETURN(const auto beyond, table.for_each_of_times(at, at, take));
    next_stored_ = std::min(next_stored_, beyond);
  }
  return {};
}

// The rows of the least key, of both sides at once.
Status WindowJoin::join_next() {
  std::string least;
  for (auto& table : tables_) {
    if (table.empty()) continue;
    const auto& first = table.begin()->first;
    const auto key = first.substr(0, first.size() - 8);
    if (least.empty() || key < least) least = key;
  }
  std::array<Rows, 2> rows;
  HF_RETURN_IF_ERROR(take_first(kLeft, least, rows[kLeft]));
  HF_RETURN_IF_ERROR(take_first(kRight, least, rows[kRight]));
  if (least[8] == '\0') return join_rows(rows[kLeft], rows[kRight]);
  HF_RETURN_IF_ERROR(join_rows(rows[kLeft], {}));  // NULL has no partner.
  return join_rows({}, rows[kRight]);
}

Status WindowJoin::take_first(std::size_t side, const std::string& key, Rows& rows) {
  auto& table = tables_[side];
  while (!table.empty()) {
    const auto first = table.begin();
    if (first->first.size() != key.size() + 8 || !first->first.starts_with(key)) break;
    rows.push_back(std::move(first->second.value));
    table.erase(first);
  }
  return {};
}

Status WindowJoin::join_rows(const Rows& left, const Rows& right) {
  std::vector<bool> matched(right.size());
  for (const auto& row : left) {
    bool any = false;
    for (std::size_t i = 0; i < right.size(); ++i) {
      HF_ASSIGN_OR_RETURN(const bool matches, holds(row, right[i]));
      if (!matches) continue;
      any = matched[i] = true;
      if (shows_left_alone()) break;
      HF_RETURN_IF_ERROR(emit_pair(RowKind::kInsert, row, right[i]));
    }
    if (shows_left_alone()) {
      if (any == (join_.kind == JoinKind::kSemi)) HF_RETURN_IF_ERROR(emit(RowKind::kInsert, row));
    } else if (!any && keeps(kLeft)) {
      HF_RETURN_IF_ERROR(emit_alone(RowKind::kInsert, kLeft, row));
    }
  }
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!matched[i] && keeps(kRight))
      HF_RETURN_IF_ERROR(emit_alone(RowKind::kInsert, kRight, right[i]));
  }
  return {};
}

}  // namespace holdfast::stream::graph
