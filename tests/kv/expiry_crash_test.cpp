// Expiry under the crash checker: what has expired does not come back, nor what it superseded.
#include <algorithm>
#include <thread>

#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

class KvExpiryCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvExpiryCrash);

std::string ending(std::uint64_t end, std::size_t bytes = 8) {
  std::string value = word_text(end);
  value.resize(std::max(bytes, value.size()), static_cast<char>('a' + end % 26));
  return value;
}

Crash with_a_rule() {
  Crash crash;
  crash.before = [](Tested& store) {
    store.other([&] { store.store().expire({}).value(); });  // The first word is the end.
    for (char key = 'b'; key < 'f'; ++key)
      store.put(std::string(1, key), ending(100, 1000));
    store.seal();
  };
  // An insert, an overwrite and an erase by the model's own values, whose words are far beyond.
  return crash;
}

TEST_P(KvExpiryCrash, TheFirstRuleAndTheClock) {
  Crash crash;
  crash.before = [](Tested& store) {
    for (char key = 'b'; key < 'e'; ++key)
      store.put(std::string(1, key), ending(10 + static_cast<std::uint64_t>(key - 'b'), 100));
  };
  crash.during = [](Tested& store) {
    store.other([&] { store.store().expire({}).value(); });
    store.set_clock(10);
    store.put("b", ending(200, 50));
    store.set_clock(11);
    store.erase("d");
    store.set_clock(300);
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// What expires superseded a record that would live on: it must not come back when the run of what
// expired is free.
TEST_P(KvExpiryCrash, WhatItSupersededDoesNotComeBack) {
  Crash crash = with_a_rule();
  crash.during = [](Tested& store) {
    store.put("b", ending(5, 2000));
    store.put("c", ending(5, 2000));
    store.seal();
    store.set_clock(5);
    store.reclaim();
    store.put("x", ending(100, 3000));  // Into what became free.
    store.seal();
    store.put("y", ending(100, 3000));
  };
  const Report report = crash.run(GetParam());
  EXPECT_TRUE(holds(report));
}

// The record that it superseded lies in a run that is open: it cannot be marked dead there.
TEST_P(KvExpiryCrash, WhatItSupersededIsInAnOpenRun) {
  Crash crash = with_a_rule();
  const auto before = crash.before;
  crash.before = [&](Tested& store) {
    before(store);
    // Another thread's run stays open, with a record that would live on.
    std::thread([&] { store.put("b", ending(100, 500)); }).join();
  };
  crash.during = [](Tested& store) {
    store.put("b", ending(5, 2000));
    store.seal();
    store.set_clock(5);
    store.reclaim();
    store.put("x", ending(100, 3000));
    store.seal();
    store.put("y", ending(100, 3000));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvExpiryCrash, OfAKeyspace) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("timed");
    store.put_in("timed", "b", value_of('b', 500));
    store.put("own", ending(1, 500));
    store.other([&] {
      const Space space = store.store().space("timed").value();
      store.store().expire(space, {.offset_bytes = 400}).value();
    });
  };
  crash.during = [](Tested& store) {
    store.put_in("timed", "c", value_of('c', 100));  // Too short for a stamp.
    store.other([&] { store.store().set_clock(7).value(); });
    store.reclaim();
    store.put_in("timed", "b", value_of('B', 500));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// What a put of another thread superseded is noted as dead behind its publication: a sweep that meets
// the put in between waits for it.
TEST_P(KvExpiryCrash, BesideThePutThatExpires) {
  Crash crash;
  crash.check.depth = 1;
  crash.check.images_per_run = 100;
  crash.check.schedules = {.seeds = thorough() ? 400u : 20u};
  crash.before = [](Tested& store) {
    store.other([&] { store.store().expire({}).value(); });
    store.set_clock(5);
    store.put("k", ending(100, 100));
    store.seal();
  };
  crash.during = [](Tested& store) {
    const auto write = [&store] {
      const std::uint64_t id = store.take_id();
      store.model().erase(id, "k");  // It has expired before it is there.
      store.run().perform(id, [&] { store.store().put("k", ending(5)).value(); }, 1);
    };
    const auto reclaim = [&store] {
      Actor actor(store, 2);
      actor.put("own2", value_of('x', 100));
      actor.other([&] { ForTests::seal(store.store()).value(); });
      actor.other([&] { store.store().reclaim().value(); });
      actor.get("k");
    };
    store.run().threads({write, reclaim});
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

class KvExpiryFences : public OnEveryMedium {};
HOLDFAST_ON_MEDIA_THAT_WAIT(KvExpiryFences);

TEST_P(KvExpiryFences, OfRulesAndClocks) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.put("b", ending(5, 2000));
    store.seal();
  };
  crash.during = [](Tested& store) {
    store.other([&] { store.store().expire({}).value(); });
    store.other([&] { store.store().expire({.prefix = "x"}).value(); });
    store.set_clock(5);
  };
  const Report report = crash.run(GetParam());
  ASSERT_TRUE(holds(report));
  EXPECT_EQ(report.operation(Crash::kFirst).barriers(), 3u) << "the flags and their copy, the rule";
  EXPECT_EQ(report.operation(Crash::kFirst + 1).barriers(), 1u) << "the rule";
  EXPECT_EQ(report.operation(Crash::kFirst + 2).barriers(), 1u) << "the clock";
}

}  // namespace
}  // namespace holdfast::kv
