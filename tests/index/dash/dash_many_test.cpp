// find_many and insert_many of a Dash index: the answers of the plain verbs, whatever the group.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dash_support.hpp"

namespace holdfast::index {
namespace {

Region region_of(std::uint64_t bytes, const std::string& spec = "dram?granularity=line") {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = bytes;
  return Region::open(spec, options).value();
}

std::vector<DashRecord> records_of(std::uint64_t count) {
  std::vector<DashRecord> records;
  for (std::uint64_t i = 0; i < count; ++i)
    records.push_back({mix64(i), i});
  return records;
}

// Small segments: there are splits, visitors, records in the stash and operations that meet.
TEST(DashMany, AnswersAreThoseOfThePlainVerbs) {
  for (const unsigned group : {1u, 3u, 16u, blocks::kMaxGroup}) {
    blocks::Interleaving how;
    how.group = group;
    auto region = region_of(4 * MiB);
    DashOptions options;
    options.buckets = 4, options.stash_buckets = 1;
    auto dash = Dash::create(region, blocks::whole(region), options).value();
    constexpr std::uint64_t kKeys = 20'000;
    auto records = records_of(kKeys);
    for (std::uint64_t i = 0; i < kKeys / 2; ++i)
      records[i + kKeys / 2] = {records[i].key, records[i].value + kKeys};  // Each key twice.
    std::vector<Errc> outcomes(records.size());
    for (std::uint64_t at = 0; at < kKeys; at += 100)
      dash->insert_many(std::span(records).subspan(at, 100), std::span(outcomes).subspan(at, 100),
                        how)
          .value();
    EXPECT_EQ(std::ranges::count(outcomes, Errc::kOk), kKeys / 2);
    EXPECT_EQ(std::ranges::count(outcomes, Errc::kAlreadyExists), kKeys / 2);
    // The first time the segments are repaired, the second time not.
    dash.reset();
    dash = Dash::open(region, blocks::whole(region)).value();
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < kKeys; ++i)
      keys.push_back(mix64(i));
    for (unsigned round = 0; round < 2; ++round) {
      std::vector<std::optional<std::uint64_t>> values(kKeys, 99);
      dash->find_many(keys, values, how).value();
      for (std::uint64_t i = 0; i < kKeys; ++i)
        ASSERT_EQ(values[i], i < kKeys / 2 ? std::optional(i) : std::nullopt) << i;
    }
    for (std::uint64_t i = 0; i < kKeys / 2; ++i)
      ASSERT_EQ(dash->find(keys[i]).value(), i);
  }
}

TEST(DashMany, OfTwoRecordsOfOneKeyInAGroupOneIsInserted) {
  auto region = region_of(1 * MiB);
  const auto dash = Dash::create(region, blocks::whole(region)).value();
  dash->insert(1, 1).value();  // Repaired: nothing is left to the plain verb.
  const std::vector<DashRecord> records = {{7, 70}, {7, 71}, {8, 80}, {7, 72}, {1, 10}};
  std::vector<Errc> outcomes(records.size());
  dash->insert_many(records, outcomes).value();
  EXPECT_EQ(std::ranges::count(outcomes, Errc::kOk), 2);
  EXPECT_EQ(std::ranges::count(outcomes, Errc::kAlreadyExists), 3);
  std::uint64_t seen = 0;
  dash->for_each([&](std::uint64_t, std::uint64_t) { ++seen; }).value();
  EXPECT_EQ(seen, 3u);
  EXPECT_EQ(dash->find(1).value(), 1u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(dash->find(7).value() == records[i].value, outcomes[i] == Errc::kOk);
}

TEST(DashMany, AFullIndexRefusesSomeAndKeepsTheRest) {
  auto region = region_of(128 * KiB);
  const auto dash = Dash::create(region, blocks::whole(region)).value();
  const auto records = records_of(8'000);
  std::vector<Errc> outcomes(records.size());
  EXPECT_EQ(dash->insert_many(records, outcomes).code(), Errc::kNoSpace);
  for (std::size_t i = 0; i < records.size(); ++i)
    ASSERT_EQ(dash->find(records[i].key).has_value(), outcomes[i] == Errc::kOk);
  EXPECT_GT(std::ranges::count(outcomes, Errc::kOk), 500);
}

TEST(DashMany, NothingIsAllowed) {
  auto region = region_of(1 * MiB);
  const auto dash = Dash::create(region, blocks::whole(region)).value();
  EXPECT_TRUE(dash->find_many({}, {}));
  EXPECT_TRUE(dash->insert_many({}, {}));
}

TEST(DashMany, ADamagedSegmentIsNamedAndKeepsItsBytes) {
  auto region = region_of(1 * MiB);
  auto dash = Dash::create(region, blocks::whole(region)).value();
  const auto records = records_of(50);
  std::vector<Errc> outcomes(records.size());
  dash->insert_many(records, outcomes).value();
  dash.reset();
  // A bit that no build sets, in the first line's first word of the first segment.
  dash_detail::DashShape shape;
  std::memcpy(&shape, region.data() + sizeof(SuperblockHeader), sizeof shape);
  auto* const segment = region.data() + shape.segment_at(0);
  segment[7] |= std::byte{0x80};
  const std::vector<std::byte> before(segment, segment + shape.segment_bytes());
  dash = Dash::open(region, blocks::whole(region)).value();
  std::vector<std::uint64_t> keys(records.size());
  std::ranges::transform(records, keys.begin(), &DashRecord::key);
  std::vector<std::optional<std::uint64_t>> values(keys.size());
  const auto found = dash->find_many(keys, values);
  EXPECT_EQ(found.code(), Errc::kCorrupt);
  EXPECT_NE(found.error().detail.find("segment 0"), std::string::npos) << found.error().detail;
  EXPECT_EQ(dash->insert_many(records, outcomes).code(), Errc::kCorrupt);
  EXPECT_EQ(std::ranges::count(outcomes, Errc::kCorrupt), 50);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), segment));
}

TEST(DashMany, AReadOnlyIndexIsReadAndNotWritten) {
  const auto path = "/dev/shm/holdfast_dash_many_test." + std::to_string(::getpid());
  const auto spec = path + "?granularity=line";
  {
    auto region = region_of(1 * MiB, spec);
    Dash::create(region, blocks::whole(region)).value()->insert(3, 30).value();
  }
  RegionOptions options;
  options.access = RegionAccess::kOpenReadOnly;
  auto region = Region::open(spec, options).value();
  const auto dash = Dash::open(region, blocks::whole(region)).value();
  const std::vector<std::uint64_t> keys = {3, 4};
  std::vector<std::optional<std::uint64_t>> values(2);
  dash->find_many(keys, values).value();
  EXPECT_EQ(values[0], 30u);
  EXPECT_EQ(values[1], std::nullopt);
  const std::vector<DashRecord> records = {{5, 50}};
  std::vector<Errc> outcomes(1);
  EXPECT_EQ(dash->insert_many(records, outcomes).code(), Errc::kReadOnly);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace holdfast::index
