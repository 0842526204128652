// graph.hpp: a compiled graph of operators: its tables in the order of their watermarks, and rows
// from one operator to the next. What stream/graph/graph_operators.cpp is to the interpreter.
//
// `TheGraph`, the generated source, derives from GraphOf<TheGraph>, and has
//
//   kInputs                        how many tables it reads
//   kHasWatermark                  of each of them
//   kRecordBytes                   of each of them
//   kMakesTexts                    some of it makes texts
//   take_row(input, record, watermark)   the row, to those that read it; the watermark behind it
//   follow(input, watermark)       the watermark of the table, to those that read it
//   set_watermarks(inputs)         after a checkpoint: those of all operators
//   tick_clocks()                  those that follow the clock look at it
//   adopt_entry, adopt_stored, adopt_clock, put_state, late_rows, rows_without_time,
//   clock_watermark                of Graph
#pragma once

#include <holdfast/stream/compile/runtime/clock_rows.hpp>
#include <holdfast/stream/compile/runtime/corrected_groups.hpp>
#include <holdfast/stream/compile/runtime/delayed_changes.hpp>
#include <holdfast/stream/compile/runtime/earliest_row.hpp>
#include <holdfast/stream/compile/runtime/graph_groups.hpp>
#include <holdfast/stream/compile/runtime/graph_ranks.hpp>
#include <holdfast/stream/compile/runtime/interval_join.hpp>
#include <holdfast/stream/compile/runtime/over_rows.hpp>
#include <holdfast/stream/compile/runtime/regular_join.hpp>
#include <holdfast/stream/compile/runtime/row_windows.hpp>
#include <holdfast/stream/compile/runtime/session_rows.hpp>
#include <holdfast/stream/compile/runtime/sort_rows.hpp>
#include <holdfast/stream/compile/runtime/temporal_join.hpp>
#include <holdfast/stream/compile/runtime/user_functions.hpp>
#include <holdfast/stream/compile/runtime/window_join.hpp>

namespace holdfast::query {

// Each window that a time is in, the earliest end first: visit(start, end).
template <std::int64_t kSizeMs, std::int64_t kSlideMs, std::int64_t kOffsetMs, bool kCumulates,
          class Visit>
void for_each_window(std::int64_t time, const Visit& visit) {
  const std::int64_t ms = time - kOffsetMs;
  const std::int64_t slice = floor_divide(ms, kSlideMs) * kSlideMs;
  if constexpr (kCumulates) {
    const std::int64_t start = floor_divide(ms, kSizeMs) * kSizeMs;
    for (auto end = slice + kSlideMs; end <= start + kSizeMs; end += kSlideMs)
      visit(start + kOffsetMs, end + kOffsetMs);
  } else {
    for (auto start = slice - kSizeMs + kSlideMs; start <= slice; start += kSlideMs)
      visit(start + kOffsetMs, start + kOffsetMs + kSizeMs);
  }
}

template <class TheGraph>
class GraphOf : public Graph {
 public:
  explicit GraphOf(Host& host) : run_{host, output_} {}

  void adopt(const GraphInput* inputs) override { self().set_watermarks(inputs); }
  bool take(GraphInput* inputs, std::uint64_t most, std::size_t& next) override {
    for (std::uint64_t left = most; left > 0;) {
      next = next_input(inputs);
      if (next == TheGraph::kInputs || inputs[next].count == 0) return flush();
      auto& input = inputs[next];
      std::int64_t last = kEndOfTime;
      const bool stays = find_last_watermark(inputs, next, last);
      do {
        if (!take_one(input, next)) return flush();
      } while (--left > 0 && input.count > 0 && stays && input.watermark <= last);
    }
    next = next_input(inputs);
    return flush();
  }
  bool tick() override {
    self().tick_clocks();
    return flush();
  }
  bool advance(GraphInput* inputs, std::size_t input, std::int64_t watermark) override {
    inputs[input].watermark = watermark;
    self().follow(input, watermark);
    forget_texts();
    return flush();
  }
  bool end(GraphInput* inputs, std::size_t input) override {
    inputs[input].ended = true;
    return advance(inputs, input, kEndOfTime);
  }

 protected:
  Output output_;
  Run run_;

 private:
  TheGraph& self() { return static_cast<TheGraph&>(*this); }
  bool flush() {
    run_.flush();
    return !run_.failed;
  }
  void forget_texts() {
    if constexpr (TheGraph::kMakesTexts) run_.forget_texts();
  }

  // The earliest; a table without a watermark counts its rows instead, and takes turns with those
  // that have one.
  std::size_t next_input(const GraphInput* inputs) const {
    constexpr auto kNone = TheGraph::kInputs;
    std::size_t by_time = kNone, by_rows = kNone;
    for (std::size_t i = 0; i < TheGraph::kInputs; ++i) {
      if (inputs[i].ended || inputs[i].waits) continue;
      if (TheGraph::kHasWatermark[i]) {
        if (by_time == kNone || inputs[i].watermark < inputs[by_time].watermark) by_time = i;
      } else if (by_rows == kNone || inputs[i].rows < inputs[by_rows].rows) {
        by_rows = i;
      }
    }
    if (by_time == kNone) return by_rows;
    if (by_rows == kNone) return by_time;
    return inputs[by_rows].rows <= inputs[by_time].rows ? by_rows : by_time;
  }

  // The last watermark with which this input, which is the next, still is. False: it takes turns by
  // rows, so that is asked for after each row.
  static bool find_last_watermark(const GraphInput* inputs, std::size_t next, std::int64_t& last) {
    for (std::size_t i = 0; i < TheGraph::kInputs; ++i) {
      if (i == next || inputs[i].ended || inputs[i].waits) continue;
      if (!TheGraph::kHasWatermark[i] || !TheGraph::kHasWatermark[next]) return false;
      const auto still = inputs[i].watermark - (i < next ? 1 : 0);  // Above that of `next`.
      if (still < last) last = still;
    }
    return true;
  }

  // Brings a record that comes soon from memory: records lie one behind the other, but a CPU does
  // not read ahead beyond a page by itself.
  static void ask_ahead(const GraphInput& input, std::size_t number) {
    constexpr std::size_t kAhead = 12, kLine = 64;
    if (input.count <= kAhead) return;
    const auto* const record = input.records + kAhead * TheGraph::kRecordBytes[number];
    __builtin_prefetch(record);
    __builtin_prefetch(record + kLine);
  }
  bool take_one(GraphInput& input, std::size_t number) {
    ++input.rows;
    const auto* const record = input.records;
    input.records += TheGraph::kRecordBytes[number];
    --input.count;
    ask_ahead(input, number);
    Maybe<std::int64_t> watermark;
    self().take_row(number, record, watermark);
    if (!run_.failed && watermark.known && watermark.value > input.watermark) {
      input.watermark = watermark.value;
      self().follow(number, watermark.value);
    }
    forget_texts();
    return !run_.failed;
  }
};

}  // namespace holdfast::query
