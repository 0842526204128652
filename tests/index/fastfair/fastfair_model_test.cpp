// A FAST+FAIR tree against std::map: random operations, scans, and openings between them.
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "fastfair_support.hpp"

namespace holdfast::index {
namespace {

struct Shape {
  std::uint32_t slots;
  std::uint64_t keys, region_bytes;
};

class FastFairModel : public testing::TestWithParam<Shape> {
 protected:
  // One operation in both. Where the tree is full, only new keys may be refused.
  void step() {
    // Few values: neighbours often have the same, and some are 0.
    const auto key = random_() % GetParam().keys, value = random_() % 3;
    const bool exists = model_.contains(key);
    const auto agrees = [&](const Status& status, bool possible, Errc refusal) {
      if (!exists && status.code() == Errc::kNoSpace) return false;
      EXPECT_EQ(status.code(), possible ? Errc::kOk : refusal) << "key=" << key;
      return possible;
    };
    // It grows for a while and shrinks for a while, to nearly nothing.
    const auto verb = random_() % 8;
    if (verb < (growing_ ? 4u : 1u)) {
      if (agrees(tree_->insert(key, value), !exists, Errc::kAlreadyExists)) model_[key] = value;
    } else if (verb == 4) {
      if (agrees(tree_->put(key, value), true, Errc::kOk)) model_[key] = value;
    } else if (verb == 5) {
      if (agrees(tree_->update(key, value), exists, Errc::kNotFound)) model_[key] = value;
    } else if (verb == 6 && growing_) {
      EXPECT_EQ(tree_->find(key).has_value(), exists) << "key=" << key;
    } else if (agrees(tree_->erase(key), exists, Errc::kNotFound)) {
      model_.erase(key);
    }
  }
  void expect_same_scan(std::uint64_t from) {
    auto expected = model_.lower_bound(from);
    unsigned left = 50;
    tree_
        ->scan(from,
               [&](std::uint64_t key, std::uint64_t value) {
                 EXPECT_NE(expected, model_.end());
                 if (expected == model_.end()) return false;
                 EXPECT_EQ(std::pair(key, value), std::pair(expected->first, expected->second));
                 ++expected;
                 return --left != 0;
               })
        .value();
    EXPECT_TRUE(left == 0 || expected == model_.end());
  }

  std::mt19937_64 random_;
  std::unique_ptr<FastFair> tree_;
  Contents model_;
  bool growing_ = true;
};

TEST_P(FastFairModel, AgreesAfterRandomOperationsAndOpenings) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    random_.seed(seed);
    auto region = region_of(GetParam().region_bytes);
    model_.clear();
    tree_ = FastFair::create(region, blocks::whole(region), slots_of(GetParam().slots)).value();
    for (unsigned opening = 0; opening < 8; ++opening) {
      growing_ = opening % 4 < 2;
      for (unsigned i = 0; i < 4'000; ++i) {
        step();
        if (i % 100 == 0) expect_same_scan(random_() % GetParam().keys);
      }
      tree_.reset();
      tree_ = FastFair::open(region, blocks::whole(region)).value();
    }
    EXPECT_EQ(contents_of(*tree_), model_) << "seed=" << seed;
    for (const auto& [key, value] : model_)
      ASSERT_EQ(tree_->find(key).value(), value) << "seed=" << seed;
    tree_.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FastFairModel,
                         testing::Values(Shape{28, 20'000, 4 * MiB}, Shape{2, 5'000, 4 * MiB},
                                         Shape{3, 20'000, 8 * MiB}, Shape{9, 5'000, 4 * MiB},
                                         Shape{4, 5'000, 64 * KiB}, Shape{60, 20'000, 64 * KiB}));

}  // namespace
}  // namespace holdfast::index
