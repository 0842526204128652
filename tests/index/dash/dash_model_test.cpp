// A Dash index against std::unordered_map: random operations, and openings between them.
#include <random>
#include <unordered_map>

#include <gtest/gtest.h>

#include "dash_support.hpp"

namespace holdfast::index {
namespace {

using Model = std::unordered_map<std::uint64_t, std::uint64_t>;

void expect_equal(const Dash& dash, const Model& model, std::uint64_t keys, std::uint64_t seed) {
  for (std::uint64_t key = 0; key < keys; ++key) {
    const auto expected = model.find(key);
    const auto found = dash.find(key);
    if (expected == model.end())
      ASSERT_EQ(found.code(), Errc::kNotFound) << "seed=" << seed << " key=" << key;
    else
      ASSERT_EQ(found.value_or(~std::uint64_t{0}), expected->second)
          << "seed=" << seed << " key=" << key;
  }
  Model seen;
  dash.for_each([&](std::uint64_t key, std::uint64_t value) {
        EXPECT_TRUE(seen.emplace(key, value).second) << "seed=" << seed << " twice: " << key;
      })
      .value();
  EXPECT_EQ(seen, model) << "seed=" << seed;
}

// One operation in both. Where the index is full, only new keys may be refused.
void step(Dash& dash, Model& model, std::mt19937_64& random, std::uint64_t keys) {
  const auto key = random() % keys, value = random();
  const bool exists = model.contains(key);
  const auto agrees = [&](const Status& status, bool possible, Errc refusal) {
    if (!exists && status.code() == Errc::kNoSpace) return false;
    EXPECT_EQ(status.code(), possible ? Errc::kOk : refusal) << "key=" << key;
    return possible;
  };
  switch (random() % 8) {
    case 0:
    case 1:
    case 2:
      if (agrees(dash.insert(key, value), !exists, Errc::kAlreadyExists)) model[key] = value;
      break;
    case 3:
      if (agrees(dash.put(key, value), true, Errc::kOk)) model[key] = value;
      break;
    case 4:
      if (agrees(dash.update(key, value), exists, Errc::kNotFound)) model[key] = value;
      break;
    case 5:
    case 6:
      if (agrees(dash.erase(key), exists, Errc::kNotFound)) model.erase(key);
      break;
    default: EXPECT_EQ(dash.find(key).has_value(), exists) << "key=" << key;
  }
}

struct Shape {
  std::uint32_t buckets, stash_buckets;
  std::uint64_t keys, region_bytes;
};

// Small segments split, displace and stash all the time; the last ones are full most of the time.
class DashModel : public testing::TestWithParam<Shape> {};

TEST_P(DashModel, AgreesAfterRandomOperationsAndOpenings) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    auto region = region_of(GetParam().region_bytes);
    DashOptions options;
    options.buckets = GetParam().buckets, options.stash_buckets = GetParam().stash_buckets;
    auto dash = Dash::create(region, blocks::whole(region), options).value();
    Model model;
    for (unsigned opening = 0; opening < 8; ++opening) {
      for (unsigned i = 0; i < 10'000; ++i)
        step(*dash, model, random, GetParam().keys);
      dash.reset();
      dash = Dash::open(region, blocks::whole(region)).value();
    }
    expect_equal(*dash, model, GetParam().keys, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, DashModel,
                         testing::Values(Shape{60, 4, 20'000, 4 * MiB}, Shape{2, 0, 5'000, 4 * MiB},
                                         Shape{3, 1, 5'000, 4 * MiB}, Shape{8, 2, 5'000, 4 * MiB},
                                         Shape{4, 1, 5'000, 64 * KiB},
                                         Shape{60, 4, 20'000, 64 * KiB}));

}  // namespace
}  // namespace holdfast::index
