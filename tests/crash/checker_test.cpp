// What the checker must find, and what it must let pass, on two words and a flag.
#include <gtest/gtest.h>

#include <holdfast/crash/checker.hpp>
#include <holdfast/crash/key_value.hpp>
#include <holdfast/crash/mutation.hpp>

namespace holdfast::crash {
namespace {

std::uint64_t* word(Region& region, std::uint64_t offset) {
  return reinterpret_cast<std::uint64_t*>(region.data() + offset);
}
std::uint64_t load(Region& region, std::uint64_t offset) {
  return Persist::load(word(region, offset));
}

// A cell of one line: two words that must change together. `publish` says how.
constexpr std::uint64_t kFlag = 0, kFirst = 64, kSecond = 128;
using Pair = std::pair<std::uint64_t, std::uint64_t>;

// Writes (value, value) beside the published copy, then flips the flag: two copies, one selector.
void update(Region& region, std::uint64_t value, bool fence_data = true, bool persist_flag = true) {
  const Persist& persist = region.persist();
  const std::uint64_t next = 1 - load(region, kFlag);
  const std::uint64_t copy = next == 1 ? kSecond : kFirst;
  const std::uint64_t both[2] = {value, value};
  persist.copy(word(region, copy), both, sizeof both);
  persist.write_back(word(region, copy), sizeof both);
  if (fence_data) persist.fence();
  persist.store(word(region, kFlag), next);
  if (!persist_flag) return;
  persist.persist(word(region, kFlag), 8);
}

Pair read(Region& region) {
  const std::uint64_t copy = load(region, kFlag) == 1 ? kSecond : kFirst;
  return {load(region, copy), load(region, copy + 8)};
}

// Operation n writes (n, n): what is observed must be the last acknowledged or the one in flight.
std::string last_or_next(const Past<Pair>& past, const Pair& observed) {
  Pair last = past.base;
  for (const Operation& operation : past.operations) {
    if (operation.acknowledged()) {
      last = {operation.id, operation.id};
    } else if (observed == Pair{operation.id, operation.id}) {
      return {};
    }
  }
  return observed == last ? "" : "neither the last acknowledged pair nor the one in flight";
}

Protocol<Pair> cell(bool fence_data = true, bool persist_flag = true) {
  Protocol<Pair> protocol;
  protocol.workload = [=](Region& region, Workload& run) {
    for (std::uint64_t id = 1; id <= 3; ++id) {
      run.perform(id, [&] { update(region, id, fence_data, persist_flag); });
    }
  };
  protocol.recover = [](Region& region) -> Result<Pair> {
    // A process that was killed may have left what is read here in a cache.
    if (region.granularity() != Granularity::kPage)
      region.persist().persist(word(region, kFlag), kSecond + 64);
    return read(region);
  };
  protocol.check = last_or_next;
  protocol.then = [=](Region& region, Workload& run, const Pair&) {
    run.perform(9, [&] { update(region, 9, fence_data, persist_flag); });
  };
  protocol.print = [](const Pair& pair) {
    return "(" + std::to_string(pair.first) + ", " + std::to_string(pair.second) + ")";
  };
  return protocol;
}

TEST(CrashChecker, ACopyFencedBeforeItsSelectorIsSoundWithTwoBarriers) {
  for (const Model& model : {kLine, kLineStreaming, kByte}) {
    const Report report = check(cell(), {.model = model});
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_TRUE(report.exhaustive());
    EXPECT_GT(report.images_in_all(), 10u);
    EXPECT_EQ(report.operation(2).barriers(), 2u);
    EXPECT_EQ(report.operation(2).redundant_fences, 0u);
    EXPECT_EQ(report.operation(2).redundant_write_backs, 0u);
  }
}

TEST(CrashChecker, AMissingFenceBetweenDataAndSelectorIsFoundAndExplained) {
  const Report report = check(cell(false), {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  const std::string& text = report.failures[0];
  EXPECT_NE(text.find("before the fence at tests/crash/checker_test.cpp:"), std::string::npos)
      << text;
  EXPECT_NE(text.find("in flight: operation 1"), std::string::npos) << text;
  EXPECT_NE(text.find("2 lines pending; 1 of them differ"), std::string::npos) << text;
  EXPECT_NE(text.find("seed 1"), std::string::npos) << text;
  EXPECT_NE(text.find("observed: (1, 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("LOST store"), std::string::npos) << text;
}

TEST(CrashChecker, TheSameMissingFenceIsNoneOnByteMedia) {
  const Report report = check(cell(false), {.model = kByte});
  EXPECT_TRUE(report.ok()) << report;
}

TEST(CrashChecker, OnByteMediaAStoreThatIsNotFencedAtTheAcknowledgementIsFound) {
  const Report report = check(cell(true, false), {.model = kByte});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("is not durable"), std::string::npos) << report;
}

TEST(CrashChecker, AnAcknowledgedSelectorThatIsStillPendingIsFoundWithoutACrash) {
  const Report report = check(cell(true, false), {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("is not durable"), std::string::npos) << report;
}

TEST(CrashChecker, TheSamePendingSelectorIsFoundByItsCrashStateToo) {
  const Report report = check(cell(true, false), {.model = kLine, .durable_at_acknowledge = false});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("after the acknowledgement"), std::string::npos) << report;
}

TEST(CrashChecker, AHintMayBePendingAtAnAcknowledgement) {
  Protocol<Pair> protocol = cell();
  const auto with_hint = [](bool declared) {
    return [declared](Region& region, Workload& run) {
      if (declared) run.hint(192, 8);
      for (std::uint64_t id = 1; id <= 2; ++id) {
        run.perform(id, [&] {
          update(region, id);
          region.persist().store(word(region, 192), id);  // Never read by recovery.
        });
      }
    };
  };
  protocol.workload = with_hint(true);
  const Report declared = check(protocol, {.model = kLine});
  EXPECT_TRUE(declared.ok()) << declared;
  protocol.workload = with_hint(false);
  const Report undeclared = check(protocol, {.model = kLine});
  ASSERT_EQ(undeclared.failures.size(), 1u);
  EXPECT_NE(undeclared.failures[0].find("offset 192"), std::string::npos) << undeclared;
}

TEST(CrashChecker, ABytePutThereBehindThePersistLayerIsNamed) {
  Protocol<Pair> protocol = cell();
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      region.data()[2000] = std::byte{1};
      update(region, 1);
    });
  };
  const Report report = check(protocol, {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("offset 2000 was changed without"), std::string::npos)
      << report;
}

TEST(CrashChecker, ABytePutThereByRecoveryBehindThePersistLayerIsNamed) {
  Protocol<Pair> protocol = cell();
  protocol.recover = [](Region& region) -> Result<Pair> {
    region.data()[2001] = std::byte{1};
    return read(region);
  };
  const Report report = check(protocol, {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("offset 2001 was changed without"), std::string::npos)
      << report;
}

TEST(CrashChecker, ARecoveryThatRefusesAnImageIsAFailure) {
  Protocol<Pair> protocol = cell();
  protocol.recover = [](Region& region) -> Result<Pair> {
    if (load(region, kSecond) != load(region, kSecond + 8))
      return Error{Errc::kCorrupt, "torn pair"};
    return read(region);
  };
  const Report report = check(protocol, {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("kCorrupt: torn pair"), std::string::npos) << report;
}

// A word, and a copy of it that recovery brings in line. What a reader sees is the copy.
Protocol<std::uint64_t> repaired(bool persist_repair, bool repair_twice_differs) {
  Protocol<std::uint64_t> protocol;
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      region.persist().store(word(region, 0), 1);
      region.persist().store(word(region, 64), 1);
      region.persist().write_back(word(region, 0), 128);
      region.persist().fence();
    });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    const Persist& persist = region.persist();
    // Rolls back unless both are there; forgets which was right if it does not persist that.
    if (persist_repair) persist.persist(word(region, 0), 128);
    const std::uint64_t both = load(region, 0) & load(region, 64);
    if (load(region, 0) != both || load(region, 64) != both) {
      persist.store(word(region, 0), both);
      persist.store(word(region, 64), both);
      if (persist_repair) {
        persist.write_back(word(region, 0), 128);
        persist.fence();
      }
    }
    if (repair_twice_differs) {
      persist.store(word(region, 128), load(region, 128) + 1);
      persist.persist(word(region, 128), 8);
      return both + load(region, 128) - 1;
    }
    return both;
  };
  protocol.then = [](Region& region, Workload& run, const std::uint64_t&) {
    run.perform(2, [&] {  // One of the two alone must stay as it is.
      region.persist().store(word(region, 64), 1);
      region.persist().persist(word(region, 64), 8);
    });
  };
  protocol.check = [](const Past<std::uint64_t>& past,
                      const std::uint64_t& observed) -> std::string {
    const Operation& operation = past.operations[0];
    if (operation.id == 2)
      return observed == past.base ? "" : "operation 2 does not change what is seen";
    if (operation.acknowledged()) return observed == 1 ? "" : "lost";
    return observed <= 1 ? "" : "never written";
  };
  return protocol;
}

TEST(CrashChecker, ARecoveryMustPersistWhatItDecides) {
  const Report sound = check(repaired(true, false), {.model = kLine});
  EXPECT_TRUE(sound.ok()) << sound;
  // One word is rolled back in the cache only; then an operation completes the half that was lost.
  const Report report = check(repaired(false, false), {.model = kLine});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("after the recovery"), std::string::npos) << report;
  // One crash alone does not show it.
  EXPECT_TRUE(check(repaired(false, false), {.model = kLine, .depth = 1}).ok());
}

TEST(CrashChecker, ARecoveryThatGivesSomethingElseTheSecondTimeIsFound) {
  const Report report = check(repaired(true, true), {.model = kLine, .depth = 1});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("a second recovery right after the first"), std::string::npos)
      << report;
}

