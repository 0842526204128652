// Operations in flight, crashed in every way, on every medium: each is there wholly or not at all,
// those of one key in order, and none was acknowledged too early.
#include "pipelined.hpp"

#include <cstring>
#include <optional>

#include <holdfast/base/random.hpp>

namespace holdfast::kv {
namespace {

class KvPipelineCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvPipelineCrash);

void some_records(Tested& store) {
  store.put("a", value_of('a', 30));
  store.put("b", value_of('b', 100));
  store.put("w", word_text(1));
  store.seal();
  store.put("c", value_of('c', 10));
}

TEST_P(KvPipelineCrash, PutsErasesAndGets) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    Pipelined pipeline(store, 4);
    pipeline.put("new", value_of('n', 40));
    pipeline.get("new");
    pipeline.put("a", value_of('x', 70));
    pipeline.erase("b");
    pipeline.erase("absent");
    pipeline.get("b");
    pipeline.put("d", value_of('d', 100));
    pipeline.flush();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvPipelineCrash, UpdatesInPlaceAndByCopyBetweenPuts) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = some_records;
  crash.during = [](Tested& store) {
    Pipelined pipeline(store, 8);
    pipeline.add_to_word("w", 10);   // In place.
    pipeline.append_text("a", "+");  // A record; shares the fence.
    pipeline.add_to_word("w", 100);  // The same key: the next turn.
    pipeline.put("w", word_text(7));
    pipeline.add_to_word("w", 1000);  // In an open run: a record.
    pipeline.get("w");
    pipeline.flush();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// Nothing comes between: what is there is a prefix, and all of it where all was acknowledged.
TEST_P(KvPipelineCrash, APrefixOfTheWindowIsThere) {
  Crash crash;
  crash.before = some_records;
  crash.then = false;
  std::vector<State> prefixes;
  crash.also = [&prefixes](const crash::Past<State>& past, const State& observed) -> std::string {
    const auto acknowledged = [](const auto& operation) { return operation.acknowledged(); };
    const bool all = past.operations.size() > 6 &&
                     std::all_of(past.operations.begin(), past.operations.end(), acknowledged);
    if (all && observed != prefixes.back()) return "not as the last operation left it";
    const auto found = std::find(prefixes.begin(), prefixes.end(), observed);
    return found == prefixes.end() ? "no prefix of the window" : "";
  };
  crash.during = [&prefixes](Tested& store) {
    State state = store.dull();
    prefixes = {state};
    Pipelined pipeline(store, 8);
    const auto put = [&](const std::string& key, char letter) {
      state[key] = value_of(letter, 40);
      prefixes.push_back(state);
      pipeline.put(key, state[key]);
    };
    const auto erase = [&](const std::string& key) {
      state.erase(key);
      prefixes.push_back(state);
      pipeline.erase(key);
    };
    put("k", '1'), put("a", '2'), put("k", '3'), erase("k"), put("k", '4'), erase("a"),
        put("k", '5');
    pipeline.flush();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvPipelineCrash, OverTheEndOfABlockAndInARunOfItsOwn) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    Pipelined pipeline(store, 8);
    pipeline.put("d", value_of('d', 3000));
    pipeline.put("e", value_of('e', 3000));
    pipeline.put("f", value_of('f', 3000));
    pipeline.put("large", value_of('l', 9000));
    pipeline.append_text("d", value_of('+', 5000));
    pipeline.flush();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A group takes effect while a snapshot is open, and while another writer is at the same keys.
TEST_P(KvPipelineCrash, BesideAnOpenSnapshot) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = some_records;
  crash.during = [](Tested& store) {
    Pipelined pipeline(store, 4);
    pipeline.put("a", value_of('x', 20));
    const Snapshot snapshot = store.store().snapshot();
    pipeline.add_to_word("w", 10);
    pipeline.erase("b");
    pipeline.flush();
    std::string value;
    EXPECT_TRUE(snapshot.get("b", value));
    EXPECT_TRUE(snapshot.get("a", value));
    EXPECT_EQ(value, value_of('a', 30));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// The first has no room for the record that it must write again; what was appended behind it is
// taken back with it, so that it cannot appear before it.
TEST_P(KvPipelineCrash, AWindowThatFindsTheMediumFullHalfWayLeavesNothing) {
  Crash crash;
  crash.options.max_bytes = crash.options.initial_bytes;
  crash.check.max_size_bytes = crash.options.max_bytes;
  crash.then = false;  // There is no room for it.
  crash.before = [](Tested& store) {
    store.put("old", value_of('o', 64));
    ForTests::take_all_blocks(store.store());
    for (int i = 0; ForTests::fits(store.store(), 3 * 128, 3); ++i)
      store.put("k" + std::to_string(i), value_of('k', 64));
    ASSERT_TRUE(ForTests::fits(store.store(), 2 * 128, 2));
  };
  crash.during = [](Tested& store) {
    const std::uint64_t ids[] = {store.take_id(), store.take_id()};
    store.model().put(ids[0], "new", value_of('n', 64));
    store.model().put(ids[1], "old", value_of('m', 64));
    for (const std::uint32_t session : {0u, 1u})
      store.run().begin(ids[session], session);
    Store<>& full = store.store();
    auto pipeline = Pipeline<>::open(full).value();
    std::string value;
    const auto first = pipeline.put("new", value_of('n', 64));
    const auto second = pipeline.put("old", value_of('m', 64));
    const auto read = pipeline.get("old", value);
    ForTests::raise_erase_horizon(full, "new");
    EXPECT_EQ(pipeline.wait(second).code(), Errc::kNoSpace);
    EXPECT_EQ(pipeline.wait(first).code(), Errc::kNoSpace);
    EXPECT_TRUE(pipeline.wait(read));
    EXPECT_EQ(value, value_of('o', 64));
    for (const std::uint64_t id : ids)
      store.run().withdraw(id);  // As if they had never begun.
    store.other([] {});          // A point to crash at.
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvPipelineCrash, AnUpdateForWhichThereIsNoRoomLeavesTheRecord) {
  Crash crash;
  crash.options.max_bytes = crash.options.initial_bytes;
  crash.check.max_size_bytes = crash.options.max_bytes;
  crash.then = false;
  crash.before = [](Tested& store) {
    store.put("old", value_of('o', 64));
    ForTests::take_all_blocks(store.store());
    for (int i = 0; ForTests::fits(store.store(), 2 * 128, 2); ++i)
      store.put("k" + std::to_string(i), value_of('k', 64));
  };
  crash.during = [](Tested& store) {
    store.failing({{"old", value_of('O', 64)}}, [](Store<>& full) {
      auto pipeline = Pipeline<>::open(full).value();
      const auto updated = pipeline.update("k0", [](std::string& text) { text.resize(9'000); });
      EXPECT_EQ(pipeline.wait(updated).code(), Errc::kNoSpace);
    });
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// Random operations of few keys, several of a key in flight.
TEST_P(KvPipelineCrash, RandomWindows) {
  for (std::uint64_t seed = 1; seed <= (thorough() ? 20u : 3u); ++seed) {
    Crash crash;
    crash.options = patchable_options();
    crash.check.images_per_run = 100;
    crash.before = [](Tested& store) {
      store.put("a", word_text(1));
      store.put("b", word_text(2));
      store.seal();
    };
    crash.during = [seed](Tested& store) {
      Random random(seed);
      Pipelined pipeline(store, 4);
      for (std::uint64_t i = 0; i < 12; ++i) {
        const std::string key(1, static_cast<char>('a' + random.below(3)));
        switch (random.below(5)) {
          case 0:
          case 1: pipeline.put(key, word_text(100 + i)); break;
          case 2: pipeline.get(key); break;
          case 3: pipeline.erase(key); break;
          default: pipeline.put(key, word_text(200 + i)), pipeline.add_to_word(key, 1000); break;
        }
      }
      pipeline.flush();
    };
    EXPECT_TRUE(holds(crash.run(GetParam()))) << "seed " << seed;
  }
}

// ---- Two sessions ----

// A pipeline and a thread with single verbs, or another pipeline, in many orders.
class KvPipelineRace : public OnEveryMedium {
 protected:
  Report race(Crash& crash, const std::function<void(Pipelined&)>& first,
              const std::function<void(Tested&, Actor&)>& second) {
    crash.check.depth = 1;
    crash.check.images_per_run = 100;
    if (thorough())
      crash.check.schedules = {.seeds = 100, .preemptions = 2, .max_schedules = 500};
    else
      crash.check.schedules = {.seeds = 10};
    crash.before = [](Tested& store) {
      store.put("k", word_text(1));
      store.put("l", word_text(2));
      store.seal();
    };
    crash.during = [&](Tested& store) {
      store.run().threads({[&] {
                             Actor(store, 1).put("own1", "x");  // Draws a chunk of sequences.
                             Pipelined pipeline(store, 4, 10);
                             first(pipeline);
                             pipeline.flush();
                           },
                           [&] {
                             Actor actor(store, 2);
                             actor.put("own2", "x");
                             second(store, actor);
                           }});
    };
    return crash.run(GetParam());
  }
};
HOLDFAST_ON_EVERY_MEDIUM(KvPipelineRace);

TEST_P(KvPipelineRace, PutsAndPutsOfOneKey) {
  Crash crash;
  EXPECT_TRUE(holds(race(
      crash, [](Pipelined& pipeline) { pipeline.put("k", "1"), pipeline.put("k", "2"); },
      [](Tested&, Actor& actor) { actor.put("k", "3"), actor.get("k"); })));
}

TEST_P(KvPipelineRace, ErasesAndPuts) {
  Crash crash;
  EXPECT_TRUE(holds(race(
      crash,
      [](Pipelined& pipeline) {
        pipeline.erase("k"), pipeline.erase("m"), pipeline.put("k", "1"), pipeline.get("m");
      },
      [](Tested&, Actor& actor) { actor.put("m", "2"), actor.erase("k"), actor.get("k"); })));
}

// An update decides under the latch: a put that was acknowledged is in what it changes.
TEST_P(KvPipelineRace, UpdatesAndPuts) {
  Crash crash;
  crash.options = patchable_options();
  EXPECT_TRUE(holds(race(
      crash,
      [](Pipelined& pipeline) {
        pipeline.add_to_word("k", 10), pipeline.append_text("l", "+"), pipeline.get("k");
      },
      [](Tested&, Actor& actor) {
        actor.put("l", word_text(7)), actor.put("k", word_text(8)), actor.get("l");
      })));
}

TEST_P(KvPipelineRace, UpdatesInPlaceAndUpdatesInPlace) {
  Crash crash;
  crash.options = patchable_options();
  EXPECT_TRUE(holds(race(
      crash,
      [](Pipelined& pipeline) { pipeline.add_to_word("k", 10), pipeline.add_to_word("l", 10); },
      [](Tested& store, Actor& actor) {
        Pipelined other(store, 4, 20);
        other.add_to_word("l", 100), other.add_to_word("k", 100), other.flush();
        actor.get("k");
      })));
}

TEST_P(KvPipelineRace, PutsAndABatch) {
  Crash crash;
  EXPECT_TRUE(holds(race(
      crash, [](Pipelined& pipeline) { pipeline.put("k", "1"), pipeline.put("l", "2"); },
      [](Tested&, Actor& actor) { actor.batch({{"l", "b1"}, {"k", std::nullopt}}); })));
}

}  // namespace
}  // namespace holdfast::kv
