// window_sum.hpp: the events of the query `window-sum`, and what it must answer.
//
// The query: sums of `value` by `sensor` over tumbling windows of 60 s (chapter 5 of Benson,
// "Efficient State Management with Persistent Memory", 2023: 15,000 keys, records of 32 bytes). The
// events lie in memory, made beforehand: whole windows of them, at a steady rate, sensors drawn
// uniformly. A source gives them in blocks; after the last it begins anew with times moved on, as
// long as it is told to. All subjects read the same source, the hand-written loops too.
//
// Threads  Events are read by any number of threads; sources and answers one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/stream/record.hpp>
#include <holdfast/stream/sink.hpp>

namespace holdfast::bench::stream {

inline constexpr std::int64_t kWindowMs = 60'000;

// In the layout of the table `events` (holdfast/stream/record.hpp).
struct Event {
  std::uint64_t nulls = 0;
  std::int64_t ts = 0, sensor = 0, value = 0;
};
static_assert(sizeof(Event) == 32);

// The rows of one window, in any order.
struct WindowAnswer {
  std::uint64_t rows = 0, checksum = 0;

  void add(std::int64_t sensor, std::int64_t sum) {
    ++rows;
    checksum += mix64(static_cast<std::uint64_t>(sensor) + mix64(static_cast<std::uint64_t>(sum)));
  }
  bool operator==(const WindowAnswer&) const = default;
};

class WindowSum {
 public:
  // `windows` windows with `events_per_ms` events a millisecond.
  WindowSum(std::uint64_t keys, std::uint64_t events_per_ms, unsigned windows, std::uint64_t seed);

  static std::string sql();
  const std::vector<Event>& events() const { return events_; }
  std::uint64_t keys() const { return keys_; }
  std::int64_t span_ms() const { return kWindowMs * static_cast<std::int64_t>(answers_.size()); }
  // Errors: kCorrupt, which window and how.
  Status check(const std::vector<WindowAnswer>& answers, std::uint64_t rounds) const;

 private:
  std::uint64_t keys_;
  std::vector<Event> events_;
  std::vector<WindowAnswer> answers_;  // Of the first round: each later one's are the same.
};

// Reads all events, and again while `again()` says so. Without virtual functions: modules have its
// loops, and a program that loads them need not have streams.
class EventReader {
 public:
  static constexpr std::size_t kBlock = 1024;

  EventReader(const WindowSum& query, std::function<bool()> again)
      : query_(query), again_(std::move(again)) {}

  // Some of the events that follow, at most `most`, valid until the next call; none: there are no
  // more.
  std::span<const Event> next(std::size_t most = kBlock);
  // The last so many of them come again.
  void give_back(std::size_t events) { taken_ -= events; }
  // Of holdfast::stream::SharedRecordSource. A claim ends where a round does.
  holdfast::stream::RecordClaim claim(std::size_t most);
  void read(const holdfast::stream::RecordClaim& claim, Event* out) const;

  std::string position() const;
  Status seek(std::string_view position);
  std::string place() const;
  // Rounds that were begun.
  std::uint64_t rounds() const { return rounds_; }

 private:
  bool begin_round();
  bool fill();
  std::size_t position_in_round() const { return at_ - (in_block_ - taken_); }

  const WindowSum& query_;
  const std::function<bool()> again_;
  std::array<Event, kBlock> block_;
  std::size_t in_block_ = 0, taken_ = 0;
  std::size_t at_ = 0;  // The next event.
  std::uint64_t rounds_ = 1;
};

// The same for a pipeline, which owns its source; the reader outlives it.
class EventSource final : public holdfast::stream::SharedRecordSource {
 public:
  explicit EventSource(EventReader& events) : events_(events) {}

  Result<std::span<const std::byte>> next_records() override {
    return std::as_bytes(events_.next());
  }
  void give_back(std::size_t records) override { events_.give_back(records); }
  holdfast::stream::RecordClaim claim(std::size_t most) override { return events_.claim(most); }
  void read(const holdfast::stream::RecordClaim& claim, std::byte* out) const override {
    events_.read(claim, reinterpret_cast<Event*>(out));
  }
  Result<bool> next(sql::Row& row) override;
  std::string position() const override { return events_.position(); }
  Status seek(std::string_view position) override { return events_.seek(position); }
  std::string place() const override { return events_.place(); }

 private:
  EventReader& events_;
};

// Rows of (window_start, sensor, sum) into answers. Windows come one after the other.
class AnswerSink : public holdfast::stream::RecordSink {
 public:
  explicit AnswerSink(std::vector<WindowAnswer>& answers) : answers_(answers) {}
  Status begin(std::uint64_t, std::string_view) override { return {}; }
  Status write(const sql::Row& row) override;
  Status write_records(std::span<const holdfast::stream::RowKind> kinds,
                       std::span<const std::byte> records) override;
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override { return {}; }

 private:
  Status add(std::int64_t start, std::int64_t sensor, std::int64_t sum);

  std::vector<WindowAnswer>& answers_;
  std::int64_t window_start_ = -1;
};

}  // namespace holdfast::bench::stream
