// late_rows.hpp: the sink of a query and the table of its late rows, as one sink.
//
// Rows that an operator drops as late go to the table that SET 'late-rows.table' names (ours). The
// table has some of these columns:
//
//   operator   STRING        what dropped the row, as `explain` says it
//   watermark  TIMESTAMP(3)  of the operator when the row came: the reason; of instants, as the
//                            session's zone shows it
//   record     STRING        the row as the operator has it, as JSON
//
// Guarantee  Both sinks are at one point of the input in each checkpoint: a transactional table has
//            a row as often as it was dropped.
// Threads    One at a time.   Errors  Those of the sinks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/sink.hpp>

namespace holdfast::stream {

// Errors: kInvalidOption, a column that is none of these.
Status check_late_rows(const sql::Table& table);

class SinkWithLateRows final : public Sink, public LateRows {
 public:
  // `plan`, whose table of late rows `late` writes to, outlives it.
  SinkWithLateRows(const sql::Plan& plan, std::unique_ptr<Sink> sink, std::unique_ptr<Sink> late)
      : plan_(plan), sink_(std::move(sink)), late_(std::move(late)) {}

  Status take_late(std::size_t node, std::size_t input, const sql::Row& row,
                   std::int64_t watermark) override;
  Status begin(std::uint64_t epoch, std::string_view state) override;
  Status begin_from(std::uint64_t epoch, std::string_view state) override;
  Status write(const sql::Row& row) override { return sink_->write(row); }
  bool takes_changes() const override { return sink_->takes_changes(); }
  Status write_change(RowKind kind, const sql::Row& row) override {
    return sink_->write_change(kind, row);
  }
  Status prepare(std::uint64_t epoch) override;
  Status commit(std::uint64_t epoch) override;
  std::string state() const override;
  bool full() const override { return sink_->full() || late_->full(); }
  bool transactional() const override { return sink_->transactional() && late_->transactional(); }

 private:
  struct Input {  // Of an operator.
    std::string what;
    const sql::Zone* zone = nullptr;  // Its watermark is an instant, shown there.
    std::vector<std::size_t> places;  // Of the columns that are told.
    std::vector<sql::Column> columns;
    std::unique_ptr<RowWriter> writer;
  };
  const Input& input_of(std::size_t node, std::size_t input);

  const sql::Plan& plan_;
  const std::unique_ptr<Sink> sink_, late_;
  std::map<std::pair<std::size_t, std::size_t>, Input> inputs_;  // That dropped any.
};

}  // namespace holdfast::stream
