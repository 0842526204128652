// A star of a user's own: what is loaded comes back, bad lines, damage, space.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/olap/mart/star_answer.hpp>
#include <holdfast/olap/mart/word_text.hpp>

#include "mart_support.hpp"

namespace holdfast::olap::mart {
namespace {

std::vector<std::string> all_rows(const MartVersion& version) {
  Team team(1);
  const auto found = answer("SELECT * FROM sales", version, team, VectorWidth::kPortable).value();
  std::vector<std::string> rows;
  for (const auto& row : found.rows) {
    auto& text = rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i)
      text += (i == 0 ? "" : ",") + sql::text_of(row[i], found.types[i]);
  }
  return rows;
}

TEST(MartStore, EveryFieldOfEveryRowComesBackAfterAnOpening) {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/star";
  const SalesData data(1, 5000);
  RegionOptions options;
  options.access = RegionAccess::kCreate;
  options.size_bytes = options.unit_bytes = 64 * MiB;
  {
    auto region = Region::open(path, options).value();
    auto store = MartStore::create(region).value();
    const auto report = load_data(*store, data).value();
    EXPECT_EQ(report.rows, (std::vector<std::uint64_t>{5000, 60, 40, 28}));
    EXPECT_EQ(all_rows(*store->version()), data.tables[0]);
  }
  options.access = RegionAccess::kOpenReadOnly;
  auto region = Region::open(path, options).value();
  auto store = MartStore::open(region).value();
  EXPECT_EQ(all_rows(*store->version()), data.tables[0]);
  EXPECT_TRUE(store->version()->verify().empty());
}

TEST(MartStore, WordsOfAllTypesKeepTheirOrder) {
  const std::vector<double> reals{-HUGE_VAL, -1e300, -1.5,  -1e-300, 0.0,
                                  1e-300,    2,      1e300, HUGE_VAL};
  for (std::size_t i = 0; i < reals.size(); ++i) {
    EXPECT_EQ(double_of(word_of(reals[i])), reals[i]);
    EXPECT_TRUE(i == 0 || word_of(reals[i - 1]) < word_of(reals[i]));
  }
  EXPECT_EQ(word_of(-0.0), word_of(0.0));
  EXPECT_GT(word_of(std::numeric_limits<double>::quiet_NaN()), word_of(HUGE_VAL));
  EXPECT_EQ(word_of_text("9223372036854775807", sql::kBigIntType), 9223372036854775807);
  EXPECT_EQ(word_of_text("-9223372036854775808", sql::kBigIntType), std::nullopt);
  EXPECT_EQ(word_of_text("128", {sql::Kind::kTinyInt}), std::nullopt);
  EXPECT_EQ(word_of_text("-12.5", sql::decimal_type(4, 2)), -1250);
  EXPECT_EQ(word_of_text("123.45", sql::decimal_type(4, 2)), std::nullopt);
  EXPECT_EQ(word_of_text("", sql::kIntType), std::nullopt);
  EXPECT_EQ(word_of_text("1e39", {sql::Kind::kFloat}), std::nullopt);
  EXPECT_EQ(word_of_text("1e309", sql::kDoubleType), std::nullopt);
}

TEST(MartStore, ColumnsOfAllWidthsWithAndWithoutNull) {
  Table table = table_of("t", {"a BIGINT"});
  const std::vector<std::uint64_t> spans{0,          1,          254,         255,
                                         256,        65534,      65535,       65536,
                                         0xfffffffe, 0xffffffff, 0x100000000, 0xfffffffffffffffe};
  for (const auto span : spans) {
    for (const bool null : {false, true}) {
      std::vector<Words> columns(1);
      for (std::uint64_t i = 0; i < 70; ++i) {
        if (null && i % 7 == 0)
          columns[0].add_null();
        else
          columns[0].add(static_cast<std::int64_t>(static_cast<std::uint64_t>(kLeast) +
                                                   (i % 2 == 0 ? 0 : span)));
      }
      const auto block = encode_block(table, columns, 0, 70);
      block.info.check(table).value();
      Words back;
      decode(block.bytes.data(), block.info.columns[0], 0, 70, back);
      for (std::size_t i = 0; i < 70; ++i) {
        ASSERT_EQ(back.is_null(i), columns[0].is_null(i)) << span;
        ASSERT_TRUE(back.is_null(i) || back.values[i] == columns[0].values[i]) << span;
      }
    }
  }
}

std::string error_of(const Result<LoadReport>& result) {
  return result ? "no error" : result.error().detail;
}

TEST(MartStore, BadLinesAreNamedAndNothingChanges) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(2, 10)).value();
  const auto before = all_rows(*mart.store->version());
  SalesData bad(3, 10);
  bad.tables[0][3] = "3,99999,p-1,2026-02-01,,1,1.00,,,,5";
  bad.tables[0][5] = "5,3,p-1,2026-02-30,,1,1.00,,,,5";
  bad.tables[0][7] = "7,3,p-1,2026-02-01,,many,1.00,,,,5";
  bad.tables[0][8] = "8,3";
  const auto text = error_of(load_data(*mart.store, bad));
  EXPECT_NE(text.find("4 bad lines in "), std::string::npos) << text;
  EXPECT_NE(text.find(":4: customer '99999': customers has no row with this key"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(":6: sold '2026-02-30': a DATE is wanted"), std::string::npos) << text;
  EXPECT_NE(text.find(":8: quantity 'many': a INT is wanted"), std::string::npos) << text;
  EXPECT_NE(text.find(":9: 2 fields; 11 are wanted"), std::string::npos) << text;
  EXPECT_EQ(all_rows(*mart.store->version()), before);
}

