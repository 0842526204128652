// value.hpp: one value of a row, as the interpreter sees it.
//
// The type is known beside it (type.hpp). Booleans, integers, decimals, dates, timestamps and
// intervals are `number`, floats and doubles `real`, strings `text`. Arrays, rows and maps are
// `text`, too: their parts as bytes (nested.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/sql/decimal.hpp>
#include <holdfast/sql/text_parts.hpp>
#include <holdfast/sql/type.hpp>

namespace holdfast::sql {

struct Value {
  bool null = true;
  union {
    Int128 number = 0;
    double real;
  };
  std::string text;

  static Value of(Int128 number) {
    Value value;
    value.null = false;
    value.number = number;
    return value;
  }
  static Value of_real(double real) {
    Value value;
    value.null = false;
    value.real = real;
    return value;
  }
  static Value of_text(std::string text) {
    Value value;
    value.null = false;
    value.text = std::move(text);
    return value;
  }
  bool is_true() const { return !null && number != 0; }
};

using Row = std::vector<Value>;

// Neither is NULL; both of the type. -1, 0, 1. Strings by bytes; NaN is above all numbers and
// equals itself. Arrays, rows and maps are equal or not: they have no order that means anything.
int compare(const Value& left, const Value& right, const Type& type);
bool same(const Value& left, const Value& right, const Type& type);  // NULL is NULL.

// As CSV and `print` show it: decimals with full scale, doubles in the shortest form that reads
// back, timestamps as 2026-11-23 05:30:00.000. NULL: an empty text; the printer marks it.
std::string text_of(const Value& value, const Type& type);
void append_text(const Value& value, const Type& type, std::string& text);
// The reverse, of a text of a user; blanks around numbers and times are skipped. nullopt: the text
// is none of the type. Decimals are rounded to the scale.
std::optional<Value> value_of(std::string_view text, const Type& type);

// The value as bytes, appended, and back: for keys. Equal values of a type have equal bytes. False:
// the bytes are none.
void append_bytes(const Value& value, const Type& type, std::string& bytes);
// The same for state: what is read back is the value as it was, -0.0 too.
void append_exact_bytes(const Value& value, const Type& type, std::string& bytes);
bool take_bytes(std::string_view& bytes, const Type& type, Value& value);

std::string in_small(std::string_view text);  // The letters of ASCII.

// An integer in its type's range, by the rule of two's complement: 128 becomes -128 of TINYINT.
std::int64_t wrapped(Int128 value, Kind kind);
bool in_range(Int128 value, Kind kind);
// The type of a literal of an exact number with so many digits behind the point.
Type written_type(Int128 number, std::uint32_t scale);

}  // namespace holdfast::sql
