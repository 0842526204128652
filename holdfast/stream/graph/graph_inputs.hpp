// graph_inputs.hpp: the inputs of a graph, and in which order their rows come.
//
// Rows come from the table whose watermark is the earliest, of equal ones from the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/graph/idle.hpp>
#include <holdfast/stream/operators.hpp>

namespace holdfast::stream::graph {

struct GraphInput {  // A table, or rows of VALUES.
  const sql::Table* table = nullptr;
  std::size_t node = 0;  // Of the plan.
  std::size_t part = 0;  // Of GraphSource.
  std::int64_t watermark = kNoWatermark;
  std::uint64_t rows = 0;
  bool ended = false;
  bool looked_up = false;  // It is read before the others, and moves no watermark.
  Idle idle;
};

// In the order in which GraphSource::open() opens them.
std::vector<GraphInput> inputs_of(const sql::Plan& plan);

// The table that the next row is of; null: all have ended or wait. A table without a watermark
// counts its rows instead, and takes turns with those that have one.
GraphInput* next_input(std::vector<GraphInput>& inputs, const std::vector<bool>& waits);

// What a connector has read becomes a row of the table.
Status compute(const sql::Table& table, sql::Row& row);
// The same, of these columns only.
Status compute(const sql::Table& table, const std::vector<bool>& columns, sql::Row& row);
// Behind this row, if it is later than `before`.
Result<std::optional<std::int64_t>> watermark_behind(const sql::Table& table, const sql::Row& row,
                                                     std::int64_t before);

}  // namespace holdfast::stream::graph
