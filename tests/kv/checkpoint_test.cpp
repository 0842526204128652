// Checkpoints: what restore() makes of them is the store at one moment, whatever happens to the
// store meanwhile; and runs that two of them name alike are alike.
#include <holdfast/kv/checkpoint.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/checkpoint_format.hpp>
#include <holdfast/kv/space.hpp>

#include "for_tests.hpp"
#include "kept_checkpoints.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class Checkpoints : public OnEveryPlace {
 protected:
  // Restores it under this name and opens it.
  Store<> restored(const Kept& kept, const std::string& name) const {
    const Status done = kept.restore_to(spec(name));
    EXPECT_TRUE(done) << done.error().message();
    return open(with_access(RegionAccess::kOpen), name);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Checkpoints, kEveryPlace, place_name);

// All verbs, records and batches larger than a block, closes and reclamation between.
TEST_P(Checkpoints, ARestoredStoreHoldsWhatWasThere) {
  Contents expected;
  std::optional<Store<>> store = open();
  Kept kept;
  Random random(11);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 150; ++i) {
      const std::string key = "key" + std::to_string(random.below(100));
      const std::string value =
          text_of(random.next(), random.below(20) == 0 ? 9000 : random.below(300));
      switch (random.below(5)) {
        case 0: expected.erase(key), store->erase(key).value(); break;
        case 1: {
          WriteBatch batch;
          const std::string other = "key" + std::to_string(random.below(100));
          batch.put(key, expected[key] = value);
          batch.erase(other), expected.erase(other);
          ASSERT_TRUE(store->write(batch));
          break;
        }
        default: ASSERT_TRUE(store->put(key, expected[key] = value));
      }
    }
    if (round % 3 == 1) {
      ASSERT_TRUE(store->reclaim());
    }
    {
      const Checkpoint checkpoint = store->checkpoint().value();
      // What comes later is not part of it.
      ASSERT_TRUE(store->put("key1", "later"));
      store->erase("key2").value();
      kept.take(checkpoint);
    }
    auto copy = restored(kept, "copy" + std::to_string(round));
    expect_contents(copy, expected);
    EXPECT_FALSE(copy.recovery().clean);
    EXPECT_EQ(copy.recovery().blocks_scanned, 0u) << "all runs are sealed";
    expected["key1"] = "later", expected.erase("key2");
    expect_contents(*store, expected);
    if (round % 3 == 2) {
      ASSERT_TRUE(store->close());
      store.emplace(open(with_access(RegionAccess::kOpen)));
    }
  }
}

TEST_P(Checkpoints, ARestoredStoreGoesOnAsAnother) {
  Kept kept;
  Contents expected;
  {
    auto store = open();
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), expected["key" + std::to_string(i)] = "1"));
    kept.take(store.checkpoint().value());
    EXPECT_GT(kept.copied_runs, 2u);
  }
  // Two stores from one checkpoint write different bytes under the same keys.
  auto one = restored(kept, "one"), two = restored(kept, "two");
  for (int i = 0; i < 200; i += 2) {
    ASSERT_TRUE(one.put("key" + std::to_string(i), "o"));
    ASSERT_TRUE(two.put("key" + std::to_string(i), "t"));
  }
  kept.take(one.checkpoint().value());  // It compares bytes of equal names.
  EXPECT_GE(kept.copied_runs, 1u);
  EXPECT_GT(kept.runs.size(), kept.copied_runs) << "what came with the restore is known already";
  auto one_again = restored(kept, "one_again");
  kept.take(two.checkpoint().value());
  auto two_again = restored(kept, "two_again");
  for (const auto& [key, value] : contents_of(one))
    EXPECT_EQ(get(one_again, key), value);
  for (const auto& [key, value] : contents_of(two))
    EXPECT_EQ(get(two_again, key), value);
  EXPECT_EQ(get(one_again, "key2"), "o");
  EXPECT_EQ(get(two_again, "key2"), "t");
  EXPECT_EQ(get(two_again, "key3"), "1");
  // A grandchild names its runs again.
  ASSERT_TRUE(one_again.put("key3", "grandchild"));
  kept.take(one_again.checkpoint().value());
  EXPECT_EQ(get(restored(kept, "third"), "key3"), "grandchild");
}

