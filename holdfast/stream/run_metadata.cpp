#include "run_metadata.hpp"

#include <utility>

#include <holdfast/stream/bytes.hpp>

namespace holdfast::stream {

Result<RunMetadata> RunMetadata::of(const Checkpoint& checkpoint) {
  ByteReader bytes(checkpoint.metadata);
  RunMetadata run;
  run.plan = bytes.text();
  run.position = bytes.text();
  run.sink = bytes.text();
  run.watermark = static_cast<std::int64_t>(bytes.number());
  run.late_rows = bytes.number();
  run.rows_without_time = bytes.number();
  run.end = RunEnd{bytes.number()};
  run.sink_base = bytes.number();
  if (bytes.ok() && bytes.at_end() && run.sink_base <= checkpoint.epoch &&
      run.end <= RunEnd::kShown)
    return run;
  return Error{Errc::kCorrupt, "the checkpoint's metadata is damaged"};
}

std::string RunMetadata::bytes() const {
  ByteWriter bytes;
  bytes.text(plan);
  bytes.text(position);
  bytes.text(sink);
  bytes.number(static_cast<std::uint64_t>(watermark));
  bytes.number(late_rows);
  bytes.number(rows_without_time);
  bytes.number(static_cast<std::uint64_t>(end));
  bytes.number(sink_base);
  return bytes.take();
}

Result<std::string> metadata_of_beginning(const Checkpoint& from, std::uint64_t epoch) {
  HF_ASSIGN_OR_RETURN(auto run, RunMetadata::of(from));
  if (run.sink_base != from.epoch) {  // Else: no checkpoint of its own came after a savepoint.
    ByteWriter of_sink;
    of_sink.number(from.epoch - run.sink_base);
    of_sink.text(run.sink);
    run.sink = of_sink.take();
  }
  run.sink_base = epoch;
  return run.bytes();
}

}  // namespace holdfast::stream
