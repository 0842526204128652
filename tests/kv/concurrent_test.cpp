// Several threads at once: every verb, batches seen whole, snapshots, reclamation. Also run under
// TSan.
#include <atomic>
#include <cstring>
#include <future>
#include <thread>

#include <holdfast/base/random.hpp>
#include <holdfast/base/sanitizer.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

#ifdef HF_SANITIZED
constexpr int kScale = 1;
#else
constexpr int kScale = 5;
#endif

StoreOptions busy() {
  StoreOptions options = tiny();
  options.background = true;
  options.sync_interval_ms = 1;
  return options;
}

// Reads until `done`; every thread's failures are counted, not printed from within.
class Concurrent : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, Concurrent, kEveryPlace, place_name);

TEST_P(Concurrent, ThreadsWithRangesOfTheirOwnAgreeWithTheirModels) {
  auto store = open(busy());
  constexpr int kThreads = 4;
  std::vector<Contents> models(kThreads);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(static_cast<std::uint64_t>(t) + 1);
      Contents& model = models[t];
      std::string value;
      for (int i = 0; i < 1000 * kScale; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(random.below(150));
        const bool there = model.contains(key);
        switch (random.below(6)) {
          case 0:
          case 1: {
            const std::string fresh = text_of(
                random.next(), random.below(40) == 0 ? random.below(20'000) : random.below(300));
            wrong += store.put(key, fresh).value() !=
                     (there ? PutOutcome::kOverwrote : PutOutcome::kInserted);
            model[key] = fresh;
            break;
          }
          case 2:
            wrong += store.erase(key).value() != there;
            model.erase(key);
            break;
          case 3: {
            const auto got = store.get(key, value);
            wrong += got.has_value() != there || (there && value != model[key]);
            break;
          }
          case 4: {
            WriteBatch batch;
            for (int j = 0; j < 5; ++j) {
              const std::string other = std::to_string(t) + "/" + std::to_string(random.below(150));
              batch.put(other, key);
              model[other] = key;
            }
            wrong += !store.write(batch).has_value();
            break;
          }
          default: {
            const auto pinned = store.get_pinned(key);
            wrong += pinned.has_value() != there || (there && pinned->value() != model[key]);
          }
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  Contents all;
  for (const Contents& model : models)
    all.insert(model.begin(), model.end());
  expect_contents(store, all);
  ASSERT_TRUE(store.close());
  store = open(busy());
  expect_contents(store, all);
}

// Found by kill_test: a session takes its sequences in chunks, so its next ones could be older than
// records that others had acknowledged before. In a put_many, such a record is written once more
// when it is published; a kill before that left what came behind it in the call, and not itself.
TEST_P(Concurrent, PutManyIsNewerThanAllThatWasAcknowledgedBeforeIt) {
  auto store = open(busy());
  ASSERT_TRUE(store.put("mine", "takes a chunk of sequences"));
  std::thread([&] { ASSERT_TRUE(store.put("k", "takes the next one")); }).join();
  std::string value;
  const Version before = store.get("k", value).value();
  const std::string_view keys[] = {"k", "l"}, values[] = {"1", "2"};
  ASSERT_TRUE(store.put_many(keys, values));
  EXPECT_GT(store.get("l", value).value(), before);
  EXPECT_EQ(store.get("k", value).value() + 1, store.get("l", value).value()) << "written twice";
}

// Per key: values name their writer and a number that only rises; a reader never sees an older one
// after a newer.
TEST_P(Concurrent, HotKeysNeverGoBackInTime) {
  auto store = open(busy());
  constexpr int kKeys = 4, kWriters = 3;
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  const auto key = [](int i) { return "hot" + std::to_string(i); };
  for (int k = 0; k < kKeys; ++k)
    ASSERT_TRUE(store.put(key(k), "start"));
  std::vector<std::thread> writers, readers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      Random random(static_cast<std::uint64_t>(w) + 100);
      for (int i = 0; i < 1000 * kScale; ++i) {
        const std::string k = key(static_cast<int>(random.below(kKeys)));
        const std::string value = std::to_string(w) + ":" + std::to_string(i);
        switch (random.below(4)) {
          case 0: wrong += !store.erase(k).has_value(); break;
          case 1: {
            const std::string first = key(0);
            const std::string_view keys[] = {k, first}, values[] = {value, value};
            wrong += !store.put_many(keys, values).has_value();
            break;
          }
          default: wrong += !store.put(k, value).has_value();
        }
      }
    });
  }
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      std::vector<Version> last(kKeys, 0);
      std::string value;
      while (!done) {
        for (int k = 0; k < kKeys; ++k) {
          const auto got = store.get(key(k), value);
          if (!got) {
            wrong += got.code() != Errc::kNotFound;
            continue;
          }
          wrong += *got < last[k];
          last[k] = *got;
        }
      }
    });
  }
  for (auto& thread : writers)
    thread.join();
  done = true;
  for (auto& thread : readers)
    thread.join();
  EXPECT_EQ(wrong, 0);
  // What the store shows is what recovery finds.
  Contents now = contents_of(store);
  EXPECT_EQ(store.count(), now.size());
  ASSERT_TRUE(store.sync());
  StoreOptions quiet = tiny();
  ASSERT_TRUE(store.close());
  store = open(quiet);
  expect_contents(store, now);
}

