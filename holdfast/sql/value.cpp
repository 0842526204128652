#include "value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/nested.hpp>
#include <holdfast/sql/zone.hpp>

namespace holdfast::sql {

std::string in_small(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

namespace {

std::string real_text(double value, bool single) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  char text[64];
  const auto end = single ? std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr
                          : std::to_chars(text, text + sizeof text, value).ptr;
  std::string shortest(text, end);
  if (shortest.find_first_of(".e") == std::string::npos) shortest += ".0";
  return shortest;
}

std::optional<Value> integer_of(std::string_view text, Kind kind) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || stop != end || !in_range(number, kind)) return std::nullopt;
  return Value::of(number);
}

// Of a number that a type has no place for: it is too small, not too large.
bool is_tiny(std::string_view number) {
  const auto end = number.find_first_of("eE");
  const auto digits = number.substr(0, end);
  const auto point = std::min(digits.find('.'), digits.size());
  const Int128 place = static_cast<Int128>(point) - digits.find_first_of("123456789");
  if (end == std::string_view::npos) return place <= 0;
  auto power = number.substr(end + 1);
  std::int64_t exponent = 0;
  if (power.starts_with('+')) power.remove_prefix(1);
  // One of more digits than fit decides alone.
  if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec != std::errc())
    return power.starts_with('-');
  return exponent + place <= 0;
}

// Rounded once: what is too small is 0. What is too large is none.
template <class Real>
std::optional<Value> real_of(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Real number = 0;
  const auto end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (stop != end) return std::nullopt;
  if (code == std::errc::result_out_of_range && is_tiny(text))
    return Value::of_real(text.starts_with('-') ? -0.0 : 0.0);
  if (code != std::errc()) return std::nullopt;
  return Value::of_real(static_cast<double>(number));
}

std::optional<Value> boolean_of(std::string_view text) {
  const std::string word = in_small(text);
  if (word == "true") return Value::of(1);
  if (word == "false") return Value::of(0);
  return std::nullopt;
}

std::optional<Value> maybe(std::optional<std::int64_t> number) {
  return number ? std::optional(Value::of(*number)) : std::nullopt;
}

// The wall clock of `zone`, or UTC with a Z behind it.
std::optional<std::int64_t> instant_of(std::string_view text, const Zone& zone) {
  const bool utc = text.ends_with('Z');
  if (utc) text.remove_suffix(1);
  const auto time = timestamp_of(text);
  return utc || !time ? time : zone.instant_of(*time);
}

// Bytes of a value that is not NULL; 0 for what brings its length: strings, arrays, rows, maps.
std::size_t width_of(const Type& type) {
  switch (type.kind) {
    case Kind::kBoolean:
    case Kind::kTinyInt: return 1;
    case Kind::kSmallInt: return 2;
    case Kind::kInt:
    case Kind::kDate: return 4;
    case Kind::kDecimal: return 16;
    case Kind::kString:
    case Kind::kArray:
    case Kind::kRow:
    case Kind::kMap: return 0;
    default: return 8;
  }
}

}  // namespace

