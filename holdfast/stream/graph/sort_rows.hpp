// sort_rows.hpp: rows in their order, when the input has ended: ORDER BY, and what is shown of a
// result that changes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/stream/graph/operator.hpp>

namespace holdfast::stream::graph {

// All rows when the input has ended, in order, without those that were taken back; rows that are
// equal in it as they came. Where memory has not all rows, a row is looked for when an equal one
// comes. In the end those of the store are read in parts that have room in memory, the first ones
// in order first: the store is read once for each part, and its state stays as it is.
//
// State  the row's bytes -> how often, number of the first, row; it says the number as its time.
//        Numbers: the next one.
// Costs  A row O(log rows in memory). In the end O(n log n), and reading n once per part.
class SortRows : public Operator {
 public:
  explicit SortRows(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override;
  std::set<std::int64_t> stored_slices() const override {
    return rows_.is_partial() ? std::set{slice(0)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(rows_); }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  struct Counted {
    sql::Row row;
    std::int64_t count = 0, number = 0;
  };
  struct Codec {
    const std::vector<sql::Column>* columns;
    void encode(const Counted& counted, std::string& bytes) const;
    bool decode(std::string_view& bytes, Counted& counted) const;
    std::int64_t end_of(std::string_view, const Counted& counted) const { return counted.number; }
  };
  using Table = StateTable<Counted, Codec>;
  // A row, and its place among all.
  struct Sorted {
    sql::Row keys;
    const Counted* counted;
    std::string_view bytes;                                   // The row's.
    std::unique_ptr<std::pair<std::string, Counted>> stored;  // What the others point to; or null.
  };
  struct Before {
    const std::vector<sql::OrderKey>* keys;
    bool operator()(const Sorted& left, const Sorted& right) const;
  };
  class Known;
  Result<Sorted> sorted(const Counted& counted, std::string_view bytes) const;
  Status give_stored(Known& known);
  Status give(const Counted& counted);
  // How many rows are still to be counted, also those that are left out.
  std::uint64_t left() const;

  const sql::Sort no_order_{};  // Of what is not sorted: as the rows came.
  const sql::Sort& sort_;
  Table rows_;
  NextNumber numbers_;
  std::uint64_t given_ = 0;  // Of the rows in their order, in the end.
};

}  // namespace holdfast::stream::graph
