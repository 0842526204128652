// The generator: cardinalities, formulas of every line, distributions, the thirteen selectivities.
#include <cmath>
#include <map>
#include <set>

#include <holdfast/olap/ssb/words.hpp>
#include <holdfast/olap/ssb/write_tables.hpp>

#include "dull_queries.hpp"
#include "star_support.hpp"

namespace holdfast::olap::ssb {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  for (std::size_t at = 0, bar; (bar = line.find('|', at)) != std::string::npos; at = bar + 1)
    fields.push_back(line.substr(at, bar - at));
  return fields;
}

std::vector<std::vector<std::string>> lines_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(fields_of(text.substr(at, end - at)));
  return lines;
}

// Pearson's statistic is below a bound that chance exceeds about once in 10^6.
void expect_uniform(const std::map<std::uint64_t, double>& counts, std::uint64_t values) {
  double total = 0;
  for (const auto& [value, count] : counts)
    total += count;
  const double expected = total / static_cast<double>(values);
  double statistic = expected * static_cast<double>(values - counts.size());
  for (const auto& [value, count] : counts)
    statistic += (count - expected) * (count - expected) / expected;
  const auto freedom = static_cast<double>(values - 1);
  EXPECT_LT(statistic, freedom + 5 * std::sqrt(2 * freedom) + 15);
  EXPECT_LE(counts.size(), values);
}

