// The offset map under several threads. Run these under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <holdfast/index/offset_map.hpp>

namespace holdfast::index {
namespace {

constexpr bool kSlow =
#ifdef HF_TSAN
    true;
#else
    false;
#endif
constexpr std::uint64_t kScale = kSlow ? 1 : 8;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  return x ^ x >> 32;
}
// Few partitions and few tags, so that threads meet in homes, guests are many and tables grow
// often.
std::uint64_t crowded(std::uint64_t key) {
  const std::uint64_t hash = mixed(key);
  return (hash & 3) << 54 | (hash >> 8 & 0xfff) << 42;
}

auto is(std::uint64_t key) {
  return [key](Line line) { return line.number >> 8 == key; };
}
Line line_of_key(std::uint64_t key, std::uint64_t version) {
  return Line{key << 8 | (version & 0xff)};
}

struct Session {
  explicit Session(EpochDomain& d, OffsetMap& m) : domain(d), map(m), participant(d.join()) {}

  void put(std::uint64_t key, std::uint64_t version) {
    const std::uint64_t hash = crowded(key);
    const auto guard = domain.enter(participant);
    for (;;) {
      auto home = map.latch(hash);
      Entry entry = home.find(is(key));
      if (!entry) entry = home.claim();
      if (entry) return home.replace(entry, line_of_key(key, version));
      home.release();
      ASSERT_TRUE(map.grow(hash));
    }
  }
  bool erase(std::uint64_t key) {
    const auto guard = domain.enter(participant);
    auto home = map.latch(crowded(key));
    const Entry entry = home.find(is(key));
    if (entry) home.remove(entry);
    return static_cast<bool>(entry);
  }
  Line get(std::uint64_t key) {
    const auto guard = domain.enter(participant);
    return map.find(crowded(key), is(key));
  }

  EpochDomain& domain;
  OffsetMap& map;
  EpochDomain::Participant participant;
};

class OffsetMapConcurrent : public testing::TestWithParam<AsymmetricFence::Kind> {};

// Half of the keys stay, with versions that only rise; others come and go around them and make the
// tables grow, guests appear and vanish, and entries be claimed and given back.
TEST_P(OffsetMapConcurrent, ReadersMissNoKeyThatIsPresentThroughoutAndSeeItsVersionsInOrder) {
  EpochDomain domain(GetParam());
  auto map = OffsetMap::create(domain).value();
  constexpr std::uint64_t kStaying = 2'000, kPassing = 20'000;
  Session setup(domain, *map);
  for (std::uint64_t key = 1; key <= kStaying; ++key)
    setup.put(key, 0);

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> missed{0}, backwards{0}, reads{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      Session session(domain, *map);
      std::mt19937_64 random(t);
      std::vector<std::uint64_t> seen(kStaying + 1);
      while (!stop.load(std::memory_order_relaxed) || reads == 0) {
        const std::uint64_t key = random() % kStaying + 1;
        const Line line = session.get(key);
        missed += !line;
        const std::uint64_t version = line.number & 0xff;
        backwards += version < seen[key];
        seen[key] = version;
        ++reads;
      }
    });
  }
  std::vector<std::thread> writers;
  for (unsigned t = 0; t < 2; ++t) {
    writers.emplace_back([&, t] {
      Session session(domain, *map);
      std::mt19937_64 random(100 + t);
      for (std::uint64_t round = 1; round <= 2 * kScale; ++round) {
        for (std::uint64_t i = 0; i < kPassing; ++i) {
          const std::uint64_t passing =
              kStaying + 1 + (random() % kPassing) * 2 + t;  // Each thread's own.
          if (random() % 3 != 0) {
            session.put(passing, round);
          } else {
            session.erase(passing);
          }
          // Versions of a key come from one thread.
          const std::uint64_t staying = (random() % (kStaying / 2)) * 2 + 1 + t;
          if (i % 16 == 0) session.put(staying, round);
        }
      }
    });
  }
  for (auto& writer : writers)
    writer.join();
  stop = true;
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(missed, 0u);
  EXPECT_EQ(backwards, 0u);
  EXPECT_GT(map->rehashes(), 10u);
}

