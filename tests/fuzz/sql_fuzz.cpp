// Any bytes as an SQL text: parsed, planned and shown, or refused with a place in the text; and the
// first expressions that can be computed are computed of a row of NULLs and of one of small values.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/nested.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/sql/planner.hpp>

namespace {

using namespace holdfast::sql;

// A small value of any type.
Value small(const Type& type) {
  if (type.is_real()) return Value::of_real(0.5);
  if (type.kind == Kind::kString) return Value::of_text("");
  if (!type.is_nested()) return Value::of(1);
  NestedWriter writer(type);
  for (const auto& field : type.nested->fields)
    writer.add(small(field.type));
  return writer.take();
}

void compute(const Plan& plan) {
  const auto* project = std::get_if<Project>(&plan.nodes.back().what);
  if (project == nullptr || plan.nodes.size() < 2) return;
  const auto& columns = plan.nodes[plan.nodes.size() - 2].columns;
  for (const bool null : {true, false}) {
    Row row(columns.size());
    for (std::size_t i = 0; i < row.size() && !null; ++i)
      row[i] = small(columns[i].type);
    for (std::size_t i = 0; i < project->expressions.size(); ++i) {
      Value value;
      if (!evaluate(*project->expressions[i], row, value)) continue;
      std::string bytes;
      const Type& type = project->expressions[i]->type;
      append_bytes(value, type, bytes);
      std::string_view rest = bytes;
      Value back;
      if (!take_bytes(rest, type, back) || !rest.empty()) std::abort();
      if (text_of(back, type) != text_of(value, type)) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto statements = parse(text);
  if (!statements) {
    if (!statements.error().detail.starts_with("line ")) std::abort();
    return 0;
  }
  Catalog catalog;
  for (const auto& statement : *statements) {
    if (const auto* table = std::get_if<syntax::CreateTable>(&statement)) {
      if (const auto added = catalog.add(*table); !added) break;
    } else if (const auto* view = std::get_if<syntax::CreateView>(&statement)) {
      if (const auto added = catalog.add(*view); !added) break;
    } else if (const auto* query = std::get_if<syntax::QueryStatement>(&statement)) {
      const auto plan = plan_of(*query, catalog);
      if (!plan) break;
      if (text_of(*plan).empty()) std::abort();
      compute(*plan);
    }
  }
  return 0;
}
