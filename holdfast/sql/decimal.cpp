#include "decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace holdfast::sql {
namespace {

constexpr std::array<Int128, 39> kPowers = [] {
  std::array<Int128, 39> powers{};
  powers[0] = 1;
  for (std::size_t i = 1; i < powers.size(); ++i)
    powers[i] = powers[i - 1] * 10;
  return powers;
}();

Uint128 magnitude(Int128 value) {
  return value < 0 ? Uint128{0} - static_cast<Uint128>(value) : static_cast<Uint128>(value);
}

// 256 bits as eight words of 32, the least first: for products and dividends.
struct Wide {
  std::array<std::uint32_t, 8> words{};

  static Wide of(Uint128 value) {
    Wide wide;
    for (std::size_t i = 0; i < 4; ++i)
      wide.words[i] = static_cast<std::uint32_t>(value >> (32 * i));
    return wide;
  }
  bool multiply(std::uint32_t factor) {  // False: more than 256 bits.
    std::uint64_t carry = 0;
    for (auto& word : words) {
      carry += std::uint64_t{word} * factor;
      word = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return carry == 0;
  }
  bool below(const Wide& other) const {
    return std::lexicographical_compare(words.rbegin(), words.rend(), other.words.rbegin(),
                                        other.words.rend());
  }
  void add(const Wide& other) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      carry += std::uint64_t{words[i]} + other.words[i];
      words[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  void subtract(const Wide& other) {  // `other` is not larger.
    std::int64_t carry = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      carry += std::int64_t{words[i]} - other.words[i];
      words[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  bool narrow(Uint128& value) const {
    if ((words[4] | words[5] | words[6] | words[7]) != 0) return false;
    value = 0;
    for (std::size_t i = 4; i-- > 0;)
      value = value << 32 | words[i];
    return true;
  }
};

Wide product(Uint128 left, Uint128 right) {
  const Wide a = Wide::of(left), b = Wide::of(right);
  Wide result;
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      carry += std::uint64_t{a.words[i]} * b.words[j] + result.words[i + j];
      result.words[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    result.words[i + 4] = static_cast<std::uint32_t>(carry);
  }
  return result;
}

// Bit by bit; `divisor` is below 2^127, so the remainder never overflows.
Wide quotient_of(const Wide& dividend, Uint128 divisor, Uint128& remainder) {
  Wide quotient;
  remainder = 0;
  for (std::size_t bit = 256; bit-- > 0;) {
    remainder = remainder << 1 | (dividend.words[bit / 32] >> (bit % 32) & 1);
    if (remainder < divisor) continue;
    remainder -= divisor;
    quotient.words[bit / 32] |= 1u << (bit % 32);
  }
  return quotient;
}

std::optional<Int128> rounded_quotient(const Wide& dividend, Uint128 divisor, bool negative) {
  Uint128 remainder = 0, value = 0;
  if (!quotient_of(dividend, divisor, remainder).narrow(value)) return std::nullopt;
  if (value >= static_cast<Uint128>(kPowers[38])) return std::nullopt;
  if (remainder >= divisor - remainder) ++value;
  if (value >= static_cast<Uint128>(kPowers[38])) return std::nullopt;
  return negative ? -static_cast<Int128>(value) : static_cast<Int128>(value);
}

}  // namespace

Int128 power_of_ten(std::uint32_t exponent) { return kPowers[exponent]; }

std::uint32_t digits_of(Int128 value) {
  const Uint128 size = magnitude(value);
  std::uint32_t digits = 1;
  while (digits < 39 && size >= static_cast<Uint128>(kPowers[digits]))
    ++digits;
  return digits;
}

bool fits(Int128 value, std::uint32_t precision) {
  return precision <= 38 && magnitude(value) < static_cast<Uint128>(kPowers[precision]);
}

std::optional<Int128> rescaled(Int128 value, std::uint32_t from, std::uint32_t to) {
  if (from == to) return value;
  if (to < from) {
    if (from - to > 38) return Int128{0};
    return rounded_quotient(Wide::of(magnitude(value)), static_cast<Uint128>(kPowers[from - to]),
                            value < 0);
  }
  if (value == 0) return value;
  if (to - from > 38) return std::nullopt;
  return multiplied(value, kPowers[to - from], 0);
}

std::optional<Int128> added(Int128 left, Int128 right) {
  Int128 sum = 0;
  if (__builtin_add_overflow(left, right, &sum) || !fits(sum, 38)) return std::nullopt;
  return sum;
}

std::optional<Int128> summed(Int128 left, std::uint32_t left_scale, Int128 right,
                             std::uint32_t right_scale, std::uint32_t scale) {
  const std::uint32_t common = std::max(left_scale, right_scale);
  if (scale == common) {
    const auto a = rescaled(left, left_scale, common), b = rescaled(right, right_scale, common);
    if (a && b) return added(*a, *b);
  }
  // Of 76 digits at most each: 256 bits hold their sum.
  const auto scaled = [common](Int128 value, std::uint32_t from) {
    return product(magnitude(value), static_cast<Uint128>(kPowers[common - from]));
  };
  Wide sum = scaled(left, left_scale), other = scaled(right, right_scale);
  bool negative = left < 0;
  if ((left < 0) == (right < 0)) {
    sum.add(other);
  } else {
    if (sum.below(other)) {
      std::swap(sum, other);
      negative = !negative;
    }
    sum.subtract(other);
  }
  return rounded_quotient(sum, static_cast<Uint128>(kPowers[common - scale]), negative);
}

Int128 remainder_of(Int128 left, std::uint32_t left_scale, Int128 right,
                    std::uint32_t right_scale) {
  const std::uint32_t common = std::max(left_scale, right_scale);
  const auto divisor = rescaled(right, right_scale, common);
  if (!divisor) return left;  // It has more than 38 digits then, and `left` fewer.
  const auto dividend =
      product(magnitude(left), static_cast<Uint128>(kPowers[common - left_scale]));
  Uint128 remainder = 0;
  quotient_of(dividend, magnitude(*divisor), remainder);
  return left < 0 ? -static_cast<Int128>(remainder) : static_cast<Int128>(remainder);
}

std::optional<Int128> multiplied(Int128 left, Int128 right, std::uint32_t drop) {
  if (drop > 38) return std::nullopt;
  return rounded_quotient(product(magnitude(left), magnitude(right)),
                          static_cast<Uint128>(kPowers[drop]), (left < 0) != (right < 0));
}

std::optional<Int128> divided(Int128 left, Int128 right, std::uint32_t shift) {
  if (right == 0 || shift > 76) return std::nullopt;
  Wide dividend = Wide::of(magnitude(left));
  for (; shift > 0; --shift) {
    if (!dividend.multiply(10)) return std::nullopt;
  }
  return rounded_quotient(dividend, magnitude(right), (left < 0) != (right < 0));
}

int compared(Int128 left, std::uint32_t left_scale, Int128 right, std::uint32_t right_scale) {
  const std::uint32_t scale = std::max(left_scale, right_scale);
  const auto a = rescaled(left, left_scale, scale), b = rescaled(right, right_scale, scale);
  // At most one is scaled up, and one that has more than 38 digits then is the larger in size.
  if (!a) return left < 0 ? -1 : 1;
  if (!b) return right < 0 ? 1 : -1;
  return *a < *b ? -1 : *a > *b ? 1 : 0;
}

namespace {

// From the last one on. Returns where they begin.
template <class Unsigned>
char* put_digits(Unsigned rest, std::uint32_t scale, char* end) {
  for (std::uint32_t digits = 0; rest != 0 || digits <= scale; ++digits) {
    if (digits == scale && scale != 0) *--end = '.';
    *--end = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  }
  return end;
}

}  // namespace

void append_decimal(Int128 value, std::uint32_t scale, std::string& text) {
  char digits[48];  // 39 of 128 bits, or a zero and 38 behind the point.
  char* const end = digits + sizeof digits;
  const Uint128 all = magnitude(value);
  const auto small = static_cast<std::uint64_t>(all);
  char* const begin = all == small ? put_digits(small, scale, end) : put_digits(all, scale, end);
  if (value < 0) text += '-';
  text.append(begin, end);
}

std::string decimal_text(Int128 value, std::uint32_t scale) {
  std::string text;
  append_decimal(value, scale, text);
  return text;
}

std::optional<Int128> decimal_of(std::string_view text, std::uint32_t scale) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string digits;
  std::int64_t exponent = 0;
  bool point = false, any = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (!digits.empty() || c != '0') digits += c;
      if (point) --exponent;
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
    ++at;
    if (at < text.size() && text[at] == '+' && at + 1 < text.size() && text[at + 1] != '-') ++at;
    int written = 0;
    const auto end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data() + at, end, written);
    if (code != std::errc() || stop != end || written > 10000 || written < -10000)
      return std::nullopt;
    exponent += written;
  }
  if (digits.empty()) return Int128{0};
  const std::int64_t shift = exponent + scale;  // Zeros to add, or digits to drop.
  if (static_cast<std::int64_t>(digits.size()) + shift > 38) return std::nullopt;
  if (static_cast<std::int64_t>(digits.size()) + shift < 0) return Int128{0};
  const std::size_t kept =
      shift < 0 ? digits.size() - static_cast<std::size_t>(-shift) : digits.size();
  Int128 value = 0;
  for (std::size_t i = 0; i < kept; ++i)
    value = value * 10 + (digits[i] - '0');
  if (shift > 0) value *= kPowers[static_cast<std::size_t>(shift)];
  if (kept < digits.size() && digits[kept] >= '5') ++value;
  if (!fits(value, 38)) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace holdfast::sql
