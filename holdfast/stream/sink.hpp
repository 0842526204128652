// sink.hpp: where rows go.
//
// A transactional sink shows rows only when the checkpoint that covers them is complete. So what a
// killed run has shown is never shown again, and nothing is left out. Other sinks show a row when
// it is written, and may show it again after a crash (at least once).
//
// Threads  One at a time.
// Errors   kIo, kNoSpace, kAlreadyExists, kInvalidOption (options of the table).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/value.hpp>
#include <holdfast/stream/row_kind.hpp>

namespace holdfast::stream {

class Sink {
 public:
  virtual ~Sink() = default;
  // Called before the first row. `state`: what state() gave in the checkpoint `epoch` that is
  // resumed; empty, with epoch 0, for a run that begins.
  virtual Status begin(std::uint64_t epoch, std::string_view state) = 0;
  // Called instead of begin() for a run that begins with a savepoint: a copy of another run's
  // checkpoint `epoch`, in which state() gave `state`. Shows what that checkpoint covers, if that
  // run was ended before its commit(). Then as begin(0, {}).
  virtual Status begin_from(std::uint64_t /*epoch*/, std::string_view /*state*/) {
    return begin(0, {});
  }
  virtual Status write(const sql::Row& row) = 0;
  // Whether rows may be taken back. If not, a query whose rows change is refused before it runs.
  virtual bool takes_changes() const { return false; }
  virtual Status write_change(RowKind kind, const sql::Row& row) {
    if (kind == RowKind::kInsert) return write(row);
    return Error{Errc::kUnsupported, "this sink takes no changes of rows"};
  }
  // Makes all rows so far durable, but does not show them. The checkpoint `epoch` follows.
  virtual Status prepare(std::uint64_t epoch) = 0;
  // The checkpoint `epoch` is complete: shows the rows that it covers.
  virtual Status commit(std::uint64_t epoch) = 0;
  virtual std::string state() const { return {}; }
  // Whether a checkpoint should come soon, since rows that wait for it take much memory.
  virtual bool full() const { return false; }
  virtual bool transactional() const { return false; }
};

// Where the rows of a plain SELECT and of `print` go. They may be buffered until flush(), which is
// called before each checkpoint; without a flush function they are out when `write` returns. An
// error ends the query without a checkpoint, so a run that resumes shows these rows once more.
class Output {
 public:
  Output() = default;
  // `write` returns a Status or nothing.
  template <class Write>
    requires std::invocable<Write&, std::string_view>
  Output(Write write, std::function<Status()> flush = {}) : flush_(std::move(flush)) {
    if constexpr (std::is_void_v<std::invoke_result_t<Write&, std::string_view>>) {
      write_ = [write = std::move(write)](std::string_view text) mutable {
        write(text);
        return Status();
      };
    } else {
      write_ = std::move(write);
    }
  }
  Status operator()(std::string_view text) const { return write_(text); }
  Status flush() const { return flush_ ? flush_() : Status(); }

 private:
  std::function<Status(std::string_view)> write_;
  std::function<Status()> flush_;
};
enum class OutputFormat : std::uint8_t { kCsv, kTable, kJson };

// Opens the sink that the option 'connector' of `table` names. `table` null: the rows go to
// `output` in this format, CSV with one header line. All arguments outlive the sink.
Result<std::unique_ptr<Sink>> open_sink(const sql::Table* table,
                                        const std::vector<sql::Column>& columns,
                                        const Output& output, OutputFormat format,
                                        std::string_view split = {});

}  // namespace holdfast::stream
