#include "graph_inputs.hpp"

#include <variant>

#include <holdfast/sql/evaluate.hpp>

namespace holdfast::stream::graph {

std::vector<GraphInput> inputs_of(const sql::Plan& plan) {
  std::vector<GraphInput> inputs;
  std::size_t part = 0;
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
    GraphInput input;
    input.node = node;
    if (const auto* scan = std::get_if<sql::Scan>(&plan.nodes[node].what)) {
      input.table = scan->table;
      input.looked_up = scan->looked_up;
      input.part = part++;
    } else if (!std::holds_alternative<sql::Literals>(plan.nodes[node].what)) {
      continue;
    }
    inputs.push_back(input);
  }
  return inputs;
}

GraphInput* next_input(std::vector<GraphInput>& inputs, const std::vector<bool>& waits) {
  GraphInput* by_time = nullptr;
  GraphInput* by_rows = nullptr;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& input = inputs[i];
    if (input.ended || waits[i] || input.table == nullptr) continue;
    if (input.table->has_watermark) {
      if (by_time == nullptr || input.watermark < by_time->watermark) by_time = &input;
    } else if (by_rows == nullptr || input.rows < by_rows->rows) {
      by_rows = &input;
    }
  }
  if (by_time == nullptr || by_rows == nullptr) return by_time == nullptr ? by_rows : by_time;
  return by_rows->rows <= by_time->rows ? by_rows : by_time;
}

Status compute(const sql::Table& table, sql::Row& row) {
  for (std::size_t i = 0; i < table.computed.size(); ++i) {
    if (table.computed[i] != nullptr)
      HF_RETURN_IF_ERROR(sql::evaluate(*table.computed[i], row, row[i]));
  }
  return {};
}

Status compute(const sql::Table& table, const std::vector<bool>& columns, sql::Row& row) {
  for (std::size_t i = 0; i < table.computed.size(); ++i) {
    if (columns[i] && table.computed[i] != nullptr)
      HF_RETURN_IF_ERROR(sql::evaluate(*table.computed[i], row, row[i]));
  }
  return {};
}

Result<std::optional<std::int64_t>> watermark_behind(const sql::Table& table, const sql::Row& row,
                                                     std::int64_t before) {
  if (!table.has_watermark) return std::optional<std::int64_t>();
  sql::Value value;
  HF_RETURN_IF_ERROR(sql::evaluate(*table.watermark, row, value));
  const auto watermark = static_cast<std::int64_t>(value.number);
  if (value.null || watermark <= before) return std::optional<std::int64_t>();
  return std::optional(watermark);
}

}  // namespace holdfast::stream::graph
