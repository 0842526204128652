// row_format.hpp: the fact table and the dimensions as rows of 128 bytes, the baseline of columns.
//
// After the handcrafted benchmark of Daase, Bollmeier, Benson and Rabl, "Maximizing Persistent
// Memory Bandwidth Utilization for OLAP Workloads" (SIGMOD 2021), section 6.2: a row per tuple,
// fields at fixed places, padded to 128 bytes. There numbers are decimal digits, which each query
// parses; here they are binary. Fields stand in the order of the .tbl file, so that a query about
// revenue touches the second line of a row, too.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <holdfast/base/units.hpp>
#include <holdfast/olap/star.hpp>

namespace holdfast::olap {

inline constexpr std::size_t kRowBytes = 128;

// A text of at most N bytes, filled up with zeros; it holds no zero itself.
template <std::size_t N>
struct FixedText {
  std::array<char, N> bytes{};

  static bool fits(std::string_view text) {
    return text.size() <= N && text.find('\0') == std::string_view::npos;
  }
  // Requires fits().
  void set(std::string_view text) {
    bytes.fill('\0');
    std::copy(text.begin(), text.end(), bytes.begin());
  }
  std::string_view view() const {
    const auto end = std::find(bytes.begin(), bytes.end(), '\0');
    return {bytes.data(), static_cast<std::size_t>(end - bytes.begin())};
  }
  bool operator==(const FixedText&) const = default;
};

struct FactRow {  // On media, little-endian, two lines. All seventeen fields.
  std::uint64_t order_key;
  std::uint32_t line_number;
  std::uint32_t customer, part, supplier, order_date;  // Keys of dimensions.
  FixedText<16> order_priority;
  FixedText<4> ship_priority;
  std::uint32_t quantity;
  std::uint32_t extended_price;  // Money in cents.
  std::uint32_t order_total_price;
  std::uint32_t discount;  // Percent.
  std::uint32_t revenue;   // The second line begins.
  std::uint32_t supply_cost;
  std::uint32_t tax;  // Percent.
  std::uint32_t commit_date;
  FixedText<16> ship_mode;
  std::array<std::byte, 32> reserved;  // Zero.

  bool operator==(const FactRow&) const = default;
};
static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(FactRow) == kRowBytes && offsetof(FactRow, quantity) == 48 &&
              offsetof(FactRow, revenue) == kCacheLineBytes && offsetof(FactRow, ship_mode) == 80);
static_assert(std::has_unique_object_representations_v<FactRow>);

// A row of a dimension: its key and its attributes, of which numbers are four bytes and texts the
// whole place.
struct DimensionTuple {  // On media, little-endian.
  static constexpr std::size_t kPlaceBytes = 30;
  using Place = FixedText<kPlaceBytes>;

  std::uint32_t key;
  std::uint32_t reserved;  // Zero.
  std::array<Place, kMaxAttributes> places;

  std::uint32_t number(std::size_t attribute) const {
    std::uint32_t number = 0;
    std::memcpy(&number, places[attribute].bytes.data(), sizeof number);
    return number;
  }
  bool operator==(const DimensionTuple&) const = default;
};
static_assert(sizeof(DimensionTuple) == kRowBytes);
static_assert(std::has_unique_object_representations_v<DimensionTuple>);

// The key of a dimension in a fact row.
constexpr std::uint32_t key_of(const FactRow& row, Dimension dimension) {
  switch (dimension) {
    case Dimension::kDate: return row.order_date;
    case Dimension::kCustomer: return row.customer;
    case Dimension::kSupplier: return row.supplier;
    default: return row.part;
  }
}

// The largest of each measure that is summed, over some rows.
struct MeasureBounds {
  std::uint32_t discount = 0, extended_price = 0, revenue = 0, supply_cost = 0;

  void include(const FactRow& row) {
    discount = std::max(discount, row.discount);
    extended_price = std::max(extended_price, row.extended_price);
    revenue = std::max(revenue, row.revenue);
    supply_cost = std::max(supply_cost, row.supply_cost);
  }
  bool operator==(const MeasureBounds&) const = default;
};

// Rows that lie side by side in the region.
struct RowRun {
  std::uint64_t offset = 0;
  std::uint32_t rows = 0;
  std::uint64_t checksum = 0;  // Of all bytes.
  MeasureBounds most;          // Of fact rows.

  std::uint64_t bytes() const { return std::uint64_t{rows} * kRowBytes; }
  bool operator==(const RowRun&) const = default;
};

// All tables of a star of rows.
struct RowTables {
  std::array<RowRun, kDimensions> dimensions;
  std::vector<RowRun> facts;
};

}  // namespace holdfast::olap
