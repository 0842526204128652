#include "cast.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/nested.hpp>
#include <holdfast/sql/zone.hpp>

namespace holdfast::sql {
namespace {

// Truncated; NaN is 0; beyond the range its end. First INT or BIGINT, then wrapped, as in Java.
std::int64_t saturated(double value, Kind kind) {
  if (std::isnan(value)) return 0;
  const bool wide = kind == Kind::kBigInt;
  const std::int64_t low =
      wide ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int32_t>::min();
  const std::int64_t high =
      wide ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int32_t>::max();
  const double limit = wide ? 9223372036854775808.0 : 2147483648.0;
  if (value >= limit) return wrapped(high, kind);
  if (value <= -limit) return wrapped(low, kind);
  return wrapped(static_cast<std::int64_t>(value), kind);
}

double as_real(const Value& value, const Type& from) {
  if (from.is_real()) return value.real;
  if (from.kind != Kind::kDecimal) return static_cast<double>(value.number);
  return real_of(value.number, from.scale);
}

// More than what a file may hold: of a BOOLEAN other words, of an integer digits behind the point,
// which are cut off.
std::optional<Value> cast_text(std::string_view text, const Type& to) {
  if (auto value = value_of(text, to)) return value;
  text = without_blanks(text);
  if (to.kind == Kind::kBoolean) {
    const std::string word = in_small(text);
    if (word == "t" || word == "y" || word == "yes" || word == "1") return Value::of(1);
    if (word == "f" || word == "n" || word == "no" || word == "0") return Value::of(0);
  }
  const auto point = text.find('.');
  if (!to.is_integer() || point == std::string_view::npos || point == 0 ||
      text.find_first_not_of("0123456789", point + 1) != std::string_view::npos)
    return std::nullopt;
  return value_of(text.substr(0, point), to);
}

std::optional<Value> to_decimal(const Value& value, const Type& from, const Type& to) {
  if (from.is_real()) {
    if (!std::isfinite(value.real)) return std::nullopt;
    return value_of(text_of(value, from), to);
  }
  const std::uint32_t scale = from.kind == Kind::kDecimal ? from.scale : 0;
  const auto number = rescaled(value.number, scale, to.scale);
  if (!number || !fits(*number, to.precision)) return std::nullopt;
  return Value::of(*number);
}

std::optional<Value> to_integer(const Value& value, const Type& from, Kind kind) {
  if (from.is_real()) return Value::of(saturated(value.real, kind));
  Int128 number = value.number;
  if (from.kind == Kind::kDecimal) {
    number /= power_of_ten(from.scale);
    if (!in_range(number, kind)) return std::nullopt;
  }
  return Value::of(wrapped(number, kind));
}

// The same wall clock: an instant's is that of its zone.
Value to_time(const Value& value, const Type& from, const Type& to) {
  auto wall = static_cast<std::int64_t>(value.number);
  if (from.kind == Kind::kDate) wall *= kDayMs;
  if (from.zone != nullptr) wall = from.zone->wall_of(wall);
  if (to.kind == Kind::kDate) return Value::of(floor_divide(wall, kDayMs));
  return Value::of(to.zone == nullptr ? wall : to.zone->instant_of(wall));
}

// Part by part.
std::optional<Value> to_nested(const Value& value, const Type& from, const Type& to) {
  const auto& before = from.nested->fields;
  const auto& after = to.nested->fields;
  auto parts = parts_of(value, from);
  NestedWriter writer(to);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto field = i % before.size();
    if (!parts[i].null) {
      auto cast = cast_value(parts[i], before[field].type, after[field].type);
      if (!cast) return std::nullopt;
      parts[i] = *std::move(cast);
    }
    if (to.kind != Kind::kMap && !writer.add(parts[i])) return std::nullopt;
  }
  return to.kind == Kind::kMap ? map_of(parts, to) : writer.take();
}

}  // namespace

double real_of(Int128 number, std::uint32_t scale) {
  constexpr Int128 kExact = Int128{1} << 53;
  constexpr std::uint32_t kExactPower = 22;
  // Both are doubles as they are, and a division rounds once.
  if (-kExact <= number && number <= kExact && scale <= kExactPower)
    return static_cast<double>(number) / static_cast<double>(power_of_ten(scale));
  const auto parsed = value_of(decimal_text(number, scale), kDoubleType);
  return parsed ? parsed->real : 0;
}

bool can_cast(const Type& from, const Type& to) {
  if (from.is_nested() && to.is_nested()) {
    return from.kind == to.kind &&
           std::equal(from.nested->fields.begin(), from.nested->fields.end(),
                      to.nested->fields.begin(), to.nested->fields.end(),
                      [](const auto& a, const auto& b) { return can_cast(a.type, b.type); });
  }
  if (to.is_nested()) return from.kind == Kind::kNull;
  if (from.is_nested()) return to.kind == Kind::kString;
  if (from.kind == Kind::kNull || from.kind == to.kind) return true;
  if (from.kind == Kind::kInterval || to.kind == Kind::kInterval) return false;
  if (from.kind == Kind::kString || to.kind == Kind::kString) return true;
  if (from.is_numeric() && to.is_numeric()) return true;
  if (from.is_time() && to.is_time()) return true;
  return (from.kind == Kind::kBoolean && to.is_integer()) ||
         (from.is_integer() && to.kind == Kind::kBoolean);
}

std::optional<Value> cast_value(const Value& value, const Type& from, const Type& to) {
  if (from == to) return value;
  if (from.kind == Kind::kString && (to.kind != Kind::kString || to.precision == 0))
    return cast_text(value.text, to);
  if (to.is_nested()) return to_nested(value, from, to);
  switch (to.kind) {
    case Kind::kString: {
      std::string text = text_of(value, from);
      if (from.kind == Kind::kBoolean) text = value.number != 0 ? "TRUE" : "FALSE";
      if (to.precision != 0) text = first_characters(text, to.precision);
      return Value::of_text(std::move(text));
    }
    case Kind::kDecimal: return to_decimal(value, from, to);
    case Kind::kFloat:
      return Value::of_real(static_cast<double>(static_cast<float>(as_real(value, from))));
    case Kind::kDouble: return Value::of_real(as_real(value, from));
    case Kind::kBoolean: return Value::of(value.number != 0 ? 1 : 0);
    case Kind::kDate:
    case Kind::kTimestamp: return to_time(value, from, to);
    default: return to_integer(value, from, to.kind);
  }
}

}  // namespace holdfast::sql
