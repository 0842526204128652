// generator.hpp: the tables of the Star Schema Benchmark, row by row.
//
// The same scale and seed give the same rows on every machine. Each row is made from its number
// alone, so that any number of threads can make any ranges. Written from the benchmark's paper and
// the TPC-H clauses it refers to; docs/olap.md says where the two leave a choice.
//
// Threads   Any; nothing changes after create().
// Cost      A line of an order takes some 10 ns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/ssb/calendar.hpp>
#include <holdfast/olap/ssb/random.hpp>
#include <holdfast/olap/star.hpp>

namespace holdfast::olap::ssb {

inline constexpr std::uint64_t kDefaultSeed = 1;

// Orders in one piece of work of a parallel load: 64 Ki lines on average.
inline constexpr std::uint64_t kOrdersAtOnce = 16'384;

struct Place {  // Of a customer or supplier.
  unsigned nation;
  unsigned region;
  std::string city;
};

struct Part {
  unsigned mfgr, category, brand;  // 1..5, 1..5, 1..40.
};

struct Order {
  std::uint64_t number;  // From 0.
  std::uint64_t key;     // Sparse.
  unsigned lines;        // 1..7.
  std::uint32_t customer;
  std::uint32_t day;  // An index into the calendar.
};

struct Line {
  std::uint32_t part, supplier;
  std::uint32_t quantity, discount;
  std::uint32_t extended_price, revenue, supply_cost;  // Cents.
};

class Generator {
 public:
  static constexpr double kMinScale = 1e-5, kMaxScale = 1e4;
  // Errors: kInvalidOption (scale).
  static Result<Generator> create(double scale, std::uint64_t seed = kDefaultSeed);

  std::uint64_t orders() const { return orders_; }
  std::uint32_t customers() const { return customers_; }
  std::uint32_t suppliers() const { return suppliers_; }
  std::uint32_t parts() const { return parts_; }
  // A row of a dimension with the attributes that are stored; `row` from 0.
  std::uint32_t rows(Dimension dimension) const;
  DimensionRow row(Dimension dimension, std::uint32_t row) const;
  // The whole row as in a .tbl file, with its newline.
  void append_text(Dimension dimension, std::uint32_t row, std::string& text) const;

  Order order(std::uint64_t number) const;
  Line line(const Order& order, unsigned line) const;  // From 0.
  // All lines of the order as in a .tbl file.
  void append_text(const Order& order, std::string& text) const;

 private:
  Generator(double scale, std::uint64_t seed);
  Place place(const Draws& nations, const Draws& cities, std::uint32_t row) const;
  Part part(std::uint32_t row) const;
  void append_place(std::string_view title, std::uint32_t row, const Place& place,
                    std::string& text) const;
  void append_part(std::uint32_t row, std::string& text) const;

  std::uint64_t seed_;
  std::uint64_t orders_;
  std::uint32_t customers_, suppliers_, parts_;
  // Of the hot columns; all others are made where they are used.
  Draws line_counts_, order_customers_, order_days_, line_parts_, line_suppliers_, quantities_,
      discounts_;
};

// Cents, for one piece.
constexpr std::uint32_t price_of_part(std::uint32_t key) {
  return 90'000 + key / 10 % 20'001 + 100 * (key % 1'000);
}

}  // namespace holdfast::olap::ssb
