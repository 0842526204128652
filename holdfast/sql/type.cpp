#include "type.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <holdfast/sql/zone.hpp>

namespace holdfast::sql {
namespace {

// At most 38 digits: digits behind the point are given up for those before it, down to six.
Type bounded(std::uint32_t precision, std::uint32_t scale) {
  if (precision <= kMaxDigits) return decimal_type(precision, scale);
  const std::uint32_t whole = precision - scale;
  const std::uint32_t least = std::min(scale, 6u);
  const std::uint32_t room = whole < kMaxDigits ? kMaxDigits - whole : 0;
  return decimal_type(kMaxDigits, std::max(room, least));
}

Type decimal_arithmetic(Arithmetic operation, const Type& left, const Type& right) {
  const std::uint32_t p1 = left.precision, s1 = left.scale;
  const std::uint32_t p2 = right.precision, s2 = right.scale;
  switch (operation) {
    case Arithmetic::kAdd:
    case Arithmetic::kSubtract:
      return bounded(std::max(p1 - s1, p2 - s2) + std::max(s1, s2) + 1, std::max(s1, s2));
    case Arithmetic::kMultiply: return bounded(p1 + p2 + 1, s1 + s2);
    case Arithmetic::kDivide: {
      const std::uint32_t scale = std::max(6u, s1 + p2 + 1);
      return bounded(p1 - s1 + s2 + scale, scale);
    }
    case Arithmetic::kModulo:
      return bounded(std::min(p1 - s1, p2 - s2) + std::max(s1, s2), std::max(s1, s2));
  }
  return {};
}

// By parts: ARRAY<INT> and ARRAY<BIGINT> have ARRAY<BIGINT> in common.
std::optional<Type> common_nested(const Type& left, const Type& right) {
  if (left.kind != right.kind) return std::nullopt;
  std::vector<TypeField> fields = left.nested->fields;
  const auto& others = right.nested->fields;
  if (fields.size() != others.size()) return std::nullopt;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto type = common_type(fields[i].type, others[i].type);
    if (!type) return std::nullopt;
    fields[i].type = *type;
  }
  return nested_type(left.kind, std::move(fields));
}

// As in Flink, an instant and a day have none.
std::optional<Type> common_time(const Type& left, const Type& right) {
  const auto* const zone = left.zone != nullptr ? left.zone : right.zone;
  if (zone != nullptr && left.kind != right.kind) return std::nullopt;
  return instant_type(zone);
}

std::string list_of(const NestedType& nested) {
  std::string text;
  for (const auto& field : nested.fields) {
    if (!text.empty()) text += ", ";
    if (!field.name.empty()) {
      text += '`';
      for (const char c : field.name)
        text += c == '`' ? "``" : std::string(1, c);
      text += "` ";
    }
    text += name_of(field.type);
  }
  return text;
}

}  // namespace

std::string why_no_nested_type() {
  return "a type is deeper than " + std::to_string(kMaxTypeDepth) + " levels or has more than " +
         std::to_string(kMaxTypeParts) + " parts";
}

std::optional<Type> nested_type(Kind kind, std::vector<TypeField> fields) {
  NestedType made;
  for (const auto& field : fields) {
    if (!field.type.is_nested()) {
      ++made.parts;
      continue;
    }
    made.depth = std::max(made.depth, field.type.nested->depth + 1);
    made.parts += field.type.nested->parts;
  }
  if (made.depth > kMaxTypeDepth || made.parts > kMaxTypeParts) return std::nullopt;
  made.fields = std::move(fields);
  std::string key = list_of(made);
  static std::mutex mutex;
  static std::map<std::string, NestedType> known;  // Never moves what it has.
  const std::lock_guard lock(mutex);
  Type type;
  type.kind = kind;
  type.nested = &known.try_emplace(std::move(key), std::move(made)).first->second;
  return type;
}

std::optional<Type> array_of(const Type& element) {
  return nested_type(Kind::kArray, {TypeField{"", element}});
}

Type decimal_type(std::uint32_t precision, std::uint32_t scale) {
  return {Kind::kDecimal, precision, scale};
}

std::string name_of(const Type& type) {
  switch (type.kind) {
    case Kind::kNull: return "NULL";
    case Kind::kBoolean: return "BOOLEAN";
    case Kind::kTinyInt: return "TINYINT";
    case Kind::kSmallInt: return "SMALLINT";
    case Kind::kInt: return "INT";
    case Kind::kBigInt: return "BIGINT";
    case Kind::kDecimal:
      return "DECIMAL(" + std::to_string(type.precision) + ", " + std::to_string(type.scale) + ")";
    case Kind::kFloat: return "FLOAT";
    case Kind::kDouble: return "DOUBLE";
    case Kind::kString:
      return type.precision == 0 ? "STRING" : "VARCHAR(" + std::to_string(type.precision) + ")";
    case Kind::kDate: return "DATE";
    case Kind::kTimestamp:
      return type.zone == nullptr ? "TIMESTAMP(3)" : "TIMESTAMP_LTZ(3) in " + type.zone->name();
    case Kind::kInterval: return "INTERVAL";
    case Kind::kArray: return "ARRAY<" + list_of(*type.nested) + ">";
    case Kind::kRow: return "ROW<" + list_of(*type.nested) + ">";
    case Kind::kMap: return "MAP<" + list_of(*type.nested) + ">";
  }
  return "?";
}

Type as_decimal(const Type& type) {
  switch (type.kind) {
    case Kind::kTinyInt: return decimal_type(3, 0);
    case Kind::kSmallInt: return decimal_type(5, 0);
    case Kind::kInt: return decimal_type(10, 0);
    case Kind::kBigInt: return decimal_type(19, 0);
    default: return type;
  }
}

std::optional<Type> common_type(const Type& left, const Type& right) {
  if (left.kind == Kind::kNull) return right;
  if (right.kind == Kind::kNull || left == right) return left;
  if (left.kind == Kind::kString && right.kind == Kind::kString) return kStringType;
  if (left.is_nested() && right.is_nested()) return common_nested(left, right);
  if (left.is_time() && right.is_time()) return common_time(left, right);
  if (!left.is_numeric() || !right.is_numeric()) return std::nullopt;
  if (left.is_real() || right.is_real()) {
    const bool small = left.kind != Kind::kDouble && right.kind != Kind::kDouble &&
                       left.kind != Kind::kDecimal && right.kind != Kind::kDecimal;
    return small ? Type{Kind::kFloat} : kDoubleType;
  }
  if (left.is_integer() && right.is_integer()) return Type{std::max(left.kind, right.kind)};
  const Type a = as_decimal(left), b = as_decimal(right);
  // As in Flink, digits before the point are kept, and those behind it where there is room left.
  const std::uint32_t whole = std::max(a.precision - a.scale, b.precision - b.scale);
  const std::uint32_t scale = std::min(std::max(a.scale, b.scale), kMaxDigits - whole);
  return decimal_type(whole + scale, scale);
}

std::optional<Type> arithmetic_type(Arithmetic operation, const Type& left, const Type& right) {
  if (left.kind == Kind::kNull && right.is_numeric())
    return arithmetic_type(operation, right, right);
  if (right.kind == Kind::kNull && left.is_numeric()) return arithmetic_type(operation, left, left);
  if (!left.is_numeric() || !right.is_numeric()) return std::nullopt;
  if (left.kind == Kind::kDecimal || right.kind == Kind::kDecimal) {
    if (left.is_exact() && right.is_exact())
      return decimal_arithmetic(operation, as_decimal(left), as_decimal(right));
  }
  return common_type(left, right);
}

}  // namespace holdfast::sql
