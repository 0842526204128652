// Snapshots: what they show stays, whatever goes on beside them, and ends with them.
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/space.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class Snapshots : public OnEveryPlace {
 protected:
  std::string key(int i) const { return "key" + std::to_string(i); }
  void fill(int count, const std::string& value) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(store_.put(key(i), value + std::to_string(i)));
      expected_[key(i)] = value + std::to_string(i);
    }
  }
  Store<> store_ = open();
  Contents expected_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Snapshots, kEveryPlace, place_name);

// KV-8: the use of a snapshot, a checkpoint or a pinned value that outlived its store was a
// segmentation fault.
TEST_P(Snapshots, ThatOutlivesItsStoreIsClosed) {
  std::optional<Store<>> store(std::move(store_));
  ASSERT_TRUE(store->put("key", "value"));
  Snapshot snapshot = store->snapshot();
  const auto checkpoint = store->checkpoint();
  store.reset();
  std::string value;
  EXPECT_EQ(snapshot.get("key", value).code(), Errc::kClosed);
  EXPECT_EQ(snapshot.for_each([](auto, auto, auto) { return true; }).code(), Errc::kClosed);
  EXPECT_EQ(snapshot.cursor().code(), Errc::kClosed);
  EXPECT_EQ(snapshot.count(), 0u);
  const Snapshot moved = std::move(snapshot);
  EXPECT_EQ(moved.get("key", value).code(), Errc::kClosed);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->private_part().code(), Errc::kClosed);
  std::vector<std::byte> run(checkpoint->runs()[0].bytes);
  EXPECT_EQ(checkpoint->read(0, run).code(), Errc::kClosed);
  EXPECT_EQ(checkpoint->runs_opened(), 0u);
}

TEST_P(Snapshots, APinnedValueKeepsItsStoreOpen) {
  ASSERT_TRUE(store_.put("key", "value"));
  std::optional<Pinned> pinned = store_.get_pinned("key").value();
  EXPECT_EQ(store_.close().code(), Errc::kBusy);
  EXPECT_EQ(pinned->value(), "value");
  pinned.reset();
  EXPECT_TRUE(store_.close());
}

TEST(PinnedValues, AStoreThatEndsBeneathOneSaysSo) {
  EXPECT_DEATH(
      {
        StoreOptions options;
        options.background = false;
        std::optional<Store<>> store(Store<>::open("dram", options).value());
        (void)store->put("key", "value");
        const Pinned pinned = store->get_pinned("key").value();
        store.reset();
      },
      "get_pinned");
}

// It waited for the verb that had called it, for ever.
TEST_P(Snapshots, ThatAVerbUnderWayTakesIsEmpty) {
  ASSERT_TRUE(store_.put("key", "value"));
  auto space = store_.create_space("space").value();
  ASSERT_TRUE(space.put("key", "value"));
  Snapshot own, of_space;
  Errc walked = Errc::kOk;
  ASSERT_TRUE(store_.update("key", [&](std::string&) {
    own = store_.snapshot();
    of_space = space.snapshot();
    walked = space.for_each([](auto, auto, auto) { return true; }).code();
  }));
  std::string value;
  EXPECT_EQ(own.get("key", value).code(), Errc::kClosed);
  EXPECT_EQ(of_space.get("key", value).code(), Errc::kClosed);
  EXPECT_EQ(walked, Errc::kBusy);
  EXPECT_EQ(store_.stats().snapshots_open, 0u);
}

TEST_P(Snapshots, OfAnEmptyStoreStaysEmpty) {
  const auto snapshot = store_.snapshot();
  fill(10, "later");
  EXPECT_EQ(snapshot.count(), 0u);
  std::string value;
  EXPECT_EQ(snapshot.get("key1", value).code(), Errc::kNotFound);
  expect_contents(store_, expected_);
}

