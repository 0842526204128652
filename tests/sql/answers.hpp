// answers.hpp: expressions over one row of a table t, each beside its answer: what tests share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>

namespace holdfast::sql {

// Of a CREATE TABLE, which ends with a ';', and a query.
inline Result<Plan> plan_of_text(const std::string& table, const std::string& query) {
  HF_ASSIGN_OR_RETURN(const auto statements, parse(table + query));
  static std::vector<std::unique_ptr<Catalog>> catalogs;  // A plan points to its tables.
  auto& catalog = *catalogs.emplace_back(std::make_unique<Catalog>());
  for (const auto& statement : statements) {  // SET may stand before it.
    if (const auto* made = std::get_if<syntax::CreateTable>(&statement))
      HF_RETURN_IF_ERROR(catalog.add(*made));
  }
  return plan_of(std::get<syntax::QueryStatement>(statements.back()), catalog);
}

// "TYPE value", or "error: …".
inline std::string answer(const std::string& table, const Row& row, const std::string& expression) {
  const auto plan = plan_of_text(table, "SELECT " + expression + " FROM t");
  if (!plan) return "error: " + plan.error().detail;
  const auto& e = *std::get<Project>(plan->nodes.back().what).expressions[0];
  Value value;
  if (const auto status = evaluate(e, row, value); !status)
    return "error: " + status.error().detail;
  return name_of(e.type) + " " + (value.null ? "NULL" : text_of(value, e.type));
}

using Cases = std::vector<std::pair<const char*, const char*>>;
inline void check(const std::string& table, const Row& row, const Cases& cases) {
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(answer(table, row, text), wanted) << text;
}

}  // namespace holdfast::sql
