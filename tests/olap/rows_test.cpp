// A star of rows: what is loaded comes back, on its medium, reopened, replaced, damaged.
#include <cstring>
#include <fstream>
#include <sstream>

#include <holdfast/base/checksum.hpp>
#include <holdfast/olap/ssb/fact_line.hpp>
#include <holdfast/olap/ssb/write_tables.hpp>

#include "star_support.hpp"

namespace holdfast::olap {
namespace {

RegionOptions small_units() {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = 64 * KiB;
  return options;
}

// lineorder.tbl as the rows of a star give it.
std::string lines_of(const StoredRows& rows) {
  std::string text;
  for (std::size_t run = 0; run < rows.runs(); ++run) {
    const auto facts = rows.facts(run).value();
    for (const FactRow& row : facts)
      ssb::append_line(row, text);
  }
  return text;
}

std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(StarRows, EveryFieldOfEveryLineComesBack) {
  const TemporaryDirectory directory;
  const auto generator = ssb::Generator::create(0.03).value();
  ssb::write_tables(generator, directory.path(), 2).value();
  const auto lines = content_of(directory.path() + "/lineorder.tbl");
  ASSERT_GT(lines.size(), 14u << 20);  // Several pieces.
  EXPECT_TRUE(lines_of(*loaded_row_star(0.03, 2).store->rows()) == lines);
  for (const unsigned threads : {1u, 3u}) {
    auto read = empty_star();
    ssb::load_table_rows(directory.path(), *read.store, threads).value();
    EXPECT_TRUE(lines_of(*read.store->rows()) == lines);
    EXPECT_TRUE(read.store->verify().empty());
    for (std::size_t i = 0; i < kDimensions; ++i) {
      const auto dimension = static_cast<Dimension>(i);
      const auto& shape = olap::shape(dimension);
      const auto tuples = read.store->rows()->tuples(dimension).value();
      ASSERT_EQ(tuples.size(), generator.rows(dimension));
      for (std::uint32_t at = 0; at < tuples.size(); ++at) {
        const auto row = generator.row(dimension, at);
        ASSERT_EQ(tuples[at].key, row.key);
        for (std::size_t j = 0; j < shape.attributes; ++j)
          ASSERT_EQ(shape.numeric[j] ? std::to_string(tuples[at].number(j))
                                     : std::string(tuples[at].places[j].view()),
                    row.values[j]);
      }
    }
  }
}

TEST(StarRows, ByDateTheirDaysAscendAndRowsOfADayStayInOrder) {
  auto star = empty_star();
  const auto generator = ssb::Generator::create(0.03).value();
  ssb::load_generated_rows(generator, "", *star.store, 2, ssb::FactOrder::kByDate).value();
  const auto plain = loaded_row_star(0.03);
  const auto all = [](const StoredRows& rows) {
    std::vector<FactRow> facts;
    for (std::size_t run = 0; run < rows.runs(); ++run) {
      const auto more = rows.facts(run).value();
      facts.insert(facts.end(), more.begin(), more.end());
    }
    return facts;
  };
  auto expected = all(*plain.store->rows());
  std::stable_sort(expected.begin(), expected.end(),
                   [](const FactRow& a, const FactRow& b) { return a.order_date < b.order_date; });
  EXPECT_GT(star.store->rows()->runs(), 1u);
  EXPECT_TRUE(all(*star.store->rows()) == expected);
  EXPECT_EQ(csv_of(*star.store, query("q4.2")), csv_of(*plain.store, query("q4.2")));
}

TEST(StarRows, AreFoundAgainAndReplaceColumnsAndAreReplaced) {
  const TemporaryDirectory directory;
  const auto spec = directory.path() + "/star";
  const auto generator = ssb::Generator::create(0.01).value();
  const auto expected = csv_of(*loaded_star(0.01).store, query("q2.1"));
  std::uint64_t after_two = 0;
  for (unsigned round = 0; round < 6; ++round) {
    Region region = Region::open(spec, small_units()).value();
    auto store = StarStore::open_or_create(region).value();
    if (round > 0) {
      EXPECT_EQ(store->catalogue().layout, round % 2 == 1 ? Layout::kByRow : Layout::kByColumn);
      EXPECT_EQ(csv_of(*store, query("q2.1")), expected);
      EXPECT_TRUE(store->verify().empty());
    }
    if (round % 2 == 0)
      ssb::load_generated_rows(generator, "", *store, 1).value();
    else
      ssb::load_generated(generator, "", *store, 1).value();
    EXPECT_EQ(csv_of(*store, query("q2.1")), expected);
    if (round == 1) after_two = region.size_bytes();
  }
  EXPECT_LE(Region::open(spec, small_units()).value().size_bytes(), after_two * 5 / 4);
}

TEST(StarRows, EachDamagedRunAndTableIsNamedAndRefusedByQueriesThatReadIt) {
  const auto star = loaded_row_star(0.012);
  const auto catalogue = star.store->catalogue();
  const auto flip = [&](std::uint64_t at) { star.region->data()[at] ^= std::byte{0x10}; };
  const auto reopened = [&] {
    auto tables = catalogue.row_tables;
    return std::make_unique<StoredRows>(*star.region, std::move(tables));
  };
  ASSERT_GT(catalogue.row_tables.facts.size(), 1u);
  Team team(1);
  const auto built = copies_of(*star.store->rows());
  const auto run_at = catalogue.row_tables.facts[1].offset + 5 * kRowBytes + 120;
  flip(run_at);
  auto found = star.store->verify();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("run 1 of lineorder"), std::string::npos) << found[0];
  EXPECT_EQ(answer(query("q1.1"), *reopened(), built.copies, team).code(), Errc::kCorrupt);
  flip(run_at);
  const auto part = catalogue.row_tables.dimensions[static_cast<std::size_t>(Dimension::kPart)];
  flip(part.offset + part.bytes() - 1);
  found = star.store->verify();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("table part"), std::string::npos) << found[0];
  EXPECT_EQ(answer(query("q2.1"), *reopened(), built.copies, team).code(), Errc::kCorrupt);
  EXPECT_TRUE(answer(query("q1.1"), *reopened(), built.copies, team));
  flip(part.offset + part.bytes() - 1);
  EXPECT_TRUE(star.store->verify().empty());
}

