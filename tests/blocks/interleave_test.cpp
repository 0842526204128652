// Interleaved operations against a dull model: every machinery, every group, nodes shared by many.
#include <gtest/gtest.h>

#include <map>

#include <holdfast/base/random.hpp>
#include <holdfast/baselines/fp_leaves.hpp>
#include <holdfast/baselines/hash_buckets.hpp>

namespace holdfast::blocks {
namespace {

using namespace holdfast::baselines;  // NOLINT: what this tests.

constexpr Machinery kMachineries[] = {Machinery::kLoop, Machinery::kStateMachines,
                                      Machinery::kCoroutines};

Region memory(std::uint64_t bytes) {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = bytes;
  return Region::open("dram?granularity=line", options).value();
}

// What fits decides capacity(key): how many keys of the key's node there may be.
template <class Table, class NodeOf>
void agrees_with_model(Table& table, NodeOf node_of, std::uint64_t key_bound, std::uint64_t seed,
                       const Interleaving& how, Machinery machinery) {
  std::map<std::uint64_t, std::uint64_t> model;
  std::map<std::uint64_t, unsigned> in_node;
  Random random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<KeyValue> pairs(1 + random.below(300));
    for (auto& pair : pairs)
      pair = {random.below(key_bound), random()};
    std::vector<InsertResult> results(pairs.size());
    table.insert_many(pairs, results, machinery, how);
    // Of equal keys in one call any one may have come first; nodes fill up in any order.
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (results[i] != InsertResult::kInserted) continue;
      EXPECT_TRUE(model.emplace(pairs[i].key, pairs[i].value).second) << "inserted twice";
      EXPECT_LE(++in_node[node_of(pairs[i].key)], Table::kSlots);
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (results[i] == InsertResult::kExists) {
        EXPECT_TRUE(model.contains(pairs[i].key));
      }
      if (results[i] == InsertResult::kFull) {
        EXPECT_FALSE(model.contains(pairs[i].key));
        EXPECT_EQ(in_node[node_of(pairs[i].key)], Table::kSlots);
      }
    }
    std::vector<std::uint64_t> keys(200);
    for (auto& key : keys)
      key = random.below(key_bound);
    std::vector<std::optional<std::uint64_t>> values(keys.size());
    table.lookup_many(keys, values, machinery, how);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto found = model.find(keys[i]);
      EXPECT_EQ(values[i], found == model.end() ? std::nullopt : std::optional(found->second))
          << "seed=" << seed;
    }
  }
  EXPECT_GT(model.size(), 20u);
}

TEST(Interleave, EveryMachineryAndGroupAgreesWithAMap) {
  std::uint64_t seed = 1;
  for (const auto machinery : kMachineries) {
    for (const unsigned group : {1u, 2u, 7u, 64u}) {
      for (const bool reads : {false, true}) {
        for (const bool shared_fences : {false, true}) {
          const Interleaving how{group, reads, shared_fences};
          auto region = memory(64 * KiB);  // 113 leaves; most keys meet in the first few.
          auto leaves = FpLeaves::open(region, whole(region)).value();
          agrees_with_model(
              leaves, [](auto key) { return key / FpLeaves::kKeysPerLeaf; }, 700, ++seed, how,
              machinery);
          auto other = memory(4 * KiB);  // 64 buckets.
          auto buckets = HashBuckets::open(other, whole(other)).value();
          agrees_with_model(
              buckets, [&](auto key) { return buckets.bucket_of(key); }, 400, ++seed, how,
              machinery);
        }
      }
    }
  }
}

TEST(Interleave, AGroupOnOneLeafFillsItWithDifferentSlots) {
  for (const auto machinery : kMachineries) {
    auto region = memory(4 * KiB);
    auto leaves = FpLeaves::open(region, whole(region)).value();
    std::vector<KeyValue> pairs;
    for (std::uint64_t key = 0; key < 40; ++key)
      pairs.push_back({key, key + 1000});
    std::vector<InsertResult> results(pairs.size());
    leaves.insert_many(pairs, results, machinery, {64, true, true});
    EXPECT_EQ(std::count(results.begin(), results.end(), InsertResult::kInserted), 32);
    EXPECT_EQ(std::count(results.begin(), results.end(), InsertResult::kFull), 8);
    EXPECT_EQ(leaves.leaf(0).used, 0xffffffffu);
  }
}

TEST(Interleave, AGroupSharesItsFences) {
  auto region = memory(1 * MiB);
  auto leaves = FpLeaves::open(region, whole(region)).value();
  std::vector<KeyValue> pairs;  // Each on a leaf of its own.
  for (std::uint64_t i = 0; i < 64; ++i)
    pairs.push_back({i * FpLeaves::kKeysPerLeaf, i});
  std::vector<InsertResult> results(pairs.size());
  for (const auto machinery : {Machinery::kStateMachines, Machinery::kCoroutines}) {
    const auto before = persist_counts();
    for (auto& pair : pairs)
      ++pair.key;
    leaves.insert_many(pairs, results, machinery, {64, true, true});
    EXPECT_LE(persist_counts().fences - before.fences, 4u);  // 2, and some for a shared latch.
    EXPECT_EQ(persist_counts().lines_written_back - before.lines_written_back, 128u);
  }
}

TEST(Interleave, RefusesRegionsWithoutLoadsAndStores) {
  auto region = memory(64 * KiB);
  EXPECT_EQ(FpLeaves::open(region, {0, 100}).code(), Errc::kInvalidOption);
  EXPECT_EQ(HashBuckets::open(region, {64 * KiB, 4096}).code(), Errc::kInvalidOption);
}

}  // namespace
}  // namespace holdfast::blocks
