// Pages in place: copy-on-write with page versions, the micro log. More published algorithms, all
// with their holes: tests/blocks/*_holes_test.cpp.
#include <gtest/gtest.h>

#include "protocols.hpp"

namespace holdfast::crash::protocols {
namespace {

// ---- Payload and commit flag in one line, one fence ----

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

// ---- Copy-on-write: page id and version identify a slot ----

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

// ---- The micro log: dirty lines are logged, then written in place ----

// Word 0: log valid (the page's version, 0 = invalid). Words 8, 16: logged lines. Words 24, 32: the
// page's lines; word 40: its version, raised by each writer of the page.
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

}  // namespace
}  // namespace holdfast::crash::protocols
