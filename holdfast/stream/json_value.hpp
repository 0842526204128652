// json_value.hpp: values as JSON, and back.
#pragma once

#include <optional>
#include <string>

#include <holdfast/sql/json_tree.hpp>
#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::stream {

// Arrays as [1, 2], rows as {"f":1}, maps as {"key":1} whatever the keys are.
void append_json_value(const sql::Value& value, const sql::Type& type, bool iso_times,
                       std::string& out);

// What a JSON text stands for in a column of the type; nullopt: it is none.
std::optional<sql::Value> value_of_text(std::string& text, const sql::Type& type, bool iso_times);

struct NestedJson {
  bool iso_times = false;
  bool fail_on_missing = false;  // A row whose object lacks a field is none; else it is NULL.
};
// An array, a row or a map. nullopt: it is none of the type, or longer than sql::kMaxNestedBytes.
std::optional<sql::Value> nested_value_of(const sql::JsonNode& json, const sql::Type& type,
                                          const NestedJson& options);

}  // namespace holdfast::stream
