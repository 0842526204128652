// What an FP-Tree says about media that are foreign or damaged: a named error, never a crash.
#include <string>

#include <holdfast/memory/sealed_word.hpp>

#include "../index_damage.hpp"
#include "fptree_support.hpp"

namespace holdfast::index {
namespace {

using namespace fptree_detail;

class FpTreeDamage : public IndexDamage<FpTree, FpTreeShape> {
 protected:
  static constexpr std::uint64_t kKeys = 200;
  static constexpr FpTreeShape kShape{8, 80};

  FpTreeDamage() : IndexDamage(kFpTreeFormat, 64 * KiB) {
    FpTreeOptions options = leaves_of(kShape.records);
    options.leaves = kShape.leaves;
    auto tree = FpTree::create(region_, blocks::whole(region_), options).value();
    for (std::uint64_t key = 1; key <= kKeys; ++key)
      tree->insert(key * 7'919 % 1'009, key).value();
    leaves_ = tree->leaves();
  }
  LeafHead& head(std::uint32_t leaf) { return *head_of(region_.data() + kShape.leaf_at(leaf)); }
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

  std::uint32_t leaves_ = 0;
};

TEST_F(FpTreeDamage, NothingAndSomethingElseAreNoTree) {
  expect_that_foreign_media_are_refused(magic_of("HLDDASH1"));
}

TEST_F(FpTreeDamage, ANewerVersionAndAnUnknownFeatureAreRefusedByName) {
  expect_that_newer_formats_are_refused();
}

TEST_F(FpTreeDamage, EveryByteOfTheSuperblockIsChecked) {
  expect_that_every_byte_of_the_superblock_is_checked();
}

TEST_F(FpTreeDamage, AShapeThatNoBuildWritesIsRefused) {
  expect_that_shapes_are_refused({{1, 8}, {57, 8}, {8, 0}, {8, ~0u}, {~0u, 8}}, {8, 4'000});
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
  const auto opened = damage_at_random(kShape.leaf_at(leaves_), [](FpTree& tree) {
    for (std::uint64_t key = 1; key <= 250; ++key) {
      (void)tree.find(key);
      if (key % 3 == 0) (void)tree.erase(key);
      if (key % 5 == 0) (void)tree.insert(key + 1'009, key);
    }
    (void)tree.scan(0, [](std::uint64_t, std::uint64_t) { return true; });
  });
  EXPECT_GT(opened, 500u);
}

}  // namespace
}  // namespace holdfast::index
