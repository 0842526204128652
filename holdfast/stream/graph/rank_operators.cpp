#include "rank_operators.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include <holdfast/stream/graph/simple_operators.hpp>

namespace holdfast::stream::graph {
namespace {

Status evaluate_keys(const std::vector<sql::OrderKey>& order, const sql::Row& row, sql::Row& keys) {
  keys.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    HF_RETURN_IF_ERROR(sql::evaluate(*order[i].value, row, keys[i]));
  return {};
}

// Of the row behind one that has the number `before`; 0: of the first, which is at `place` 0.
std::uint64_t next_number_of(sql::Ranking ranking, std::uint64_t before, std::size_t place,
                             bool equals) {
  if (ranking == sql::Ranking::kRowNumber || (ranking == sql::Ranking::kRank && !equals))
    return place + 1;
  return equals ? before : before + 1;
}

// By which equal rows stand in the order in which they came, or in the reverse of it.
std::int64_t number_of(const sql::Rank& rank, std::int64_t sequence) {
  return HF_MUTANT("ST53", rank.latest, false) ? -sequence : sequence;
}
// Of a row that comes behind one with this number.
std::int64_t next_sequence(std::int64_t number) { return std::abs(number) + 1; }

bool are_equal(const RankedRow& left, const RankedRow& right,
               const std::vector<sql::OrderKey>& order) {
  return compare_keys(left.keys, right.keys, order) == 0;
}

// Of RunningRank::state_key().
std::string partition_in(const std::string& key) { return key.substr(4, key.size() - 12); }

}  // namespace

bool RankedBefore::operator()(const RankedRow& left, const RankedRow& right) const {
  const int compared = compare_keys(left.keys, right.keys, *order);
  if (compared != 0) return compared < 0;
  return std::tie(left.bytes, left.number) < std::tie(right.bytes, right.number);
}

bool RankedBefore::operator()(const sql::Row& keys, const RankedRow& row) const {
  return compare_keys(keys, row.keys, *order) < 0;
}

bool RankedBefore::operator()(const RankedRow& row, const sql::Row& keys) const {
  return compare_keys(row.keys, keys, *order) < 0;
}

// ---- Running ----
RunningRank::RunningRank(const Parts& parts, bool retracts)
    : Operator(parts),
      rank_(std::get<sql::Rank>(parts.node.what)),
      retracts_(retracts),
      tied_(rank_.ranking != sql::Ranking::kRowNumber),
      dense_(rank_.ranking == sql::Ranking::kDenseRank),
      table_(parts.store, parts.first_slice, RowCodec{parts.inputs[0], {0, 4, 1}}, parts.retention,
             StateStore::Grouping::kFirstPart),
      sweeps_(parts.retention) {}

std::string RunningRank::state_key(const std::string& partition, std::int64_t number) const {
  std::string key;
  append_part(partition, key);
  append_ordered(number, key);
  return key;
}

Result<RankedRow> RunningRank::ranked(const sql::Row& row, std::int64_t number) const {
  RankedRow ranked{{}, row, number, tied_ ? bytes_of(row, columns_of(0)) : std::string()};
  HF_RETURN_IF_ERROR(evaluate_keys(rank_.order, row, ranked.keys));
  return ranked;
}

RunningRank::Rows& RunningRank::rows_of(const std::string& partition) {
  return partitions_.try_emplace(partition, RankedBefore{&rank_.order}).first->second;
}

// Then it is never one of those that are shown, if none goes.
bool RunningRank::is_behind_all(const Rows& rows, const RankedRow& row) const {
  if (rank_.last == 0) return true;  // None is shown.
  return rank_.ranking == sql::Ranking::kRowNumber && rows.size() >= rank_.last &&
         RankedBefore{&rank_.order}(*rows.rbegin(), row);
}

// Of rows that are the same the one that came first.
Result<RunningRank::Place> RunningRank::find(Rows& rows, const sql::Row& row) const {
  constexpr int kFew = 32;
  // Before all rows that are equal to it in the ranking, or the same.
  HF_ASSIGN_OR_RETURN(auto like, ranked(row, std::numeric_limits<std::int64_t>::min()));
  const auto bytes = bytes_of(row, columns_of(0));
  if (rows.numbers != nullptr) return find_by_bytes(rows, std::move(like), bytes);
  auto place = rows.lower_bound(like);
  for (int seen = 0; place != rows.end() && are_equal(*place, like, rank_.order); ++place) {
    if (bytes_of(place->row, columns_of(0)) == bytes) return place;
    if (tied_) break;
    if (++seen == kFew) return find_by_bytes(rows, std::move(like), bytes);
  }
  return rows.end();
}

RunningRank::Place RunningRank::find_by_bytes(Rows& rows, RankedRow like,
                                              const std::string& bytes) const {
  if (rows.numbers == nullptr) {
    rows.numbers = std::make_unique<std::set<std::pair<std::string, std::int64_t>>>();
    for (const auto& row : rows)
      rows.numbers->emplace(bytes_of(row.row, columns_of(0)), row.number);
  }
  const auto found = rows.numbers->lower_bound({bytes, like.number});
  if (found == rows.numbers->end() || found->first != bytes) return rows.end();
  like.number = found->second;
  return rows.find(like);
}

Status RunningRank::show(RowKind kind, const RankedRow& row, std::uint64_t number) {
  if (!rank_.numbered) return emit(kind, row.row);
  sql::Row result = row.row;
  result.push_back(sql::Value::of(static_cast<sql::Int128>(number)));
  return emit(kind, result);
}

// A row has come, or is to go. The first row that is not shown, if it came.
Result<RunningRank::Place> RunningRank::show_change(const Rows& rows, Place at, bool came) {
  if (!tied_) return show_moved(rows, at, came);
  const auto number = tied_number(rows, at->keys);
  if (number > rank_.last) return at;
  if (is_shown(number))
    HF_RETURN_IF_ERROR(show(came ? RowKind::kInsert : RowKind::kDelete, *at, number));
  return show_behind(rows, at, number, came);
}

// ---- Where each row has a number of its own ----

// How many stand before it, up to the last: it looks from both ends.
std::uint64_t RunningRank::number_at(const Rows& rows, Place at) const {
  std::uint64_t before = 0;
  for (auto first = rows.begin(), last = rows.end(); first != at && before < rank_.last;
       ++first, --last, ++before) {
    if (last == at) return rows.size() - before;
  }
  return before;
}

// From the row on, each number has another row.
Result<RunningRank::Place> RunningRank::show_moved(const Rows& rows, Place at, bool came) {
  auto number = number_at(rows, at) + 1;
  auto place = at;
  for (; place != rows.end() && number <= rank_.last; ++number) {
    const auto* const row = &*place++;
    const auto* const next = place == rows.end() ? nullptr : &*place;
    const auto *const was = came ? next : row, *const is = came ? row : next;
    if (number < rank_.first) continue;
    if (was != nullptr) {
      HF_RETURN_IF_ERROR(
          show(is != nullptr ? RowKind::kUpdateBefore : RowKind::kDelete, *was, number));
    }
    if (is != nullptr) {
      HF_RETURN_IF_ERROR(
          show(was != nullptr ? RowKind::kUpdateAfter : RowKind::kInsert, *is, number));
    }
  }
  return place;
}

// ---- Where equal rows have one number ----

// The number of a row, whether it is there or not; above the last: it is not shown.
std::uint64_t RunningRank::tied_number(const Rows& rows, const sql::Row& keys) const {
  std::uint64_t number = 1;
  for (auto place = rows.begin();
       number <= rank_.last && place != rows.end() && rows.key_comp()(*place, keys); ++number)
    place = dense_ ? rows.upper_bound(place->keys) : std::next(place);
  return number;
}

// Of a row behind all from `begin` to `end`, which have this number; no further than the last.
std::uint64_t RunningRank::number_behind(Place begin, Place end, std::uint64_t number) const {
  if (dense_) return number + 1;
  for (; begin != end && number <= rank_.last; ++begin)
    ++number;
  return number;
}

Status RunningRank::show_other_number(Place begin, Place end, std::uint64_t was, std::uint64_t is) {
  const bool before = is_shown(was), after = is_shown(is);
  if (before && after && !rank_.numbered) return {};
  for (; begin != end && (before || after); ++begin) {
    if (before) {
      HF_RETURN_IF_ERROR(show(after ? RowKind::kUpdateBefore : RowKind::kDelete, *begin, was));
    }
    if (after) {
      HF_RETURN_IF_ERROR(show(before ? RowKind::kUpdateAfter : RowKind::kInsert, *begin, is));
    }
  }
  return {};
}

// Rows behind one that came, or goes, have a number higher by one while it is there. Equal ones do
// not, nor those behind them with DENSE_RANK where it has equals.
Result<RunningRank::Place> RunningRank::show_behind(const Rows& rows, Place at,
                                                    std::uint64_t number, bool came) {
  // Not equal_range(), which goes over them.
  const auto begin = rows.lower_bound(at->keys), end = rows.upper_bound(at->keys);
  if (HF_MUTANT("ST57", dense_ && std::next(begin) != end, false)) return rows.end();
  auto without = number_behind(begin, end, number - 1);
  auto place = end;
  while (place != rows.end() && without <= rank_.last) {
    const auto next = rows.upper_bound(place->keys);
    HF_RETURN_IF_ERROR(show_other_number(place, next, without + !came, without + came));
    if (without == rank_.last) return place;
    without = number_behind(place, next, without);
    place = next;
  }
  return place;
}

// What is forgotten is not taken back: those behind it move up where it was.
void RunningRank::forget_idle(std::int64_t oldest) {
  table_.sweep(oldest, [this](const std::string& key, const sql::Row& row) {
    const auto found = partitions_.find(partition_in(key));
    // It was evaluated when it came.
    if (auto known = ranked(row, sequence_of(key)); known && found != partitions_.end()) {
      found->second.erase(*known);
      found->second.numbers.reset();
      if (found->second.empty()) partitions_.erase(found);
    }
  });
}

Status RunningRank::take(std::size_t, RowKind kind, const sql::Row& row) {
  if (std::int64_t oldest = 0; sweeps_.due(oldest)) forget_idle(oldest);
  std::string partition;
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(rank_.partition, row, partition, null));
  HF_RETURN_IF_ERROR(fetch(partition));
  return adds(kind) ? come(partition, row) : go(partition, row);
}

