// Marks: what an opening at the mark finds is the store at one moment, whatever happened since.
#include <chrono>
#include <optional>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/mark.hpp>
#include <holdfast/kv/space.hpp>

#include "damage.hpp"
#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

StoreOptions at_mark(RegionAccess access = RegionAccess::kOpen, StoreOptions options = tiny()) {
  options.access = access;
  options.at_mark = true;
  return options;
}

class Marks : public OnEveryPlace {
 protected:
  // A read-only look at the mark of what is there.
  void expect_at_mark(const Contents& expected, const std::string& name = "store") const {
    auto store = open(at_mark(RegionAccess::kOpenReadOnly), name);
    expect_contents(store, expected);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Marks, kEveryPlace, place_name);

// All verbs, records and batches larger than a block, closes, deaths and reclamation between.
TEST_P(Marks, AnOpeningFindsWhatWasThere) {
  Contents now, marked;
  std::optional<Store<>> store = open();
  Random random(12);
  const auto change = [&] {
    const std::string key = "key" + std::to_string(random.below(100));
    const std::string value =
        text_of(random.next(), random.below(20) == 0 ? 9000 : random.below(300));
    switch (random.below(6)) {
      case 0: now.erase(key), store->erase(key).value(); break;
      case 1: {
        WriteBatch batch;
        const std::string other = "key" + std::to_string(random.below(100));
        batch.put(key, now[key] = value);
        batch.erase(other), now.erase(other);
        ASSERT_TRUE(store->write(batch));
        break;
      }
      case 2:
        ASSERT_TRUE(store->append(key, value));
        now[key] += value;
        break;
      default: ASSERT_TRUE(store->put(key, now[key] = value));
    }
  };
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 100; ++i)
      change();
    if (round % 3 == 0) {
      EXPECT_GT(store->mark().value(), 0u);
      marked = now;
    }
    for (int i = 0; i < 100; ++i)
      change();
    if (round % 2 == 1) {
      ASSERT_TRUE(store->reclaim());
    }
    expect_contents(*store, now);
    if (round % 4 == 1)
      ASSERT_TRUE(store->close());
    else
      ForTests::abandon(*store);
    store.reset();
    expect_at_mark(marked);
    const bool returns = round % 4 == 2;
    if (returns) now = marked;
    store.emplace(open(returns ? at_mark() : with_access(RegionAccess::kOpen)));
    expect_contents(*store, now);
    EXPECT_NE(store->stats().mark_version, 0u);
  }
}

TEST_P(Marks, TheStoreGoesOnFromThere) {
  Contents expected;
  {
    auto store = open();
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), expected["key" + std::to_string(i)] = "1"));
    ASSERT_TRUE(store.mark());
    ASSERT_TRUE(store.put("key1", "later"));
    ASSERT_TRUE(store.put("new", "later"));
    ASSERT_TRUE(store.erase("key2"));
  }
  for (int life = 0; life < 3; ++life) {
    auto store = open(at_mark());
    expect_contents(store, expected);
    ASSERT_TRUE(store.put("key3", "another future"));
    const Version newest = store.stats().newest_version;
    EXPECT_GT(newest, store.stats().mark_version);
    if (life == 2) {
      ASSERT_TRUE(store.mark());
      expected["key3"] = "another future";
      ASSERT_TRUE(store.put("key4", "gone"));
    }
  }
  auto store = open(at_mark());
  expect_contents(store, expected);
  ASSERT_TRUE(store.drop_mark());
  EXPECT_EQ(store.stats().mark_version, 0u);
  EXPECT_EQ(store.drop_mark().code(), Errc::kNotFound);
  ASSERT_TRUE(store.close());
  const auto gone = Store<>::open(spec(), at_mark());
  ASSERT_EQ(gone.code(), Errc::kNotFound);
  EXPECT_TRUE(mentions(gone.error(), "no mark"));
  EXPECT_EQ(Store<>::open(spec(), at_mark(RegionAccess::kOpenReadOnly)).code(), Errc::kNotFound);
  auto again = open(with_access(RegionAccess::kOpen));
  expect_contents(again, expected);
}

