// The holes of the published page algorithms, by the numbers of the study that collected them, as
// small models: the published form must fail, with the count given; the form that ours takes must
// pass. "a/b" are states enumerated / states that violate, as the study counted; where the checker
// counts otherwise (it counts distinct images, once) the test says so.
#include <gtest/gtest.h>

#include <map>

#include <holdfast/base/hash.hpp>
#include <holdfast/blocks/page/page_format.hpp>

#include "../crash/protocols.hpp"
#include "page_crash.hpp"

namespace holdfast::crash::protocols {
namespace {

// ---- 14: page id and version in two lines ----

TEST(PageHoles, Hole14AFrameOf16920BytesPutsEveryEighthHeaderAcrossTwoLines) {
  // The published frame: header and 16 KiB, one after the other, 24 mod 64 bytes long.
  unsigned straddling = 0;
  for (std::uint64_t frame = 0; frame < 8'000; ++frame) {
    const auto id_at = frame * 16'920, version_at = id_at + 8;
    straddling += id_at / 64 != version_at / 64;
  }
  EXPECT_EQ(straddling, 1'000u);
  const blocks::page_detail::Geometry ours{16 * KiB, 1, 8'000, 8'064};
  for (std::uint64_t slot = 0; slot < 8'064; ++slot)
    ASSERT_EQ(ours.header_at(slot) % 64, 0u);
}
// What that does to a flush: ProtocolCopyOnWrite in tests/crash/protocols_page_test.cpp, 5/1.

// ---- 15: two slots with one page and version ----

// Slots in words 0/1 and 8/9 (id, version), contents in 16 and 24. Page 1 is in slot 0 at version
// 5; slot 1 is free, a stale page 2 at version `stale`. Page 1 is flushed to it as version 6.
Protocol<std::uint64_t> tie(std::uint64_t stale, bool first_wins) {
  Protocol<std::uint64_t> protocol;
  protocol.initial = 100;
  protocol.setup = [=](Region& region) {
    store(region, 0, 1), store(region, 1, 5), store(region, 16, 100);
    store(region, 8, 2), store(region, 9, stale), store(region, 24, 200);
    persist(region, 0, 25);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      store(region, 24, 101);
      persist(region, 24, 1);
      store(region, 8, 1);
      store(region, 9, 6);
      persist(region, 8, 2);
    });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    const bool second = load(region, 8) == 1;
    if (!second) return load(region, 16);
    if (load(region, 9) == load(region, 1)) return load(region, first_wins ? 16 : 24);
    return load(region, load(region, 9) > load(region, 1) ? 24 : 16);
  };
  protocol.check = [](const Past<std::uint64_t>&, const std::uint64_t&) { return ""; };
  return protocol;
}

// The states in which the scan order decides what the page is.
std::uint64_t ambiguous(std::uint64_t stale) {
  // Counted by asking both ways about every image.
  std::uint64_t count = 0;
  auto protocol = tie(stale, true);
  protocol.recover = [&count, stale](Region& region) -> Result<std::uint64_t> {
    const auto one = tie(stale, true).recover(region).value();
    const auto other = tie(stale, false).recover(region).value();
    count += one != other;
    return one;
  };
  check(protocol, exhaustive(kLine, 1));
  return count / 2;  // The checker recovers each image twice.
}

TEST(PageHoles, Hole15AStaleVersionEqualToThePagesLeavesTwoClaimants) {
  EXPECT_EQ(ambiguous(5), 1u);  // 4 states, 1 ambiguous.
  // Versions that are unique in the store: whatever a slot held before, it is another number.
  for (const std::uint64_t unique : {3u, 4u, 7u}) {
    EXPECT_EQ(ambiguous(unique), 0u);
  }
}

// ---- 16: deleting a page ----

// Slots (id, version) in words 0/1, 8/9, 16/17; freed word of page 1 in word 24. Page 1 is in slot
// 1 at version 2, an older copy in slot 0 at version 1. It is deleted, and slot 1 gets page 2.
Protocol<Words> deletion(bool freed_word) {
  Protocol<Words> protocol;  // Versions of page 1 and page 2; 0: no such page.
  protocol.initial = {2, 0};
  protocol.setup = [](Region& region) {
    store(region, 0, 1), store(region, 1, 1), store(region, 8, 1), store(region, 9, 2);
    persist(region, 0, 10);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      if (!freed_word) return;  // Published: nothing is written; the slot is just free.
      store(region, 24, 3);
      persist(region, 24, 1);
    });
    run.perform(2, [&] {
      store(region, 8, 2);
      store(region, 9, 4);
      persist(region, 8, 2);
    });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    Words newest(2);
    for (const std::uint64_t slot : {0, 8, 16}) {
      const auto id = load(region, slot), version = load(region, slot + 1);
      if (id == 0 || (id == 1 && freed_word && version <= load(region, 24))) continue;
      newest[id - 1] = std::max(newest[id - 1], version);
    }
    return newest;
  };
  protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
    bool deleted = false;
    for (const auto& operation : past.operations)
      deleted = deleted || (operation.id == 1 && operation.acknowledged());
    if (!deleted) return "";
    return seen[0] == 0 ? "" : "a deleted page is back";
  };
  return protocol;
}

