// The holes of the published logs, 1 to 13 by the numbers of the study that collected them: the
// published form (published_logs.hpp) must fail with the count given, the closed one must pass.
// That `Log` in all its formats closes them is shown by log_crash_test.cpp; where it excludes one
// by its layout or its interface, the test here says so.
//
// "a/b" are states enumerated / states that violate, as the study counted them. It does not say how
// many words its entries had, so where ours differ the layout does; and at depth 2 it counts a
// state once per first crash, we count distinct images. Where the layout can be told from the
// numbers (3, 8, 12, 13) both agree to the digit.
#include <gtest/gtest.h>

#include <holdfast/baselines/log_formats.hpp>

#include "log_support.hpp"
#include "published_logs.hpp"

namespace holdfast::crash::protocols {
namespace {

using blocks::Log;
using blocks::LogFormat;
using blocks::LogOptions;

template <class State>
Report run(const Protocol<State>& protocol, unsigned depth = 2, const Model& model = kLine) {
  const Report report = check(protocol, exhaustive(model, depth));
  EXPECT_TRUE(report.exhaustive()) << report;
  return report;
}
// Images after the first crash and after the second, and of these the wrong ones.
using Counts = std::vector<std::uint64_t>;
Counts counts_of(const Report& report) {
  Counts counts;
  for (std::size_t depth = 0; depth < report.images.size(); ++depth) {
    counts.push_back(report.images[depth]);
    counts.push_back(report.violations[depth]);
  }
  return counts;
}

// Two lines, the count in the first. Both have the same number of one bits in either.
const Words kFirst{1, 3, 7, 15, 1, 3, 7, 15, 1, 3};
const Words kSecond{15, 7, 3, 1, 1, 3, 7, 1, 15, 3};

TEST(LogHoles, Hole01PopLogAppendsOverATornTailAndTheMixHasTheRightCount) {
  // The first append is sound, also when the line of the count tears: 119/0.
  const Report once = run(pop_log({}, {kFirst}, kSecond), 1);
  EXPECT_TRUE(once.ok()) << once;
  EXPECT_EQ(counts_of(once), (Counts{36, 0}));
  // 232/3: published recovery leaves the tail as it is. A mix needs the first entry's words where
  // the second's do not arrive; with these words eight images have the right count.
  const Report published = run(pop_log({}, {kFirst}, kSecond));
  EXPECT_EQ(counts_of(published), (Counts{36, 0, 272, 8})) << published;
  // 30/0: durable zeroes before the next append.
  const Report sound = run(pop_log({.erase_tail = true}, {kFirst}, kSecond));
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(counts_of(sound), (Counts{36, 0, 270, 0}));
}

TEST(LogHoles, Hole01PopLogOnZeroesIsSoundWithStreamingStoresToo) {
  const Words one_line{1, 7, 3, 1, 1};
  const Report report =
      run(pop_log({.slot_words = 8, .stream = true}, {one_line}, one_line), 1, kLineStreaming);
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(counts_of(report), (Counts{64, 0}));  // 64/0: six words in any subset.
  EXPECT_EQ(report.operation(0).barriers(), 1u);
}

TEST(LogHoles, Hole02PopLogReusesSpaceThatIsNotDurablyZero) {
  // Not zeroed: 30/4. Some words of old and new are the same, so there are fewer images.
  EXPECT_EQ(counts_of(run(pop_log_reuse(kFirst, kSecond, false, false), 1)), (Counts{15, 4}));
  // Zeroed without a fence of its own: 90/2. The second line is still old where the first is new.
  EXPECT_EQ(counts_of(run(pop_log_reuse(kFirst, kSecond, true, false), 1)), (Counts{119, 2}));
  // With the fence: 30/0, which leaves the zeroing out. (That it shows parts of the old log is hole
  // 3; here the old log is one entry.)
  const Report sound = run(pop_log_reuse(kFirst, kSecond, true, true), 1);
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(counts_of(sound), (Counts{71, 0}));
}

TEST(LogHoles, Hole03ATruncationByZeroesLeavesAPartOfTheOldLog) {
  // 729/80: nine prefixes of zeroes in each of three lines; the first line untouched, the others
  // not both.
  EXPECT_EQ(counts_of(run(truncation(Truncation::kZeroes), 1)), (Counts{729, 80}));
  // From behind with fences a prefix is visible for certain, and not only by chance.
  EXPECT_EQ(counts_of(run(truncation(Truncation::kZeroesFromBehind), 1)), (Counts{25, 16}));
  // 682/0 with shorter entries.
  const Report sound = run(truncation(Truncation::kHeadWord), 1);
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(counts_of(sound), (Counts{1 + 729, 0}));
}

TEST(LogHoles, Hole03AsARedoLogThePartUndoesACommittedUpdate) {
  // 103/8 at once, 39/8 from behind, with entries that fill their lines. Of ours three words are
  // not zero, so 4 * 4 and 3 + 4 images; x = 1 is replayed as long as the first entry is whole and
  // the second is not.
  EXPECT_EQ(counts_of(run(redo_log(Truncation::kZeroes), 1)), (Counts{16, 3}));
  EXPECT_EQ(counts_of(run(redo_log(Truncation::kZeroesFromBehind), 1)), (Counts{7, 3}));
  const Report sound = run(redo_log(Truncation::kHeadWord));
  EXPECT_TRUE(sound.ok()) << sound;
}

TEST(LogHoles, Hole04AnEntryWithoutCountedBitsIsNotThere) {
  // The count alone in the header, a payload of zeroes: acknowledged, and empty.
  Protocol<std::uint64_t> protocol;  // The number of entries.
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      store(region, 1, 0);
      store(region, 0, std::popcount(std::uint64_t{0}));
      persist(region, 0, 2);
    });
  };
  protocol.recover = [](Region& region) -> Result<std::uint64_t> {
    return load(region, 0) != 0 ? 1u : 0u;
  };
  protocol.check = [](const Past<std::uint64_t>& past, const std::uint64_t& seen) {
    return past.operations[0].acknowledged() && seen == 0 ? "acknowledged but invisible" : "";
  };
  EXPECT_EQ(counts_of(run(protocol, 1)), (Counts{1, 1}));

  // Ours count the LSN, which is never 0; records of no bytes and of zeros are records.
  for (const auto& kind : blocks::all_kinds()) {
    auto region = blocks::dram(4 * KiB + 3 * 64 * KiB);
    auto log = Log::create(region, blocks::whole(region), kind.options()).value();
    const std::vector<std::string> zeros = {"", std::string(24, '\0'), ""};
    for (const auto& record : zeros)
      log.append(blocks::bytes(record)).value();
    EXPECT_EQ(blocks::records(blocks::reopened(std::move(log), region)), zeros);
  }
}

