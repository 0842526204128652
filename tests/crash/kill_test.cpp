// What the checker must find after a kill: the process dies, the caches stay, another process
// recovers from what they hold, and then the power fails.
#include <gtest/gtest.h>

#include <holdfast/crash/checker.hpp>

namespace holdfast::crash {
namespace {

std::uint64_t* word(Region& region, std::uint64_t offset) {
  return reinterpret_cast<std::uint64_t*>(region.data() + offset);
}
std::uint64_t load(Region& region, std::uint64_t offset) {
  return Persist::load(word(region, offset));
}
void set(Region& region, std::uint64_t offset, std::uint64_t value) {
  region.persist().store(word(region, offset), value);
}
void persist(Region& region, std::uint64_t offset, std::uint64_t bytes) {
  region.persist().persist(word(region, offset), bytes);
}

// Operation n writes n: what is seen must be the last acknowledged one, or the one in flight.
std::string last_or_next(const Past<std::uint64_t>& past, const std::uint64_t& seen) {
  std::uint64_t last = past.base;
  for (const Operation& operation : past.operations) {
    if (operation.acknowledged()) {
      last = operation.id;
    } else if (seen == operation.id) {
      return {};
    }
  }
  return seen == last ? "" : "neither the last acknowledged value nor the one in flight";
}

// One word, durable when it is acknowledged. Recovery writes back what it reads, or does not.
Protocol<std::uint64_t> one_word(bool writes_back) {
  Protocol<std::uint64_t> protocol;
  protocol.workload = [](Region& region, Workload& run) {
    for (const std::uint64_t id : {1, 2}) {
      run.perform(id, [&] {
        set(region, 0, id);
        persist(region, 0, 8);
      });
    }
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    if (writes_back) persist(region, 0, 8);
    return load(region, 0);
  };
  protocol.check = last_or_next;
  return protocol;
}

TEST(CrashCheckerKills, AValueThatIsShownFromACacheAndLostWithThePowerIsFound) {
  const Report report = check(one_word(false), {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  const std::string& text = report.failures[0];
  EXPECT_NE(text.find("killed before the fence at tests/crash/kill_test.cpp:"), std::string::npos)
      << text;
  EXPECT_NE(text.find("in flight: operation 1"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing was done since a reader saw"), std::string::npos) << text;
  // No power failure shows it, however many.
  EXPECT_TRUE(check(one_word(false), {.model = kLine, .depth = 3, .kills = false}).ok());
}

TEST(CrashCheckerKills, ARecoveryThatWritesBackWhatItReadsIsSound) {
  for (const Model& model : {kLine, kLineStreaming}) {
    const Report report = check(one_word(true), {.model = model});
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_EQ(report.kills, 2u) << report;  // Before each fence. After it nothing is pending.
    const Report without = check(one_word(true), {.model = model, .kills = false});
    EXPECT_EQ(without.kills, 0u);
    EXPECT_EQ(report.images, without.images);
    EXPECT_EQ(report.points, without.points);
  }
}

TEST(CrashCheckerKills, AReaderMayBeAllowedToSeeWhatIsNotDurable) {
  const Report report = check(one_word(false), {.model = kLine, .kept_once_shown = false});
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.kills, 2u) << report;
}

TEST(CrashCheckerKills, OnByteMediaAndWithOneCrashThereIsNothingToTry) {
  EXPECT_EQ(check(one_word(false), {.model = kByte}).kills, 0u);
  const Report one = check(one_word(false), {.model = kLine, .depth = 1});
  EXPECT_TRUE(one.ok()) << one;
  EXPECT_EQ(one.kills, 0u);
}

// A value moves from one line to another: copied, then the old place is cleared. Recovery ends a
// move of which it finds the copy.
Protocol<std::uint64_t> moving(bool writes_back_first) {
  Protocol<std::uint64_t> protocol;
  protocol.initial = 1;
  protocol.setup = [](Region& region) {
    set(region, 0, 1);
    persist(region, 0, 8);
  };
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      set(region, 64, 1);
      persist(region, 64, 8);
      set(region, 0, 0);
      persist(region, 0, 8);
    });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    if (writes_back_first) persist(region, 0, 128);
    if (load(region, 64) == 1 && load(region, 0) == 1) set(region, 0, 0);
    persist(region, 0, 128);
    return load(region, 0) | load(region, 64);
  };
  protocol.check = [](const Past<std::uint64_t>&, const std::uint64_t& seen) -> std::string {
    return seen == 1 ? "" : "the value is gone";
  };
  return protocol;
}

// Dash's visitors that had gone home were taken out like this.
TEST(CrashCheckerKills, ARecoveryThatBuildsOnACopyInACacheLosesWhatWasAcknowledged) {
  const Report sound = check(moving(true), {.model = kLine});
  EXPECT_TRUE(sound.ok()) << sound;
  const Report report = check(moving(false), {.model = kLine, .kept_once_shown = false});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("the value is gone"), std::string::npos) << report;
  EXPECT_NE(report.failures[0].find("killed before the fence"), std::string::npos) << report;
  EXPECT_NE(report.failures[0].find("a second crash, inside the recovery"), std::string::npos)
      << report;
  EXPECT_TRUE(check(moving(false), {.model = kLine, .depth = 3, .kills = false}).ok());
}

// Two words in two lines, in order. Recovery completes them if the first is there, and gives them up
// if it is not. `careful`: it waits for the first one, too, when it completes them.
Protocol<std::uint64_t> two_words(bool careful) {
  Protocol<std::uint64_t> protocol;
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      set(region, 0, 1);
      set(region, 64, 1);
      persist(region, 0, 128);
    });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    const bool completes = load(region, 0) == 1 && load(region, 64) == 0;
    set(region, 64, load(region, 0));
    persist(region, completes && !careful ? 64 : 0, completes && !careful ? 8 : 128);
    return load(region, 0) + load(region, 64);
  };
  protocol.check = [](const Past<std::uint64_t>& past, const std::uint64_t& seen) -> std::string {
    if (past.operations[0].acknowledged()) return seen == 2 ? "" : "lost";
    return seen == 2 || seen == 0 ? "" : "half of it";
  };
  return protocol;
}

// At the fence both words are there.
TEST(CrashCheckerKills, AKillBetweenTwoStoresIsTried) {
  const Report sound = check(two_words(true), {.model = kLine});
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(sound.kills, 2u) << sound;
  const Report report = check(two_words(false), {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("; 1 stores before the next"), std::string::npos) << report;
}

TEST(CrashCheckerKills, OnPageMediaWhatIsInThePageCacheIsShownAfterASync) {
  for (const bool syncs : {true, false}) {
    Protocol<std::uint64_t> protocol;
    protocol.workload = [](Region& region, Workload& run) {
      for (const std::uint64_t id : {1, 2}) {
        run.perform(id, [&] {
          region.write(4096, std::as_bytes(std::span(&id, 1))).value();
          region.sync().value();
        });
      }
    };
    protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
      if (syncs) region.sync().value();
      return load(region, 4096);
    };
    protocol.check = last_or_next;
    const Report report = check(protocol, {.model = kPage});
    EXPECT_EQ(report.ok(), syncs) << report;
    if (syncs) continue;
    ASSERT_EQ(report.failures.size(), 1u);
    EXPECT_NE(report.failures[0].find("killed before the sync at"), std::string::npos) << report;
  }
}

}  // namespace
}  // namespace holdfast::crash