TEST_P(Checkpoints, ASecondOneSharesWhatIsSealed) {
  auto store = open();
  Contents expected;
  for (int i = 0; i < 2000; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i),
                          expected["key" + std::to_string(i)] = text_of(i, 200)));
  Kept kept;
  kept.take(store.checkpoint().value());
  const std::uint64_t all = kept.copied_bytes;
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i * 90),
                          expected["key" + std::to_string(i * 90)] = "new"));
  kept.take(store.checkpoint().value());
  EXPECT_LT(kept.copied_bytes, all / 10);
  expect_contents(*std::make_unique<Store<>>(restored(kept, "copy")), expected);
  kept.take(store.checkpoint().value());
  EXPECT_EQ(kept.copied_bytes, 0u) << "nothing was written between";
}

// The tombstone goes when the erased record is durably marked; the run that was copied before does
// not have that mark.
TEST_P(Checkpoints, WhatWasErasedBetweenTwoDoesNotComeBack) {
  auto store = open();
  Contents expected;
  for (int i = 0; i < 400; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i),
                          expected["key" + std::to_string(i)] = text_of(i, 200)));
  Kept kept;
  kept.take(store.checkpoint().value());
  for (int i = 0; i < 400; i += 40) {
    ASSERT_TRUE(store.erase("key" + std::to_string(i)));
    expected.erase("key" + std::to_string(i));
  }
  // The tombstones lie in a run that is worth reclaiming, the erased records do not.
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(store.put("filler", expected["filler"] = text_of(i, 4000)));
  ASSERT_TRUE(store.reclaim());
  EXPECT_GT(store.stats().tombstones_dropped, 0u);
  kept.take(store.checkpoint().value());
  auto copy = restored(kept, "copy");
  expect_contents(copy, expected);
}

TEST_P(Checkpoints, WordsOfSharedRunsAreUpdatedElsewhere) {
  const auto word_of = [](std::uint64_t word) {
    return std::string(reinterpret_cast<const char*>(&word), sizeof word) + "tail";
  };
  std::optional<Store<>> store = open(with_words({0}));
  Contents expected;
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_TRUE(
        store->put("key" + std::to_string(i), expected["key" + std::to_string(i)] = word_of(i)));
  const auto update = [&](std::uint64_t from, std::uint64_t step, std::uint64_t add) {
    for (std::uint64_t i = from; i < 100; i += step) {
      const std::string key = "key" + std::to_string(i);
      std::uint64_t word = 0;
      ASSERT_TRUE(store->update_word(key, 0, [&](std::uint64_t was) { return word = was + add; }));
      expected[key] = word_of(word);
    }
  };
  Kept kept;
  update(0, 2, 1000);
  kept.take(store->checkpoint().value());  // Each take() compares bytes.
  auto first = restored(kept, "first");
  expect_contents(first, expected);
  update(0, 3, 1);
  update(0, 3, 1);  // Once more: what the first one wrote is updated in place.
  kept.take(store->checkpoint().value());
  auto second = restored(kept, "second");
  expect_contents(second, expected);
  // Over a close, and over the death of the process.
  ASSERT_TRUE(store->close());
  store.emplace(open(with_access(RegionAccess::kOpen)));
  update(1, 2, 7);
  kept.take(store->checkpoint().value());
  ASSERT_TRUE(store->sync());
  ForTests::abandon(*store);
  store.emplace(open(with_access(RegionAccess::kOpen)));
  update(0, 1, 9);
  kept.take(store->checkpoint().value());
  auto third = restored(kept, "third");
  expect_contents(third, expected);
  // The same of one that was restored: its runs came with a checkpoint.
  store.emplace(std::move(third));
  update(0, 2, 11);
  kept.take(store->checkpoint().value());
  auto fourth = restored(kept, "fourth");
  expect_contents(fourth, expected);
}

