// decimal.hpp: exact numbers of up to 38 digits, as a 128-bit integer and a scale that the type
// knows.
//
// Errors  None is thrown or returned: an operation whose answer has more than 38 digits, or a
//         division by zero, is nullopt. Rounding is half away from zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sql {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

// 10^exponent, exponent <= 38.
Int128 power_of_ten(std::uint32_t exponent);
// Digits of the number; 1 for 0.
std::uint32_t digits_of(Int128 value);
bool fits(Int128 value, std::uint32_t precision);

// `value` of one scale in another; nullopt beyond 38 digits.
std::optional<Int128> rescaled(Int128 value, std::uint32_t from, std::uint32_t to);
std::optional<Int128> added(Int128 left, Int128 right);
// left + right of two scales, rounded to `scale`, which is none above both: exact inside.
std::optional<Int128> summed(Int128 left, std::uint32_t left_scale, Int128 right,
                             std::uint32_t right_scale, std::uint32_t scale);
// left % right at the larger of their scales, with the sign of `left`. `right` is not 0.
Int128 remainder_of(Int128 left, std::uint32_t left_scale, Int128 right, std::uint32_t right_scale);
// left * right / 10^drop, rounded: exact inside, however long the product is.
std::optional<Int128> multiplied(Int128 left, Int128 right, std::uint32_t drop);
// left * 10^shift / right, rounded. shift <= 76.
std::optional<Int128> divided(Int128 left, Int128 right, std::uint32_t shift);
// -1, 0, 1, whatever the scales.
int compared(Int128 left, std::uint32_t left_scale, Int128 right, std::uint32_t right_scale);

void append_decimal(Int128 value, std::uint32_t scale, std::string& text);  // "-0.50"
std::string decimal_text(Int128 value, std::uint32_t scale);
// "12", "-3.50", "1e3": its digits, rounded to `scale`. nullopt: no number, or beyond 38 digits.
std::optional<Int128> decimal_of(std::string_view text, std::uint32_t scale);

}  // namespace holdfast::sql
