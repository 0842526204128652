// What a scan and a merge rest on, step by step: aggregates of several workers, rows up to a limit,
// keys that are read in turn, and bytes that contradict their directory.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/base/checksum.hpp>
#include <holdfast/olap/mart/aggregate_state.hpp>
#include <holdfast/olap/mart/star_answer.hpp>

#include "mart_support.hpp"

namespace holdfast::olap::mart {
namespace {

// The aggregate of two workers: the group is number 0 of one and number 1 of the other.
std::string merged(const std::string& aggregate, const std::string& type,
                   const std::vector<sql::Value>& first, const std::vector<sql::Value>& second) {
  Schema schema;
  schema.tables = {table_of("t", {"x " + type})};
  const auto plan = plan_star("SELECT " + aggregate + " FROM t", schema).value();
  const auto& of = plan.aggregates.at(0);
  const auto form = form_of(of.argument->type);
  const auto add = [&](AggregateState& state, std::uint32_t group,
                       const std::vector<sql::Value>& values) {
    Vector vector;
    vector.reset(form, values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      vector.set(form, i, values[i]);
    state.add(std::vector<std::uint32_t>(values.size(), group), &vector);
  };
  AggregateState one(of, form), other(of, form);
  one.grow(2), other.grow(2);
  add(one, 1, first);
  add(other, 0, second);
  one.merge(other, std::vector<std::uint32_t>{1, 0});
  Vector results;
  results.reset(form_of(of.type), 2);
  one.results(std::vector<std::uint32_t>{0, 1}, results, 0).value();
  const auto untouched = results.value(of.type, 0);
  EXPECT_TRUE(untouched.null || untouched.number == 0);
  return sql::text_of(results.value(of.type, 1), of.type);
}

TEST(MartState, AGroupThatOneWorkerHasNotSeenIsThatOfTheOther) {
  const auto number = [](std::int64_t value) { return sql::Value::of(value); };
  EXPECT_EQ(merged("MAX(x)", "BIGINT", {}, {number(-5), number(-7)}), "-5");
  EXPECT_EQ(merged("MIN(x)", "BIGINT", {}, {number(5)}), "5");
  EXPECT_EQ(merged("MIN(x)", "BIGINT", {number(4)}, {}), "4");
  EXPECT_EQ(merged("MAX(x)", "BIGINT", {number(4)}, {number(6)}), "6");
  EXPECT_EQ(merged("SUM(x)", "BIGINT", {number(4)}, {number(6)}), "10");
  EXPECT_EQ(merged("COUNT(DISTINCT x)", "BIGINT", {number(4)}, {number(6), number(4)}), "2");
  EXPECT_EQ(merged("MIN(x)", "STRING", {}, {sql::Value::of_text("b")}), "b");
}

TEST(MartState, ASumOfRealsKeepsWhatEachWorkerRounded) {
  const auto reals = [](std::initializer_list<double> values) {
    std::vector<sql::Value> all;
    for (const double value : values)
      all.push_back(sql::Value::of_real(value));
    return all;
  };
  EXPECT_EQ(merged("SUM(x)", "DOUBLE", reals({1e16, 1, -1e16}), reals({1e16, 1, 1, -1e16})),
            sql::text_of(sql::Value::of_real(3), sql::kDoubleType));
}

TEST(MartState, ALimitBeyondAChunkTakesTheFirstRowsOfAllBlocks) {
  auto mart = empty_mart(256 * MiB);
  load_data(*mart.store, SalesData(4, 140'000)).value();
  for (const unsigned threads : {1u, 3u}) {
    Team team(threads);
    const auto found = answer("SELECT id FROM sales LIMIT 9000 OFFSET 70000",
                              *mart.store->version(), team, VectorWidth::kAvx512)
                           .value();
    ASSERT_EQ(found.rows.size(), 9000u);
    EXPECT_TRUE(found.rows.front()[0].number == 70'000);
    EXPECT_TRUE(found.rows.back()[0].number == 78'999);
  }
}

TEST(MartState, AGroupOfWhichHavingIsNullIsDropped) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(4, 500)).value();
  Team team(2);
  const auto rows = [&](const std::string& text) {
    return answer(text, *mart.store->version(), team, VectorWidth::kAvx512).value().rows;
  };
  const auto with = rows("SELECT id FROM sales WHERE quantity >= 0").size();
  EXPECT_LT(with, 500u);
  EXPECT_EQ(rows("SELECT id FROM sales GROUP BY id HAVING SUM(quantity) >= 0").size(), with);
}

TEST(MartState, AKeyThatComesBehindSomeFactsIsKnownToLaterOnes) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(5, 10)).value();
  const auto line = [](int id, const std::string& customer) {
    return Lines{std::to_string(id) + "," + customer + ",p-1,2026-02-03,,5,10.00,,web,true,9"};
  };
  auto load = Load::append(*mart.store, UnknownKeys::kRefuse).value();
  read_lines(load, 0, line(100, "3")).value();
  read_lines(load, 1, {"9001,OCEANIA,nation 9001,7.00"}).value();
  read_lines(load, 0, line(101, "9001")).value();
  load.finish("").value();
  EXPECT_EQ(mart.store->version()->catalogue().fact_rows(), 12u);
}

// A star with one table of a number and a text; `forge` may change what was put.
template <class Forge>
MartInDram forged(Forge forge) {
  auto mart = empty_mart(2 * MiB);
  Catalogue next;
  next.schema.tables = {table_of("t", {"n BIGINT", "word STRING"})};
  next.tables.resize(1);
  next.tables[0].dictionaries.resize(2);
  std::vector<Words> columns(2);
  for (std::int64_t i = 0; i < 40; ++i)
    columns[0].add(i), columns[1].add(i % 2 + 1);
  auto block = encode_block(next.schema.tables[0], columns, 0, 40);
  MartWriter writer(*mart.store);
  const std::vector<std::string_view> texts{"one", "two"};
  auto piece = writer.put(texts).value();
  forge(block, mart.region->data() + piece.place.offset_bytes, piece);
  next.tables[0].dictionaries[1].push_back(piece);
  next.tables[0].blocks.push_back(writer.put(block).value());
  writer.finish(std::move(next)).value();
  return mart;
}

std::string error_of_query(const MartStore& store, const std::string& text) {
  Team team(1);
  const auto found = answer(text, *store.version(), team, VectorWidth::kAvx512);
  return found ? "no error" : found.error().detail;
}

TEST(MartState, ACodeAboveItsBoundsIsRefusedThoughTheChecksumFits) {
  for (const std::size_t column : {0u, 1u}) {
    const auto mart = forged([&](EncodedBlock& block, std::byte*, DictionaryPiece&) {
      auto& of = block.info.columns[column];
      block.bytes[of.offset + 5] = std::byte{200};
      of.checksum = checksum64({block.bytes.data() + of.offset, of.bytes(40)}, 40);
    });
    const auto text = error_of_query(*mart.store, "SELECT MAX(n) FROM t WHERE word = 'two'");
    EXPECT_NE(text.find("a value is outside of its bounds"), std::string::npos) << text;
    EXPECT_EQ(mart.store->version()->verify().size(), 1u);
  }
}

TEST(MartState, ATextThatLeadsOutOfItsPlaceIsRefusedThoughTheChecksumFits) {
  const auto mart = forged([](EncodedBlock&, std::byte* bytes, DictionaryPiece& piece) {
    const std::uint32_t length = 5;  // "two" and two bytes behind.
    std::memcpy(bytes + sizeof length, &length, sizeof length);
    piece.checksum = checksum64({bytes, piece.place.size_bytes}, piece.texts);
  });
  const auto text = error_of_query(*mart.store, "SELECT MAX(n) FROM t WHERE word = 'two'");
  EXPECT_NE(text.find("a text is longer than its place"), std::string::npos) << text;
}

// Such a number's digits were written behind the end of their place.
TEST(MartState, ADecimalThatIsNoneIsRefusedThoughTheChecksumFits) {
  for (const auto& type :
       {sql::decimal_type(12, 1000), sql::decimal_type(12, 13), sql::decimal_type(0, 0)}) {
    auto mart = empty_mart(2 * MiB);
    Catalogue next;
    next.schema.tables = {table_of("t", {"c MONEY"})};
    next.schema.tables[0].columns[0].type = type;
    next.tables.resize(1);
    next.tables[0].dictionaries.resize(1);
    {
      MartWriter writer(*mart.store);
      std::vector<Words> columns(1);
      columns[0].add(5);
      next.tables[0].blocks.push_back(
          writer.put(encode_block(next.schema.tables[0], columns, 0, 1)).value());
      writer.finish(std::move(next)).value();
    }
    mart.store.reset();
    const auto store = MartStore::open(*mart.region);
    EXPECT_EQ(store.code(), Errc::kCorrupt);
    if (store) continue;
    EXPECT_NE(store.error().detail.find("which is no decimal"), std::string::npos);
  }
}

TEST(MartState, AMergeDoesNotSealDamageOfABlockThatItRewrites) {
  auto mart = empty_mart();
  const SalesData data(6, 100);
  load_data(*mart.store, data).value();
  append_lines(*mart.store, 0, data.tables[0]).value();
  const auto block = mart.store->version()->catalogue().tables[0].blocks[1];
  mart.store.reset();
  mart.region->data()[block.offset + block.columns[0].offset] ^= std::byte{1};
  mart.store = MartStore::open(*mart.region).value();
  const auto place = mart.store->version()->catalogue().place;
  EXPECT_EQ(merge(*mart.store).code(), Errc::kCorrupt);
  EXPECT_EQ(mart.store->version()->catalogue().place, place);
}

TEST(MartState, AMergeOfSmallTablesWithoutAppendsWritesNothing) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(6, 100)).value();
  const auto before = mart.store->version();
  EXPECT_EQ(small_blocks(before->catalogue()), 0u);
  merge(*mart.store).value();
  EXPECT_EQ(mart.store->version(), before);
}

}  // namespace
}  // namespace holdfast::olap::mart
