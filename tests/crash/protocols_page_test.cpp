// Pages and fields in place: copy-on-write with page versions, the micro log, failure-atomic
// memory, a selector between two copies.
#include <gtest/gtest.h>

#include "protocols.hpp"

namespace holdfast::crash::protocols {
namespace {

// --- Payload and commit flag in one line, one fence
// ------------------------------------------------

Protocol<std::uint64_t> flagged(bool stream) {
  Protocol<std::uint64_t> protocol;  // Sum of the payload, 0 without the flag.
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      const Words line{1, 1, 1, 1, 1, 1, 1, 1};  // The flag last.
      if (stream) {
        region.persist().stream(word(region, 0), line.data(), 64);
      } else {
        region.persist().copy(word(region, 0), line.data(), 64);
        write_back(region, 0, 8);
      }
      fence(region);
    });
  };
  protocol.recover = [](Region& region) -> Result<std::uint64_t> {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 7; ++i) {
      sum += load(region, i);
    }
    return load(region, 7) != 0 ? sum + 1 : 0;
  };
  protocol.check = [](const Past<std::uint64_t>& past,
                      const std::uint64_t& observed) -> std::string {
    if (observed == 8) return "";
    return observed == 0 && !past.operations[0].acknowledged() ? "" : "flagged without its payload";
  };
  return protocol;
}

TEST(ProtocolFlag, PayloadAndFlagInOneLineAreSoundWithOrdinaryStores) {
  const Report report = check(flagged(false), exhaustive(kLine, 1));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.images[0], 9u);  // 9/0.
  EXPECT_EQ(report.operation(1).barriers(), 1u);
}

TEST(ProtocolFlag, TheSameIsUnsoundWithStreamingStores) {
  const Report report = check(flagged(true), exhaustive(kLineStreaming, 1));
  EXPECT_EQ(report.images[0], 256u);  // 256/127.
  EXPECT_EQ(report.violations[0], 127u);
  // On a CPU whose streams stay in the cache, stream() is copy + write_back and sound again.
  const Report copied = check(flagged(true), exhaustive(kLine, 1));
  EXPECT_TRUE(copied.ok()) << copied;
  EXPECT_EQ(copied.images[0], 9u);
}

// --- Copy-on-write: page id and version identify a slot
// --------------------------------------------

// The slot held page 1, version 1. It gets page 2, version 5: id first, then version. `version_at`
// is the word of the version: 1 (same line as the id) or 8 (the next line).
using Header = std::pair<std::uint64_t, std::uint64_t>;
Protocol<Header> page_header(std::uint64_t version_at, bool stream) {
  Protocol<Header> protocol;
  protocol.initial = {1, 1};
  protocol.setup = [=](Region& region) {
    store(region, 0, 1);
    store(region, version_at, 1);
    persist(region, 0, 16);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      if (stream) {
        const Words line{2, 5, 0, 0, 0, 0, 0, 0};
        region.persist().stream(word(region, 0), line.data(), 64);
        fence(region);
        return;
      }
      store(region, 0, 2);
      store(region, version_at, 5);
      persist(region, 0, version_at + 1);
    });
  };
  protocol.recover = [=](Region& region) -> Result<Header> {
    return Header{load(region, 0), load(region, version_at)};
  };
  // (2, 1) is harmless: version 1 loses against the valid copy of page 2. (1, 5) claims page 1.
  protocol.check = [](const Past<Header>& past, const Header& observed) -> std::string {
    if (past.operations[0].acknowledged()) return observed == Header{2, 5} ? "" : "lost";
    return observed == Header{1, 5} ? "page 1 is identified by the data of page 2" : "";
  };
  return protocol;
}

TEST(ProtocolCopyOnWrite, IdAndVersionInOneLineAreSound) {
  const Report report = check(page_header(1, false), exhaustive(kLine, 1));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.images[0], 3u);  // 4/0: the anchor counts the acknowledged state again.
  EXPECT_EQ(report.states[0], 3u + 1u + 1u);  // Fence, acknowledgement, end.
}

TEST(ProtocolCopyOnWrite, IdAndVersionInTwoLinesAreNot) {
  const Report report = check(page_header(8, false), exhaustive(kLine, 1));
  EXPECT_EQ(report.images[0], 4u);  // 5/1, the acknowledged state counted again.
  EXPECT_EQ(report.violations[0], 1u);
}