Status RunningRank::come(const std::string& partition, const sql::Row& row) {
  HF_ASSIGN_OR_RETURN(auto ranked_row, ranked(row, number_of(rank_, next_number_++)));
  auto& rows = rows_of(partition);
  if (!retracts_ && is_behind_all(rows, ranked_row)) return {};
  table_.at(state_key(partition, ranked_row.number)) = row;
  if (rows.numbers != nullptr)
    rows.numbers->emplace(bytes_of(row, columns_of(0)), ranked_row.number);
  const auto at = rows.insert(std::move(ranked_row)).first;
  HF_ASSIGN_OR_RETURN(const auto behind, show_change(rows, at, true));
  if (retracts_) return {};
  // Rows that are never taken back keep their place or move behind: these are never shown again.
  for (auto place = behind; place != rows.end(); ++place)
    forget(partition, *place);
  rows.erase(behind, rows.end());
  return {};
}

Status RunningRank::go(const std::string& partition, const sql::Row& row) {
  const auto found = partitions_.find(partition);
  if (found == partitions_.end()) return {};
  auto& rows = found->second;
  HF_ASSIGN_OR_RETURN(const auto place, find(rows, row));
  if (place == rows.end()) return {};
  HF_RETURN_IF_ERROR(show_change(rows, place, false));
  const auto gone = rows.extract(place);
  if (rows.numbers != nullptr)
    rows.numbers->erase({bytes_of(row, columns_of(0)), gone.value().number});
  forget(partition, gone.value());
  if (rows.empty()) partitions_.erase(found);
  return {};
}

