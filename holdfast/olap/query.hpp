// query.hpp: a question to a star: conditions on attributes and measures, groups, one sum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/olap/star.hpp>

namespace holdfast::olap {

// attribute IN (any_of), or, where that is empty, attribute BETWEEN from AND to. Texts compare as
// bytes, attributes that are numbers as numbers.
struct AttributeFilter {
  Attribute attribute;
  std::vector<std::string> any_of;
  std::string from, to;
};

struct MeasureRange {
  Column column;  // kQuantity or kDiscount.
  std::uint32_t from, to;
};

enum class Sum : std::uint8_t {
  kPriceTimesDiscount,  // In hundredths of a cent, since the discount is in percent.
  kRevenues,
  kProfit,  // Revenue minus supply cost.
};

struct OrderBy {
  std::uint8_t column;  // Of the output.
  bool descending = false;
};

struct StarQuery {
  std::string name;
  std::vector<AttributeFilter> conditions;  // All of them.
  std::vector<MeasureRange> ranges;
  std::vector<Attribute> groups;  // In the order of SELECT.
  Sum sum;
  std::string sum_name;  // Its column's.
  bool sum_first = false;
  std::vector<OrderBy> order;  // Rows that are equal in these: by their groups.
};

// Rows as texts. A sum over no rows is empty.
struct ResultTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;

  bool operator==(const ResultTable&) const = default;
  std::string csv() const;
};

// Attributes that compare as numbers, and their values so; -1 for what is none.
bool is_numeric(Attribute attribute);
std::int64_t number_of(std::string_view text);

}  // namespace holdfast::olap