TEST_P(Checkpoints, RunsAreHeldUntilItIsReleased) {
  auto store = open();
  Contents expected;
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i),
                          expected["key" + std::to_string(i)] = text_of(i, 300)));
  std::optional<Checkpoint> checkpoint = store.checkpoint().value();
  EXPECT_GE(checkpoint->version(), 300u);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 300; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), text_of(1000 + i, 300)));
    ASSERT_TRUE(store.reclaim());
  }
  EXPECT_EQ(store.close().code(), Errc::kBusy);
  EXPECT_TRUE(mentions(store.close().error(), "checkpoint"));
  Kept kept;
  kept.take(*checkpoint);
  const std::uint64_t held = store.stats().used_bytes;
  checkpoint.reset();
  ASSERT_TRUE(store.reclaim());
  EXPECT_LT(store.stats().used_bytes, held) << "its runs are free now";
  auto copy = restored(kept, "copy");
  expect_contents(copy, expected);
  EXPECT_TRUE(store.close());
}

TEST_P(Checkpoints, KeyspacesAreInIt) {
  auto store = open();
  Space users = store.create_space("users").value(), orders = store.create_space("orders").value();
  Contents in_users, in_orders, expected;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_TRUE(store.put(key, expected[key] = "own" + key));
    ASSERT_TRUE(users.put(key, in_users[key] = "user" + key));
    if (i % 2 == 0) {
      ASSERT_TRUE(orders.put(key, in_orders[key] = "order" + key));
    }
  }
  Kept kept;
  {
    const Checkpoint checkpoint = store.checkpoint().value();
    for (int i = 0; i < 200; i += 3) {
      ASSERT_TRUE(users.put("key" + std::to_string(i), "later"));
      ASSERT_TRUE(orders.erase("key" + std::to_string(i)));
    }
    ASSERT_TRUE(store.drop_space("orders"));
    kept.take(checkpoint);
  }
  auto copy = restored(kept, "copy");
  EXPECT_EQ(copy.spaces(), (std::vector<std::string>{"orders", "users"}));
  expect_contents(copy, expected);
  const auto expect_in = [&](const std::string& name, const Contents& wanted) {
    const Space space = copy.space(name).value();
    std::string value;
    for (const auto& [key, text] : wanted) {
      ASSERT_TRUE(space.get(key, value)) << name << " " << key;
      EXPECT_EQ(value, text);
    }
    EXPECT_EQ(space.count(), wanted.size());
  };
  expect_in("users", in_users);
  expect_in("orders", in_orders);
}

