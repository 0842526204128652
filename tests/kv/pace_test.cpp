// The medium in use keeps to its goal under writers at full speed: they are slowed, never refused,
// and never for long.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/background_pool.hpp>
#include <holdfast/kv/crew.hpp>

#include "for_tests.hpp"
#include "space.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

using Clock = std::chrono::steady_clock;

// Its one thread does something else, so that the stores that have it reclaim nothing.
class BusyPool {
 public:
  BusyPool() {
    const auto round = [this] {
      if (std::exchange(has_begun_, true)) return;  // It was asked for twice.
      begun_.set_value();
      ended_.get_future().wait();
    };
    job_ = pool_->upkeep().add(std::chrono::hours(1), round).value();
    const auto begun = begun_.get_future();
    do {
      pool_->upkeep().ask(*job_);  // One that comes too early is not heard.
    } while (begun.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready);
  }
  ~BusyPool() {
    end();
    pool_->upkeep().remove(job_);
  }
  void end() {
    if (!std::exchange(has_ended_, true)) ended_.set_value();
  }
  const std::shared_ptr<BackgroundPool>& pool() const { return pool_; }

 private:
  const std::shared_ptr<BackgroundPool> pool_ = std::make_shared<BackgroundPool>(1);
  std::promise<void> begun_, ended_;
  bool has_begun_ = false;  // Of the round.
  bool has_ended_ = false;
  Crew::Job* job_ = nullptr;
};

class PaceOfWriters : public testing::Test {
 protected:
  static constexpr double kGoal = 1.25;

  Store<> open(StoreOptions options = {}) {
    options.reclaim.space_amplification = kGoal;
    return Store<>::open(scratch_.path("store") + "?granularity=line", options).value();
  }
  // `writers` at full speed for `seconds`, each with numbers of operations of its own; `check` looks
  // at the store every few milliseconds. Returns what was refused.
  static int overwrite(Store<>& store, unsigned writers, double seconds,
                       const std::function<bool(unsigned writer, std::uint64_t i)>& write,
                       const std::function<void(const StoreStats&)>& check) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (unsigned w = 0; w < writers; ++w) {
      threads.emplace_back([&, w] {
        for (std::uint64_t i = 0; Clock::now() < end; ++i)
          refused += !write(w, i);
      });
    }
    while (Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      check(store.stats());
    }
    for (auto& thread : threads)
      thread.join();
    return refused;
  }

  const Scratch scratch_ = Scratch::tmpfs();
};

// KV-3: with two writers the medium in use was 2.5 times what lived after 4 s, and 3.8 times after 8.
TEST_F(PaceOfWriters, TwoOfThemKeepToTheGoal) {
  StoreOptions options;
  options.patchable_words = {0};
  auto store = open(options);
  constexpr std::uint64_t kKeys = 150'000;
  const std::string value(200, 'v');
  for (std::uint64_t i = 0; i < kKeys; ++i)
    ASSERT_TRUE(store.put(key_of('k', i), value));
  double worst = 0;
  Random random[2] = {Random(1), Random(2)};
  const int refused = overwrite(
      store, 2, 4,
      [&](unsigned w, std::uint64_t) {
        return store.put(key_of('k', random[w].below(kKeys)), value).has_value();
      },
      [&](const StoreStats& stats) {
        worst = std::max(worst, static_cast<double>(stats.used_bytes) - 4.0 * MiB -
                                    1.35 * static_cast<double>(stats.live_bytes));
      });
  EXPECT_EQ(refused, 0);
  EXPECT_LE(worst, 0) << "bytes beyond 1.35 times what lives and 4 MiB";
  EXPECT_GT(store.stats().reclaimed_blocks, 20u) << "nothing was to reclaim";
  EXPECT_EQ(store.count(), kKeys);
}

