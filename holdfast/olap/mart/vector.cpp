#include <holdfast/olap/mart/vector.hpp>

namespace holdfast::olap::mart {

Form form_of(const sql::Type& type) {
  if (type.is_bytes()) return Form::kTexts;
  if (type.is_real()) return Form::kReals;
  if (type.kind == sql::Kind::kDecimal && type.precision > 18) return Form::kWide;
  return Form::kNumbers;
}

void Vector::reset(Form form, std::size_t size) {
  size_ = size;
  null.clear();
  made_.clear();
  owner_.reset();
  switch (form) {
    case Form::kNumbers: numbers.resize(size); break;
    case Form::kWide: wide.resize(size); break;
    case Form::kReals: reals.resize(size); break;
    case Form::kTexts: texts.resize(size); break;
  }
}

void Vector::set(Form form, std::size_t row, const sql::Value& value) {
  if (value.null) return set_null(row);
  switch (form) {
    case Form::kNumbers: numbers[row] = static_cast<std::int64_t>(value.number); break;
    case Form::kWide: wide[row] = value.number; break;
    case Form::kReals: reals[row] = value.real; break;
    case Form::kTexts: texts[row] = made_.emplace_back(value.text); break;
  }
}

sql::Value Vector::value(const sql::Type& type, std::size_t row) const {
  if (is_null(row)) return {};
  switch (form_of(type)) {
    case Form::kNumbers: return sql::Value::of(numbers[row]);
    case Form::kWide: return sql::Value::of(wide[row]);
    case Form::kReals: return sql::Value::of_real(reals[row]);
    default: return sql::Value::of_text(std::string(texts[row]));
  }
}

void Vector::copy(Form form, std::size_t row, const Vector& from, std::size_t from_row) {
  if (from.is_null(from_row)) return set_null(row);
  switch (form) {
    case Form::kNumbers: numbers[row] = from.numbers[from_row]; break;
    case Form::kWide: wide[row] = from.wide[from_row]; break;
    case Form::kReals: reals[row] = from.reals[from_row]; break;
    case Form::kTexts: texts[row] = made_.emplace_back(from.texts[from_row]); break;
  }
}

void Vector::take(Form form, std::size_t at, const Vector& from,
                  std::span<const std::uint32_t> rows) {
  const auto each = [&](const auto& values, auto& to) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      to[at + i] = values[rows[i]];
  };
  switch (form) {
    case Form::kNumbers: each(from.numbers, numbers); break;
    case Form::kWide: each(from.wide, wide); break;
    case Form::kReals: each(from.reals, reals); break;
    case Form::kTexts: each(from.texts, texts); break;
  }
  if (from.null.empty()) return;
  if (null.empty()) null.resize(size_);
  each(from.null, null);
}

std::shared_ptr<const Vector> rows_of(const std::shared_ptr<const Vector>& from, Form form,
                                      std::span<const std::uint32_t> rows) {
  auto to = std::make_shared<Vector>();
  to->reset(form, rows.size());
  to->take(form, 0, *from, rows);
  to->keep(from);
  return to;
}

}  // namespace holdfast::olap::mart
