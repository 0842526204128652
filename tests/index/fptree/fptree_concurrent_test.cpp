// An FP-Tree from many threads: nothing is lost, seen half done or missed while leaves are split
// and unlinked.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fptree_support.hpp"

namespace holdfast::index {
namespace {

TEST(FpTreeConcurrent, WritersOfDifferentKeysLoseNothing) {
  auto region = region_of(32 * MiB);
  auto tree = FpTree::create(region, blocks::whole(region), leaves_of(4)).value();
  constexpr std::uint64_t kThreads = 4, kEach = 20'000;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&tree, thread] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const auto key = i * kThreads + thread;
        tree->insert(key, key).value();
        if (i % 3 == 0) tree->update(key, key + 1).value();
        if (i % 5 != 0) tree->erase(key).value();
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (unsigned opening = 0; opening < 2; ++opening) {
    for (std::uint64_t key = 0; key < kThreads * kEach; ++key) {
      const auto i = key / kThreads;
      const auto found = tree->find(key);
      if (i % 5 != 0)
        ASSERT_EQ(found.code(), Errc::kNotFound) << key;
      else
        ASSERT_EQ(found.value(), key + (i % 3 == 0)) << key;
    }
    EXPECT_EQ(contents_of(*tree).size(), kThreads * kEach / 5);
    tree.reset();
    tree = FpTree::open(region, blocks::whole(region)).value();
  }
}

// Every tenth key is there all the time, whatever is split, emptied and unlinked around it.
TEST(FpTreeConcurrent, ReadersAndScansFindWhatIsThereAllTheTime) {
  auto region = region_of(16 * MiB);
  auto tree = FpTree::create(region, blocks::whole(region), leaves_of(4)).value();
  constexpr std::uint64_t kOld = 400, kApart = 50;
  for (std::uint64_t i = 0; i < kOld; ++i)
    tree->insert(i * kApart, i).value();
  // Opened again, the first accesses repair, too.
  tree.reset();
  tree = FpTree::open(region, blocks::whole(region)).value();
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> wrong{0}, scans{0};
  std::vector<std::thread> readers;
  readers.emplace_back([&] {
    while (!done.load()) {
      for (std::uint64_t i = 0; i < kOld; ++i)
        wrong += tree->find(i * kApart).value_or(~std::uint64_t{0}) != i;
    }
  });
  readers.emplace_back([&] {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < kOld; ++i)
      keys.push_back(i * kApart);
    std::vector<std::optional<std::uint64_t>> values(kOld);
    while (!done.load()) {
      tree->find_many(keys, values).value();
      for (std::uint64_t i = 0; i < kOld; ++i)
        wrong += values[i] != i;
    }
  });
  readers.emplace_back([&] {
    do {
      std::uint64_t old = 0, last = 0;
      bool first = true;
      tree->scan(0,
                 [&](std::uint64_t key, std::uint64_t) {
                   wrong += !first && key <= last;
                   first = false, last = key;
                   old += key % kApart == 0;
                   return true;
                 })
          .value();
      wrong += old != kOld;
      ++scans;
    } while (!done.load());
  });
  std::vector<std::thread> writers;
  for (std::uint64_t writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (unsigned round = 0; round < 6; ++round) {
        for (std::uint64_t key = writer; key < kOld * kApart; key += 2) {
          if (key % kApart != 0) tree->insert(key, key).value();
        }
        for (std::uint64_t key = writer; key < kOld * kApart; key += 2) {
          if (key % kApart != 0) tree->erase(key).value();
        }
      }
    });
  }
  for (auto& writer : writers)
    writer.join();
  done = true;
  for (auto& reader : readers)
    reader.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(scans.load(), 0u);
  EXPECT_EQ(contents_of(*tree).size(), kOld);
  EXPECT_LE(tree->leaves(), kOld + 1);
}

