// A FAST+FAIR tree: its verbs, its options, how it fills and what it refuses.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/memory/sealed_word.hpp>

#include "fastfair_support.hpp"

namespace holdfast::index {
namespace {

using namespace fastfair_detail;

std::unique_ptr<FastFair> create(Region& region, const FastFairOptions& options = {}) {
  return FastFair::create(region, blocks::whole(region), options).value();
}

std::unique_ptr<FastFair> open(Region& region) {
  return FastFair::open(region, blocks::whole(region)).value();
}

TEST(FastFair, VerbsDoWhatTheySayAndRefuseTheRest) {
  auto region = region_of(1 * MiB);
  const auto tree = create(region);
  EXPECT_EQ(tree->find(7).code(), Errc::kNotFound);
  EXPECT_EQ(tree->update(7, 1).code(), Errc::kNotFound);
  EXPECT_EQ(tree->erase(7).code(), Errc::kNotFound);
  tree->insert(7, 70).value();
  EXPECT_EQ(tree->insert(7, 71).code(), Errc::kAlreadyExists);
  EXPECT_EQ(tree->find(7).value(), 70u);
  tree->update(7, 72).value();
  EXPECT_EQ(tree->find(7).value(), 72u);
  tree->put(7, 73).value();
  tree->put(8, 80).value();
  EXPECT_EQ(tree->find(7).value(), 73u);
  EXPECT_EQ(tree->find(8).value(), 80u);
  tree->erase(7).value();
  EXPECT_EQ(tree->find(7).code(), Errc::kNotFound);
  EXPECT_EQ(tree->find(8).value(), 80u);
}

TEST(FastFair, AllKeysButTheGreatestCanBeStored) {
  auto region = region_of(1 * MiB);
  const auto tree = create(region, slots_of(2));
  const std::vector<std::uint64_t> keys = {0, FastFair::kMaxKey, 1, FastFair::kMaxKey - 1};
  for (const auto key : keys)
    tree->insert(key, ~key).value();
  for (const auto key : keys)
    EXPECT_EQ(tree->find(key).value(), ~key);
  EXPECT_EQ(contents_of(*tree).size(), keys.size());
  const auto greatest = ~std::uint64_t{0};
  EXPECT_EQ(tree->find(greatest).code(), Errc::kNotFound);
  EXPECT_EQ(tree->erase(greatest).code(), Errc::kNotFound);
  EXPECT_EQ(tree->update(greatest, 1).code(), Errc::kNotFound);
  tree->scan(greatest, [](std::uint64_t, std::uint64_t) { return ADD_FAILURE(), true; }).value();
  const auto refused = tree->insert(greatest, 1);
  EXPECT_EQ(refused.code(), Errc::kInvalidOption);
  EXPECT_NE(refused.error().detail.find("key=18446744073709551615: allowed are 0 to"),
            std::string::npos);
  for (const auto key : keys)
    tree->erase(key).value();
  EXPECT_TRUE(contents_of(*tree).empty());
}

// FAST_FAIR issue 10: in the published code a value of 0 ends a node, and of two neighbours with
// one value one is not found.
TEST(FastFair, NeighboursMayHaveOneValueAndItMayBeZero) {
  auto region = region_of(1 * MiB);
  const auto tree = create(region);
  for (std::uint64_t key = 0; key < 1'000; ++key)
    tree->insert(key * 7 % 1'000, 0).value();
  for (std::uint64_t key = 0; key < 1'000; ++key)
    ASSERT_EQ(tree->find(key).value(), 0u);
  for (std::uint64_t key = 0; key < 1'000; key += 2)
    tree->erase(key).value();
  EXPECT_EQ(contents_of(*tree).size(), 500u);
}

// In all three orders in which keys come.
TEST(FastFair, OneThatIsOpenedAgainHoldsWhatItHeld) {
  constexpr std::uint64_t kKeys = 30'000;
  const auto key_of = [](unsigned order, std::uint64_t i) {
    return order == 0 ? i : order == 1 ? kKeys - i : i * 0x9e3779b97f4a7c15;
  };
  for (unsigned order = 0; order < 3; ++order) {
    auto region = region_of(4 * MiB);
    auto tree = create(region);
    for (std::uint64_t i = 0; i < kKeys; ++i)
      tree->insert(key_of(order, i), i).value();
    const auto nodes = tree->nodes();
    EXPECT_GT(nodes, kKeys / 28);
    EXPECT_EQ(tree->levels().value(), 4u);
    tree.reset();
    tree = open(region);
    EXPECT_EQ(tree->nodes(), nodes);
    for (std::uint64_t i = 0; i < kKeys; ++i)
      ASSERT_EQ(tree->find(key_of(order, i)).value(), i);
    EXPECT_EQ(contents_of(*tree).size(), kKeys);
  }
}

TEST(FastFair, AScanBeginsAndEndsWhereItIsTold) {
  auto region = region_of(1 * MiB);
  const auto tree = create(region, slots_of(4));
  for (std::uint64_t key = 0; key < 1'000; ++key)
    tree->insert(key * 7 % 1'000 * 2, key).value();
  for (const std::uint64_t from : {0u, 1u, 2u, 777u, 1'997u, 1'998u, 1'999u}) {
    std::uint64_t expected = (from + 1) / 2 * 2, seen = 0;
    tree->scan(from,
               [&](std::uint64_t key, std::uint64_t) {
                 EXPECT_EQ(key, expected);
                 expected += 2;
                 return ++seen < 10;
               })
        .value();
    EXPECT_EQ(seen, std::min<std::uint64_t>(10, (2'000 - from) / 2));
  }
}

TEST(FastFair, AFullTreeRefusesInsertsAndServesTheRest) {
  auto region = region_of(64 * KiB);
  auto tree = create(region);
  std::uint64_t keys = 0;
  Status status;
  while ((status = tree->insert(keys * 7'919 % 100'003, keys)))
    ++keys;
  EXPECT_EQ(status.code(), Errc::kNoSpace);
  EXPECT_NE(status.error().detail.find("112 nodes"), std::string::npos) << status.error().detail;
  EXPECT_EQ(tree->nodes(), tree->nodes_max());
  tree.reset();
  tree = open(region);
  for (std::uint64_t i = 0; i < keys; ++i)
    ASSERT_EQ(tree->find(i * 7'919 % 100'003).value(), i);
  tree->put(0, 33).value();
  for (std::uint64_t i = 0; i < keys; ++i)
    tree->erase(i * 7'919 % 100'003).value();
  tree->insert(keys, 1).value();  // There is room again.
  EXPECT_EQ(contents_of(*tree).size(), 1u);
}

// A split that was interrupted before anything led to the new node, and one behind it.
TEST(FastFair, ANodeThatWasTakenAndNotLinkedIsTakenAgain) {
  auto region = region_of(64 * KiB);
  auto tree = create(region, slots_of(4));
  for (std::uint64_t key = 1; key <= 6; ++key)
    tree->insert(key, key).value();
  ASSERT_EQ(tree->nodes(), 3u);
  tree.reset();
  const DurableWriter writer(region);
  writer.put_word(kTakenAt, seal_word<SealedWord>(4, taken_context(id_of(region)))).value();
  tree = open(region);
  EXPECT_EQ(tree->nodes(), 3u);
  tree->insert(7, 7).value(), tree->insert(8, 8).value();
  EXPECT_EQ(tree->nodes(), 4u);
  tree.reset();
  tree = open(region);
  EXPECT_EQ(tree->nodes(), 4u);
  EXPECT_EQ(contents_of(*tree).size(), 8u);
}

// FAST_FAIR issue 6: the level above learns of a node that a crash kept from it as soon as a writer
// goes by its neighbour.
TEST(FastFair, WhatACrashKeptFromTheLevelAboveIsMadeUpFor) {
  auto region = region_of(64 * KiB);
  constexpr FastFairShape kShape{4, 112};
  auto tree = create(region, slots_of(4));
  for (std::uint64_t key = 1; key <= 5; ++key)
    tree->insert(key * 10, key).value();
  ASSERT_EQ(tree->levels().value(), 2u);
  tree.reset();
  // As if the new root had not been made.
  const DurableWriter writer(region);
  writer.put_word(kRootAt, seal_word<SealedWord>(0, root_context(id_of(region)))).value();
  tree = open(region);
  EXPECT_EQ(tree->nodes(), 2u);
  EXPECT_EQ(tree->levels().value(), 1u);
  EXPECT_EQ(tree->find(50).value(), 5u);
  EXPECT_EQ(tree->levels().value(), 1u);
  tree->insert(60, 6).value();
  EXPECT_EQ(tree->levels().value(), 2u);
  EXPECT_EQ(tree->nodes(), 3u);
  EXPECT_EQ(contents_of(*tree).size(), 6u);
  EXPECT_EQ(entries_of(head_of(region, kShape, 2))[0].key, 30u);
  // Once is enough.
  tree->insert(25, 1).value();
  EXPECT_EQ(entries_of(head_of(region, kShape, 2))[1].key, kNoKey);
}

TEST(FastFair, ANewTreeTakesNoPlaceThatIsTaken) {
  auto region = region_of(1 * MiB);
  auto tree = create(region);
  EXPECT_EQ(FastFair::create(region, blocks::whole(region)).code(), Errc::kBusy);
  EXPECT_EQ(FastFair::open(region, blocks::whole(region)).code(), Errc::kBusy);
  tree.reset();
  const auto again = FastFair::create(region, blocks::whole(region));
  EXPECT_EQ(again.code(), Errc::kAlreadyExists);
  EXPECT_NE(again.error().detail.find("a FAST+FAIR tree"), std::string::npos);
}

TEST(FastFair, OptionsAreCheckedByName) {
  auto region = region_of(64 * KiB);
  const auto refused = [&](auto change, const char* field, Errc code = Errc::kInvalidOption) {
    FastFairOptions options;
    change(options);
    const auto made = FastFair::create(region, blocks::whole(region), options);
    EXPECT_EQ(made.code(), code);
    EXPECT_NE(made.error().detail.find(field), std::string::npos) << made.error().detail;
  };
  refused([](auto& options) { options.slots = 1; }, "slots=1: allowed are 2 to 60");
  refused([](auto& options) { options.slots = 61; }, "slots=61");
  refused([](auto& options) { options.nodes = (1u << 31) + 1; }, "nodes=2147483649");
  refused([](auto& options) { options.nodes = 200; }, "200 nodes", Errc::kNoSpace);
  EXPECT_EQ(FastFair::create(region, Extent{0, 1}).code(), Errc::kInvalidOption);
}

TEST(FastFair, ItLivesInAnExtentAndTouchesNothingElse) {
  auto region = region_of(1 * MiB);
  const Extent left{0, 256 * KiB}, middle{256 * KiB, 512 * KiB}, right{768 * KiB, 256 * KiB};
  for (const auto& extent : {left, right}) {
    const std::string fill(extent.size_bytes, 'x');
    region.write(extent.offset_bytes, std::as_bytes(std::span(fill))).value();
  }
  const auto tree = FastFair::create(region, middle).value();
  std::uint64_t keys = 0;
  while (tree->insert(mix64(keys), keys))
    ++keys;
  EXPECT_GT(keys, 10'000u);
  for (const auto& extent : {left, right}) {
    for (std::uint64_t i = 0; i < extent.size_bytes; ++i)
      ASSERT_EQ(region.data()[extent.offset_bytes + i], std::byte{'x'});
  }
}

// A shift and a split that were interrupted, read without being repaired.
TEST(FastFair, AReadOnlyTreeIsReadAsACrashLeftItAndNotChanged) {
  constexpr FastFairShape kShape{4, 112};
  FileRegion region(64 * KiB);
  auto tree = create(*region, slots_of(4));
  Contents expected;
  for (std::uint64_t key = 1; key <= 4; ++key)
    tree->insert(key, key).value(), expected[key] = key;
  tree.reset();
  {
    const DurableWriter writer(*region);
    const auto id = id_of(*region);
    NodeState state;
    const Node right(writer.persist(), writer.at(kShape.node_at(1)), kShape, id, 1, state);
    // 3 is there twice; its left copy has another's value.
    const Entry moved[] = {{3, 99}, {3, 3}, {4, 4}};
    right.fill({0, 3, kNoKey, {}, 0, moved});
    writer.put_word(kTakenAt, seal_word<SealedWord>(2, taken_context(id))).value();
    auto& left = head_of(*region, kShape, 0);
    left.sibling = seal_word<SealedWord>(1, sibling_context(id, 0));
  }
  const std::vector<std::byte> before(region->data(), region->data() + region->size_bytes());
  region.reopen_read_only();
  tree = open(*region);
  EXPECT_EQ(contents_of(*tree), expected);
  for (const auto& [key, value] : expected)
    EXPECT_EQ(tree->find(key).value(), value);
  EXPECT_EQ(tree->insert(9, 9).code(), Errc::kReadOnly);
  EXPECT_EQ(tree->put(9, 9).code(), Errc::kReadOnly);
  EXPECT_EQ(tree->update(3, 9).code(), Errc::kReadOnly);
  EXPECT_EQ(tree->erase(3).code(), Errc::kReadOnly);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), region->data()));
}

// It was kNotFound: only writing openings looked.
TEST(FastFair, AReadOnlyOpeningNamesADamagedKey) {
  FileRegion region(64 * KiB);
  auto tree = create(*region, slots_of(4));
  for (std::uint64_t key = 1; key <= 4; ++key)
    tree->insert(key, key).value();
  tree.reset();
  auto* const entries = entries_of(head_of(*region, FastFairShape{4, 112}, 0));
  ASSERT_EQ(entries[1].key, 2u);
  entries[1].key ^= std::uint64_t{1} << 40;
  region.reopen_read_only();
  tree = open(*region);
  EXPECT_EQ(tree->find(2).code(), Errc::kCorrupt);
  EXPECT_EQ(tree->scan(0, [](std::uint64_t, std::uint64_t) { return true; }).code(),
            Errc::kCorrupt);
}

}  // namespace
}  // namespace holdfast::index
