// Rows as records: what compiled code writes is what the command reads.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <holdfast/stream/compile/runtime/values.hpp>
#include <holdfast/stream/record.hpp>

#include "no_host.hpp"

namespace holdfast::stream {
namespace {

sql::Column column(sql::Kind kind, std::uint8_t precision = 0, std::uint8_t scale = 0) {
  sql::Type type;
  type.kind = kind;
  type.precision = precision;
  type.scale = scale;
  return {"c", type};
}

// One of each kind, the narrow ones where they leave gaps.
const std::vector<sql::Column> kColumns = {
    column(sql::Kind::kBoolean),   column(sql::Kind::kString),      column(sql::Kind::kTinyInt),
    column(sql::Kind::kBigInt),    column(sql::Kind::kSmallInt),    column(sql::Kind::kInt),
    column(sql::Kind::kFloat),     column(sql::Kind::kDecimal, 38), column(sql::Kind::kDate),
    column(sql::Kind::kTimestamp), column(sql::Kind::kDouble),      column(sql::Kind::kBoolean)};
using Written =
    query::RecordOf<bool, query::Text, std::int8_t, std::int64_t, std::int16_t, std::int32_t,
                    double, query::Int128, std::int32_t, std::int64_t, double, bool>;

// Keeps what it is given, as rows.
class Kept final : public query::NoHost {
 public:
  explicit Kept(const std::vector<sql::Column>& columns)
      : columns_(columns), layout_(RecordLayout::of(columns).value()) {}
  bool write(const query::Change* kinds, const std::byte* records, std::size_t count) override {
    ++calls;
    bytes.assign(reinterpret_cast<const char*>(records), count * layout_.bytes);
    for (std::size_t i = 0; i < count && room > 0; ++i, --room) {
      changes.push_back(kinds[i]);
      rows.emplace_back(columns_.size());
      read_record(columns_, layout_, records + i * layout_.bytes, rows.back());
    }
    return room > 0;
  }

  std::size_t room = 1'000'000, calls = 0;
  std::string bytes;  // Of the last call.
  std::vector<query::Change> changes;
  std::vector<sql::Row> rows;

 private:
  const std::vector<sql::Column>& columns_;
  const RecordLayout layout_;
};

TEST(Record, CompiledCodeHasTheSameLayout) {
  const auto layout = RecordLayout::of(kColumns).value();
  EXPECT_EQ(Written::kBytes, layout.bytes);
  for (std::size_t i = 0; i < kColumns.size(); ++i)
    EXPECT_EQ(Written::kOffsets[i], layout.offsets[i]) << i;
  EXPECT_FALSE(RecordLayout::of(std::vector<sql::Column>(65, kColumns[0])));
  EXPECT_EQ(RecordLayout::of(std::vector<sql::Column>(64, kColumns[7]))->bytes, 8u + 8 + 64 * 16);
}

TEST(Record, WhatCompiledCodeWritesIsRead) {
  Kept host(kColumns);
  query::Output output;
  query::Run run{host, output};
  const auto least = std::numeric_limits<std::int64_t>::min();
  const query::Int128 wide = -(query::Int128{1} << 120);
  const query::Text text{"ab", 2}, empty{"", 0};
  using query::some;
  query::write(run, query::Change::kInsert, some(true), some(text), some(std::int8_t{-128}),
               some(least), some(std::int16_t{-2}), some(std::int32_t{-3}), some(0.5), some(wide),
               some(std::int32_t{-4}), some(std::int64_t{-5}), some(-0.25), some(false));
  query::write(run, query::Change::kInsert, query::Maybe<bool>{}, some(empty),
               query::Maybe<std::int8_t>{7, false}, some(least), query::Maybe<std::int16_t>{},
               some(std::int32_t{0}), query::Maybe<double>{},
               query::Maybe<query::Int128>{wide, false}, some(std::int32_t{0}),
               some(std::int64_t{0}), some(1e300), query::Maybe<bool>{});
  EXPECT_EQ(host.calls, 0u);
  run.flush();
  ASSERT_EQ(host.rows.size(), 2u);
  const auto& row = host.rows[0];
  EXPECT_EQ(row[1].text, "ab");
  const std::vector<std::pair<std::size_t, sql::Int128>> numbers = {
      {0, 1}, {2, -128}, {3, least}, {4, -2}, {5, -3}, {7, wide}, {8, -4}, {9, -5}, {11, 0}};
  for (const auto& [at, number] : numbers) {
    EXPECT_FALSE(row[at].null) << at;
    EXPECT_TRUE(row[at].number == number) << at;
  }
  EXPECT_EQ(row[6].real, 0.5);
  EXPECT_EQ(row[10].real, -0.25);
  std::string nulls;
  for (const auto& value : host.rows[1])
    nulls += value.null ? '0' : '1';
  EXPECT_EQ(nulls, "010101001110");
  EXPECT_EQ(host.rows[1][1].text, "");
}

TEST(Record, WhatIsNullIsZero) {
  const std::vector<sql::Column> columns = {column(sql::Kind::kBigInt), column(sql::Kind::kString)};
  Kept host(columns);
  query::Output output;
  query::Run run{host, output};
  query::write(run, query::Change::kInsert, query::Maybe<std::int64_t>{99, false},
               query::Maybe<query::Text>{{"x", 1}, false});
  run.flush();
  EXPECT_EQ(host.bytes, std::string("\3", 1) + std::string(31, '\0'));
}

TEST(Record, RowsThatComeAndGoInTurnGoOutTogether) {
  const std::vector<sql::Column> columns = {column(sql::Kind::kBigInt)};
  Kept host(columns);
  query::Output output;
  query::Run run{host, output};
  std::vector<query::Change> wanted;
  for (std::int64_t i = 0; i < 3'000; ++i) {
    wanted.push_back(i % 2 == 0 ? query::Change::kUpdateBefore : query::Change::kUpdateAfter);
    query::write(run, wanted.back(), query::some(i));
  }
  run.flush();
  run.flush();
  EXPECT_LT(host.calls, 8u) << "rows of both kinds go out together";
  EXPECT_TRUE(host.changes == wanted);
  for (std::size_t i = 0; i < host.rows.size(); ++i)
    ASSERT_EQ(static_cast<std::size_t>(host.rows[i][0].number), i);
}

TEST(Record, ASinkThatFailsEndsTheRun) {
  const std::vector<sql::Column> columns = {column(sql::Kind::kBigInt)};
  Kept host(columns);
  host.room = 600;
  query::Output output;
  query::Run run{host, output};
  for (std::int64_t i = 0; i < 3'000; ++i)
    query::write(run, query::Change::kInsert, query::some(i));
  EXPECT_TRUE(run.failed);
  EXPECT_EQ(host.rows.size(), 600u);
  const auto calls = host.calls;
  run.flush();
  EXPECT_EQ(host.calls, calls) << "nothing is left";
}

TEST(Record, RowsBeforeAFailureGoOut) {
  const std::vector<sql::Column> columns = {column(sql::Kind::kBigInt)};
  Kept host(columns);
  query::Output output;
  query::Run run{host, output};
  query::write(run, query::Change::kInsert, query::some(std::int64_t{1}));
  run.fail(0);
  query::write(run, query::Change::kInsert, query::some(std::int64_t{2}));
  run.flush();
  EXPECT_EQ(host.rows.size(), 1u);
  EXPECT_TRUE(run.failed);
}

}  // namespace
}  // namespace holdfast::stream
