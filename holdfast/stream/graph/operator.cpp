#include "operator.hpp"

#include <chrono>

namespace holdfast::stream::graph {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

}  // namespace

Status Operator::emit_timed(RowKind kind, const sql::Row& row) {
  for (const auto& [reader, input] : readers_) {
    const auto begun = Clock::now();
    Status taken = reader->take(input, kind, row);
    const double seconds = seconds_since(begun) * timing_->weight;
    reader->seconds_ += seconds;
    seconds_ -= seconds;
    HF_RETURN_IF_ERROR(std::move(taken));
  }
  return {};
}

Status Operator::pass_timed(std::int64_t watermark) {
  const double before = std::exchange(timing_->weight, 1);
  const auto begun = Clock::now();
  Status passed = pass(watermark);
  seconds_ += seconds_since(begun);
  timing_->weight = before;
  return passed;
}

Status Operator::emit_update(const sql::Row& before, const sql::Row& after) {
  bool same = true;
  for (std::size_t i = 0; i < after.size(); ++i)
    same = same && sql::same(before[i], after[i], node().columns[i].type);
  if (same) return {};
  HF_RETURN_IF_ERROR(emit(RowKind::kUpdateBefore, before));
  return emit(RowKind::kUpdateAfter, after);
}

}  // namespace holdfast::stream::graph
