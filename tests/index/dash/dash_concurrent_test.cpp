// A Dash index from many threads: nothing is lost, seen half done or missed during a split.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dash_support.hpp"

namespace holdfast::index {
namespace {

// Small segments: threads meet.
DashOptions small_segments() {
  DashOptions options;
  options.buckets = 4, options.stash_buckets = 1;
  return options;
}

TEST(DashConcurrent, WritersOfDifferentKeysLoseNothing) {
  auto region = region_of(16 * MiB);
  auto dash = Dash::create(region, blocks::whole(region), small_segments()).value();
  constexpr std::uint64_t kThreads = 4, kEach = 20'000;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&dash, thread] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const auto key = i * kThreads + thread;
        dash->insert(key, key).value();
        if (i % 3 == 0) dash->update(key, key + 1).value();
        if (i % 5 == 0) dash->erase(key).value();
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  dash.reset();
  dash = Dash::open(region, blocks::whole(region)).value();
  for (std::uint64_t key = 0; key < kThreads * kEach; ++key) {
    const auto i = key / kThreads;
    const auto found = dash->find(key);
    if (i % 5 == 0)
      ASSERT_EQ(found.code(), Errc::kNotFound);
    else
      ASSERT_EQ(found.value(), key + (i % 3 == 0));
  }
}

// Keys that were there before are there all the time, whatever splits and moves around them.
TEST(DashConcurrent, ReadersFindWhatIsThereWhileSegmentsSplit) {
  auto region = region_of(16 * MiB);
  auto dash = Dash::create(region, blocks::whole(region), small_segments()).value();
  constexpr std::uint64_t kOld = 500, kNew = 30'000;
  for (std::uint64_t key = 0; key < kOld; ++key)
    dash->insert(key, key).value();
  // Opened again, the first accesses repair, too.
  dash.reset();
  dash = Dash::open(region, blocks::whole(region)).value();
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> readers;
  for (unsigned reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      while (!done.load()) {
        for (std::uint64_t key = 0; key < kOld; ++key) {
          const auto found = dash->find(key);
          if (!found || *found % kOld != key) ++wrong;
        }
      }
    });
  }
  readers.emplace_back([&] {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t key = 0; key < kOld; ++key)
      keys.push_back(key);
    std::vector<std::optional<std::uint64_t>> values(kOld);
    while (!done.load()) {
      dash->find_many(keys, values).value();
      for (std::uint64_t key = 0; key < kOld; ++key)
        wrong += !values[key] || *values[key] % kOld != key;
    }
  });
  std::uint64_t seen = 0;
  std::thread scanner([&] {
    while (!done.load()) {
      std::uint64_t old = 0;
      dash->for_each([&](std::uint64_t key, std::uint64_t) { old += key < kOld; }).value();
      if (old != kOld) ++wrong;
      ++seen;
      // Splits wait for a scan: without a pause they would hardly have a turn.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (std::uint64_t key = kOld; key < kNew; ++key) {
    dash->insert(key, key).value();
    dash->update(key % kOld, key).value();
  }
  done = true;
  for (auto& reader : readers)
    reader.join();
  scanner.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(seen, 0u);
}

TEST(DashConcurrent, InterleavedWritersLoseNothing) {
  auto region = region_of(16 * MiB);
  const auto dash = Dash::create(region, blocks::whole(region), small_segments()).value();
  constexpr std::uint64_t kThreads = 3, kEach = 12'000, kCall = 40;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<DashRecord> records;
      for (std::uint64_t i = 0; i < kEach; ++i)
        records.push_back({i * kThreads + thread, thread});
      std::vector<Errc> outcomes(kEach);
      for (std::uint64_t at = 0; at < kEach; at += kCall)
        dash->insert_many(std::span(records).subspan(at, kCall),
                          std::span(outcomes).subspan(at, kCall))
            .value();
      EXPECT_EQ(std::ranges::count(outcomes, Errc::kOk), kEach);
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (std::uint64_t key = 0; key < kThreads * kEach; ++key)
    ASSERT_EQ(dash->find(key).value_or(99), key % kThreads);
}

TEST(DashConcurrent, OneOfManyInsertsOfAKeySucceeds) {
  auto region = region_of(4 * MiB);
  const auto dash = Dash::create(region, blocks::whole(region), small_segments()).value();
  constexpr std::uint64_t kKeys = 3'000;
  std::atomic<std::uint64_t> inserted{0}, erased{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t key = 0; key < kKeys; ++key)
        inserted += dash->insert(key, key).has_value();
      for (std::uint64_t key = 0; key < kKeys; ++key)
        erased += dash->erase(key).has_value();
    });
  }
  threads.emplace_back([&] {
    std::vector<DashRecord> records;
    for (std::uint64_t key = 0; key < kKeys; ++key)
      records.push_back({key, key});
    std::vector<Errc> outcomes(kKeys);
    dash->insert_many(records, outcomes).value();
    inserted += static_cast<std::uint64_t>(std::ranges::count(outcomes, Errc::kOk));
  });
  for (auto& thread : threads)
    thread.join();
  std::uint64_t left = 0;
  dash->for_each([&](std::uint64_t, std::uint64_t) { ++left; }).value();
  EXPECT_EQ(inserted.load() - erased.load(), left);
  EXPECT_GE(inserted.load(), kKeys);
}

}  // namespace
}  // namespace holdfast::index
