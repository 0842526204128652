// Logs with one fence per append: PopLog, flip bits (RAWL), Header with dancing size, Classic, line
// tags; and what truncation and reuse do to them.
#include <gtest/gtest.h>

#include "protocols.hpp"

namespace holdfast::crash::protocols {
namespace {

// --- PopLog: an entry is valid iff the stored number of one bits is that of its words.
// -------------

// Slots of `slot_words`; word 0 of an entry is (count << 32 | payload words), so that it is never 0
// and length and count are one store.
struct PopLog {
  std::uint64_t slot_words = 8;
  std::uint64_t slots = 2;
  bool erase_tail = true;       // Recovery zeroes what lies beyond the last valid entry, durably.
  bool stream = false;          // One line, non-temporal.
  std::uint64_t per_fence = 1;  // Entries that share a fence.

  static std::uint64_t header(const Words& payload) {
    std::uint64_t bits = std::popcount(payload.size());
    for (const std::uint64_t value : payload) {
      bits += std::popcount(value);
    }
    return bits << 32 | payload.size();
  }
  Entries read(Region& region) const {
    Entries entries;
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      const std::uint64_t at = slot * slot_words;
      const std::uint64_t length = load(region, at) & 0xffffffff;
      if (load(region, at) == 0 || length >= slot_words) break;
      Words payload;
      for (std::uint64_t i = 1; i <= length; ++i) {
        payload.push_back(load(region, at + i));
      }
      if (header(payload) != load(region, at)) break;
      entries.push_back(payload);
    }
    return entries;
  }
  Entries recover(Region& region) const {
    Entries entries = read(region);
    if (!erase_tail) return entries;
    const std::uint64_t tail = entries.size() * slot_words;
    const std::uint64_t end = slots * slot_words;
    bool dirty = false;
    for (std::uint64_t i = tail; i < end; ++i) {
      dirty |= load(region, i) != 0;
    }
    if (dirty) {
      zero(region, tail, end - tail);
      persist(region, tail, end - tail);
    }
    return entries;
  }
  void write(Region& region, std::uint64_t slot, const Words& payload) const {
    Words entry{header(payload)};
    entry.insert(entry.end(), payload.begin(), payload.end());
    if (stream) {
      entry.resize(8);
      region.persist().stream(word(region, slot * slot_words), entry.data(), 64);
      return;
    }
    region.persist().copy(word(region, slot * slot_words), entry.data(), entry.size() * 8);
    write_back(region, slot * slot_words, entry.size());
  }
};

// Appends `first` to the log that `setup` left, and `second` after a recovery.
Protocol<Entries> pop_log(const PopLog& log, Entries first, const Words& second) {
  const auto entry_of = [=](std::uint64_t id) { return id < first.size() ? first[id] : second; };
  Protocol<Entries> protocol;
  protocol.workload = [=](Region& region, Workload& run) {
    for (std::uint64_t id = 0; id < first.size(); id += log.per_fence) {
      for (std::uint64_t i = id; i < id + log.per_fence; ++i) {
        run.begin(i, static_cast<std::uint32_t>(i));
      }
      for (std::uint64_t i = id; i < id + log.per_fence; ++i) {
        log.write(region, i, first[i]);
      }
      fence(region);
      for (std::uint64_t i = id; i < id + log.per_fence; ++i) {
        run.acknowledge(i);
      }
    }
  };
  protocol.recover = [=](Region& region) -> Result<Entries> { return log.recover(region); };
  protocol.then = [=](Region& region, Workload& run, const Entries& found) {
    if (found.size() == log.slots) return;
    run.perform(100, [&] {
      log.write(region, found.size(), second);
      fence(region);
    });
  };
  protocol.check = [=](const Past<Entries>& past, const Entries& observed) {
    return is_log_of(past, observed, entry_of);
  };
  protocol.print = print_entries;
  return protocol;
}

// `second` has the same number of one bits as `first` in all, and other ones word by word.
const Words kFirst{0x1, 0x7, 0x3, 0x1, 0x1};
const Words kSecond{0x7, 0x1, 0x3, 0x1, 0x1};

TEST(ProtocolPopLog, OneAppendOnZeroedSpaceIsSoundAlsoWithStreamingStores) {
  Options options = exhaustive(kLineStreaming, 1);
  PopLog log{.slots = 1, .stream = true};
  const Report report = check(pop_log(log, {kFirst}, kSecond), options);
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.images[0], 64u);  // 64/0: six words that are not zero, in any subset.
  EXPECT_EQ(report.violations[0], 0u);
  EXPECT_EQ(report.operation(0).barriers(), 1u);
}

