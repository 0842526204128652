// rank_operators.hpp: the first rows of each partition.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/graph/operator.hpp>

namespace holdfast::stream::graph {

// Rows of a partition in their order; equal ones in that in which they came, or, where they have
// one number, in that of their bytes, so that one of many is found.
struct RankedRow {
  sql::Row keys;  // What they are ordered by.
  sql::Row row;
  std::int64_t number = 0;
  std::string bytes;  // None: rows of no ranking whose equal rows have one number.
};
struct RankedBefore {
  using is_transparent = void;
  const std::vector<sql::OrderKey>* order;
  bool operator()(const RankedRow& left, const RankedRow& right) const;
  // Behind all that are equal in the ranking, and before them.
  bool operator()(const sql::Row& keys, const RankedRow& row) const;
  bool operator()(const RankedRow& row, const sql::Row& keys) const;
};

// Those of a partition. Where one was looked for among many that are equal to it, they are known by
// their bytes from then on.
class RankedRows : public std::set<RankedRow, RankedBefore> {
 public:
  using set::set;
  std::unique_ptr<std::set<std::pair<std::string, std::int64_t>>> numbers;  // By bytes.
};

// The rows `first` to `last` of each partition, as they change. A partition is fetched when a row
// of it comes.
//
// State  [partition, number] -> row.
// Costs  A row that comes or goes takes O(log rows), and O(last) where it is one of the shown; and
//        what it gives.
class RunningRank : public Operator {
 public:
  // `retracts`: rows may be taken back, so that all are kept; else those up to `last` are enough.
  RunningRank(const Parts& parts, bool retracts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override { return table_.visit_state(visit); }
  std::set<std::int64_t> stored_slices() const override {
    return table_.is_partial() ? std::set{slice(0)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(table_); }

 private:
  using Rows = RankedRows;
  using Place = Rows::iterator;
  Result<RankedRow> ranked(const sql::Row& row, std::int64_t number) const;
  Rows& rows_of(const std::string& partition);
  Status fetch(const std::string& partition);
  template <class Stored>
  Status adopt(const Stored& entry);
  bool is_behind_all(const Rows& rows, const RankedRow& row) const;
  bool is_shown(std::uint64_t number) const {
    return number >= rank_.first && number <= rank_.last;
  }
  Result<Place> find(Rows& rows, const sql::Row& row) const;
  Place find_by_bytes(Rows& rows, RankedRow like, const std::string& bytes) const;
  Status show(RowKind kind, const RankedRow& row, std::uint64_t number);
  Result<Place> show_change(const Rows& rows, Place at, bool came);
  std::uint64_t number_at(const Rows& rows, Place at) const;
  Result<Place> show_moved(const Rows& rows, Place at, bool came);
  std::uint64_t tied_number(const Rows& rows, const sql::Row& keys) const;
  std::uint64_t number_behind(Place begin, Place end, std::uint64_t number) const;
  Status show_other_number(Place begin, Place end, std::uint64_t was, std::uint64_t is);
  Result<Place> show_behind(const Rows& rows, Place at, std::uint64_t number, bool came);
  Status come(const std::string& partition, const sql::Row& row);
  Status go(const std::string& partition, const sql::Row& row);
  void forget(const std::string& partition, const RankedRow& row);
  std::string state_key(const std::string& partition, std::int64_t number) const;
  void forget_idle(std::int64_t oldest);

  const sql::Rank& rank_;
  const bool retracts_, tied_, dense_;
  RowTable table_;
  std::map<std::string, Rows> partitions_;  // Made of the table.
  std::int64_t next_number_ = 0;
  Sweeps sweeps_;
};

// The same of each window, when it has ended. Where memory has not all rows, it has those since the
// last checkpoint, and those of the window that ends.
//
// State  [window_end, partition, number] -> row; numbers: the next one.
class WindowRank : public Operator {
 public:
  explicit WindowRank(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  std::int64_t next_number() const override { return numbers_.next(); }
  void raise_number(std::int64_t next) override { numbers_.raise_to(next); }
  Status put_state() override;
  Status visit_state(VisitState visit) const override;
  std::set<std::int64_t> stored_slices() const override {
    return table_.is_partial() ? std::set{slice(0)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(table_); }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  // The last watermark that does not end it.
  static std::int64_t lives_until(std::string_view key) { return take_ordered(key) - 2; }
  struct Codec : RowCodec {
    std::int64_t end_of(std::string_view key, const sql::Row&) const { return lives_until(key); }
  };
  Status find_window();
  Status show_next();
  Status show(std::vector<RankedRow>& rows);
  Status leave();

  const sql::Rank& rank_;
  StateTable<sql::Row, Codec> table_;
  NextNumber numbers_;
  // Windows of the store that have not been shown live so long at least.
  std::int64_t next_stored_ = kEndOfTime;
};

}  // namespace holdfast::stream::graph
