// vector.hpp: the values of an expression for some rows.
//
// The type of the expression says which of the arrays has them: texts of a string, and of an array,
// a row or a map, whose parts are bytes; reals of a float or double; wide of a decimal of more than
// 18 digits; numbers of all else.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/sql/decimal.hpp>
#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::olap::mart {

enum class Form : std::uint8_t { kNumbers, kWide, kReals, kTexts };
Form form_of(const sql::Type& type);

class Vector {
 public:
  std::vector<std::int64_t> numbers;
  std::vector<sql::Int128> wide;
  std::vector<double> reals;
  std::vector<std::string_view> texts;
  std::vector<std::uint8_t> null;  // Empty: there is no NULL.

  Vector() = default;
  Vector(Vector&&) = default;
  Vector& operator=(Vector&&) = default;

  // `size` values of this form, which are to be set, and none NULL.
  void reset(Form form, std::size_t size);
  std::size_t size() const { return size_; }
  bool is_null(std::size_t row) const { return !null.empty() && null[row] != 0; }
  void set_null(std::size_t row) {
    if (null.empty()) null.resize(size_);
    null[row] = 1;
  }
  void set(Form form, std::size_t row, const sql::Value& value);
  sql::Value value(const sql::Type& type, std::size_t row) const;
  // Value `row` of another of the same form; its text stays there.
  void copy(Form form, std::size_t row, const Vector& from, std::size_t from_row);
  // Rows of another of the same form, as values `at` and on; texts stay where they are.
  void take(Form form, std::size_t at, const Vector& from, std::span<const std::uint32_t> rows);
  // Texts of this one lie there, which stays as long as they do.
  void keep(std::shared_ptr<const void> owner) { owner_ = std::move(owner); }

 private:
  std::size_t size_ = 0;
  std::shared_ptr<const void> owner_;
  std::deque<std::string> made_;  // Texts that lie nowhere else.
};

// These rows of a vector, whose texts stay where they are.
std::shared_ptr<const Vector> rows_of(const std::shared_ptr<const Vector>& from, Form form,
                                      std::span<const std::uint32_t> rows);

}  // namespace holdfast::olap::mart