TEST(StarRows, KeysThatLeadNowhereAndWrongBoundsAreFoundThoughChecksumsFit) {
  Region region = Region::open("dram", small_units()).value();
  auto store = StarStore::create(region).value();
  StarWriter writer(*store);
  const std::array<DimensionTuple, 1> one{DimensionTuple{1, 0, {}}};
  for (std::size_t i = 0; i < kDimensions; ++i)
    writer.set_tuples(static_cast<Dimension>(i), one).value();
  std::array<FactRow, 3> rows{};
  for (auto& row : rows)
    row.customer = row.part = row.supplier = row.order_date = 1;
  rows[2].supplier = 2;
  writer.append(rows).value();
  writer.finish_rows("").value();
  const auto found = store->verify();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("1 keys lead to no row of supplier"), std::string::npos) << found[0];
  auto tables = store->catalogue().row_tables;
  tables.facts[0].most.revenue = 1;
  EXPECT_EQ(StoredRows(region, tables).verify().size(), 2u);
}

TEST(StarRows, ADamagedCatalogueIsRefused) {
  const TemporaryDirectory directory;
  Region region = Region::open("dram", small_units()).value();
  Extent place;
  {
    auto store = StarStore::create(region).value();
    TextTables().load_rows(*store).value();
    place = store->catalogue().place;
  }
  for (auto at = place.offset_bytes; at < place.offset_bytes + place.size_bytes; ++at) {
    if (at >= place.offset_bytes + 24 && at < place.offset_bytes + kCacheLineBytes) continue;
    region.data()[at] ^= std::byte{0x40};
    EXPECT_EQ(StarStore::open(region).code(), Errc::kCorrupt) << at;
    region.data()[at] ^= std::byte{0x40};
  }
  EXPECT_TRUE(StarStore::open(region));
}

