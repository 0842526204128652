#include <holdfast/olap/mart/word_text.hpp>

#include <charconv>

namespace holdfast::olap::mart {

std::optional<std::int64_t> word_of_text(std::string_view text, const sql::Type& type) {
  if (type.is_integer()) {
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code == std::errc() && end == text.data() + text.size() && number >= kLeast &&
        sql::in_range(number, type.kind))
      return number;
  }
  const auto value = sql::value_of(text, type);
  if (!value || value->null) return std::nullopt;
  if (type.is_real()) return word_of(value->real);
  if (type.kind == sql::Kind::kDecimal && !sql::fits(value->number, type.precision))
    return std::nullopt;
  const auto number = static_cast<std::int64_t>(value->number);
  if (number != value->number || number < kLeast) return std::nullopt;
  return number;
}

sql::Value value_of_word(std::int64_t word, const sql::Type& type) {
  return type.is_real() ? sql::Value::of_real(double_of(word)) : sql::Value::of(word);
}

}  // namespace holdfast::olap::mart
