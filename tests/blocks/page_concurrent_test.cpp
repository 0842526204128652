// Page store, buffer manager and interleaved operations under threads. Runs under TSan, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <holdfast/base/random.hpp>
#include <holdfast/baselines/fp_leaves.hpp>
#include <holdfast/baselines/hash_buckets.hpp>
#include <holdfast/blocks/page/buffer_manager.hpp>

namespace holdfast::blocks {
namespace {

using namespace holdfast::baselines;  // NOLINT: what this tests.

using Content = std::vector<std::byte>;

Region memory(std::uint64_t bytes) {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = bytes;
  return Region::open("dram?granularity=line", options).value();
}

TEST(PageStoreConcurrent, ThreadsOnTheSamePagesLeaveWholePages) {
  auto region = memory(256 * KiB);
  PageStoreOptions options;
  options.page_bytes = 1024;
  options.pages = 32;
  options.costs = FlushCosts{{{{6, 6}, {6, 6}}}, {}};
  options.spare_slots = 1;  // They wait for one another's slots and logs, too.
  options.micro_logs = 1;
  auto store = PageStore::create(region, whole(region), options).value();
  std::atomic<std::uint64_t> torn{0}, errors{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Random random(t);
      Content content(1024), found(1024);
      for (int i = 0; i < 1'500; ++i) {
        const PageId page{static_cast<std::uint32_t>(random.below(6))};
        std::memset(content.data(), static_cast<int>(random.below(256)), content.size());
        const auto what = random.below(10);
        if (what < 4) {
          errors += !store->flush(page, content);
        } else if (what < 6) {
          std::vector<PageFlush> flushes;
          for (std::uint32_t j = 0; j < 4; ++j)
            flushes.push_back(
                {{(page.value + j) % 6}, content.data(), nullptr, InDram::kWholePage});
          errors += !store->flush_many(flushes);
        } else if (what < 7) {
          (void)store->free(page).has_value();
        } else if (store->read(page, found)) {
          for (const auto byte : found)
            torn += byte != found[0];
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(errors, 0u);
}

// Until the threads have ended, two others ask for the table again and again. So the threads wait for
// it, and much happens between an eviction's letting go of it and what it does next.
void join_beside_askers(std::vector<std::thread>& threads, BufferManager& buffers) {
  std::atomic<bool> done{false};
  std::vector<std::thread> askers;
  for (int i = 0; i < 2; ++i) {
    askers.emplace_back([&] {
      while (!done)
        (void)buffers.counts();
    });
  }
  for (auto& thread : threads)
    thread.join();
  done = true;
  for (auto& asker : askers)
    asker.join();
}

// Threads add to counters on shared pages, two at a time in ascending order; few frames, so that
// pages come and go. The sums are right, in DRAM and after a reopening.
TEST(BufferConcurrent, NoUpdateIsLostWhilePagesComeAndGo) {
  constexpr unsigned kThreads = 3;
  constexpr std::uint32_t kPages = 24;
  auto region = memory(1 * MiB);
  PageStoreOptions options;
  options.page_bytes = 512;
  options.pages = 64;
  options.spare_slots = 4;
  options.micro_logs = 2;
  options.costs = FlushCosts{{{{2, 2}, {2, 2}}}, {}};
  auto store = PageStore::create(region, whole(region), options).value();
  BufferOptions buffer_options;
  buffer_options.frames = 8;
  buffer_options.background_interval_ms = 1;
  auto buffers = BufferManager::create(*store, buffer_options).value();
  std::atomic<std::uint64_t> added{0}, failed{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(t);
      for (int i = 0; i < 10'000; ++i) {
        if (i > 100 && std::chrono::steady_clock::now() > deadline) break;
        auto a = static_cast<std::uint32_t>(random.below(kPages - 1));
        const auto b = a + 1 + static_cast<std::uint32_t>(random.below(kPages - 1 - a));
        auto first = buffers->fix({a}, Access::kWrite);
        auto second = buffers->fix({b}, Access::kWrite);
        if (!first || !second) {
          ++failed;
          continue;
        }
        for (auto* const page : {&*first, &*second}) {
          const auto bytes = page->change(static_cast<std::uint32_t>(t) * 64, 8);
          std::uint64_t count;
          std::memcpy(&count, bytes.data(), 8);
          ++count;
          std::memcpy(bytes.data(), &count, 8);
          ++added;
        }
        if (i % 100 == 0) {
          first = Error{Errc::kClosed, {}};
          second = Error{Errc::kClosed, {}};
          failed += !buffers->flush({a});
        }
      }
    });
  }
  join_beside_askers(threads, *buffers);
  EXPECT_EQ(failed, 0u);
  ASSERT_TRUE(buffers->flush_all());
  buffers.reset();
  store.reset();
  store = PageStore::open(region, whole(region), options).value();
  std::uint64_t sum = 0;
  Content content(512);
  for (std::uint32_t page = 0; page < kPages; ++page) {
    if (!store->read({page}, content)) continue;
    for (unsigned t = 0; t < kThreads; ++t) {
      std::uint64_t count;
      std::memcpy(&count, content.data() + t * 64, 8);
      sum += count;
    }
  }
  EXPECT_EQ(sum, added);
}

// Threads ask for one page that does not exist: all of them are told so, not only the first (B04 of
// the mutants).
TEST(BufferConcurrent, APageThatCannotBeReadIsGivenToNobody) {
  auto region = memory(256 * KiB);
  PageStoreOptions options;
  options.page_bytes = 512;
  options.pages = 8;
  options.costs = FlushCosts{};
  auto store = PageStore::create(region, whole(region), options).value();
  BufferOptions few;
  few.frames = 4;
  few.background = false;
  auto buffers = BufferManager::create(*store, few).value();
  std::atomic<unsigned> given{0}, other{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const auto page = buffers->fix({5}, Access::kRead);
        given += page.has_value();
        other += !page && page.code() != Errc::kNotFound;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(given, 0u);
  EXPECT_EQ(other, 0u);
}

// Each thread inserts its own keys and looks up everybody's; nodes are common.
template <class Table>
void threads_agree(Table& table, std::uint64_t keys) {
  constexpr unsigned kThreads = 3;
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> inserted{0}, wrong{0};
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Machinery machineries[] = {Machinery::kLoop, Machinery::kStateMachines,
                                       Machinery::kCoroutines};
      const auto machinery = machineries[t];
      Random random(t + 1);
      std::vector<KeyValue> pairs;
      for (std::uint64_t key = t; key < keys; key += kThreads)
        pairs.push_back({key, mix64(key)});
      for (std::size_t at = 0; at < pairs.size(); at += 50) {
        const auto batch = std::span<const KeyValue>(pairs).subspan(
            at, std::min<std::size_t>(50, pairs.size() - at));
        std::vector<InsertResult> results(batch.size());
        table.insert_many(batch, results, machinery, {16, true, true});
        inserted += static_cast<std::uint64_t>(
            std::count(results.begin(), results.end(), InsertResult::kInserted));
        std::vector<std::uint64_t> sought(50);
        for (auto& key : sought)
          key = random.below(keys);
        std::vector<std::optional<std::uint64_t>> found(50);
        table.lookup_many(sought, found, machinery, {16, true, true});
        for (std::size_t i = 0; i < sought.size(); ++i)
          wrong += found[i].has_value() && *found[i] != mix64(sought[i]);
        // Mine are there at once.
        for (std::size_t i = 0; i < batch.size(); ++i) {
          std::optional<std::uint64_t> value;
          table.lookup_many({&batch[i].key, 1}, {&value, 1}, Machinery::kLoop);
          wrong += (results[i] == InsertResult::kInserted) != (value == batch[i].value);
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(inserted, keys / 4);
}

TEST(InterleaveConcurrent, ThreadsMeetOnLeavesAndBuckets) {
  auto region = memory(64 * KiB);
  auto leaves = FpLeaves::open(region, whole(region)).value();
  threads_agree(leaves, 2'000);
  auto other = memory(64 * KiB);
  auto buckets = HashBuckets::open(other, whole(other)).value();
  threads_agree(buckets, 2'000);
}

// It hung: one holds page 1 and wants 2, for which the dirty page 0 has to go. It let go of the
// table, another one took page 0 and waited for 1, and the first one waited for the latch of 0.
TEST(BufferConcurrent, AnEvictionDoesNotWaitForOneWhoWaitsForItsPages) {
  auto region = memory(1 * MiB);
  PageStoreOptions options;
  options.page_bytes = 512;
  options.pages = 64;
  options.spare_slots = 4;
  options.micro_logs = 2;
  auto store = PageStore::create(region, whole(region), options).value();
  BufferOptions buffer_options;
  buffer_options.frames = 2;
  buffer_options.background = false;
  auto buffers = BufferManager::create(*store, buffer_options).value();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  std::vector<std::thread> threads;
  for (std::uint32_t first = 0; first < 2; ++first) {
    threads.emplace_back([&, first] {
      while (std::chrono::steady_clock::now() < deadline) {
        auto one = buffers->fix({first}, Access::kWrite);
        if (!one) continue;  // Both frames are held.
        one->change(0, 8)[0] = std::byte{1};
        auto other = buffers->fix({first + 1}, Access::kWrite);
        if (other) other->change(0, 8)[0] = std::byte{1};
      }
    });
  }
  join_beside_askers(threads, *buffers);
  EXPECT_GT(buffers->counts().flushes_by_eviction, 0u);
}

}  // namespace
}  // namespace holdfast::blocks