TEST(ProtocolCopyOnWrite, StreamedIdAndVersionAreNotOrderedEvenInOneLine) {
  const Report report = check(page_header(1, true), exhaustive(kLineStreaming, 1));
  EXPECT_EQ(report.images[0], 4u);  // 4/1.
  EXPECT_EQ(report.violations[0], 1u);
}

// --- In place: two copies and a selector
// -----------------------------------------------------------

Protocol<std::uint64_t> selected(bool fence_data, bool stream_all) {
  Protocol<std::uint64_t> protocol;
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      if (stream_all) {  // Selector and data in one burst.
        const Words line{1, 0, 7, 0, 0, 0, 0, 0};
        region.persist().stream(word(region, 0), line.data(), 64);
        fence(region);
        return;
      }
      store(region, 16, 7);
      write_back(region, 16, 1);
      if (fence_data) fence(region);
      store(region, 0, 1);
      persist(region, 0, 1);
    });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    return load(region, 0) == 0 ? 0 : load(region, stream_all ? 2 : 16) + 1;
  };
  protocol.check = [](const Past<std::uint64_t>& past,
                      const std::uint64_t& observed) -> std::string {
    return observed == 8 || (observed == 0 && !past.operations[0].acknowledged())
               ? ""
               : "half an update";
  };
  return protocol;
}

TEST(ProtocolSelector, DataFencedBeforeTheSelectorIsSound) {
  const Report report = check(selected(true, false), exhaustive(kLine, 1));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.states[0], 2u + 2u + 1u + 1u);  // 4/0 at the two fences.
  EXPECT_EQ(report.images[0], 3u);                 // Data durable is a state of both.
  EXPECT_EQ(report.operation(1).barriers(), 2u);
}

TEST(ProtocolSelector, WithoutTheFenceOrInOneStreamItIsNot) {
  EXPECT_EQ(check(selected(false, false), exhaustive(kLine, 1)).violations[0], 1u);
  EXPECT_EQ(check(selected(false, true), exhaustive(kLineStreaming, 1)).violations[0], 1u);
}

// --- The micro log: dirty lines are logged, then written in place
// ----------------------------------

// Word 0: log valid (the page's version, 0 = invalid). Words 8, 16: logged lines. Words 24, 32: the
// page's lines; word 40: its version, raised by whoever writes the page.
Protocol<Words> micro_log(bool invalidate_or_compare) {
  Protocol<Words> protocol;
  protocol.initial = {0, 0};
  const auto flush = [=](Region& region, std::uint64_t value) {
    const std::uint64_t version = load(region, 40) + 1;
    store(region, 8, value);
    store(region, 16, value);
    write_back(region, 8, 9);
    fence(region);
    store(region, 0, version);
    persist(region, 0, 1);
    store(region, 24, value);
    store(region, 32, value);
    store(region, 40, version);
    write_back(region, 24, 17);
    fence(region);
  };
  const auto write_directly = [](Region& region,
                                 std::uint64_t value) {  // Another path, atomic by itself.
    // Invalidates nothing: both lines are written under a version that makes the log old.
    store(region, 24, value);
    store(region, 32, value);
    store(region, 40, load(region, 40) + 1);
    write_back(region, 24, 17);
    fence(region);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] { flush(region, 1); });
    const auto quiet = run.quiet();  // Only its end matters: it stands for a path that is sound.
    run.perform(2, [&] { write_directly(region, 2); });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    const std::uint64_t logged = load(region, 0);
    if (logged != 0 && (!invalidate_or_compare || logged > load(region, 40) ||
                        (logged == load(region, 40) && load(region, 24) != load(region, 32)))) {
      store(region, 24, load(region, 8));
      store(region, 32, load(region, 16));
      store(region, 40, logged);
      write_back(region, 24, 17);
      fence(region);
    }
    return Words{load(region, 24), load(region, 32)};
  };
  protocol.check = [](const Past<Words>& past, const Words& observed) -> std::string {
    const Operation& last = past.operations.back();
    if (observed == Words{last.id, last.id}) return "";
    if (last.acknowledged()) return "an acknowledged page was overwritten with older lines";
    return observed == Words{last.id - 1, last.id - 1} ? "" : "a torn page";
  };
  protocol.print = [](const Words& page) { return print_entries({page}); };
  return protocol;
}

TEST(ProtocolMicroLog, ALogThatStaysValidIsReplayedOverANewerPage) {
  // 9/1 for two logs of one page.
  const Report report = check(micro_log(false), exhaustive(kLine));
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.failures[0].find("overwritten with older lines"), std::string::npos) << report;
}