TEST(PageHoles, Hole16ADeletedPageComesBackAsAnOlderVersionOfItself) {
  const auto published = check(deletion(false), exhaustive(kLine, 1));
  ASSERT_FALSE(published.ok());
  // All three states of the reused header: version 2, still there; then version 1, twice.
  EXPECT_EQ(published.violations[0], 3u) << published;
  const auto ours = check(deletion(true), exhaustive(kLine));
  EXPECT_TRUE(ours.ok()) << ours;
}

// ---- 17: a micro log that is replayed over a newer page ----

// Two logs of one page, each valid word and line (words 0, 1 and 8, 9), the page's line in word 16,
// its version in word 17. Replayed in the order given.
Protocol<std::uint64_t> two_logs(bool knows_version) {
  Protocol<std::uint64_t> protocol;
  const auto flush = [=](Region& region, std::uint64_t log, std::uint64_t value) {
    store(region, log, 0);
    persist(region, log, 1);
    store(region, log + 1, value);
    persist(region, log + 1, 1);
    store(region, log, value);  // Valid; the value is the version, too.
    persist(region, log, 1);
    store(region, 16, value);
    if (knows_version) store(region, 17, value);
    persist(region, 16, 2);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] { flush(region, 0, 1); });
    run.perform(2, [&] { flush(region, 8, 2); });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    for (const std::uint64_t log : {8, 0}) {  // Any order may be met.
      const auto valid = load(region, log);
      if (valid == 0 || (knows_version && valid < load(region, 17))) continue;
      store(region, 16, load(region, log + 1));
      if (knows_version) store(region, 17, valid);
      persist(region, 16, 2);
    }
    return load(region, 16);
  };
  protocol.check = [](const Past<std::uint64_t>& past, const std::uint64_t& seen) -> std::string {
    std::uint64_t newest = past.base;
    for (const auto& operation : past.operations) {
      if (operation.acknowledged()) newest = operation.id;
    }
    const auto& last = past.operations.back();
    return seen == newest || (!last.acknowledged() && seen == last.id) ? ""
                                                                       : "an older line is back";
  };
  return protocol;
}

TEST(PageHoles, Hole17TwoMicroLogsOfOnePageAreReplayedInTheWrongOrder) {
  const auto published = check(two_logs(false), exhaustive(kLine, 1));
  ASSERT_FALSE(published.ok());
  // 9/1: the image after both flushes.
  EXPECT_EQ(published.violations[0], 1u) << published;
  const auto ours = check(two_logs(true), exhaustive(kLine));
  EXPECT_TRUE(ours.ok()) << ours;
}

// ---- 18: a popcount over lines that were not zeroed ----

// A log of three payload words in a line and its count in another; written over an old log of
// permuted words, so that old and new words together may have the new count.
Protocol<Words> counted(bool zeroed, bool checksum) {
  const Words old_words = {1, 2, 4}, new_words = {2, 4, 1};
  const auto sum = [=](const Words& words) {
    std::uint64_t value = 0;
    for (const auto word : words)
      value = checksum ? mix64(value ^ word) : value + static_cast<unsigned>(std::popcount(word));
    return value;
  };
  Protocol<Words> protocol;
  const auto write = [=](Region& region, const Words& words) {
    if (zeroed) {
      store(region, 8, 0);
      persist(region, 8, 1);
      for (std::uint64_t i = 0; i < 3; ++i)
        store(region, i, 0);
      persist(region, 0, 3);
    }
    for (std::uint64_t i = 0; i < 3; ++i)
      store(region, i, words[i]);
    store(region, 8, sum(words));
    write_back(region, 0, 9);
    fence(region);
  };
  protocol.setup = [=](Region& region) { write(region, old_words); };
  protocol.initial = old_words;
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] { write(region, new_words); });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    const Words words = {load(region, 0), load(region, 1), load(region, 2)};
    if (load(region, 8) == 0 || load(region, 8) != sum(words)) return Words{};
    return words;
  };
  protocol.check = [=](const Past<Words>& past, const Words& seen) -> std::string {
    if (seen == new_words ||
        (!past.operations[0].acknowledged() && (seen.empty() || seen == old_words)))
      return "";
    return "a mixture passes for a log";
  };
  return protocol;
}

