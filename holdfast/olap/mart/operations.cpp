#include <holdfast/olap/mart/operations.hpp>

#include <algorithm>
#include <cmath>

#include <holdfast/base/mutant.hpp>
#include <holdfast/sql/cast.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/nested.hpp>

namespace holdfast::olap::mart {
namespace {

using sql::Expression;
using sql::Operation;

bool is_arithmetic(Operation operation) {
  return operation >= Operation::kAdd && operation <= Operation::kModulo;
}
bool is_comparison(Operation operation) {
  return operation >= Operation::kEqual && operation <= Operation::kGreaterEqual;
}

std::uint32_t scale_of(const sql::Type& type) {
  return type.kind == sql::Kind::kDecimal ? type.scale : 0;
}

// NULL where one of the operands is.
void join_nulls(const std::vector<Vector>& arguments, std::size_t size, Vector& out) {
  for (const auto& argument : arguments) {
    if (argument.null.empty()) continue;
    out.null.resize(size);
    for (std::size_t i = 0; i < size; ++i)
      out.null[i] |= argument.null[i];
  }
}

Error does_not_fit(const Expression& e) {
  return sql::error_at(e.at, "the result does not fit " + sql::name_of(e.type),
                       "CAST an operand to DECIMAL(38, 0)");
}

// ---- Whole numbers, and decimals of one scale, as words ----

template <class F>
bool all_rows(const Vector& a, const Vector& b, std::size_t size, Vector& out, F overflows) {
  bool bad = false;
  for (std::size_t i = 0; i < size; ++i) {
    std::int64_t result = 0;
    bad |= overflows(a.numbers[i], b.numbers[i], &result) & !out.is_null(i);
    out.numbers[i] = result;
  }
  return !bad;
}

// Those that no operation on decimals scales.
bool adds_words(const Expression& e) {
  if (form_of(e.type) != Form::kNumbers) return false;
  if (e.operation == Operation::kMultiply)
    return scale_of(e.arguments[0]->type) + scale_of(e.arguments[1]->type) == scale_of(e.type);
  return (e.operation == Operation::kAdd || e.operation == Operation::kSubtract) &&
         scale_of(e.arguments[0]->type) == scale_of(e.type) &&
         scale_of(e.arguments[1]->type) == scale_of(e.type);
}

Status words(const Expression& e, const std::vector<Vector>& arguments, std::size_t size,
             Vector& out) {
  const auto& a = arguments[0];
  const auto& b = arguments[1];
  bool good = true;
  switch (e.operation) {
    case Operation::kAdd:
      good = all_rows(a, b, size, out,
                      [](auto x, auto y, auto* z) { return __builtin_add_overflow(x, y, z); });
      break;
    case Operation::kSubtract:
      good = all_rows(a, b, size, out,
                      [](auto x, auto y, auto* z) { return __builtin_sub_overflow(x, y, z); });
      break;
    default:
      good = all_rows(a, b, size, out, [](auto x, auto y, auto* z) {
        return HF_MUTANT("O25", __builtin_mul_overflow(x, y, z), (*z = x * y, false));
      });
  }
  if (good && e.type.kind != sql::Kind::kBigInt) {
    const bool decimal = e.type.kind == sql::Kind::kDecimal;
    for (std::size_t i = 0; i < size; ++i) {
      if (out.is_null(i)) continue;
      good &= decimal ? sql::fits(out.numbers[i], e.type.precision)
                      : sql::in_range(out.numbers[i], e.type.kind);
    }
  }
  return good ? Status() : does_not_fit(e);
}

// Products of decimals of up to 18 digits each, whose type has room for all digits.
bool multiplies_wide(const Expression& e) {
  if (e.operation != Operation::kMultiply || form_of(e.type) != Form::kWide) return false;
  const auto a = sql::as_decimal(e.arguments[0]->type), b = sql::as_decimal(e.arguments[1]->type);
  return form_of(e.arguments[0]->type) == Form::kNumbers &&
         form_of(e.arguments[1]->type) == Form::kNumbers &&
         a.precision + b.precision <= e.type.precision && a.scale + b.scale == e.type.scale;
}

void reals(const Expression& e, const std::vector<Vector>& arguments, std::size_t size,
           Vector& out) {
  const auto& a = arguments[0].reals;
  const auto& b = arguments[1].reals;
  for (std::size_t i = 0; i < size; ++i) {
    switch (e.operation) {
      case Operation::kAdd: out.reals[i] = a[i] + b[i]; break;
      case Operation::kSubtract: out.reals[i] = a[i] - b[i]; break;
      case Operation::kMultiply: out.reals[i] = a[i] * b[i]; break;
      case Operation::kDivide: out.reals[i] = a[i] / b[i]; break;
      default: out.reals[i] = std::fmod(a[i], b[i]); break;
    }
  }
}

// ---- Comparisons ----

template <class T>
void compare_all(Operation operation, const std::vector<T>& a, const std::vector<T>& b,
                 std::size_t size, Vector& out) {
  const auto each = [&](auto holds) {
    for (std::size_t i = 0; i < size; ++i)
      out.numbers[i] = holds(a[i], b[i]) ? 1 : 0;
  };
  switch (operation) {
    case Operation::kEqual: return each([](const T& x, const T& y) { return x == y; });
    case Operation::kNotEqual: return each([](const T& x, const T& y) { return x != y; });
    case Operation::kLess: return each([](const T& x, const T& y) { return x < y; });
    case Operation::kLessEqual: return each([](const T& x, const T& y) { return x <= y; });
    case Operation::kGreater: return each([](const T& x, const T& y) { return x > y; });
    default: return each([](const T& x, const T& y) { return x >= y; });
  }
}

// Whether the operands' words compare as their values do. (Reals do not: NaN is above all.)
bool compares_words(const Expression& a, const Expression& b) {
  return form_of(a.type) == Form::kNumbers && form_of(b.type) == Form::kNumbers &&
         scale_of(a.type) == scale_of(b.type);
}

bool nulls_differ(Operation operation) {
  return operation == Operation::kIsNull || operation == Operation::kIsTrue ||
         operation == Operation::kIsFalse;
}

void truth(Operation operation, const Vector& a, std::size_t size, Vector& out) {
  for (std::size_t i = 0; i < size; ++i) {
    const bool null = a.is_null(i);
    if (operation == Operation::kIsNull)
      out.numbers[i] = null;
    else
      out.numbers[i] = !null && (a.numbers[i] != 0) == (operation == Operation::kIsTrue);
  }
}

// value IN (words), where nothing is NULL but the value.
bool is_plain_in(const Expression& e) {
  if (e.operation != Operation::kIn) return false;
  for (std::size_t i = 1; i < e.arguments.size(); ++i) {
    const auto& member = *e.arguments[i];
    if (member.operation != Operation::kLiteral || member.literal.null ||
        !compares_words(*e.arguments[0], member))
      return false;
  }
  return true;
}

void plain_in(const Expression& e, const Vector& a, std::size_t size, Vector& out) {
  std::vector<std::int64_t> members;
  for (std::size_t i = 1; i < e.arguments.size(); ++i)
    members.push_back(static_cast<std::int64_t>(e.arguments[i]->literal.number));
  std::sort(members.begin(), members.end());
  for (std::size_t i = 0; i < size; ++i)
    out.numbers[i] = std::binary_search(members.begin(), members.end(), a.numbers[i]);
  out.null = a.null;
}

// ---- Whole numbers and decimals as doubles ----

bool makes_double(const Expression& e) {
  return (e.operation == Operation::kCast || e.operation == Operation::kTryCast) &&
         e.type.kind == sql::Kind::kDouble &&
         (e.arguments[0]->type.is_integer() || e.arguments[0]->type.kind == sql::Kind::kDecimal) &&
         form_of(e.arguments[0]->type) == Form::kNumbers;
}

void doubles(const Expression& e, const Vector& a, std::size_t size, Vector& out) {
  const auto scale = scale_of(e.arguments[0]->type);
  for (std::size_t i = 0; i < size; ++i)
    out.reals[i] =
        scale == 0 ? static_cast<double>(a.numbers[i]) : sql::real_of(a.numbers[i], scale);
  out.null = a.null;
}

// ---- All else: value by value ----

// Whether a CAST of this value, which is not NULL, gives another whole number.
bool cast_wraps(const sql::Value& value, const sql::Type& of, const sql::Type& to) {
  if (to.is_nested() && of.is_nested()) {
    const auto parts = sql::parts_of(value, of);
    const auto &before = of.nested->fields, &after = to.nested->fields;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto field = i % before.size();
      if (!parts[i].null && cast_wraps(parts[i], before[field].type, after[field].type))
        return HF_MUTANT("O65", true, false);
    }
    return false;
  }
  if (!to.is_integer()) return false;
  if (of.is_integer()) return !sql::in_range(value.number, to.kind);
  if (!of.is_real()) return false;
  // Below 2^63 there is a place for it in 128 bits.
  return !(std::fabs(value.real) <= 0x1p63) ||
         !sql::in_range(static_cast<sql::Int128>(value.real), to.kind);
}

// Whether sql::evaluate() would give a whole number that is not the one of these operands, the
// first of which is not NULL: it lets some wrap, and a real beyond the range becomes its end.
bool wraps(const Expression& e, const sql::Row& row) {
  switch (e.operation) {
    case Operation::kNegate:
    case Operation::kAbsolute:
      // Without a sign the least number has no place.
      return row[0].number < 0 && !sql::in_range(-row[0].number, e.type.kind);
    case Operation::kDivide:
      return !row[1].null && row[1].number == -1 && !sql::in_range(-row[0].number, e.type.kind);
    case Operation::kCast:
    case Operation::kTryCast: return cast_wraps(row[0], e.arguments[0]->type, e.type);
    default: return false;
  }
}

Error is_none_of_type(const Expression& e, const sql::Value& value) {
  return sql::error_at(
      e.at, "'" + sql::text_of(value, e.arguments[0]->type) + "' is no " + sql::name_of(e.type),
      "TRY_CAST gives NULL");
}

Status by_value(const Expression& e, const std::vector<Vector>& arguments, std::size_t size,
                Vector& out) {
  Expression of_row;
  of_row.operation = e.operation;
  of_row.type = e.type;
  of_row.at = e.at;
  of_row.literal = e.literal;
  of_row.column = e.column;      // Which function it is,
  of_row.prepared = e.prepared;  // and what was made ready for it.
  for (std::uint32_t i = 0; i < e.arguments.size(); ++i) {
    const auto& argument = *e.arguments[i];
    of_row.arguments.push_back(argument.operation == Operation::kLiteral
                                   ? sql::literal_of(argument.literal, argument.type, argument.at)
                                   : sql::column_of(i, argument.type, argument.at));
  }
  const auto form = form_of(e.type);
  sql::Row row(arguments.size());
  sql::Value value;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < arguments.size(); ++k)
      row[k] = arguments[k].value(e.arguments[k]->type, i);
    if ((e.type.is_integer() || e.type.is_nested()) && !row.empty() && !row[0].null &&
        wraps(e, row)) {
      if (e.operation == Operation::kCast) return is_none_of_type(e, row[0]);
      if (e.operation != Operation::kTryCast) return does_not_fit(e);
      out.set_null(i);
      continue;
    }
    HF_RETURN_IF_ERROR(sql::evaluate(of_row, row, value));
    out.set(form, i, value);
  }
  return {};
}

}  // namespace