TEST_P(Snapshots, ShowEveryRecordAsItWas) {
  fill(300, "old");
  const auto before = expected_;
  const auto snapshot = store_.snapshot();
  for (int i = 0; i < 300; i += 3)
    ASSERT_TRUE(store_.put(key(i), "new"));
  for (int i = 1; i < 300; i += 3)
    ASSERT_TRUE(store_.erase(key(i)).value());
  WriteBatch batch;
  for (int i = 2; i < 300; i += 6)
    batch.put(key(i), "batch");
  for (int i = 5; i < 300; i += 6)
    batch.erase(key(i));
  for (int i = 0; i < 50; ++i)
    batch.put("extra" + std::to_string(i), "x");
  ASSERT_TRUE(store_.write(batch));
  ASSERT_TRUE(store_.reclaim());
  EXPECT_TRUE(contents_of(snapshot) == before);
  EXPECT_EQ(snapshot.count(), 300u);
  std::string value;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(snapshot.get(key(i), value)) << i;
    EXPECT_EQ(value, before.at(key(i)));
  }
  EXPECT_EQ(snapshot.get("extra1", value).code(), Errc::kNotFound);
  EXPECT_EQ(store_.count(), 100u + 50 + 50);
  EXPECT_EQ(get(store_, key(1)), "<kNotFound>");
}

TEST_P(Snapshots, OverlapAndEachKeepsItsOwnTime) {
  std::vector<std::pair<std::optional<Snapshot>, Contents>> taken;
  for (int round = 0; round < 8; ++round) {
    taken.emplace_back(store_.snapshot(), expected_);
    for (int i = 0; i < 100; ++i) {
      const std::string k = key((i * 7 + round * 31) % 150);
      if ((i + round) % 4 == 0) {
        ASSERT_TRUE(store_.erase(k));
        expected_.erase(k);
      } else {
        expected_[k] = text_of(round * 1000 + i, 40 + i);
        ASSERT_TRUE(store_.put(k, expected_[k]));
      }
    }
    ASSERT_TRUE(store_.reclaim());
  }
  EXPECT_EQ(store_.stats().snapshots_open, 8u);
  // In an order that is neither that of their making nor the reverse.
  for (const int next : {3, 0, 7, 1, 6, 2, 5, 4}) {
    for (const auto& [snapshot, contents] : taken) {
      if (!snapshot) continue;
      EXPECT_TRUE(contents_of(*snapshot) == contents) << "before release of " << next;
    }
    taken[next].first.reset();
    EXPECT_EQ(store_.count(), expected_.size());
  }
  expect_contents(store_, expected_);
  EXPECT_EQ(store_.stats().snapshots_open, 0u);
}

TEST_P(Snapshots, CountIsRightWhenAKeyIsErasedAndPutAgainUnderASnapshot) {
  fill(3, "v");
  {
    const auto snapshot = store_.snapshot();
    ASSERT_TRUE(store_.erase(key(0)).value());
    EXPECT_EQ(store_.count(), 2u);
    EXPECT_EQ(store_.put(key(0), "again").value(), PutOutcome::kInserted);
    EXPECT_EQ(store_.count(), 3u);
    ASSERT_TRUE(store_.erase(key(1)).value());
    ASSERT_TRUE(store_.put_if_absent(key(1), "again"));
    ASSERT_TRUE(store_.erase(key(2)).value());
    WriteBatch batch;
    batch.put(key(2), "again");
    ASSERT_TRUE(store_.write(batch));
    EXPECT_EQ(store_.count(), 3u);
    EXPECT_EQ(snapshot.count(), 3u);
  }
  EXPECT_EQ(store_.count(), 3u);
  expect_contents(store_, {{key(0), "again"}, {key(1), "again"}, {key(2), "again"}});
}

