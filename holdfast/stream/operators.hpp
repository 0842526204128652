// operators.hpp: what stands between a source's rows and a sink's: computed columns, conditions,
// windows, projections, and the watermark. The interpreter (interpreted_operators.hpp) and compiled
// code (compile/compiled_operators.hpp) do the same, row for row and byte for byte.
//
// Threads  One at a time.
// Errors   Those of source, sink, state and expressions; an expression's says at which row.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream {

inline constexpr std::int64_t kNoWatermark = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kEndOfTime = std::numeric_limits<std::int64_t>::max();

// What a checkpoint has of the operators beside the state of their groups.
struct OperatorCounts {
  std::int64_t watermark = kNoWatermark;
  std::uint64_t late_rows = 0, rows_without_time = 0;
  std::uint64_t rows_out = 0;  // Of this run; no checkpoint has it.
};

// What one operator of a plan has done in this run.
struct OperatorProgress {
  std::size_t node = 0;  // Its number in the plan; inputs come before what reads them.
  std::string what;      // As the plan says it.
  // nullopt: it is fused with others, or nobody counts it.
  std::optional<std::uint64_t> rows_in, rows_out;
  std::uint64_t late_rows = 0, rows_without_time = 0;
  std::uint64_t entries = 0, state_bytes = 0;  // Of its state in memory; bytes by a sample.
  std::int64_t watermark_ms = kNoWatermark;
  std::optional<double> seconds;  // At work, without those that it gives rows to. By samples.
};

// Takes rows that operators drop as late.
class LateRows {
 public:
  // The operator of this node has dropped a row of this input; its watermark is this one.
  virtual Status take_late(std::size_t node, std::size_t input, const sql::Row& row,
                           std::int64_t watermark) = 0;

 protected:
  ~LateRows() = default;
};

class Operators {
 public:
  using VisitEntry =
      FunctionRef<Status(std::int64_t slice, std::string_view key, std::string_view state)>;
  struct Progress {
    std::uint64_t rows = 0;
    bool ended = false;  // The source has no more.
  };

  virtual ~Operators() = default;
  // First of all where there is a checkpoint: its counts; the rest comes from the state store.
  virtual Status restore(const OperatorCounts& counts) = 0;
  // Takes some rows of the source, so few that the caller can look at the clock between two calls.
  // The source stands behind the last of them.
  virtual Result<Progress> take(Source& source) = 0;
  // The input has ended: so have all windows.
  virtual Status end() = 0;
  // Puts into the state store what a checkpoint needs.
  virtual Status put_state() = 0;
  virtual OperatorCounts counts() const = 0;
  // Threads that are at work on rows.
  virtual unsigned workers() const { return 1; }
  // For the monitor. Called before the first row: from then on, operators measure their time.
  virtual void watch() {}
  virtual std::vector<OperatorProgress> operators() const { return {}; }

  // Whether what comes before the first row is done: others can go on from here.
  virtual bool has_begun() const { return true; }
  // Before the next two are asked: what is in several places comes together.
  virtual Status settle() { return {}; }
  // Others go on from here, between two rows: the slices of which the store has entries that it
  // keeps, and what is in memory beside them.
  virtual std::set<std::int64_t> stored_slices() const = 0;
  virtual Status visit_entries(VisitEntry visit) const = 0;
};

}  // namespace holdfast::stream
