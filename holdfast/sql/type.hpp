// type.hpp: the types of SQL, and which type an operation has.
//
// The rules are Flink's: docs/stream.md has the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::sql {

enum class Kind : std::uint8_t {
  kNull,  // Of the literal NULL alone; it becomes what stands beside it.
  kBoolean,
  kTinyInt,
  kSmallInt,
  kInt,
  kBigInt,
  kDecimal,
  kFloat,
  kDouble,
  kString,  // UTF-8
  kDate,    // days since 1970-01-01
  // Milliseconds since 1970-01-01: TIMESTAMP(3), or TIMESTAMP_LTZ(3) if the type has a zone.
  kTimestamp,
  kInterval,  // milliseconds; no column has it
  // Made of other types, which are those of `nested`.
  kArray,  // ARRAY<T>
  kRow,    // ROW<name T, …>
  kMap,    // MAP<K, V>
};

inline constexpr std::uint32_t kMaxDigits = 38;
inline constexpr std::uint32_t kMaxTypeDepth = 16;  // ARRAY<ARRAY<INT>> is of depth 2.
inline constexpr std::size_t kMaxTypeParts = 1000;  // Types in a type, in all.

struct NestedType;
class Zone;

struct Type {
  Kind kind = Kind::kNull;
  std::uint32_t precision = 0;  // Of a decimal: digits. Of a string: VARCHAR(n), 0 for any length.
  std::uint32_t scale = 0;      // Of a decimal: digits behind the point.
  const NestedType* nested = nullptr;  // Of kArray, kRow, kMap: one for all equal types.
  // Of kTimestamp: it is an instant, shown in this zone. Null: a wall clock without a zone, or an
  // instant that is shown in UTC. docs/time_zones.md
  const Zone* zone = nullptr;

  bool operator==(const Type&) const = default;
  bool is_integer() const { return kind >= Kind::kTinyInt && kind <= Kind::kBigInt; }
  bool is_exact() const { return is_integer() || kind == Kind::kDecimal; }
  bool is_real() const { return kind == Kind::kFloat || kind == Kind::kDouble; }
  bool is_numeric() const { return is_exact() || is_real(); }
  bool is_time() const { return kind == Kind::kDate || kind == Kind::kTimestamp; }
  bool is_nested() const { return kind >= Kind::kArray; }
  // The value is a string of bytes: `text` of Value.
  bool is_bytes() const { return kind == Kind::kString || is_nested(); }
};

struct TypeField {
  std::string name;  // Empty: of an array or a map.
  Type type;
  bool operator==(const TypeField&) const = default;
};
// The element of an array, the fields of a row, key and value of a map. Made once for all equal
// ones and kept while the process lives, so that equal types are equal pointers.
struct NestedType {
  std::vector<TypeField> fields;
  std::uint32_t depth = 1;
  std::size_t parts = 1;
};

inline constexpr Type kBooleanType{Kind::kBoolean};
inline constexpr Type kIntType{Kind::kInt};
inline constexpr Type kBigIntType{Kind::kBigInt};
inline constexpr Type kDoubleType{Kind::kDouble};
inline constexpr Type kStringType{Kind::kString};
inline constexpr Type kTimestampType{Kind::kTimestamp};
inline constexpr Type kIntervalType{Kind::kInterval};
Type decimal_type(std::uint32_t precision, std::uint32_t scale);
// TIMESTAMP_LTZ(3) in this zone; null: in UTC.
constexpr Type instant_type(const Zone* zone) { return {Kind::kTimestamp, 0, 0, nullptr, zone}; }
// A type of kind kArray, kRow or kMap. None: it would be deeper than kMaxTypeDepth, or have more
// than kMaxTypeParts.
std::optional<Type> nested_type(Kind kind, std::vector<TypeField> fields);
std::string why_no_nested_type();  // "a type is deeper than …"
std::optional<Type> array_of(const Type& element);
// The type of an array's elements.
inline const Type& element_of(const Type& array) { return array.nested->fields[0].type; }

// "DECIMAL(12, 2)", "VARCHAR(20)", "TIMESTAMP(3)", "TIMESTAMP_LTZ(3) in Europe/Berlin".
std::string name_of(const Type& type);

// An exact number as a decimal: INT is DECIMAL(10, 0).
Type as_decimal(const Type& type);

// The type in which both can be compared or be branches of a CASE; none if there is none.
// Of two rows the names of the left one stay.
std::optional<Type> common_type(const Type& left, const Type& right);

enum class Arithmetic : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kModulo };
// The type of the result, for two numbers; none if one is no number.
std::optional<Type> arithmetic_type(Arithmetic operation, const Type& left, const Type& right);

}  // namespace holdfast::sql