TEST(CrashChecker, ACrashInsideRecoveryIsJudgedByWhatWasBeforeTheFirstCrash) {
  // Recovery clears the word before it publishes it again: a crash between loses an acknowledged
  // value.
  Protocol<std::uint64_t> protocol;
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      region.persist().store(word(region, 0), 5);
      region.persist().persist(word(region, 0), 8);
    });
  };
  protocol.recover = [](Region& region) -> Result<std::uint64_t> {
    const std::uint64_t value = load(region, 0);
    for (const std::uint64_t next : {std::uint64_t{0}, value}) {
      if (value == 0) break;
      region.persist().store(word(region, 0), next);
      region.persist().persist(word(region, 0), 8);
    }
    return value;
  };
  protocol.check = [](const Past<std::uint64_t>& past,
                      const std::uint64_t& observed) -> std::string {
    if (past.operations[0].acknowledged()) return observed == 5 ? "" : "lost";
    return observed == 0 || observed == 5 ? "" : "never written";
  };
  EXPECT_TRUE(check(protocol, {.model = kLine, .depth = 1}).ok());
  const Report report = check(protocol, {.model = kLine, .depth = 2});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("a second crash, inside the recovery"), std::string::npos)
      << report;
}

TEST(CrashChecker, RedundantStepsAreCountedPerOperationAndNamedBySite) {
  Protocol<Pair> protocol = cell();
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] { update(region, 1); });
    run.perform(2, [&] {
      update(region, 2);
      region.persist().persist(word(region, kFlag), 8);
    });
  };
  const Report report = check(protocol, {.model = kLine});
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operation(1).redundant_fences, 0u);
  EXPECT_EQ(report.operation(2).redundant_fences, 1u);
  EXPECT_EQ(report.operation(2).redundant_write_backs, 1u);
  ASSERT_EQ(report.redundant_sites.size(), 2u);
  EXPECT_TRUE(
      report.redundant_sites.begin()->first.starts_with("fence tests/crash/checker_test.cpp:"));
}

