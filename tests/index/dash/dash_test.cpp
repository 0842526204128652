// A Dash index: its verbs, its options, how it fills and what it refuses.
#include <bit>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dash_support.hpp"

namespace holdfast::index {
namespace {

using namespace dash_detail;

std::unique_ptr<Dash> create(Region& region, const DashOptions& options = {}) {
  return Dash::create(region, blocks::whole(region), options).value();
}

std::unique_ptr<Dash> open(Region& region) {
  return Dash::open(region, blocks::whole(region)).value();
}

// How many records a segment has in each half of a bucket: of buckets in order.
std::vector<unsigned> records_by_half(const Region& region, const DashShape& shape,
                                      std::uint32_t segment) {
  std::vector<unsigned> counts;
  const auto* const buckets =
      reinterpret_cast<const Bucket*>(region.data() + shape.segment_at(segment));
  for (std::uint32_t bucket = 0; bucket < shape.buckets + shape.stash_buckets; ++bucket) {
    for (unsigned line = 0; line < Bucket::kLines; line += 2)
      counts.push_back(LineMeta{buckets[bucket].lines[line].meta}.count() +
                       LineMeta{buckets[bucket].lines[line + 1].meta}.count());
  }
  return counts;
}

TEST(Dash, VerbsDoWhatTheySayAndRefuseTheRest) {
  auto region = region_of(1 * MiB);
  const auto dash = create(region);
  EXPECT_EQ(dash->find(7).code(), Errc::kNotFound);
  EXPECT_EQ(dash->update(7, 1).code(), Errc::kNotFound);
  EXPECT_EQ(dash->erase(7).code(), Errc::kNotFound);
  dash->insert(7, 70).value();
  EXPECT_EQ(dash->insert(7, 71).code(), Errc::kAlreadyExists);
  EXPECT_EQ(dash->find(7).value(), 70u);
  dash->update(7, 72).value();
  EXPECT_EQ(dash->find(7).value(), 72u);
  dash->put(7, 73).value();
  dash->put(8, 80).value();
  EXPECT_EQ(dash->find(7).value(), 73u);
  EXPECT_EQ(dash->find(8).value(), 80u);
  dash->erase(7).value();
  EXPECT_EQ(dash->find(7).code(), Errc::kNotFound);
  EXPECT_EQ(dash->find(8).value(), 80u);
}

TEST(Dash, TheExtremesAreKeysAndValuesLikeAnyOther) {
  auto region = region_of(1 * MiB);
  const auto dash = create(region);
  for (const auto number : {std::uint64_t{0}, ~std::uint64_t{0}, id_of(region)})
    dash->insert(number, ~number).value();
  for (const auto number : {std::uint64_t{0}, ~std::uint64_t{0}, id_of(region)})
    EXPECT_EQ(dash->find(number).value(), ~number);
}

TEST(Dash, OneThatIsOpenedAgainHoldsWhatItHeld) {
  auto region = region_of(8 * MiB);
  constexpr std::uint64_t kKeys = 100'000;
  auto dash = create(region);
  for (std::uint64_t key = 0; key < kKeys; ++key)
    dash->insert(key, key * 3).value();
  const auto segments = dash->segments(), depth = dash->depth();
  EXPECT_GT(segments, 100u);
  dash.reset();
  dash = open(region);
  EXPECT_EQ(dash->segments(), segments);
  EXPECT_EQ(dash->depth(), depth);
  for (std::uint64_t key = 0; key < kKeys; ++key)
    ASSERT_EQ(dash->find(key).value(), key * 3);
  std::uint64_t seen = 0, sum = 0;
  dash->for_each([&](std::uint64_t key, std::uint64_t value) { ++seen, sum += value - 2 * key; })
      .value();
  EXPECT_EQ(seen, kKeys);
  EXPECT_EQ(sum, kKeys * (kKeys - 1) / 2);
}

TEST(Dash, ASegmentIsSplitWhenMostOfItsPlacesAreTaken) {
  auto region = region_of(4 * MiB);
  const auto dash = create(region);
  std::uint64_t keys = 0;
  while (dash->segments() == 1)
    dash->insert(++keys, 0).value();
  // 768 places. Without the second bucket, displacement and the stash it is about half of them.
  EXPECT_GT(keys, 600u);
}

TEST(Dash, AFullIndexRefusesInsertsAndServesTheRest) {
  auto region = region_of(128 * KiB);
  auto dash = create(region);
  std::uint64_t keys = 0;
  Status status;
  while ((status = dash->insert(keys, keys)))
    ++keys;
  EXPECT_EQ(status.code(), Errc::kNoSpace);
  EXPECT_NE(status.error().detail.find("7 segments"), std::string::npos) << status.error().detail;
  EXPECT_EQ(dash->segments(), dash->segments_max());
  EXPECT_EQ(dash->put(keys, 0).code(), Errc::kNoSpace);
  dash.reset();
  dash = open(region);
  for (std::uint64_t key = 0; key < keys; ++key)
    ASSERT_EQ(dash->find(key).value(), key);
  EXPECT_EQ(dash->find(keys).code(), Errc::kNotFound);
  dash->put(3, 33).value();
  EXPECT_EQ(dash->find(3).value(), 33u);
  for (std::uint64_t key = 0; key < keys; ++key)
    dash->erase(key).value();
  dash->insert(keys, 1).value();  // There is room again.
}

TEST(Dash, KeysThatAllGoToOneSegmentEndAtTheDirectorysDepth) {
  auto region = region_of(1 * MiB);
  DashOptions options;
  options.buckets = 2, options.stash_buckets = 0, options.max_depth = 3;
  const auto dash = create(region, options);
  Status status;
  std::uint16_t number = 0;
  while ((status = dash->insert(key_of_hash(hash_in(0, 2, 5, ++number), id_of(region)), 1))) {
  }
  EXPECT_EQ(status.code(), Errc::kNoSpace);
  EXPECT_NE(status.error().detail.find("max_depth=3"), std::string::npos);
  EXPECT_EQ(number, 25);  // Two buckets' places and the one that was refused.
}

TEST(Dash, ALineCountsItsRecords) {
  for (std::uint64_t held = 0; held < 8; ++held)
    EXPECT_EQ(LineMeta{held << 48 | 0xffff}.count(), std::popcount(held)) << held;
}

constexpr std::uint32_t kUpperHalf = std::uint32_t{1} << 31;  // Of a bucket: in its lowest bits.

// A look-up that finds its key there reads two lines.
TEST(Dash, ARecordLiesInItsHalfOfItsHomeWhileThereIsRoom) {
  auto region = region_of(1 * MiB);
  const DashShape shape{2, 1, 3, 4};
  const auto dash = create(region, {2, 1, 3, 4});
  std::uint16_t number = 0;
  const auto insert = [&](std::uint32_t bits) {
    const auto key = key_of_hash(hash_in(0, 2, bits, ++number), id_of(region));
    dash->insert(key, 1).value();
  };
  for (unsigned i = 0; i < 6; ++i)
    insert(kUpperHalf);
  EXPECT_EQ(records_by_half(region, shape, 0), (std::vector{0u, 6u, 0u, 0u, 0u, 0u}));
  // Its half is full: the bucket with fewer records is asked, and there its half first.
  insert(kUpperHalf);
  EXPECT_EQ(records_by_half(region, shape, 0), (std::vector{0u, 6u, 0u, 1u, 0u, 0u}));
  for (unsigned i = 0; i < 6; ++i)
    insert(0);
  EXPECT_EQ(records_by_half(region, shape, 0), (std::vector{6u, 6u, 0u, 1u, 0u, 0u}));
  for (unsigned i = 0; i < 11; ++i)
    insert(0);
  EXPECT_EQ(records_by_half(region, shape, 0), (std::vector{6u, 6u, 6u, 6u, 0u, 0u}));
  insert(kUpperHalf);
  EXPECT_EQ(records_by_half(region, shape, 0), (std::vector{6u, 6u, 6u, 6u, 0u, 1u}));
}

TEST(Dash, ASplitTakesRecordsHomeThatFoundNoRoomThere) {
  auto region = region_of(1 * MiB);
  const DashShape shape{2, 1, 3, 4};
  const auto dash = create(region, {2, 1, 3, 4});
  std::vector<std::uint64_t> keys;
  const auto insert = [&](std::uint32_t bits) {
    const auto number = static_cast<std::uint16_t>(keys.size() + 1);
    keys.push_back(key_of_hash(hash_in(0, 2, bits, number), id_of(region)));
    dash->insert(keys.back(), keys.size()).value();
  };
  for (unsigned i = 0; i < 23; ++i)
    insert(0);
  for (unsigned i = 0; i < 7; ++i)
    insert(1);  // One lies behind its home, six in the stash.
  for (unsigned i = 0; i < 6; ++i)
    insert(0);
  ASSERT_EQ(dash->segments(), 1u);
  insert(0);
  ASSERT_EQ(dash->segments(), 2u);
  EXPECT_EQ(records_by_half(region, shape, 1), (std::vector{6u, 0u, 0u, 0u, 1u, 0u}));
  for (std::size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(dash->find(keys[i]).value(), i + 1);
  std::size_t seen = 0;
  dash->for_each([&](std::uint64_t, std::uint64_t) { ++seen; }).value();
  EXPECT_EQ(seen, keys.size());
}

TEST(Dash, ANewIndexTakesNoPlaceThatIsTaken) {
  auto region = region_of(1 * MiB);
  auto dash = create(region);
  EXPECT_EQ(Dash::create(region, blocks::whole(region)).code(), Errc::kBusy);
  EXPECT_EQ(Dash::open(region, blocks::whole(region)).code(), Errc::kBusy);
  dash.reset();
  const auto again = Dash::create(region, blocks::whole(region));
  EXPECT_EQ(again.code(), Errc::kAlreadyExists);
  EXPECT_NE(again.error().detail.find("a Dash index"), std::string::npos);
}

TEST(Dash, OptionsAreCheckedByName) {
  auto region = region_of(64 * KiB);
  const auto refused = [&](auto change, const char* field, Errc code = Errc::kInvalidOption) {
    DashOptions options;
    change(options);
    const auto made = Dash::create(region, blocks::whole(region), options);
    EXPECT_EQ(made.code(), code);
    EXPECT_NE(made.error().detail.find(field), std::string::npos) << made.error().detail;
  };
  refused([](auto& options) { options.buckets = 1; }, "buckets=1: allowed are 2 to 1024");
  refused([](auto& options) { options.buckets = 1025; }, "buckets=1025");
  refused([](auto& options) { options.stash_buckets = 65; }, "stash_buckets=65");
  refused([](auto& options) { options.segments = (1u << 24) + 1; }, "segments=16777217");
  refused([](auto& options) { options.max_depth = 29; }, "max_depth=29");
  refused([](auto& options) { options.segments = 100; }, "100 segments", Errc::kNoSpace);
  EXPECT_EQ(Dash::create(region, Extent{0, 1}).code(), Errc::kInvalidOption);
}

TEST(Dash, ItLivesInAnExtentAndTouchesNothingElse) {
  auto region = region_of(1 * MiB);
  const Extent left{0, 256 * KiB}, middle{256 * KiB, 512 * KiB}, right{768 * KiB, 256 * KiB};
  for (const auto& extent : {left, right}) {
    const std::string fill(extent.size_bytes, 'x');
    region.write(extent.offset_bytes, std::as_bytes(std::span(fill))).value();
  }
  const auto dash = Dash::create(region, middle).value();
  std::uint64_t keys = 0;
  while (dash->insert(keys, keys))
    ++keys;
  EXPECT_GT(keys, 10'000u);
  for (const auto& extent : {left, right}) {
    for (std::uint64_t i = 0; i < extent.size_bytes; ++i)
      ASSERT_EQ(region.data()[extent.offset_bytes + i], std::byte{'x'});
  }
}

}  // namespace
}  // namespace holdfast::index