TEST(SsbGenerator, TablesHaveTheirSizes) {
  const auto sizes = [](double scale) {
    const auto g = Generator::create(scale).value();
    return std::array<std::uint64_t, 4>{g.orders(), g.customers(), g.suppliers(), g.parts()};
  };
  EXPECT_EQ(sizes(1), (std::array<std::uint64_t, 4>{1'500'000, 30'000, 2'000, 200'000}));
  EXPECT_EQ(sizes(10), (std::array<std::uint64_t, 4>{15'000'000, 300'000, 20'000, 800'000}));
  EXPECT_EQ(sizes(100)[3], 1'400'000u);
  EXPECT_EQ(sizes(0.1), (std::array<std::uint64_t, 4>{150'000, 3'000, 200, 20'000}));
  EXPECT_EQ(sizes(0.00001), (std::array<std::uint64_t, 4>{15, 1, 1, 2}));
  for (const double scale : {0.0, -1.0, 0.000001, 20'000.0, std::nan("")})
    EXPECT_EQ(Generator::create(scale).code(), Errc::kInvalidOption) << scale;
}

TEST(SsbGenerator, EveryLineFollowsTheFormulas) {
  const auto generator = Generator::create(0.01).value();
  std::string text;
  for (std::uint64_t number = 0; number < generator.orders(); ++number)
    generator.append_text(generator.order(number), text);
  const auto lines = lines_of(text);
  ASSERT_NEAR(static_cast<double>(lines.size()), 60'000, 600);
  std::map<std::string, std::uint64_t> totals;
  std::set<std::string> keys;
  for (const auto& f : lines) {
    ASSERT_EQ(f.size(), 17u);
    const auto number = [&](std::size_t field) { return std::stoull(f[field]); };
    const auto part = number(3), price = 90'000 + part / 10 % 20'001 + 100 * (part % 1'000);
    EXPECT_LT(number(0) % 32, 8u);
    EXPECT_LE(number(0), 60'000u);
    EXPECT_NE(number(2) % 3, 0u);
    EXPECT_LE(number(2), 300u);
    EXPECT_LE(part, 2'000u);
    EXPECT_LE(number(4), 20u);
    EXPECT_GE(number(5), 19920101u);
    EXPECT_LE(number(5), 19980802u);
    EXPECT_EQ(f[7], "0");
    EXPECT_EQ(number(9), number(8) * price);
    EXPECT_EQ(number(12), number(9) * (100 - number(11)) / 100);
    EXPECT_EQ(number(13), 6 * price / 10);
    EXPECT_LE(number(14), 8u);
    EXPECT_GT(number(15), number(5));
    EXPECT_LE(number(15), 19981031u);
    totals[f[0]] += number(12) * (100 + number(14)) / 100;
    keys.insert(f[0] + "/" + f[1]);
  }
  EXPECT_EQ(keys.size(), lines.size());
  EXPECT_EQ(totals.size(), generator.orders());
  for (const auto& f : lines)
    EXPECT_EQ(std::to_string(totals[f[0]]), f[10]);
}

TEST(SsbGenerator, ColumnsAreUniform) {
  const auto generator = Generator::create(0.05).value();
  std::map<std::uint64_t, double> counts, customers, days, suppliers, parts, quantities, discounts;
  std::map<std::uint64_t, double> pairs;
  for (std::uint64_t number = 0; number < generator.orders(); ++number) {
    const auto order = generator.order(number);
    ++counts[order.lines], ++customers[order.customer], ++days[order.day];
    for (unsigned i = 0; i < order.lines; ++i) {
      const auto line = generator.line(order, i);
      ++suppliers[line.supplier], ++parts[line.part];
      ++quantities[line.quantity], ++discounts[line.discount];
      ++pairs[line.quantity * 100 + line.discount];
    }
  }
  expect_uniform(counts, 7);
  expect_uniform(customers, 1'000);
  expect_uniform(days, kOrderDays);
  expect_uniform(suppliers, 100);
  expect_uniform(parts, 10'000);
  expect_uniform(quantities, 50);
  expect_uniform(discounts, 11);
  expect_uniform(pairs, 550);  // Of each other independent.
}

TEST(SsbGenerator, DimensionsHaveTheirValues) {
  const auto generator = Generator::create(1).value();
  std::map<std::uint64_t, double> nations, brands;
  std::set<std::string> cities;
  std::string text;
  for (std::uint32_t i = 0; i < generator.customers(); ++i)
    generator.append_text(Dimension::kCustomer, i, text);
  for (const auto& f : lines_of(text)) {
    ASSERT_EQ(f.size(), 8u);
    EXPECT_EQ(f[1].size(), 18u);
    EXPECT_GE(f[2].size(), 6u);
    EXPECT_LE(f[2].size(), 24u);
    EXPECT_EQ(f[3].size(), 10u);
    const auto nation = std::stoul(f[6].substr(0, 2)) - 10;
    EXPECT_EQ(kNations[nation].name, f[4]);
    EXPECT_EQ(kRegions[kNations[nation].region], f[5]);
    EXPECT_EQ((f[4] + std::string(9, ' ')).substr(0, 9), f[3].substr(0, 9));
    ++nations[nation];
    cities.insert(f[3]);
  }
  expect_uniform(nations, 25);
  EXPECT_EQ(cities.size(), 250u);
  EXPECT_TRUE(cities.contains("UNITED KI1") && cities.contains("PERU     9"));
  text.clear();
  for (std::uint32_t i = 0; i < 20'000; ++i)
    generator.append_text(Dimension::kPart, i, text);
  for (const auto& f : lines_of(text)) {
    ASSERT_EQ(f.size(), 9u);
    const auto blank = f[1].find(' ');
    const std::set<std::string> colours{f[1].substr(0, blank), f[1].substr(blank + 1), f[5]};
    EXPECT_EQ(colours.size(), 3u) << f[1] << " " << f[5];
    EXPECT_EQ(f[3].substr(0, 6), f[2]);
    EXPECT_EQ(f[4].substr(0, 7), f[3]);
    ++brands[std::stoull(f[4].substr(5)) * 100 + f[4].size()];
  }
  expect_uniform(brands, 1'000);
}

TEST(SsbGenerator, TheCalendarIsRight) {
  EXPECT_EQ(day_key(0), 19920101u);
  EXPECT_EQ(day_key(kOrderDays - 1), 19980802u);
  EXPECT_EQ(day_key(kDays - 1), 19981231u);
  EXPECT_EQ(day_of(0).weekday, 4u);  // A Wednesday.
  std::string text;
  unsigned week6 = 0, holidays = 0, leap_days = 0;
  for (std::uint32_t i = 0; i < kDays; ++i) {
    const Day day = day_of(i);
    append_date(i, text);
    holidays += day.holiday() ? 1 : 0;
    leap_days += day.month == 2 && day.day == 29 ? 1 : 0;
    if (day.year == 1994 && day.week() == 6) {
      ++week6;
      EXPECT_TRUE(day.month == 2 && day.day >= 4 && day.day <= 10);
    }
  }
  EXPECT_EQ(week6, 7u);
  EXPECT_EQ(holidays, 70u);
  EXPECT_EQ(leap_days, 2u);
  const auto lines = lines_of(text);
  EXPECT_EQ(lines.size(), kDays);
  EXPECT_EQ(lines[0], fields_of("19920101|January 1, 1992|Wednesday|January|1992|199201|Jan1992|4|"
                                "1|1|1|1|Winter|0|0|1|1|"));
}

TEST(SsbGenerator, TheThirteenSelectivitiesAreThoseOfTheSpecification) {
  // From 19 in a million down: flight 1 by its exact shares, all others by the shares of the
  // dimensions that were generated, which vary much with so few suppliers.
  const auto generator = Generator::create(0.1).value();
  const auto star = generated_star(generator);
  const auto answers = dull_answers(star);
  const auto share_of = [](const DullStar::Table& table, unsigned at, const std::string& value,
                           bool customers = false) {
    double all = 0, hits = 0;
    for (const auto& [key, values] : table) {
      if (customers && key % 3 == 0) continue;  // They never order.
      ++all, hits += values[at] == value;
    }
    return hits / all;
  };
  const double america_c = share_of(star.customer, 0, "AMERICA", true);
  const double america_s = share_of(star.supplier, 0, "AMERICA");
  const double states_s = share_of(star.supplier, 1, "UNITED STATES");
  const auto cities = [&](const DullStar::Table& table, bool customers) {
    return share_of(table, 2, "UNITED KI1", customers) +
           share_of(table, 2, "UNITED KI5", customers);
  };
  const double kingdoms = cities(star.customer, true) * cities(star.supplier, false);
  const double mfgrs = share_of(star.part, 0, "MFGR#1") + share_of(star.part, 0, "MFGR#2");
  double brands = 0;
  for (char digit = '1'; digit <= '8'; ++digit)
    brands += share_of(star.part, 2, std::string("MFGR#222") + digit);
  const double six_years = 2192.0 / 2406, late = 579.0 / 2406;
  const std::map<std::string, double> expected{
      {"q1.1", 365.0 / 2406 * 24 / 50 * 3 / 11},
      {"q1.2", 31.0 / 2406 * 10 / 50 * 3 / 11},
      {"q1.3", 7.0 / 2406 * 10 / 50 * 3 / 11},
      {"q2.1", share_of(star.part, 1, "MFGR#12") * america_s},
      {"q2.2", brands * share_of(star.supplier, 0, "ASIA")},
      {"q2.3", share_of(star.part, 2, "MFGR#2221") * share_of(star.supplier, 0, "EUROPE")},
      {"q3.1",
       share_of(star.customer, 0, "ASIA", true) * share_of(star.supplier, 0, "ASIA") * six_years},
      {"q3.2", share_of(star.customer, 1, "UNITED STATES", true) * states_s * six_years},
      {"q3.3", kingdoms * six_years},
      {"q3.4", kingdoms * 31 / 2406},
      {"q4.1", america_c * america_s * mfgrs},
      {"q4.2", america_c * america_s * mfgrs * late},
      {"q4.3", america_c * states_s * share_of(star.part, 1, "MFGR#14") * late},
  };
  const auto rows = static_cast<double>(star.facts.size());
  EXPECT_NEAR(rows, 600'000, 3'000);
  for (const auto& [name, share] : expected) {
    const double mean = share * rows;
    // Lines of one order share its customer and day: the spread is up to twice that of single ones.
    EXPECT_NEAR(static_cast<double>(answers.at(name).rows), mean, 2 * 5 * std::sqrt(mean) + 5)
        << name;
  }
}

TEST(SsbGenerator, ThreadsDoNotChangeTheFilesAndSeedsDo) {
  const auto read = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const TemporaryDirectory one, many, other;
  const auto written = write_tables(Generator::create(0.02).value(), one.path(), 1).value();
  write_tables(Generator::create(0.02).value(), many.path(), 4).value();
  write_tables(Generator::create(0.02, 2).value(), other.path(), 4).value();
  std::uint64_t bytes = 0;
  for (const auto* name : {"customer", "supplier", "part", "date", "lineorder"}) {
    const auto file = std::string("/") + name + ".tbl";
    const auto text = read(one.path() + file);
    bytes += text.size();
    EXPECT_EQ(text, read(many.path() + file)) << name;
    EXPECT_EQ(text != read(other.path() + file), std::string(name) != "date") << name;
  }
  EXPECT_EQ(bytes, written.bytes);
  EXPECT_EQ(write_tables(Generator::create(0.02).value(), "/nowhere/at/all", 1).code(),
            Errc::kNotFound);
}

}  // namespace
}  // namespace holdfast::olap::ssb