TEST(PageHoles, Hole18AMixtureOfTwoLogsHasTheRightPopcount) {
  const auto published = check(counted(false, false), exhaustive(kLine, 1));
  ASSERT_FALSE(published.ok());
  // 27/8 with three lines of two states each; in one line prefixes only: one and two words new. The
  // count is the same number, so whether it is durable makes no image of its own.
  EXPECT_EQ(published.violations[0], 2u) << published;
  const auto zeroed = check(counted(true, false), exhaustive(kLine, 1));
  EXPECT_TRUE(zeroed.ok()) << zeroed;
  const auto ours = check(counted(false, true), exhaustive(kLine, 1));
  EXPECT_TRUE(ours.ok()) << ours;
}

// ---- Found with our own first version: a torn record is completed by its successor ----
// ----------------

// A record of a checksum and two words in one line, streamed: any subset of its words may be
// durable. With an epoch in the checksum, raised by recovery, records of before are dead.
Protocol<Words> torn_record(bool epoch) {
  const auto sum = [=](Region& region, std::uint64_t a, std::uint64_t b) {
    return mix64(a * 3 + b + (epoch ? load(region, 8) * 1'000 : 0)) | 1;
  };
  const auto valid = [=](Region& region) {
    return load(region, 0) == sum(region, load(region, 1), load(region, 2));
  };
  const auto write = [=](Region& region, std::uint64_t a, std::uint64_t b) {
    const Words line = {sum(region, a, b), a, b, 0, 0, 0, 0, 0};
    region.persist().stream(word(region, 0), line.data(), 64);
    fence(region);
  };
  Protocol<Words> protocol;  // Page: words 16 and 17, what was replayed last.
  protocol.initial = {0, 0};
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] { write(region, 5, 1); });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    if (valid(region)) {
      store(region, 16, load(region, 1));
      store(region, 17, load(region, 2));
      persist(region, 16, 2);
    }
    if (epoch) {
      store(region, 8, load(region, 8) + 1);
      persist(region, 8, 1);
    }
    return Words{load(region, 16), load(region, 17)};
  };
  protocol.then = [=](Region& region, Workload& run, const Words&) {
    run.perform(2, [&] { write(region, 6, 1); });  // Shares a word with the torn one.
  };
  protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
    Words expected = past.base;
    for (const auto& operation : past.operations) {
      const Words written = {operation.id == 1 ? 5u : 6u, 1};
      if (operation.acknowledged())
        expected = written;
      else if (seen == written)
        return "";
    }
    return seen == expected ? "" : "a record that was given up is back";
  };
  return protocol;
}

TEST(PageHoles, ARecordThatACrashToreIsCompletedByTheNextUnlessAnEpochBuriesIt) {
  const auto without = check(torn_record(false), exhaustive(kLineStreaming));
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.violations[0], 0u);
  EXPECT_GT(without.violations[1], 0u);
  const auto with = check(torn_record(true), exhaustive(kLineStreaming));
  EXPECT_TRUE(with.ok()) << with;
}

}  // namespace
}  // namespace holdfast::crash::protocols

namespace holdfast::blocks {
namespace {

// The models above say why; this is the page store itself.
void expect_sound(PageRun run) {
  run.options.method = FlushMethod::kCopyOnWrite;
  const auto report = crash::check(run.protocol(), small_medium(crash::kLine));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.exhaustive());
}

TEST(PageHoles, Hole15InThePageStoreNoFreeSlotTiesWithThePagesOwn) {
  PageRun run;
  run.before = {{1, 0, 3}, {2, 1, 3}, {3, 0, 3}};  // Old copies of both lie in free slots.
  run.operations = {{10, 1, 3}, {11, 0, 3}, {12, 1, 3}};
  run.after = {{20, 0, 3}};
  expect_sound(run);
}

TEST(PageHoles, Hole16InThePageStoreADeletedPageStaysDeleted) {
  PageRun run;
  run.options.spare_slots = 2;
  run.before = {{1, 0, 3}, {2, 0, 3}};  // An older copy of page 0 lies about.
  run.operations = {{10, 0, 0}, {11, 1, 3}, {12, 1, 3}, {13, 1, 3}};  // Each slot is reused.
  run.after = {{20, 1, 3}};
  expect_sound(run);
}

}  // namespace
}  // namespace holdfast::blocks