TEST_P(Checkpoints, RangesOfAForeignOneAreImported) {
  auto store = open();
  Space space = store.create_space("space").value();
  ASSERT_TRUE(space.put("key150", "of a space"));
  Contents all;
  for (int round = 0; round < 3; ++round) {
    for (int i = 100; i < 300; ++i) {
      const std::string key = "key" + std::to_string(i);
      ASSERT_TRUE(
          store.put(key, all[key] = text_of(static_cast<std::uint64_t>(round * 1000 + i), 200)));
    }
  }
  for (int i = 100; i < 300; i += 7) {
    store.erase("key" + std::to_string(i)).value();
    all.erase("key" + std::to_string(i));
  }
  WriteBatch batch;
  for (int i = 110; i < 120; ++i)
    batch.put("key" + std::to_string(i), all["key" + std::to_string(i)] = "batch");
  ASSERT_TRUE(store.write(batch));
  ASSERT_TRUE(ForTests::pass(store, 0.3));
  ASSERT_TRUE(store.put("key130", all["key130"] = text_of(1, 20'000)));
  Kept kept;
  {
    const Checkpoint checkpoint = store.checkpoint().value();
    ASSERT_TRUE(store.put("key131", "later"));
    kept.take(checkpoint);
  }
  auto other = open(tiny(), "other");
  ASSERT_TRUE(other.put("key131", "before"));
  ASSERT_TRUE(other.put("mine", "1"));
  const std::vector<KeyRange> ranges{{"key110", "key140"}, {"key290", ""}};
  const auto read = kept.reader();
  Contents expected{{"mine", "1"}};
  for (const auto& [key, value] : all) {
    if ((key >= "key110" && key < "key140") || key >= "key290") expected[key] = value;
  }
  EXPECT_EQ(import_checkpoint(other, kept.private_part, read, ranges).value(), expected.size() - 1);
  expect_contents(other, expected);

  Kept damaged = kept;
  for (auto& [name, bytes] : damaged.runs)
    bytes[40] ^= std::byte{1};
  const auto read_damaged = damaged.reader();
  EXPECT_EQ(import_checkpoint(other, kept.private_part, read_damaged, ranges).code(),
            Errc::kCorrupt);
  expect_contents(other, expected);
}

// Ranges in any order that meet, lie within one another, are empty or have no end.
TEST_P(Checkpoints, ManyRangesAreImportedAsTheirUnion) {
  Kept kept;
  Contents all;
  auto store = open();
  for (int i = 100; i < 400; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_TRUE(store.put(key, all[key] = text_of(static_cast<std::uint64_t>(i), 20)));
  }
  kept.take(store.checkpoint().value());
  Random random(20261127);
  const auto read = kept.reader();
  for (int round = 0; round < 30; ++round) {
    std::vector<KeyRange> ranges(1 + random.below(12));
    for (KeyRange& range : ranges) {
      range.from = std::to_string(90 + random.below(320));
      range.to = random.below(12) == 0 ? std::string() : std::to_string(90 + random.below(320));
    }
    if (random.below(4) == 0) ranges.push_back({ranges[0].to, "4"});
    Contents expected;
    for (const auto& [key, value] : all) {
      if (std::any_of(ranges.begin(), ranges.end(), [&](const KeyRange& range) {
            return key >= range.from && (range.to.empty() || key < range.to);
          }))
        expected[key] = value;
    }
    auto into = open(tiny(), "into" + std::to_string(round));
    ASSERT_EQ(import_checkpoint(into, kept.private_part, read, ranges).value(), expected.size());
    expect_contents(into, expected);
  }
}

// Each key was compared with each range: 200,000 records and 16,384 ranges took two minutes.
TEST_P(Checkpoints, ThousandsOfRangesAreImportedAsFastAsOne) {
  Kept kept;
  auto store = open();
  for (int i = 0; i < 4000; ++i)
    ASSERT_TRUE(store.put(std::to_string(100'000 + 25 * i), "v"));
  kept.take(store.checkpoint().value());
  std::vector<KeyRange> ranges;
  for (int i = 0; i < 100'000; i += 2)
    ranges.push_back({std::to_string(100'000 + i), std::to_string(100'000 + i + 1)});
  const auto read = kept.reader();
  const auto seconds_of = [&](const std::string& name, std::span<const KeyRange> wanted,
                              std::uint64_t records) {
    auto into = open(tiny(), name);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(import_checkpoint(into, kept.private_part, read, wanted).value(), records);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double one = seconds_of("one", {}, 4000);
  EXPECT_LT(seconds_of("many", ranges, 2000), 20 * one + 2);  // It took 10 s.
}

// ---- What is refused ----

TEST_P(Checkpoints, ErrorsSayWhatIsWrong) {
  auto store = open();
  ASSERT_TRUE(store.put("a", "1"));
  {
    const Checkpoint checkpoint = store.checkpoint().value();
    ASSERT_EQ(checkpoint.runs().size(), 1u);
    std::vector<std::byte> bytes(checkpoint.runs()[0].bytes + 1);
    EXPECT_EQ(checkpoint.read(0, bytes).code(), Errc::kInvalidOption);
    EXPECT_EQ(checkpoint.read(1, bytes).code(), Errc::kInvalidOption);
  }
  Errc inside = Errc::kOk;
  ASSERT_TRUE(store.update("a", [&](std::string&) { inside = store.checkpoint().code(); }));
  EXPECT_EQ(inside, Errc::kBusy);
  Kept kept;
  kept.take(store.checkpoint().value());
  EXPECT_EQ(kept.restore_to(spec()).code(), Errc::kBusy) << "it is open";
  ASSERT_TRUE(store.close());
  EXPECT_EQ(kept.restore_to(spec()).code(), Errc::kAlreadyExists);
  EXPECT_EQ(store.checkpoint().code(), Errc::kClosed);
  auto reader = open(with_access(RegionAccess::kOpenReadOnly));
  EXPECT_EQ(reader.checkpoint().code(), Errc::kReadOnly);
  EXPECT_EQ(get(reader, "a"), "1");
}

TEST_P(Checkpoints, DamagedPartsAreNamed) {
  auto store = open();
  for (int i = 0; i < 30; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i % 20), "1"));
  Kept kept;
  kept.take(store.checkpoint().value());
  EXPECT_EQ(read_private_part(kept.private_part).value().runs.size(), kept.runs.size());
  for (std::size_t bytes = 0; bytes < kept.private_part.size(); ++bytes)
    EXPECT_EQ(read_private_part(std::span(kept.private_part).first(bytes)).code(), Errc::kCorrupt)
        << bytes;
  for (std::size_t at = 0; at < kept.private_part.size(); ++at) {
    std::vector<std::byte> damaged = kept.private_part;
    damaged[at] ^= std::byte{4};
    EXPECT_FALSE(read_private_part(damaged)) << at;
  }
  Kept wrong = kept;
  wrong.runs.begin()->second.back() ^= std::byte{1};
  const auto refused = wrong.restore_to(spec("wrong"));
  EXPECT_EQ(refused.code(), Errc::kCorrupt);
  EXPECT_TRUE(mentions(refused.error(), "run"));
  EXPECT_FALSE(Store<>::open(spec("wrong"), with_access(RegionAccess::kOpen)))
      << "there is no store";
  wrong.runs.clear();
  EXPECT_EQ(wrong.restore_to(spec("none")).code(), Errc::kNotFound) << "what the caller said";
}

// A bit that turned in a record where the runs lay was a wrong value in the restored store, or a key
// that was not there.
TEST_P(Checkpoints, DamagedRecordsAreNotRestored) {
  auto store = open();
  for (int i = 0; i < 30; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i % 20), text_of(i, 40)));
  Kept kept;
  kept.take(store.checkpoint().value());
  ASSERT_EQ(kept.runs.size(), 1u);
  const std::vector<std::byte>& run = kept.runs.begin()->second;
  for (int i = 10; i < 30; ++i) {  // Those before are superseded: some are known to be dead.
    const std::string value = text_of(i, 40);
    const auto in_run = std::search(run.begin(), run.end(), std::as_bytes(std::span(value)).begin(),
                                    std::as_bytes(std::span(value)).end());
    ASSERT_NE(in_run, run.end());
    Kept wrong = kept;
    wrong.runs.begin()->second[static_cast<std::size_t>(in_run - run.begin()) + 20] ^= std::byte{1};
    const std::string name = "copy" + std::to_string(i);
    const Status restored = wrong.restore_to(spec(name));
    EXPECT_EQ(restored.code(), Errc::kCorrupt) << i;
    EXPECT_TRUE(mentions(restored.error(), "run")) << restored.error().message();
  }
}

// A restore that had failed left a region of which the next open made an empty store, where sizes
// fitted, and into which nothing could be restored.
TEST_P(Checkpoints, ARestoreThatFailedLeavesNoStoreAndCanBeDoneAgain) {
  auto store = open();
  Kept small, large;
  ASSERT_TRUE(store.put("key0", "of the small one"));
  small.take(store.checkpoint().value());
  Contents expected;
  for (int i = 0; i < 60; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i),
                          expected["key" + std::to_string(i)] = text_of(i, 9000)));
  large.take(store.checkpoint().value());
  Kept nothing = large, damaged = large;
  nothing.runs.clear();
  damaged.runs.rbegin()->second.back() ^= std::byte{1};
  const std::string there = spec("again");
  const auto refuses = [&](const Kept& wrong, Errc code) {
    EXPECT_EQ(wrong.restore_to(there).code(), code);
    for (const RegionAccess access :
         {RegionAccess::kOpen, RegionAccess::kOpenOrCreate, RegionAccess::kOpenReadOnly}) {
      const auto opened = Store<>::open(there, with_access(access));
      ASSERT_EQ(opened.code(), Errc::kCorrupt);
      EXPECT_TRUE(mentions(opened.error(), "did not end")) << opened.error().message();
    }
  };
  refuses(nothing, Errc::kNotFound);
  refuses(damaged, Errc::kCorrupt);
  refuses(nothing, Errc::kNotFound);
  {
    auto copy = restored(small, "again");  // Into the region of the large one.
    expect_contents(copy, {{"key0", "of the small one"}});
    EXPECT_TRUE(copy.verify().ok());
  }
  EXPECT_EQ(large.restore_to(there).code(), Errc::kAlreadyExists) << "a store is there now";
  {
    const StoreOptions options = tiny();
    Region zeros = Region::open(spec("zeros"), {.access = RegionAccess::kCreate,
                                                .size_bytes = options.segment_bytes,
                                                .unit_bytes = options.segment_bytes})
                       .value();
    ASSERT_TRUE(zeros.write(zeros.size_bytes() - 1, std::vector<std::byte>{std::byte{1}}));
  }
  EXPECT_EQ(small.restore_to(spec("zeros")).code(), Errc::kAlreadyExists) << "there is something";
  {
    Region zeros = Region::open(spec("zeros"), {.access = RegionAccess::kOpen}).value();
    ASSERT_TRUE(zeros.write(zeros.size_bytes() - 1, std::vector<std::byte>{std::byte{0}}));
  }
  auto in_zeros = restored(small, "zeros");
  expect_contents(in_zeros, {{"key0", "of the small one"}});
  Kept none_of_small = small;
  none_of_small.runs.clear();
  EXPECT_EQ(none_of_small.restore_to(spec("grown")).code(), Errc::kNotFound);
  auto copy = restored(large, "grown");  // Into the region of the small one.
  expect_contents(copy, expected);
  EXPECT_TRUE(copy.verify().ok());
}

// Runs of many lengths, over several groups of blocks.
void expect_runs_within_their_groups(std::uint32_t block_bytes) {
  CheckpointPlan plan;
  plan.superblock.block_bytes = block_bytes;
  plan.superblock.segment_bytes = 8 * block_bytes;
  Geometry geometry;
  geometry.block_bytes = block_bytes;
  Random random(3);
  for (int i = 0; i < 2000; ++i)
    plan.runs.push_back(
        {{1, 1},
         0,
         static_cast<std::uint32_t>(1 + (random.below(30) == 0
                                             ? random.below(geometry.blocks_per_group() - 2)
                                             : random.below(4))),
         0,
         {}});
  const RunPlacement placed = place_runs(plan);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const std::uint64_t head = placed.heads[i], blocks = plan.runs[i].run_blocks;
    EXPECT_GE(head, end);
    EXPECT_FALSE(geometry.is_table_block(head));
    EXPECT_EQ(head / geometry.blocks_per_group(),
              (head + blocks - 1) / geometry.blocks_per_group());
    end = head + blocks;
  }
  EXPECT_GE(placed.segments * 8, end);
  EXPECT_LT(placed.segments * 8, end + 8);
}
TEST(CheckpointFormat, RunsFindAPlaceWithinTheirGroup) { expect_runs_within_their_groups(8 * KiB); }
// A group has 1,536 blocks then.
TEST(CheckpointFormat, GroupsOfNoPowerOfTwoHavePlacesToo) {
  expect_runs_within_their_groups(16 * KiB);
}

}  // namespace
}  // namespace holdfast::kv
