#include <holdfast/olap/mart/row_order.hpp>

#include <algorithm>
#include <limits>
#include <string_view>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/schema.hpp>

namespace holdfast::olap::mart {
namespace {

// `a_null(i)` and `b_null(i)` say whether key i of a row is NULL; `compare(i)`, how two values are.
template <class IsNull, class Compare>
int compare_by(const std::vector<StarPlan::Key>& order, IsNull a_null, IsNull b_null,
               Compare compare) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (a_null(i) != b_null(i))
      return a_null(i) == HF_MUTANT("O49", order[i].nulls_first, true) ? -1 : 1;
    if (a_null(i)) continue;
    const int result = compare(i);
    if (result != 0) return (result < 0) != HF_MUTANT("O29", order[i].descending, false) ? -1 : 1;
  }
  return 0;
}

template <class T>
int compare_values(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// Of two values that are not NULL, as sql::compare() has it.
int compare_in(const Vector& values, Form form, std::uint32_t a, std::uint32_t b) {
  switch (form) {
    case Form::kNumbers: return compare_values(values.numbers[a], values.numbers[b]);
    case Form::kWide: return compare_values(values.wide[a], values.wide[b]);
    case Form::kReals: return compare_values(word_of(values.reals[a]), word_of(values.reals[b]));
    default: return compare_values(values.texts[a], values.texts[b]);
  }
}

// Words in the order of the values; other values may have the same.
std::uint64_t word_in_order(const Vector& values, Form form, std::uint32_t row) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::uint64_t word = 0;
  switch (form) {
    case Form::kTexts: {
      const auto text = values.texts[row].substr(0, sizeof word);
      for (std::size_t i = 0; i < sizeof word; ++i)
        word = word << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
      return word;
    }
    case Form::kNumbers: word = static_cast<std::uint64_t>(values.numbers[row]); break;
    case Form::kReals: word = static_cast<std::uint64_t>(word_of(values.reals[row])); break;
    case Form::kWide:
      word = static_cast<std::uint64_t>(
          std::clamp<sql::Int128>(values.wide[row], Limits::min(), Limits::max()));
      break;
  }
  return word ^ std::uint64_t{1} << 63;
}

struct OrderedRow {
  std::uint64_t word;  // Of the first key; what is smaller comes before.
  std::uint32_t number;
};

std::vector<OrderedRow> by_first_key(const StarPlan::Key& key, const Vector& values,
                                     std::size_t count) {
  const auto form = form_of(key.value->type);
  std::vector<OrderedRow> rows(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    rows[i].number = i;
    if (values.is_null(i)) {
      rows[i].word = HF_MUTANT("O60", key.nulls_first, !key.nulls_first) ? 0 : ~std::uint64_t{0};
      continue;
    }
    const auto word = word_in_order(values, form, i);
    rows[i].word = HF_MUTANT("O61", key.descending, !key.descending) ? ~word : word;
  }
  return rows;
}

}  // namespace

int compare_rows(const std::vector<StarPlan::Key>& order, std::span<const sql::Value> a,
                 std::span<const sql::Value> b) {
  const auto is_null = [](std::span<const sql::Value> row) {
    return [row](std::size_t i) { return row[i].null; };
  };
  return compare_by(order, is_null(a), is_null(b),
                    [&](std::size_t i) { return sql::compare(a[i], b[i], order[i].value->type); });
}

std::vector<std::uint32_t> first_in_order(const std::vector<StarPlan::Key>& order,
                                          const std::vector<Vector>& keys, std::size_t count,
                                          std::uint64_t wanted) {
  auto rows = by_first_key(order[0], keys[0], count);
  const auto is_null = [&](std::uint32_t row) {
    return [&keys, row](std::size_t i) { return keys[i].is_null(row); };
  };
  const auto before = [&](const OrderedRow& a, const OrderedRow& b) {
    if (a.word != b.word) return a.word < b.word;
    const int result = compare_by(order, is_null(a.number), is_null(b.number), [&](std::size_t i) {
      return compare_in(keys[i], form_of(order[i].value->type), a.number, b.number);
    });
    return result != 0 ? result < 0 : HF_MUTANT("O56", a.number < b.number, false);
  };
  // Others than the wanted ones are not sorted.
  const auto end =
      rows.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(wanted, rows.size()));
  std::nth_element(rows.begin(), end, rows.end(), before);
  std::sort(rows.begin(), end, before);
  std::vector<std::uint32_t> numbers;
  for (auto row = rows.begin(); row != end; ++row)
    numbers.push_back(row->number);
  return numbers;
}

}  // namespace holdfast::olap::mart
