// All thirteen queries against plain loops over the generated rows, in both layouts.
#include <algorithm>
#include <array>

#include <holdfast/olap/open_block.hpp>

#include "dull_queries.hpp"
#include "star_support.hpp"

namespace holdfast::olap {
namespace {

constexpr std::array kWidths{VectorWidth::kPortable, VectorWidth::kAvx2, VectorWidth::kAvx512};

// The thirteen, and those two by the paper's prose.
std::vector<StarQuery> asked() {
  std::vector<StarQuery> all(ssb::queries().begin(), ssb::queries().end());
  const auto prose = ssb::queries_of("q1.3p,q2.3p").value();
  for (const auto* query : prose)
    all.push_back(*query);
  return all;
}

void expect_equal(const StarStore& store, const std::map<std::string, DullAnswer>& dull, Team& team,
                  VectorWidth width) {
  for (const auto& query : asked()) {
    const auto ours = answer(query, store, team, kernels(width)).value();
    EXPECT_EQ(ours.table, dull.at(query.name).table)
        << query.name << ", " << name(width) << ", " << team.size() << " threads\n"
        << ours.table.csv() << "---\n"
        << dull.at(query.name).table.csv();
    EXPECT_EQ(ours.rows, dull.at(query.name).rows) << query.name;
  }
}

void expect_rows_equal(const StarStore& store, const std::map<std::string, DullAnswer>& dull,
                       Team& team) {
  const auto built = copies_of(*store.rows());
  for (const auto& query : asked()) {
    const auto ours = answer(query, *store.rows(), built.copies, team).value();
    EXPECT_EQ(ours.table, dull.at(query.name).table)
        << query.name << ", rows, " << team.size() << " threads\n"
        << ours.table.csv() << "---\n"
        << dull.at(query.name).table.csv();
    EXPECT_EQ(ours.rows, dull.at(query.name).rows) << query.name;
  }
}

// Small tables in both layouts.
class BothLayouts : public testing::TestWithParam<Layout> {
 protected:
  static TestStar load(const TextTables& tables) {
    auto star = empty_star();
    (GetParam() == Layout::kByRow ? tables.load_rows(*star.store) : tables.load(*star.store))
        .value();
    EXPECT_EQ(star.store->catalogue().layout, GetParam());
    EXPECT_EQ(star.store->rows() != nullptr, GetParam() == Layout::kByRow);
    return star;
  }
};
INSTANTIATE_TEST_SUITE_P(Ssb, BothLayouts, testing::Values(Layout::kByColumn, Layout::kByRow),
                         [](const auto& layout) {
                           return layout.param == Layout::kByRow ? "rows" : "columns";
                         });

TEST(SsbQueries, EqualPlainLoopsAtEveryScaleOnEveryKernel) {
  Team team(1);
  for (const double scale : {0.00001, 0.0003, 0.011, 0.06}) {
    const auto generator = ssb::Generator::create(scale, 7).value();
    const auto dull = dull_answers(generated_star(generator));
    const auto star = loaded_star(scale, 1, 7);
    for (const auto width : kWidths)
      expect_equal(*star.store, dull, team, width);
    expect_rows_equal(*loaded_row_star(scale, 1, 7).store, dull, team);
  }
}

TEST(SsbQueries, EqualPlainLoopsOnAnyNumberOfThreads) {
  const auto generator = ssb::Generator::create(0.05, 3).value();
  const auto dull = dull_answers(generated_star(generator));
  for (unsigned threads = 1; threads <= 8; ++threads) {
    const auto star = loaded_star(0.05, threads, 3);
    Team team(threads);
    for (int round = 0; round < 3; ++round)
      expect_equal(*star.store, dull, team, VectorWidth::kAvx512);
    expect_rows_equal(*loaded_row_star(0.05, threads, 3).store, dull, team);
  }
}

TEST(SsbQueries, FewSuppliersGiveManyRowsToTheSelectiveQueries) {
  // At small scales no supplier may live where Q3.3, Q3.4, Q4.3 ask; so a star is made of few.
  DullStar star;
  const auto generator = ssb::Generator::create(0.01, 5).value();
  star = generated_star(generator);
  TextTables tables;
  tables.date.clear(), tables.customer.clear(), tables.supplier.clear(), tables.part.clear();
  tables.lineorder.clear();
  const std::array<const char*, 3> cities{"UNITED KI1", "UNITED KI5", "UNITED ST4"};
  unsigned number = 0;
  for (auto* table : {&star.customer, &star.supplier}) {
    for (auto& [key, values] : *table) {
      const bool states = ++number % 3 == 2;
      values = {states ? "AMERICA" : "EUROPE", states ? "UNITED STATES" : "UNITED KINGDOM",
                cities[number % 3 == 2 ? 2 : number % 3], ""};
    }
  }
  for (std::uint32_t i = 0; i < ssb::kDays; ++i)
    ssb::append_date(i, tables.date);
  for (const auto& [key, v] : star.customer)
    tables.customer += std::to_string(key) + "|n|a|" + v[2] + "|" + v[1] + "|" + v[0] + "|p|s|\n";
  for (const auto& [key, v] : star.supplier)
    tables.supplier += std::to_string(key) + "|n|a|" + v[2] + "|" + v[1] + "|" + v[0] + "|p|\n";
  for (const auto& [key, v] : star.part)
    tables.part += std::to_string(key) + "|n|" + v[0] + "|" + v[1] + "|" + v[2] + "|c|t|1|b|\n";
  for (const auto& f : star.facts)
    tables.lineorder += TextTables::fact(
        std::to_string(f.customer), std::to_string(f.part), std::to_string(f.supplier),
        std::to_string(f.date), std::to_string(f.quantity), std::to_string(f.price),
        std::to_string(f.discount), std::to_string(f.revenue), std::to_string(f.cost));
  const auto dull = dull_answers(star);
  for (const auto* name : {"q3.2", "q3.3", "q3.4", "q4.3"})
    EXPECT_GT(dull.at(name).rows, 10u) << name;
  auto loaded = empty_star();
  tables.load(*loaded.store, 2).value();
  Team team(2);
  for (const auto width : kWidths)
    expect_equal(*loaded.store, dull, team, width);
  tables.load_rows(*loaded.store, 2).value();
  expect_rows_equal(*loaded.store, dull, team);
}

TEST_P(BothLayouts, AWeekThatSpansTwoMonthsIsExact) {
  // Week 5 of 1994: the last days of January, the first of February; neither month as a whole.
  TextTables tables;
  tables.date += "19940102|x|x|January|1994|199401|Jan1994|1|2|2|1|1|Winter|0|0|0|0|\n";
  tables.lineorder.clear();
  for (const auto* date : {"19940102", "19940131", "19940201", "19940206"})
    tables.lineorder += TextTables::fact("1", "1", "1", date, "30", date, "1", "1", "1");
  const auto star = load(tables);
  StarQuery week = query("q1.3");
  week.conditions = {{attribute::kWeekNumInYear, {"5"}, {}, {}}};
  week.ranges.clear();
  EXPECT_EQ(csv_of(*star.store, week), "revenue\n" + std::to_string(19940131 + 19940201) + "\n");
}

// All facts are of one day: a block has no bytes of it, and its group is not the first.
TEST_P(BothLayouts, ABlockWithOneDayAddsToTheGroupOfItsYear) {
  TextTables tables;
  tables.date += "19930102|x|x|January|1993|199301|Jan1993|1|2|2|1|1|Winter|0|0|0|0|\n";
  tables.lineorder = TextTables::fact("1", "1", "1", "19940206", "30", "100", "6", "94", "60");
  const auto star = load(tables);
  StarQuery years = query("q1.3");
  years.conditions.clear();
  years.ranges.clear();
  years.groups = {attribute::kYear};
  EXPECT_EQ(csv_of(*star.store, years), "d_year,revenue\n1994,600\n");
}

TEST(SsbQueries, MonthsOfAYearAreOneGroup) {
  const auto star = loaded_star(0.01);
  StarQuery years = query("q1.1");
  years.conditions.clear();
  years.ranges.clear();
  years.groups = {attribute::kYear};
  EXPECT_EQ(bind(years, star.store->catalogue()).value().group_count, 7u);
}

TEST_P(BothLayouts, OneBrandInTwoCategoriesIsOneGroup) {
  TextTables tables;
  tables.part +=
      "3|red tan|MFGR#2|MFGR#21|MFGR#2221|green|SMALL PLATED TIN|1|SM BOX|\n"
      "4|red tan|MFGR#2|MFGR#21|MFGR#2110|green|SMALL PLATED TIN|1|SM BOX|\n";
  tables.lineorder.clear();
  for (const auto* part : {"1", "2", "3", "4"})
    tables.lineorder += TextTables::fact("1", part, "1", "19940206", "1", "1", "0", part, "1");
  const auto star = load(tables);
  EXPECT_EQ(csv_of(*star.store, query("q2.3")),
            "sum(lo_revenue),d_year,p_brand1\n4,1994,MFGR#2221\n");
}

TEST_P(BothLayouts, ASumOfNothingIsEmptyAndGroupsOfNothingAreNone) {
  TextTables tables;
  const auto star = load(tables);
  EXPECT_EQ(csv_of(*star.store, query("q1.1")), "revenue\n\n");
  EXPECT_EQ(csv_of(*star.store, query("q2.1")), "sum(lo_revenue),d_year,p_brand1\n");
  tables.lineorder.clear();
  EXPECT_EQ(csv_of(*load(tables).store, query("q1.3")), "revenue\n\n");
}

TEST_P(BothLayouts, SumsBeyond32BitsAreExact) {
  TextTables tables;
  tables.lineorder.clear();
  for (int i = 0; i < 1000; ++i)
    tables.lineorder +=
        TextTables::fact("1", "1", "1", "19940206", "30", "4294967295", "6", "4294967295", "0");
  const auto star = load(tables);
  EXPECT_EQ(csv_of(*star.store, query("q1.3")), "revenue\n25769803770000\n");
  EXPECT_EQ(csv_of(*star.store, query("q2.3")),
            "sum(lo_revenue),d_year,p_brand1\n4294967295000,1994,MFGR#2221\n");
}

TEST(SsbQueries, SumsThatMightGoBeyond64BitsAreRefused) {
  auto star = empty_star();
  TextTables tables;
  tables.lineorder =
      TextTables::fact("1", "1", "1", "19940206", "30", "4294967295", "6", "4294967295", "0");
  tables.load(*star.store).value();
  // The directory alone tells: so many rows of such a block.
  Catalogue many{"", {}, {}, {}};
  for (const auto& table : star.store->catalogue().dimensions)
    many.dimensions.push_back(table);
  many.blocks.resize(1u << 22, star.store->catalogue().blocks[0]);
  for (auto& block : many.blocks)
    block.rows = kMaxBlockRows;
  EXPECT_EQ(bind(query("q1.3"), many).code(), Errc::kUnsupported);
  tables.load_rows(*star.store).value();
  auto runs = star.store->catalogue().row_tables;
  runs.facts.resize(1u << 22, runs.facts[0]);
  for (auto& run : runs.facts)
    run.rows = kMaxBlockRows;
  EXPECT_EQ(bind(query("q1.3"), StoredRows(*star.region, runs)).code(), Errc::kUnsupported);
}

TEST(SsbQueries, BlocksOutOfBoundsAreNotTouched) {
  auto star = empty_star();
  TextTables tables;
  tables.load(*star.store).value();
  const auto one =
      touched(*star.store->version(), bind(query("q1.3"), star.store->catalogue()).value());
  EXPECT_EQ(one.value().blocks, 1u);
  tables.lineorder = TextTables::fact("1", "1", "1", "19940131", "30", "100", "6", "94", "60");
  tables.load(*star.store).value();
  const auto none =
      touched(*star.store->version(), bind(query("q1.3"), star.store->catalogue()).value());
  EXPECT_EQ(none.value().blocks, 0u);
}

// Of one block: what a condition on quantity and the sum of Q1.1 must read, counted by hand.
TEST(SsbQueries, LinesThatAreReadInAStreamCountWhereSomeOfThemAreNeeded) {
  auto star = empty_star();
  FactRows rows;
  // Row 0 passes, and row 1 + 64 i of the second chunk for i below `groups`.
  const auto lines_with = [&](unsigned groups) {
    rows.clear();
    for (std::uint32_t row = 0; row < 2 * kChunkRows; ++row) {
      const bool passes =
          row == 0 || (row >= kChunkRows && row % 64 == 1 && row / 64 < kChunkGroups + groups);
      for (std::size_t column = 0; column < kColumns; ++column)
        rows.columns[column].push_back(0);
      rows.columns[kQuantity].back() = passes ? 1 : 50;
      rows.columns[kRevenue].back() = row % 256;  // A byte each.
    }
    return rows;
  };
  StarQuery few;
  few.sum = Sum::kRevenues;
  few.ranges.push_back({kQuantity, 1, 1});
  const auto count = [&](unsigned groups) {
    StarWriter writer(*star.store);
    const auto made = lines_with(groups);
    writer.append(encode_block(made, 0, made.size())).value();
    writer.finish("by hand", one_row_each()).value();
    return touched(*star.store->version(), bind(few, star.store->catalogue()).value()).value();
  };
  // 32 lines of quantities; a line of revenues for each row that passes.
  const auto three = count(3);
  EXPECT_EQ(three.lines, 32u + 1 + 3);
  EXPECT_EQ(three.lines_read, three.lines);
  // A quarter of the second chunk's groups: all its 16 lines of revenues.
  const auto four = count(4);
  EXPECT_EQ(four.lines, 32u + 1 + 4);
  EXPECT_EQ(four.lines_read, 32u + 1 + 16);
}

// Where hardly any row is expected to pass, a filter reads lines of groups that are left only.
TEST(SsbQueries, LinesOfGroupsThatAreRuledOutAreNotReadWhereFewPass) {
  auto star = empty_star();
  FactRows rows;
  for (std::uint32_t row = 0; row < 2 * kChunkRows; ++row) {
    for (std::size_t column = 0; column < kColumns; ++column)
      rows.columns[column].push_back(0);
    rows.columns[kQuantity].back() = row == 0 || row == 640 ? 1 : 50;
    rows.columns[kDiscount].back() = row == 0 ? 1 : 10;
    rows.columns[kRevenue].back() = row % 256;
  }
  StarWriter writer(*star.store);
  writer.append(encode_block(rows, 0, rows.size())).value();
  writer.finish("by hand", one_row_each()).value();
  StarQuery few;
  few.sum = Sum::kRevenues;
  few.ranges = {{kQuantity, 1, 1}, {kDiscount, 1, 1}};
  const auto lines =
      touched(*star.store->version(), bind(few, star.store->catalogue()).value()).value();
  EXPECT_EQ(lines.lines, 32u + 2 + 1);  // Of quantities, discounts and revenues.
  EXPECT_EQ(lines.lines_read, lines.lines);
}

TEST_P(BothLayouts, ABlockWhoseBoundsReachIntoARangeIsRead) {
  // Cities by code: AFRICA 0, ASIA 1 and 2, EUROPE 3; the block has 2 and 3.
  TextTables tables;
  tables.customer =
      "1|n|a|a|n|AFRICA|p|s|\n2|n|a|b|n|ASIA|p|s|\n3|n|a|c|n|ASIA|p|s|\n4|n|a|d|n|EUROPE|p|s|\n";
  tables.lineorder = TextTables::fact("3", "1", "1", "19940206", "1", "1", "0", "5", "1") +
                     TextTables::fact("4", "1", "1", "19940206", "1", "1", "0", "7", "1");
  const auto star = load(tables);
  StarQuery asia = query("q4.1");
  asia.conditions = {{attribute::kCustomerRegion, {"ASIA"}, {}, {}}};
  EXPECT_EQ(csv_of(*star.store, asia), "d_year,c_nation,profit\n1994,n,4\n");
}

TEST(SsbQueries, NamesAreChecked) {
  EXPECT_EQ(ssb::queries_of("all").value().size(), 13u);
  EXPECT_EQ(ssb::queries_of("q4.3,q1.1").value()[1]->name, "q1.1");
  EXPECT_EQ(ssb::queries_of("q5.1").code(), Errc::kInvalidOption);
  EXPECT_EQ(ssb::queries_of("").code(), Errc::kInvalidOption);
}

// Rows of a block whose day fulfils the query's conditions on dates.
std::uint32_t rows_of_the_days(const StarStore& store, std::size_t number, const StarQuery& query) {
  const auto& info = store.catalogue().blocks[number];
  const auto& days = store.catalogue().dimension(Dimension::kDate);
  const auto digit = [&](Digit which, std::uint32_t row) {
    return static_cast<std::uint8_t>(
        value_at(store.block(number), info, column(Dimension::kDate, which), row));
  };
  std::uint32_t rows = 0;
  for (std::uint32_t row = 0; row < info.rows; ++row) {
    const auto* leaf = days.leaf(digit(Digit::kOuter, row), digit(Digit::kInner, row));
    rows += std::all_of(query.conditions.begin(), query.conditions.end(), [&](const auto& one) {
      if (one.attribute.dimension != Dimension::kDate) return true;
      const auto& value = leaf->values[one.attribute.number];
      if (!one.any_of.empty())
        return std::find(one.any_of.begin(), one.any_of.end(), value) != one.any_of.end();
      // Numbers of equally many digits compare as texts do.
      return value.size() == one.from.size() && one.from <= value && value <= one.to;
    });
  }
  return rows;
}

TEST(SsbQueries, InTheOrderOfDaysOnlyBlocksWithRowsOfTheDaysAreRead) {
  auto star = empty_star();
  const auto generator = ssb::Generator::create(0.2, 3).value();
  ssb::load_generated(generator, "", *star.store, 2, ssb::FactOrder::kByDate).value();
  const auto version = star.store->version();
  for (const char* name : {"q1.1", "q1.2", "q1.3", "q3.4", "q4.2", "q4.3"}) {
    const auto bound = bind(query(name), version->catalogue()).value();
    OpenBlock block(*version, bound);
    std::size_t opened = 0, wanted = 0;
    for (std::size_t number = 0; number < version->catalogue().blocks.size(); ++number) {
      opened += block.open(number).value();
      wanted += rows_of_the_days(*star.store, number, query(name)) > 0;
    }
    EXPECT_GE(wanted, 1u) << name;
    EXPECT_LT(wanted, version->catalogue().blocks.size() / 2) << name;
    // And one at the edge of a month, whose bounds say month and day apart.
    EXPECT_LE(static_cast<double>(opened), 1.2 * static_cast<double>(wanted) + 1) << name;
  }
}

}  // namespace
}  // namespace holdfast::olap
