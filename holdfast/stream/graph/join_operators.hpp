// join_operators.hpp: joins of streams in their forms (sql::JoinForm).
//
// A row whose keys have a NULL has no partner. Where rows of one side are all shown, it is shown
// beside NULLs.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <holdfast/stream/compile/runtime/due_rows.hpp>
#include <holdfast/stream/graph/operator.hpp>

namespace holdfast::stream::graph {

// What all joins do alike.
class JoinOperator : public Operator {
 public:
  explicit JoinOperator(const Parts& parts);

 protected:
  static constexpr std::size_t kLeft = 0, kRight = 1;
  // The rows of this side are shown also where they have no partner.
  bool keeps(std::size_t side) const;
  bool shows_left_alone() const;  // Semi and anti joins.
  // How many partners a row of this side has says what is shown of it.
  bool counts_partners(std::size_t side) const;
  Result<std::string> key_of(std::size_t side, const sql::Row& row, bool& null) const;
  Result<bool> holds(const sql::Row& left, const sql::Row& right);
  Status emit_pair(RowKind kind, const sql::Row& left, const sql::Row& right);
  // A row of `side` beside NULLs.
  Status emit_alone(RowKind kind, std::size_t side, const sql::Row& row);
  std::int64_t time_in(std::size_t side, const sql::Row& row) const {
    const auto& value = row[side == kLeft ? join_.left_time : join_.right_time];
    return value.null ? kNoWatermark : static_cast<std::int64_t>(value.number);
  }

  // Of the tables of both sides, whose rows say until when they live. Whether all rows are to be in
  // memory, since some of an earlier build do not say it.
  template <class Tables>
  static Result<bool> lacks_times(const Tables& tables) {
    for (const auto& table : tables) {
      HF_ASSIGN_OR_RETURN(const bool says_times, table.says_times());
      if (!says_times) return true;
    }
    return false;
  }
  // With a checkpoint: what the watermark has passed goes from the store, too.
  template <class Tables>
  void end_passed(Tables& tables) const {
    if (watermark() == kNoWatermark) return;
    for (auto& table : tables)
      table.end_until(watermark() - 1);
  }

  const sql::Join& join_;

