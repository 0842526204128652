// What a log does while nothing goes wrong: all formats, dense and padded.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include <holdfast/base/random.hpp>
#include <holdfast/blocks/log/space.hpp>

#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

class AnyLog : public testing::TestWithParam<LogKind> {};
INSTANTIATE_TEST_SUITE_P(Formats, AnyLog, testing::ValuesIn(all_kinds_both_ways()),
                         [](const auto& kind) { return kind.param.name(); });

TEST_P(AnyLog, KeepsRecordsOfAllLengthsOverReopening) {
  auto region = dram(512 * KiB, GetParam().streams);
  std::vector<std::string> expected;
  {
    auto log = Log::create(region, whole(region), GetParam().options()).value();
    for (std::size_t length = 0; length < 200; ++length) {
      expected.push_back(pattern(length, length));
      ASSERT_TRUE(log.append(bytes(expected.back())));
    }
    EXPECT_EQ(records(log), expected);
  }
  auto log = Log::open(region, whole(region)).value();
  EXPECT_EQ(log.options().format, GetParam().format);
  EXPECT_EQ(log.options().padded, GetParam().padded);
  EXPECT_EQ(records(log), expected);
  ASSERT_TRUE(log.append(bytes("one more")));
  expected.emplace_back("one more");
  EXPECT_EQ(records(log), expected);
}

TEST_P(AnyLog, GivesRisingLsnsAndReadsFromAnyOfThem) {
  auto region = dram(512 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options()).value();
  std::vector<Lsn> lsns;
  for (int i = 0; i < 20; ++i)
    lsns.push_back(log.append(bytes(std::to_string(i))).value());
  for (int i = 0; i < 20; ++i) {
    if (i > 0) {
      EXPECT_GT(lsns[i], lsns[i - 1]);
    }
    const auto found = records(log, lsns[i]);
    ASSERT_EQ(found.size(), 20u - i);
    EXPECT_EQ(found[0], std::to_string(i));
  }
  EXPECT_TRUE(records(log, {lsns.back().value + 1}).empty());
}

TEST_P(AnyLog, AppendsManyWithTheFencesOfOne) {
  auto region = dram(512 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options()).value();
  ASSERT_TRUE(log.append(bytes("first")));  // Takes the segment.
  std::vector<std::string> texts;
  std::vector<Record> group;
  for (std::uint64_t i = 0; i < 16; ++i)
    texts.push_back(pattern(i, 40 + i));
  for (const auto& one : texts)
    group.push_back(bytes(one));
  const auto before = persist_counts().fences;
  ASSERT_TRUE(log.append(bytes("single")));
  const auto single = persist_counts().fences - before;
  ASSERT_TRUE(log.append_many(group));
  EXPECT_EQ(persist_counts().fences - before, 2 * single);
  auto expected = texts;
  expected.insert(expected.begin(), {"first", "single"});
  EXPECT_EQ(records(log), expected);
  EXPECT_EQ(records(reopened(std::move(log), region)), expected);
}

// As docs/blocks_log.md has it.
TEST(LogCosts, AnAppendWritesTheLinesThatTheDocumentNamesAndFencesOnce) {
  for (const std::string streams : {"on", "off"})
    for (const bool padded : {true, false}) {
      auto region = dram(512 * KiB, streams);
      auto log =
          Log::replace(region, whole(region), LogKind{LogFormat::kChecksum, padded}.options())
              .value();
      std::uint64_t at = 64;  // Behind the segment's header.
      for (const std::uint64_t length : {1, 16, 40, 41, 104, 500, 512, 1'500, 4'000}) {
        const auto before = persist_counts();
        ASSERT_TRUE(log.append(bytes(pattern(1, length))));
        const auto end = at + 24 + (length + 7) / 8 * 8;
        const auto lines = (end + 63) / 64 - at / 64;
        const bool took_segment = at == 64;  // Its header is a line more.
        EXPECT_EQ(persist_counts().lines_written_back - before.lines_written_back,
                  lines + took_segment)
            << length << (padded ? " padded" : " dense");
        EXPECT_EQ(persist_counts().fences - before.fences, 1u);
        at = padded ? (end + 63) / 64 * 64 : end;
      }
      const auto before = persist_counts();
      ASSERT_TRUE(log.truncate({log.stable().value + 1}));
      EXPECT_EQ(persist_counts().lines_written_back - before.lines_written_back, 1u);
      EXPECT_EQ(persist_counts().fences - before.fences, 1u);
    }
}

