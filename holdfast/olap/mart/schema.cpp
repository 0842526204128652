#include <holdfast/olap/mart/schema.hpp>

#include <algorithm>
#include <set>

#include <holdfast/base/format.hpp>
#include <holdfast/base/mutant.hpp>

namespace holdfast::olap::mart {
namespace {

template <class Items>
std::optional<std::uint32_t> find_by_name(const Items& items, std::string_view name) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
  if (found == items.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - items.begin());
}

Status check_type(const Table& table, const Column& column) {
  const auto name = table.name + "." + column.name;
  if (column.type.kind == sql::Kind::kNull || column.type.kind == sql::Kind::kInterval)
    return Error{Errc::kInvalidOption, "star: " + escape(name) + " has no type that is stored"};
  if (column.type.is_nested())
    return Error{Errc::kUnsupported, "star: " + escape(name) + " is " + sql::name_of(column.type) +
                                         "; arrays, rows and maps are not stored"};
  if (column.type.kind == sql::Kind::kDecimal && column.type.precision > kMaxStoredDigits)
    return Error{Errc::kUnsupported, "star: " + escape(name) + " is " + sql::name_of(column.type) +
                                         "; decimals of up to 18 digits are stored"};
  if (column.type.kind == sql::Kind::kDecimal &&
      (column.type.precision == 0 ||
       HF_MUTANT("O66", column.type.scale > column.type.precision, false)))
    return Error{Errc::kInvalidOption, "star: " + escape(name) + " is " +
                                           sql::name_of(column.type) + ", which is no decimal"};
  return {};
}

Status check_columns(const Schema& schema, std::size_t number) {
  const auto& table = schema.tables[number];
  const auto wrong = [&](const std::string& what) {
    return Error{Errc::kInvalidOption, "star: table " + escape(table.name) + ": " + what};
  };
  if (table.columns.empty() || table.columns.size() > kMaxColumns)
    return wrong(std::to_string(table.columns.size()) + " columns; allowed are 1 to " +
                 std::to_string(kMaxColumns));
  std::set<std::string_view> names;
  for (const auto& column : table.columns) {
    if (column.name.empty() || !names.insert(column.name).second)
      return wrong("the column " + escape(column.name) + (column.name.empty() ? "" : " twice"));
    HF_RETURN_IF_ERROR(check_type(table, column));
    if (column.references == 0) continue;
    if (number != 0 || column.references >= schema.tables.size())
      return wrong("the column " + escape(column.name) +
                   " references no dimension; only the fact's columns can");
    const auto& dimension = schema.tables[column.references];
    if (dimension.key < dimension.columns.size() &&
        dimension.columns[dimension.key].type != column.type)
      return wrong("the column " + escape(column.name) + " is " + sql::name_of(column.type) +
                   ", and the key of " + escape(dimension.name) + " is " +
                   sql::name_of(dimension.columns[dimension.key].type));
  }
  if (table.key >= table.columns.size()) return wrong("it has no key column");
  for (const auto column : table.order) {
    if (column >= table.columns.size()) return wrong("it is ordered by a column it does not have");
  }
  return {};
}

}  // namespace

std::optional<std::uint32_t> Table::find(std::string_view column) const {
  return find_by_name(columns, column);
}

std::optional<std::uint32_t> Schema::find(std::string_view table) const {
  return find_by_name(tables, table);
}

Status Schema::validate() const {
  if (tables.empty() || tables.size() > kMaxTables)
    return Error{Errc::kInvalidOption, "star: " + std::to_string(tables.size()) +
                                           " tables; allowed are 1 to " +
                                           std::to_string(kMaxTables)};
  std::set<std::string_view> names;
  for (std::size_t number = 0; number < tables.size(); ++number) {
    const auto& name = tables[number].name;
    if (name.empty() || !names.insert(name).second)
      return Error{Errc::kInvalidOption, name.empty()
                                             ? "star: a table without a name"
                                             : "star: the table " + escape(name) + " twice"};
    HF_RETURN_IF_ERROR(check_columns(*this, number));
  }
  return {};
}

}  // namespace holdfast::olap::mart