 private:
  const sql::Row& pair(const sql::Row& left, const sql::Row& right);
  sql::Row pair_;
};

// Each change of a side with all rows that the other side has. Those of a key are fetched when one
// of it comes. Either both sides have all of their rows in memory, or neither.
//
// State, of each side  [key, row] -> how often it is there, how many partners it has; had when it
//                      came, where it does not matter.
class RegularJoin : public JoinOperator {
 public:
  explicit RegularJoin(const Parts& parts);
  StateSize state_size() const override { return size_of(tables_[0], tables_[1]); }
  Status take(std::size_t side, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override;
  std::set<std::int64_t> stored_slices() const override {
    return is_partial() ? std::set{slice(kLeft), slice(kRight)} : std::set<std::int64_t>();
  }

 private:
  struct Counted {
    sql::Row row;
    std::int64_t count = 0, partners = 0;
  };
  struct Codec {
    const std::vector<sql::Column>* columns;
    void encode(const Counted& counted, std::string& bytes) const;
    bool decode(std::string_view& bytes, Counted& counted) const;
  };
  using Table = StateTable<Counted, Codec>;
  bool is_partial() const { return tables_[kLeft].is_partial(); }
  Status leave();
  Status meet(std::size_t side, RowKind kind, const sql::Row& row, Counted& other);
  Status meet_semi(std::int64_t before, RowKind kind, Counted& left);
  Status show_alone(std::size_t side, RowKind kind, const sql::Row& row, std::int64_t partners);
  bool keep(std::size_t side, RowKind kind, const std::string& key, const sql::Row& row,
            std::int64_t partners);

  std::array<Table, 2> tables_;
  Sweeps sweeps_;
};

// Rows of one window with each other, when it has ended. Where memory has not all rows, it has
// those since the last checkpoint, and those of the window that ends.
//
// State, of each side  [window_end, has NULL, key, number] -> row; numbers: the next one.
class WindowJoin : public JoinOperator {
 public:
  explicit WindowJoin(const Parts& parts);
  std::set<std::int64_t> stored_slices() const override {
    return is_partial() ? std::set{slice(kLeft), slice(kRight)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(tables_[0], tables_[1]); }
  Status take(std::size_t side, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  std::int64_t next_number() const override { return numbers_.next(); }
  void raise_number(std::int64_t next) override { numbers_.raise_to(next); }
  Status put_state() override;
  Status visit_state(VisitState visit) const override;

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  using Rows = std::vector<sql::Row>;
  struct Codec : RowCodec {
    std::size_t end_column = 0;
    // The last watermark that does not end it.
    std::int64_t end_of(std::string_view, const sql::Row& row) const {
      return static_cast<std::int64_t>(row[end_column].number) - 2;
    }
  };
  using Table = StateTable<sql::Row, Codec>;
  bool is_partial() const { return tables_[kLeft].is_partial(); }
  Status find_window();
  Status join_next();
  Status take_first(std::size_t side, const std::string& key, Rows& rows);
  Status join_rows(const Rows& left, const Rows& right);
  Status leave();

  std::array<Table, 2> tables_;
  NextNumber numbers_;
  // Windows of the store that have not been joined live so long at least.
  std::int64_t next_stored_ = kEndOfTime;
};

// Rows whose times are near: low <= left - right <= high. A row is kept until the watermark says
// that no partner can come. Rows that memory does not have are fetched by their key when a row of
// it comes. Those that are shown without a partner are also found by when they end, some before it.
//
// State, of each side  [key, time, number] -> row, whether it had a partner.
class IntervalJoin : public JoinOperator {
 public:
  explicit IntervalJoin(const Parts& parts);
  Status visit_state(VisitState visit) const override;
  std::set<std::int64_t> stored_slices() const override {
    return is_partial() ? std::set{slice(kLeft), slice(kRight)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(tables_[0], tables_[1]); }
  Status take(std::size_t side, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;

 protected:
  Status pass(std::int64_t watermark) override;
  std::int64_t held_back() const override;

 private:
  struct Kept {
    sql::Row row;
    bool matched = false;
  };
  struct Codec {
    const IntervalJoin* join;
    std::size_t side;
    KeyForm form = {0, 0, 2};
    void encode(const Kept& kept, std::string& bytes) const;
    bool decode(std::string_view& bytes, Kept& kept) const;
    std::int64_t end_of(std::string_view, const Kept& kept) const {
      return join->end_of(side, kept.row);
    }
  };
  using Table = StateTable<Kept, Codec>;
  // [last_partner, side, key in the table].
  using End = std::pair<std::pair<std::int64_t, std::size_t>, std::string>;
  // The last time at which a partner of a row of this time may come.
  std::int64_t last_partner(std::size_t side, std::int64_t time) const {
    return side == kLeft ? time - join_.low_ms : time + join_.high_ms;
  }
  std::int64_t end_of(std::size_t side, const sql::Row& row) const {
    return last_partner(side, time_in(side, row));
  }
  bool is_partial() const { return tables_[kLeft].is_partial(); }
  Status fetch(std::size_t side, const std::string& key);
  Table::iterator adopt(std::size_t side, Table::iterator place);
  Status meet_all(std::size_t side, const std::string& key, const sql::Row& row, bool& matched);
  Status find_due();
  Status end_row(const End& end);
  Status leave();

  std::array<Table, 2> tables_;
  std::set<End> ends_;  // Of the rows in memory.
  // Rows of the store that have had no partner, if they are to be shown: all that end before
  // `next_due_`. Some are in memory, too, and may have had one there.
  std::map<End, sql::Row> due_;
  std::int64_t next_due_ = kEndOfTime;
  std::int64_t next_number_ = 0;
};

// Each left row with the right row of its key that was the newest at its time, when the watermark
// has passed that time. Left rows that memory does not have are found when the watermark comes to
// them, versions by their key.
//
// State  left: [time, number] -> row; right: [key, time] -> row; numbers: the next one.
class TemporalJoin : public JoinOperator {
 public:
  explicit TemporalJoin(const Parts& parts);
  Status visit_state(VisitState visit) const override;
  std::set<std::int64_t> stored_slices() const override;
  StateSize state_size() const override { return size_of(left_, right_); }
  Status take(std::size_t side, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  struct LeftCodec : RowCodec {
    const TemporalJoin* join = nullptr;
    std::int64_t end_of(std::string_view key, const sql::Row&) const {
      return join->waits_until(key);
    }
  };
  // The last watermark that does not end it: a row whose time has passed waits for the next one.
  std::int64_t waits_until(std::string_view key) const {
    return std::max(take_ordered(key) - 1, watermark());
  }
  Status find_left(std::int64_t watermark);
  Status find_least();
  Status show_next();
  Status show(const sql::Row& left);
  Status borrow(const std::string& prefix);
  void look_at_lent();
  void forget_older(const std::string& prefix);
  Status leave_left();

  StateTable<sql::Row, LeftCodec> left_;
  RowTable right_;
  NextNumber numbers_;
  // Left rows of the store wait so long at least, and none of them is of an earlier time.
  std::int64_t next_stored_ = kEndOfTime, least_stored_ = kEndOfTime;
  query::DueRows<std::string, sql::Row> due_;
  std::vector<std::string> lent_;  // Keys whose versions were read for rows that were shown.
};

// Each left row with the rows of a table that was read before. No state: the table is read again.
class LookupJoin : public JoinOperator {
 public:
  using JoinOperator::JoinOperator;
  Status take(std::size_t side, RowKind kind, const sql::Row& row) override;
  // The table that was read, as entries that no store has.
  Status visit_state(VisitState visit) const override;

 private:
  std::map<std::string, std::vector<sql::Row>> table_;
};

}  // namespace holdfast::stream::graph