void RunningRank::forget(const std::string& partition, const RankedRow& row) {
  const auto gone = table_.find(state_key(partition, row.number));
  if (gone != table_.end()) table_.erase(gone);
}

// An entry of the table that the store had. Numbers tell rows of one partition apart, so those of
// partitions that are not in memory do not count.
template <class Stored>
Status RunningRank::adopt(const Stored& entry) {
  const auto number = sequence_of(entry.first);
  next_number_ = std::max(next_number_, next_sequence(number));
  HF_ASSIGN_OR_RETURN(auto row, ranked(entry.second.value, number));
  auto& rows = rows_of(partition_in(entry.first));
  rows.insert(std::move(row));
  rows.numbers.reset();
  return {};
}

Status RunningRank::restore() {
  HF_RETURN_IF_ERROR(table_.restore());
  for (const auto& entry : table_)
    HF_RETURN_IF_ERROR(adopt(entry));
  return {};
}

Status RunningRank::fetch(const std::string& partition) {
  if (!table_.is_partial() || partitions_.contains(partition)) return {};
  std::string group;
  append_part(partition, group);
  HF_RETURN_IF_ERROR(table_.fetch(group));
  return table_.for_each(group, [this](const std::string&, auto place) { return adopt(*place); });
}

Status RunningRank::put_state() {
  HF_RETURN_IF_ERROR(table_.put_all());
  if (!table_.wants_room()) return {};
  HF_RETURN_IF_ERROR(table_.leave());
  if (table_.is_partial()) partitions_.clear();
  return {};
}

