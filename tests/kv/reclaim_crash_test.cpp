// Reclamation, crashed at each of its steps; and what it must never do to a record.
#include <holdfast/kv/checkpoint.hpp>

#include "kv_crash.hpp"

#include <optional>
#include <thread>

namespace holdfast::kv {
namespace {

class KvReclaimCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvReclaimCrash);

void two_runs_half_dead(Tested& store) {
  for (char key = 'a'; key < 'e'; ++key)
    store.put(std::string(1, key), value_of(key, 1200));
  store.seal();
  store.put("a", value_of('A', 40));
  store.put("b", value_of('B', 40));
  store.erase("c");
  store.seal();
}

void put_a_to_f_and_seal(Tested& store) {
  for (char key = 'a'; key < 'g'; ++key)
    store.put(std::string(1, key), value_of(key, 1000));
  store.seal();
}

TEST_P(KvReclaimCrash, APass) {
  Crash crash;
  crash.before = two_runs_half_dead;
  crash.during = [](Tested& store) {
    store.pass();
    store.put("a", "after");
    store.pass();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// The tombstone's own run is emptied; what it erased lies in a run that stays, marked dead on the
// medium.
TEST_P(KvReclaimCrash, DroppingTombstones) {
  Crash crash;
  crash.before = [](Tested& store) {
    put_a_to_f_and_seal(store);
    store.erase("a");
    store.put("x", value_of('x', 3000));
    store.put("x", value_of('y', 3000));
    store.seal();
  };
  crash.during = [](Tested& store) {
    store.other([&] { ForTests::pass(store.store(), 0.4).value(); });
    store.other([&] { ForTests::pass(store.store(), 0.4).value(); });
    store.put("b", "after");
  };
  const Report report = crash.run(GetParam());
  EXPECT_TRUE(holds(report));
}

// Nothing is moved, so no fence of a copy orders the dead bits before the tombstone's run goes.
TEST_P(KvReclaimCrash, DroppingATombstoneOfARunInWhichNothingLives) {
  Crash crash;
  crash.before = [](Tested& store) {
    put_a_to_f_and_seal(store);
    store.erase("a");
    store.put("x", value_of('x', 3000));
    store.seal();
    store.put("x", value_of('y', 5000));
    store.seal();
    for (int i = 0; i < 3; ++i)  // Page regions: the runs' tails and words.
      store.other([&] { store.store().sync().value(); });
  };
  crash.during = [](Tested& store) {
    store.other([&] { EXPECT_EQ(ForTests::pass(store.store(), 0.4).value(), 1u); });
    EXPECT_EQ(store.store().stats().tombstones_dropped, 1u);
    store.put("b", "after");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A run that is open in another session has no dead bits on the medium: recovery will scan it.
TEST_P(KvReclaimCrash, ATombstoneStaysWhileWhatItErasedLiesInAnOpenRun) {
  if (GetParam().granularity == Granularity::kPage) GTEST_SKIP() << "all sessions share one run";
  Crash crash;
  crash.before = [](Tested& store) {
    store.put("x", value_of('x', 3000));
    std::thread([&] { store.put("e", value_of('e', 100)); }).join();  // Its run stays open.
    ForTests::lapse_sequences(store.store());  // One tombstone, newer than "e".
    store.erase("e");
    store.put("x", value_of('y', 3000));
    store.seal();
    store.put("x", "small");
  };
  crash.during = [](Tested& store) {
    store.other([&] { EXPECT_EQ(ForTests::pass(store.store(), 0.4).value(), 1u); });
    EXPECT_EQ(store.store().stats().tombstones_dropped, 0u);
    store.put("b", "after");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// Another thread sealed the run of the erased record, and its word has no fence yet: no word beside
// it, in the line of blocks 8 to 15, is stored by the thread that reclaims. Until the word is
// durable the run counts as open, and recovery believes none of its dead bits.
// The run is kept by a checkpoint. What was moved from it is not marked dead there while a snapshot
// is open, nor before the next pass.
TEST_P(KvReclaimCrash, ATombstoneStaysWhileWhatItErasedLiesInARunThatIsKept) {
  Crash crash;
  crash.before = [](Tested& store) {
    for (char key = 'b'; key < 'h'; ++key)
      store.put(std::string(1, key), value_of(key, 900));
    store.seal();
    for (const char* key : {"b", "c", "d"})
      store.erase(key);
    store.seal();
  };
  crash.during = [](Tested& store) {
    std::optional<Checkpoint> kept;
    store.other([&] { kept = store.store().checkpoint().value(); });
    {
      const auto snapshot = store.store().snapshot();
      store.pass();
    }
    store.erase("e");
    store.seal();
    store.other([&] { ForTests::empty_segment(store.store(), 0).value(); });
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvReclaimCrash, TheWordOfARunThatAnotherThreadSealedIsDurableBeforeATombstoneGoes) {
  Crash crash;
  crash.options.segment_bytes = crash.options.initial_bytes = 128 * KiB;
  crash.check.size_bytes = crash.check.unit_bytes = 128 * KiB;
  crash.before = [](Tested& store) {
    store.put("x", value_of('x', 3000));      // Block 1.
    store.put("big", value_of('g', 45'000));  // Blocks 2 to 7.
    std::thread([&] {
      store.put("live", value_of('l', 5000));  // Block 8.
      store.put("e", value_of('e', 100));
      store.seal();
    }).join();
    store.put("big", "small now");
    store.pass();                              // Blocks 2 to 7 are free.
    ForTests::lapse_sequences(store.store());  // One tombstone, newer than "e".
    store.erase("e");
    store.put("x", value_of('y', 3000));
    store.seal();
    if (store.store().region_report().granularity != Granularity::kPage) return;
    for (int i = 0; i < 3; ++i)  // The runs' tails and words.
      store.other([&] { store.store().sync().value(); });
  };
  crash.during = [](Tested& store) {
    store.other([&] { ForTests::pass(store.store(), 0.4).value(); });
    EXPECT_EQ(store.store().stats().tombstones_dropped, 1u);
    store.put("b", "after");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvReclaimCrash, RecordsPatchedInPlaceAreMoved) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = [](Tested& store) {
    two_runs_half_dead(store);
    if (store.store().region_report().granularity == Granularity::kPage) return;
    store.update_word("d", 0, 77);
  };
  crash.during = [](Tested& store) {
    store.update_word("d", 8, 78);
    store.pass();
    store.update_word("d", 0, 79);  // Its run is open: a new record.
    store.seal();
    store.update_word("d", 8, 80);
    store.pass();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// Original and copy are both there after a crash, of one sequence: a checkpoint keeps the first. The
// second, which was updated in place, lies before it on the medium.
TEST_P(KvReclaimCrash, ACopyCountsAlsoWhereItLiesBeforeItsOriginal) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = [](Tested& store) {
    store.put("x", value_of('x', 6000));
    store.seal();
    put_a_to_f_and_seal(store);
    for (const char* key : {"x", "a", "b", "c"})
      store.erase(key);
    store.other([&] { ForTests::pass(store.store(), 0.9).value(); });  // The run of x is free.
  };
  crash.during = [](Tested& store) {
    std::optional<Checkpoint> kept;
    store.other([&] { kept = store.store().checkpoint().value(); });
    store.pass();
    store.other([&] { ForTests::seal_relocated(store.store()).value(); });
    store.update_word("d", 0, 77);
    store.update_word("e", 8, 78);
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvReclaimCrash, FreedBlocksAreUsedAgain) {
  Crash crash;
  crash.before = [](Tested& store) {
    two_runs_half_dead(store);
    store.pass();
  };
  crash.during = [](Tested& store) {
    store.put("e", value_of('e', 5000));
    store.put("f", value_of('f', 5000));
    store.erase("a");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// The words of its blocks may lie in different lines (and sectors, and become durable in any
// order).
TEST_P(KvReclaimCrash, FreeingARunOfManyBlocksIsNoDamageHalfWay) {
  Crash crash;
  crash.options.segment_bytes = 256 * KiB;
  crash.options.initial_bytes = 256 * KiB;
  crash.check.size_bytes = crash.check.unit_bytes = 256 * KiB;
  crash.before = [](Tested& store) {
    store.put("a", value_of('a', 30));
    store.put("big",
              value_of('g', 60'000));  // Eight blocks and more: the second line of table words.
    store.put("b", value_of('b', 30));
    store.seal();
    store.put("big", "small now");
    store.seal();
  };
  crash.during = [](Tested& store) {
    store.pass();
    store.put("c", value_of('c', 30));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A full medium whose free blocks lie apart: records move so that they lie together, and the large
// value is put where they were (KV-13).
TEST_P(KvReclaimCrash, FreeBlocksAreBroughtTogetherForALargeValue) {
  Crash crash;
  crash.options.max_bytes = 256 * KiB;
  crash.check.size_bytes = crash.check.unit_bytes = 256 * KiB;
  crash.before = [](Tested& store) {
    for (char key = 'a'; key < 'z'; ++key)
      store.put(std::string(1, key), value_of(key, 6000));
    store.seal();
    for (char key = 'a'; key < 'y'; key += 2)
      store.erase(std::string(1, key));
  };
  crash.during = [](Tested& store) { store.put("large", value_of('l', 60'000)); };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// Only the freeing, and every state of it: a run of 18 blocks, whose words lie in three lines. What
// is not free afterwards is the whole run, or tails that recovery frees.
TEST_P(KvReclaimCrash, FreeingALongRunIsSoundInEveryState) {
  Crash crash;
  crash.options.segment_bytes = 256 * KiB;
  crash.options.initial_bytes = 256 * KiB;
  crash.check.size_bytes = crash.check.unit_bytes = 256 * KiB;
  crash.check.depth = 1;
  crash.check.images_per_run = 40'000;
  crash.then = false;
  crash.before = [](Tested& store) {
    store.put("big", value_of('g', 140'000));
    const auto pinned = store.store().get_pinned("big").value();  // Emptied, its run is not freed.
    store.put("big", "small now");
    store.seal();
    store.pass();
    EXPECT_GE(store.store().stats().used_bytes, 18 * 8 * KiB);
  };
  crash.during = [](Tested& store) {
    store.other([&] { EXPECT_EQ(ForTests::pass(store.store(), 2).value(), 18u); });
    EXPECT_LT(store.store().stats().used_bytes, 18 * 8 * KiB);
  };
  const Report report = crash.run(GetParam());
  EXPECT_TRUE(holds(report));
  // Torn sectors of a page medium are too many.
  EXPECT_EQ(report.exhaustive(), GetParam().granularity != Granularity::kPage) << report;
  EXPECT_GE(report.images_in_all(), 18u) << report;
}

// Found by W06: a tail's dead bits are in no checksum. A footer that became durable before the
// zeros made recovery believe the bits of the block's earlier life, and acknowledged records
// vanished.
TEST_P(KvReclaimCrash, ABlockBeingSealedIsNotJudgedByDeadBitsOfItsEarlierLife) {
  Crash crash;
  crash.check.depth = 1;
  crash.check.images_per_run = 4'000;
  crash.then = false;
  crash.before = [](Tested& store) {
    store.put("x", std::string(8'000, '\xff'));
    store.seal();
    store.put("x", "gone");
    store.seal();
    store.pass();
    // In the block that holds nothing but ones; five records, so that the dead bits lie among them.
    for (const char* key : {"m", "n", "o", "p", "q"})
      store.put(key, value_of('m', 100));
  };
  crash.during = [](Tested& store) {
    store.seal();
    store.put("r", "1");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvReclaimCrash, AfterARestartTombstonesAreDroppedOnlyWithDurableDeadBits) {
  // Found by reading: recovery forgot that it had marked records dead in a run it was still
  // indexing. The tombstone must lie in a block before that of what it erased, so that recovery
  // meets it first.
  Crash crash;
  crash.before = [](Tested& store) {
    store.put("x", value_of('x', 7000));
    store.seal();  // Block 1.
    for (char key = 'a'; key < 'f'; ++key)
      store.put(std::string(1, key), value_of(key, 1000));
    store.seal();  // Block 2: "a" lies here.
    store.put("x", "small");
    store.seal();      // Block 3.
    store.pass();      // Frees block 1.
    store.erase("a");  // Goes to a block before 2.
    store.put("y", value_of('y', 3000));
    store.put("y", value_of('z', 3000));
    store.seal();
    store.abandon();
    store.reopen();
  };
  crash.during = [](Tested& store) {
    for (int i = 0; i < 3; ++i)
      store.other([&] { ForTests::pass(store.store(), 0.4).value(); });
    EXPECT_GT(store.store().stats().tombstones_dropped, 0u);
    store.put("b", "after");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// Dead bits that a process left in caches: the next one drops tombstones because of them.
TEST_P(KvReclaimCrash, DeadBitsThatAProcessLeftInCachesAreDurableBeforeATombstoneGoes) {
  Crash crash;
  crash.check.durable_at_acknowledge = false;
  crash.before = [](Tested& store) {
    put_a_to_f_and_seal(store);
    store.erase("a");
    store.put("x", value_of('x', 3000));
    store.put("x", value_of('y', 3000));
    store.seal();
    for (int i = 0; i < 3; ++i)  // Page regions: the runs' tails and words.
      store.other([&] { store.store().sync().value(); });
  };
  crash.during = [](Tested& store) {
    std::thread([&] { ForTests::put_dead_bits_without_fence(store.store()); }).join();
    store.abandon();
    store.reopen();
    for (int i = 0; i < 2; ++i)
      store.other([&] { ForTests::pass(store.store(), 0.4).value(); });
    EXPECT_GT(store.store().stats().tombstones_dropped, 0u);
    store.put("b", "after");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// The run of the original was kept by a pin, and a snapshot was open, so that the original was not
// marked when it was moved; the next process knows only what the medium says of it.
TEST_P(KvReclaimCrash, AMovedRecordThatIsErasedAfterACleanCloseDoesNotComeBack) {
  Crash crash;
  crash.before = [](Tested& store) {
    put_a_to_f_and_seal(store);
    store.put("a", "small");
    store.seal();
    {
      const Pinned pinned = store.store().get_pinned("d").value();
      const auto snapshot = store.store().snapshot();
      store.pass();
    }
    store.close();
    store.reopen();
  };
  crash.during = [](Tested& store) {
    store.erase("d");
    store.put("y", value_of('y', 3000));
    store.put("y", value_of('z', 3000));
    store.seal();
    // Page regions: one sync for the records, one for the run's tail.
    for (int i = 0; i < 2; ++i)
      store.other([&] { store.store().sync().value(); });
    for (int i = 0; i < 3; ++i)
      store.other([&] { ForTests::pass(store.store(), 0.4).value(); });
    EXPECT_GT(store.store().stats().tombstones_dropped, 0u);
    store.put("b", "after");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A crash left a valid tail, but where its dead bits are, what the block held in its earlier life
// (where 512 records or more have a line of dead bits alone). The zeros that recovery puts there
// are durable before the word that lets them count: else all that it had shown was gone after a
// second crash.
TEST_P(KvReclaimCrash, ZerosOverForeignDeadBitsAreDurableBeforeTheWordThatLetsThemCount) {
  if (GetParam().granularity == Granularity::kPage) GTEST_SKIP();
  Crash crash;
  crash.before = [](Tested& store) {
    for (char key = 'a'; key < 'f'; ++key)
      store.put(std::string(1, key), value_of(key, 100));
    ForTests::put_tail_without_fence(store.store(), ~std::uint64_t{0});
    store.abandon();
  };
  crash.during = [](Tested& store) {
    store.reopen();
    EXPECT_EQ(store.store().count(), 5u);
    store.put("b", "after");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A pass that a snapshot interrupts leaves copies behind. The next pass must not bring back what
// was patched in place since.
TEST(KvReclaimPatch, ARecordThatWasMovedAlreadyIsNotCopiedAgain) {
  for (const crash::Model& model : {crash::kLine, crash::kLineStreaming, crash::kByte}) {
    Crash crash;
    crash.options = patchable_options();
    crash.before = [](Tested& store) {
      two_runs_half_dead(store);
      {
        // A pin keeps the emptied run from being freed; the clean close then leaves it behind.
        const Pinned pinned = store.store().get_pinned("d").value();
        store.pass();
      }
      store.other([&] { ForTests::seal_relocated(store.store()).value(); });
      store.update_word("d", 0, 99);
      store.close();
      store.reopen();
    };
    crash.during = [](Tested& store) {
      store.pass();
      store.put("e", "after");
    };
    EXPECT_TRUE(holds(crash.run(model)));
  }
}

}  // namespace
}  // namespace holdfast::kv