TEST(MartStore, ATextThatIsNoUtf8IsABadLine) {
  auto mart = empty_mart();
  SalesData bad(3, 10);
  bad.tables[0][3] = "3,3,p-1,2026-02-01,,1,1.00,,\xff\xfe,true,5";
  bad.tables[0][5] = "5,3,\xc3,2026-02-01,,1,1.00,,,true,5";
  bad.tables[1][0] = "3,\xed\xa0\x80,nation,1.00";
  auto text = error_of(load_data(*mart.store, bad));
  EXPECT_NE(text.find(":1: region '\\xed\\xa0\\x80': this is no UTF-8"), std::string::npos) << text;
  bad.tables[1] = SalesData(3, 10).tables[1];
  text = error_of(load_data(*mart.store, bad));
  EXPECT_NE(text.find(":4: channel '\\xff\\xfe': this is no UTF-8"), std::string::npos) << text;
  EXPECT_NE(text.find(":6: product '\\xc3': products has no row with this key"), std::string::npos)
      << text;
}

TEST(MartStore, KeysThatAreThereTwiceOrNullAreBadLines) {
  auto mart = empty_mart();
  SalesData data(4, 0);
  data.tables[1].push_back("3,ASIA,again,1.00");
  data.tables[1].push_back(",ASIA,none,1.00");
  const auto text = error_of(load_data(*mart.store, data));
  EXPECT_NE(text.find(":61: ckey '3': the key of a row that is there already"), std::string::npos)
      << text;
  EXPECT_NE(text.find(":62: ckey: the key of a dimension is never NULL"), std::string::npos);
  load_data(*mart.store, SalesData(4, 5)).value();
  EXPECT_NE(error_of(append_lines(*mart.store, 2, {"p-7,cat,brand,1"}))
                .find("pkey 'p-7': the key of a row that is there already"),
            std::string::npos);
}

TEST(MartStore, TheLeastBigIntIsABadLineThatSaysWhy) {
  auto mart = empty_mart();
  SalesData data(4, 0);
  data.tables[0] = {"-9223372036854775808,,,2026-02-01,,1,1.00,,,,5"};
  EXPECT_NE(error_of(load_data(*mart.store, data))
                .find("id '-9223372036854775808': this one BIGINT is not stored"),
            std::string::npos);
  data.tables[0] = {"1,,,2026-02-01,,1,1.00,,,yes,5"};
  EXPECT_NE(
      error_of(load_data(*mart.store, data)).find("gift 'yes': a BOOLEAN is wanted: true or false"),
      std::string::npos);
}