TEST_P(AnyLog, RunsFullAndGoesOnAfterTruncation) {
  auto region = dram(4 * KiB + 4 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB)).value();
  std::vector<Lsn> lsns;
  Result<Lsn> result = Lsn{};
  while ((result = log.append(bytes(pattern(lsns.size(), 100)))))
    lsns.push_back(*result);
  EXPECT_EQ(result.code(), Errc::kNoSpace);
  EXPECT_NE(result.error().detail.find("truncate"), std::string::npos);
  EXPECT_GT(lsns.size(), 60u);
  EXPECT_EQ(records(log).size(), lsns.size());
  // Half of it goes; what remains is read on, also after reopening; and there is room again.
  const auto cut = lsns[lsns.size() / 2];
  ASSERT_TRUE(log.truncate(cut));
  EXPECT_EQ(log.head(), cut);
  EXPECT_EQ(entries(log).value().front().first, cut.value);
  EXPECT_TRUE(log.append(bytes("room")));
  auto again = reopened(std::move(log), region);
  EXPECT_EQ(again.head(), cut);
  const auto found = records(again);
  EXPECT_EQ(found.size(), lsns.size() - lsns.size() / 2 + 1);
  EXPECT_EQ(found.back(), "room");
}

// As many lanes as segments: each has one, and none is left over for the next.
TEST_P(AnyLog, HasRoomAgainOnceAllIsTruncatedAlsoIfItsLanesHaveAllSegments) {
  auto region = dram(4 * KiB + 2 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB, 2)).value();
  auto other = log.appender().value();
  const auto one = pattern(1, 100), two = pattern(2, 100);
  for (int lap = 0; lap < 5; ++lap) {
    while (log.append(bytes(one))) {
    }
    while (other.append(bytes(two))) {
    }
    const auto refused = log.append(bytes(one));
    EXPECT_EQ(refused.code(), Errc::kNoSpace);
    EXPECT_GT(records(log).size(), 40u);
    ASSERT_TRUE(log.truncate({log.stable().value + 1}));
    EXPECT_TRUE(records(log).empty());
    ASSERT_TRUE(log.append(bytes(one)));
    ASSERT_TRUE(other.append(bytes(two)));
    EXPECT_EQ(records(log), (std::vector<std::string>{one, two}));
    log = reopened(
        [&] {
          {
            const auto gone = std::move(other);
          }
          return std::move(log);
        }(),
        region);
    EXPECT_EQ(records(log), (std::vector<std::string>{one, two}));
    other = log.appender().value();
  }
}