TEST(LogHoles, Hole05ACountOfTwoWordsMayMatchASubset) {
  // The halves of the count in two words, streamed with the payload.
  Protocol<Words> protocol;
  const Words payload{0x1, 0x3, 0x7f, 0, 0, 0};  // 1 + 2 + 7 = 10 = 2 + 8.
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      Words line{2, 8};
      line.insert(line.end(), payload.begin(), payload.end());
      region.persist().stream(word(region, 0), line.data(), 64);
      fence(region);
    });
  };
  protocol.recover = [](Region& region) -> Result<Words> {
    Words found;
    std::uint64_t bits = 0;
    for (std::uint64_t i = 2; i < 8; ++i) {
      found.push_back(load(region, i));
      bits += std::popcount(found.back());
    }
    return bits != 0 && bits == load(region, 0) + load(region, 1) ? found : Words{};
  };
  protocol.check = [=](const Past<Words>&, const Words& seen) {
    return seen.empty() || seen == payload ? "" : "a subset was taken for the entry";
  };
  // 128/2 with seven words; here five that are not zero. The low half meets the two bits; the high
  // half one and seven.
  EXPECT_EQ(counts_of(run(protocol, 1, kLineStreaming)), (Counts{32, 2}));

  // Ours: count and length are one word, and frames begin at multiples of 8 however records end.
  auto region = blocks::dram(4 * KiB + 3 * 8 * KiB);
  const blocks::log_detail::Segment segment{&region, region.data(), 8 * KiB, 1, 1, false};
  for (std::uint64_t length = 0; length < 200; ++length)
    ASSERT_EQ(baselines::popcount_frames().frame_bytes(segment, length) % 8, 0u);
}