TEST_P(Concurrent, CompareAndPutAndUpdateLoseNoIncrement) {
  auto store = open(with_words({0}, busy()));
  ASSERT_TRUE(store.put("update", "0"));
  ASSERT_TRUE(store.put("cas", "0"));
  ASSERT_TRUE(store.put("word", std::string(8, '\0')));
  constexpr int kThreads = 3;
  const int each = 100 * kScale;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const auto next = [](const std::string& number) {
        return std::to_string(std::stoi(number) + 1);
      };
      for (int i = 0; i < each; ++i) {
        store.update("update", [&](std::string& value) { value = next(value); }).value();
        store.update_word("word", 0, [](std::uint64_t word) { return word + 1; }).value();
        std::string value;
        for (;;) {
          const Version version = store.get("cas", value).value();
          if (store.compare_and_put("cas", version, next(value))) break;
        }
        store.put("filler" + std::to_string(i % 10), std::string(500, 'f')).value();
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(get(store, "update"), std::to_string(kThreads * each));
  EXPECT_EQ(get(store, "cas"), std::to_string(kThreads * each));
  std::uint64_t word = 0;
  std::memcpy(&word, get(store, "word").data(), 8);
  EXPECT_EQ(word, static_cast<std::uint64_t>(kThreads * each));
}

TEST_P(Concurrent, OneOfManyPutIfAbsentWins) {
  auto store = open(busy());
  std::atomic<int> won{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200 * kScale; ++i)
        won += store.put_if_absent("key" + std::to_string(i), std::to_string(t)).has_value();
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(won, 200 * kScale);
  EXPECT_EQ(store.count(), static_cast<std::uint64_t>(200 * kScale));
}

// Two accounts whose sum is constant, changed by batches; snapshots show the sum, pairs of gets the
// same batch or later.
TEST_P(Concurrent, SnapshotsSeeBatchesWhole) {
  auto store = open(busy());
  constexpr int kAccounts = 8;
  const auto account = [](int i) { return "account" + std::to_string(i); };
  {
    WriteBatch batch;
    for (int i = 0; i < kAccounts; ++i)
      batch.put(account(i), "0");
    ASSERT_TRUE(store.write(batch));
  }
  std::atomic<bool> done{false};
  std::atomic<int> torn{0}, seen{0};
  std::thread reader([&] {
    while (!done) {
      const auto snapshot = store.snapshot();
      std::string first, value;
      if (!snapshot.get(account(0), first)) ++torn;
      for (int i = 1; i < kAccounts; ++i)
        torn += !snapshot.get(account(i), value).has_value() || value != first;
      std::uint64_t records = 0;
      (void)snapshot.for_each([&](std::string_view, std::string_view v, Version) {
        return torn += v != first, ++records, true;
      });
      torn += records != kAccounts;
      ++seen;
    }
  });
  std::thread getter([&] {
    // In the order of the keys of a batch: a later key may be newer, never older.
    std::string value;
    while (!done) {
      int last = 0;
      for (int i = 0; i < kAccounts; ++i) {
        if (!store.get(account(i), value)) {
          ++torn;
          continue;
        }
        torn += std::stoi(value) < last;
        last = std::stoi(value);
      }
    }
  });
  for (int round = 1; round <= 300 * kScale; ++round) {
    WriteBatch batch;
    for (int i = 0; i < kAccounts; ++i)
      batch.put(account(i), std::to_string(round));
    ASSERT_TRUE(store.write(batch));
    if (round % 50 == 0) store.reclaim().value();
  }
  while (seen < 3)
    std::this_thread::yield();
  done = true;
  reader.join();
  getter.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(store.count(), static_cast<std::uint64_t>(kAccounts));
}

TEST_P(Concurrent, SnapshotsPinsAndShortThreadsBesideWriters) {
  auto store = open(busy());
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(store.put("cold" + std::to_string(i), text_of(i, 200)));
  std::thread writer([&] {
    for (int i = 0; i < 2000 * kScale; ++i) {
      wrong += !store.put("warm" + std::to_string(i % 50), text_of(i, 300)).has_value();
      if (i % 3 == 0) wrong += !store.erase("warm" + std::to_string((i + 25) % 50)).has_value();
    }
    done = true;
  });
  std::thread pinner([&] {
    while (!done) {
      for (int i = 0; i < 200; i += 17) {
        const auto pinned = store.get_pinned("cold" + std::to_string(i));
        wrong += !pinned || pinned->value() != text_of(i, 200);
      }
    }
  });
  std::thread snapshots([&] {
    while (!done) {
      const auto snapshot = store.snapshot();
      const auto first = snapshot.count();
      wrong += first < 200 || first > 250 || snapshot.count() != first;
    }
  });
  while (!done) {
    std::thread([&] { wrong += get(store, "cold7") != text_of(7, 200); }).join();
    std::thread([&] { wrong += !store.put("short", "v").has_value(); }).join();
  }
  writer.join();
  pinner.join();
  snapshots.join();
  EXPECT_EQ(wrong, 0);
  const VerifyReport report = store.verify();
  EXPECT_TRUE(report.ok()) << report.defects.front().what;
  EXPECT_LE(store.stats().sessions, 2u);
}

// What stats() adds up belongs to runs that are opened and freed meanwhile.
TEST_P(Concurrent, StatsBesideWritersAndReclamation) {
  auto store = open(busy());
  std::atomic<bool> done{false};
  std::thread watcher([&] {
    while (!done) {
      const auto seen = store.stats();
      EXPECT_GT(seen.dram_index_bytes, 0u);
      EXPECT_LE(seen.live_bytes, seen.medium_bytes);
    }
  });
  for (int i = 0; i < 3000 * kScale; ++i) {
    ASSERT_TRUE(store.put("key" + std::to_string(i % 97), text_of(i, 300)));
    if (i % 700 == 0) {
      ASSERT_TRUE(store.reclaim());
    }
  }
  done = true;
  watcher.join();
  EXPECT_GT(store.stats().reclaimed_blocks, 0u);
}

template <class Condition>
bool soon(Condition&& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

// Found by reading: a batch that is being published sends readers to the records that it
// supersedes, and the index does not name these any more. A pass emptied their run and waited for
// the batch; readers that came after its wait had begun were still sent there, and it did not wait
// for them.
TEST_P(Concurrent, AReaderThatABatchBeingPublishedSendsBackKeepsItsRecord) {
  auto store = open();
  const std::string old = text_of(1, 2000);
  const auto seal = [&](const std::string& filler) {
    ASSERT_TRUE(store.put(filler, text_of(3, 5000)));
    ASSERT_TRUE(ForTests::seal(store));
    for (int i = 0; i < 3; ++i)  // Page regions: for the records, for the run's tail, for its word.
      ASSERT_TRUE(store.sync());
  };
  ASSERT_TRUE(store.put("first", text_of(2, 100)));
  seal("a");
  ASSERT_TRUE(store.put("k", old));
  seal("b");
  ASSERT_TRUE(store.erase("a").value());  // The first victim is emptier than the one with `k`.
  ASSERT_TRUE(store.erase("b").value());
  BlockMeta& first = ForTests::run_of(store, "first");
  BlockMeta& victim = ForTests::run_of(store, "k");
  auto pass = std::async(std::launch::async, [&] { return ForTests::slow_pass(store).value(); });
  ASSERT_TRUE(soon([&] { return first.evacuated.load(); }));
  std::promise<void> reading, go_on;
  std::string seen;
  std::thread reader;
  ForTests::publish_slowly(store, "k", "new", [&] {
    ForTests::hurry(store);
    ASSERT_TRUE(soon([&] { return victim.evacuated.load(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // The pass waits for us now.
    reader = std::thread([&] {
      ForTests::get(store, "k", [&](std::string_view value) {
        reading.set_value();
        go_on.get_future().wait();
        seen = value;
      });
    });
    reading.get_future().wait();
  });
  if (pass.wait_for(std::chrono::milliseconds(100)) == std::future_status::ready) {
    for (int i = 0; i < 8; ++i)
      ASSERT_TRUE(store.put("other" + std::to_string(i), std::string(7000, 'x')));
  }
  go_on.set_value();
  reader.join();
  EXPECT_EQ(seen == old, true);
  EXPECT_EQ(pass.get(), 2u);
  EXPECT_EQ(get(store, "k"), "new");
}

// Before a run is freed, the notes about its records are taken, also that of a writer between
// publishing and noting. A note that came later would call a record of the block's next life dead.
TEST_P(Concurrent, ANoteThatAWriterStillOwesIsTakenBeforeItsRunIsFreed) {
  auto store = open();
  const auto seal = [&](const std::string& filler) {
    ASSERT_TRUE(store.put(filler, text_of(3, 5000)));
    ASSERT_TRUE(ForTests::seal(store));
    for (int i = 0; i < 3; ++i)  // Page regions: for the records, for the run's tail, for its word.
      ASSERT_TRUE(store.sync());
  };
  ASSERT_TRUE(store.put("first", text_of(2, 100)));
  seal("a");
  ASSERT_TRUE(store.put("k", text_of(1, 2000)));  // On the first line of its run.
  seal("b");
  ASSERT_TRUE(store.erase("a").value());  // The first victim is emptier than the one with `k`.
  ASSERT_TRUE(store.erase("b").value());
  const Line line = ForTests::line_of(store, "k");
  BlockMeta& first = ForTests::run_of(store, "first");
  BlockMeta& victim = ForTests::run_of(store, "k");
  auto pass = std::async(std::launch::async, [&] { return ForTests::slow_pass(store).value(); });
  ASSERT_TRUE(soon([&] { return first.evacuated.load(); }));
  ForTests::put_slowly(store, "k", "new", [&] {
    ForTests::hurry(store);
    ASSERT_TRUE(soon([&] { return victim.evacuated.load(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // The pass waits for us now.
  });
  EXPECT_EQ(pass.get(), 2u);
  for (int i = 0; victim.used_bytes.load() == 0 || victim.state.load() == BlockState::kFree; ++i) {
    ASSERT_LT(i, 100) << "the block is not used again";
    ASSERT_TRUE(store.put("other" + std::to_string(i), text_of(i, 7000)));
  }
  store.stats();  // Takes all notes.
  EXPECT_FALSE(ForTests::table(store).is_dead(line.number));
  EXPECT_EQ(get(store, "k"), "new");
}

// A pass marks its victims and waits for threads that had not seen the mark. Else it copies a word
// that is being updated in place, and the update stays behind in the run that is freed.
TEST_P(Concurrent, AWordThatIsBeingUpdatedIsNotLeftBehindByAPass) {
  if (paged()) GTEST_SKIP() << "nothing is updated in place";
  auto store = open(with_words({0}));
  ASSERT_TRUE(store.put("word", std::string(8, '\0')));
  ASSERT_TRUE(store.put("dead", text_of(1, 5000)));
  ASSERT_TRUE(ForTests::seal(store));
  ASSERT_TRUE(store.erase("dead").value());
  BlockMeta& victim = ForTests::run_of(store, "word");
  std::future<std::uint64_t> pass;
  const auto change = [&](std::uint64_t word) {
    pass = std::async(std::launch::async, [&] { return ForTests::pass(store).value(); });
    EXPECT_TRUE(soon([&] { return victim.is_moving(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // The pass waits for us now.
    return word + 1;
  };
  ASSERT_TRUE(store.update_word("word", 0, change));
  EXPECT_EQ(pass.get(), 1u);
  EXPECT_EQ(get(store, "word"), "\1" + std::string(7, '\0'));
}

// Found by reading: a thread gave its session back at its exit, and went on using it in destructors
// of other thread-local objects, beside the thread that had taken it.
struct Late {
  Store<>* store = nullptr;
  std::promise<void>* put = nullptr;
  std::future<void> go_on;
  ~Late() {
    if (store == nullptr) return;
    store->put("late", "v").value();
    put->set_value();
    go_on.wait();
  }
};
thread_local Late late;

// A note that a writer owes made a record that was erased meanwhile look like one that is lost.
TEST_P(Concurrent, VerifyBesideErasesFindsNothing) {
  StoreOptions options = busy();
  options.reclaim.background = false;
  auto store = open(options);
  constexpr int kKeys = 400 * kScale;
  for (int i = 0; i < kKeys; ++i)
    ASSERT_TRUE(store.put(std::to_string(i), text_of(i, 300)));
  std::atomic<bool> done{false};
  std::thread eraser([&] {
    for (int i = 0; i < kKeys; i += 7) {  // Some of each run: most runs have no dead record yet.
      (void)store.erase(std::to_string(i));
      std::this_thread::yield();
    }
    done = true;
  });
  std::uint64_t found = 0;
  std::string first;
  do {
    const auto report = store.verify();
    found += report.defects_total;
    if (first.empty() && !report.defects.empty()) first = report.defects[0].what;
  } while (!done);
  eraser.join();
  EXPECT_EQ(found, 0u) << first;
}

// Where a pass moved the tombstone in front of a record meanwhile, the tombstone went and the record
// stayed: undead, in no index, and back after a crash.
TEST_P(Concurrent, WhatASnapshotHeldIsDeadBehindItWhereTombstonesAreMovedMeanwhile) {
  auto store = open();
  std::atomic<bool> stop{false};
  std::thread reclaiming([&] {
    while (!stop)  // Runs without a living record: those of the tombstones.
      ForTests::pass(store, 1).value();
  });
  constexpr int kRounds = 8 * kScale, kKeys = 3'000, kFillers = 30;
  const auto filler = [](int i) { return "filler" + std::to_string(i); };
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kKeys; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), text_of(1, 100)));
    for (int i = 0; i < kFillers; ++i)
      ASSERT_TRUE(store.put(filler(round * kFillers + i), text_of(1, 100)));
    const Snapshot snapshot = store.snapshot();
    for (int i = 0; i < kKeys; ++i)
      ASSERT_TRUE(store.erase("key" + std::to_string(i)).value());
    ASSERT_TRUE(ForTests::seal(store));
  }
  stop = true;
  reclaiming.join();
  for (int i = 0; i < kRounds * kFillers; ++i)
    ASSERT_TRUE(store.erase(filler(i)).value());
  EXPECT_EQ(store.count(), 0u);
  EXPECT_EQ(store.stats().live_bytes, 0u);
}

TEST(ConcurrentExit, AThreadThatStillWritesWhileItEndsHasASessionOfItsOwn) {
  const Scratch scratch = Scratch::tmpfs();
  auto store = Store<>::open(scratch.path("store"), tiny()).value();
  std::promise<void> put, go_on;
  std::thread thread([&] {
    late.store = &store;  // Before the session, so that it is destroyed after that.
    late.put = &put;
    late.go_on = go_on.get_future();
    store.put("early", "v").value();
  });
  put.get_future().wait();
  ASSERT_TRUE(store.put("mine", "v"));
  EXPECT_EQ(store.stats().sessions, 2u);
  go_on.set_value();
  thread.join();
  expect_contents(store, {{"early", "v"}, {"late", "v"}, {"mine", "v"}});
}

}  // namespace
}  // namespace holdfast::kv