// Threads that came once and went.
TEST_P(AnyLog, TakesTheSegmentsOfLanesThatNobodyHoldsOnceTheyAreTruncated) {
  auto region = dram(4 * KiB + 4 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB, 4)).value();
  {
    std::vector<LogAppender> threads;
    for (int i = 0; i < 3; ++i)
      threads.push_back(log.appender().value());
    for (auto& thread : threads)
      ASSERT_TRUE(thread.append(bytes("once")));
  }
  EXPECT_EQ(log.free_segments(), 1u);
  for (std::uint64_t i = 0; i < 500; ++i) {
    const auto lsn = log.append(bytes(pattern(i, 1'000)));
    ASSERT_TRUE(lsn) << i << ": " << lsn.error().message();
    ASSERT_TRUE(log.truncate(*lsn));
    if (i % 50 != 0) continue;
    // They come again.
    auto thread = log.appender().value();
    ASSERT_TRUE(thread.append(bytes("again")));
    EXPECT_EQ(records(log), (std::vector<std::string>{pattern(i, 1'000), "again"}));
  }
  log = reopened(std::move(log), region);
  EXPECT_EQ(records(log), std::vector{pattern(499, 1'000)});
}

// A reader that is not at its end holds the last segment of each lane.
TEST_P(AnyLog, AFullLastSegmentIsNotTakenUnderAReader) {
  auto region = dram(4 * KiB + 2 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB, 2)).value();
  auto other = log.appender().value();
  ASSERT_TRUE(other.append(bytes("other")));
  std::size_t count = 0;
  while (log.append(bytes(pattern(count, 100))))
    ++count;
  auto reader = log.read();
  ASSERT_TRUE(reader.next().value());
  ASSERT_TRUE(log.truncate({log.stable().value + 1}));
  EXPECT_EQ(log.append(bytes(pattern(0, 100))).code(), Errc::kNoSpace);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(reader.next().value());
    EXPECT_EQ(text(reader.record()), pattern(i, 100));
  }
  {
    const auto gone = std::move(reader);
  }
  EXPECT_TRUE(log.append(bytes(pattern(0, 100))));
}

// Lanes that had no segment yet when the reader looked: it holds none of theirs, and has a place.
TEST_P(AnyLog, ALastSegmentThatWasTakenBehindAReadersLookIsKeptForIt) {
  auto region = dram(4 * KiB + 2 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB, 2)).value();
  auto reader = log.read();
  std::vector<std::string> expected{"other"};
  auto other = log.appender().value();
  ASSERT_TRUE(other.append(bytes("other")));
  while (log.append(bytes(pattern(expected.size(), 100))))
    expected.push_back(pattern(expected.size(), 100));
  ASSERT_TRUE(log.truncate({log.stable().value + 1}));
  EXPECT_EQ(log.append(bytes(pattern(0, 100))).code(), Errc::kNoSpace);
  EXPECT_FALSE(reader.next().value()) << "there was nothing when it was made";
  for (const auto& record : expected) {
    ASSERT_TRUE(reader.next().value());
    EXPECT_EQ(text(reader.record()), record);
  }
  {
    const auto gone = std::move(reader);
  }
  EXPECT_TRUE(log.append(bytes(pattern(0, 100))));
}

// All records of the last segment lie before the place of a reader, which has looked at it and has
// to pass them.
TEST_P(AnyLog, ALastSegmentThatAReaderHasSeenIsNotTakenUnderIt) {
  auto region = dram(4 * KiB + 2 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB, 2)).value();
  auto other = log.appender().value();
  ASSERT_TRUE(other.append(bytes("other")));
  while (log.append(bytes(pattern(1, 100)))) {
  }
  ASSERT_TRUE(log.truncate({log.stable().value + 1}));
  auto reader = log.read();
  EXPECT_EQ(log.append(bytes(pattern(2, 100))).code(), Errc::kNoSpace);
  EXPECT_FALSE(reader.next().value());
  {
    const auto gone = std::move(reader);
  }
  EXPECT_TRUE(log.append(bytes(pattern(2, 100))));
}

TEST_P(AnyLog, ALastSegmentWithTheRecordAtTheHeadIsKept) {
  auto region = dram(4 * KiB + 2 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB, 2)).value();
  auto other = log.appender().value();
  ASSERT_TRUE(other.append(bytes("other")));
  std::uint64_t last = 0;
  std::size_t count = 0;
  while (const auto lsn = log.append(bytes(pattern(count, 100))))
    last = lsn->value, ++count;
  ASSERT_TRUE(log.truncate({last}));
  EXPECT_EQ(log.append(bytes(pattern(count, 100))).code(), Errc::kNoSpace);
  EXPECT_EQ(records(log), std::vector{pattern(count - 1, 100)});
  ASSERT_TRUE(log.truncate({last + 1}));
  EXPECT_TRUE(log.append(bytes(pattern(count, 100))));
  EXPECT_EQ(records(log), std::vector{pattern(count, 100)});
}

TEST_P(AnyLog, IsAsADequeOverManyLapsAndReopenings) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Random random(seed);
    auto region = dram(4 * KiB + 5 * 8 * KiB, GetParam().streams);
    auto log = Log::create(region, whole(region), GetParam().options(8 * KiB)).value();
    std::deque<std::pair<std::uint64_t, std::string>> model;
    const auto most = log.max_record_bytes();
    for (int step = 0; step < 1500; ++step) {
      const auto dice = random.below(100);
      if (dice < 70) {
        const auto length = dice == 0 ? most : random.below(dice < 60 ? 100 : 1000);
        const auto record = pattern(random.next(), length);
        const auto lsn = log.append(bytes(record));
        if (lsn)
          model.emplace_back(lsn->value, record);
        else
          ASSERT_EQ(lsn.code(), Errc::kNoSpace);
      } else if (dice < 80) {
        std::vector<std::string> texts;
        std::vector<Record> group;
        for (auto n = 1 + random.below(8); n > 0; --n)
          texts.push_back(pattern(random.next(), random.below(200)));
        for (const auto& one : texts)
          group.push_back(bytes(one));
        if (const auto first = log.append_many(group); first) {
          for (std::size_t i = 0; i < texts.size(); ++i)
            model.emplace_back(first->value + i * log.options().lanes, texts[i]);
        } else {
          ASSERT_EQ(first.code(), Errc::kNoSpace);
        }
      } else if (dice < 95) {
        if (model.empty()) continue;
        const auto at = random.below(model.size() + 1);
        const auto up_to = at == model.size() ? model.back().first + 1 : model[at].first;
        ASSERT_TRUE(log.truncate({up_to}));
        model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        log = reopened(std::move(log), region);
      }
      if (step % 50 == 0 || dice >= 95) {
        ASSERT_EQ(entries(log).value(), Entries(model.begin(), model.end()))
            << "seed " << seed << " step " << step;
      }
    }
  }
}

TEST_P(AnyLog, MergesAppendersByLsn) {
  auto region = dram(1 * MiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options()).value();
  Entries expected;
  {
    auto second = log.appender().value();
    auto third = log.appender().value();
    for (std::uint64_t i = 0; i < 300; ++i) {
      const auto record = pattern(i, i % 90);
      const auto lsn = i % 3 == 0   ? log.append(bytes(record)).value()
                       : i % 3 == 1 ? second.append(bytes(record)).value()
                                    : third.append(bytes(record)).value();
      expected.emplace_back(lsn.value, record);
    }
    const auto fourth = log.appender().value();
    const auto fifth = log.appender();
    ASSERT_FALSE(fifth);
    EXPECT_EQ(fifth.code(), Errc::kBusy);
  }
  EXPECT_EQ(entries(log).value(), expected);
  auto again = reopened(std::move(log), region);
  EXPECT_EQ(entries(again).value(), expected);
  ASSERT_TRUE(again.append(bytes("last")));
  EXPECT_EQ(records(again).back(), "last");
}

TEST_P(AnyLog, RefusesRecordsThatNoSegmentHolds) {
  auto region = dram(256 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options()).value();
  const auto most = log.max_record_bytes();
  EXPECT_TRUE(log.append(bytes(pattern(1, most))));
  const auto refused = log.append(bytes(pattern(1, most + 8)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Errc::kTooLarge);
  EXPECT_EQ(records(log).size(), 1u);
}

// A reader that has come to the end goes on when there is more, over segments and reopened lanes.
TEST_P(AnyLog, IsFollowedByAReaderThatGoesOnAfterItsEnd) {
  auto region = dram(4 * KiB + 6 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB)).value();
  auto second = log.appender().value();
  auto reader = log.read();
  EXPECT_FALSE(reader.next().value());
  Random random(5);
  std::vector<std::string> appended, followed;
  const auto follow = [&] {
    while (reader.next().value()) {
      followed.push_back(text(reader.record()));
      EXPECT_EQ(pattern(followed.size() - 1, followed.back().size()), followed.back());
    }
  };
  for (std::uint64_t i = 0; i < 400; ++i) {
    appended.push_back(pattern(i, random.below(300)));
    const auto record = bytes(appended.back());
    auto lsn = random.below(2) == 0 ? log.append(record) : second.append(record);
    if (!lsn) {  // Full. What was followed goes; the reader holds nothing back that it has given.
      ASSERT_EQ(lsn.code(), Errc::kNoSpace);
      appended.pop_back();
      follow();
      EXPECT_EQ(followed, appended);
      ASSERT_TRUE(log.truncate({log.stable().value + 1}));
      EXPECT_FALSE(reader.next().value());
      --i;
      continue;
    }
    if (random.below(4) == 0) follow();
  }
  follow();
  EXPECT_EQ(followed, appended);
}

TEST_P(AnyLog, KeepsWhatAReaderReadsUntilItIsGone) {
  auto region = dram(4 * KiB + 3 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB)).value();
  std::vector<std::string> expected;
  Lsn last;
  while (log.free_segments() > 0) {
    expected.push_back(pattern(expected.size(), 200));
    last = log.append(bytes(expected.back())).value();
  }
  {
    auto reader = log.read();
    ASSERT_TRUE(log.truncate(last));
    EXPECT_EQ(log.free_segments(), 0u);
    std::vector<std::string> found;
    while (reader.next().value())
      found.push_back(text(reader.record()));
    EXPECT_EQ(found, expected);
  }
  EXPECT_EQ(log.free_segments(), 2u);
}

// A lane's last segment was full of records below the head when a reader looked. The lane took
// another one, a second lane took the full one, and the reader took what it wrote there for damage,
// or gave it twice.
TEST_P(AnyLog, ASegmentThatAReaderHasSeenIsNotTakenUnderIt) {
  auto region = dram(4 * KiB + 3 * 8 * KiB, GetParam().streams);
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB, 2)).value();
  const auto record = pattern(1, 20);
  auto appender = log.appender().value();
  unsigned fit = 0;
  for (; log.free_segments() != 1; ++fit)
    ASSERT_TRUE(appender.append(bytes(record)));
  for (unsigned i = 0; i + 2 < fit; ++i)  // The one that took the second segment lies there.
    ASSERT_TRUE(appender.append(bytes(record)));
  ASSERT_EQ(log.free_segments(), 1u) << "the second segment is full, and no third one taken";
  ASSERT_TRUE(log.append(bytes(record)));
  ASSERT_TRUE(log.truncate({log.stable().value + 1}));
  auto reader = log.read();
  std::vector<std::uint64_t> appended;
  appended.push_back(appender.append(bytes(record)).value().value);
  EXPECT_EQ(log.free_segments(), 0u) << "it left the second segment, which the reader has to read";
  for (;;) {
    const auto lsn = log.append(bytes(record));
    if (!lsn) {
      ASSERT_EQ(lsn.code(), Errc::kNoSpace);
      break;
    }
    appended.push_back(lsn->value);
  }
  std::sort(appended.begin(), appended.end());
  EXPECT_FALSE(reader.next().value()) << "all that it was made for is gone";
  std::vector<std::uint64_t> given;
  while (reader.next().value())
    given.push_back(reader.lsn().value);
  EXPECT_EQ(given, appended);
  EXPECT_TRUE(log.append(bytes(record))) << "a reader that has looked again holds it no more";
}