// A word that is written to a page medium and synced, or not.
Protocol<std::uint64_t> paged(bool sync) {
  Protocol<std::uint64_t> protocol;
  protocol.workload = [=](Region& region, Workload& run) {
    for (std::uint64_t id = 1; id <= 2; ++id) {
      run.perform(id, [&] {
        region.write(4096, std::as_bytes(std::span(&id, 1))).value();
        if (sync) region.sync().value();
      });
    }
  };
  protocol.recover = [](Region& region) -> Result<std::uint64_t> {
    region.sync().value();
    return load(region, 4096);
  };
  protocol.check = [](const Past<std::uint64_t>& past,
                      const std::uint64_t& observed) -> std::string {
    std::uint64_t acknowledged = 0;
    for (const Operation& operation : past.operations) {
      if (operation.acknowledged()) acknowledged = operation.id;
    }
    return observed == acknowledged || observed == past.operations.back().id ? "" : "lost";
  };
  return protocol;
}

TEST(CrashChecker, OnPageMediaAWriteIsDurableAfterItsSync) {
  const Report report = check(paged(true), {.model = kPage});
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operation(1).syncs, 1u);
  EXPECT_EQ(report.operation(1).barriers(), 1u);
  EXPECT_FALSE(check(paged(false), {.model = kPage}).ok());
  EXPECT_FALSE(check(paged(false), {.model = kPage, .durable_at_acknowledge = false}).ok());
}