int compare(const Value& left, const Value& right, const Type& type) {
  if (type.is_real()) {
    if (std::isnan(left.real) || std::isnan(right.real))
      return static_cast<int>(std::isnan(left.real)) - static_cast<int>(std::isnan(right.real));
    return left.real < right.real ? -1 : left.real > right.real ? 1 : 0;
  }
  if (type.is_bytes()) {
    const int order = left.text.compare(right.text);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  return left.number < right.number ? -1 : left.number > right.number ? 1 : 0;
}

bool same(const Value& left, const Value& right, const Type& type) {
  if (left.null || right.null) return left.null == right.null;
  return compare(left, right, type) == 0;
}

void append_text(const Value& value, const Type& type, std::string& text) {
  if (value.null) return;
  switch (type.kind) {
    case Kind::kBoolean: text += value.number != 0 ? "true" : "false"; break;
    case Kind::kDecimal: append_decimal(value.number, type.scale, text); break;
    case Kind::kFloat: text += real_text(value.real, true); break;
    case Kind::kDouble: text += real_text(value.real, false); break;
    case Kind::kString: text += value.text; break;
    case Kind::kDate: append_date(static_cast<std::int64_t>(value.number), text); break;
    case Kind::kTimestamp: {
      const auto ms = static_cast<std::int64_t>(value.number);
      append_timestamp(type.zone == nullptr ? ms : type.zone->wall_of(ms), text);
      break;
    }
    case Kind::kArray:
    case Kind::kRow:
    case Kind::kMap: text += nested_text(value, type); break;
    default: append_decimal(value.number, 0, text);
  }
}

std::string text_of(const Value& value, const Type& type) {
  std::string text;
  append_text(value, type, text);
  return text;
}

std::optional<Value> value_of(std::string_view text, const Type& type) {
  // As in Flink, the length of VARCHAR(n) counts where a CAST asks for it only.
  if (type.kind == Kind::kString) return Value::of_text(std::string(text));
  text = without_blanks(text);
  switch (type.kind) {
    case Kind::kBoolean: return boolean_of(text);
    case Kind::kDecimal: {
      const auto number = decimal_of(text, type.scale);
      if (!number || !fits(*number, type.precision)) return std::nullopt;
      return Value::of(*number);
    }
    case Kind::kFloat: return real_of<float>(text);
    case Kind::kDouble: return real_of<double>(text);
    case Kind::kDate: return maybe(date_days_of(text));
    case Kind::kTimestamp:
      return maybe(type.zone == nullptr ? timestamp_of(text) : instant_of(text, *type.zone));
    case Kind::kTinyInt:
    case Kind::kSmallInt:
    case Kind::kInt:
    case Kind::kBigInt: return integer_of(text, type.kind);
    default: return std::nullopt;
  }
}

void append_exact_bytes(const Value& value, const Type& type, std::string& bytes) {
  if (value.null || !type.is_real()) return append_bytes(value, type, bytes);
  bytes += '\1';
  bytes.append(reinterpret_cast<const char*>(&value.real), sizeof value.real);
}

void append_bytes(const Value& value, const Type& type, std::string& bytes) {
  bytes += value.null ? '\0' : '\1';
  if (value.null) return;
  if (type.is_bytes()) {
    const std::uint32_t count = static_cast<std::uint32_t>(value.text.size());
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
    bytes += value.text;
  } else if (type.is_real()) {
    // One zero and one NaN: what is equal has equal bytes.
    const double real = std::isnan(value.real) ? std::numeric_limits<double>::quiet_NaN()
                        : value.real == 0      ? 0.0
                                               : value.real;
    bytes.append(reinterpret_cast<const char*>(&real), sizeof real);
  } else {
    bytes.append(reinterpret_cast<const char*>(&value.number), width_of(type));
  }
}

bool take_bytes(std::string_view& bytes, const Type& type, Value& value) {
  if (bytes.empty() || static_cast<unsigned char>(bytes.front()) > 1) return false;
  value = Value{};
  value.null = bytes.front() == '\0';
  bytes.remove_prefix(1);
  if (value.null) return true;
  std::size_t width = width_of(type);
  if (type.is_bytes()) {
    std::uint32_t count = 0;
    if (bytes.size() < sizeof count) return false;
    std::memcpy(&count, bytes.data(), sizeof count);
    bytes.remove_prefix(sizeof count);
    width = count;
  }
  if (bytes.size() < width) return false;
  if (type.is_bytes()) {
    value.text = bytes.substr(0, width);
    if (type.is_nested() && !is_nested_value(value.text, type)) return false;
  } else if (type.is_real()) {
    std::memcpy(&value.real, bytes.data(), sizeof value.real);
  } else {
    std::memcpy(&value.number, bytes.data(), width);
    // The sign, from the width of the type to 128 bits.
    const unsigned shift = 128 - 8 * static_cast<unsigned>(width);
    value.number = static_cast<Int128>(static_cast<Uint128>(value.number) << shift) >> shift;
    if (type.kind == Kind::kTimestamp && !is_summable(static_cast<std::int64_t>(value.number)))
      return false;
  }
  bytes.remove_prefix(width);
  return true;
}

std::int64_t wrapped(Int128 value, Kind kind) {
  switch (kind) {
    case Kind::kTinyInt: return static_cast<std::int8_t>(value);
    case Kind::kSmallInt: return static_cast<std::int16_t>(value);
    case Kind::kInt: return static_cast<std::int32_t>(value);
    default: return static_cast<std::int64_t>(value);
  }
}

bool in_range(Int128 value, Kind kind) { return wrapped(value, kind) == value; }

Type written_type(Int128 number, std::uint32_t scale) {
  if (scale == 0 && in_range(number, Kind::kInt)) return kIntType;
  if (scale == 0 && in_range(number, Kind::kBigInt)) return kBigIntType;
  return decimal_type(std::max({digits_of(number), scale, 1u}), scale);
}

}  // namespace holdfast::sql
