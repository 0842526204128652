// scalar_functions.hpp: functions of values, by name: POWER, REPLACE, TIMESTAMPDIFF and so on.
//
// Threads  Any number: nothing is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <holdfast/sql/civil.hpp>
#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::sql {

// A text that a function makes is no longer than this.
inline constexpr std::size_t kMaxMadeText = 16u << 20;

struct ScalarFunction {
  std::string_view name;
  // A letter per argument: d DOUBLE, i BIGINT, s STRING, t TIMESTAMP(3), n any number, u the name
  // of a unit of time. "*": any number of them, of the type of the result.
  std::string_view takes;
  std::size_t least;  // Arguments; no more than `takes` has letters.
  Type type;          // Of the result. kNull: that of the arguments.
  // None of them is NULL, unless `takes_null`. Null: done; else what is wrong.
  const char* (*compute)(std::span<const Value> arguments, const Type& type, Value& out);
  bool takes_null = false;
};

std::span<const ScalarFunction> scalar_functions();
// Its number; scalar_functions().size(): there is none.
std::uint32_t scalar_function_named(std::string_view name);
// SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER, YEAR.
bool is_time_unit(std::string_view unit);

// The unit of EXTRACT(unit FROM time); none: there is no such unit.
std::optional<TimeField> time_field(std::string_view unit);

}  // namespace holdfast::sql
