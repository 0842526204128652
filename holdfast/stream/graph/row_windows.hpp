// row_windows.hpp: groups of windows of so many rows, as they come.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream/group_operator.hpp>

namespace holdfast::stream::graph {

// Each `row_slide` rows of a key a window begins. It is shown when it has `row_size` rows. One that
// is not full when the input ends is not shown, as in Flink. A key's state is fetched when a row of
// it comes; it is there while a window is open.
//
// State  keys -> how many windows are open; of each its rows and accumulators, the oldest first.
// Costs  O(open windows of the key) per row.
class RowWindows : public Operator {
 public:
  explicit RowWindows(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override { return table_.restore(); }
  Status put_state() override;
  Status visit_state(VisitState visit) const override { return table_.visit_state(visit); }
  std::set<std::int64_t> stored_slices() const override {
    return table_.is_partial() ? std::set{slice(0)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(table_); }

 private:
  struct Open {
    std::int64_t rows = 0;
    Accumulators aggregates;
  };
  using Windows = std::vector<Open>;
  struct Codec {
    const sql::Group* group;
    void encode(const Windows& windows, std::string& bytes) const;
    bool decode(std::string_view& bytes, Windows& windows) const;
  };
  Result<sql::Row> row_of(std::string_view key, const Open& window) const;

  const sql::Group& group_;
  StateTable<Windows, Codec> table_;
  Sweeps sweeps_;
};

}  // namespace holdfast::stream::graph