TEST_P(Snapshots, ErasedKeysLeaveTheIndexWithTheLastSnapshotThatNeedsThem) {
  fill(200, "v");
  {
    const auto snapshot = store_.snapshot();
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(store_.erase(key(i)).value());
    for (int i = 0; i < 200; ++i)
      ASSERT_FALSE(store_.erase(key(i)).value());
    EXPECT_EQ(store_.count(), 0u);
    EXPECT_EQ(snapshot.count(), 200u);
  }
  EXPECT_EQ(store_.count(), 0u);
  EXPECT_EQ(store_.stats().live_bytes, 0u);
  ASSERT_TRUE(store_.close());
  store_ = open();
  EXPECT_TRUE(store_.recovery().clean);
  EXPECT_EQ(store_.count(), 0u);
  EXPECT_EQ(get(store_, key(7)), "<kNotFound>");
}

TEST_P(Snapshots, WhatTheyHeldBackIsReclaimedAfterThem) {
  fill(100, "v");
  {
    const auto snapshot = store_.snapshot();
    for (int round = 0; round < 30; ++round)
      fill(100, text_of(round, 200));
    ASSERT_TRUE(store_.reclaim());
  }
  ASSERT_TRUE(store_.reclaim());
  const auto stats = store_.stats();
  EXPECT_LT(stats.used_bytes, stats.live_bytes * 5 / 4 + 10 * 8 * KiB);
  expect_contents(store_, expected_);
}

// Found by SnapshotsPinsAndShortThreadsBesideWriters: while the last snapshot ended, a writer took
// the key's record away, from which the close would have found what only the snapshot could see.
// That was never dead: it held its space, and when the tombstone over it was dropped, it came back.
class EndingSnapshots : public Snapshots {
 protected:
  // Two versions of "k", of which only a snapshot sees the first; `write` comes while it ends.
  void end_beside(const std::function<void()>& write, bool erased_before = false) {
    ASSERT_TRUE(store_.put("other", text_of(1, 5000)));
    ASSERT_TRUE(store_.put("k", "first"));
    seal();
    first_ = ForTests::line_of(store_, "k");
    std::optional<Snapshot> snapshot = store_.snapshot();
    ASSERT_TRUE(store_.put("k", "second"));
    if (erased_before) {
      ASSERT_TRUE(store_.erase("k").value());
    }
    ASSERT_FALSE(dead(first_));
    std::promise<void> reading, go_on;
    std::thread reader([&] {  // The close waits for its guard.
      ForTests::get(store_, "other", [&](std::string_view) {
        reading.set_value();
        go_on.get_future().wait();
      });
    });
    reading.get_future().wait();
    std::thread closer([&] { snapshot.reset(); });
    while (store_.stats().snapshots_open != 0)
      std::this_thread::yield();
    write();
    go_on.set_value();
    reader.join();
    closer.join();
    EXPECT_TRUE(dead(first_));
    EXPECT_TRUE(store_.verify().ok());
  }
  bool dead(Line line) {
    store_.stats();  // Takes all notes.
    return ForTests::table(store_).is_dead(line.number);
  }
  void seal() {
    ASSERT_TRUE(ForTests::seal(store_));
    for (int i = 0; i < 3; ++i)  // Page regions: for the records, for the run's tail, for its word.
      ASSERT_TRUE(store_.sync());
  }
  Line first_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, EndingSnapshots, kEveryPlace, place_name);

TEST_P(EndingSnapshots, LeaveNothingBehindAPut) {
  end_beside([&] { ASSERT_TRUE(store_.put("k", "third")); });
  EXPECT_EQ(get(store_, "k"), "third");
}

TEST_P(EndingSnapshots, LeaveNothingBehindABatch) {
  end_beside([&] {
    WriteBatch batch;
    batch.put("k", "third");
    ASSERT_TRUE(store_.write(batch));
  });
  EXPECT_EQ(get(store_, "k"), "third");
}

