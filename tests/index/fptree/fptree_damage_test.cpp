// What an FP-Tree says about media that are foreign or damaged: a named error, never a crash.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/memory/sealed_word.hpp>

#include "fptree_support.hpp"

namespace holdfast::index {
namespace {

using namespace fptree_detail;

class FpTreeDamage : public testing::Test {
 protected:
  static constexpr std::uint64_t kKeys = 200;
  static constexpr FpTreeShape kShape{8, 80};

  FpTreeDamage() : region_(region_of(64 * KiB)) {
    FpTreeOptions options = leaves_of(kShape.records);
    options.leaves = kShape.leaves;
    auto tree = FpTree::create(region_, blocks::whole(region_), options).value();
    for (std::uint64_t key = 1; key <= kKeys; ++key)
      tree->insert(key * 7'919 % 1'009, key).value();
    leaves_ = tree->leaves();
  }
  std::uint64_t& word(std::uint64_t offset) {
    return *reinterpret_cast<std::uint64_t*>(region_.data() + offset);
  }
  LeafHead& head(std::uint32_t leaf) { return *head_of(region_.data() + kShape.leaf_at(leaf)); }
  Result<std::unique_ptr<FpTree>> open() { return FpTree::open(region_, blocks::whole(region_)); }
  void expect_refused(Errc code, const std::string& detail) {
    const auto tree = open();
    ASSERT_EQ(tree.code(), code);
    EXPECT_NE(tree.error().detail.find(detail), std::string::npos) << tree.error().detail;
  }
  // Some keys fail, all by this error; the others are found.
  void expect_finds_fail(const std::string& detail) {
    const auto tree = open().value();
    std::uint64_t failed = 0;
    for (std::uint64_t key = 1; key <= kKeys; ++key) {
      const auto found = tree->find(key * 7'919 % 1'009);
      if (found) continue;
      ++failed;
      EXPECT_EQ(found.code(), Errc::kCorrupt);
      EXPECT_NE(found.error().detail.find(detail), std::string::npos) << found.error().detail;
    }
    EXPECT_GT(failed, 0u);
    EXPECT_LE(failed, kShape.records);
    EXPECT_EQ(tree->scan(0, [](std::uint64_t, std::uint64_t) { return true; }).code(),
              Errc::kCorrupt);
  }