TEST(CrashChecker, AStoreToTheMappingOfAPageMediumIsAMistake) {
  const Report report = check(cell(), {.model = kPage});
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("use Region::write"), std::string::npos) << report;
}

TEST(CrashChecker, GrowIsACrashPointAndAPointerIntoUngrownSpaceIsFound) {
  // Appends a block number to the header and grows; sound if it grows first.
  const auto growing = [](bool grow_first) {
    Protocol<std::uint64_t> protocol;  // The value in the newest block.
    protocol.workload = [=](Region& region, Workload& run) {
      run.perform(1, [&] {
        const auto publish = [&] {
          region.persist().store(word(region, 0), 64 * KiB);
          region.persist().persist(word(region, 0), 8);
        };
        if (!grow_first) publish();
        region.grow(128 * KiB).value();
        if (grow_first) publish();
      });
    };
    protocol.recover = [](Region& region) -> Result<std::uint64_t> {
      region.persist().persist(word(region, 0), 8);
      if (load(region, 0) == 0) return 0u;
      if (load(region, 0) >= region.size_bytes())
        return Error{Errc::kCorrupt, "block beyond the end"};
      return load(region, load(region, 0)) + 1;
    };
    protocol.check = [](const Past<std::uint64_t>& past,
                        const std::uint64_t& observed) -> std::string {
      return observed == 1 || (observed == 0 && !past.operations[0].acknowledged()) ? "" : "lost";
    };
    return protocol;
  };
  const Report sound = check(growing(true), {.model = kLine});
  EXPECT_TRUE(sound.ok()) << sound;
  const Report broken = check(growing(false), {.model = kLine});
  ASSERT_EQ(broken.failures.size(), 1u);
  EXPECT_NE(broken.failures[0].find("block beyond the end"), std::string::npos) << broken;
}

// A directory gets its files, and loses them, one at a time.
TEST(CrashChecker, AGrowthOfSeveralUnitsMayStopBetweenThem) {
  for (const bool growing : {true, false}) {
    Protocol<std::uint64_t> protocol;  // Units that are there.
    protocol.initial = growing ? 1 : 3;
    protocol.setup = [=](Region& region) {
      if (!growing) region.grow(192 * KiB).value();
    };
    protocol.workload = [=](Region& region, Workload& run) {
      run.perform(1, [&] { (growing ? region.grow(192 * KiB) : region.shrink(64 * KiB)).value(); });
    };
    protocol.recover = [](Region& region) -> Result<std::uint64_t> {
      if (region.size_bytes() == 128 * KiB) return Error{Errc::kCorrupt, "half of it"};
      return region.size_bytes() / (64 * KiB);
    };
    protocol.check = [](const auto&, const auto&) { return ""; };
    const Report report = check(protocol, {.model = kPage});
    ASSERT_EQ(report.failures.size(), 1u) << report;
    EXPECT_NE(report.failures[0].find("half of it"), std::string::npos) << report;
  }
}

// The flag is the last word but one, so only one moment shows that it comes too early.
TEST(CrashChecker, OnByteMediaACrashComesAfterEachWordOfALongStore) {
  for (const std::size_t words : {24u, 48u, 63u}) {
    Protocol<Pair> protocol;
    protocol.workload = [=](Region& region, Workload& run) {
      const std::vector<std::uint64_t> ones(words, 1);
      run.perform(1, [&] {
        region.persist().copy(word(region, 0), ones.data(), words * 8);
        region.persist().persist(word(region, 0), words * 8);
      });
    };
    protocol.recover = [=](Region& region) -> Result<Pair> {
      return Pair{load(region, (words - 2) * 8), load(region, (words - 1) * 8)};
    };
    protocol.check = [](const Past<Pair>&, const Pair& observed) -> std::string {
      return observed.first == observed.second ? "" : "flagged before it was there";
    };
    const Report report = check(protocol, {.model = kByte});
    EXPECT_EQ(report.failures.size(), 1u) << words << ": " << report;
  }
}

