// dull_queries.hpp: the thirteen queries as plain loops over joined rows. It knows nothing of codes,
// blocks, predicates or the library's queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <holdfast/olap/query.hpp>
#include <holdfast/olap/ssb/generator.hpp>

namespace holdfast::olap {

struct DullFact {
  std::uint32_t date, customer, supplier, part;  // Keys.
  std::uint32_t quantity, discount;
  std::int64_t price, revenue, cost;
};

struct DullStar {
  using Table = std::map<std::uint32_t, std::vector<std::string>>;  // Attributes by key.
  Table date, customer, supplier, part;
  std::vector<DullFact> facts;
};

struct DullRow {
  int year, month_number, week;
  std::string year_month;
  std::string c_region, c_nation, c_city, s_region, s_nation, s_city, mfgr, category, brand;
  const DullFact* fact;
};

inline DullStar generated_star(const ssb::Generator& generator) {
  DullStar star;
  const auto fill = [&](Dimension dimension, DullStar::Table& table) {
    for (std::uint32_t i = 0; i < generator.rows(dimension); ++i) {
      const auto row = generator.row(dimension, i);
      table[row.key] = {row.values.begin(), row.values.end()};
    }
  };
  fill(Dimension::kDate, star.date), fill(Dimension::kCustomer, star.customer);
  fill(Dimension::kSupplier, star.supplier), fill(Dimension::kPart, star.part);
  for (std::uint64_t number = 0; number < generator.orders(); ++number) {
    const auto order = generator.order(number);
    for (unsigned i = 0; i < order.lines; ++i) {
      const auto line = generator.line(order, i);
      star.facts.push_back({ssb::day_key(order.day), order.customer, line.supplier, line.part,
                            line.quantity, line.discount, line.extended_price, line.revenue,
                            line.supply_cost});
    }
  }
  return star;
}

struct DullQuery {
  std::string name;
  std::vector<std::string> header;
  std::function<bool(const DullRow&)> passes;
  std::function<std::vector<std::string>(const DullRow&)> group;
  bool sum_first = false, by_year_then_sum = false;
};

inline std::vector<DullQuery> dull_queries() {
  using R = const DullRow&;
  using Group = std::vector<std::string>;
  const auto year = [](R r) { return std::to_string(r.year); };
  const auto nothing = [](R) { return Group{}; };
  const auto brands = [=](R r) { return Group{year(r), r.brand}; };
  const auto cities = [=](R r) { return Group{r.c_city, r.s_city, year(r)}; };
  const auto disc = [](R r, unsigned a, unsigned b) {
    return r.fact->discount >= a && r.fact->discount <= b;
  };
  const auto quant = [](R r, unsigned a, unsigned b) {
    return r.fact->quantity >= a && r.fact->quantity <= b;
  };
  const auto kingdom = [](const std::string& city) {
    return city == "UNITED KI1" || city == "UNITED KI5";
  };
  const auto first_six = [](R r) { return r.year >= 1992 && r.year <= 1997; };
  const auto late = [](R r) { return r.year == 1997 || r.year == 1998; };
  const auto mfgr12 = [](R r) { return r.mfgr == "MFGR#1" || r.mfgr == "MFGR#2"; };
  const std::vector<std::string> two{"sum(lo_revenue)", "d_year", "p_brand1"};
  const std::vector<std::string> city{"c_city", "s_city", "d_year", "revenue"};
  return {
      {"q1.1",
       {"revenue"},
       [=](R r) { return r.year == 1993 && disc(r, 1, 3) && r.fact->quantity < 25; },
       nothing},
      {"q1.2",
       {"revenue"},
       [=](R r) { return r.month_number == 199401 && disc(r, 4, 6) && quant(r, 26, 35); },
       nothing},
      {"q1.3",
       {"revenue"},
       [=](R r) { return r.week == 6 && r.year == 1994 && disc(r, 5, 7) && quant(r, 26, 35); },
       nothing},
      {"q1.3p",
       {"revenue"},
       [=](R r) { return r.week == 6 && r.year == 1994 && disc(r, 5, 7) && quant(r, 36, 40); },
       nothing},
      {"q2.1", two, [=](R r) { return r.category == "MFGR#12" && r.s_region == "AMERICA"; }, brands,
       true},
      {"q2.2", two,
       [=](R r) {
         return r.brand >= "MFGR#2221" && r.brand <= "MFGR#2228" && r.s_region == "ASIA";
       },
       brands, true},
      {"q2.3", two, [=](R r) { return r.brand == "MFGR#2221" && r.s_region == "EUROPE"; }, brands,
       true},
      {"q2.3p", two, [=](R r) { return r.brand == "MFGR#2339" && r.s_region == "EUROPE"; }, brands,
       true},
      {"q3.1",
       {"c_nation", "s_nation", "d_year", "revenue"},
       [=](R r) { return r.c_region == "ASIA" && r.s_region == "ASIA" && first_six(r); },
       [=](R r) { return Group{r.c_nation, r.s_nation, year(r)}; },
       false,
       true},
      {"q3.2", city,
       [=](R r) {
         return r.c_nation == "UNITED STATES" && r.s_nation == "UNITED STATES" && first_six(r);
       },
       cities, false, true},
      {"q3.3", city, [=](R r) { return kingdom(r.c_city) && kingdom(r.s_city) && first_six(r); },
       cities, false, true},
      {"q3.4", city,
       [=](R r) { return kingdom(r.c_city) && kingdom(r.s_city) && r.year_month == "Dec1997"; },
       cities, false, true},
      {"q4.1",
       {"d_year", "c_nation", "profit"},
       [=](R r) { return r.c_region == "AMERICA" && r.s_region == "AMERICA" && mfgr12(r); },
       [=](R r) { return Group{year(r), r.c_nation}; }},
      {"q4.2",
       {"d_year", "s_nation", "p_category", "profit"},
       [=](R r) {
         return r.c_region == "AMERICA" && r.s_region == "AMERICA" && late(r) && mfgr12(r);
       },
       [=](R r) { return Group{year(r), r.s_nation, r.category}; }},
      {"q4.3",
       {"d_year", "s_city", "p_brand1", "profit"},
       [=](R r) {
         return r.c_region == "AMERICA" && r.s_nation == "UNITED STATES" && late(r) &&
                r.category == "MFGR#14";
       },
       [=](R r) { return Group{year(r), r.s_city, r.brand}; }},
  };
}

struct DullAnswer {
  ResultTable table;
  std::uint64_t rows = 0;
};

inline DullRow joined(const DullStar& star, const DullFact& fact) {
  const auto& d = star.date.at(fact.date);
  const auto& c = star.customer.at(fact.customer);
  const auto& s = star.supplier.at(fact.supplier);
  const auto& p = star.part.at(fact.part);
  return {std::stoi(d[0]),
          std::stoi(d[1]),
          std::stoi(d[3]),
          d[2],
          c[0],
          c[1],
          c[2],
          s[0],
          s[1],
          s[2],
          p[0],
          p[1],
          p[2],
          &fact};
}

// All queries in one pass over the facts, by name.
inline std::map<std::string, DullAnswer> dull_answers(const DullStar& star) {
  const auto queries = dull_queries();
  std::vector<std::map<std::vector<std::string>, std::int64_t>> sums(queries.size());
  std::map<std::string, DullAnswer> answers;
  for (const auto& fact : star.facts) {
    const DullRow row = joined(star, fact);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (!queries[i].passes(row)) continue;
      const char flight = queries[i].name[1];
      sums[i][queries[i].group(row)] += flight == '1'   ? fact.price * fact.discount
                                        : flight == '4' ? fact.revenue - fact.cost
                                                        : fact.revenue;
      ++answers[queries[i].name].rows;
    }
  }
  for (std::size_t i = 0; i < queries.size(); ++i) {
    auto& table = answers[queries[i].name].table;
    table.header = queries[i].header;
    std::vector<std::pair<std::vector<std::string>, std::int64_t>> rows(sums[i].begin(),
                                                                        sums[i].end());
    // A map is in the order of its groups: that of flights 2 and 4.
    if (queries[i].by_year_then_sum)
      std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        if (a.first[2] != b.first[2]) return a.first[2] < b.first[2];
        return a.second > b.second;
      });
    for (auto& [group, sum] : rows) {
      auto line = group;
      line.insert(queries[i].sum_first ? line.begin() : line.end(), std::to_string(sum));
      table.rows.push_back(line);
    }
    if (queries[i].name[1] == '1' && table.rows.empty()) table.rows.push_back({""});
  }
  return answers;
}

}  // namespace holdfast::olap