TEST(LogHoles, Hole06ADeadEntryOfAGroupComesBackBehindANewOne) {
  // Two entries share a fence; the second is durable and the first is not.
  const Entries pair = {{1, 2}, {3, 4}};
  PopLog log{.slot_words = 8, .slots = 3, .per_fence = 2};
  // 342/1, with longer entries: the one image is the dead entry behind the new one.
  EXPECT_EQ(counts_of(run(pop_log(log, pair, {5, 6}))), (Counts{16, 0, 39, 1}));
  log.erase_tail = true;
  const Report sound = run(pop_log(log, pair, {5, 6}));  // 10/0 for a single recovery.
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(counts_of(sound), (Counts{16, 0, 42, 0}));
}

TEST(LogHoles, Hole07RawlAppendsOverATornTailThatHasTheSameParity) {
  // 527/11. Of the first append alone: 45/0.
  EXPECT_EQ(counts_of(run(rawl_torn_tail(false))), (Counts{45, 0, 528, 11}));
  const Report sound = run(rawl_torn_tail(true));
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(counts_of(sound), (Counts{45, 0, 419, 0}));
}

TEST(LogHoles, Hole08RawlTakesPaddingOfTwoPassesAgoForPartOfALongerEntry) {
  // 81/24: of each line four words or more are new, and not all.
  EXPECT_EQ(counts_of(run(rawl_padding(false), 1)), (Counts{81, 24}));
  const Report sound = run(rawl_padding(true), 1);
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(counts_of(sound), (Counts{81, 0}));
}

TEST(LogHoles, Hole09RawlDoesNotKnowItsParityAfterARestart) {
  // "Reading": no count is given. Before the append is acknowledged the old entry is seen, after it
  // nothing.
  EXPECT_EQ(counts_of(run(rawl_restart(false), 1)), (Counts{5, 2}));
  const Report sound = run(rawl_restart(true), 1);
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(sound.operation(1).barriers() + sound.operation(2).barriers(), 2u);
}

TEST(LogHoles, Hole10RawlAcknowledgesAHeaderThatWasNotWrittenBack) {
  // Found without trying a state: a byte is pending at the acknowledgement.
  const Report pending = run(rawl_unwritten_header(false), 1);
  ASSERT_FALSE(pending.ok());
  EXPECT_NE(pending.failures[0].find("is acknowledged while the byte at offset 56"),
            std::string::npos)
      << pending;
  // And by trying: 2 states after the acknowledgement, 1 lost.
  auto options = exhaustive(kLine, 1);
  options.durable_at_acknowledge = false;
  EXPECT_EQ(counts_of(check(rawl_unwritten_header(false), options)), (Counts{4, 1}));
  const Report sound = run(rawl_unwritten_header(true), 1);
  EXPECT_TRUE(sound.ok()) << sound;
}

TEST(LogHoles, Hole11HeaderIsSoundAsLongAsDataComesFirstAndTheSizeIsOneWord) {
  const Report sound = run(header_log(HeaderForm::kSound), 1);
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(counts_of(sound), (Counts{3, 0}));
  EXPECT_EQ(sound.operation(1).barriers(), 2u);
  // Its two conditions as mutants; no counts were published.
  EXPECT_EQ(counts_of(run(header_log(HeaderForm::kOneFence), 1)), (Counts{4, 1}));
  EXPECT_EQ(counts_of(run(header_log(HeaderForm::kMisaligned), 1)), (Counts{5, 2}));
}

TEST(LogHoles, Hole12AResetOfAllDancingSizesIsNotAtomic) {
  EXPECT_EQ(counts_of(run(dancing_reset(false), 1)), (Counts{16, 7}));  // 16/7
  const Report sound = run(dancing_reset(true), 1);                     // 16/0 with 16 resets
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(counts_of(sound), (Counts{2, 0}));
}

