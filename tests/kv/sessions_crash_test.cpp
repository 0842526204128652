// Two sessions at once, in many orders, crashed in each of them.
//
// Both take their sequences in chunks, so that the one that starts later may have the lower one.
// docs/kv_arguments.md ("A put, and why one fence is enough") argues why that does no harm; these
// tests attack the argument.
#include "kv_crash.hpp"

#include <optional>

namespace holdfast::kv {
namespace {

class KvTwoSessions : public OnEveryMedium {
 protected:
  using Body = std::function<void(Tested&, Actor&)>;

  // `first` and `second` start with lanes and chunks of their own.
  Report race(Crash& crash, const Body& first, const Body& second) {
    crash.check.depth = 1;
    crash.check.images_per_run = 200;
    if (thorough())
      crash.check.schedules = {.seeds = 200, .preemptions = 2, .max_schedules = 1'000};
    else
      crash.check.schedules = {.seeds = 10};
    crash.during = [&](Tested& store) {
      const auto body = [&store](std::uint32_t number, const Body& work) {
        return [&store, number, &work] {
          Actor actor(store, number);
          actor.put("own" + std::to_string(number), "x");  // Draws a chunk of sequences.
          work(store, actor);
        };
      };
      store.run().threads({body(1, first), body(2, second)});
    };
    return crash.run(GetParam());
  }
  static void one_record(Tested& store) {
    store.put("k", word_text(1));
    store.put("l", word_text(2));
    store.seal();
  }
};
HOLDFAST_ON_EVERY_MEDIUM(KvTwoSessions);

TEST_P(KvTwoSessions, PutAndPutOfOneKey) {
  Crash crash;
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.put("k", "first"); },
      [](Tested&, Actor& actor) { actor.put("k", "second"), actor.get("k"); })));
}

TEST_P(KvTwoSessions, PutAndPutOfNeighbours) {
  Crash crash;
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.put("k", "first"), actor.get("l"); },
      [](Tested&, Actor& actor) { actor.put("l", "second"), actor.get("k"); })));
}

TEST_P(KvTwoSessions, PutAndErase) {
  Crash crash;
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.put("k", "first"), actor.get("k"); },
      [](Tested&, Actor& actor) { actor.erase("k"), actor.get("k"); })));
}

TEST_P(KvTwoSessions, EraseAndEraseThenPut) {
  Crash crash;
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.erase("k"), actor.put("k", "first"); },
      [](Tested&, Actor& actor) { actor.erase("k"), actor.put("k", "second"); })));
}

// A tombstone that is durable, but comes too late to erase anything, and a put after it.
TEST_P(KvTwoSessions, ATombstoneThatFindsTheKeyErasedDoesNotEraseALaterPut) {
  Crash crash;
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.erase("k"); },
      [](Tested&, Actor& actor) { actor.erase("k"), actor.put("k", "later"), actor.get("k"); })));
}

TEST_P(KvTwoSessions, BatchAndGets) {
  Crash crash;
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash,
      [](Tested&, Actor& actor) { actor.batch({{"k", "b1"}, {"l", std::nullopt}, {"m", "b2"}}); },
      [](Tested&, Actor& actor) { actor.get("m"), actor.get("k"), actor.get("l"); })));
}

TEST_P(KvTwoSessions, BatchAndPut) {
  Crash crash;
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.batch({{"k", "b1"}, {"l", std::nullopt}}); },
      [](Tested&, Actor& actor) { actor.put("k", "p"), actor.put("l", "q"); })));
}

TEST_P(KvTwoSessions, BatchAndBatch) {
  Crash crash;
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.batch({{"k", "b1"}, {"l", std::nullopt}}); },
      [](Tested&, Actor& actor) { actor.batch({{"l", "c1"}, {"k", "c2"}}), actor.get("k"); })));
}

TEST_P(KvTwoSessions, UpdateWordAndGet) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.add_to_word("k", 10), actor.add_to_word("k", 100); },
      [](Tested&, Actor& actor) { actor.get("k"), actor.get("k"); })));
}

// Of a keyspace, where the general verbs do it.
TEST_P(KvTwoSessions, InAKeyspacePutEraseAndWords) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = [](Tested& store) {
    store.create_space("s");
    store.put_in("s", "k", word_text(1));
    store.seal_in("s");
  };
  EXPECT_TRUE(holds(race(
      crash,
      [](Tested&, Actor& actor) { actor.add_to_word("~s/k", 10), actor.put("~s/l", "first"); },
      [](Tested&, Actor& actor) {
        actor.add_to_word("~s/k", 100), actor.erase("~s/l"), actor.get("~s/k");
      })));
}

TEST_P(KvTwoSessions, UpdateWordAndUpdateWord) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.add_to_word("k", 10); },
      [](Tested&, Actor& actor) { actor.add_to_word("k", 100), actor.get("k"); })));
}

// (d)
TEST_P(KvTwoSessions, UpdateWordAndReclaim) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = [](Tested& store) {
    one_record(store);
    store.put("big", value_of('b', 3000));
    store.seal();
    store.put("big", value_of('c', 100));
    store.put("l", word_text(3));
    store.seal();
  };
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.add_to_word("k", 10), actor.add_to_word("k", 100); },
      [](Tested& store, Actor& actor) {
        actor.other([&] { ForTests::pass(store.store()).value(); });
      })));
}

// Reclamation frees the run of a tombstone and moves records beside a writer of the same keys.
TEST_P(KvTwoSessions, PutAndReclaim) {
  Crash crash;
  crash.before = [](Tested& store) {
    one_record(store);
    store.put("big", value_of('b', 3000));
    store.erase("l");
    store.seal();
    store.put("big", value_of('c', 100));
    store.seal();
  };
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.put("k", "new"), actor.put("l", "back"); },
      [](Tested& store, Actor& actor) {
        actor.other([&] { ForTests::pass(store.store()).value(); });
      })));
}

TEST_P(KvTwoSessions, EraseAndReclaimTwice) {
  Crash crash;
  crash.before = [](Tested& store) {
    one_record(store);
    store.put("big", value_of('b', 3000));
    store.erase("l");
    store.seal();
    store.put("big", value_of('c', 100));
    store.seal();
  };
  EXPECT_TRUE(holds(race(
      crash,
      [](Tested&, Actor& actor) { actor.erase("k"), actor.put("l", "back"), actor.erase("l"); },
      [](Tested& store, Actor& actor) {
        for (int i = 0; i < 2; ++i)
          actor.other([&] { ForTests::pass(store.store()).value(); });
      })));
}

TEST_P(KvTwoSessions, PutAndSnapshot) {
  Crash crash;
  crash.before = one_record;
  EXPECT_TRUE(holds(race(
      crash, [](Tested&, Actor& actor) { actor.put("k", "new"), actor.erase("l"); },
      [](Tested& store, Actor& actor) {
        actor.other([&] {
          const Snapshot snapshot = store.store().snapshot();
          std::string once, twice;
          const bool found = snapshot.get("k", once).has_value();
          EXPECT_TRUE(found);
          EXPECT_TRUE(snapshot.get("k", twice).has_value() && once == twice);
        });
      })));
}

}  // namespace
}  // namespace holdfast::kv
