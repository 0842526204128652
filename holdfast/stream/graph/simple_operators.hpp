// simple_operators.hpp: operators that look at one row at a time, and those that wait for the end.
#pragma once

#include <holdfast/base/mutant.hpp>
#include <holdfast/sql/zone.hpp>
#include <holdfast/stream/graph/operator.hpp>

namespace holdfast::stream::graph {

class FilterRows : public Operator {
 public:
  using Operator::Operator;
  Status take(std::size_t, RowKind kind, const sql::Row& row) override {
    sql::Value value;
    HF_RETURN_IF_ERROR(sql::evaluate(*std::get<sql::Filter>(node().what).predicate, row, value));
    return value.is_true() ? emit(kind, row) : Status();
  }
};

class ProjectRows : public Operator {
 public:
  using Operator::Operator;
  Status take(std::size_t, RowKind kind, const sql::Row& row) override {
    const auto& expressions = std::get<sql::Project>(node().what).expressions;
    sql::Row result(expressions.size());
    for (std::size_t i = 0; i < result.size(); ++i)
      HF_RETURN_IF_ERROR(sql::evaluate(*expressions[i], row, result[i]));
    return emit(kind, result);
  }
};

class PassRows : public Operator {
 public:
  using Operator::Operator;
  Status take(std::size_t, RowKind kind, const sql::Row& row) override { return emit(kind, row); }
};

// The watermark of instants becomes the wall clock of a zone.
class WallClockRows : public PassRows {
 public:
  using PassRows::PassRows;
  std::int64_t forwarded(std::int64_t watermark) const override {
    if (watermark == kEndOfTime || watermark == kNoWatermark) return watermark;
    const auto& zone = *std::get<sql::WallClock>(node().what).zone;
    return HF_MUTANT("ST100", zone.settled_wall_of(watermark), watermark);
  }
};

// A row once per window it is in.
class AssignWindowRows : public Operator {
 public:
  using Operator::Operator;
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
};

// A row once for each element of its array.
class UnnestRows : public Operator {
 public:
  using Operator::Operator;
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
};

// Rows of sessions, each beside the bounds of its session, when that has ended. Two rows of a key
// are of one session if no more than the gap is between them. A row is late if it is near no row
// of an open session, and its own session would have ended. Rows that memory does not have are
// fetched by their key when a row of it comes, or when a session of it may end.
//
// State  [key, time, number] -> row.
class AssignSessionRows : public Operator {
 public:
  explicit AssignSessionRows(const Parts& parts);
  StateSize state_size() const override { return size_of(rows_); }
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override { return rows_.visit_state(visit); }
  std::set<std::int64_t> stored_slices() const override {
    return rows_.is_partial() ? std::set{slice(0)} : std::set<std::int64_t>();
  }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  // A row says when its session ends if no other one follows: then it is looked at. It does not end
  // there by itself.
  struct Codec : RowCodec {
    std::int64_t gap_ms = 0;
    std::int64_t end_of(std::string_view key, const sql::Row&) const {
      return lives_until(time_of(key) + gap_ms);
    }
  };
  using Table = StateTable<sql::Row, Codec>;
  // Of a key of the table.
  static std::int64_t time_of(std::string_view full) {
    std::string_view time = full.substr(full.size() - 16);
    return take_ordered(time);
  }
  // The last watermark that does not end a session.
  static std::int64_t lives_until(std::int64_t end) { return end - 2; }
  Status fetch(const std::string& key);
  Status adopt_all(const std::string& prefix);
  Status find_due();
  Status give(const std::string& key, std::int64_t last);
  Status leave();
  std::string row_key(const std::string& key, std::int64_t time, std::int64_t number) const;

  const sql::AssignSessions& sessions_;
  Table rows_;
  std::int64_t next_number_ = 0;
  // Where a session may end: [last time + gap, key]. Made of the rows.
  std::set<std::pair<std::int64_t, std::string>> ends_;
  // Sessions of the store that have not been looked at live so long at least.
  std::int64_t next_stored_ = kEndOfTime;
};

// Without an order, of rows that never change: the first ones, at once. SortRows (sort_rows.hpp)
// has the others.
//
// State  how many have come.
class FirstRows : public Operator {
 public:
  explicit FirstRows(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override { return count_.restore(); }
  Status put_state() override { return count_.put_all(); }
  Status visit_state(VisitState visit) const override { return count_.visit_state(visit); }
  StateSize state_size() const override { return size_of(count_); }

 private:
  const sql::Sort& sort_;
  NumberTable count_;
};

// How `left` and `right` stand in the order of a key: -1, 0, 1. NULL is nowhere equal to a value.
int compare_keys(const sql::Row& left, const sql::Row& right,
                 const std::vector<sql::OrderKey>& keys);

}  // namespace holdfast::stream::graph
