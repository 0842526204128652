#include "late_rows.hpp"

#include <holdfast/base/format.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/zone.hpp>
#include <holdfast/stream/bytes.hpp>

namespace holdfast::stream {
namespace {

constexpr std::string_view kLateOperator = "operator", kLateWatermark = "watermark",
                           kLateRecord = "record";

bool is_column_of_late_rows(const sql::Column& column) {
  const auto kind = column.type.kind;
  if (column.name == kLateWatermark)
    return kind == sql::Kind::kTimestamp && column.type.zone == nullptr;
  return kind == sql::Kind::kString && (column.name == kLateOperator || column.name == kLateRecord);
}

// What both sinks have in a checkpoint.
struct LateRowsState {
  std::string_view of_sink, of_late;

  Status take(std::string_view state) {
    ByteReader bytes(state);
    of_sink = bytes.text();
    of_late = bytes.text();
    if (bytes.ok() && bytes.at_end()) return {};
    return Error{Errc::kCorrupt, "the checkpoint's state of the table of late rows is damaged"};
  }
};

}  // namespace

Status check_late_rows(const sql::Table& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.computed[i] == nullptr && is_column_of_late_rows(table.columns[i])) continue;
    return Error{Errc::kInvalidOption,
                 "table " + escape(table.name) + ", column " + escape(table.columns[i].name) +
                     ": a table of late rows has some of the columns operator STRING, watermark "
                     "TIMESTAMP(3), record STRING"};
  }
  return {};
}

const SinkWithLateRows::Input& SinkWithLateRows::input_of(std::size_t node, std::size_t input) {
  auto& known = inputs_[{node, input}];
  if (known.writer != nullptr) return known;
  known.what = sql::text_of(plan_.nodes[node], plan_.nodes);
  const auto& given = plan_.nodes[plan_.nodes[node].inputs[input]].columns;
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto column = given[i];
    if (column.is_time()) known.zone = column.type.zone;
    // The planner's own columns: the bounds of a window are told, the clock on the wall is not.
    const bool own = column.name.starts_with('$');
    if (own && !column.name.starts_with("$window_")) continue;
    if (own) column.name.erase(0, 1);
    known.places.push_back(i);
    known.columns.push_back(std::move(column));
  }
  known.writer = plain_writer(false, known.columns);
  return known;
}

Status SinkWithLateRows::take_late(std::size_t node, std::size_t input, const sql::Row& row,
                                   std::int64_t watermark) {
  const auto& from = input_of(node, input);
  if (from.zone != nullptr && sql::is_summable(watermark))
    watermark = from.zone->wall_of(watermark);
  sql::Row late, record;
  for (const auto place : from.places)
    record.push_back(row[place]);
  for (const auto& column : plan_.late_rows->columns) {
    auto& value = late.emplace_back();
    value.null = false;
    if (column.name == kLateOperator)
      value.text = from.what;
    else if (column.name == kLateRecord)
      HF_RETURN_IF_ERROR(from.writer->append(record, value.text));
    else if (sql::is_summable(watermark))
      value = sql::Value::of(watermark);
    else
      value.null = true;  // No time that can be written.
  }
  return late_->write(late);
}

Status SinkWithLateRows::begin(std::uint64_t epoch, std::string_view state) {
  LateRowsState both;
  if (epoch != 0) HF_RETURN_IF_ERROR(both.take(state));
  HF_RETURN_IF_ERROR(sink_->begin(epoch, both.of_sink));
  return late_->begin(epoch, both.of_late);
}

Status SinkWithLateRows::begin_from(std::uint64_t epoch, std::string_view state) {
  LateRowsState both;
  HF_RETURN_IF_ERROR(both.take(state));
  HF_RETURN_IF_ERROR(sink_->begin_from(epoch, both.of_sink));
  return late_->begin_from(epoch, both.of_late);
}

Status SinkWithLateRows::prepare(std::uint64_t epoch) {
  HF_RETURN_IF_ERROR(sink_->prepare(epoch));
  return late_->prepare(epoch);
}

Status SinkWithLateRows::commit(std::uint64_t epoch) {
  HF_RETURN_IF_ERROR(sink_->commit(epoch));
  return late_->commit(epoch);
}

std::string SinkWithLateRows::state() const {
  ByteWriter bytes;
  bytes.text(sink_->state());
  bytes.text(late_->state());
  return bytes.take();
}

}  // namespace holdfast::stream
