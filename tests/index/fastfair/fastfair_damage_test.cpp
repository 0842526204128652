// What a FAST+FAIR tree says about media that are foreign or damaged: a named error, never a crash.
#include <string>

#include <holdfast/memory/sealed_word.hpp>

#include "../index_damage.hpp"
#include "fastfair_support.hpp"

namespace holdfast::index {
namespace {

using namespace fastfair_detail;

class FastFairDamage : public IndexDamage<FastFair, FastFairShape> {
 protected:
  static constexpr std::uint64_t kKeys = 200;
  static constexpr FastFairShape kShape{8, 80};

  FastFairDamage() : IndexDamage(kFastFairFormat, 64 * KiB) {
    FastFairOptions options = slots_of(kShape.slots);
    options.nodes = kShape.nodes;
    auto tree = FastFair::create(region_, blocks::whole(region_), options).value();
    for (std::uint64_t key = 1; key <= kKeys; ++key)
      tree->insert(key * 7'919 % 1'009, key).value();
    nodes_ = tree->nodes();
  }
  NodeHead& head(std::uint32_t node) { return head_of(region_, kShape, node); }
  // A leaf between two others.
  std::uint32_t some_leaf() {
    std::uint32_t leaf = 0;
    while (head(leaf).low == 0 || head(leaf).leftmost != 0 || head(leaf).sibling == 0)
      ++leaf;
    return leaf;
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
    EXPECT_LE(failed, 3 * kShape.slots);
    EXPECT_EQ(tree->scan(0, [](std::uint64_t, std::uint64_t) { return true; }).code(),
              Errc::kCorrupt);
  }

  std::uint32_t nodes_ = 0;
};

TEST_F(FastFairDamage, NothingAndSomethingElseAreNoTree) {
  expect_that_foreign_media_are_refused(magic_of("HLDDASH1"));
}

TEST_F(FastFairDamage, ANewerVersionAndAnUnknownFeatureAreRefusedByName) {
  expect_that_newer_formats_are_refused();
}

TEST_F(FastFairDamage, EveryByteOfTheSuperblockIsChecked) {
  expect_that_every_byte_of_the_superblock_is_checked();
}

TEST_F(FastFairDamage, AShapeThatNoBuildWritesIsRefused) {
  expect_that_shapes_are_refused({{1, 8}, {61, 8}, {8, 0}, {8, ~0u}, {~0u, 8}}, {8, 4'000});
}

TEST_F(FastFairDamage, TheRootAndTheNumberOfTakenNodesAreChecked) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const auto flip = std::uint64_t{1} << bit;
    word(kTakenAt) ^= flip;
    expect_refused(Errc::kCorrupt, "nodes that were taken");
    word(kTakenAt) ^= flip;
    word(kRootAt) ^= flip;
    expect_refused(Errc::kCorrupt, "the root is damaged");
    word(kRootAt) ^= flip;
  }
  const auto id = id_of(region_);
  for (const auto wrong : {0u, kShape.nodes + 1}) {
    word(kTakenAt) = seal_word<SealedWord>(wrong, taken_context(id));
    expect_refused(Errc::kCorrupt, "nodes that were taken");
  }
  word(kTakenAt) = seal_word<SealedWord>(nodes_, taken_context(id));
  word(kRootAt) = seal_word<SealedWord>(kShape.nodes, root_context(id));
  expect_refused(Errc::kCorrupt, "the root is damaged");
}

TEST_F(FastFairDamage, TheHeadsOfNodesAreChecked) {
  auto& damaged = head(some_leaf());
  const auto good = damaged;
  for (auto* at : {&damaged.level, &damaged.low}) {
    *at ^= 2;
    expect_finds_fail("for other keys");
    damaged = good;
  }
  damaged.sibling ^= 2;
  expect_finds_fail("its right sibling is damaged");
  damaged = good;
  --damaged.high;
  expect_finds_fail("its keys end before those of its right sibling begin");
}

TEST_F(FastFairDamage, AnEndThatIsTooFarIsPutRight) {
  auto& damaged = head(some_leaf());
  damaged.high += 100;
  const auto tree = open().value();
  for (std::uint64_t key = 1; key <= kKeys; ++key)
    EXPECT_EQ(tree->find(key * 7'919 % 1'009).value(), key);
}

TEST_F(FastFairDamage, ADamagedLeafFailsItsKeysAndNoOthers) {
  const auto leaf = some_leaf();
  auto* const slots = entries_of(head(leaf));
  ASSERT_NE(slots[2].key, kNoKey);
  const std::vector<Entry> good(slots, slots + kShape.slots);
  const auto expect = [&](const std::string& what) {
    expect_finds_fail("node " + std::to_string(leaf) + ": slot " + what);
    std::ranges::copy(good, slots);
  };
  slots[1].key = slots[0].key - 1;
  expect(slots[1].key < head(leaf).low ? "1 has a key of another node"
                                       : "1 has a key below the one before it");
  std::swap(slots[1].key, slots[2].key);
  expect("2 has a key below the one before it");
  slots[0].key = head(leaf).low - 1;
  expect("0 has a key of another node");
  slots[1].key = kNoKey;
  expect("2 has a key behind the end of the node");
}

TEST_F(FastFairDamage, ADamagedChildFailsItsKeysAndNoOthers) {
  std::uint32_t inner = 0;
  while (head(inner).leftmost == 0 || head(inner).sibling == 0)
    ++inner;
  auto* const slots = entries_of(head(inner));
  slots[0].value ^= 1;
  const auto tree = open();
  // The path of an opening may lead there.
  if (!tree) {
    EXPECT_EQ(tree.code(), Errc::kCorrupt);
    EXPECT_NE(tree.error().detail.find("slot 0 has a damaged child"), std::string::npos);
    return;
  }
  const auto found = (*tree)->find(slots[0].key);
  EXPECT_EQ(found.code(), Errc::kCorrupt);
  EXPECT_NE(found.error().detail.find("slot 0 has a damaged child"), std::string::npos);
}

// Whatever a file contains: an error or an answer.
TEST_F(FastFairDamage, RandomDamageNeverCrashes) {
  const auto opened = damage_at_random(kShape.node_at(nodes_), [](FastFair& tree) {
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
