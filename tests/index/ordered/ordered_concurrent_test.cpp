// The ordered index under several threads. Run these under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/index/ordered/cursor.hpp>
#include <holdfast/index/ordered/ordered_index.hpp>

namespace holdfast::index::ordered {
namespace {

#ifdef HF_TSAN
constexpr std::uint64_t kRounds = 4;
#else
constexpr std::uint64_t kRounds = 30;
#endif

// Multiples of 8 stay throughout; those that leave 1 to 4 come and go; the others never were. Some
// are long, so that they lie far.
std::string key_of(std::uint64_t number) {
  const std::uint64_t big_endian = __builtin_bswap64(number);
  std::string key(reinterpret_cast<const char*>(&big_endian), 8);
  if (number % 40 < 2) key.append(300, 'f');
  return key;
}
std::uint64_t number_of(std::string_view key) {
  std::uint64_t big_endian;
  std::memcpy(&big_endian, key.data(), 8);
  return __builtin_bswap64(big_endian);
}

constexpr std::uint64_t kNumbers = 40'000;

struct OrderedConcurrent : testing::Test {
  EpochDomain domain;
  std::unique_ptr<OrderedIndex> index = OrderedIndex::create(domain).value();
  std::atomic<unsigned> writers_left{0};

  // Fills and empties its keys again and again, which splits and merges leaves.
  void write(std::uint64_t remainder) {
    auto participant = domain.join();
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      for (std::uint64_t number = remainder; number < kNumbers; number += 8) {
        const auto guard = domain.enter(participant);
        ASSERT_TRUE(index->insert(key_of(number)).value());
      }
      for (std::uint64_t number = remainder; number < kNumbers; number += 8) {
        const auto guard = domain.enter(participant);
        ASSERT_TRUE(index->erase(key_of(number)));
      }
    }
    --writers_left;
  }

  void scan(bool forward) {
    auto participant = domain.join();
    std::uint64_t scans = 0;
    for (; writers_left != 0 || scans == 0; ++scans) {
      Cursor at(*index);
      std::uint64_t steady = 0;
      std::string before;
      // A guard for each move: what the cursor has read may be freed in between.
      const auto move = [&](bool first) {
        const auto guard = domain.enter(participant);
        if (first) return forward ? at.first() : at.last();
        return forward ? at.next() : at.prev();
      };
      for (bool there = move(true); there; there = move(false)) {
        const std::uint64_t number = number_of(at.key());
        ASSERT_LE(number % 8, 4u);
        ASSERT_EQ(at.key(), key_of(number));
        if (!before.empty()) {
          ASSERT_TRUE(forward ? before < at.key() : at.key() < before);
        }
        before = at.key();
        steady += number % 8 == 0;
      }
      ASSERT_EQ(steady, kNumbers / 8) << "a key that was there throughout was missed";
    }
  }
};

TEST_F(OrderedConcurrent, ScansSeeEachSteadyKeyOnceWhileOthersComeAndGo) {
  auto participant = domain.join();
  for (std::uint64_t number = 0; number < kNumbers; number += 8) {
    const auto guard = domain.enter(participant);
    ASSERT_TRUE(index->insert(key_of(number)).value());
  }
  writers_left = 2;
  std::vector<std::thread> threads;
  for (const std::uint64_t remainder : {1, 3})
    threads.emplace_back([this, remainder] { write(remainder); });
  for (const bool forward : {true, false})
    threads.emplace_back([this, forward] { scan(forward); });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(index->count(), kNumbers / 8);
}

// All leaves go: the tree shrinks to one leaf and grows again under readers.
TEST_F(OrderedConcurrent, AnIndexIsEmptiedAndFilledUnderReaders) {
  writers_left = 2;
  std::vector<std::thread> threads;
  for (const std::uint64_t remainder : {2, 4})
    threads.emplace_back([this, remainder] { write(remainder); });
  threads.emplace_back([this] {
    auto participant = domain.join();
    for (std::mt19937_64 random(5); writers_left != 0;) {
      const std::uint64_t number = random() % kNumbers;
      const auto guard = domain.enter(participant);
      ASSERT_FALSE(index->contains(key_of(number / 8 * 8)));
    }
  });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(index->count(), 0u);
}

TEST_F(OrderedConcurrent, OfSeveralThreadsThatInsertTheSameKeyOneIsTold) {
  std::atomic<std::uint64_t> fresh{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      auto participant = domain.join();
      std::vector<std::string> keys;
      for (std::uint64_t number = 0; number < kNumbers; ++number)
        keys.push_back(key_of(number));
      std::shuffle(keys.begin(), keys.end(), std::mt19937_64(thread));
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      for (std::size_t at = 0; at < views.size(); at += 100) {
        const auto guard = domain.enter(participant);
        fresh += index->insert_many(std::span(views).subspan(at, 100)).value();
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(fresh, kNumbers);
  EXPECT_EQ(index->count(), kNumbers);
}

}  // namespace
}  // namespace holdfast::index::ordered