// ---- Windows ----
WindowRank::WindowRank(const Parts& parts)
    : Operator(parts),
      rank_(std::get<sql::Rank>(parts.node.what)),
      table_(parts.store, parts.first_slice, Codec{{parts.inputs[0], {1, 4, 1}}}, {},
             StateStore::Grouping::kKey),
      numbers_(parts.store, parts.first_slice + 1) {}

Status WindowRank::take(std::size_t input, RowKind, const sql::Row& row) {
  const auto& end = row[rank_.end_column];
  if (end.null) return ++rows_without_time, Status();
  const auto ends = static_cast<std::int64_t>(end.number);
  if (ends - 1 <= watermark()) return drop_late(input, row);
  std::string partition, key;
  bool null = false;
  HF_RETURN_IF_ERROR(append_values(rank_.partition, row, partition, null));
  append_ordered(ends, key);
  append_part(partition, key);
  append_ordered(number_of(rank_, numbers_.take()), key);
  table_.at(key) = row;
  return {};
}

// Window by window, the earliest first.
Status WindowRank::pass(std::int64_t watermark) {
  for (;;) {
    const auto next = table_.empty() ? kEndOfTime : lives_until(table_.begin()->first);
    if (std::min(next, next_stored_) >= watermark) return {};
    const bool finds = HF_MUTANT("ST121", next_stored_ <= next, next_stored_ < next);
    HF_RETURN_IF_ERROR(finds ? find_window() : show_next());
  }
}

// The rows of the next window that the store has.
Status WindowRank::find_window() {
  const auto take = [this](std::string_view key, auto& entry) {
    return table_.lend(key, std::move(entry.value)), Status();
  };
  HF_ASSIGN_OR_RETURN(next_stored_, table_.for_each_of_times(next_stored_, next_stored_, take));
  return {};
}

// The least partition.
Status WindowRank::show_next() {
  const auto first = table_.begin()->first;
  const auto partition = first.substr(0, first.size() - 8);
  std::vector<RankedRow> rows;
  while (!table_.empty() && table_.begin()->first.starts_with(partition) &&
         table_.begin()->first.size() == first.size()) {
    const auto place = table_.begin();
    rows.push_back({{}, std::move(place->second.value), sequence_of(place->first), {}});
    HF_RETURN_IF_ERROR(evaluate_keys(rank_.order, rows.back().row, rows.back().keys));
    table_.erase(place);
  }
  return show(rows);
}

Status WindowRank::show(std::vector<RankedRow>& rows) {
  std::sort(rows.begin(), rows.end(), RankedBefore{&rank_.order});
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool equals = i > 0 && are_equal(rows[i - 1], rows[i], rank_.order);
    number = next_number_of(rank_.ranking, number, i, equals);
    if (number > rank_.last) break;
    if (number < rank_.first) continue;
    sql::Row row = rows[i].row;
    if (rank_.numbered) row.push_back(sql::Value::of(static_cast<sql::Int128>(number)));
    HF_RETURN_IF_ERROR(emit(RowKind::kInsert, row));
  }
  return {};
}

// ---- State of windows ----
Status WindowRank::restore() {
  HF_RETURN_IF_ERROR(numbers_.restore());
  HF_ASSIGN_OR_RETURN(const bool says_times, table_.says_times());
  HF_RETURN_IF_ERROR(table_.restore(!says_times));
  for (const auto& [key, entry] : table_)
    numbers_.raise_to(next_sequence(sequence_of(key)));
  return table_.is_partial() ? leave() : Status();
}

Status WindowRank::put_state() {
  HF_RETURN_IF_ERROR(table_.put_all());
  HF_RETURN_IF_ERROR(HF_MUTANT("ST122", numbers_.put(), Status()));
  if (table_.is_partial() || table_.wants_room()) HF_RETURN_IF_ERROR(leave());
  if (watermark() != kNoWatermark)
    table_.end_until(HF_MUTANT("ST123", watermark() - 1, watermark()));
  return {};
}

Status WindowRank::leave() {
  next_stored_ = watermark();
  return table_.leave();
}

Status WindowRank::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(table_.visit_state(visit));
  return numbers_.visit_state(visit);
}

}  // namespace holdfast::stream::graph
