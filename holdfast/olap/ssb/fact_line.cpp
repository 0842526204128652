#include <holdfast/olap/ssb/fact_line.hpp>

#include <array>
#include <charconv>
#include <cstdint>

#include <holdfast/olap/ssb/text.hpp>
#include <holdfast/olap/ssb/text_table.hpp>

namespace holdfast::olap::ssb {
namespace {

struct NumberField {
  std::uint8_t field;  // Of lineorder.tbl, from 0.
  std::string_view name;
  std::uint32_t most;
  std::uint32_t FactRow::* place;
};
constexpr std::array<NumberField, 13> kNumbers{{
    {1, "lo_linenumber", UINT32_MAX, &FactRow::line_number},
    {2, "lo_custkey", UINT32_MAX, &FactRow::customer},
    {3, "lo_partkey", UINT32_MAX, &FactRow::part},
    {4, "lo_suppkey", UINT32_MAX, &FactRow::supplier},
    {5, "lo_orderdate", UINT32_MAX, &FactRow::order_date},
    {8, "lo_quantity", 255, &FactRow::quantity},
    {9, "lo_extendedprice", UINT32_MAX, &FactRow::extended_price},
    {10, "lo_ordtotalprice", UINT32_MAX, &FactRow::order_total_price},
    {11, "lo_discount", 100, &FactRow::discount},
    {12, "lo_revenue", UINT32_MAX, &FactRow::revenue},
    {13, "lo_supplycost", UINT32_MAX, &FactRow::supply_cost},
    {14, "lo_tax", UINT32_MAX, &FactRow::tax},
    {15, "lo_commitdate", UINT32_MAX, &FactRow::commit_date},
}};

template <std::size_t N>
std::string parse_text(std::string_view name, std::string_view field, FixedText<N>& text) {
  if (!FixedText<N>::fits(field))
    return bad_field(name, field,
                     "at most " + std::to_string(N) + " bytes, none of them zero, are wanted");
  text.set(field);
  return "";
}

}  // namespace

std::string parse_fact(const std::vector<std::string_view>& fields, const std::vector<KeySet>& keys,
                       FactRow& row) {
  row = {};
  const auto [end, error] =
      std::from_chars(fields[0].data(), fields[0].data() + fields[0].size(), row.order_key);
  if (error != std::errc() || end != fields[0].data() + fields[0].size())
    return bad_field("lo_orderkey", fields[0], "a number below 2^64 is wanted");
  for (const auto& number : kNumbers) {
    if (!parse_number(fields[number.field], number.most, row.*number.place))
      return bad_field(number.name, fields[number.field],
                       "a number up to " + std::to_string(number.most) + " is wanted");
  }
  for (std::size_t i = 0; i < kDimensions; ++i) {
    if (!keys[i].contains(key_of(row, static_cast<Dimension>(i))))
      return bad_field(kKeyFields[i].name, fields[kKeyFields[i].field],
                       "no line of " + std::string(kShapes[i].table) + ".tbl has this key");
  }
  auto wrong = parse_text("lo_orderpriority", fields[6], row.order_priority);
  if (wrong.empty()) wrong = parse_text("lo_shippriority", fields[7], row.ship_priority);
  if (wrong.empty()) wrong = parse_text("lo_shipmode", fields[16], row.ship_mode);
  return wrong;
}

void append_line(const FactRow& row, std::string& text) {
  add(text, row.order_key);
  for (const auto number : {row.line_number, row.customer, row.part, row.supplier, row.order_date})
    add(text, number);
  add(text, row.order_priority.view());
  add(text, row.ship_priority.view());
  for (const auto number : {row.quantity, row.extended_price, row.order_total_price, row.discount,
                            row.revenue, row.supply_cost, row.tax, row.commit_date})
    add(text, number);
  add(text, row.ship_mode.view());
  text += '\n';
}

}  // namespace holdfast::olap::ssb