TEST(LogOptions, RefusesWhatItCannotBeAndNamesTheField) {
  auto region = dram(256 * KiB);
  const auto refused = [&](LogOptions options, const std::string& says) {
    const auto log = Log::create(region, whole(region), options);
    ASSERT_FALSE(log) << says;
    EXPECT_EQ(log.code(), Errc::kInvalidOption);
    EXPECT_NE(log.error().detail.find(says), std::string::npos) << log.error().detail;
  };
  LogOptions good;
  good.segment_bytes = 64 * KiB;
  ASSERT_TRUE(Log::create(region, whole(region), good));
  const auto with = [&](auto change) {
    auto options = good;
    change(options);
    return options;
  };
  refused(with([](auto& o) { o.segment_bytes = 5000; }), "segment_bytes=5000");
  refused(with([](auto& o) { o.segment_bytes = 512 * MiB; }), "segment_bytes=");
  refused(with([](auto& o) { o.segment_bytes = 256 * KiB; }), "extent.size_bytes=");
  refused(with([](auto& o) { o.lanes = 0; }), "lanes=0");
  refused(with([](auto& o) { o.lanes = 65; }), "lanes=65");
  refused(with([](auto& o) { o.format = static_cast<LogFormat>(9); }), "format=9");
  refused(with([](auto& o) {
            o.format = baselines::kLineTags;
            o.padded = false;
          }),
          "padded=false");
}