TEST(ProtocolPopLog, OneAppendOverTwoLinesIsSoundAlsoWhenTheLineOfTheCountTears) {
  // An entry of 14 words: eight in the line of the count, six beyond. 9 * 7 prefixes; the anchor's
  // 119/0 laid 22 words over three lines at another alignment.
  PopLog log{.slot_words = 16, .slots = 1};
  const Words payload{1, 3, 7, 15, 1, 3, 7, 15, 1, 3, 7, 15, 1};
  const Report report = check(pop_log(log, {payload}, kSecond), exhaustive(kLine, 1));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.images[0], 63u);
}

TEST(ProtocolPopLog, AnAppendOverATornTailMayMixWithIt) {
  // 232/3 over two lines. Here one line suffices: old prefix of k words, new prefix of j < k.
  PopLog log{.slots = 1, .erase_tail = false};
  const Report report = check(pop_log(log, {kFirst}, kSecond), exhaustive(kLine));
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.violations[0], 0u);  // The first crash alone shows nothing.
  EXPECT_GT(report.violations[1], 0u);
}

TEST(ProtocolPopLog, ErasingTheTornTailDurablyBeforeTheNextAppendIsSound) {
  PopLog log{.slots = 1};
  const Report report = check(pop_log(log, {kFirst}, kSecond), exhaustive(kLine));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_GT(report.images[1], 10u);
  EXPECT_TRUE(report.exhaustive());
}

TEST(ProtocolPopLog, ADeadEntryBeyondTheTailComesBackBehindANewOne) {
  // 342/1: two entries share a fence, the second is durable and the first is not.
  PopLog log{.slots = 3, .erase_tail = false, .per_fence = 2};
  const Report broken = check(pop_log(log, {{1, 2}, {3, 4}}, {5, 6}), exhaustive(kLine));
  EXPECT_FALSE(broken.ok());
  EXPECT_GT(broken.violations[1], 0u);
  log.erase_tail = true;  // 10/0 for the anchor's single recovery.
  const Report sound = check(pop_log(log, {{1, 2}, {3, 4}}, {5, 6}), exhaustive(kLine));
  EXPECT_TRUE(sound.ok()) << sound;
}

// Reuse of a log that is full of an old generation. The first two words of both have equal sums of
// bits.
const Words kOld{0x7, 0x1, 0x3, 0x1, 0x1};
const Words kNew{0x1, 0x7, 0x1, 0x3, 0x1};
Protocol<Entries> reuse(bool zero_first, bool fence_between) {
  PopLog log{.slots = 1};
  Protocol<Entries> protocol = pop_log(log, {kNew}, kOld);
  protocol.setup = [=](Region& region) {
    log.write(region, 0, kOld);
    fence(region);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    {
      const auto quiet = run.quiet();  // Truncation itself is another test.
      if (zero_first) zero(region, 0, 8);
      if (fence_between) persist(region, 0, 8);
    }
    run.perform(0, [&] {
      log.write(region, 0, kNew);
      fence(region);
    });
  };
  // An empty log or the old one are both fine until the append is acknowledged, the mix never.
  protocol.check = [=](const Past<Entries>& past, const Entries& observed) -> std::string {
    if (observed == Entries{kNew}) return "";
    if (past.operations[0].acknowledged()) return "the acknowledged entry is not there";
    return observed.empty() || observed == Entries{kOld} ? "" : "a mix of two entries";
  };
  protocol.then = nullptr;
  return protocol;
}