// Snapshots that come and go keep a version of each key alive at most, which counts as live until
// the snapshot goes.
TEST_F(PaceOfWriters, TheyKeepToItBesideSnapshots) {
  auto store = open();
  constexpr std::uint64_t kKeys = 50'000;
  for (std::uint64_t i = 0; i < kKeys; ++i)
    ASSERT_TRUE(store.put(key_of('k', i), key_of('v', i)));
  double used = 0;
  Random random[2] = {Random(1), Random(2)};
  const int refused = overwrite(
      store, 2, 3,
      [&](unsigned w, std::uint64_t i) {
        const std::uint64_t key = random[w].below(kKeys);
        if (w == 0 && i % 20'000 == 0) {
          const Snapshot snapshot = store.snapshot();
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          std::string value;
          return snapshot.get(key_of('k', key), value).has_value() && value[0] == 'v';
        }
        return store.put(key_of('k', key), key_of('v', i)).has_value();
      },
      [&](const StoreStats& stats) {
        used = std::max(used, static_cast<double>(stats.used_bytes));
      });
  EXPECT_EQ(refused, 0);
  EXPECT_LE(used, 1.35 * 2 * kKeys * 64 + 4.0 * MiB);
}

// 224 MiB of medium were in use for one record of 1 KB. Seen once, beside two builds: 17 blocks, which
// are more than 4 MiB. Why is not known: 25 runs beside busy loops kept to 4 MiB. What the pace
// allows is half a zone more, 4 blocks, after a pass in vain.
TEST_F(PaceOfWriters, OneHotRecordNeedsFourMiBAndTwoSegments) {
  for (const unsigned writers : {1u, 2u}) {
    std::filesystem::remove_all(scratch_.path("store"));
    auto store = open();
    const std::string value(1'000, 'v');
    std::uint64_t used = 0, medium = 0;
    int looks = 0, beyond = 0;
    const int refused = overwrite(
        store, writers, 2,
        [&](unsigned, std::uint64_t) { return store.put("hot", value).has_value(); },
        [&](const StoreStats& stats) {
          ++looks;
          beyond += stats.used_bytes > 4 * MiB + 2 * 1'088;
          used = std::max(used, stats.used_bytes);
          medium = std::max(medium, stats.medium_bytes);
        });
    EXPECT_EQ(refused, 0);
    EXPECT_LE(beyond * 20, looks) << writers << " writers, " << used << " bytes at worst";
    EXPECT_LE(used, 5 * MiB + 2 * 1'088) << writers << " writers";
    EXPECT_LE(medium, 2 * StoreOptions().segment_bytes) << writers << " writers";
  }
}

// A record or a batch that is larger than a block has a run of its own, and asked nobody to reclaim:
// its writer slept until the background's next round, 50 ms later. A put of 300 KB took 3.4 ms.
TEST_F(PaceOfWriters, LargeRecordsAndBatchesAskForReclamation) {
  struct Passes : EventListener {
    void on_reclaim(const ReclaimEvent&) noexcept override { ++count; }
    std::atomic<int> count{0};
  };
  const std::string large(300'000, 'v');
  for (const bool in_batches : {false, true}) {
    const auto passes = std::make_shared<Passes>();
    StoreOptions options;
    options.listener = passes;
    std::filesystem::remove_all(scratch_.path("store"));
    auto store = open(options);
    const auto start = Clock::now();
    for (int i = 0; i < 400; ++i) {
      WriteBatch batch;
      batch.put("one", large), batch.put("two", large);
      ASSERT_TRUE(in_batches ? store.write(batch).has_value()
                             : store.put("hot", large).has_value());
    }
    const auto rounds = (Clock::now() - start) / std::chrono::milliseconds(50) + 1;
    ASSERT_TRUE(store.close());
    // On a machine that has little time for this, rounds come and go meanwhile.
    EXPECT_GT(passes->count, std::min<std::int64_t>(10 * rounds, 100))
        << "of its own accord the background does few in each of " << rounds << " rounds";
  }
}

// Every verb that opens runs pays for them, those that are called with a function, too; and the
// function is called once.
TEST_F(PaceOfWriters, EveryVerbIsSlowed) {
  auto store = open();
  std::string value(1'000, 'v');
  std::uint64_t used = 0, calls = 0, updates = 0;
  ASSERT_TRUE(store.put("hot", value));
  const int refused = overwrite(
      store, 1, 3,
      [&](unsigned, std::uint64_t i) {
        switch (i / 1'000 % 5) {
          case 0: return store.put("hot", value).has_value();
          case 1:
            ++updates;
            return store.update("hot", [&](std::string& old) { old[0] ^= 1, ++calls; }).has_value();
          case 2:
            ++updates;
            return store.update_word("hot", 8, [&](std::uint64_t word) { return ++calls, word; })
                .has_value();
          case 3: {
            WriteBatch batch;
            batch.put("hot", value), batch.put("hot2", value);
            return store.write(batch).has_value();
          }
          default: {
            const std::string_view keys[] = {"hot", "hot2"}, values[] = {value, value};
            return store.put_many(keys, values).has_value();
          }
        }
      },
      [&](const StoreStats& stats) { used = std::max(used, stats.used_bytes); });
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(calls, updates);
  EXPECT_LE(used, 4 * MiB + 4 * 1'088);
}

// Nobody reclaims, so each pause lasts 100 ms; the erases open some 400 runs.
TEST_F(PaceOfWriters, ErasesAreNotSlowed) {
  BusyPool busy;
  {
    StoreOptions options = tiny();
    options.background = true;
    options.background_pool = busy.pool();
    auto store = open(options);
    constexpr std::uint64_t kKeys = 50'000;
    const std::string value(200, 'v');
    for (std::uint64_t i = 0; i < kKeys; ++i)
      ASSERT_TRUE(store.put(key_of('k', i), value));
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < kKeys; ++i)
      ASSERT_TRUE(store.erase(key_of('k', i)).value());
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
    EXPECT_TRUE(ForTests::rooms(store).upkeep.pace.wants_pause()) << "a put would have been slowed";
    busy.end();  // A store that closes waits for its own rounds.
  }
}

// After a pass that gained nothing nobody was slowed, however long the next one took: 18 blocks
// beyond the limit on a busy machine, where snapshots came and went.
TEST_F(PaceOfWriters, APassInVainLetsThemTakeHalfAZone) {
  BusyPool busy;
  {
    StoreOptions options = tiny();
    options.background = true;
    options.background_pool = busy.pool();
    auto store = open(options);
    const std::string value(200, 'v');
    Pace& pace = ForTests::rooms(store).upkeep.pace;
    const auto overwrite_until_a_pause = [&] {
      for (std::uint64_t i = 0; i < 100'000 && !pace.wants_pause(); ++i) {
        ASSERT_TRUE(store.put(key_of('k', i % 1'000), value));
        ForTests::rooms(store).drain_notes();  // What is dead, and not noted, counts as live.
      }
      ASSERT_TRUE(pace.wants_pause());
    };
    overwrite_until_a_pause();
    constexpr std::uint64_t kZoneBlocks = 8;  // And a 128th of what lives, less than a block here.
    const std::uint64_t block = ForTests::table(store).geometry().block_bytes;
    for (int pass = 0; pass < 4; ++pass) {
      pace.begin_pass();
      pace.end_pass(0);
      EXPECT_FALSE(pace.wants_pause());
      const std::uint64_t before = store.stats().used_bytes;
      overwrite_until_a_pause();
      // The first of them begins below the limit, and ends at it.
      if (pass != 0) {
        EXPECT_LE(store.stats().used_bytes, before + (kZoneBlocks / 2 + 1) * block);
      }
    }
    busy.end();  // A store that closes waits for its own rounds.
  }
}

// What a block is worth is known at a glance: live_bytes() and open_runs() follow every step, over
// deaths, too, whose notes nobody applied.
class Books : public OnEveryPlace {
 protected:
  static void expect_exact(Store<>& store) {
    ASSERT_TRUE(ForTests::seal(store));
    ASSERT_TRUE(ForTests::seal_relocated(store));
    for (int i = 0; i < 3; ++i)  // Page regions: records, tails, words.
      ASSERT_TRUE(store.sync());
    ForTests::rooms(store).sessions.drain_notes();
    const BlockTable& table = ForTests::table(store);
    const auto totals = table.totals();
    EXPECT_EQ(table.live_bytes(), totals.live_bytes);
    EXPECT_EQ(table.open_runs(), totals.open_blocks);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Books, kEveryPlace, place_name);

TEST_P(Books, AreExactAfterEveryKindOfWriteAndOverADeath) {
  auto store = open();
  Random random(9);
  Contents expected;
  std::uint64_t live_bytes = 0;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 400; ++i) {
      const std::string key = "key" + std::to_string(random.below(300));
      switch (random.below(6)) {
        case 0: store.erase(key).value(), expected.erase(key); break;
        case 1: {
          WriteBatch batch;
          batch.put(key, expected[key] = text_of(i, 90));
          batch.erase("other"), expected.erase("other");
          ASSERT_TRUE(store.write(batch));
          break;
        }
        case 2: ASSERT_TRUE(store.put(key, expected[key] = text_of(i, 9'000))); break;
        default: ASSERT_TRUE(store.put(key, expected[key] = text_of(i, 150)));
      }
    }
    expect_exact(store);
    {
      const Snapshot snapshot = store.snapshot();
      for (int i = 0; i < 50; ++i)
        ASSERT_TRUE(
            store.put("key" + std::to_string(i), expected["key" + std::to_string(i)] = "s"));
    }
    ASSERT_TRUE(store.reclaim());
    expect_exact(store);
    // Some more, of which nobody has applied the notes when the process dies.
    for (int i = 0; i < 60; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), expected["key" + std::to_string(i)] = "d"));
    ASSERT_TRUE(store.sync());
    live_bytes = store.stats().live_bytes;
    ForTests::abandon(store);
    store = open(with_access(RegionAccess::kOpen));
    EXPECT_EQ(ForTests::table(store).live_bytes(), ForTests::table(store).totals().live_bytes);
    EXPECT_EQ(store.stats().live_bytes, live_bytes);
    expect_exact(store);
    expect_contents(store, expected);
  }
}

// Slowed writers and a full medium together: no two threads wait for each other, and what fits is
// not refused. 80 of the 123 blocks that puts may have live; at goal 1.05 writers are slowed before
// the medium is full, at 1.25 about then, and at 3 they find it full.
TEST(PaceAndFull, NobodyIsRefusedWhatFits) {
  for (const double goal : {1.05, 1.25, 3.0}) {
    const Scratch scratch = Scratch::tmpfs();
    StoreOptions options = tiny();
    options.max_bytes = 1 * MiB;
    options.background = true;
    options.reclaim.space_amplification = goal;
    auto store = Store<>::open(scratch.path("store") + "?granularity=line", options).value();
    constexpr std::uint64_t kWriters = 4, kKeys = 400;
    std::atomic<int> refused{0};
    std::vector<std::thread> writers;
    for (std::uint64_t w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, w] {
        Random random(w);
        for (std::uint64_t i = 0; i < 15'000; ++i) {
          const std::uint64_t key = w * kKeys + (i < kKeys ? i : random.below(kKeys));
          refused += !store.put(key_of('k', key), text_of(key, 300)).has_value();
        }
      });
    }
    for (auto& writer : writers)
      writer.join();
    EXPECT_EQ(refused, 0) << goal;
    EXPECT_EQ(store.count(), kWriters * kKeys);
    for (std::uint64_t i = 0; i < kWriters * kKeys; ++i)
      ASSERT_EQ(get(store, key_of('k', i)), text_of(i, 300)) << goal << ' ' << i;
  }
}

}  // namespace
}  // namespace holdfast::kv
