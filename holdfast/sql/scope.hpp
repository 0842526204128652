// scope.hpp: what names mean where an expression stands.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/aggregate.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/ranking.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

struct Window;
class UserFunctions;

// A function with OVER, as a SELECT gathers them.
struct OverCall {
  bool numbers_rows = false;  // By `ranking`; else `aggregate`.
  Ranking ranking = Ranking::kRowNumber;
  Aggregate aggregate;
  bool lags = false;  // In LAG's window: all rows up to this one, row by row.
  const syntax::Over* over = nullptr;
  Position at;
};

// Makes an expression of a query that is a value.
using ScalarQueryBinder = std::function<Result<ExpressionPointer>(const syntax::Expression&)>;

struct Scope {
  std::vector<Column> columns;
  std::vector<std::string> qualifiers;  // Of each column: its table's name or alias.
  // For each column: whether only a qualified name means it (the right column of USING).
  std::vector<bool> shadowed;
  // The first columns are of the query around: a name means one of them if no other has it.
  std::uint32_t outer = 0;
  // Aggregates are gathered here. Null: they are not allowed.
  std::vector<Aggregate>* aggregates = nullptr;
  std::vector<OverCall>* overs = nullptr;  // The same of functions with OVER.
  const std::vector<syntax::NamedOver>* named_overs = nullptr;
  const ScalarQueryBinder* scalar_query = nullptr;  // Null: they are not allowed.
  const UserFunctions* functions = nullptr;         // Of users. Null: there are none.
  // GROUP BY TUMBLE(…) and so on: what TUMBLE_START(…) must name, and the first of the three
  // columns of `columns` that it is. Null: there is none.
  const Window* group_window = nullptr;
  const char* group_function = "";  // TUMBLE, HOP, SESSION
  std::uint32_t window_column = 0;

  void add(Column column, std::string qualifier) {
    columns.push_back(std::move(column));
    qualifiers.push_back(std::move(qualifier));
    shadowed.push_back(false);
  }
};

// Errors: kInvalidOption; no column of this name, with the nearest; more than one.
Result<std::uint32_t> find_column(const Scope& scope, const std::string& name, Position at,
                                  const std::string& qualifier = {});

}  // namespace holdfast::sql