// What lies at or above the limit is taken for nothing by the next opening.
TEST(Log, EveryLsnIsBelowTheLimitThatIsOnTheMedium) {
  for (const std::uint32_t lanes : {1, 3}) {
    auto region = dram(4 * KiB + 8 * 4 * KiB);
    auto log = Log::create(region, whole(region),
                           LogKind{LogFormat::kChecksum, false}.options(4 * KiB, lanes))
                   .value();
    const auto limit = [&] {
      return Persist::load(reinterpret_cast<const std::uint64_t*>(region.data() +
                                                                  log_detail::kStateOffset)) >>
             8;
    };
    const auto first = limit();
    std::uint64_t last = 0;
    while (last < 4 * first) {
      const auto lsn = log.append({});
      if (!lsn) {
        ASSERT_EQ(lsn.code(), Errc::kNoSpace);
        ASSERT_TRUE(log.truncate({log.stable().value + 1}));
        continue;
      }
      last = lsn->value;
      ASSERT_LT(last, limit());
    }
  }
}

TEST(Log, RefusesAGroupOfNoRecords) {
  auto region = dram(256 * KiB);
  auto log = Log::create(region, whole(region), LogKind{}.options()).value();
  const auto lsn = log.append(bytes("x")).value();
  EXPECT_EQ(log.append_many({}).code(), Errc::kInvalidOption);
  EXPECT_EQ(log.appender().value().append_many({}).code(), Errc::kInvalidOption);
  EXPECT_EQ(log.stable(), lsn);
}

TEST(Log, TruncatesOnlyWhatWasAppended) {
  auto region = dram(256 * KiB);
  auto log = Log::create(region, whole(region), LogKind{}.options()).value();
  const auto lsn = log.append(bytes("x")).value();
  EXPECT_EQ(log.stable(), lsn);
  EXPECT_EQ(log.truncate({lsn.value + 2}).code(), Errc::kInvalidOption);
  EXPECT_TRUE(log.truncate({lsn.value + 1}));
  EXPECT_TRUE(records(log).empty());
  EXPECT_TRUE(log.truncate({1}));  // Gone already.
  EXPECT_EQ(log.head().value, lsn.value + 1);
}

}  // namespace
}  // namespace holdfast::blocks
