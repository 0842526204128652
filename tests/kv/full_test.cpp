// A medium of fixed size under writers that outrun reclamation: a writer that finds it full makes
// room itself. kNoSpace says that what lives does not fit.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/space.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class Full : public OnEveryPlace {
 protected:
  static constexpr std::uint64_t kBytes = 1 * MiB;

  // 128 blocks of 8 KiB: one is the table, four are kept for reclamation.
  static StoreOptions fixed(bool background) {
    StoreOptions options = tiny();
    options.max_bytes = kBytes;
    options.background = background;
    options.sync_interval_ms = 1;
    return options;
  }
  // Of records of 384 bytes as these tests write them, 20 in a block.
  static std::string value(std::uint64_t seed) { return text_of(seed, 320); }
  static std::string key(std::uint64_t number) { return "key" + std::to_string(number); }
  // Over the death of the process, too.
  void expect_nothing_lost(Store<>& store, const StoreOptions& options, const Contents& expected) {
    expect_contents(store, expected);
    ForTests::abandon(store);
    store = open(with_access(RegionAccess::kOpen, options));
    expect_contents(store, expected);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Full, kEveryPlace, place_name);

// Live records take 80 of the 123 blocks that puts may have; ten times as much is written.
TEST_P(Full, OverwritesAreNeverRefused) {
  for (const bool background : {false, true}) {
    std::filesystem::remove_all(scratch_.path("store"));
    const StoreOptions options = fixed(background);
    auto store = open(options);
    Contents expected;
    Random random(7);
    for (std::uint64_t i = 0; i < 16'000; ++i) {
      const std::string k = key(i < 1'600 ? i : random.below(1'600));
      const auto put = store.put(k, expected[k] = value(i));
      ASSERT_TRUE(put) << i << ": " << put.error().message();
    }
    EXPECT_LE(store.stats().medium_bytes, kBytes);
    expect_nothing_lost(store, options, expected);
  }
}

// While a snapshot is open every tombstone stays, and each pass comes to a run for which there is
// no room: what it copied of that in vain is no gain of the next pass.
TEST_P(Full, WritersUnderASnapshotAreRefusedInTheEnd) {
  StoreOptions options = tiny();
  options.max_bytes = 128 * KiB;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::filesystem::remove_all(scratch_.path("store"));
    auto store = open(options);
    Contents expected;
    Random random(seed);
    const auto snapshot = store.snapshot();
    for (int refused = 0; refused < 20;) {
      const std::string k = key(random.below(300));
      if (random.below(2) == 0) {
        const auto erased = store.erase(k);
        refused += !erased;
        if (erased) expected.erase(k);
        continue;
      }
      const std::string v = text_of(random.below(1000), random.below(200));
      const auto put = store.put(k, v);
      refused += !put;
      if (put) expected[k] = v;
    }
    EXPECT_EQ(snapshot.count(), 0u);
    expect_contents(store, expected);
  }
}

// A value of several blocks needs them side by side. What one pass puts together the next one breaks.
TEST_P(Full, LargeValuesAreRefusedInTheEnd) {
  StoreOptions options = tiny();
  options.max_bytes = 256 * KiB;
  for (std::uint64_t seed = 150; seed < 190; ++seed) {
    std::filesystem::remove_all(scratch_.path("store"));
    auto store = open(options);
    Contents expected;
    Random random(seed);
    for (std::uint64_t i = 0; i < 400; ++i) {
      const std::string k = key(random.below(60));
      if (random.below(5) == 0) {
        if (store.erase(k)) expected.erase(k);
        continue;
      }
      const bool large = random.below(20) == 0;
      const std::string v =
          text_of(i, large ? 8 * KiB * (1 + random.below(12)) : random.below(3000));
      const auto put = store.put(k, v);
      if (put) expected[k] = v;
      ASSERT_TRUE(put || put.code() == Errc::kNoSpace) << put.error().message();
    }
    expect_contents(store, expected);
  }
}

