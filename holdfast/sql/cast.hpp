// cast.hpp: a value of one type as one of another.
#pragma once

#include <optional>

#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::sql {

// Whether such a cast exists.
bool can_cast(const Type& from, const Type& to);

// `value` is not NULL. nullopt: it has no place in `to`: a text that is no number, a decimal with
// too many digits. Integers wrap to narrower ones, reals saturate, as in Flink.
std::optional<Value> cast_value(const Value& value, const Type& from, const Type& to);

// number / 10^scale, correctly rounded.
double real_of(Int128 number, std::uint32_t scale);

}  // namespace holdfast::sql