// A catalogue with them could not be read again.
TEST(MartStore, ArraysRowsAndMapsAreNoColumns) {
  auto schema = sales_schema();
  schema.tables[0].columns[8].type = sql::array_of(sql::kIntType).value();
  const auto status = schema.validate();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().detail,
            "star: sales.channel is ARRAY<INT>; arrays, rows and maps are not stored");
}

TEST(MartStore, UnknownKeysBecomeNullWhereThatIsWanted) {
  auto mart = empty_mart();
  SalesData data(5, 3);
  data.tables[0].push_back("3,99999,none,2026-02-01,,1,1.00,,,,5");
  const auto report = load_data(*mart.store, data, UnknownKeys::kNull).value();
  EXPECT_EQ(report.unknown_keys, 2u);
  EXPECT_EQ(all_rows(*mart.store->version()).back(), "3,,,2026-02-01,,1,1.00,,,,5");
}

TEST(MartStore, HeadersNameTheColumns) {
  auto mart = empty_mart();
  auto load = Load::replace(*mart.store, sales_schema(), UnknownKeys::kRefuse).value();
  read_lines(load, 3, {"\xef\xbb\xbfholiday,extra,day,month,year", "true,x,2026-02-01,2,2026"},
             true)
      .value();
  const auto missing = read_lines(load, 2, {"pkey,category,brand"}, true);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().detail.find("has no column size of table products; it has pkey, "
                                        "category, brand"),
            std::string::npos);
  load.finish("days").value();
  Team team(1);
  const auto found =
      answer("SELECT * FROM days", *mart.store->version(), team, VectorWidth::kPortable).value();
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(sql::text_of(found.rows[0][1], found.types[1]), "2026");
}

TEST(MartStore, RowsOfADimensionHaveTheOrderOfItsSchema) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(6, 0)).value();
  Team team(1);
  const auto found = answer("SELECT region, nation FROM customers", *mart.store->version(), team,
                            VectorWidth::kPortable)
                         .value();
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& row : found.rows)
    rows.emplace_back(row[0].null ? "" : row[0].text, row[1].text);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
}

TEST(MartStore, ARegionThatIsTooSmallSaysWhatIsNeeded) {
  auto mart = empty_mart(2 * MiB);
  const auto text = error_of(load_data(*mart.store, SalesData(7, 120'000)));
  EXPECT_NE(text.find("the tables need a region of "), std::string::npos) << text;
  EXPECT_EQ(mart.store->version(), nullptr);
  load_data(*mart.store, SalesData(7, 10)).value();
}

TEST(MartStore, AVersionThatIsHeldStaysAsItIs) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(8, 2000)).value();
  const auto held = mart.store->version();
  const auto before = all_rows(*held);
  for (int i = 0; i < 5; ++i) {
    load_data(*mart.store, SalesData(9, 2000)).value();
    append_lines(*mart.store, 0, SalesData(10, 50).tables[0]).value();
    merge(*mart.store).value();
  }
  EXPECT_EQ(all_rows(*held), before);
}

TEST(MartStore, DamageOfEachPlaceIsNamedAndRefused) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(11, 300)).value();
  const auto catalogue = mart.store->version()->catalogue();
  std::vector<Extent> places;
  for (const auto& table : catalogue.tables) {
    for (const auto& block : table.blocks) {
      for (const auto& column : block.columns) {
        if (column.width != 0)
          places.push_back({block.offset + column.offset, column.bytes(block.rows)});
      }
    }
    for (const auto& pieces : table.dictionaries) {
      for (const auto& piece : pieces)
        places.push_back(piece.place);
    }
  }
  ASSERT_GT(places.size(), 25u);
  for (const auto& place : places) {
    auto* byte = mart.region->data() + place.offset_bytes + place.size_bytes / 2;
    *byte ^= std::byte{4};
    EXPECT_EQ(mart.store->version()->verify().size(), 1u) << place.offset_bytes;
    *byte ^= std::byte{4};
  }
  EXPECT_TRUE(mart.store->version()->verify().empty());
  // A query that reads it ends; one that does not goes on.
  mart.store.reset();
  mart.region->data()[places[0].offset_bytes] ^= std::byte{1};
  mart.store = MartStore::open(*mart.region).value();
  Team team(2);
  const auto version = mart.store->version();
  EXPECT_EQ(answer("SELECT SUM(id) FROM sales", *version, team, VectorWidth::kPortable).code(),
            Errc::kCorrupt);
  EXPECT_TRUE(answer("SELECT SUM(quantity) FROM sales", *version, team, VectorWidth::kPortable));
}

