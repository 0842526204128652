// run_metadata.hpp: what a checkpoint says of its run, beside the entries of its state.
//
// Bytes   plan, position, sink as texts (bytes.hpp); watermark, late rows, rows without a time,
//         end, sink_base as numbers.
// Errors  kCorrupt.
#pragma once

#include <cstdint>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream {

// Whether the input had ended; and whether the sink had shown all of it when this was written: then
// a later run needs neither of them.
enum class RunEnd : std::uint64_t { kNone, kFinished, kShown };

struct RunMetadata {
  std::string plan;      // As a text: it says whether a query is the same.
  std::string position;  // Of the source.
  std::string sink;      // What Sink::state() gave.
  std::int64_t watermark = 0;
  std::uint64_t late_rows = 0, rows_without_time = 0;
  RunEnd end = RunEnd::kNone;
  // Of the checkpoint that a savepoint became; the sink counts its epochs from here.
  std::uint64_t sink_base = 0;

  static Result<RunMetadata> of(const Checkpoint& checkpoint);
  std::string bytes() const;
};

// The metadata of the checkpoint `from`, as those of number `epoch` of a run that begins with it:
// savepoint.hpp. Of the sink it has the epoch and the state that Sink::begin_from() is given.
Result<std::string> metadata_of_beginning(const Checkpoint& from, std::uint64_t epoch);

}  // namespace holdfast::stream
