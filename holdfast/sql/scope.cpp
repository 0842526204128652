#include "scope.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <holdfast/base/format.hpp>

namespace holdfast::sql {
namespace {

// In [from, to): the column, `none` or `several`.
constexpr std::uint32_t kUnknown = ~0u, kSeveral = ~0u - 1;

std::uint32_t found_in(const Scope& scope, std::uint32_t from, std::uint32_t to,
                       const std::string& name, const std::string& qualifier) {
  std::uint32_t found = kUnknown;
  for (std::uint32_t i = from; i < to; ++i) {
    if (scope.columns[i].name != name) continue;
    if (qualifier.empty() ? scope.shadowed[i] : scope.qualifiers[i] != qualifier) continue;
    if (found != kUnknown) return kSeveral;
    found = i;
  }
  return found;
}

Error unknown(const Scope& scope, const std::string& name, Position at,
              const std::string& qualifier) {
  std::vector<std::string_view> names, tables;
  bool table_is_there = qualifier.empty();
  for (std::size_t i = 0; i < scope.columns.size(); ++i) {
    table_is_there = table_is_there || scope.qualifiers[i] == qualifier;
    if (!scope.qualifiers[i].empty()) tables.push_back(scope.qualifiers[i]);
    const bool meant = qualifier.empty() || scope.qualifiers[i] == qualifier;
    if (meant && !scope.columns[i].name.starts_with('$')) names.push_back(scope.columns[i].name);
  }
  if (!table_is_there) {
    tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
    std::string list;
    for (const auto table : tables)
      list += (list.empty() ? "" : ", ") + escape(table);
    return error_at(
        at, "there is no table " + escape(qualifier) + " in this query",
        list.empty() ? "" : (tables.size() == 1 ? "its table is " : "there are ") + list);
  }
  const auto meant = closest(name, names);
  return error_at(at, "there is no column " + escape(name),
                  meant.empty() ? "" : "did you mean " + std::string(meant) + "?");
}

}  // namespace

Result<std::uint32_t> find_column(const Scope& scope, const std::string& name, Position at,
                                  const std::string& qualifier) {
  const auto count = static_cast<std::uint32_t>(scope.columns.size());
  auto found = found_in(scope, scope.outer, count, name, qualifier);
  if (found == kUnknown) found = found_in(scope, 0, scope.outer, name, qualifier);
  if (found == kSeveral)
    return error_at(at, "more than one table has a column " + escape(name),
                    "write its table before it: t." + escape(name));
  if (found == kUnknown) return unknown(scope, name, at, qualifier);
  return found;
}

}  // namespace holdfast::sql