TEST(ProtocolMicroLog, ALogThatKnowsItsVersionIsReplayedOnlyIfThePageIsNotNewer) {
  const Report report = check(micro_log(true), exhaustive(kLine));
  EXPECT_TRUE(report.ok()) << report;
}

// --- Failure-atomic memory: each block has an old and a new value and a version
// --------------------

// Block: one word, (new << 32 | old << 8 | version mod 4), in a line of its own. An update raises
// the version in all blocks; recovery rolls back those ahead of the others.
constexpr std::uint64_t kBlocks = 2;

std::uint64_t block(std::uint64_t now, std::uint64_t old, std::uint64_t version) {
  return now << 32 | old << 8 | version % 4;
}

Words read_blocks(Region& region) {
  Words values;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    values.push_back(load(region, i * 8) >> 32);
  }
  return values;
}

void update_blocks(Region& region, std::uint64_t value, bool with_fence = true) {
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    const std::uint64_t before = load(region, i * 8);
    store(region, i * 8, block(value, before >> 32, before + 1));
    write_back(region, i * 8, 1);
  }
  if (with_fence) fence(region);
}

Protocol<Words> failure_atomic(bool persist_roll_back, bool group) {
  Protocol<Words> protocol;
  protocol.initial = {0, 0};
  protocol.workload = [=](Region& region, Workload& run) {
    if (group) {  // Two updates of one field under one fence.
      run.begin(1, 1);
      run.begin(2, 2);
      update_blocks(region, 1, false);
      update_blocks(region, 2, true);
      run.acknowledge(1);
      run.acknowledge(2);
      return;
    }
    run.perform(1, [&] { update_blocks(region, 1); });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    const std::uint64_t first = load(region, 0) % 4;
    const std::uint64_t second = load(region, 8) % 4;
    if (first == second) return read_blocks(region);
    const std::uint64_t ahead = first == (second + 1) % 4 ? 0 : 8;
    const std::uint64_t before = load(region, ahead);
    const std::uint64_t old = before >> 8 & 0xffffff;
    store(region, ahead, block(old, old, before + 3));
    if (persist_roll_back) persist(region, ahead, 1);
    return read_blocks(region);
  };
  protocol.then = [](Region& region, Workload& run, const Words&) {
    // Opened, so recovered, then updated.
    run.perform(3, [&] { update_blocks(region, 3); });
  };
  if (!persist_roll_back) {
    protocol.then = [recover = protocol.recover](Region& region, Workload& run, const Words&) {
      recover(region).value();
      run.perform(3, [&] { update_blocks(region, 3); });
    };
  }
  protocol.check = [=](const Past<Words>& past, const Words& observed) -> std::string {
    if (observed[0] != observed[1]) return "half an update";
    std::uint64_t newest = past.base[0];
    for (const Operation& operation : past.operations) {
      if (operation.acknowledged()) newest = operation.id;
    }
    for (const Operation& operation : past.operations) {
      if (!operation.acknowledged() && observed[0] == operation.id) return "";
    }
    return observed[0] == newest ? "" : "lost";
  };
  protocol.print = [](const Words& values) { return print_entries({values}); };
  return protocol;
}

TEST(ProtocolFailureAtomic, OneUpdateNeedsOneFence) {
  const Report report = check(failure_atomic(true, false), exhaustive(kLine));
  EXPECT_TRUE(report.ok()) << report;  // 12/0 for several lines, 72/0 with the second update.
  EXPECT_EQ(report.images[0], 4u);
  EXPECT_EQ(report.operation(1).barriers(), 1u);
}

TEST(ProtocolFailureAtomic, ARollBackThatIsNotPersistedMixesWithTheNextUpdate) {
  // 119/4: an aborted block at version v + 1 meets new blocks at v + 1.
  const Report report = check(failure_atomic(false, false), exhaustive(kLine));
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.violations[0], 0u);
  EXPECT_GT(report.violations[1], 0u);
}

TEST(ProtocolFailureAtomic, TwoUpdatesOfOneFieldUnderOneFenceNeedMoreThanOneOldValue) {
  const Report report = check(failure_atomic(true, true), exhaustive(kLine, 1));
  EXPECT_EQ(report.images[0], 9u);      // 25/8 over four lines; here three states in each of two.
  EXPECT_EQ(report.violations[0], 2u);  // One block two versions ahead of the other, either way.
}

}  // namespace
}  // namespace holdfast::crash::protocols
