// An FP-Tree: its verbs, its options, how it fills and what it refuses.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fptree_support.hpp"

namespace holdfast::index {
namespace {

std::unique_ptr<FpTree> create(Region& region, const FpTreeOptions& options = {}) {
  return FpTree::create(region, blocks::whole(region), options).value();
}

std::unique_ptr<FpTree> open(Region& region) {
  return FpTree::open(region, blocks::whole(region)).value();
}

// A fingerprint has a byte: some of 600 keys share one with a neighbour in their leaf.
TEST(FpTree, KeysOfOneFingerprintAreToldApart) {
  auto region = region_of(1 * MiB);
  const auto tree = create(region);
  constexpr std::uint64_t kKeys = 600;
  unsigned alike = 0;
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    ASSERT_TRUE(tree->insert(key, ~key)) << key;
    for (std::uint64_t before = key > 20 ? key - 20 : 0; before < key; ++before)
      alike += fptree_detail::print_of(before) == fptree_detail::print_of(key);
  }
  EXPECT_GT(alike, 10u);
  for (std::uint64_t key = 0; key < kKeys; ++key)
    ASSERT_EQ(tree->find(key).value_or(0), ~key);
  for (std::uint64_t key = kKeys; key < 2 * kKeys; ++key)
    ASSERT_EQ(tree->find(key).code(), Errc::kNotFound);
}

TEST(FpTree, VerbsDoWhatTheySayAndRefuseTheRest) {
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

TEST(FpTree, TheExtremesAreKeysAndValuesLikeAnyOther) {
  auto region = region_of(1 * MiB);
  const auto tree = create(region, leaves_of(2));
  const std::vector<std::uint64_t> keys = {0, ~std::uint64_t{0}, 1, ~std::uint64_t{1}};
  for (const auto key : keys)
    tree->insert(key, ~key).value();
  for (const auto key : keys)
    EXPECT_EQ(tree->find(key).value(), ~key);
  EXPECT_EQ(contents_of(*tree).size(), keys.size());
  for (const auto key : keys)
    tree->erase(key).value();
  EXPECT_TRUE(contents_of(*tree).empty());
}

TEST(FpTree, OneThatIsOpenedAgainHoldsWhatItHeld) {
  auto region = region_of(16 * MiB);
  constexpr std::uint64_t kKeys = 100'000;
  auto tree = create(region);
  for (std::uint64_t i = 0; i < kKeys; ++i)
    tree->insert(i * 0x9e3779b97f4a7c15, i).value();
  const auto leaves = tree->leaves();
  EXPECT_GT(leaves, kKeys / 56);
  EXPECT_LT(leaves, kKeys / 30);
  for (const unsigned threads : {0u, 1u, 4u}) {
    tree.reset();
    tree = FpTree::open(region, blocks::whole(region), threads).value();
    EXPECT_EQ(tree->leaves(), leaves);
    for (std::uint64_t i = 0; i < kKeys; ++i)
      ASSERT_EQ(tree->find(i * 0x9e3779b97f4a7c15).value(), i);
  }
}

TEST(FpTree, AScanBeginsAndEndsWhereItIsTold) {
  auto region = region_of(1 * MiB);
  const auto tree = create(region, leaves_of(4));
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

// Keys that arrive in order fill their leaves; the space of what is erased is used again.
TEST(FpTree, AWindowThatMovesNeedsNoMoreLeavesThanItFills) {
  auto region = region_of(256 * KiB);
  const auto tree = create(region, leaves_of(8));
  constexpr std::uint64_t kWindow = 500;
  std::uint32_t most = 0;
  for (std::uint64_t key = 0; key < 100'000; ++key) {
    ASSERT_TRUE(tree->insert(key, key)) << key;
    if (key >= kWindow) tree->erase(key - kWindow).value();
    most = std::max(most, tree->leaves());
  }
  EXPECT_LE(most, kWindow / 8 + 4);
  EXPECT_LE(tree->inner_bytes(), 3 * 2'048u);
  EXPECT_EQ(contents_of(*tree).size(), kWindow);
}

TEST(FpTree, AFullTreeRefusesInsertsAndServesTheRest) {
  auto region = region_of(64 * KiB);
  auto tree = create(region);
  std::uint64_t keys = 0;
  Status status;
  while ((status = tree->insert(keys * 7'919 % 100'003, keys)))
    ++keys;
  EXPECT_EQ(status.code(), Errc::kNoSpace);
  EXPECT_NE(status.error().detail.find("56 leaves"), std::string::npos) << status.error().detail;
  EXPECT_EQ(tree->leaves(), tree->leaves_max());
  tree.reset();
  tree = open(region);
  for (std::uint64_t i = 0; i < keys; ++i)
    ASSERT_EQ(tree->find(i * 7'919 % 100'003).value(), i);
  tree->put(0, 33).value();
  for (std::uint64_t i = 0; i < keys; ++i)
    tree->erase(i * 7'919 % 100'003).value();
  EXPECT_EQ(tree->leaves(), 1u);
  tree->insert(keys, 1).value();  // There is room again.
}

TEST(FpTree, ALoadedTreeHoldsWhatItWasGiven) {
  for (const std::uint64_t count : {0u, 1u, 49u, 50u, 10'000u}) {
    auto region = region_of(1 * MiB);
    std::uint64_t given = 0;
    const auto next = [&]() -> std::optional<FpRecord> {
      if (given == count) return std::nullopt;
      ++given;
      return FpRecord{given * 3, given};
    };
    auto tree = FpTree::load(region, blocks::whole(region), next).value();
    for (unsigned opening = 0; opening < 2; ++opening) {
      EXPECT_EQ(contents_of(*tree).size(), count);
      for (std::uint64_t i = 1; i <= count; ++i)
        ASSERT_EQ(tree->find(i * 3).value(), i);
      tree->insert(opening, 1).value();
      tree->erase(opening).value();
      tree.reset();
      tree = open(region);
    }
  }
}

TEST(FpTree, ALoadThatFailsLeavesNoTree) {
  auto region = region_of(64 * KiB);
  const auto load = [&](std::uint64_t count, std::uint64_t step) {
    std::uint64_t given = 0;
    const auto next = [&]() -> std::optional<FpRecord> {
      if (given == count) return std::nullopt;
      return FpRecord{given++ * step, 0};
    };
    return FpTree::load(region, blocks::whole(region), next);
  };
  const auto unordered = load(10, 0);
  EXPECT_EQ(unordered.code(), Errc::kInvalidOption);
  EXPECT_NE(unordered.error().detail.find("key 0 follows 0"), std::string::npos);
  EXPECT_EQ(load(100'000, 1).code(), Errc::kNoSpace);
  EXPECT_EQ(FpTree::open(region, blocks::whole(region)).code(), Errc::kNotHoldfast);
  EXPECT_TRUE(load(10, 1));
}

TEST(FpTree, ManyAtOnceDoWhatEachAloneWouldDo) {
  auto region = region_of(16 * MiB);
  auto tree = create(region);
  constexpr std::uint64_t kKeys = 50'000;
  std::vector<FpRecord> records;
  for (std::uint64_t i = 0; i < kKeys; ++i)
    records.push_back({mix64(i % (kKeys / 2)), i});  // Each key twice.
  std::vector<Errc> outcomes(records.size());
  tree->insert_many(records, outcomes).value();
  EXPECT_EQ(std::ranges::count(outcomes, Errc::kOk), kKeys / 2);
  EXPECT_EQ(std::ranges::count(outcomes, Errc::kAlreadyExists), kKeys / 2);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < kKeys; ++i)
    keys.push_back(mix64(i));
  // The first time the leaves are repaired, the second time not.
  tree.reset();
  tree = open(region);
  for (unsigned round = 0; round < 2; ++round) {
    std::vector<std::optional<std::uint64_t>> values(keys.size());
    tree->find_many(keys, values).value();
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      ASSERT_EQ(values[i].has_value(), i < kKeys / 2) << i;
      if (values[i]) {
        ASSERT_EQ(*values[i], tree->find(keys[i]).value());
      }
    }
  }
}

TEST(FpTree, ManyAtOnceSayWhenTheTreeIsFull) {
  auto region = region_of(32 * KiB);
  const auto tree = create(region);
  std::vector<FpRecord> records;
  for (std::uint64_t i = 0; i < 5'000; ++i)
    records.push_back({mix64(i), i});
  std::vector<Errc> outcomes(records.size());
  EXPECT_EQ(tree->insert_many(records, outcomes).code(), Errc::kNoSpace);
  for (std::uint64_t i = 0; i < records.size(); ++i)
    ASSERT_EQ(tree->find(records[i].key).has_value(), outcomes[i] == Errc::kOk);
  EXPECT_GT(std::ranges::count(outcomes, Errc::kOk), 500);
}

TEST(FpTree, ANewTreeTakesNoPlaceThatIsTaken) {
  auto region = region_of(1 * MiB);
  auto tree = create(region);
  EXPECT_EQ(FpTree::create(region, blocks::whole(region)).code(), Errc::kBusy);
  EXPECT_EQ(FpTree::open(region, blocks::whole(region)).code(), Errc::kBusy);
  tree.reset();
  const auto again = FpTree::create(region, blocks::whole(region));
  EXPECT_EQ(again.code(), Errc::kAlreadyExists);
  EXPECT_NE(again.error().detail.find("an FP-Tree"), std::string::npos);
}

TEST(FpTree, OptionsAreCheckedByName) {
  auto region = region_of(64 * KiB);
  const auto refused = [&](auto change, const char* field, Errc code = Errc::kInvalidOption) {
    FpTreeOptions options;
    change(options);
    const auto made = FpTree::create(region, blocks::whole(region), options);
    EXPECT_EQ(made.code(), code);
    EXPECT_NE(made.error().detail.find(field), std::string::npos) << made.error().detail;
  };
  refused([](auto& options) { options.records = 1; }, "records=1: allowed are 2 to 56");
  refused([](auto& options) { options.records = 57; }, "records=57");
  refused([](auto& options) { options.leaves = (1u << 31) + 1; }, "leaves=2147483649");
  refused([](auto& options) { options.leaves = 100; }, "100 leaves", Errc::kNoSpace);
  EXPECT_EQ(FpTree::create(region, Extent{0, 1}).code(), Errc::kInvalidOption);
}

TEST(FpTree, ItLivesInAnExtentAndTouchesNothingElse) {
  auto region = region_of(1 * MiB);
  const Extent left{0, 256 * KiB}, middle{256 * KiB, 512 * KiB}, right{768 * KiB, 256 * KiB};
  for (const auto& extent : {left, right}) {
    const std::string fill(extent.size_bytes, 'x');
    region.write(extent.offset_bytes, std::as_bytes(std::span(fill))).value();
  }
  const auto tree = FpTree::create(region, middle).value();
  std::uint64_t keys = 0;
  while (tree->insert(mix64(keys), keys))
    ++keys;
  EXPECT_GT(keys, 10'000u);
  for (const auto& extent : {left, right}) {
    for (std::uint64_t i = 0; i < extent.size_bytes; ++i)
      ASSERT_EQ(region.data()[extent.offset_bytes + i], std::byte{'x'});
  }
}

// A split that was interrupted, read without being repaired.
TEST(FpTree, AReadOnlyTreeIsReadAsACrashLeftItAndNotChanged) {
  using namespace fptree_detail;
  FileRegion region(64 * KiB);
  auto tree = create(*region, leaves_of(4));
  Contents expected;
  for (std::uint64_t key = 1; key <= 4; ++key)
    tree->insert(key, key).value(), expected[key] = key;
  tree.reset();
  {
    const DurableWriter writer(*region);
    LeafSpace space(writer, FpTreeShape{4, 18}, id_of(*region));
    const FpRecord moved[] = {{3, 3}, {4, 4}};
    space.put_ever_used(2).value();
    space.leaf(1).fill(moved);
    space.leaf(1).enter(id_of(*region), 1, 3);
  }
  const std::vector<std::byte> before(region->data(), region->data() + region->size_bytes());
  region.reopen_read_only();
  tree = open(*region);
  EXPECT_EQ(contents_of(*tree), expected);
  EXPECT_EQ(tree->leaves(), 2u);
  std::vector<std::optional<std::uint64_t>> values(1);
  const std::uint64_t key = 4;
  tree->find_many(std::span(&key, 1), values).value();
  EXPECT_EQ(values[0], 4u);
  EXPECT_EQ(tree->find(3).value(), 3u);
  EXPECT_EQ(tree->insert(9, 9).code(), Errc::kReadOnly);
  EXPECT_EQ(tree->put(9, 9).code(), Errc::kReadOnly);
  EXPECT_EQ(tree->update(3, 9).code(), Errc::kReadOnly);
  EXPECT_EQ(tree->erase(3).code(), Errc::kReadOnly);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), region->data()));
}

// It was kNotFound: only writing openings looked.
TEST(FpTree, AReadOnlyOpeningNamesADamagedKey) {
  FileRegion region(64 * KiB);
  auto tree = create(*region, leaves_of(4));
  for (std::uint64_t key = 1; key <= 4; ++key)
    tree->insert(key, key).value();
  tree.reset();
  auto* const records =
      reinterpret_cast<FpRecord*>(region->data() + fptree_detail::FpTreeShape{4, 18}.leaf_at(0) +
                                  sizeof(fptree_detail::LeafHead));
  ASSERT_EQ(records[1].key, 2u);
  records[1].key ^= std::uint64_t{1} << 40;
  region.reopen_read_only();
  tree = open(*region);
  EXPECT_EQ(tree->find(2).code(), Errc::kCorrupt);
  std::vector<std::optional<std::uint64_t>> values(1);
  const std::uint64_t key = 2;
  EXPECT_EQ(tree->find_many(std::span(&key, 1), values).code(), Errc::kCorrupt);
  EXPECT_EQ(tree->scan(0, [](std::uint64_t, std::uint64_t) { return true; }).code(),
            Errc::kCorrupt);
}

}  // namespace
}  // namespace holdfast::index
