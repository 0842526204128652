// serialize() and deserialize(): round trips, and input that serialize() never wrote.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include <holdfast/index/offset_map.hpp>

namespace holdfast::index {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  return x ^ x >> 32;
}

class OffsetMapImage : public testing::Test {
 protected:
  void insert(OffsetMap& map, std::uint64_t hash, std::uint64_t line) {
    const auto guard = domain_.enter(participant_);
    while (!map.latch(hash).insert(Line{line}))
      ASSERT_TRUE(map.grow(hash));
  }
  Line find(OffsetMap& map, std::uint64_t hash, std::uint64_t line) {
    const auto guard = domain_.enter(participant_);
    return map.find(hash, [&](Line at) { return at.number == line; });
  }
  static std::vector<std::uint64_t> image(const OffsetMap& map, std::uint32_t partition) {
    std::vector<std::uint64_t> words(map.serialize(partition, {}));
    EXPECT_EQ(map.serialize(partition, words), words.size());
    return words;
  }
  std::unique_ptr<OffsetMap> make() { return std::move(OffsetMap::create(domain_)).value(); }

  EpochDomain domain_;
  EpochDomain::Participant participant_ = domain_.join();
};

TEST_F(OffsetMapImage, RoundTripKeepsEveryEntryAndWritersGoOn) {
  constexpr std::uint64_t kKeys = 60'000;
  auto map = make();
  for (std::uint64_t key = 1; key <= kKeys; ++key)
    insert(*map, mixed(key), key);
  auto loaded = make();
  for (std::uint32_t p = 0; p < map->partitions(); ++p) {
    const auto words = image(*map, p);
    ASSERT_TRUE(loaded->deserialize(p, words, kKeys + 1));
    ASSERT_EQ(loaded->size(p), words.size());
  }
  EXPECT_EQ(loaded->size(), kKeys);
  for (std::uint64_t key = 1; key <= kKeys; ++key)
    ASSERT_EQ(find(*loaded, mixed(key), key).number, key);
  for (std::uint64_t key = kKeys + 1; key <= 2 * kKeys; ++key)
    insert(*loaded, mixed(key), key);
  for (std::uint64_t key = 1; key <= 2 * kKeys; ++key)
    ASSERT_EQ(find(*loaded, mixed(key), key).number, key);
}

TEST_F(OffsetMapImage, AnEmptyImageEmptiesThePartition) {
  auto map = make();
  insert(*map, 1, 7);
  ASSERT_TRUE(map->deserialize(0, {}, kLineLimit));
  EXPECT_EQ(map->size(), 0u);
  EXPECT_FALSE(find(*map, 1, 7));
}

TEST_F(OffsetMapImage, SerializeWritesNothingBeyondTheSpan) {
  auto map = make();
  for (std::uint64_t key = 1; key <= 100; ++key)
    insert(*map, key << 40, key);
  std::vector<std::uint64_t> words(11, 0);
  EXPECT_EQ(map->serialize(0, std::span(words).first(10)), 100u);
  EXPECT_EQ(words[10], 0u);
  EXPECT_NE(words[9], 0u);
}

TEST_F(OffsetMapImage, WhatSerializeCannotHaveWrittenIsRefusedAndChangesNothing) {
  struct Case {
    const char* what;
    std::uint64_t word;
  };
  const Case cases[] = {
      {"a free entry", 0},
      {"a control bit", kControl | payload(5, 5)},
      {"no tag", payload(0, 5)},
      {"line 0", payload(5, 0)},
      {"the first line beyond the medium", payload(5, 1000)},
      {"the greatest line", payload(5, kLineLimit - 1)},
      {"all bits", ~std::uint64_t{0}},
  };
  auto map = make();
  insert(*map, 1, 7);
  for (const Case& one : cases) {
    const std::vector<std::uint64_t> words = {payload(3, 4), one.word, payload(4, 9)};
    const Status status = map->deserialize(0, words, 1000);
    ASSERT_FALSE(status) << one.what;
    EXPECT_EQ(status.code(), Errc::kCorrupt) << one.what;
    EXPECT_NE(status.error().detail.find("entry 1"), std::string::npos) << status.error().detail;
    EXPECT_EQ(map->size(), 1u) << one.what;
    EXPECT_EQ(find(*map, 1, 7).number, 7u) << one.what;
  }
  EXPECT_TRUE(map->deserialize(0, std::vector{payload(3, 4), payload(5, 999)}, 1000));
}

TEST_F(OffsetMapImage, TooManyEntriesOfOneTagAreRefusedWithoutAnEndlessTable) {
  auto map = make();
  const std::vector<std::uint64_t> same(100'000, payload(77, 1));
  const Status status = map->deserialize(3, same, kLineLimit);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.code(), Errc::kCorrupt);
  EXPECT_LT(map->dram_bytes(), 16 * MiB);
  // As many as a neighbourhood holds are fine, also twice the same.
  ASSERT_TRUE(map->deserialize(3, std::vector<std::uint64_t>(40, payload(77, 1)), kLineLimit));
  EXPECT_EQ(map->size(), 40u);
}

TEST_F(OffsetMapImage, RandomBitsNeverCrash) {
  const std::uint64_t seed = 5;
  std::mt19937_64 random(seed);
  auto map = make();
  for (std::uint64_t key = 1; key <= 20'000; ++key)
    insert(*map, mixed(key), key);
  std::uint64_t accepted = 0, refused = 0;
  for (int round = 0; round < 2'000; ++round) {
    const auto partition = static_cast<std::uint32_t>(random() % map->partitions());
    auto words = image(*map, partition);
    for (unsigned damage = 0; damage < 3 && !words.empty(); ++damage) {
      words[random() % words.size()] ^= std::uint64_t{1} << random() % 64;
    }
    if (round % 5 == 0) words.resize(random() % (words.size() + 1));
    const Status status = map->deserialize(partition, words, 1 << 20);
    ++(status ? accepted : refused);
    const auto guard = domain_.enter(participant_);
    map->for_each(partition, [&](Line line) {
      EXPECT_TRUE(line.number > 0 && line.number < 1 << 20) << "seed=" << seed;
      return true;
    });
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace holdfast::index