// The inner levels alone: what was added is found from then on, while nodes are split and emptied.
TEST(FpTreeConcurrent, ReadersOfTheInnerLevelsFindWhatWasAdded) {
  using namespace fptree_detail;
  InnerLevels levels;
  const LeafEntry first{0, 0};
  levels.build(std::span(&first, 1));
  constexpr std::uint32_t kLeaves = 20'000;
  std::atomic<std::uint32_t> added{1};
  std::atomic<std::uint64_t> wrong{0};
  const auto low_of = [](std::uint32_t leaf) { return leaf == 0 ? 0 : mix64(leaf); };
  std::vector<std::thread> readers;
  for (unsigned reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      std::uint32_t at = reader;
      for (;;) {
        const auto all = added.load(std::memory_order_acquire);
        if (all == kLeaves) break;
        at = (at * 25'214'903u + 11) % all;
        const auto low = low_of(at);
        const auto route = levels.find(low);
        if (InnerLevels::still(route)) wrong += route.leaf != at || route.range.low != low;
      }
    });
  }
  for (std::uint32_t leaf = 1; leaf < kLeaves; ++leaf) {
    InnerLevels::Reservation reservation(levels);
    levels.add(low_of(leaf), leaf, reservation);
    added.store(leaf + 1, std::memory_order_release);
    // One that comes and goes beside it.
    InnerLevels::Reservation another(levels);
    levels.add(low_of(leaf) + 1, kLeaves, another);
    levels.remove(low_of(leaf) + 1);
  }
  for (auto& reader : readers)
    reader.join();
  EXPECT_EQ(wrong.load(), 0u);
}

// Few leaves, so that one is split between the descent of an interleaved insert and its latch.
TEST(FpTreeConcurrent, InterleavedInsertersLoseNothing) {
  for (unsigned round = 0; round < 30; ++round) {
    auto region = region_of(256 * KiB);
    const auto tree = FpTree::create(region, blocks::whole(region), leaves_of(8)).value();
    constexpr std::uint64_t kEach = 400;
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<FpRecord> records;
        for (std::uint64_t i = 0; i < kEach; ++i)
          records.push_back({mix64(thread * kEach + i), thread});
        std::vector<Errc> outcomes(kEach);
        // Some at a time: what needs a split is done at the end of a call.
        for (std::uint64_t at = 0; at < kEach; at += 40)
          tree->insert_many(std::span(records).subspan(at, 40), std::span(outcomes).subspan(at, 40))
              .value();
        EXPECT_EQ(std::ranges::count(outcomes, Errc::kOk), kEach);
      });
    }
    for (auto& thread : threads)
      thread.join();
    for (std::uint64_t i = 0; i < 3 * kEach; ++i)
      ASSERT_EQ(tree->find(mix64(i)).value_or(99), i / kEach);
    EXPECT_EQ(contents_of(*tree).size(), 3 * kEach);
  }
}

TEST(FpTreeConcurrent, OneOfManyInsertsOfAKeySucceeds) {
  auto region = region_of(4 * MiB);
  const auto tree = FpTree::create(region, blocks::whole(region), leaves_of(4)).value();
  constexpr std::uint64_t kKeys = 3'000;
  std::atomic<std::uint64_t> inserted{0}, erased{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t key = 0; key < kKeys; ++key)
        inserted += tree->insert(key, key).has_value();
      for (std::uint64_t key = 0; key < kKeys; ++key)
        erased += tree->erase(key).has_value();
    });
  }
  threads.emplace_back([&] {
    std::vector<FpRecord> records;
    for (std::uint64_t key = 0; key < kKeys; ++key)
      records.push_back({key, key});
    std::vector<Errc> outcomes(kKeys);
    tree->insert_many(records, outcomes).value();
    inserted += static_cast<std::uint64_t>(std::ranges::count(outcomes, Errc::kOk));
  });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(inserted.load() - erased.load(), contents_of(*tree).size());
  EXPECT_GE(inserted.load(), kKeys);
}

// A leaf whose repair fails stays as it is, also between one thread's attempt and another's insert.
TEST(FpTreeConcurrent, NobodyWritesIntoALeafThatCannotBeRepaired) {
  auto region = region_of(64 * KiB);
  auto tree = FpTree::create(region, blocks::whole(region), leaves_of(56)).value();
  // The last one is damaged: an attempt takes long, and others come meanwhile.
  for (std::uint64_t key = 0; key < 50; ++key)
    tree->insert(key, key).value();
  tree.reset();
  auto* const head = head_of(region.data() + fptree_detail::kLeavesAt);
  const auto used = head->used;
  ASSERT_EQ(used, (std::uint64_t{1} << 50) - 1);
  head->prints[6] ^= 0x100;
  tree = FpTree::open(region, blocks::whole(region)).value();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (unsigned reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      while (!done.load())
        (void)tree->find(10);
    });
  }
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    const FpRecord record{100 + i % 4, i};
    Errc outcome = Errc::kOk;
    (void)tree->insert_many(std::span(&record, 1), std::span(&outcome, 1));
    accepted += outcome != Errc::kCorrupt;
  }
  done = true;
  for (auto& reader : readers)
    reader.join();
  EXPECT_EQ(accepted, 0u);
  EXPECT_EQ(head->used, used);
}

}  // namespace
}  // namespace holdfast::index
