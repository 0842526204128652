// star.hpp: the star schema that is stored: its dimensions, their attributes, the fact's columns.
//
// A dimension's rows are ordered by its hierarchy and renumbered. The new key of a row has three
// digits, and the fact table has a column for each of them:
//
//   outer    which tuple of the upper attributes: (region, nation, city), (mfgr, category), month
//   inner    which value below it: the brand of a category, the day of a month; else always 0
//   ordinal  which row among those with the same outer and inner
//
// So the join is kept whole, and a query reads only the digits that its predicates and groups need.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::olap {

enum class Dimension : std::uint8_t { kDate, kCustomer, kSupplier, kPart };
inline constexpr std::size_t kDimensions = 4;
inline constexpr std::size_t kMaxAttributes = 4;

struct Attribute {
  Dimension dimension;
  std::uint8_t number;  // Within the dimension.

  bool operator==(const Attribute&) const = default;
};

namespace attribute {
inline constexpr Attribute kYear{Dimension::kDate, 0}, kYearMonthNum{Dimension::kDate, 1},
    kYearMonth{Dimension::kDate, 2}, kWeekNumInYear{Dimension::kDate, 3};
inline constexpr Attribute kCustomerRegion{Dimension::kCustomer, 0},
    kCustomerNation{Dimension::kCustomer, 1}, kCustomerCity{Dimension::kCustomer, 2};
inline constexpr Attribute kSupplierRegion{Dimension::kSupplier, 0},
    kSupplierNation{Dimension::kSupplier, 1}, kSupplierCity{Dimension::kSupplier, 2};
inline constexpr Attribute kMfgr{Dimension::kPart, 0}, kCategory{Dimension::kPart, 1},
    kBrand{Dimension::kPart, 2};
}  // namespace attribute

struct DimensionShape {
  std::string_view table;
  std::uint8_t attributes;  // So many are stored,
  std::uint8_t outer;       // and so many of them, the first, make the outer digit.
  bool inner_is_key;        // Each key has an inner digit of its own.
  std::array<std::string_view, kMaxAttributes> names;
  std::array<std::uint8_t, kMaxAttributes> columns;  // Of the .tbl file, from 0.
  std::uint8_t file_columns;
  std::array<bool, kMaxAttributes> numeric;
};

inline constexpr std::array<DimensionShape, kDimensions> kShapes{{
    {"date",
     4,
     3,
     true,
     {"d_year", "d_yearmonthnum", "d_yearmonth", "d_weeknuminyear"},
     {4, 5, 6, 11},
     17,
     {true, true, false, true}},
    {"customer", 3, 3, false, {"c_region", "c_nation", "c_city", ""}, {5, 4, 3, 0}, 8, {}},
    {"supplier", 3, 3, false, {"s_region", "s_nation", "s_city", ""}, {5, 4, 3, 0}, 7, {}},
    {"part", 3, 2, false, {"p_mfgr", "p_category", "p_brand1", ""}, {2, 3, 4, 0}, 9, {}},
}};

constexpr const DimensionShape& shape(Dimension dimension) {
  return kShapes[static_cast<std::size_t>(dimension)];
}
constexpr std::string_view name(Attribute attribute) {
  return shape(attribute.dimension).names[attribute.number];
}

struct DimensionRow {
  std::uint32_t key = 0;
  std::array<std::string, kMaxAttributes> values;
};

// ---- The fact's columns ----

enum class Digit : std::uint8_t { kOuter, kInner, kOrdinal };

// Three for each dimension, then the measures.
using Column = std::uint8_t;
constexpr Column column(Dimension dimension, Digit digit) {
  return static_cast<Column>(3 * static_cast<unsigned>(dimension) + static_cast<unsigned>(digit));
}
inline constexpr Column kQuantity = 12, kDiscount = 13, kExtendedPrice = 14, kRevenue = 15,
                        kSupplyCost = 16;
inline constexpr std::size_t kColumns = 17;
inline constexpr std::array<std::string_view, kColumns> kColumnNames{
    "date.outer",       "date.inner",     "date.ordinal",   "customer.outer",   "customer.inner",
    "customer.ordinal", "supplier.outer", "supplier.inner", "supplier.ordinal", "part.outer",
    "part.inner",       "part.ordinal",   "lo_quantity",    "lo_discount",      "lo_extendedprice",
    "lo_revenue",       "lo_supplycost"};

// Columns that predicates scan hold a byte per row. All others are packed to the bit.
constexpr bool is_byte_column(Column column) {
  return column < 12 ? column % 3 != 2 : column <= kDiscount;
}

}  // namespace holdfast::olap