// An append whose piece finds the last block and whose record then finds none came back for ever:
// its piece was room for the next attempt.
TEST_P(Full, AnAppendInPiecesIsRefusedInTheEnd) {
  for (const std::uint64_t keys : {50, 100, 1'000}) {
    std::filesystem::remove_all(scratch_.path("store"));
    StoreOptions options;
    options.max_bytes = 8 * MiB;
    options.background = false;
    options.sync_interval_ms = 1;
    auto store = open(options);
    Random random(1);
    Contents expected;
    Errc refused{};
    for (int i = 0; i < 100'000 && refused == Errc{}; ++i) {
      const std::string k = key(random.below(keys)), more(50 + random.below(500), 'a');
      const auto appended = store.append(k, more);
      if (appended)
        expected[k] += more;
      else
        refused = appended.code();
    }
    EXPECT_EQ(refused, Errc::kNoSpace);
    EXPECT_GT(store.stats().live_bytes, 5 * MiB) << keys << " keys";
    expect_nothing_lost(store, options, expected);
    for (const auto& [k, value] : expected)
      ASSERT_TRUE(store.erase(k)) << k;
    EXPECT_TRUE(store.append(key(0), "again"));
  }
}

TEST_P(Full, NoVerbTakesTheBlocksThatAreKeptForErases) {
  const StoreOptions options = fixed(false);
  constexpr std::uint64_t kKeys = 300;
  using Verb = std::function<Errc(Store<>&, const std::string& key, const std::string& more)>;
  const std::pair<const char*, Verb> verbs[] = {
      {"append", [](auto& store, auto& key, auto& more) { return store.append(key, more).code(); }},
      {"update",
       [](auto& store, auto& key, auto& more) {
         return store.update(key, [&](std::string& value) { value += more; }).code();
       }},
      {"update_many",
       [](auto& store, auto& key, auto& more) {
         const std::string_view keys[] = {key};
         Errc outcome[1];
         return store
             .update_many(
                 keys, [&](std::size_t, std::string& value) { value += more; }, outcome)
             .code();
       }},
      {"put_if_absent", [&](auto& store, auto&, auto& more) {
         return store.put_if_absent("more" + std::to_string(store.count()), more).code();
       }}};
  for (const auto& [name, verb] : verbs) {
    std::filesystem::remove_all(scratch_.path("store"));
    auto store = open(options);
    ASSERT_TRUE(store.set_clock(1));
    for (std::uint64_t i = 0; i < kKeys; ++i)
      ASSERT_TRUE(store.put(key(i), "12345678"));
    Random random(1);
    Errc outcome{};
    for (int i = 0; i < 1'000'000 && outcome != Errc::kNoSpace; ++i)
      outcome = verb(store, key(random.below(kKeys)), std::string(20 + random.below(100), 'a'));
    ASSERT_EQ(outcome, Errc::kNoSpace) << name;
    EXPECT_TRUE(store.set_clock(2)) << name;
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const auto erased = store.erase(key(i));
      ASSERT_TRUE(erased) << name << ", erase " << i << ": " << erased.error().message();
    }
    EXPECT_TRUE(store.set_clock(3)) << name;
  }
}