TEST(MartStore, EveryDamagedByteOfTheCatalogueIsRefused) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(12, 20)).value();
  const auto place = mart.store->version()->catalogue().place;
  mart.store.reset();
  for (std::uint64_t i = 0; i < place.size_bytes; i += 3) {
    auto& byte = mart.region->data()[place.offset_bytes + i];
    if (i >= 24 && i < 64) continue;  // Reserved.
    byte ^= std::byte{16};
    EXPECT_EQ(MartStore::open(*mart.region).code(), Errc::kCorrupt) << i;
    byte ^= std::byte{16};
  }
  mart.region->data()[kMartRootAt] ^= std::byte{1};
  EXPECT_EQ(MartStore::open(*mart.region).code(), Errc::kCorrupt);
  mart.region->data()[kMartRootAt] ^= std::byte{1};
  EXPECT_TRUE(MartStore::open(*mart.region));
}

TEST(MartStore, CsvOfAllKinds) {
  const TemporaryDirectory directory;
  directory.write("t.csv", "\"a \"\"b\"\"\",\"two\nlines\",\r\n\n\"\",x y,z\nlast,,\"q\"");
  auto reader = CsvReader::open(directory.path() + "/t.csv", {}).value();
  std::vector<Field> fields;
  ASSERT_TRUE(reader.next(fields).value());
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[0].text, "a \"b\"");
  EXPECT_EQ(fields[1].text, "two\nlines");
  EXPECT_TRUE(fields[2].null);
  ASSERT_TRUE(reader.next(fields).value());
  EXPECT_EQ(reader.line(), 4u);
  EXPECT_FALSE(fields[0].null);  // Quoted: a text without characters.
  EXPECT_EQ(fields[1].text, "x y");
  ASSERT_TRUE(reader.next(fields).value());
  EXPECT_EQ(fields[2].text, "q");
  EXPECT_FALSE(reader.next(fields).value());
  // A byte order mark is none of the first field's, whether that has quotes or not.
  directory.write("mark.csv", "\xef\xbb\xbf\"id\"\n\n7\n");
  CsvFormat format;
  format.skips_empty_lines = false;
  auto marked = CsvReader::open(directory.path() + "/mark.csv", format).value();
  ASSERT_TRUE(marked.next(fields).value());
  EXPECT_EQ(fields[0].text, "id");
  ASSERT_TRUE(marked.next(fields).value());
  EXPECT_TRUE(fields[0].null);
  ASSERT_TRUE(marked.next(fields).value());
  EXPECT_EQ(fields[0].text, "7");
  EXPECT_FALSE(marked.next(fields).value());
  directory.write("bad.csv", "a,b\n\"c\"d,e\n");
  auto bad = CsvReader::open(directory.path() + "/bad.csv", {}).value();
  EXPECT_TRUE(bad.next(fields).value());
  EXPECT_EQ(bad.next(fields).error().detail.find(directory.path() + "/bad.csv:2: "), 0u);
}

}  // namespace
}  // namespace holdfast::olap::mart