TEST_P(OffsetMapConcurrent, WritersOfDisjointKeysEndWithWhatEachOfThemWrote) {
  EpochDomain domain(GetParam());
  auto map = OffsetMap::create(domain).value();
  constexpr unsigned kThreads = 4;
  constexpr std::uint64_t kKeys = 6'000;
  std::vector<std::vector<std::uint64_t>> models(kThreads, std::vector<std::uint64_t>(kKeys));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Session session(domain, *map);
      std::mt19937_64 random(t);
      for (std::uint64_t i = 0; i < 20'000 * kScale; ++i) {
        const std::uint64_t own = random() % kKeys, key = own * kThreads + t + 1,
                            version = random() % 255 + 1;
        if (random() % 3 != 0) {
          session.put(key, version);
          models[t][own] = version;
        } else {
          EXPECT_EQ(session.erase(key), models[t][own] != 0);
          models[t][own] = 0;
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  Session session(domain, *map);
  std::uint64_t expected = 0;
  for (unsigned t = 0; t < kThreads; ++t) {
    for (std::uint64_t own = 0; own < kKeys; ++own) {
      const std::uint64_t key = own * kThreads + t + 1, version = models[t][own];
      ASSERT_EQ(session.get(key), version == 0 ? kNoLine : line_of_key(key, version));
      expected += version != 0;
    }
  }
  EXPECT_EQ(map->size(), expected);
}

// One key, many threads: the latch makes read-modify-write exact.
TEST_P(OffsetMapConcurrent, IncrementsUnderTheLatchAreNeverLost) {
  EpochDomain domain(GetParam());
  auto map = OffsetMap::create(domain).value();
  constexpr std::uint64_t kCounters = 4, kEach = 5'000 * kScale;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Session session(domain, *map);
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::uint64_t counter = (i + t) % kCounters, hash = counter % 2 << 40;  // Two homes.
        const auto mine = [&](Line line) { return line.number >> 32 == counter + 1; };
        const auto guard = domain.enter(session.participant);
        auto home = map->latch(hash);
        if (const Entry entry = home.find(mine)) {
          home.replace(entry, Line{home.line(entry).number + 1});
        } else {
          ASSERT_TRUE(home.insert(Line{(counter + 1) << 32 | 1}));
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  Session session(domain, *map);
  std::uint64_t sum = 0;
  for (std::uint64_t counter = 0; counter < kCounters; ++counter) {
    const auto guard = domain.enter(session.participant);
    sum += map->find(counter % 2 << 40, [&](Line line) { return line.number >> 32 == counter + 1; })
               .number &
           0xffffffff;
  }
  EXPECT_EQ(sum, 3 * kEach);
}

// Transfers between two to six accounts at once, in every order: no deadlock, nothing lost. Other
// threads insert, so that tables grow under the batches.
TEST_P(OffsetMapConcurrent, BatchesLatchInOneOrderAndAreExclusive) {
  EpochDomain domain(GetParam());
  auto map = OffsetMap::create(domain).value();
  constexpr std::uint64_t kAccounts = 40, kStart = 1'000'000;
  const auto account = [](std::uint64_t i) {
    return [i](Line line) { return line.number >> 32 == i + 1; };
  };
  {
    Session session(domain, *map);
    const auto guard = domain.enter(session.participant);
    for (std::uint64_t i = 0; i < kAccounts; ++i) {
      while (!map->latch(crowded(i)).insert(Line{(i + 1) << 32 | kStart}))
        ASSERT_TRUE(map->grow(crowded(i)));
    }
  }
  const std::uint64_t rehashes = map->rehashes();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Session session(domain, *map);
      OffsetMap::LatchedMany many;
      std::mt19937_64 random(t);
      // Until the grower has had a turn: on a busy machine the batches are over before it starts.
      for (std::uint64_t round = 0; round < 3'000 * kScale || map->rehashes() == rehashes;
           ++round) {
        std::vector<std::uint64_t> accounts, hashes;
        for (std::uint64_t i = 0, n = random() % 5 + 2; i < n; ++i)
          accounts.push_back(random() % kAccounts);
        std::sort(accounts.begin(), accounts.end());
        accounts.erase(std::unique(accounts.begin(), accounts.end()), accounts.end());
        std::shuffle(accounts.begin(), accounts.end(), random);
        for (const std::uint64_t i : accounts)
          hashes.push_back(crowded(i));
        const auto guard = domain.enter(session.participant);
        many.acquire(*map, hashes);
        ASSERT_EQ(many.size(), hashes.size());
        // The first pays one to each of the others.
        for (std::size_t k = 0; k < accounts.size(); ++k) {
          const Entry entry = many[k].find(account(accounts[k]));
          ASSERT_TRUE(entry);
          const std::uint64_t balance = OffsetMap::Home::line(entry).number;
          many[k].replace(entry, Line{k == 0 ? balance - (accounts.size() - 1) : balance + 1});
        }
        many.release();
      }
    });
  }
  std::thread grower([&] {
    Session session(domain, *map);
    for (std::uint64_t key = 1 << 20; !stop.load(); ++key)
      session.put(key, 1);
  });
  for (auto& thread : threads)
    thread.join();
  stop = true;
  grower.join();
  Session session(domain, *map);
  const auto guard = domain.enter(session.participant);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kAccounts; ++i)
    sum += map->find(crowded(i), account(i)).number & 0xffffffff;
  EXPECT_EQ(sum, kAccounts * kStart);
}

