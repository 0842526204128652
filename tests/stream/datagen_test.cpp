// Rows that are made: of the widest ranges, and from any place on.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include <holdfast/sql/parser.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream {
namespace {

struct MadeRows {
  MadeRows(const std::string& column, const std::string& options) {
    const auto statements =
        sql::parse("CREATE TABLE t (" + column + ") WITH ('connector' = 'datagen', " +
                   "'rows-per-second' = '0', " + options + ")")
            .value();
    catalog.add(std::get<sql::syntax::CreateTable>(statements.front())).value();
    source = open_source(*catalog.find("t", {}).value()).value();
  }
  sql::Catalog catalog;
  std::unique_ptr<Source> source;
};

// The width of the range was a number of 64 bits with a sign.
TEST(Datagen, ARealMayBeAnywhereInTheWidestRange) {
  MadeRows made("d DOUBLE",
                "'number-of-rows' = '100', 'fields.d.min' = '-9223372036854775808', "
                "'fields.d.max' = '9223372036854775807'");
  sql::Row row(1);
  int below = 0, above = 0;
  while (made.source->next(row).value())
    ++(row[0].real < 0 ? below : above);
  EXPECT_GT(below, 20);
  EXPECT_GT(above, 20);
}

// It went on without end.
TEST(Datagen, ARunThatGoesOnBehindItsLastRowEnds) {
  MadeRows made("n BIGINT", "'number-of-rows' = '100'");
  ByteWriter position;
  position.number(150);  // Of a run with more rows.
  made.source->seek(position.take()).value();
  sql::Row row(1);
  EXPECT_FALSE(made.source->next(row).value());
  EXPECT_TRUE(made.source->ended());
}

}  // namespace
}  // namespace holdfast::stream
