// processing_time.hpp: rows get the time of the clock, and the clock moves the watermark.
//
// Guarantee  The time of a row is above the watermark before it: a row of the clock is never late.
//            Where the clock is set back, or a run resumes on a machine whose clock is behind, time
//            stands still until the clock has caught up.
// The end    An input that ends, ends all windows, as it does by the times of events.
#pragma once

#include <algorithm>
#include <cstdint>

#include <holdfast/stream/graph/operator.hpp>

namespace holdfast::stream::graph {

class ClockRows : public Operator {
 public:
  explicit ClockRows(const Parts& parts)
      : Operator(parts),
        column_(std::get<sql::ProcessingTime>(parts.node.what).column),
        now_(parts.retention.now) {}

  Status take(std::size_t, RowKind kind, const sql::Row& row) override {
    const auto now = std::max(now_(), watermark() + 1);
    HF_RETURN_IF_ERROR(reach(now));
    sql::Row stamped = row;
    stamped[column_] = sql::Value::of(now);
    return emit(kind, stamped);
  }
  // Watermarks of events end here.
  Status advance(std::size_t input, std::int64_t watermark) override {
    return watermark == kEndOfTime ? Operator::advance(input, watermark) : Status();
  }
  // Looks at the clock, also where no row comes.
  Status tick() override { return reach(now_()); }

 private:
  // Rows of this very millisecond may come yet.
  Status reach(std::int64_t now) {
    return now - 1 > watermark() ? Operator::advance(0, now - 1) : Status();
  }

  const std::uint32_t column_;
  std::int64_t (*const now_)();
};

}  // namespace holdfast::stream::graph