Status run_operation(const Expression& e, const std::vector<Vector>& arguments, std::size_t size,
                     Vector& out) {
  out.reset(form_of(e.type), size);
  if (nulls_differ(e.operation)) return truth(e.operation, arguments[0], size, out), Status();
  if (is_plain_in(e)) return plain_in(e, arguments[0], size, out), Status();
  if (makes_double(e)) return doubles(e, arguments[0], size, out), Status();
  const bool of_two = is_arithmetic(e.operation) || is_comparison(e.operation);
  if (!of_two) {
    if (e.operation != Operation::kNot) return by_value(e, arguments, size, out);
    for (std::size_t i = 0; i < size; ++i)
      out.numbers[i] = arguments[0].numbers[i] == 0;
    out.null = arguments[0].null;
    return {};
  }
  const auto& left = *e.arguments[0];
  const auto& right = *e.arguments[1];
  if (is_comparison(e.operation) && left.type.kind == sql::Kind::kString) {
    compare_all(e.operation, arguments[0].texts, arguments[1].texts, size, out);
  } else if (is_comparison(e.operation) && compares_words(left, right)) {
    compare_all(e.operation, arguments[0].numbers, arguments[1].numbers, size, out);
  } else if (is_arithmetic(e.operation) && e.type.is_real() && e.type.kind != sql::Kind::kFloat) {
    reals(e, arguments, size, out);
  } else if (is_arithmetic(e.operation) && adds_words(e)) {
    join_nulls(arguments, size, out);
    return words(e, arguments, size, out);
  } else if (multiplies_wide(e)) {
    for (std::size_t i = 0; i < size; ++i)
      out.wide[i] = static_cast<sql::Int128>(arguments[0].numbers[i]) * arguments[1].numbers[i];
  } else {
    return by_value(e, arguments, size, out);
  }
  join_nulls(arguments, size, out);
  return {};
}

}  // namespace holdfast::olap::mart
