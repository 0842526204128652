// table_options.hpp: the options of a table, each asked for once; one that nobody asked for is
// refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/format.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/sql/catalog.hpp>

namespace holdfast::stream {

class TableOptions {
 public:
  explicit TableOptions(const sql::Table& table, std::string_view split = {})
      : table_(table), split_(split) {}

  // The split of the source that is meant; empty: all.
  const std::string& split() const { return split_; }

  // Errors: none of these; a wrong value is found by the typed forms below.
  std::optional<std::string> text(std::string_view key) {
    asked_.emplace_back(key);
    for (const auto& option : table_.options) {
      if (option.key == key) return option.value;
    }
    return std::nullopt;
  }
  Result<bool> flag(std::string_view key, bool otherwise) {
    const auto value = text(key);
    if (!value) return otherwise;
    if (*value == "true") return true;
    if (*value == "false") return false;
    return wrong(key, "'true' or 'false'");
  }
  Result<std::int64_t> number(std::string_view key, std::int64_t otherwise) {
    const auto value = text(key);
    if (!value) return otherwise;
    const auto parsed = sql::value_of(*value, sql::kBigIntType);
    if (!parsed) return wrong(key, "a whole number");
    return static_cast<std::int64_t>(parsed->number);
  }
  Error wrong(std::string_view key, std::string_view wanted) const {
    for (const auto& option : table_.options) {
      if (option.key == key)
        return sql::error_at(option.at, "'" + std::string(key) + "' = '" + escape(option.value) +
                                            "', " + std::string(wanted) + " is wanted");
    }
    std::vector<std::string_view> given;
    for (const auto& option : table_.options)
      given.push_back(option.key);
    const auto misspelt = closest(key, given);
    return sql::error_at(
        table_.at,
        "table " + escape(table_.name) + ": the option '" + std::string(key) + "' is missing",
        misspelt.empty() ? "" : "is it '" + escape(misspelt) + "'?");
  }
  // What a value leads to, with the option's line and column.
  Error about(std::string_view key, const Error& error) const {
    for (const auto& option : table_.options) {
      if (option.key == key) return sql::error_at(option.at, error.detail);
    }
    return error;
  }
  // At the end: nothing is left over.
  Status all_known() const {
    for (const auto& option : table_.options) {
      bool known = false;
      for (const auto& key : asked_)
        known = known || key == option.key;
      if (known) continue;
      std::vector<std::string_view> names(asked_.begin(), asked_.end());
      const auto meant = closest(option.key, names);
      return sql::unsupported_at(option.at, "the option '" + escape(option.key) + "'",
                                 meant.empty() ? "" : "did you mean '" + std::string(meant) + "'?");
    }
    return {};
  }

 private:
  const sql::Table& table_;
  std::string split_;
  std::vector<std::string> asked_;
};

}  // namespace holdfast::stream