TEST(LogHoles, Hole13AFooterOfTheOldGenerationValidatesATornEntry) {
  // 28/26: the footer is the offset, so it is there already; only all old and all new are right.
  const Classic published{.unique = false, .reader_knows = false};
  EXPECT_EQ(counts_of(run(classic(published), 1)), (Counts{28, 26}));
  // On zeroed space an entry at offset 0 has its footer before it is written.
  const Classic at_zero{.unique = false, .reader_knows = false, .stale = false, .offset = 0};
  EXPECT_EQ(counts_of(run(classic(at_zero), 1)), (Counts{28, 23}));
  // 33/3: a unique number is not enough, old header and footer agree over new payload.
  EXPECT_EQ(counts_of(run(classic({.reader_knows = false}), 1)), (Counts{33, 3}));
  const Report sound = run(classic({}), 1);
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(counts_of(sound), (Counts{33, 0}));
  EXPECT_EQ(sound.operation(1).barriers(), 2u);
}

// Not a hole but the form that needs none of the steps above: 91/0 over stale bytes, with one more
// append than here.
TEST(LogHoles, LineTagsStoredLastNeedOneFenceAndNothingElse) {
  const auto write = [](Region& region, std::uint64_t sequence, std::uint64_t value, bool last) {
    for (std::uint64_t line = 0; line < 2; ++line) {
      if (!last) store(region, line * 8 + 7, sequence);
      for (std::uint64_t i = 0; i < 7; ++i)
        store(region, line * 8 + i, value);
      if (last) store(region, line * 8 + 7, sequence);
    }
    persist(region, 0, 16);
  };
  for (const bool tag_last : {true, false}) {
    Protocol<Words> protocol;
    protocol.setup = [=](Region& region) { write(region, 1, 5, true); };
    protocol.workload = [=](Region& region, Workload& run) {
      run.perform(1, [&] { write(region, 2, 7, tag_last); });
    };
    protocol.recover = [](Region& region) -> Result<Words> {
      if (load(region, 7) != 2 || load(region, 15) != 2) return Words{};
      Words found;
      for (std::uint64_t i = 0; i < 16; ++i) {
        if (i % 8 != 7) found.push_back(load(region, i));
      }
      return found;
    };
    protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
      if (seen == Words(14, 7)) return "";
      if (past.operations[0].acknowledged()) return "the acknowledged entry is not there";
      return seen.empty() ? "" : "a torn entry";
    };
    const Report report = run(protocol, 1);
    EXPECT_EQ(report.ok(), tag_last) << report;
    EXPECT_EQ(report.images[0], 81u);
    EXPECT_EQ(report.operation(1).barriers(), 1u);
  }
}

// Line tags rest on the order of ordinary stores in a line, so a record must be whole lines; the
// formats that rest on lines are not for media where sectors tear.
TEST(LogHoles, TheInterfaceRefusesFormatsWhereTheyAreNotSound) {
  LogOptions dense;
  dense.format = baselines::kLineTags;
  dense.padded = false;
  EXPECT_EQ(dense.validate().code(), Errc::kInvalidOption);

  baselines::register_log_formats();
  for (const auto format : blocks::log_detail::registered_formats()) {
    Protocol<std::uint64_t> protocol;
    protocol.workload = [=](Region& region, Workload& run) {
      LogOptions options;
      options.format = format;
      options.segment_bytes = 8 * KiB;
      const auto quiet = run.quiet();
      const auto log = Log::create(region, blocks::whole(region), options);
      EXPECT_EQ(log.code(), format == LogFormat::kChecksum ? Errc::kOk : Errc::kUnsupported)
          << blocks::name(format);
    };
    protocol.recover = [](Region&) -> Result<std::uint64_t> { return 0; };
    protocol.check = [](const auto&, const auto&) { return ""; };
    Options options = exhaustive(kPage, 1);
    options.size_bytes = options.unit_bytes = options.max_size_bytes = 32 * KiB;
    check(protocol, options);
  }
}

}  // namespace
}  // namespace holdfast::crash::protocols
