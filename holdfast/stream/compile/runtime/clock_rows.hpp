// clock_rows.hpp: rows with the time of the clock, and the watermark that the clock moves, in a
// graph. What ClockRows is to the interpreter (stream/graph/processing_time.hpp), but that rows
// which come together have one time.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode, Row                            its number, what comes in
//   stamped(row, time)                    what goes out: the row with this time
//   give(graph, change, row)              to those that read it
//   mark(graph, watermark)                its watermark, to those that read it
#pragma once

#include <algorithm>
#include <cstdint>

#include <holdfast/stream/compile/runtime/changes.hpp>

namespace holdfast::query {

template <class Definition>
class ClockRows {
 public:
  explicit ClockRows(Run& run) : run_(run) {}

  template <class Graph>
  void take(Graph& graph, Change change, const typename Definition::Row& row) {
    const auto now = std::max(run_.host.now_ms(), mark_ + 1);
    reach(graph, now);
    if (!run_.failed) Definition::give(graph, change, Definition::stamped(row, now));
  }
  // Also where no row comes.
  template <class Graph>
  void tick(Graph& graph) {
    reach(graph, run_.host.now_ms());
  }
  // The watermark of events ends here, but for the end of the input.
  template <class Graph>
  void follow(Graph& graph, std::int64_t watermark) {
    if (watermark == kEndOfTime) move(graph, watermark);
  }
  std::int64_t mark() const { return mark_; }
  void set_mark(std::int64_t watermark) { mark_ = watermark; }

 private:
  // Rows of this very millisecond may come yet.
  template <class Graph>
  void reach(Graph& graph, std::int64_t now) {
    if (now - 1 > mark_) move(graph, now - 1);
  }
  template <class Graph>
  void move(Graph& graph, std::int64_t watermark) {
    if (watermark <= mark_) return;
    mark_ = watermark;
    Definition::mark(graph, watermark);
  }

  Run& run_;
  std::int64_t mark_ = kNoTime;
};

}  // namespace holdfast::query