// What lives in them needs blocks side by side, of which there are none, and so many are dead in
// them that they come first: a pass ended at the first of them, and nothing else was moved.
TEST_P(Full, RunsThatFindNoPlaceDoNotKeepOthersFromTheirTurn) {
  StoreOptions options = fixed(false);
  options.max_bytes = 4 * MiB;
  auto store = open(options);
  constexpr int kBatches = 18;  // More than the victims of a pass.
  for (int i = 0; i < kBatches; ++i) {
    WriteBatch batch;
    batch.put("stays" + std::to_string(i), std::string(40'000, 's'));
    batch.put("goes" + std::to_string(i), std::string(30'000, 'g'));
    ASSERT_TRUE(store.write(batch));
  }
  std::uint64_t records = 0;
  while (store.put(key(records), value(records)))
    ++records;
  for (int i = 0; i < kBatches; ++i)
    ASSERT_TRUE(store.erase("goes" + std::to_string(i)));
  for (std::uint64_t i = 0; i < records; ++i) {
    if (i % 4 != 0) continue;
    ASSERT_TRUE(store.erase(key(i))) << i << " of " << records;
  }
  for (std::uint64_t i = 0; i < records / 8; ++i)
    ASSERT_TRUE(store.put("again" + std::to_string(i), value(i))) << i << " of " << records / 8;
}

// A store that may grow has room for them: for a while no free block counted as no room.
TEST_P(Full, RunsOfBatchesAreEmptiedWhereTheStoreMayGrow) {
  StoreOptions options = fixed(false);
  options.max_bytes = 64 * MiB;
  auto store = open(options);
  constexpr int kBatches = 40;
  for (int i = 0; i < kBatches; ++i) {
    WriteBatch batch;
    batch.put("stays" + std::to_string(i), std::string(50'000, 's'));
    batch.put("goes" + std::to_string(i), std::string(100'000, 'g'));
    ASSERT_TRUE(store.write(batch));
  }
  for (int i = 0; i < kBatches; ++i)
    ASSERT_TRUE(store.erase("goes" + std::to_string(i)));
  // What is free are a few blocks, of which a batch's living record needs seven side by side.
  for (std::uint64_t i = 0; store.stats().free_blocks > 5; ++i)
    ASSERT_TRUE(store.put(key(i), value(i)));
  ASSERT_TRUE(store.reclaim());
  const auto stats = store.stats();
  EXPECT_LT(stats.used_bytes, 2 * kBatches * 50'000u) << "of " << kBatches * 150'000;
}

// What is held is named, since erases free nothing then.
TEST_P(Full, ACheckpointIsNamedWhereItHoldsWhatWouldMakeRoom) {
  auto store = open(fixed(false));
  std::uint64_t records = 0;
  while (store.put(key(records), value(records)))
    ++records;
  const auto checkpoint = store.checkpoint().value();
  Errc outcome{};
  std::string why;
  for (std::uint64_t i = 0; i < records && outcome != Errc::kNoSpace; ++i) {
    const auto put = store.put(key(i), value(i + 1));
    outcome = put.code();
    if (!put) why = put.error().detail;
  }
  ASSERT_EQ(outcome, Errc::kNoSpace);
  EXPECT_NE(why.find("; checkpoints or pinned values hold runs"), std::string::npos) << why;
}

TEST_P(Full, ErasesOfManyKeyspacesGoThrough) {
  const StoreOptions options = fixed(false);
  auto store = open(options);
  constexpr std::uint64_t kSpaces = 6;
  std::vector<Space> spaces;
  for (std::uint64_t i = 0; i < kSpaces; ++i)
    spaces.push_back(store.create_space("space" + std::to_string(i)).value());
  std::uint64_t records = 0;
  while (spaces[records % kSpaces].put(key(records), value(records)))
    ++records;
  Random random(3);
  for (std::uint64_t i = 0; i < records; ++i) {
    if (random.below(5) == 0) continue;
    const auto erased = spaces[i % kSpaces].erase(key(i));
    ASSERT_TRUE(erased) << i << " of " << records << ": " << erased.error().message();
  }
  EXPECT_TRUE(spaces[0].put("again", value(1)));
  EXPECT_TRUE(store.drop_space("space5"));
}

TEST_P(Full, SeveralWritersHelpOneAnother) {
  const StoreOptions options = fixed(true);
  auto store = open(options);
  constexpr std::uint64_t kWriters = 4, kKeys = 350;
  std::vector<Contents> models(kWriters);
  std::vector<std::thread> writers;
  std::atomic<int> refused{0};
  for (std::uint64_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      Random random(w);
      for (std::uint64_t i = 0; i < (paged() ? 2'000u : 6'000u); ++i) {
        const std::string k = key(w * kKeys + random.below(kKeys));
        if (random.below(8) == 0) {
          refused += !store.erase(k).has_value();
          models[w].erase(k);
        } else {
          models[w][k] = value(i * kWriters + w);
          refused += !store.put(k, models[w][k]).has_value();
        }
      }
    });
  }
  for (auto& writer : writers)
    writer.join();
  EXPECT_EQ(refused, 0);
  Contents expected;
  for (const Contents& model : models)
    expected.insert(model.begin(), model.end());
  expect_nothing_lost(store, options, expected);
}

TEST_P(Full, EveryVerbMakesRoomForItself) {
  const StoreOptions options = fixed(false);
  auto store = open(options);
  Contents expected;
  Random random(11);
  for (std::uint64_t i = 0; i < 1'400; ++i)
    ASSERT_TRUE(store.put(key(i), expected[key(i)] = value(i)));
  for (std::uint64_t i = 0; i < 12'000; ++i) {
    const std::uint64_t number = random.below(1'400);
    const std::string k = key(number), v = value(i + 10'000);
    switch (random.below(6)) {
      case 0: ASSERT_TRUE(store.put(k, v)) << i; break;
      case 1: ASSERT_TRUE(store.update(k, [&](std::string& old) { old = v; })) << i; break;
      case 2: {
        std::uint64_t word;
        std::memcpy(&word, v.data() + 8, 8);
        ASSERT_TRUE(store.update_word(k, 8, [&](std::uint64_t) { return word; })) << i;
        expected[k].replace(8, 8, v, 8, 8);
        continue;
      }
      case 3: {
        ASSERT_TRUE(store.erase(k).value()) << i;
        ASSERT_TRUE(store.put_if_absent(k, v)) << i;
        break;
      }
      case 4: {
        WriteBatch batch;
        for (std::uint64_t j = 0; j < 30; ++j)
          batch.put(key((number + j) % 1'400), expected[key((number + j) % 1'400)] = value(i * j));
        ASSERT_TRUE(store.write(batch)) << i;
        continue;
      }
      default: {
        std::vector<std::string> keys, values;
        for (std::uint64_t j = 0; j < 70; ++j) {
          keys.push_back(key((number + j) % 1'400));
          values.push_back(expected[keys.back()] = value(i + j));
        }
        const std::vector<std::string_view> k_views(keys.begin(), keys.end()),
            v_views(values.begin(), values.end());
        ASSERT_TRUE(store.put_many(k_views, v_views)) << i;
        continue;
      }
    }
    expected[k] = v;
  }
  expect_nothing_lost(store, options, expected);
}

// Puts of new keys until they are refused, over records that die meanwhile: then nine tenths of
// what puts may have are alive, and what was refused is not there.
TEST_P(Full, NoSpaceMeansThatWhatLivesDoesNotFit) {
  const StoreOptions options = fixed(false);
  auto store = open(options);
  Contents expected;
  Random random(3);
  for (std::uint64_t i = 0;; ++i) {
    ASSERT_LT(i, 100'000u);
    const bool fresh = random.below(3) == 0 || expected.empty();
    const std::string k = key(fresh ? i : random.below(i));
    if (!fresh && !expected.contains(k)) continue;
    const auto put = store.put(k, value(i));
    if (!put) {
      EXPECT_EQ(put.code(), Errc::kNoSpace);
      EXPECT_TRUE(mentions(put.error(), "max_bytes")) << put.error().detail;
      break;
    }
    expected[k] = value(i);
  }
  const std::uint64_t for_puts = (128 - 1 - 4) * options.block_bytes;
  EXPECT_GE(store.stats().live_bytes, for_puts * 85 / 100) << store.stats().live_bytes;
  expect_nothing_lost(store, options, expected);
  // Room for so much more as is erased, without anybody calling reclaim().
  std::uint64_t erased = 0;
  for (auto it = expected.begin(); erased < 300; ++erased) {
    ASSERT_TRUE(store.erase(it->first).value()) << erased;
    it = expected.erase(it);
  }
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::string k = "again" + std::to_string(i);
    const auto put = store.put(k, expected[k] = value(i));
    ASSERT_TRUE(put) << i << ": " << put.error().message();
  }
  expect_contents(store, expected);
}

// Threads that came and went left open blocks; all that is in them was overwritten since.
// KV-11: the close of a full store has no room for the index. The next open rebuilds it, and says so.
TEST_P(Full, ClosesWithoutAnIndexAndTheNextOpenSaysSo) {
  const StoreOptions options = fixed(false);
  Contents expected;
  {
    auto store = open(options);
    for (std::uint64_t i = 0;; ++i) {
      const auto put = store.put(key(i), value(i));
      if (!put) break;
      expected[key(i)] = value(i);
    }
    ASSERT_GT(expected.size(), 1'000u);
    ASSERT_TRUE(store.close());
  }
  auto store = open(with_access(RegionAccess::kOpen, options));
  EXPECT_FALSE(store.recovery().clean);
  expect_contents(store, expected);
  EXPECT_EQ(store.put("another", value(1)).code(), Errc::kNoSpace) << "the reserve is no room";
  ASSERT_TRUE(store.erase(expected.begin()->first).value()) << "it is there again";
  expected.erase(expected.begin());
  expect_nothing_lost(store, options, expected);
}

TEST_P(Full, DeadRecordsInBlocksOfThreadsThatWentAreRoom) {
  const StoreOptions options = fixed(false);
  auto store = open(options);
  Contents expected;
  std::vector<std::thread> threads;
  std::atomic<int> at_once{0};
  constexpr int kThreads = 30;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      store.put("thread" + std::to_string(t), std::string(3'000, 't')).value();
      ++at_once;  // All are there at the same time, so that each has a block.
      while (at_once < kThreads)
        std::this_thread::yield();
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (int t = 0; t < kThreads; ++t)
    ASSERT_TRUE(
        store.put("thread" + std::to_string(t), expected["thread" + std::to_string(t)] = "s"));
  for (std::uint64_t i = 0; i < 105 * 20; ++i) {
    const auto put = store.put(key(i), expected[key(i)] = value(i));
    ASSERT_TRUE(put) << i << ": " << put.error().message();
  }
  expect_nothing_lost(store, options, expected);
}

// A key keeps one version per snapshot and one more, so overwrites go on for as long as one likes.
TEST_P(Full, AnOpenSnapshotDoesNotStopReclamation) {
  const StoreOptions options = fixed(false);
  auto store = open(options);
  Contents expected;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    ASSERT_TRUE(store.put(key(i), expected[key(i)] = value(i)));
  const Contents then = expected;
  {
    const Snapshot snapshot = store.snapshot();
    for (std::uint64_t i = 0; i < 30'000; ++i)
      ASSERT_TRUE(store.put(key(i % 1'000), expected[key(i % 1'000)] = value(i + 5'000))) << i;
    EXPECT_TRUE(contents_of(snapshot) == then);
  }
  expect_nothing_lost(store, options, expected);
}

// New keys beside a snapshot fill the medium: then the error says what else could make room.
TEST_P(Full, AnOpenSnapshotIsNamedWhereItHoldsWhatWouldMakeRoom) {
  const StoreOptions options = fixed(false);
  auto store = open(options);
  Contents expected;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    ASSERT_TRUE(store.put(key(i), value(i)));
  {
    const Snapshot snapshot = store.snapshot();
    for (std::uint64_t i = 0; i < 1'000; ++i)
      ASSERT_TRUE(store.erase(key(i)));
    for (std::uint64_t i = 1'000;; ++i) {
      const auto put = store.put(key(i), value(i));
      if (!put) {
        EXPECT_EQ(put.code(), Errc::kNoSpace);
        EXPECT_TRUE(mentions(put.error(), "snapshots")) << put.error().detail;
        break;
      }
      expected[key(i)] = value(i);
    }
  }
  for (std::uint64_t i = 0; i < 500; ++i)
    ASSERT_TRUE(store.put(key(i), expected[key(i)] = value(i + 90'000))) << i;
  expect_nothing_lost(store, options, expected);
}

// What makes room is not refused for want of it: the clock, by which records expire, and the end of
// a keyspace. Nor after a close or a death, nor often: each supersedes a record of its own.
TEST_P(Full, TheClockAndADropGoThroughAndMakeRoom) {
  const StoreOptions options = fixed(false);
  auto store = open(options);
  ASSERT_TRUE(store.expire({.prefix = "stamped"}));
  std::uint64_t next = 0;
  const auto fill = [&](std::uint64_t end, Space* space) {
    for (int refused = 0; refused < 2; ++next) {
      std::string text = value(next);
      std::memcpy(text.data(), &end, sizeof end);
      const auto put = space != nullptr && next % 2 == 0
                           ? space->put(key(next), text)
                           : store.put("stamped" + std::to_string(next), text);
      refused = put ? 0 : refused + 1;
      if (!put) {
        EXPECT_EQ(put.code(), Errc::kNoSpace);
      }
    }
  };
  const auto expect_room = [&](const char* what) {
    for (int i = 0; i < 300; ++i)
      ASSERT_TRUE(store.put("plain" + std::to_string(i), value(1))) << what << i;
    for (int i = 0; i < 300; ++i)
      ASSERT_TRUE(store.erase("plain" + std::to_string(i)).value()) << what << i;
  };
  for (std::uint64_t round = 0; round < 3; ++round) {
    const std::uint64_t clock = round * 10'000, end = clock + 5'000;
    auto space = store.create_space("dropped").value();
    fill(end, &space);
    if (round == 1) {
      ASSERT_TRUE(store.close());
    }
    if (round == 2) ForTests::abandon(store);
    if (round != 0) store = open(with_access(RegionAccess::kOpen, options));
    fill(end, nullptr);  // The lanes of before are sealed: there may be room.
    for (std::uint64_t tick = 1; tick <= 1'500; ++tick) {
      const auto set = store.set_clock(clock + tick);
      ASSERT_TRUE(set) << tick << ": " << set.error().message();
    }
    const auto dropped = store.drop_space("dropped");
    ASSERT_TRUE(dropped) << dropped.error().message();
    ASSERT_NO_FATAL_FAILURE(expect_room("after the drop "));
    fill(end, nullptr);
    ASSERT_TRUE(store.set_clock(end));
    ASSERT_NO_FATAL_FAILURE(expect_room("after the clock "));
    EXPECT_TRUE(store.verify().ok());
  }
}

// The limit on what the background moves per second does not hold up threads that wait for room or
// for the end of a pass: a verify() or close() took as long as the pass did.
TEST_P(Full, NobodyWaitsForARateLimit) {
  StoreOptions options = fixed(true);
  options.reclaim.bytes_per_second = 1'000;  // A block every eight seconds.
  auto store = open(options);
  const auto start = std::chrono::steady_clock::now();
  Contents expected;
  Random random(5);
  for (std::uint64_t i = 0; i < 6'000; ++i) {
    const std::string k = key(random.below(1'400));
    ASSERT_TRUE(store.put(k, expected[k] = value(i)));
  }
  expect_contents(store, expected);
  ASSERT_TRUE(store.close());
  // Sixteen blocks, half of them dead, would take more than a minute.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

}  // namespace
}  // namespace holdfast::kv