  Region region_;
  std::uint32_t leaves_ = 0;
};

TEST_F(FpTreeDamage, NothingAndSomethingElseAreNoTree) {
  word(0) = 0;
  expect_refused(Errc::kNotHoldfast, "there is none here");
  word(0) = magic_of("HLDDASH1");
  expect_refused(Errc::kNotHoldfast, "something else");
}

TEST_F(FpTreeDamage, ANewerVersionAndAnUnknownFeatureAreRefusedByName) {
  SuperblockHeader header;
  std::memcpy(&header, region_.data(), sizeof header);
  const auto body = std::span(region_.data() + sizeof header, sizeof(FpTreeShape));
  const auto write = [&](const SuperblockHeader& changed) {
    const auto sealed = sealed_header(changed, kFpTreeFormat, body);
    std::memcpy(region_.data(), &sealed, sizeof sealed);
  };
  auto newer = header;
  newer.format_version = newer.oldest_reader = 2;
  write(newer);
  expect_refused(Errc::kNewerFormat, "format version 2");
  auto feature = header;
  feature.incompatible_features = 1;
  write(feature);
  expect_refused(Errc::kNewerFormat, "bit 0");
}

TEST_F(FpTreeDamage, EveryByteOfTheSuperblockIsChecked) {
  for (std::uint64_t at = 8; at < 64 + sizeof(FpTreeShape); ++at) {
    region_.data()[at] ^= std::byte{0x10};
    ASSERT_EQ(open().code(), Errc::kCorrupt) << "byte " << at;
    region_.data()[at] ^= std::byte{0x10};
  }
  EXPECT_TRUE(open().has_value());
}

TEST_F(FpTreeDamage, AShapeThatNoBuildWritesIsRefused) {
  SuperblockHeader header;
  std::memcpy(&header, region_.data(), sizeof header);
  const auto write = [&](const FpTreeShape& shape) {
    const auto body = std::as_bytes(std::span(&shape, 1));
    const auto sealed = sealed_header(header, kFpTreeFormat, body);
    std::memcpy(region_.data(), &sealed, sizeof sealed);
    std::memcpy(region_.data() + sizeof sealed, &shape, sizeof shape);
  };
  for (const auto& bad : {FpTreeShape{1, 8}, FpTreeShape{57, 8}, FpTreeShape{8, 0},
                          FpTreeShape{8, ~0u}, FpTreeShape{~0u, 8}}) {
    write(bad);
    expect_refused(Errc::kCorrupt, "a shape that no build writes");
  }
  write({8, 4'000});
  expect_refused(Errc::kCorrupt, "too short");
}

TEST_F(FpTreeDamage, TheEverUsedWordAndTheHeadsOfLeavesAreChecked) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const auto flip = std::uint64_t{1} << bit;
    word(kEverUsedAt) ^= flip;
    expect_refused(Errc::kCorrupt, "ever used");
    word(kEverUsedAt) ^= flip;
    for (auto* at : {&head(2).low, &head(2).state}) {
      *at ^= flip;
      expect_refused(Errc::kCorrupt, "the head of leaf 2");
      *at ^= flip;
    }
  }
  for (const auto wrong : {0u, kShape.leaves + 1}) {
    word(kEverUsedAt) = seal_word<SealedWord>(wrong, ever_used_context(id_of(region_)));
    expect_refused(Errc::kCorrupt, "ever used");
  }
}

TEST_F(FpTreeDamage, ALeafThatIsMissingOrThereTwiceIsNoticed) {
  std::uint32_t first = 0;
  while (head(first).low != 0 || head(first).state == 0)
    ++first;
  const auto state = std::exchange(head(first).state, 0);
  expect_refused(Errc::kCorrupt, "no leaf is in use for key 0");
  head(first).state = state;
  const std::uint32_t other = first == 1 ? 2 : 1;
  head(other).low = 0;
  head(other).state = seal_word<SealedWord>(kLeafInUse, leaf_context(id_of(region_), other, 0));
  expect_refused(Errc::kCorrupt, "are for the same keys");
}

TEST_F(FpTreeDamage, ADamagedLeafFailsItsKeysAndNoOthers) {
  auto& damaged = head(2);
  const auto slot = static_cast<unsigned>(std::countr_zero(damaged.used));
  auto& key = reinterpret_cast<FpRecord*>(&damaged + 1)[slot].key;
  const auto good = damaged;
  const auto good_key = key;
  key ^= 1;
  expect_finds_fail("leaf 2: the key or the fingerprint of slot " + std::to_string(slot));
  key = good_key;
  damaged.prints[0] ^= std::uint64_t{1} << (slot * 8);
  expect_finds_fail("leaf 2: the key or the fingerprint");
  damaged = good;
  damaged.used |= std::uint64_t{1} << 60;
  expect_finds_fail("leaf 2: its used word");
  damaged = good;
  // A key below its leaf's, with the print that it should have.
  key = 0;
  damaged.prints[0] = (damaged.prints[0] & ~(std::uint64_t{0xff} << (slot * 8))) |
                      std::uint64_t{print_of(0)} << (slot * 8);
  ASSERT_GT(damaged.low, 0u);
  expect_finds_fail("has a key of another leaf");
  damaged = good;
  // A key that is there in another slot, too.
  const auto second = static_cast<unsigned>(std::countr_zero(damaged.used & (damaged.used - 1)));
  const auto twin = reinterpret_cast<FpRecord*>(&damaged + 1)[second].key;
  key = twin;
  damaged.prints[0] = (damaged.prints[0] & ~(std::uint64_t{0xff} << (slot * 8))) |
                      std::uint64_t{print_of(twin)} << (slot * 8);
  expect_finds_fail("two of its slots hold one key");
}

// Whatever a file contains: an error or an answer.
TEST_F(FpTreeDamage, RandomDamageNeverCrashes) {
  std::vector<std::byte> good(region_.data(), region_.data() + region_.size_bytes());
  std::mt19937_64 random(1);
  unsigned opened = 0;
  for (unsigned round = 0; round < 3'000; ++round) {
    std::memcpy(region_.data(), good.data(), good.size());
    for (unsigned i = 0; i <= round % 8; ++i) {
      const auto at = 4096 + random() % (kShape.leaf_at(leaves_) - 4096);
      region_.data()[at] = static_cast<std::byte>(random());
    }
    auto tree = open();
    if (!tree) continue;
    ++opened;
    for (std::uint64_t key = 1; key <= 250; ++key) {
      (void)(*tree)->find(key);
      if (key % 3 == 0) (void)(*tree)->erase(key);
      if (key % 5 == 0) (void)(*tree)->insert(key + 1'009, key);
    }
    (void)(*tree)->scan(0, [](std::uint64_t, std::uint64_t) { return true; });
  }
  EXPECT_GT(opened, 500u);
}

}  // namespace
}  // namespace holdfast::index
