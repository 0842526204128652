// A FAST+FAIR tree from many threads: nothing is lost, seen half done or missed while entries are
// shifted and nodes are split.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fastfair_support.hpp"

namespace holdfast::index {
namespace {

TEST(FastFairConcurrent, WritersOfDifferentKeysLoseNothing) {
  auto region = region_of(32 * MiB);
  auto tree = FastFair::create(region, blocks::whole(region), slots_of(4)).value();
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
    tree = FastFair::open(region, blocks::whole(region)).value();
  }
}

// Every fourth key is there all the time, whatever is shifted around it, both ways: a reader never
// misses it, and never sees its neighbour's value. FAST_FAIR issue 16: a reader between two stores
// of a shift went to a wrong child.
TEST(FastFairConcurrent, ReadersAndScansFindWhatIsThereAllTheTime) {
  auto region = region_of(4 * MiB);
  auto tree = FastFair::create(region, blocks::whole(region), slots_of(28)).value();
  constexpr std::uint64_t kOld = 300, kApart = 4;
  for (std::uint64_t i = 0; i < kOld; ++i)
    tree->insert(i * kApart, mix64(i * kApart)).value();
  // Opened again, the first accesses repair, too.
  tree.reset();
  tree = FastFair::open(region, blocks::whole(region)).value();
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> missed{0}, wrong{0}, scans{0};
  std::vector<std::thread> readers;
  for (unsigned reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      while (!done.load()) {
        for (std::uint64_t key = 0; key < kOld * kApart; ++key) {
          const auto found = tree->find(key);
          if (found)
            wrong += *found != mix64(key);
          else
            missed += key % kApart == 0;
        }
      }
    });
  }
  readers.emplace_back([&] {
    do {
      std::uint64_t old = 0, last = 0;
      bool first = true;
      tree->scan(0,
                 [&](std::uint64_t key, std::uint64_t value) {
                   wrong += (!first && key <= last) || value != mix64(key);
                   first = false, last = key;
                   old += key % kApart == 0;
                   return true;
                 })
          .value();
      missed += kOld - old;
      ++scans;
    } while (!done.load());
  });
  std::vector<std::thread> writers;
  for (std::uint64_t writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (unsigned round = 0; round < 60; ++round) {
        for (std::uint64_t key = writer; key < kOld * kApart; key += 2) {
          if (key % kApart != 0) tree->insert(key, mix64(key)).value();
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
  EXPECT_EQ(missed.load(), 0u);
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(scans.load(), 0u);
  EXPECT_EQ(contents_of(*tree).size(), kOld);
}

// One leaf that is shifted as a whole, to the right and to the left, beside one reader: so they
// meet wherever two CPUs are free. What a shift carries past the reader counts, too.
TEST(FastFairConcurrent, AReaderOfALeafThatIsShiftedToAndFroMissesNothing) {
  auto region = region_of(1 * MiB);
  const auto tree = FastFair::create(region, blocks::whole(region), slots_of(28)).value();
  constexpr std::uint64_t kKeys = 26;
  for (std::uint64_t key = 1; key <= kKeys; ++key)
    tree->insert(key, key).value();
  std::atomic<bool> done{false};
  std::uint64_t missed = 0;
  std::thread reader([&] {
    do {
      for (std::uint64_t key = 1; key <= kKeys; ++key)
        missed += tree->find(key).value_or(0) != key;
    } while (!done.load());
  });
  for (unsigned round = 0; round < 20'000; ++round) {
    tree->insert(0, 0).value();
    tree->erase(0).value();
  }
  done = true;
  reader.join();
  EXPECT_EQ(missed, 0u);
}

// Small nodes, so that all levels are split while others go down.
TEST(FastFairConcurrent, WhatWasInsertedIsFoundFromThenOn) {
  auto region = region_of(8 * MiB);
  const auto tree = FastFair::create(region, blocks::whole(region), slots_of(3)).value();
  constexpr std::uint64_t kKeys = 20'000;
  std::atomic<std::uint64_t> inserted{0}, wrong{0};
  std::vector<std::thread> readers;
  for (unsigned reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      std::uint64_t at = reader;
      for (;;) {
        const auto all = inserted.load(std::memory_order_acquire);
        if (all == kKeys) return;
        if (all == 0) continue;
        at = (at * 25'214'903'917u + 11) % all;
        wrong += tree->find(mix64(at)).value_or(~at) != at;
      }
    });
  }
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    tree->insert(mix64(i), i).value();
    inserted.store(i + 1, std::memory_order_release);
  }
  for (auto& reader : readers)
    reader.join();
  EXPECT_EQ(wrong.load(), 0u);
}

TEST(FastFairConcurrent, OneOfManyInsertsOfAKeySucceeds) {
  auto region = region_of(4 * MiB);
  const auto tree = FastFair::create(region, blocks::whole(region), slots_of(4)).value();
  constexpr std::uint64_t kKeys = 3'000;
  std::atomic<std::uint64_t> inserted{0}, erased{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t key = 0; key < kKeys; ++key)
        inserted += tree->insert(key, key).has_value();
      for (std::uint64_t key = 0; key < kKeys; key += 2)
        erased += tree->erase(key).has_value();
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(inserted.load() - erased.load(), contents_of(*tree).size());
  EXPECT_GE(inserted.load(), kKeys);
}

}  // namespace
}  // namespace holdfast::index
