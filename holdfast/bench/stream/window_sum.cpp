#include <holdfast/bench/stream/window_sum.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/bytes.hpp>

namespace holdfast::bench::stream {
namespace {

// A row of the answer, in the layout of its columns.
struct AnswerRow {
  std::uint64_t nulls;
  std::int64_t window_start, sensor, sum;
};

}  // namespace

std::string WindowSum::sql() {
  return "CREATE TABLE events (ts TIMESTAMP(3), sensor BIGINT, `value` BIGINT,\n"
         "  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'memory');\n"
         "SELECT window_start, sensor, SUM(`value`) AS total\n"
         "FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '60' SECOND))\n"
         "GROUP BY window_start, window_end, sensor;\n";
}

WindowSum::WindowSum(std::uint64_t keys, std::uint64_t events_per_ms, unsigned windows,
                     std::uint64_t seed)
    : keys_(keys) {
  Random random(seed);
  const auto per_window = events_per_ms * static_cast<std::uint64_t>(kWindowMs);
  events_.reserve(per_window * windows);
  std::vector<std::int64_t> sums(keys);
  std::vector<bool> seen(keys);
  for (unsigned window = 0; window < windows; ++window) {
    std::fill(sums.begin(), sums.end(), 0);
    std::fill(seen.begin(), seen.end(), false);
    for (std::uint64_t i = 0; i < per_window; ++i) {
      Event event;
      event.ts = kWindowMs * window + static_cast<std::int64_t>(i / events_per_ms);
      event.sensor = static_cast<std::int64_t>(random.below(keys));
      event.value = static_cast<std::int64_t>(random.below(1'000));
      sums[static_cast<std::size_t>(event.sensor)] += event.value;
      seen[static_cast<std::size_t>(event.sensor)] = true;
      events_.push_back(event);
    }
    WindowAnswer answer;
    for (std::size_t sensor = 0; sensor < keys; ++sensor) {
      if (seen[sensor]) answer.add(static_cast<std::int64_t>(sensor), sums[sensor]);
    }
    answers_.push_back(answer);
  }
}

Status WindowSum::check(const std::vector<WindowAnswer>& answers, std::uint64_t rounds) const {
  if (answers.size() != rounds * answers_.size()) {
    return Error{Errc::kCorrupt, "wrong: " + std::to_string(answers.size()) + " windows; " +
                                     std::to_string(rounds * answers_.size()) + " were given"};
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] == answers_[i % answers_.size()]) continue;
    return Error{Errc::kCorrupt, "wrong: window " + std::to_string(i) + " with " +
                                     std::to_string(answers[i].rows) + " rows"};
  }
  return {};
}

// Begins the next round where this one is at its end. False: there are no more.
bool EventReader::begin_round() {
  if (at_ < query_.events().size()) return true;
  if (!again_()) return false;
  at_ = 0;
  ++rounds_;
  return true;
}

// The next block.
bool EventReader::fill() {
  if (!begin_round()) return false;
  in_block_ = std::min(kBlock, query_.events().size() - at_);
  const auto events = query_.events().size();
  read({(rounds_ - 1) * events + at_, in_block_}, block_.data());
  at_ += in_block_;
  taken_ = 0;
  return true;
}

holdfast::stream::RecordClaim EventReader::claim(std::size_t most) {
  at_ = position_in_round();
  in_block_ = taken_ = 0;
  if (!begin_round()) return {};
  const auto events = query_.events().size();
  const auto count = std::min(most, events - at_);
  const auto first = std::exchange(at_, at_ + count);
  return {(rounds_ - 1) * events + first, count};
}

// Their times are moved to their round.
void EventReader::read(const holdfast::stream::RecordClaim& claim, Event* out) const {
  const auto events = query_.events().size();
  const Event* const from = query_.events().data() + claim.first % events;
  const auto moved = query_.span_ms() * static_cast<std::int64_t>(claim.first / events);
  for (std::size_t i = 0; i < claim.count; ++i)
    out[i] = {from[i].nulls, from[i].ts + moved, from[i].sensor, from[i].value};
}

std::span<const Event> EventReader::next(std::size_t most) {
  if (taken_ == in_block_ && !fill()) return {};
  const auto count = std::min(most, in_block_ - taken_);
  const auto from = std::exchange(taken_, taken_ + count);
  return {block_.data() + from, count};
}

Result<bool> EventSource::next(sql::Row& row) {
  const auto events = events_.next(1);
  if (events.empty()) return false;
  row[0] = sql::Value::of(events[0].ts);
  row[1] = sql::Value::of(events[0].sensor);
  row[2] = sql::Value::of(events[0].value);
  return true;
}

std::string EventReader::position() const {
  holdfast::stream::ByteWriter bytes;
  bytes.number(rounds_);
  bytes.number(position_in_round());
  return bytes.take();
}

Status EventReader::seek(std::string_view position) {
  holdfast::stream::ByteReader bytes(position);
  rounds_ = bytes.number();
  at_ = bytes.number();
  in_block_ = taken_ = 0;
  if (!bytes.ok() || at_ > query_.events().size())
    return Error{Errc::kCorrupt, "the checkpoint has no number of an event"};
  return {};
}

std::string EventReader::place() const {
  return "event " + std::to_string(position_in_round()) + " of round " + std::to_string(rounds_);
}

Status AnswerSink::add(std::int64_t start, std::int64_t sensor, std::int64_t sum) {
  if (start != window_start_) {
    if (start <= window_start_)
      return Error{Errc::kCorrupt, "wrong: a window came after a later one"};
    window_start_ = start;
    answers_.emplace_back();
  }
  answers_.back().add(sensor, sum);
  return {};
}

Status AnswerSink::write(const sql::Row& row) {
  return add(static_cast<std::int64_t>(row[0].number), static_cast<std::int64_t>(row[1].number),
             static_cast<std::int64_t>(row[2].number));
}

Status AnswerSink::write_records(std::span<const holdfast::stream::RowKind> kinds,
                                 std::span<const std::byte> records) {
  const auto inserts = [](auto kind) { return kind == holdfast::stream::RowKind::kInsert; };
  if (!std::all_of(kinds.begin(), kinds.end(), inserts))
    return Error{Errc::kCorrupt, "wrong: a window's row was changed"};
  for (; records.size() >= sizeof(AnswerRow); records = records.subspan(sizeof(AnswerRow))) {
    AnswerRow row;
    std::memcpy(&row, records.data(), sizeof row);
    if (row.nulls != 0) return Error{Errc::kCorrupt, "wrong: a row has a NULL"};
    HF_RETURN_IF_ERROR(add(row.window_start, row.sensor, row.sum));
  }
  return {};
}

}  // namespace holdfast::bench::stream