TEST(ProtocolPopLog, ReuseNeedsDurableZeroesFirst) {
  EXPECT_FALSE(check(reuse(false, false), exhaustive(kLine)).ok());  // 30/4.
  EXPECT_TRUE(check(reuse(true, true), exhaustive(kLine)).ok());     // 30/0.
  // 90/2, zeroed but not fenced: in one line program order keeps zeroes before the entry, so the
  // hole needs streamed entries, which are unordered against the pending zeroes.
  const Report ordered = check(reuse(true, false), exhaustive(kLine));
  EXPECT_TRUE(ordered.ok()) << ordered;
}

TEST(ProtocolPopLog, AnEntryWithoutCountedBitsIsNotThere) {
  // The count alone in the header, payload all zero: the header is 0 = empty, yet acknowledged.
  Protocol<std::uint64_t> protocol;  // The number of entries.
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      store(region, 1, 0);
      store(region, 0, 0);  // popcount of the payload
      persist(region, 0, 2);
    });
  };
  protocol.recover = [](Region& region) -> Result<std::uint64_t> {
    return load(region, 0) != 0 ? 1u : 0u;
  };
  protocol.check = [](const Past<std::uint64_t>& past,
                      const std::uint64_t& observed) -> std::string {
    const bool acknowledged = past.operations[0].acknowledged();
    return acknowledged && observed == 0 ? "acknowledged but invisible" : "";
  };
  EXPECT_FALSE(check(protocol, exhaustive(kLine)).ok());
}

TEST(ProtocolPopLog, ACountSplitOverTwoWordsMayMatchASubset) {
  // 128/2: low and high half of the count in different words, both streamed with the payload.
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
  protocol.check = [=](const Past<Words>&, const Words& observed) {
    return observed.empty() || observed == payload ? "" : "a subset was taken for the entry";
  };
  const Report report = check(protocol, exhaustive(kLineStreaming, 1));
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.images[0], 32u);     // Five words that are not zero.
  EXPECT_EQ(report.violations[0], 2u);  // Low half with the two bits; high half with one and seven.
}

// --- Truncation by zeroing
// --------------------------------------------------------------------------

Protocol<Entries> truncation(bool kill_head_first) {
  // Three one-line entries. Word 24 is the head: entries count only while it is 0.
  PopLog log{.slots = 3, .erase_tail = false};
  const Entries entries{
      {1, 3, 7, 15, 31, 63, 127}, {2, 3, 7, 15, 31, 63, 127}, {4, 3, 7, 15, 31, 63, 127}};
  Protocol<Entries> protocol;
  protocol.initial = entries;
  protocol.setup = [=](Region& region) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      log.write(region, i, entries[i]);
    }
    fence(region);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      if (kill_head_first) {
        store(region, 24, 1);
        persist(region, 24, 1);
      }
      zero(region, 0, 24);
      persist(region, 0, 24);
    });
  };
  protocol.recover = [=](Region& region) -> Result<Entries> {
    return load(region, 24) != 0 ? Entries{} : log.read(region);
  };
  protocol.check = [=](const Past<Entries>&, const Entries& observed) {
    return observed.empty() || observed == entries ? "" : "a part of the truncated log is visible";
  };
  return protocol;
}

TEST(ProtocolTruncation, ZeroingALogMayLeaveAPrefixOfIt) {
  const Report report = check(truncation(false), exhaustive(kLine, 1));
  EXPECT_EQ(report.images[0], 729u);     // 729/80: nine prefixes of zeroes in each of three lines;
  EXPECT_EQ(report.violations[0], 80u);  // the first line untouched, the other two not both.
}

TEST(ProtocolTruncation, OneDurableWordFirstAndZeroesAfterIsSound) {
  const Report report = check(truncation(true), exhaustive(kLine, 1));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.images[0], 1u + 729u);  // 682/0 in the anchor, whose entries were shorter.
}

// --- RAWL: every word carries the parity of its pass
// ------------------------------------------------