TEST(CrashChecker, AnOperationThatWasRefusedIsAsIfNeverBegun) {
  Protocol<Pair> protocol = cell();
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] { update(region, 1); });
    run.begin(2);
    run.withdraw(2);
    run.perform(3, [&] { update(region, 3); });
  };
  const Report report = check(protocol, {.model = kLine});
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operations.size(), 2u);
}

TEST(CrashChecker, QuietPartsAreNotCrashed) {
  Protocol<Pair> protocol = cell(false);
  protocol.then = nullptr;
  protocol.workload = [](Region& region, Workload& run) {
    const auto quiet = run.quiet();
    run.perform(1, [&] { update(region, 1, false); });
  };
  const Report report = check(protocol, {.model = kLine});
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.images[0], 1u);  // The end.
}

TEST(CrashChecker, ASmallBudgetSamplesAndStillFindsAPlainHole) {
  const auto wide = [](bool fence_data) {
    Protocol<std::uint64_t> protocol;  // Sum of 40 lines once the flag is set.
    protocol.workload = [=](Region& region, Workload& run) {
      run.perform(1, [&] {
        for (std::uint64_t i = 1; i <= 40; ++i) {
          region.persist().store(word(region, i * 64), 1);
        }
        region.persist().write_back(word(region, 64), 40 * 64);
        if (fence_data) region.persist().fence();
        region.persist().store(word(region, 0), 1);
        region.persist().persist(word(region, 0), 8);
      });
    };
    protocol.recover = [](Region& region) -> Result<std::uint64_t> {
      region.persist().persist(word(region, 0), 41 * 64);
      std::uint64_t sum = 0;
      for (std::uint64_t i = 1; i <= 40 && load(region, 0) != 0; ++i) {
        sum += load(region, i * 64);
      }
      return sum;
    };
    protocol.check = [](const Past<std::uint64_t>& past,
                        const std::uint64_t& observed) -> std::string {
      return observed == 40 || (observed == 0 && !past.operations[0].acknowledged()) ? ""
                                                                                     : "partial";
    };
    return protocol;
  };
  const Report sound = check(wide(true), {.model = kLine, .images_per_run = 2000});
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_FALSE(sound.exhaustive());
  EXPECT_LE(sound.images_in_all(), 2000u);
  const Report broken = check(wide(false), {.model = kLine, .images_per_run = 2000});
  ASSERT_EQ(broken.failures.size(), 1u);
  // Shrunk to the one line whose loss is enough.
  EXPECT_NE(broken.failures[0].find("41 lines pending; 1 of them differ from \"everything kept\""),
            std::string::npos)
      << broken;
}

TEST(CrashChecker, AThirdCrashCanBeTriedToo) {
  const Report two = check(cell(), {.model = kLine, .depth = 2});
  const Report three = check(cell(), {.model = kLine, .depth = 3});
  EXPECT_TRUE(three.ok()) << three;
  ASSERT_EQ(three.images.size(), 3u);
  EXPECT_EQ(two.images[0], three.images[0]);
  EXPECT_GT(three.images[2], 0u);
}

TEST(CrashChecker, TheSameSeedGivesTheSameRun) {
  const Report first = check(cell(), {.model = kLine, .seed = 7});
  const Report second = check(cell(), {.model = kLine, .seed = 7});
  EXPECT_EQ(first.text(), second.text());
}

TEST(CrashChecker, OptionsNameTheFieldThatIsWrong) {
  EXPECT_EQ(Options{}.validate().code(), Errc::kOk);
  const auto detail = [](Options options) { return options.validate().error().detail; };
  EXPECT_NE(detail({.model = {Granularity::kNone, false}}).find("model.granularity"),
            std::string::npos);
  EXPECT_NE(detail({.unit_bytes = 100}).find("unit_bytes=100"), std::string::npos);
  EXPECT_NE(detail({.size_bytes = 4096}).find("size_bytes=4096"), std::string::npos);
  EXPECT_NE(detail({.max_size_bytes = 4096}).find("max_size_bytes=4096"), std::string::npos);
  EXPECT_NE(detail({.states_per_point = 1}).find("states_per_point=1"), std::string::npos);
  EXPECT_NE(detail({.images_per_run = 0}).find("images_per_run=0"), std::string::npos);
  EXPECT_NE(detail({.depth = 0}).find("depth=0"), std::string::npos);
}
}  // namespace
}  // namespace holdfast::crash