TEST(StarRows, ACatalogueThatLiesUnderAGoodChecksumIsRefusedOrHarmless) {
  // Each number of the directory of tables, changed, with the checksum made to fit.
  Region region = Region::open("dram", small_units()).value();
  Extent place;
  std::uint64_t id = 0;
  {
    auto store = StarStore::create(region).value();
    ssb::load_generated_rows(ssb::Generator::create(0.002).value(), "", *store, 1).value();
    place = store->catalogue().place;
    id = store->id();
  }
  std::byte* bytes = region.data() + place.offset_bytes;
  CatalogueHeader header;
  std::memcpy(&header, bytes, sizeof header);
  const auto reseal = [&] {
    header.checksum = checksum64({bytes + sizeof header, header.body_bytes}, id);
    std::memcpy(bytes, &header, sizeof header);
  };
  Team team(1);
  unsigned refused = 0, answered = 0;
  for (std::uint64_t at = sizeof header; at < place.size_bytes; at += 4) {
    std::uint32_t number;
    std::memcpy(&number, bytes + at, sizeof number);
    for (const auto wrong : {0u, number + 1, ~0u, number ^ 0x80000000u}) {
      std::memcpy(bytes + at, &wrong, sizeof wrong);
      reseal();
      const auto store = StarStore::open(region);
      refused += store ? 0 : 1;
      if (store && (*store)->loaded() && (*store)->rows() != nullptr) {
        (void)(*store)->verify();
        RegionOptions options;
        options.size_bytes = options.unit_bytes = 16 * MiB;
        Region place_of_indexes = Region::open("dram", options).value();
        auto copy = DimensionCopy::build(*(*store)->rows(), place_of_indexes);
        const bool built = static_cast<bool>(copy);
        const auto copies = built ? DimensionCopies(std::move(*copy)) : DimensionCopies();
        for (const auto* name : {"q1.1", "q2.1", "q4.3"})
          answered += built && answer(query(name), *(*store)->rows(), copies, team) ? 1 : 0;
      }
      std::memcpy(bytes + at, &number, sizeof number);
    }
  }
  EXPECT_GT(refused, 20u);
  EXPECT_GT(answered, 20u);
  reseal();
  EXPECT_TRUE(StarStore::open(region).value()->verify().empty());
}

TEST(StarRows, BadLinesAreNamedAndLeaveWhatWasLoaded) {
  auto star = empty_star();
  TextTables tables;
  tables.load_rows(*star.store).value();
  const auto before = lines_of(*star.store->rows());
  const auto expect_bad = [&](const TextTables& bad, const std::string& text) {
    const auto status = bad.load_rows(*star.store);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().detail.find(text), std::string::npos) << status.error().detail;
    EXPECT_EQ(lines_of(*star.store->rows()), before);
  };
  auto bad = tables;
  bad.lineorder += "1|2|\n";
  expect_bad(bad, "lineorder.tbl:3: 17 fields are wanted");
  bad = tables;
  bad.lineorder += TextTables::fact("9", "1", "1", "19940206", "30", "1", "6", "94", "60");
  expect_bad(bad, "lo_custkey '9': no line of customer.tbl has this key");
  bad = tables;
  bad.lineorder += TextTables::fact("1", "1", "1", "19940206", "256", "1", "6", "94", "60");
  expect_bad(bad, "lo_quantity '256': a number up to 255");
  bad = tables;
  bad.lineorder += "1|1|1|1|1|19940206|5-LOWERTHANLOWEST|0|1|1|1|1|1|1|1|1|AIR|\n";
  expect_bad(bad, "lo_orderpriority '5-LOWERTHANLOWEST': at most 16 bytes");
  bad = tables;
  bad.lineorder += "x|1|1|1|1|19940206|5-LOW|0|1|1|1|1|1|1|1|1|AIR|\n";
  expect_bad(bad, "lo_orderkey 'x'");
  bad = tables;
  bad.customer += "8|n|a|" + std::string(31, 'c') + "|n|ASIA|p|s|\n";
  expect_bad(bad, "c_city '" + std::string(31, 'c'));
  bad = tables;
  bad.supplier += "1|n|a|c|n|ASIA|p|\n";
  expect_bad(bad, "a line before has the same");
}

TEST(StarRows, ATooSmallRegionSaysHowMuchIsNeeded) {
  auto options = small_units();
  options.reserve_bytes = options.size_bytes;
  Region region = Region::open("dram", options).value();
  auto store = StarStore::create(region).value();
  const auto status = ssb::load_generated_rows(ssb::Generator::create(0.01).value(), "", *store, 1);
  EXPECT_EQ(status.code(), Errc::kNoSpace);
  EXPECT_NE(status.error().detail.find("need a region of"), std::string::npos);
  EXPECT_FALSE(store->loaded());
}

TEST(DimensionCopies, NeedTheirSpaceAndAnEmptyRegion) {
  const auto star = loaded_row_star(0.01);
  const auto& rows = *star.store->rows();
  auto small = Region::open("dram", small_units()).value();
  EXPECT_EQ(DimensionCopy::build(rows, small).code(), Errc::kNoSpace);
  const auto built = copies_of(rows);
  EXPECT_EQ(DimensionCopy::build(rows, *built.region).code(), Errc::kBusy);
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto tuples = rows.tuples(static_cast<Dimension>(i)).value();
    std::vector<std::uint64_t> keys{99'999'999};
    for (const auto& tuple : tuples)
      keys.push_back(tuple.key);
    std::vector<std::optional<std::uint64_t>> positions(keys.size());
    built.copies.of(0).find(static_cast<Dimension>(i), keys, positions).value();
    EXPECT_FALSE(positions[0]);
    for (std::size_t at = 1; at < keys.size(); ++at)
      ASSERT_EQ(positions[at], at - 1);
  }
}

