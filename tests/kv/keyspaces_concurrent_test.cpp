// Threads that use keyspaces beside others that drop them or write batches over several.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/space.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

std::string value_of(const Space& space) {
  std::string value;
  EXPECT_TRUE(space.get("key", value));
  return value;
}

class KeyspacesConcurrent : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, KeyspacesConcurrent, kEveryPlace, place_name);

// Each verb ends before the drop, or is refused.
TEST_P(KeyspacesConcurrent, WritersBesideADrop) {
  auto store = open();
  for (int round = 0; round < 5; ++round) {
    auto space = store.create_space("busy").value();
    std::vector<std::thread> writers;
    for (int w = 0; w < 3; ++w) {
      writers.emplace_back([&, w] {
        for (int i = 0;; ++i) {
          const auto put = space.put(std::to_string(w * 100'000 + i), text_of(i, 100));
          if (put) continue;
          EXPECT_EQ(put.code(), Errc::kClosed);
          break;
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(store.drop_space("busy"));
    for (std::thread& writer : writers)
      writer.join();
    EXPECT_TRUE(store.verify().ok());
  }
  EXPECT_TRUE(store.spaces().empty());
}

// What a verb is walking through stays until it has ended.
TEST_P(KeyspacesConcurrent, ADropWaitsForAWalk) {
  auto store = open();
  auto space = store.create_space("walked").value();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(space.put(std::to_string(i), text_of(i, 100)));
  std::atomic<int> seen{0};
  std::thread walker([&] {
    EXPECT_TRUE(space.for_each([&](std::string_view, std::string_view, Version) {
      if (++seen == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return true;
    }));
  });
  while (seen == 0)
    std::this_thread::yield();
  EXPECT_TRUE(store.drop_space("walked"));
  EXPECT_EQ(seen, 100);
  walker.join();
}

// Readers of two spaces see a batch in both or in none.
TEST_P(KeyspacesConcurrent, ABatchBecomesVisibleInAllAtOnce) {
  auto store = open();
  auto one = store.create_space("one").value(), two = store.create_space("two").value();
  const auto both = [&](int i) {
    WriteBatch batch;
    batch.put(one, "key", std::to_string(i));
    batch.put(two, "key", std::to_string(i));
    return store.write(batch);
  };
  ASSERT_TRUE(both(0));
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      // What is read later is not older.
      const int first = std::stoi(value_of(one));
      const int second = std::stoi(value_of(two));
      const int third = std::stoi(value_of(one));
      EXPECT_LE(first, second);
      EXPECT_LE(second, third);
    }
  });
  const int batches = paged() ? 200 : 5'000;
  for (int i = 1; i <= batches; ++i)
    ASSERT_TRUE(both(i));
  done = true;
  reader.join();
}

// Two writers of batches over two spaces and the store's own keys, and snapshots of all at one
// moment: each shows the same in all, twice.
TEST_P(KeyspacesConcurrent, SnapshotsOfSeveralBesideBatches) {
  StoreOptions options = tiny();
  options.background = true;
  auto store = open(options);
  const std::vector<Space> spaces{store.create_space("one").value(),
                                  store.create_space("two").value()};
  const auto write = [&](const std::string& key, int i) {
    const std::string value = std::to_string(i);
    WriteBatch batch;
    batch.put(key, value);
    batch.put(spaces[0], key, value);
    batch.put(spaces[1], key, value);
    return store.write(batch);
  };
  ASSERT_TRUE(write("a", 0));
  ASSERT_TRUE(write("b", 0));
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (const char* const key : {"a", "b"}) {
    writers.emplace_back([&, key] {
      for (int i = 1; !done; ++i)
        ASSERT_TRUE(write(key, i));
    });
  }
  const auto shows = [](const Snapshot& snapshot) {
    Contents contents;
    EXPECT_TRUE(snapshot.for_each([&](std::string_view key, std::string_view value, Version) {
      contents.emplace(key, value);
      return true;
    }));
    return contents;
  };
  const int rounds = paged() ? 50 : 500;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const auto taken = store.snapshots(spaces).value();
    const Contents first = shows(taken[0]);
    for (const Snapshot& snapshot : {std::cref(taken[1]), std::cref(taken[2]), std::cref(taken[0])})
      EXPECT_TRUE(shows(snapshot) == first) << "round " << round;
  }
  done = true;
  for (std::thread& writer : writers)
    writer.join();
  EXPECT_TRUE(store.verify().ok());
}

// Two writers of a space, by words and by groups, beside snapshots of it.
TEST_P(KeyspacesConcurrent, WordsAndGroupsOfTwoWriters) {
  StoreOptions options = with_words({0});
  options.background = true;
  auto store = open(options);
  auto space = store.create_space("counters").value();
  std::vector<std::string> keys;
  for (int i = 0; i < 50; ++i)
    keys.push_back("key" + std::to_string(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const std::string zeros(40, '\0');
  ASSERT_TRUE(space.put_many(views, std::vector<std::string_view>(keys.size(), zeros)));
  constexpr std::uint64_t kRounds = 200;
  std::atomic<int> writing{2};
  std::vector<std::thread> writers;
  for (int w = 0; w < 2; ++w) {
    writers.emplace_back([&, w] {
      std::vector<Errc> outcomes(keys.size());
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        const auto add = [](std::uint64_t word) { return word + 1; };
        EXPECT_TRUE(space.update_word(keys[i % keys.size()], 0, add));
        EXPECT_TRUE(space.update_word_many(
            views, 0, [](std::size_t, std::uint64_t word) { return word + 1; }, outcomes));
        const std::string own = "own" + std::to_string(w);
        EXPECT_TRUE(space.put_many(std::vector<std::string_view>{own},
                                   std::vector<std::string_view>{"value"}));
        std::vector<Errc> outcome(1);
        EXPECT_TRUE(space.erase_many(std::vector<std::string_view>{own}, outcome));
        EXPECT_EQ(outcome[0], Errc::kOk);
      }
      --writing;
    });
  }
  const auto sum_of = [](const Snapshot& snapshot) {
    std::uint64_t sum = 0;
    EXPECT_TRUE(snapshot.for_each([&](std::string_view key, std::string_view value, Version) {
      std::uint64_t word = 0;
      if (key.starts_with("key")) std::memcpy(&word, value.data(), sizeof word);
      sum += word;
      return true;
    }));
    return sum;
  };
  while (writing != 0) {
    const Snapshot snapshot = space.snapshot();
    const std::uint64_t first = sum_of(snapshot);
    EXPECT_EQ(sum_of(snapshot), first);
  }
  for (std::thread& writer : writers)
    writer.join();
  EXPECT_EQ(sum_of(space.snapshot()), 2 * kRounds * (keys.size() + 1));
  EXPECT_EQ(space.count(), keys.size());
  EXPECT_TRUE(store.verify().ok());
}

// A drop waits for the walk, and the walk waited for the drop: for the lock of the names.
TEST_P(KeyspacesConcurrent, AWalkOpensASpaceBesideDrops) {
  auto store = open();
  auto walked = store.create_space("walked").value();
  ASSERT_TRUE(store.create_space("opened"));
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(walked.put(std::to_string(i), "value"));
  std::atomic<bool> stop{false};
  std::atomic<int> walks{0};
  std::thread walker([&] {
    for (; !stop; ++walks) {
      EXPECT_TRUE(walked.for_each([&](std::string_view, std::string_view, Version) {
        EXPECT_TRUE(store.space("opened"));
        EXPECT_FALSE(store.spaces().empty());
        return true;
      }));
    }
  });
  for (int round = 0; round < 200 || walks < 3; ++round) {
    EXPECT_TRUE(store.create_space("dropped"));
    EXPECT_TRUE(store.drop_space("dropped"));
  }
  stop = true;
  walker.join();
}

// A checkpoint waits for the change, and the change waited for the checkpoint.
TEST_P(KeyspacesConcurrent, AChangeOpensASpaceBesideCheckpoints) {
  auto store = open();
  auto space = store.create_space("read").value();
  ASSERT_TRUE(space.put("key", "of the space"));
  ASSERT_TRUE(store.put("key", ""));
  std::atomic<bool> stop{false};
  std::atomic<int> updates{0};
  std::thread updater([&] {
    for (; !stop; ++updates) {
      const auto change = [&](std::string& value) {
        EXPECT_TRUE(store.space("read").value().get("key", value));
      };
      EXPECT_TRUE(store.update("key", change));
      // Paced: what the mark holds may not fill the small region.
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  for (int round = 0; round < 50 || updates < 3; ++round) {
    EXPECT_TRUE(store.checkpoint());
    EXPECT_TRUE(store.mark());
  }
  stop = true;
  updater.join();
  EXPECT_EQ(get(store, "key"), "of the space");
}

// An append that begins the pieces is in a verb of its keyspace, which a drop waits for; a rule is
// put by the same lock that the drop has.
TEST_P(KeyspacesConcurrent, TheFirstPieceBesideADropAndARule) {
  const std::string long_value(3'000, 'x');
  for (int round = 0; round < 30; ++round) {
    auto store = open(tiny(), "store" + std::to_string(round));
    auto space = store.create_space("grown").value();
    ASSERT_TRUE(store.create_space("dropped"));
    std::thread grower([&] {
      for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(space.append("key", long_value));
    });
    std::thread ruler([&] { EXPECT_TRUE(store.expire({.prefix = "e", .ttl = 1})); });
    EXPECT_TRUE(store.drop_space("dropped"));
    grower.join();
    ruler.join();
  }
}

// One that is refused, since a snapshot is open, refused everybody else meanwhile.
TEST_P(KeyspacesConcurrent, ARefusedDropRefusesNobody) {
  auto store = open();
  auto space = store.create_space("kept").value();
  ASSERT_TRUE(space.put("key", "value"));
  const Snapshot snapshot = space.snapshot();
  std::atomic<bool> stop{false};
  std::thread dropper([&] {
    while (!stop)
      EXPECT_EQ(store.drop_space("kept").code(), Errc::kBusy);
  });
  for (int i = 0; i < 2'000; ++i)
    EXPECT_TRUE(space.put(std::to_string(i % 50), "value"));
  stop = true;
  dropper.join();
}

// A group of puts fills its run, which is sealed then, before it publishes them: "an older version".
TEST_P(KeyspacesConcurrent, VerificationBesideGroupsFindsNoDamage) {
  StoreOptions options = tiny();
  options.max_bytes = 1 * MiB;  // What a round reads must not grow by how long the last one took.
  auto store = open(options);
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i)
    names.push_back("key" + std::to_string(i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  const std::vector<std::string_view> values(keys.size(), "value");
  std::atomic<bool> stop{false};
  std::atomic<int> groups{0};
  std::thread writer([&] {
    while (!stop) {
      const auto put = store.put_many(keys, values);
      ASSERT_TRUE(put) << put.error().message();
      ++groups;
    }
  });
  // A writer that has failed is not waited for.
  for (int round = 0; (round < 300 || groups < 300) && !HasFatalFailure(); ++round) {
    const auto report = store.verify();
    EXPECT_TRUE(report.ok()) << report.defects[0].what;
    if (round % 16 == 0) {
      EXPECT_TRUE(store.reclaim());
    }
  }
  stop = true;
  writer.join();
}

// What stats() reads is being written where a run is opened or freed, and where a keyspace takes the
// place of one that was dropped. For ThreadSanitizer.
TEST_P(KeyspacesConcurrent, StatsAndCheckpointsBesideWritersAndDrops) {
  StoreOptions options = tiny();
  options.order = true;
  auto store = open(options);
  auto space = store.create_space("written").value();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !stop; ++i)
      ASSERT_TRUE(space.put(std::to_string(i % 200), text_of(i, i % 50 == 0 ? 9'000 : 300)));
  });
  std::thread reader([&] {
    while (!stop) {
      const SpaceStats stats = space.stats();
      EXPECT_LE(stats.records, 200u);
      EXPECT_GE(store.stats().dram_index_bytes, stats.dram_index_bytes);
    }
  });
  std::vector<std::byte> bytes;
  for (int round = 0; round < 20; ++round) {
    auto other = store.create_space("dropped").value();
    EXPECT_TRUE(other.put("key", "value"));
    EXPECT_TRUE(store.drop_space("dropped"));
    const auto checkpoint = store.checkpoint().value();
    std::thread reclaimer([&] { EXPECT_TRUE(store.reclaim()); });
    for (std::size_t i = 0; i < checkpoint.runs().size(); ++i) {
      bytes.resize(checkpoint.runs()[i].bytes);
      EXPECT_TRUE(checkpoint.read(i, bytes));
    }
    reclaimer.join();
  }
  stop = true;
  writer.join();
  reader.join();
  EXPECT_TRUE(store.verify().ok());
}

}  // namespace
}  // namespace holdfast::kv
