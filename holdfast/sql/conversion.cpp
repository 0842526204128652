// What a place lets in of other types: the part of binder.hpp that reads no syntax.
#include <algorithm>
#include <string>
#include <utility>

#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/cast.hpp>

namespace holdfast::sql {

Status check_order(const Type& type, Position at) {
  if (!type.is_nested()) return {};
  return unsupported_at(at, "ORDER BY " + name_of(type), "name a field or an element of it");
}

namespace {

// Of arrays, rows and maps, if their parts do, whatever the fields are called.
bool widens_to(const Type& from, const Type& type) {
  if (from.is_nested() && type.is_nested()) {
    const auto& a = from.nested->fields;
    const auto& b = type.nested->fields;
    return from.kind == type.kind &&
           std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& one, const auto& other) {
                        return widens_to(one.type, other.type) ||
                               (one.type.kind == Kind::kString && other.type.kind == Kind::kString);
                      });
  }
  if (from.kind == Kind::kTimestamp && type.kind == from.kind) return true;
  const auto common = common_type(from, type);
  return common && (*common == type || (from.is_exact() && type.is_real()));
}

}  // namespace

Result<ExpressionPointer> converted(ExpressionPointer operand, const Type& type,
                                    std::string_view place) {
  const Type from = operand->type;
  const bool widens = widens_to(from, type);
  const bool strings = from.kind == Kind::kString && type.kind == Kind::kString;
  if (!widens && !strings) {
    return error_at(operand->at,
                    std::string(place) + " wants " + name_of(type) + ", this is " + name_of(from),
                    "write a CAST");
  }
  // A longer text stays whole, as in Flink, where a sink does not cut either.
  if (strings) return operand;
  return cast_to(std::move(operand), type);
}

}  // namespace holdfast::sql
