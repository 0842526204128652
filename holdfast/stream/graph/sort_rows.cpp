#include "sort_rows.hpp"

#include <algorithm>
#include <limits>

#include <holdfast/base/mutant.hpp>
#include <holdfast/stream/compile/runtime/least_rows.hpp>
#include <holdfast/stream/graph/simple_operators.hpp>

namespace holdfast::stream::graph {

void SortRows::Codec::encode(const Counted& counted, std::string& bytes) const {
  append_ordered(counted.count, bytes);
  append_ordered(counted.number, bytes);
  RowCodec{columns}.encode(counted.row, bytes);
}

bool SortRows::Codec::decode(std::string_view& bytes, Counted& counted) const {
  if (bytes.size() < 16) return false;
  counted.count = take_ordered(bytes);
  counted.number = take_ordered(bytes);
  return counted.count > 0 && sql::is_summable(counted.count) && sql::is_summable(counted.number) &&
         take_row(bytes, *columns, counted.row);
}

SortRows::SortRows(const Parts& parts)
    : Operator(parts),
      sort_(std::holds_alternative<sql::Sort>(parts.node.what)
                ? std::get<sql::Sort>(parts.node.what)
                : no_order_),
      rows_(parts.store, parts.first_slice, Codec{parts.inputs[0]}, {}, StateStore::Grouping::kKey),
      numbers_(parts.store, parts.first_slice + 1) {}

Status SortRows::take(std::size_t, RowKind kind, const sql::Row& row) {
  const auto key = bytes_of(row, columns_of(0));
  HF_RETURN_IF_ERROR(rows_.fetch(key));
  if (adds(kind)) {
    auto& counted = rows_.at(key);
    if (counted.count++ == 0) {
      counted.row = row;
      counted.number = numbers_.take();
    }
    return {};
  }
  const auto found = rows_.find(key);
  if (found == rows_.end()) return {};
  if (--rows_.changing(found).count == 0) rows_.erase(found);
  return {};
}

// ---- What is shown ----

bool SortRows::Before::operator()(const Sorted& left, const Sorted& right) const {
  const int order = compare_keys(left.keys, right.keys, *keys);
  if (order != 0) return order < 0;
  if (left.counted->number != right.counted->number)
    return left.counted->number < right.counted->number;
  return left.bytes < right.bytes;
}

// The rows in memory, in their order; those in front of a row are given out before it.
class SortRows::Known {
 public:
  Known(std::vector<Sorted> rows, Before before) : rows_(std::move(rows)), before_(before) {
    std::sort(rows_.begin(), rows_.end(), before_);
    next_ = rows_.begin();
  }
  // Null: there is none. Until then.
  const Sorted* take_before(const Sorted* row) {
    if (next_ == rows_.end() || (row != nullptr && !before_(*next_, *row))) return nullptr;
    return &*next_++;
  }

 private:
  std::vector<Sorted> rows_;
  std::vector<Sorted>::const_iterator next_;
  const Before before_;
};

Result<SortRows::Sorted> SortRows::sorted(const Counted& counted, std::string_view bytes) const {
  Sorted sorted{sql::Row(sort_.keys.size()), &counted, bytes, nullptr};
  for (std::size_t i = 0; i < sort_.keys.size(); ++i)
    HF_RETURN_IF_ERROR(sql::evaluate(*sort_.keys[i].value, counted.row, sorted.keys[i]));
  return sorted;
}

std::uint64_t SortRows::left() const {
  constexpr auto kAll = sql::Sort::kAll;
  const auto end = sort_.limit < kAll - sort_.offset ? sort_.offset + sort_.limit : kAll;
  return end - std::min(given_, end);
}

Status SortRows::give(const Counted& counted) {
  for (std::int64_t i = 0; i < counted.count && left() != 0; ++i) {
    if (given_++ < sort_.offset) continue;
    HF_RETURN_IF_ERROR(emit(RowKind::kInsert, counted.row));
  }
  return {};
}

Status SortRows::pass(std::int64_t watermark) {
  if (watermark != kEndOfTime) return {};
  std::vector<Sorted> all;
  for (const auto& [bytes, entry] : rows_) {
    HF_ASSIGN_OR_RETURN(auto one, sorted(entry.value, bytes));
    all.push_back(std::move(one));
  }
  Known known(std::move(all), Before{&sort_.keys});
  given_ = 0;
  if (rows_.is_partial()) HF_RETURN_IF_ERROR(give_stored(known));
  while (const auto* const row = left() != 0 ? known.take_before(nullptr) : nullptr)
    HF_RETURN_IF_ERROR(give(*row->counted));
  return {};
}

// Those that only the store has, and those of memory in front of them.
Status SortRows::give_stored(Known& known) {
  query::LeastRows<Sorted, Before> rows(Before{&sort_.keys}, rows_.memory_bytes());
  const auto take = [&](std::string_view key, Table::Entry entry) -> Status {
    if (entry.used_ms != entry.value.number)
      return Error{Errc::kCorrupt, "a row of the state does not say its number"};
    auto stored = std::make_unique<std::pair<std::string, Counted>>(key, std::move(entry.value));
    HF_ASSIGN_OR_RETURN(auto row, sorted(stored->second, stored->first));
    row.stored = std::move(stored);
    if (rows.wants(row)) rows.take(std::move(row), Table::kMemoryOfEntry + 4 * key.size());
    return {};
  };
  for (bool more = true; more && left() != 0;) {
    // Without an order those of a block are behind one another.
    const bool by_number = sort_.keys.empty() && rows.last() != nullptr;
    const auto from = by_number ? rows.last()->counted->number + HF_MUTANT("ST163", 1, 2)
                                : std::numeric_limits<std::int64_t>::min();
    rows.begin(left());
    HF_RETURN_IF_ERROR(rows_.for_each_stored(from, take));
    Status status;
    rows.for_each([&](const Sorted& row) {
      while (const auto* const before = status ? known.take_before(&row) : nullptr)
        status = give(*before->counted);
      if (status) status = give(*row.counted);
      return status && left() != 0;
    });
    HF_RETURN_IF_ERROR(status);
    more = HF_MUTANT("ST164", rows.end(), (rows.end(), false));
  }
  return {};
}

// ---- State ----

Status SortRows::restore() {
  HF_RETURN_IF_ERROR(numbers_.restore());
  HF_ASSIGN_OR_RETURN(const bool says_times, rows_.says_times());
  HF_RETURN_IF_ERROR(rows_.restore(!says_times));
  // An earlier build wrote no next number.
  for (const auto& [key, entry] : rows_)
    numbers_.raise_to(HF_MUTANT("ST165", entry.value.number + 1, 0));
  return {};
}

Status SortRows::visit_state(VisitState visit) const {
  HF_RETURN_IF_ERROR(numbers_.visit_state(visit));
  return rows_.visit_state(visit);
}

Status SortRows::put_state() {
  HF_RETURN_IF_ERROR(numbers_.put());
  HF_RETURN_IF_ERROR(rows_.put_all());
  return HF_MUTANT("ST166", rows_.wants_room(), false) ? rows_.leave() : Status();
}

}  // namespace holdfast::stream::graph