// Top bit of each word is the parity. An entry is valid iff all words of it have the current one.
// Padding fills the line.
Protocol<Words> flip_log(bool flip_padding) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  const auto write = [=](Region& region, std::uint64_t words, std::uint64_t value, bool parity) {
    const std::uint64_t all = flip_padding ? 16 : words;
    for (std::uint64_t i = 0; i < all; ++i) {
      store(region, i, (i < words ? (i == 0 ? words : value) : 0) | (parity ? kTop : 0));
    }
    write_back(region, 0, all);
    fence(region);
  };
  Protocol<Words> protocol;
  protocol.setup = [=](Region& region) {
    write(region, 16, 5, true);  // Pass 1: a long entry.
    write(region, 13, 6,
          false);  // Pass 2: a shorter one; without flipping, three words keep pass 1.
  };
  protocol.workload = [=](Region& region, Workload& run) {  // Pass 3: long again.
    run.perform(1, [&] { write(region, 16, 7, true); });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    Words found;
    const std::uint64_t length = std::min<std::uint64_t>(load(region, 0) & ~kTop, 16);
    for (std::uint64_t i = 0; i < length; ++i) {
      if ((load(region, i) & kTop) == 0) return Words{};
      found.push_back(load(region, i) & ~kTop);
    }
    return found;
  };
  protocol.check = [](const Past<Words>& past, const Words& observed) -> std::string {
    Words whole(16, 7);
    whole[0] = 16;
    if (observed == whole) return "";
    if (past.operations[0].acknowledged()) return "the acknowledged entry is not there";
    return observed.empty() ? "" : "an entry with words of an earlier pass";
  };
  return protocol;
}

TEST(ProtocolFlipLog, PaddingThatKeepsAnOlderParityIsTakenForPartOfALongerEntry) {
  const Report report = check(flip_log(false), exhaustive(kLine, 1));
  EXPECT_EQ(report.images[0],
            81u);  // 81/24 with the anchor's sizes: what counts is the padding's length.
  EXPECT_EQ(report.violations[0],
            3u);  // First line whole, second with five to seven of its eight words.
}

TEST(ProtocolFlipLog, PaddingThatIsFlippedTooIsSound) {
  const Report report = check(flip_log(true), exhaustive(kLine, 1));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.images[0], 81u);  // 81/0.
}

// --- Header with a dancing size: the size is the maximum over several words
// ------------------------

Protocol<std::uint64_t> dancing_reset(bool generations) {
  constexpr std::uint64_t kFields = 4;
  constexpr std::uint64_t kGeneration = std::uint64_t{1} << 32;
  Protocol<std::uint64_t> protocol;
  protocol.initial = 13;
  protocol.setup = [=](Region& region) {
    for (std::uint64_t i = 0; i < kFields; ++i) {
      store(region, i * 8, 10 + i);  // One line each.
    }
    persist(region, 0, kFields * 8);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      if (generations) {
        store(region, 0, kGeneration);
        persist(region, 0, 1);
        return;
      }
      for (std::uint64_t i = 0; i < kFields; ++i) {
        store(region, i * 8, 0);
      }
      persist(region, 0, kFields * 8);
    });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    std::uint64_t size = 0;
    for (std::uint64_t i = 0; i < kFields; ++i) {
      size = std::max(size, load(region, i * 8));
    }
    return size % kGeneration;
  };
  protocol.check = [](const Past<std::uint64_t>&, const std::uint64_t& observed) {
    return observed == 0 || observed == 13 ? "" : "a size that was never the current one";
  };
  return protocol;
}

TEST(ProtocolDancing, AResetOfAllFieldsIsNotAtomic) {
  const Report report = check(dancing_reset(false), exhaustive(kLine, 1));
  EXPECT_EQ(report.images[0], 16u);  // 16/7.
  EXPECT_EQ(report.violations[0], 7u);
}

TEST(ProtocolDancing, AGenerationInEachFieldMakesTheResetOneWord) {
  const Report report = check(dancing_reset(true), exhaustive(kLine, 1));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.images[0], 2u);
}

