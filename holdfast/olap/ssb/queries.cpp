#include <holdfast/olap/ssb/queries.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <holdfast/base/format.hpp>

namespace holdfast::olap::ssb {

using namespace attribute;

namespace {

AttributeFilter is(Attribute attribute, std::string value) {
  return {attribute, {std::move(value)}, {}, {}};
}
AttributeFilter in(Attribute attribute, std::vector<std::string> values) {
  return {attribute, std::move(values), {}, {}};
}
AttributeFilter between(Attribute attribute, std::string from, std::string to) {
  return {attribute, {}, std::move(from), std::move(to)};
}

StarQuery flight1(std::string name, std::vector<AttributeFilter> conditions, MeasureRange discount,
                  MeasureRange quantity) {
  return {std::move(name),
          std::move(conditions),
          {discount, quantity},
          {},
          Sum::kPriceTimesDiscount,
          "revenue",
          false,
          {}};
}
StarQuery flight2(std::string name, AttributeFilter part, std::string region) {
  return {std::move(name),
          {std::move(part), is(kSupplierRegion, std::move(region))},
          {},
          {kYear, kBrand},
          Sum::kRevenues,
          "sum(lo_revenue)",
          true,
          {{1}, {2}}};
}
StarQuery flight3(std::string name, std::vector<AttributeFilter> conditions, Attribute customer,
                  Attribute supplier) {
  return {std::move(name),
          std::move(conditions),
          {},
          {customer, supplier, kYear},
          Sum::kRevenues,
          "revenue",
          false,
          {{2}, {3, true}}};
}
StarQuery flight4(std::string name, std::vector<AttributeFilter> conditions,
                  std::vector<Attribute> groups) {
  std::vector<OrderBy> order;
  for (std::size_t i = 0; i < groups.size(); ++i)
    order.push_back({static_cast<std::uint8_t>(i)});
  return {std::move(name), std::move(conditions), {}, std::move(groups), Sum::kProfit, "profit",
          false,           std::move(order)};
}

constexpr std::size_t kQueries = 13;

// The thirteen, and behind them those of the prose.
std::vector<StarQuery> make_queries() {
  const std::vector<std::string> cities{"UNITED KI1", "UNITED KI5"};
  const auto years = between(kYear, "1992", "1997");
  const auto mfgrs = in(kMfgr, {"MFGR#1", "MFGR#2"});
  const auto late = in(kYear, {"1997", "1998"});
  return {
      flight1("q1.1", {is(kYear, "1993")}, {kDiscount, 1, 3}, {kQuantity, 0, 24}),
      flight1("q1.2", {is(kYearMonthNum, "199401")}, {kDiscount, 4, 6}, {kQuantity, 26, 35}),
      flight1("q1.3", {is(kWeekNumInYear, "6"), is(kYear, "1994")}, {kDiscount, 5, 7},
              {kQuantity, 26, 35}),
      flight2("q2.1", is(kCategory, "MFGR#12"), "AMERICA"),
      flight2("q2.2", between(kBrand, "MFGR#2221", "MFGR#2228"), "ASIA"),
      flight2("q2.3", is(kBrand, "MFGR#2221"), "EUROPE"),
      flight3("q3.1", {is(kCustomerRegion, "ASIA"), is(kSupplierRegion, "ASIA"), years},
              kCustomerNation, kSupplierNation),
      flight3("q3.2",
              {is(kCustomerNation, "UNITED STATES"), is(kSupplierNation, "UNITED STATES"), years},
              kCustomerCity, kSupplierCity),
      flight3("q3.3", {in(kCustomerCity, cities), in(kSupplierCity, cities), years}, kCustomerCity,
              kSupplierCity),
      flight3("q3.4",
              {in(kCustomerCity, cities), in(kSupplierCity, cities), is(kYearMonth, "Dec1997")},
              kCustomerCity, kSupplierCity),
      flight4("q4.1", {is(kCustomerRegion, "AMERICA"), is(kSupplierRegion, "AMERICA"), mfgrs},
              {kYear, kCustomerNation}),
      flight4("q4.2", {is(kCustomerRegion, "AMERICA"), is(kSupplierRegion, "AMERICA"), late, mfgrs},
              {kYear, kSupplierNation, kCategory}),
      flight4("q4.3",
              {is(kCustomerRegion, "AMERICA"), is(kSupplierNation, "UNITED STATES"), late,
               is(kCategory, "MFGR#14")},
              {kYear, kSupplierCity, kBrand}),
      flight1("q1.3p", {is(kWeekNumInYear, "6"), is(kYear, "1994")}, {kDiscount, 5, 7},
              {kQuantity, 36, 40}),
      flight2("q2.3p", is(kBrand, "MFGR#2339"), "EUROPE"),
  };
}

std::span<const StarQuery> all_queries() {
  static const std::vector<StarQuery> all = make_queries();
  return all;
}

}  // namespace

std::span<const StarQuery> queries() { return all_queries().first(kQueries); }

Result<std::vector<const StarQuery*>> queries_of(std::string_view names) {
  std::vector<const StarQuery*> chosen;
  if (names == "all") {
    for (const auto& query : queries())
      chosen.push_back(&query);
    return chosen;
  }
  while (!names.empty()) {
    const auto name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const auto all = all_queries();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const StarQuery& query) { return query.name == name; });
    if (found == all.end())
      return Error{Errc::kInvalidOption,
                   "query '" + escape(name, 20) +
                       "': there are q1.1 q1.2 q1.3 q2.1 q2.2 q2.3 q3.1 q3.2 q3.3 q3.4 q4.1 q4.2 "
                       "q4.3, with commas between them, and all; by the paper's prose q1.3p q2.3p"};
    chosen.push_back(&*found);
  }
  if (chosen.empty()) return Error{Errc::kInvalidOption, "no query is named"};
  return chosen;
}

}  // namespace holdfast::olap::ssb
