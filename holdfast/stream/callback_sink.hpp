// callback_sink.hpp: rows go to a function of the program.
//
// It is called when a row is there, so after a crash perhaps again (at least once), by one thread
// at a time. An error that it returns ends the query.
#pragma once

#include <functional>
#include <utility>

#include <holdfast/stream/sink.hpp>

namespace holdfast::stream {

// The row lives until the function returns.
using OnRow = std::function<Status(RowKind kind, const sql::Row& row)>;

class CallbackSink final : public Sink {
 public:
  explicit CallbackSink(OnRow on_row) : on_row_(std::move(on_row)) {}

  Status begin(std::uint64_t, std::string_view) override { return {}; }
  Status write(const sql::Row& row) override { return on_row_(RowKind::kInsert, row); }
  bool takes_changes() const override { return true; }
  Status write_change(RowKind kind, const sql::Row& row) override { return on_row_(kind, row); }
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override { return {}; }

 private:
  OnRow on_row_;
};

}  // namespace holdfast::stream
