// Literals that are not of one type.
#include <holdfast/base/format.hpp>
#include <holdfast/sql/binder.hpp>

namespace holdfast::sql {

Result<ExpressionPointer> number_literal(const syntax::Expression& e) {
  if (e.text.find_first_of("eE") != std::string::npos) {
    const auto real = value_of(e.text, kDoubleType);
    if (!real) return error_at(e.at, "the number " + e.text + " is none a DOUBLE can hold");
    return literal_of(*real, kDoubleType, e.at);
  }
  const auto point = e.text.find('.');
  const auto scale =
      static_cast<std::uint32_t>(point == std::string::npos ? 0 : e.text.size() - point - 1);
  const auto digits = scale > kMaxDigits ? std::nullopt : decimal_of(e.text, scale);
  if (!digits) return error_at(e.at, "a number has more than 38 digits");
  Type type = written_type(*digits, scale);
  if (point != std::string::npos && scale == 0) type = decimal_type(digits_of(*digits), 0);  // 3.
  return literal_of(Value::of(*digits), type, e.at);
}

Result<ExpressionPointer> time_literal(const syntax::Expression& e, const Type& type) {
  auto value = value_of(e.text, type);
  if (!value)
    return error_at(e.at, "'" + escape(e.text) + "' is no " + name_of(type),
                    type.kind == Kind::kDate ? "2026-11-23" : "2026-11-23 05:30:00.000");
  return literal_of(*std::move(value), type, e.at);
}

}  // namespace holdfast::sql