// A tombstone goes when what it erased is durably dead. A later return to a mark has only the dead
// bits to know it by.
TEST_P(Marks, WhatIsDeadWithoutATombstoneStaysDead) {
  Contents expected;
  {
    auto store = open();
    for (char key = 'a'; key < 'g'; ++key)
      ASSERT_TRUE(
          store.put(std::string(1, key), expected[std::string(1, key)] = std::string(900, key)));
    ForTests::seal(store).value();
    ASSERT_TRUE(store.erase("b"));
    expected.erase("b");
    ForTests::seal(store).value();
    for (int i = 0; i < 3; ++i)  // On pages tails and words of runs wait for syncs.
      store.sync().value();
    ForTests::pass(store, 0.5).value();
    EXPECT_EQ(store.stats().tombstones_dropped, 1u);
    EXPECT_EQ(store.stats().relocated_bytes, 0u) << "the run with the dead record stays";
    ASSERT_TRUE(store.mark());
    ASSERT_TRUE(store.put("c", "later"));
    ForTests::abandon(store);
  }
  auto store = open(at_mark());
  expect_contents(store, expected);
}

TEST_P(Marks, ReclamationKeepsWhatTheNewestNeedsAndNoMore) {
  auto store = open();
  Contents expected;
  // Every `step`th key: the rest of a run is moved when it is reclaimed.
  const auto put_all = [&](std::uint64_t seed, std::uint64_t step = 1) {
    for (std::uint64_t i = 0; i < 300; i += step)
      ASSERT_TRUE(store.put("key" + std::to_string(i),
                            expected["key" + std::to_string(i)] = text_of(seed + i, 300)));
  };
  put_all(0);
  ASSERT_TRUE(store.reclaim());
  const std::uint64_t alone = store.stats().used_bytes;
  ASSERT_TRUE(store.mark());
  EXPECT_EQ(store.stats().mark_held_bytes, 0u);
  const Contents marked = expected;
  std::uint64_t most = 0;
  for (std::uint64_t round = 1; round < 10; ++round) {
    put_all(round * 1000, 2);
    // Tombstones do not gather either: the runs of the mark do not hold them back.
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(store.put("short" + std::to_string(i), "1"));
      ASSERT_TRUE(store.erase("short" + std::to_string(i)));
    }
    ASSERT_TRUE(store.reclaim());
    most = std::max(most, store.stats().used_bytes);
  }
  EXPECT_GT(store.stats().mark_held_bytes, 90'000u);
  EXPECT_LT(most, 2 * alone + 25 * tiny().block_bytes);
  EXPECT_GT(store.stats().tombstones_dropped, 2'000u);
  ForTests::abandon(store);
  expect_at_mark(marked);
  auto again = open(with_access(RegionAccess::kOpen));
  expect_contents(again, expected);
  ASSERT_TRUE(again.reclaim());
  EXPECT_GT(again.stats().mark_held_bytes, 90'000u) << "what is kept is known after a death, too";
  ASSERT_TRUE(again.mark());
  ASSERT_TRUE(again.reclaim());
  EXPECT_LT(again.stats().used_bytes, alone + 25 * tiny().block_bytes);
}

// Each time by another process, so that nobody remembers which runs have been emptied.
TEST_P(Marks, MarksOfStoresThatAreOpenedForThemDoNotKeepWhatIsDead) {
  std::uint64_t used = 0;
  for (int round = 0; round < 8; ++round) {
    auto store = open();
    for (int i = 0; i < 100; ++i) {
      const std::string key = "key" + std::to_string(i);
      ASSERT_TRUE(store.put(key, text_of(static_cast<std::uint64_t>(round), 300)));
      if (i % 4 == 0) {
        ASSERT_TRUE(store.erase(key).value());
      }
    }
    ASSERT_TRUE(store.mark());
    ASSERT_TRUE(store.reclaim());
    if (round == 1) used = store.stats().used_bytes;
    ASSERT_TRUE(store.close());
    auto again = open();
    ASSERT_TRUE(again.reclaim());
    EXPECT_EQ(again.count(), 75u);
  }
  auto store = open();
  ASSERT_TRUE(store.reclaim());
  EXPECT_LE(store.stats().used_bytes, used + used / 2);
  const Contents expected = contents_of(store);
  ASSERT_TRUE(store.close());
  expect_at_mark(expected);
}

TEST_P(Marks, KeyspacesAndTheClockAreThoseOfTheMoment) {
  Contents in_orders;
  {
    auto store = open();
    ASSERT_TRUE(store.expire({.prefix = "s", .ttl = 10}));
    ASSERT_TRUE(store.set_clock(100));
    const std::uint64_t stamp = 95;
    const std::string value(reinterpret_cast<const char*>(&stamp), sizeof stamp);
    ASSERT_TRUE(store.put("s1", value));
    Space orders = store.create_space("orders").value();
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(orders.put("key" + std::to_string(i),
                             in_orders["key" + std::to_string(i)] = "order" + std::to_string(i)));
    ASSERT_TRUE(store.mark());
    ASSERT_TRUE(store.set_clock(200));
    ASSERT_TRUE(store.reclaim());
    EXPECT_EQ(get(store, "s1"), "<kNotFound>");
    ASSERT_TRUE(store.drop_space("orders"));
    ASSERT_TRUE(store.create_space("others"));
    ForTests::abandon(store);
  }
  {
    // The runs of a space that was dropped stay, over deaths.
    auto store = open(with_access(RegionAccess::kOpen));
    EXPECT_EQ(store.spaces(), (std::vector<std::string>{"others"}));
    ASSERT_TRUE(store.reclaim());
    ForTests::abandon(store);
  }
  for (const RegionAccess access : {RegionAccess::kOpenReadOnly, RegionAccess::kOpen}) {
    auto store = open(at_mark(access));
    EXPECT_EQ(store.clock(), 100u);
    EXPECT_EQ(get(store, "s1").size(), 8u);
    EXPECT_EQ(store.spaces(), (std::vector<std::string>{"orders"}));
    const Space orders = store.space("orders").value();
    EXPECT_EQ(orders.count(), in_orders.size());
    std::string value;
    for (const auto& [key, wanted] : in_orders) {
      ASSERT_TRUE(orders.get(key, value));
      EXPECT_EQ(value, wanted);
    }
  }
}

TEST_P(Marks, WordsOfItsRunsAreUpdatedElsewhere) {
  const StoreOptions options = with_words({0});
  const auto word = [](std::uint64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  {
    auto store = open(options);
    ASSERT_TRUE(store.put("a", word(1)));
    seal_blocks(store);
    ASSERT_TRUE(store.update_word("a", 0, [](std::uint64_t) { return 2; }));
    ASSERT_TRUE(store.mark());
    ASSERT_TRUE(store.update_word("a", 0, [](std::uint64_t) { return 3; }));
    ForTests::abandon(store);
  }
  {
    auto store = open(with_access(RegionAccess::kOpen, options));
    EXPECT_EQ(get(store, "a"), word(3));
    ASSERT_TRUE(store.update_word("a", 0, [](std::uint64_t) { return 4; }));
  }
  auto store = open(at_mark(RegionAccess::kOpen, options));
  EXPECT_EQ(get(store, "a"), word(2));
}

// A checkpoint beside a mark, and a backup of a store that has one.
TEST_P(Marks, CheckpointsAndSnapshotsDoNotMind) {
  auto store = open();
  Contents expected;
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i), expected["key" + std::to_string(i)] = "1"));
  std::optional<Snapshot> before = store.snapshot();
  ASSERT_TRUE(store.mark());
  const Contents marked = expected;
  for (int i = 0; i < 300; i += 2)
    ASSERT_TRUE(store.put("key" + std::to_string(i), expected["key" + std::to_string(i)] = "2"));
  {
    const Checkpoint checkpoint = store.checkpoint().value();
    ASSERT_TRUE(store.reclaim());
    ASSERT_TRUE(store.mark());
  }
  EXPECT_TRUE(contents_of(*before) == marked);
  before.reset();
  ASSERT_TRUE(store.put("key1", "3"));
  ForTests::abandon(store);
  expect_at_mark(expected);
}