TEST_P(EndingSnapshots, LeaveNothingBehindAPutOverATombstone) {
  end_beside([&] { ASSERT_EQ(store_.put("k", "third").value(), PutOutcome::kInserted); }, true);
  EXPECT_EQ(get(store_, "k"), "third");
  EXPECT_EQ(store_.count(), 2u);
}

TEST_P(EndingSnapshots, LeaveNothingBehindABatchOverATombstone) {
  end_beside(
      [&] {
        WriteBatch batch;
        batch.put("k", "third");
        batch.erase("k");
        ASSERT_TRUE(store_.write(batch));
      },
      true);
  EXPECT_EQ(get(store_, "k"), "<kNotFound>");
  EXPECT_EQ(store_.count(), 1u);
}

TEST_P(EndingSnapshots, LeaveNothingThatComesBackBehindAnErase) {
  end_beside([&] { ASSERT_TRUE(store_.erase("k").value()); });
  // The tombstone's run is emptied, that of the first version stays.
  ASSERT_TRUE(store_.put("filler", text_of(2, 5000)));
  seal();
  ASSERT_TRUE(store_.put("filler", "small"));
  ASSERT_TRUE(ForTests::pass(store_, 0.5));
  EXPECT_GT(store_.stats().tombstones_dropped, 0u);
  ForTests::abandon(store_);
  store_ = open(with_access(RegionAccess::kOpen));
  EXPECT_EQ(get(store_, "k"), "<kNotFound>");
}

TEST_P(Snapshots, AVisitorMayStopAndMayWrite) {
  fill(100, "v");
  const auto snapshot = store_.snapshot();
  int visited = 0;
  ASSERT_TRUE(snapshot.for_each(
      [&](std::string_view, std::string_view, Version) { return ++visited < 10; }));
  EXPECT_EQ(visited, 10);
  visited = 0;
  ASSERT_TRUE(snapshot.for_each([&](std::string_view k, std::string_view, Version version) {
    EXPECT_LT(version, snapshot.version());
    EXPECT_TRUE(store_.put(std::string(k) + "'", "copy"));
    EXPECT_TRUE(store_.erase(k).value());
    ++visited;
    return true;
  }));
  EXPECT_EQ(visited, 100);
  EXPECT_EQ(store_.count(), 100u);
}

TEST_P(Snapshots, AreReleasedOnceWhenMoved) {
  fill(10, "v");
  auto first = store_.snapshot();
  auto second = store_.snapshot();
  EXPECT_EQ(store_.stats().snapshots_open, 2u);
  first = std::move(second);
  EXPECT_EQ(store_.stats().snapshots_open, 1u);
  const Snapshot third = std::move(first);
  EXPECT_EQ(store_.stats().snapshots_open, 1u);
  EXPECT_EQ(third.count(), 10u);
}

TEST_P(Snapshots, ShowLargeValuesAndUpdatedWords) {
  auto words = open(with_words({0}), "words");
  ASSERT_TRUE(words.put("large", text_of(1, 100000)));
  ASSERT_TRUE(words.put("small", text_of(2, 16)));
  ASSERT_TRUE(words.put("seal", text_of(3, 7000)));
  ASSERT_TRUE(words.put("seal", text_of(4, 7000)));
  {
    const auto snapshot = words.snapshot();
    ASSERT_TRUE(words.update_word("large", 0, [](std::uint64_t) { return 0; }));
    ASSERT_TRUE(words.update_word("small", 0, [](std::uint64_t) { return 0; }));
    std::string value;
    ASSERT_TRUE(snapshot.get("large", value));
    EXPECT_TRUE(value == text_of(1, 100000));
    ASSERT_TRUE(snapshot.get("small", value));
    EXPECT_EQ(value, text_of(2, 16));
  }
  EXPECT_EQ(get(words, "small").substr(0, 8), std::string(8, '\0'));
  EXPECT_EQ(get(words, "large").substr(0, 9), std::string(8, '\0') + text_of(1, 9)[8]);
}

}  // namespace
}  // namespace holdfast::kv
