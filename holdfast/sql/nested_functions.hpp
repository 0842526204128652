// nested_functions.hpp: functions that make arrays, rows and maps, and those that look into them:
// ARRAY[…], a[i], r.f, CARDINALITY, ARRAY_CONTAINS and so on.
//
// Threads  Any number: nothing is kept.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::sql {

struct NestedCall {
  std::span<const Value> arguments;
  const std::vector<ExpressionPointer>& expressions;  // Of the arguments: their types.
  const Type& type;                                   // Of the result.
};

struct NestedFunction {
  std::string_view name;
  std::size_t least, most;  // Arguments.
  // Casts the arguments to what the function takes and gives the type of its result.
  Result<Type> (*bind)(std::string_view name, Position at,
                       std::vector<ExpressionPointer>& arguments);
  // No argument is NULL, unless `takes_null`. Null: done; else what is wrong.
  const char* (*compute)(const NestedCall& call, Value& out);
  bool takes_null = false;
};

std::span<const NestedFunction> nested_functions();
// Its number; nested_functions().size(): there is none. "ARRAY", "ROW" and "MAP" make values,
// "ITEM" is a[i], "FIELD" is r.f with the field's number.
std::uint32_t nested_function_named(std::string_view name);

// The call of a function of these; `name` is one.
Result<ExpressionPointer> bind_nested(std::string_view name, Position at,
                                      std::vector<ExpressionPointer> arguments);
// r.f
Result<ExpressionPointer> bind_field(ExpressionPointer row, const std::string& name, Position at);

}  // namespace holdfast::sql