TEST_P(Marks, OrderedStoresHaveTheKeysOfTheMoment) {
  StoreOptions options = tiny();
  options.order = true;
  {
    auto store = open(options);
    for (const char* const key : {"b", "a", "d"})
      ASSERT_TRUE(store.put(key, key));
    ASSERT_TRUE(store.mark());
    ASSERT_TRUE(store.put("c", "c"));
    ASSERT_TRUE(store.erase("a"));
  }
  auto store = open(at_mark(RegionAccess::kOpen, options));
  std::string keys;
  Cursor cursor = store.cursor().value();
  for (cursor.first(); cursor; cursor.next())
    keys += cursor.key();
  EXPECT_EQ(keys, "abd");
}

// ---- What is refused ----

TEST_P(Marks, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(at_mark(RegionAccess::kCreate).validate().code(), Errc::kInvalidOption);
  // Nothing is made where nothing is.
  EXPECT_FALSE(Store<>::open(spec("none"), at_mark(RegionAccess::kOpenOrCreate)));
  EXPECT_FALSE(std::filesystem::exists(scratch_.path("none")));
  auto store = open();
  ASSERT_TRUE(store.put("a", "1"));
  Errc inside = Errc::kOk, dropped = Errc::kOk;
  ASSERT_TRUE(store.update("a", [&](std::string&) {
    inside = store.mark().code();
    dropped = store.drop_mark().code();
  }));
  EXPECT_EQ(inside, Errc::kBusy);
  EXPECT_EQ(dropped, Errc::kBusy);
  ASSERT_TRUE(store.close());
  EXPECT_EQ(store.mark().code(), Errc::kClosed);
  auto read_only = open(with_access(RegionAccess::kOpenReadOnly));
  EXPECT_EQ(read_only.mark().code(), Errc::kReadOnly);
}

