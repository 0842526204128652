#include "layouts.hpp"

#include <optional>
#include <string>
#include <utility>

#include <holdfast/stream/compile/aggregate_source.hpp>

namespace holdfast::stream::compile {
namespace {

Result<RecordLayout> compiled(std::optional<RecordLayout> layout, const std::string& what) {
  if (layout) return *std::move(layout);
  return not_compiled(what + " of more than " + std::to_string(RecordLayout::kColumnsMax) +
                      " columns");
}

}  // namespace

Result<RecordLayout> layout_of(const sql::Table& table) {
  return compiled(RecordLayout::of(table), "a table");
}

Result<RecordLayout> layout_of_result(const sql::Plan& plan) {
  return compiled(RecordLayout::of(plan.columns()), "a result");
}

}  // namespace holdfast::stream::compile