// --- Classic: header and footer agree
// -----------------------------------------------------------------

// Header, payload over the line's end, footer. Sequence numbers; the reader knows the next or not.
Protocol<Words> classic(bool unique, bool reader_knows, bool fence_before_footer) {
  const auto write = [=](Region& region, std::uint64_t sequence, std::uint64_t value) {
    store(region, 6, sequence);
    for (std::uint64_t i = 7; i < 10; ++i) {
      store(region, i, value);
    }
    if (fence_before_footer) persist(region, 6, 4);
    store(region, 10, sequence);
    persist(region, fence_before_footer ? 10 : 6, fence_before_footer ? 1 : 5);
  };
  Protocol<Words> protocol;
  const std::uint64_t now = unique ? 2 : 1;
  protocol.setup = [=](Region& region) { write(region, 1, 5); };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] { write(region, now, 7); });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    const std::uint64_t sequence = load(region, 6);
    if (sequence != load(region, 10) || (reader_knows && sequence != now)) return Words{};
    return Words{load(region, 7), load(region, 8), load(region, 9)};
  };
  protocol.check = [](const Past<Words>&, const Words& observed) {
    return observed.empty() || observed == Words{5, 5, 5} || observed == Words{7, 7, 7}
               ? ""
               : "an entry of old and new words";
  };
  return protocol;
}

TEST(ProtocolClassic, AFooterOfTheOldGenerationValidatesANewTornEntry) {
  // Two lines: (header, word) and (word, word, footer). With equal marks 2 * 3 images, of which two
  // lines half new give a mix; 28/26 in the anchor with eight words.
  const Report same = check(classic(false, false, false), exhaustive(kLine, 1));
  EXPECT_EQ(same.images[0], 6u);
  EXPECT_EQ(same.violations[0], 4u);
  // A sequence number alone leaves the old header and footer agreeing over new payload: 33/3.
  const Report unique = check(classic(true, false, false), exhaustive(kLine, 1));
  EXPECT_EQ(unique.images[0], 12u);
  EXPECT_EQ(unique.violations[0], 3u);
  // A fence before the footer does not help a reader who takes any sequence number ...
  EXPECT_FALSE(check(classic(true, false, true), exhaustive(kLine, 1)).ok());
  // ... and one who knows the next needs it: the first line may hold the header and no more.
  const Report unfenced = check(classic(true, true, false), exhaustive(kLine, 1));
  EXPECT_EQ(unfenced.violations[0], 1u);
  const Report sound = check(classic(true, true, true), exhaustive(kLine, 1));
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(sound.operation(1).barriers(), 2u);
}

// --- Line tags: each line ends in a tag that is stored last
// ------------------------------------------

TEST(ProtocolLineTags, ATagStoredLastInEachLineNeedsOneFenceAndNoZeroing) {
  Protocol<Words> protocol;
  const auto write = [](Region& region, std::uint64_t sequence, std::uint64_t value,
                        bool tag_last) {
    for (std::uint64_t line = 0; line < 2; ++line) {
      if (!tag_last) store(region, line * 8 + 7, sequence);
      for (std::uint64_t i = 0; i < 7; ++i) {
        store(region, line * 8 + i, value);
      }
      if (tag_last) store(region, line * 8 + 7, sequence);
    }
    persist(region, 0, 16);
  };
  for (const bool tag_last : {true, false}) {
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
    protocol.check = [](const Past<Words>& past, const Words& observed) -> std::string {
      if (observed == Words(14, 7)) return "";
      if (past.operations[0].acknowledged()) return "the acknowledged entry is not there";
      return observed.empty() ? "" : "a torn entry";
    };
    const Report report = check(protocol, exhaustive(kLine, 1));
    EXPECT_EQ(report.ok(), tag_last) << report;
    EXPECT_EQ(report.images[0], 81u);  // 91/0 over stale bytes, with the anchor's further append.
    EXPECT_EQ(report.operation(1).barriers(), 1u);
  }
}

}  // namespace
}  // namespace holdfast::crash::protocols