TEST_P(Marks, AFullStoreSaysWhatTheMarkHolds) {
  StoreOptions options = tiny();
  options.max_bytes = 1 * MiB;
  auto store = open(options);
  const auto put_all = [&](std::uint64_t seed) -> Status {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      auto put = store.put("key" + std::to_string(i), text_of(seed + i, 500));
      if (!put) return std::move(put).error();
    }
    return {};
  };
  ASSERT_TRUE(put_all(0));
  ASSERT_TRUE(store.mark());
  Status full = put_all(1000);
  ASSERT_EQ(full.code(), Errc::kNoSpace);
  EXPECT_TRUE(mentions(full.error(), "the mark holds")) << full.error().message();
  ASSERT_TRUE(store.drop_mark());
  EXPECT_TRUE(put_all(2000));
}

TEST_P(Marks, DamageIsNamed) {
  Contents expected;
  {
    auto store = open();
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i),
                            expected["key" + std::to_string(i)] = text_of(i, 300)));
    ASSERT_TRUE(store.mark());
    for (int i = 0; i < 10; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), "later"));
  }
  const std::string directory = scratch_.path("store");
  const Image good = Image::of(directory);
  const Geometry geometry = good.geometry();
  const std::uint64_t head = good.read<std::uint64_t>(kMarkWordAt);
  const std::uint64_t at = head * geometry.block_bytes;
  const auto image_words = good.read<std::uint64_t>(at + 24);
  const auto expect_refused = [&](const Image& image, std::string_view what) {
    image.write_to(directory);
    for (const bool with_mark : {false, true}) {
      const auto opened =
          Store<>::open(spec(), with_mark ? at_mark() : with_access(RegionAccess::kOpen));
      ASSERT_EQ(opened.code(), Errc::kCorrupt) << what;
      EXPECT_TRUE(mentions(opened.error(), what)) << opened.error().message();
    }
    // What is intact can be read.
    auto store = open(with_access(RegionAccess::kOpenReadOnly));
    EXPECT_EQ(get(store, "key1"), "later");
    EXPECT_FALSE(store.verify().ok());
  };
  for (std::uint64_t word = 0; word < image_words; ++word) {
    Image bad = good;
    bad.flip(at + word * 8 + 3, 5);
    expect_refused(bad, "image of the mark");
  }
  Image bad = good;
  bad.write(kMarkWordAt, head + 1);
  expect_refused(bad, "image of the mark");
  bad.write(kMarkWordAt, std::uint64_t{1} << 40);
  expect_refused(bad, "image of the mark");
  // The first run of the mark.
  bad = good;
  const auto run = good.read<std::uint64_t>(at + 32);
  bad.write(geometry.table_word_at(run),
            encode_block_word({1, BlockState::kFree}, geometry.store_id, run));
  bad.write_to(directory);
  for (const bool with_mark : {false, true}) {
    const auto opened =
        Store<>::open(spec(), with_mark ? at_mark() : with_access(RegionAccess::kOpen));
    ASSERT_EQ(opened.code(), Errc::kCorrupt);
    EXPECT_TRUE(mentions(opened.error(), "run that the mark needs")) << opened.error().message();
  }
}

// An opening that was killed while it set the store back: the next one ends that.
TEST_P(Marks, AReturnThatWasBegunIsEnded) {
  Contents expected;
  {
    auto store = open();
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i),
                            expected["key" + std::to_string(i)] = text_of(i, 300)));
    ASSERT_TRUE(store.mark());
    ASSERT_TRUE(store.put("key1", "later"));
  }
  const std::string directory = scratch_.path("store");
  Image image = Image::of(directory);
  image.write(kMarkWordAt, image.read<std::uint64_t>(kMarkWordAt) | kReturningBit);
  image.write_to(directory);
  auto look = open(with_access(RegionAccess::kOpenReadOnly));
  expect_contents(look, expected);
  ASSERT_TRUE(look.close());
  auto store = open(with_access(RegionAccess::kOpen));
  expect_contents(store, expected);
  EXPECT_EQ(Image::of(directory).read<std::uint64_t>(kMarkWordAt) & kReturningBit, 0u);
}

}  // namespace
}  // namespace holdfast::kv