// A scan while others write sees every key that stays, once.
TEST_P(OffsetMapConcurrent, ScansSeeEachStayingKeyOnce) {
  EpochDomain domain(GetParam());
  auto map = OffsetMap::create(domain).value();
  constexpr std::uint64_t kStaying = 3'000;
  Session setup(domain, *map);
  for (std::uint64_t key = 1; key <= kStaying; ++key)
    setup.put(key, 1);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    Session session(domain, *map);
    for (std::uint64_t i = 0; !stop.load(); ++i) {
      session.put(kStaying + 1 + i % 30'000, i);
      if (i % 5 == 0) session.erase(kStaying + 1 + (i * 7) % 30'000);
    }
  });
  // Until tables have grown many times beside the scans.
  for (int scan = 0; scan < 20 || map->rehashes() < 60; ++scan) {
    std::vector<unsigned> seen(kStaying + 1);
    for (std::uint32_t p = 0; p < map->partitions(); ++p) {
      const auto guard = domain.enter(setup.participant);
      map->for_each(p, [&](Line line) {
        if (line.number >> 8 <= kStaying) ++seen[line.number >> 8];
        return true;
      });
    }
    for (std::uint64_t key = 1; key <= kStaying; ++key)
      ASSERT_EQ(seen[key], 1u) << "key=" << key;
  }
  stop = true;
  writer.join();
}

TEST_P(OffsetMapConcurrent, ThePatchMarkIsSeenInTheCurrentTableAfterGrowth) {
  EpochDomain domain(GetParam());
  auto map = OffsetMap::create(domain).value();
  Session session(domain, *map);
  session.put(1, 1);
  const std::uint64_t hash = crowded(1);
  std::atomic<std::uint64_t> word{0}, durable{0};
  std::atomic<bool> stop{false};
  std::thread patcher([&] {
    Session own(domain, *map);
    for (std::uint64_t value = 1; value <= 3'000 * kScale || map->rehashes() < 60; ++value) {
      const auto guard = domain.enter(own.participant);
      auto home = map->latch(hash);
      home.set_patching(true);
      word.store(value, std::memory_order_release);
      durable.store(value, std::memory_order_release);  // Stands for the fence.
      home.set_patching(false);
    }
    stop = true;
  });
  std::thread grower([&] {
    Session own(domain, *map);
    for (std::uint64_t key = 2; !stop.load(); ++key)
      own.put(key % 50'000 + 2, 1);
  });
  std::uint64_t undetected = 0;
  while (!stop.load()) {
    const auto guard = domain.enter(session.participant);
    const std::uint64_t value = word.load(std::memory_order_acquire);
    if (!map->patching(hash)) undetected += durable.load(std::memory_order_acquire) < value;
  }
  patcher.join();
  grower.join();
  EXPECT_EQ(undetected, 0u);
}

INSTANTIATE_TEST_SUITE_P(Fences, OffsetMapConcurrent,
                         testing::Values(AsymmetricFence::Kind::kAuto,
                                         AsymmetricFence::Kind::kSymmetric),
                         [](const auto& fences) {
                           return fences.param == AsymmetricFence::Kind::kAuto ? "Asymmetric"
                                                                               : "Symmetric";
                         });

}  // namespace
}  // namespace holdfast::index
