#include "graph_batch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/sql/value.hpp>
#include <holdfast/stream/workers/part.hpp>
#include <holdfast/stream/workers/shard_store.hpp>

namespace holdfast::stream {

GraphReader::GraphReader(const sql::Plan& plan, const ShardKeys& keys, graph::GraphSource& source,
                         std::uint32_t shards)
    : keys_(keys), source_(source), shards_(shards), inputs_(graph::inputs_of(plan)) {
  for (const auto& input : inputs_) {
    const auto& table = *input.table;
    std::vector<bool> columns(table.columns.size());
    for (const auto column : keys.columns[input.node])
      columns[column] = true;
    if (table.has_watermark) {
      for (const auto column : sql::columns_of(*table.watermark))
        columns[column] = true;
    }
    first_.push_back(columns);
    columns.flip();
    later_.push_back(std::move(columns));
  }
}

bool GraphReader::ended() const {
  return std::all_of(inputs_.begin(), inputs_.end(),
                     [](const graph::GraphInput& input) { return input.ended; });
}

// As GraphOperators::take().
void GraphReader::read(GraphBatch& batch) {
  batch.events.clear();
  batch.count = 0;
  batch.behind = {};
  batch.positions.clear();
  for (const auto& input : inputs_)
    batch.positions.push_back(source_.part(input.part).position());
  const auto now = graph::Idle::Clock::now();
  std::vector<bool> rests(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    rests[i] = inputs_[i].idle.rests(now);
  auto waits = rests;
  batch.behind = read_rows(batch, waits);
  if (batch.count != 0 || !batch.behind) return;
  rests.flip();  // Then nobody waits for those that rest.
  batch.behind = read_rows(batch, rests);
}

Status GraphReader::read_rows(GraphBatch& batch, std::vector<bool>& waits) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kRows = 256, kRowsOfALook = 16;
  constexpr std::chrono::milliseconds kPatience{10};
  const auto patient_until = Clock::now() + kPatience;
  while (batch.count < kRows) {
    if (batch.count % kRowsOfALook == 0 && Clock::now() >= patient_until) return {};
    auto* const input = graph::next_input(inputs_, waits);
    if (input == nullptr) return {};
    const auto taken = read_row(batch, *input);
    if (!taken) return told(taken.error(), *input);
    if (!*taken && !input->ended) waits[number_of(*input)] = true;
  }
  return {};
}

Result<bool> GraphReader::read_row(GraphBatch& batch, graph::GraphInput& input) {
  auto& part = source_.part(input.part);
  const auto& table = *input.table;
  if (batch.rows.size() == batch.count) batch.rows.emplace_back();
  auto& row = batch.rows[batch.count];
  row.resize(table.columns.size());
  input.idle.ask();
  HF_ASSIGN_OR_RETURN(const bool more, part.next(row));
  input.idle.answer(more);
  const auto watermark_is = [&](std::int64_t watermark) {
    input.watermark = watermark;
    batch.events.push_back({number_of(input), false, 0, 0, watermark});
  };
  if (!more) {
    if (part.ended()) watermark_is(kEndOfTime);
    input.ended = part.ended();
    return false;
  }
  HF_RETURN_IF_ERROR(graph::compute(table, first_[number_of(input)], row));
  ++input.rows;
  batch.events.push_back({number_of(input), true, shard_for(input, row), batch.count++, 0});
  HF_ASSIGN_OR_RETURN(const auto watermark, graph::watermark_behind(table, row, input.watermark));
  if (watermark) watermark_is(*watermark);
  return true;
}

std::uint32_t GraphReader::shard_for(const graph::GraphInput& input, const sql::Row& row) {
  const auto& columns = keys_.columns[input.node];
  if (HF_MUTANT("ST158", columns.empty(), true))
    return static_cast<std::uint32_t>(input.rows % shards_);
  values_.clear();
  for (const auto column : columns)
    sql::append_bytes(row[column], input.table->columns[column].type, values_);
  return shard_of(values_, shards_);
}

Error GraphReader::told(Error error, const graph::GraphInput& input) const {
  error.detail +=
      " (table " + escape(input.table->name) + ", " + source_.part(input.part).place() + ")";
  return error;
}

Error GraphReader::at_place(Error error, const GraphBatch& batch, std::size_t event) {
  const auto number = batch.events[event].input;
  std::size_t rows = 0;
  for (std::size_t i = 0; i <= event; ++i)
    rows += batch.events[i].input == number && batch.events[i].is_row ? 1 : 0;
  const auto& input = inputs_[number];
  go_behind(source_.part(input.part), batch.positions[number], rows, input.table->columns.size());
  return told(std::move(error), input);
}

}  // namespace holdfast::stream
