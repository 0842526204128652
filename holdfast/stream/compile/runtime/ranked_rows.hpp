// ranked_rows.hpp: rows of a partition in the order of their ranking (graph_ranks.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <holdfast/stream/compile/runtime/changes.hpp>

namespace holdfast::query {

// How two columns stand in an order: NULL is where `kNullsFirst` says.
template <bool kDescending, bool kNullsFirst, class T>
int compare_in_order(const Maybe<T>& a, const Maybe<T>& b) {
  if (!a.known || !b.known) {
    if (a.known == b.known) return 0;
    return a.known != kNullsFirst ? -1 : 1;
  }
  const int order = compare(a.value, b.value);
  return kDescending ? -order : order;
}

// A number by which equal rows stand in the order in which they came, or in its reverse.
template <bool kLatest>
std::int64_t rank_number(std::int64_t sequence) {
  return kLatest ? -sequence : sequence;
}
// The sequence of a row that comes after one with this number.
inline std::int64_t next_sequence(std::int64_t number) {
  return (number < 0 ? -number : number) + 1;
}

// How rows get their numbers: RANK, where a row behind two that are equal is the third, and
// DENSE_RANK, where it is the second.
enum class Ranking { kRowNumber, kRank, kDenseRank };

template <class Definition>
constexpr Ranking ranking_of() {
  if constexpr (requires { Definition::kRanking; })
    return Definition::kRanking;
  else
    return Ranking::kRowNumber;
}

// Calls visit(row, number) for rows in their order, up to the last that is shown.
template <class Definition, class Rows, class Visit>
void number_rows(const Rows& rows, const Visit& visit) {
  constexpr auto kRanking = ranking_of<Definition>();
  const typename Definition::Row* before = nullptr;
  std::uint64_t number = 0, place = 0;
  for (const auto& ranked : rows) {
    const bool equals = before != nullptr && Definition::compare(*before, ranked.row()) == 0;
    ++place;
    if (!equals || kRanking == Ranking::kRowNumber)
      number = kRanking == Ranking::kDenseRank ? number + 1 : place;
    if (number > Definition::kLast) return;
    visit(ranked.row(), number);
    before = &ranked.row();
  }
}

// `Held`: Kept or Pooled.
template <class Held>
struct RankedRow {
  Held kept;
  std::int64_t number = 0;  // As rank_number() gives it.
  mutable Mark mark;        // Of no meaning to the order.
  const auto& row() const { return kept.row(); }
};

// A row, or none, as a list of them: of partitions that show their first row there are many, and
// most of these have one row.
template <class Row>
class OneRow {
 public:
  using iterator = Row*;

  iterator begin() { return &row_; }
  iterator end() { return &row_ + size(); }
  std::size_t size() const { return there_ ? 1 : 0; }
  bool empty() const { return !there_; }
  Row& back() { return row_; }
  void set(const Row& row) {
    row_ = row;
    there_ = true;
  }
  iterator erase(iterator) {
    *this = {};
    return end();
  }

 private:
  Row row_;
  bool there_ = false;
};

// A row as one that is the same, not one that is equal in the ranking.
template <class Row>
struct SameRow {
  const Row& row;
  std::int64_t number = INT64_MIN;  // Before all that are the same.
};

// In the order of their ranking; a row among those that are in it, too. Equal rows stand in the
// order in which they came; with `kByBytes` in that of their bytes, so that one of many is found.
template <class Definition, bool kByBytes = false>
struct InRank {
  using is_transparent = void;
  using Row = typename Definition::Row;

  static int compare(const Row& a, const Row& b) {
    const int order = Definition::compare(a, b);
    if constexpr (kByBytes)
      return order != 0 ? order : Row::compare(a, b);
    else
      return order;
  }
  template <class Held>
  bool operator()(const RankedRow<Held>& a, const RankedRow<Held>& b) const {
    const int order = compare(a.row(), b.row());
    return order != 0 ? order < 0 : a.number < b.number;
  }
  template <class Held>
  bool operator()(const RankedRow<Held>& a, const Row& b) const {
    return Definition::compare(a.row(), b) < 0;
  }
  template <class Held>
  bool operator()(const Row& a, const RankedRow<Held>& b) const {
    return Definition::compare(a, b.row()) < 0;
  }
  template <class Held>
  bool operator()(const RankedRow<Held>& a, const SameRow<Row>& b) const {
    const int order = compare(a.row(), b.row);
    return order != 0 ? order < 0 : a.number < b.number;
  }
  template <class Held>
  bool operator()(const SameRow<Row>& a, const RankedRow<Held>& b) const {
    const int order = compare(a.row, b.row());
    return order != 0 ? order < 0 : a.number < b.number;
  }
};

// Rows in the order of their ranking, of which any may go. Where one was looked for among many that
// are equal to it, they are known by their bytes from then on; with `kByBytes` they stand so.
template <class Definition, class Held, bool kByBytes>
class RankedTree : public std::set<RankedRow<Held>, InRank<Definition, kByBytes>> {
  using Tree = std::set<RankedRow<Held>, InRank<Definition, kByBytes>>;
  using Row = typename Definition::Row;

 public:
  using Place = typename Tree::iterator;

  Place add(RankedRow<Held> ranked) {
    const auto at = Tree::insert(std::move(ranked)).first;
    if constexpr (!kByBytes) {
      if (numbers_ != nullptr) number(*at);
    }
    return at;
  }
  Place erase(Place at) {
    if constexpr (!kByBytes) {
      if (numbers_ != nullptr) numbers_->erase({bytes_of(at->row()), at->number});
    }
    return Tree::erase(at);
  }
  // Of rows that are the same the one that came first. None: end().
  Place find(const Row& row) {
    if constexpr (kByBytes) {
      const auto at = Tree::lower_bound(SameRow<Row>{row});
      return at != this->end() && Row::compare(at->row(), row) == 0 ? at : this->end();
    } else {
      if (numbers_ != nullptr) return find_by_bytes(row);
      constexpr int kFew = 32;
      auto at = Tree::lower_bound(row);
      for (int seen = 0; at != this->end() && Definition::compare(at->row(), row) == 0; ++at) {
        if (Row::compare(at->row(), row) == 0) return at;
        if (++seen == kFew) return find_by_bytes(row);
      }
      return this->end();
    }
  }

 private:
  static std::string bytes_of(const Row& row) {
    std::string bytes;
    row.append(bytes);
    return bytes;
  }
  void number(const RankedRow<Held>& ranked) {
    numbers_->emplace(bytes_of(ranked.row()), ranked.number);
  }
  Place find_by_bytes(const Row& row) {
    if (numbers_ == nullptr) {
      numbers_ = std::make_unique<Numbers>();
      for (const auto& ranked : *this)
        number(ranked);
    }
    const auto bytes = bytes_of(row);
    const auto found = numbers_->lower_bound({bytes, INT64_MIN});
    if (found == numbers_->end() || found->first != bytes) return this->end();
    return Tree::find(SameRow<Row>{row, found->second});
  }

  using Numbers = std::set<std::pair<std::string, std::int64_t>>;
  std::unique_ptr<Numbers> numbers_;  // By bytes.
};

}  // namespace holdfast::query
