// Loading: files in pieces, bad lines, limits, regions that are too small.
#include <holdfast/olap/ssb/text_table.hpp>
#include <holdfast/olap/ssb/write_tables.hpp>

#include "star_support.hpp"

namespace holdfast::olap {
namespace {

std::string all_answers(const StarStore& store) {
  std::string text;
  for (const auto& query : ssb::queries())
    text += csv_of(store, query);
  return text;
}

TEST(SsbLoad, FilesGiveTheSameStarAsTheGenerator) {
  const TemporaryDirectory directory;
  const auto generator = ssb::Generator::create(0.03).value();
  ssb::write_tables(generator, directory.path(), 2).value();
  ASSERT_GT(std::filesystem::file_size(directory.path() + "/lineorder.tbl"), 14u << 20);  // Pieces.
  const auto made = loaded_star(0.03);
  for (const unsigned threads : {1u, 3u}) {
    auto read = empty_star();
    ssb::load_tables(directory.path(), *read.store, threads).value();
    EXPECT_EQ(read.store->catalogue().rows(), made.store->catalogue().rows());
    EXPECT_EQ(all_answers(*read.store), all_answers(*made.store));
    EXPECT_TRUE(read.store->verify().empty());
  }
}

TEST(SsbLoad, EveryRowIsKeptWithItsKeys) {
  const auto generator = ssb::Generator::create(0.02).value();
  const auto star = loaded_star(0.02, 2);
  const auto& catalogue = star.store->catalogue();
  std::size_t block = 0;
  std::uint32_t row = 0;
  const auto value = [&](Column column) {
    return value_at(star.store->block(block), catalogue.blocks[block], column, row);
  };
  const auto key = [&](Dimension dimension) {
    const auto digit = [&](Digit which) { return value(column(dimension, which)); };
    return catalogue.dimension(dimension)
        .key({static_cast<std::uint8_t>(digit(Digit::kOuter)),
              static_cast<std::uint8_t>(digit(Digit::kInner)), digit(Digit::kOrdinal)})
        .value_or(0);
  };
  for (std::uint64_t number = 0; number < generator.orders(); ++number) {
    const auto order = generator.order(number);
    for (unsigned i = 0; i < order.lines; ++i) {
      const auto line = generator.line(order, i);
      ASSERT_EQ(key(Dimension::kDate), ssb::day_key(order.day));
      ASSERT_EQ(key(Dimension::kCustomer), order.customer);
      ASSERT_EQ(key(Dimension::kSupplier), line.supplier);
      ASSERT_EQ(key(Dimension::kPart), line.part);
      ASSERT_EQ(value(kQuantity), line.quantity);
      ASSERT_EQ(value(kDiscount), line.discount);
      ASSERT_EQ(value(kExtendedPrice), line.extended_price);
      ASSERT_EQ(value(kRevenue), line.revenue);
      ASSERT_EQ(value(kSupplyCost), line.supply_cost);
      if (++row == catalogue.blocks[block].rows) ++block, row = 0;
    }
  }
  EXPECT_EQ(block, catalogue.blocks.size());
}

TEST(SsbLoad, InTheOrderOfDatesAnswersAreTheSameAndFewBlocksAreTouched) {
  const auto generator = ssb::Generator::create(0.2).value();
  auto plain = empty_star();
  ssb::load_generated(generator, "", *plain.store, 2).value();
  std::vector<BlockInfo> first;
  for (const unsigned threads : {1u, 3u}) {
    auto ordered = empty_star();
    ssb::load_generated(generator, "", *ordered.store, threads, ssb::FactOrder::kByDate).value();
    const auto& catalogue = ordered.store->catalogue();
    EXPECT_EQ(all_answers(*ordered.store), all_answers(*plain.store));
    EXPECT_EQ(catalogue.rows(), plain.store->catalogue().rows());
    EXPECT_TRUE(ordered.store->verify().empty());
    if (threads == 1) first = catalogue.blocks;
    EXPECT_EQ(catalogue.blocks, first);
    for (const auto& [name, most] :
         {std::pair{"q1.1", 4u}, {"q1.2", 2u}, {"q1.3", 2u}, {"q3.4", 2u}, {"q4.2", 6u}}) {
      const auto bound = bind(query(name), catalogue).value();
      const auto lines = touched(*ordered.store->version(), bound).value();
      EXPECT_LE(lines.blocks, most) << name;  // Of 19.
      EXPECT_GE(lines.blocks, 1u) << name;
    }
  }
}

TEST(SsbLoad, ARowTakesAtMostTwentyBytes) {
  const auto star = loaded_star(0.1, 2);
  const auto& catalogue = star.store->catalogue();
  EXPECT_LE(catalogue.block_bytes(), 20 * catalogue.rows());
}

TEST(SsbLoad, LinesMayEndAsOnWindowsAndWithoutABar) {
  TextTables tables;
  auto plain = empty_star(), other = empty_star();
  tables.load(*plain.store).value();
  for (auto* text : {&tables.date, &tables.customer, &tables.lineorder}) {
    std::string changed;
    for (const char letter : *text)
      changed += letter == '\n' ? "\r\n" : std::string(1, letter);
    *text = changed;
  }
  tables.part.pop_back(), tables.part.pop_back();  // The last bar and newline.
  tables.load(*other.store).value();
  EXPECT_EQ(all_answers(*plain.store), all_answers(*other.store));
}

struct BadCase {
  std::string TextTables::* file;
  std::string line;
  std::string wanted;  // In the message.
};

TEST(SsbLoad, BadLinesAreNamedAndNothingIsLoaded) {
  const auto fact = TextTables::fact;
  const std::vector<BadCase> cases{
      {&TextTables::lineorder, "1|2|3|\n", "lineorder.tbl:3: 17 fields are wanted"},
      {&TextTables::lineorder, "\n", "lineorder.tbl:3: 17 fields are wanted"},
      {&TextTables::lineorder, fact("9", "1", "1", "19940206", "1", "1", "0", "1", "1"),
       "lo_custkey '9': no line of customer.tbl has this key"},
      {&TextTables::lineorder, fact("1", "", "1", "19940206", "1", "1", "0", "1", "1"),
       "lo_partkey ''"},
      {&TextTables::lineorder, fact("1", "1", "1", "19930206", "1", "1", "0", "1", "1"),
       "lo_orderdate '19930206': no line of date.tbl"},
      {&TextTables::lineorder, fact("1", "1", "1", "19940206", "256", "1", "0", "1", "1"),
       "lo_quantity '256': a number up to 255"},
      {&TextTables::lineorder, fact("1", "1", "1", "19940206", "1", "1", "101", "1", "1"),
       "lo_discount '101': a number up to 100"},
      {&TextTables::lineorder, fact("1", "1", "1", "19940206", "1", "4294967296", "1", "1", "1"),
       "lo_extendedprice '4294967296'"},
      {&TextTables::lineorder, fact("1", "1", "1", "19940206", "1", "1", "1", "-1", "1"),
       "lo_revenue '-1'"},
      {&TextTables::lineorder, fact("1", "1", "1", "19940206", "1", "1", "1", "1", "1.5\x01"),
       "lo_supplycost '1.5\\x01'"},
      {&TextTables::customer, "1|n|a|c|n|r|p|s|\n", "customer.tbl:3: the key '1': a line before"},
      {&TextTables::customer, "x|n|a|c|n|r|p|s|\n", "the key 'x'"},
      {&TextTables::supplier, "2|n|a||n|r|p|\n", "s_city '': there are no NULLs"},
      {&TextTables::part, "3|n|m|c|b|c|t|1|\n", "part.tbl:3: 9 fields are wanted"},
      {&TextTables::date, "19940207|d|d|m|year|199402|Feb1994|1|1|1|1|1|W|0|0|0|0|\n",
       "d_year 'year'"},
  };
  auto star = empty_star();
  TextTables().load(*star.store).value();
  const auto before = all_answers(*star.store);
  for (const auto& bad : cases) {
    TextTables tables;
    tables.*bad.file += bad.line;
    const auto status = tables.load(*star.store);
    ASSERT_EQ(status.code(), Errc::kCorrupt) << bad.wanted;
    EXPECT_NE(status.error().detail.find(bad.wanted), std::string::npos) << status.error().detail;
    EXPECT_NE(status.error().detail.find("1 bad line in "), std::string::npos);
    EXPECT_EQ(all_answers(*star.store), before);
  }
}

TEST(SsbLoad, ManyBadLinesAreCountedAcrossPieces) {
  const TemporaryDirectory directory;
  const auto generator = ssb::Generator::create(0.03).value();
  ssb::write_tables(generator, directory.path(), 2).value();
  {
    std::ofstream more(directory.path() + "/lineorder.tbl", std::ios::app | std::ios::binary);
    for (int i = 0; i < 12; ++i)
      more << "bad\n";
  }
  auto star = empty_star();
  const auto status = ssb::load_tables(directory.path(), *star.store, 3);
  ASSERT_EQ(status.code(), Errc::kCorrupt);
  const auto& text = status.error().detail;
  EXPECT_TRUE(text.starts_with("12 bad lines in ")) << text;
  const auto lines = loaded_star(0.03).store->catalogue().rows();
  EXPECT_NE(text.find("lineorder.tbl:" + std::to_string(lines + 1) + ": "), std::string::npos);
  EXPECT_NE(text.find("lineorder.tbl:" + std::to_string(lines + 10) + ": "), std::string::npos);
  EXPECT_TRUE(text.ends_with("and 2 more")) << text;
}

TEST(SsbLoad, ALineWithoutEndIsRefused) {
  TextTables tables;
  tables.lineorder += std::string(7 << 20, 'x');
  auto star = empty_star();
  const auto status = tables.load(*star.store);
  ASSERT_EQ(status.code(), Errc::kCorrupt);
  EXPECT_NE(status.error().detail.find("a line of more than"), std::string::npos);
}

TEST(SsbLoad, MissingFilesAreNamed) {
  const TemporaryDirectory directory;
  auto star = empty_star();
  const auto status = ssb::load_tables(directory.path(), *star.store, 1);
  ASSERT_EQ(status.code(), Errc::kNotFound);
  EXPECT_NE(status.error().detail.find("date.tbl"), std::string::npos);
  EXPECT_FALSE(star.store->loaded());
}

TEST(SsbLoad, At256CitiesAllIsWellAndOneMoreIsRefused) {
  TextTables tables;
  for (int i = 0; i < 254; ++i)
    tables.customer += std::to_string(100 + i) + "|n|a|city" + std::to_string(i) + "|n|r|p|s|\n";
  auto star = empty_star();
  tables.load(*star.store).value();
  EXPECT_EQ(star.store->catalogue().dimension(Dimension::kCustomer).leaves().size(), 256u);
  tables.customer += "999|n|a|one more|n|r|p|s|\n";
  const auto status = tables.load(*star.store);
  ASSERT_EQ(status.code(), Errc::kUnsupported);
  EXPECT_NE(status.error().detail.find("c_region, c_nation, c_city"), std::string::npos);
}

TEST(SsbLoad, KeysFarApartAreFound) {
  TextTables tables;
  tables.customer += "4294967295|n|a|CHINA    4|CHINA|ASIA|p|s|\n";
  tables.lineorder += TextTables::fact("4294967295", "1", "1", "19940206", "1", "1", "0", "7", "1");
  auto star = empty_star();
  tables.load(*star.store).value();
  StarQuery asked = query("q4.1");
  asked.conditions = {{attribute::kCustomerCity, {"CHINA    4"}, {}, {}}};
  EXPECT_EQ(csv_of(*star.store, asked), "d_year,c_nation,profit\n1994,CHINA,6\n");
}

TEST(SsbLoad, ARegionThatIsTooSmallSaysHowMuchIsNeeded) {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = options.reserve_bytes = 2 * MiB;
  Region region = Region::open("dram", options).value();
  auto store = StarStore::create(region).value();
  TextTables().load(*store).value();
  const auto before = all_answers(*store);
  const auto generator = ssb::Generator::create(0.05).value();
  const auto status = ssb::load_generated(generator, "", *store, 1);
  ASSERT_EQ(status.code(), Errc::kNoSpace);
  const auto& text = status.error().detail;
  EXPECT_EQ(all_answers(*store), before);
  // With as much as it says, less what the star before takes, it fits.
  const auto at = text.find("need a region of ");
  ASSERT_NE(at, std::string::npos) << text;
  options.size_bytes = options.unit_bytes = options.reserve_bytes =
      round_up(std::stoull(text.substr(at + 17)), kPageBytes);
  Region enough = Region::open("dram", options).value();
  ssb::load_generated(generator, "", *StarStore::create(enough).value(), 1).value();
}

}  // namespace
}  // namespace holdfast::olap
