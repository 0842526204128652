// planned.hpp: the plan of the last statement of a text, for tests of what is made of plans.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/sql/planner.hpp>

namespace holdfast::stream {

// The plan points to tables of the catalog.
struct Planned {
  std::unique_ptr<sql::Catalog> catalog = std::make_unique<sql::Catalog>();
  sql::Plan plan;
};

inline Result<Planned> planned_of(const std::string& text) {
  HF_ASSIGN_OR_RETURN(const auto statements, sql::parse(text));
  Planned planned;
  for (const auto& statement : statements) {
    if (const auto* table = std::get_if<sql::syntax::CreateTable>(&statement)) {
      HF_RETURN_IF_ERROR(planned.catalog->add(*table));
      continue;
    }
    const auto& query = std::get<sql::syntax::QueryStatement>(statement);
    HF_ASSIGN_OR_RETURN(planned.plan, sql::plan_of(query, *planned.catalog));
  }
  return planned;
}

}  // namespace holdfast::stream
