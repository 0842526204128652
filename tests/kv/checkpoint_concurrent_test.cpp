// Checkpoints beside writers and reclamation.
#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/space.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "for_tests.hpp"
#include "kept_checkpoints.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class CheckpointsConcurrent : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, CheckpointsConcurrent, kEveryPlace, place_name);

constexpr int kWriters = 2, kKeys = 10;
using Counts = std::array<std::uint64_t, kWriters>;

// Writers count their own keys up, in turn: a moment of that is one of few states.
class CountingWriters {
 public:
  explicit CountingWriters(Store<>& store) {
    for (int writer = 0; writer < kWriters; ++writer)
      threads_.emplace_back([this, &store, writer] { count(store, writer); });
  }
  ~CountingWriters() {
    stop_ = true;
    for (std::thread& writer : threads_)
      writer.join();
  }
  // What they have acknowledged, when each has so many.
  Counts wait_for(std::uint64_t least) const {
    Counts counts{};
    for (std::size_t writer = 0; writer < kWriters; ++writer) {
      while (acknowledged_[writer] < least)
        std::this_thread::yield();
      counts[writer] = acknowledged_[writer];
    }
    return counts;
  }

 private:
  void count(Store<>& store, int writer) {
    for (std::uint64_t i = 0; !stop_; ++i) {
      const std::string key = std::to_string(writer) + "/" + std::to_string(i % kKeys);
      ASSERT_TRUE(store.put(key, std::to_string(i)));
      acknowledged_[static_cast<std::size_t>(writer)] = i + 1;
      // Paced: what is held may not fill the small region.
      if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  std::atomic<bool> stop_{false};
  std::array<std::atomic<std::uint64_t>, kWriters> acknowledged_{};
  std::vector<std::thread> threads_;
};

// Of a moment between these two.
void expect_a_moment(const Store<>& copy, const Counts& before, const Counts& after) {
  for (std::size_t writer = 0; writer < kWriters; ++writer) {
    std::uint64_t newest = 0;
    std::array<std::uint64_t, kKeys> seen{};
    for (std::size_t key = 0; key < kKeys; ++key) {
      seen[key] = std::stoull(get(copy, std::to_string(writer) + "/" + std::to_string(key)));
      newest = std::max(newest, seen[key]);
    }
    EXPECT_GE(newest + 1, before[writer]) << "what was acknowledged is in it";
    EXPECT_LE(newest, after[writer] + 1);
    for (std::size_t key = 0; key < kKeys; ++key) {
      const std::uint64_t behind = (newest % kKeys + kKeys - key) % kKeys;
      EXPECT_EQ(seen[key], newest - behind) << "writer " << writer << ", key " << key;
    }
  }
}

TEST_P(CheckpointsConcurrent, ItIsAMomentOfWhatWritersDid) {
  auto store = open();
  const CountingWriters writers(store);
  Kept kept;
  for (std::uint64_t round = 0; round < 8; ++round) {
    const Counts before = writers.wait_for((round + 1) * 200);
    Counts after{};
    {
      const Checkpoint checkpoint = store.checkpoint().value();
      after = writers.wait_for(0);
      if (round % 2 == 0) {
        ASSERT_TRUE(ForTests::pass(store, 0.1));
      }
      kept.take(checkpoint);
    }
    const std::string name = "copy" + std::to_string(round);
    ASSERT_TRUE(kept.restore_to(spec(name)));
    auto copy = open(with_access(RegionAccess::kOpen), name);
    EXPECT_TRUE(copy.verify().ok());
    expect_a_moment(copy, before, after);
  }
}

// What a mark needs does not change until the next one, so its files may be copied beside writers.
TEST_P(CheckpointsConcurrent, SoIsAMark) {
  auto store = open();
  const CountingWriters writers(store);
  StoreOptions options = with_access(RegionAccess::kOpenReadOnly);
  options.at_mark = true;
  for (std::uint64_t round = 0; round < 8; ++round) {
    const Counts before = writers.wait_for((round + 1) * 200);
    ASSERT_TRUE(store.mark());
    const Counts after = writers.wait_for(0);
    ASSERT_TRUE(ForTests::pass(store, 0.1));
    writers.wait_for((round + 1) * 200 + 100);
    ASSERT_TRUE(store.reclaim());
    const std::string name = "copy" + std::to_string(round);
    copy_files(name);
    const auto copy = open(options, name);
    expect_a_moment(copy, before, after);
  }
}

// One thread answers the other: an answer is never there without its question, though the runs of
// the two are sealed one after the other. (Those of keyspaces come last.)
TEST_P(CheckpointsConcurrent, AnAnswerIsNotThereWithoutItsQuestion) {
  auto store = open();
  Space space = store.create_space("answers").value();
  std::atomic<std::uint64_t> asked{0}, answered{0};
  std::atomic<bool> stop{false};
  std::thread answers([&] {
    while (!stop) {
      const std::uint64_t question = asked;
      if (question == answered) continue;
      ASSERT_TRUE(space.put("answer", std::to_string(question)));
      answered = question;
    }
  });
  std::thread questions([&] {
    while (!stop) {
      ASSERT_TRUE(store.put("question", std::to_string(asked + 1)));
      ++asked;
      while (answered != asked && !stop) {
      }
      // Paced: what a checkpoint holds may not fill the small region.
      if (asked % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  });
  while (answered < 10)
    std::this_thread::yield();
  for (int round = 0; round < 60; ++round) {
    Kept kept;
    kept.take(store.checkpoint().value());
    ASSERT_TRUE(store.reclaim());
    const std::string name = "copy" + std::to_string(round);
    ASSERT_TRUE(kept.restore_to(spec(name)));
    auto copy = open(with_access(RegionAccess::kOpen), name);
    const std::uint64_t question = std::stoull(get(copy, "question"));
    std::string value;
    ASSERT_TRUE(copy.space("answers").value().get("answer", value));
    const std::uint64_t answer = std::stoull(value);
    EXPECT_TRUE(question == answer || question == answer + 1) << question << ", " << answer;
  }
  stop = true;
  answers.join();
  questions.join();
}

// The keyspace of pieces comes with the first one, while a checkpoint is taken. It was closed in a
// keyspace that it had not been opened in: the process ended.
TEST(CheckpointsBesideTheFirst, Piece) {
  const std::string long_value(1'100, 'x');
  for (int round = 0; round < 600; ++round) {
    auto store = Store<>::open("dram", tiny()).value();
    for (int i = 0; i < 50; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), "value"));
    std::atomic<int> ready{0};
    const auto wait = [&] {
      ++ready;
      while (ready < 2) {
      }
    };
    std::thread taker([&] {
      wait();
      for (int i = 0; i < 10; ++i) {
        if (round % 2 == 0) {
          EXPECT_TRUE(store.mark());
        } else {
          EXPECT_TRUE(store.checkpoint());
        }
      }
    });
    wait();
    for (int delay = 0; delay < round * 20; ++delay)
      asm volatile("");
    ASSERT_TRUE(store.append("grown", long_value));
    ASSERT_TRUE(store.append("grown", long_value));
    taker.join();
    EXPECT_EQ(get(store, "grown"), long_value + long_value);
    EXPECT_TRUE(store.verify().ok());
  }
}

// A private part has the superblock, in which a flag is raised by several stores. Some had a
// checksum that did not hold.
TEST(CheckpointsBesideTheFirst, FlagOfTheSuperblock) {
  for (int round = 0; round < 300; ++round) {
    auto store = Store<>::open("dram", tiny()).value();
    ASSERT_TRUE(store.put("key", "value"));
    const auto checkpoint = store.checkpoint().value();
    std::atomic<bool> stop{false};
    std::atomic<int> parts{0};
    std::thread taker([&] {
      for (; !stop; ++parts)
        ASSERT_TRUE(read_private_part(checkpoint.private_part().value()));
    });
    while (parts == 0)
      std::this_thread::yield();
    ASSERT_TRUE(store.create_space("space"));
    ASSERT_TRUE(store.expire({.prefix = "e", .ttl = 1}));
    ASSERT_TRUE(store.mark());
    stop = true;
    taker.join();
  }
}

}  // namespace
}  // namespace holdfast::kv
