// rank_operators.hpp: the first rows of each partition, and aggregates over rows before a row.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream/group_operator.hpp>

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

// The rows `first` to `last` of each partition, as they change. A partition is fetched when a row
// of it comes.
//
// State  [partition, number] -> row.
// Costs  A row that comes or goes takes O(log rows), O(last) where it is one of the shown, and what
//        it gives; without equal numbers one that goes looks at those that are equal to it.
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
  using Rows = std::set<RankedRow, RankedBefore>;
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
  Result<Place> find(const Rows& rows, const sql::Row& row) const;
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

// The same of each window, when it has ended.
//
// State  [window_end, partition, number] -> row.
class WindowRank : public Operator {
 public:
  explicit WindowRank(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override { return table_.put_all(); }
  Status visit_state(VisitState visit) const override { return table_.visit_state(visit); }
  StateSize state_size() const override { return size_of(table_); }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  Status show(std::vector<RankedRow>& rows);

  const sql::Rank& rank_;
  RowTable table_;
  std::int64_t next_number_ = 0;
};

// Aggregates of rows up to each row, in the order of their times. A row waits until the watermark
// has passed its time. It is late if a row of its partition with this time or a later one has not
// waited any more. With a frame of times a partition is forgotten when the watermark is behind its
// last row by the frame and half as much again, as Flink does; any other when no row of it has come
// for the retention.
//
// State  waiting: [time, number] -> row; frames: [partition, time, number] -> row; sums: partition
//        -> accumulators of all rows before, where the frame has no end; passed: partition -> time
//        of the last row.
class OverRows : public Operator {
 public:
  explicit OverRows(const Parts& parts);
  StateSize state_size() const override { return size_of(waiting_, frames_, sums_, passed_); }
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override;

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  struct Codec {
    const sql::OverAggregate* over;
    void encode(const Accumulators& accumulators, std::string& bytes) const;
    bool decode(std::string_view& bytes, Accumulators& accumulators) const;
  };
  using Rows = std::vector<sql::Row>;
  Result<std::string> partition_of(const sql::Row& row) const;
  Status add(const sql::Row& row, Accumulators& accumulators) const;
  Status show(const sql::Row& row, const Accumulators& accumulators);
  Status give(const std::string& partition, std::int64_t time, const Rows& peers);
  Status give_bounded(const std::string& partition, std::int64_t time, const Rows& peers);
  Status gather_frame(const std::string& partition, std::int64_t time, Accumulators& accumulators);
  Status give_until(std::int64_t watermark);
  Status forget(const std::string& partition);
  Status end_idle(std::int64_t oldest_ms);
  bool ends_by_time() const { return !over_.rows && !unbounded(); }
  std::int64_t end_of(std::int64_t passed) const {
    return passed + over_.preceding + over_.preceding / 2 + 1;
  }
  bool unbounded() const { return over_.preceding == sql::OverAggregate::kUnbounded; }

  const sql::OverAggregate& over_;
  RowTable waiting_, frames_;
  StateTable<Accumulators, Codec> sums_;
  NumberTable passed_;
  std::set<std::pair<std::int64_t, std::string>> ends_;  // Of partitions that end by time.
  std::int64_t next_number_ = 0;
  Sweeps sweeps_;
};

}  // namespace holdfast::stream::graph