// Node 1's copy says of every customer and supplier that its texts are empty, so what its workers
// answer is told from what those of node 0 do.
TEST(DimensionCopies, WorkersJoinWithTheCopyOfTheirNode) {
  const auto star = loaded_row_star(0.01);
  const auto& rows = *star.store->rows();
  RegionOptions options;
  options.size_bytes = options.unit_bytes =
      round_up(DimensionCopy::bytes_needed(rows, DimensionCopy::Tuples::kCopied), kPageBytes);
  std::vector<Region> regions;
  for (int i = 0; i < 2; ++i)
    regions.push_back(Region::open("dram", options).value());
  DimensionCopies copies;
  for (int node = 0; node < 2; ++node)
    copies.add(node, DimensionCopy::build(rows, regions[static_cast<std::size_t>(node)],
                                          DimensionCopy::Tuples::kCopied)
                         .value());
  Team nobody(1);
  const auto expected = answer(query("q3.1"), rows, copies_of(rows).copies, nobody).value();
  ASSERT_GT(expected.rows, 0u);
  const auto cpus = cpus_of_this_thread();
  const auto on = [&](std::vector<int> nodes) {
    std::vector<WorkerPlace> places;
    for (const int node : nodes)
      places.push_back({{cpus[0]}, node});
    Team team(static_cast<unsigned>(nodes.size()), places);
    return answer(query("q3.1"), rows, copies, team).value();
  };
  for (const auto& nodes : {std::vector{0}, {1}, {0, 1}, {1, 0, 1}, {5}}) {
    const auto found = on(nodes);
    EXPECT_EQ(found.table, expected.table);
    EXPECT_EQ(found.rows, expected.rows);
  }
  for (const auto dimension : {Dimension::kCustomer, Dimension::kSupplier}) {
    const auto tuples = copies.of(1).tuples(dimension);
    ASSERT_NE(tuples.data(), rows.tuples(dimension).value().data());
    auto* const changed = const_cast<DimensionTuple*>(tuples.data());
    for (std::size_t i = 0; i < tuples.size(); ++i)
      changed[i].places = {};
  }
  EXPECT_EQ(on({1}).rows, 0u);
  EXPECT_EQ(on({0}).table, expected.table);
  EXPECT_EQ(on({5}).table, expected.table) << "a node without a copy reads the first one";
}

TEST(StarRows, AttributesOfAllLengthsAndOrdersCompareAsInColumns) {
  TextTables tables;
  tables.customer.clear();
  const std::vector<std::string> regions{"A", "AB", "ABC", std::string(30, 'Z'), "B", "a"};
  for (std::size_t i = 0; i < regions.size(); ++i)
    tables.customer += std::to_string(i + 1) + "|n|a|c|n|" + regions[i] + "|p|s|\n";
  tables.lineorder.clear();
  for (std::size_t i = 0; i < regions.size(); ++i)
    tables.lineorder += TextTables::fact(std::to_string(i + 1), "1", "1", "19940206", "1", "1", "0",
                                         std::to_string(1u << i), "0");
  auto columns = empty_star(), rows = empty_star();
  tables.load(*columns.store).value();
  tables.load_rows(*rows.store).value();
  using namespace attribute;
  const std::vector<AttributeFilter> conditions{
      {kCustomerRegion, {}, "A", "AB"},
      {kCustomerRegion, {}, "AB", "B"},
      {kCustomerRegion, {}, "B", "A"},
      {kCustomerRegion, {}, "", std::string(40, 'Z')},
      {kCustomerRegion, {"ABC", std::string(30, 'Z'), std::string(31, 'Z')}, {}, {}},
      {kYear, {"01994"}, {}, {}},
      {kYear, {"1994", "x"}, {}, {}},
      {kYear, {}, "0", "1994"},
      {kYear, {}, "1995", "2000"}};
  for (const auto& condition : conditions) {
    StarQuery all = query("q2.1");
    all.conditions = {condition};
    all.groups = {kCustomerRegion, kYear};
    const auto expected = csv_of(*columns.store, all);
    EXPECT_EQ(csv_of(*rows.store, all), expected) << condition.from << condition.to;
  }
}

}  // namespace
}  // namespace holdfast::olap
