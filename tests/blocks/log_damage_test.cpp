// What a log says of media that are foreign, newer, damaged or read-only.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/blocks/log/space.hpp>

#include "../memory/scratch.hpp"
#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

constexpr std::uint64_t kSegment = 8 * KiB;

class DamagedLog : public testing::Test {
 protected:
  // Four segments, of which three hold records; the last one three of them.
  void SetUp() override {
    auto log = Log::create(region_, whole(region_), LogKind{}.options(kSegment)).value();
    while (log.free_segments() > 1 || last_.size() < 3) {
      last_.push_back(log.append(bytes(pattern(last_.size(), 200))).value());
      if (log.free_segments() == 2) last_.clear();
    }
  }
  Errc open() { return Log::open(region_, whole(region_)).code(); }
  std::string detail() { return Log::open(region_, whole(region_)).error().detail; }
  void flip(std::uint64_t at) { region_.data()[at] ^= std::byte{0x10}; }
  // A word of the state has 8 check bits, and the log's id is random: one flip in 256 fits.
  bool passes_by_chance(std::uint64_t at) const {
    if (at < log_detail::kStateOffset) return false;
    const auto which = (at - log_detail::kStateOffset) / 8;
    std::uint64_t id, word;
    std::memcpy(&id, region_.data() + offsetof(SuperblockHeader, id), sizeof id);
    std::memcpy(&word, region_.data() + log_detail::kStateOffset + which * 8, sizeof word);
    return log_detail::checked(word >> 8, id, static_cast<log_detail::StateWord>(which)) == word;
  }
  std::uint64_t segment(std::uint64_t i) const { return 4 * KiB + i * kSegment; }
  void set_limit(std::uint64_t limit) {
    SuperblockHeader header;
    std::memcpy(&header, region_.data(), sizeof header);
    const auto word = log_detail::checked(limit, header.id, log_detail::kLimit);
    std::memcpy(region_.data() + log_detail::kStateOffset, &word, sizeof word);
  }

  Region region_ = dram(4 * KiB + 4 * kSegment);
  std::vector<Lsn> last_;
};

TEST_F(DamagedLog, NamesForeignAndNewerMedia) {
  flip(0);
  EXPECT_EQ(open(), Errc::kNotHoldfast);
  flip(0);
  // As a newer build might write it, in a way that older ones cannot read, or can.
  SuperblockHeader header;
  std::memcpy(&header, region_.data(), sizeof header);
  const auto write = [&](auto change) {
    auto changed = header;
    change(changed);
    changed = sealed_header(changed, log_detail::kLogSuperblock,
                            {region_.data() + sizeof header, header.body_bytes});
    std::memcpy(region_.data(), &changed, sizeof changed);
  };
  write([](auto& changed) { changed.format_version = changed.oldest_reader = 4; });
  EXPECT_EQ(open(), Errc::kNewerFormat);
  EXPECT_NE(detail().find("version 4"), std::string::npos);
  write([](auto& changed) { changed.incompatible_features = 32; });
  EXPECT_EQ(open(), Errc::kNewerFormat);
  EXPECT_NE(detail().find("bit 5"), std::string::npos);
  write([](auto& changed) { changed.compatible_features = 32; });
  EXPECT_EQ(open(), Errc::kOk);
  std::memset(region_.data(), 0, region_.size_bytes());
  EXPECT_EQ(open(), Errc::kNotHoldfast);
}

TEST_F(DamagedLog, EveryBitOfHeaderAndStateIsChecked) {
  for (std::uint64_t at = 8; at < log_detail::kStateOffset + 16; ++at) {
    flip(at);
    if (!passes_by_chance(at)) {
      EXPECT_EQ(open(), Errc::kCorrupt) << "byte " << at;
    }
    flip(at);
  }
  EXPECT_TRUE(Log::open(region_, whole(region_)));
}

TEST_F(DamagedLog, ADamagedRecordWithLaterOnesBehindItIsNamed) {
  flip(segment(2) + 64 + 40);  // The first of three in the last segment.
  EXPECT_EQ(open(), Errc::kCorrupt);
  EXPECT_NE(detail().find("segment 2, offset 64"), std::string::npos) << detail();
}

TEST_F(DamagedLog, ADamagedRecordOfAnEarlierSegmentIsFoundWhenItIsRead) {
  flip(segment(0) + 64 + 40);
  auto log = Log::open(region_, whole(region_)).value();
  auto reader = log.read();
  const auto next = reader.next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.code(), Errc::kCorrupt);
  EXPECT_NE(next.error().detail.find("segment 0"), std::string::npos) << next.error().detail;
}

std::vector<std::string> all_but_damaged(const Log& log, unsigned& damaged) {
  std::vector<std::string> found;
  for (auto reader = log.read();;) {
    const auto more = reader.next();
    if (!more) {
      ++damaged;
      EXPECT_EQ(more.code(), Errc::kCorrupt);
      EXPECT_TRUE(reader.skip_damage());
      EXPECT_FALSE(reader.skip_damage());
    } else if (*more) {
      found.push_back(text(reader.record()));
    } else {
      return found;
    }
  }
}

TEST_F(DamagedLog, AReaderGoesPastDamageWhenItIsTold) {
  auto expected = records(Log::open(region_, whole(region_)).value());
  const auto first_of_second =
      expected.size() - last_.size() - (expected.size() - last_.size()) / 2;  // Two full segments.
  flip(segment(0) + 64 + 40);
  flip(segment(0) + 64 + 2 * 256 + 8);  // A length.
  flip(segment(1) + 64 + 40);
  unsigned damaged = 0;
  const auto found = all_but_damaged(Log::open(region_, whole(region_)).value(), damaged);
  EXPECT_EQ(damaged, 3u);
  expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(first_of_second));
  expected.erase(expected.begin() + 2);
  expected.erase(expected.begin());
  EXPECT_EQ(found, expected);
}

// For writing it is refused: nobody may append behind records that are lost.
TEST_F(DamagedLog, DamageInTheLastSegmentLeavesTheRestReadableInAReadOnlyRegion) {
  auto expected = records(Log::open(region_, whole(region_)).value());
  flip(segment(2) + 64 + 256 + 40);  // The second of three in the last segment.
  EXPECT_EQ(open(), Errc::kCorrupt);
  const auto scratch = Scratch::tmpfs();
  std::ofstream(scratch.path("log"), std::ios::binary)
      .write(reinterpret_cast<const char*>(region_.data()),
             static_cast<std::streamsize>(region_.size_bytes()));
  RegionOptions options;
  options.access = RegionAccess::kOpenReadOnly;
  options.layout = RegionLayout::kFile;
  options.size_bytes = options.unit_bytes = region_.size_bytes();
  auto copy = Region::open(scratch.path("log") + "?granularity=line", options).value();
  const auto log = Log::open(copy, whole(copy)).value();
  unsigned damaged = 0;
  expected.erase(expected.end() - 2);
  EXPECT_EQ(all_but_damaged(log, damaged), expected);
  EXPECT_EQ(damaged, 1u);
}

TEST_F(DamagedLog, ALostSegmentIsNotAShorterLog) {
  for (const auto lost : {0, 1, 2}) {
    std::vector<std::byte> saved(region_.data(), region_.data() + region_.size_bytes());
    std::memset(region_.data() + segment(lost), 0, 64);
    // Its successor, or a later group in it, proves that it was there.
    const auto code = open();
    if (code == Errc::kOk) {
      auto log = Log::open(region_, whole(region_)).value();
      EXPECT_FALSE(entries(log)) << "segment " << lost;
    } else {
      EXPECT_EQ(code, Errc::kCorrupt) << "segment " << lost;
    }
    std::memcpy(region_.data(), saved.data(), saved.size());
  }
}

// With the header all that lay in it is gone, also what would prove that there was one.
TEST_F(DamagedLog, ASegmentThatReadsAsZerosIsNotAShorterLog) {
  for (const auto lost : {0, 1}) {
    std::vector<std::byte> saved(region_.data(), region_.data() + region_.size_bytes());
    std::memset(region_.data() + segment(lost), 0, kSegment);
    auto log = Log::open(region_, whole(region_));
    EXPECT_EQ(log ? entries(*log).code() : log.code(), Errc::kCorrupt) << "segment " << lost;
    std::memcpy(region_.data(), saved.data(), saved.size());
  }
}

// The limit says which LSNs may have been used: at it and above lies nothing.
TEST_F(DamagedLog, ARecordOrASegmentAtTheLimitIsNotOne) {
  set_limit(last_[2].value);
  Entries found;
  for (int opening = 0; opening < 2; ++opening) {  // The first one raises the limit.
    found = entries(Log::open(region_, whole(region_)).value()).value();
    EXPECT_EQ(found.back().first, last_[1].value);
  }
  set_limit(last_[0].value);  // The last segment's base.
  {
    auto log = Log::open(region_, whole(region_)).value();
    EXPECT_EQ(log.free_segments(), 2u);
    found = entries(log).value();
  }
  EXPECT_LT(found.back().first, last_[0].value);
}

// As a medium might answer that serves one line for another.
TEST_F(DamagedLog, ARecordThatLiesThereTwiceIsThereOnce) {
  const auto before = records(Log::open(region_, whole(region_)).value());
  constexpr std::uint64_t kFrame = 256;  // 24 + 200 bytes, padded.
  const auto last = segment(2) + 64 + 2 * kFrame;
  std::memcpy(region_.data() + last + kFrame, region_.data() + last, kFrame);
  EXPECT_EQ(records(Log::open(region_, whole(region_)).value()), before);
}

// Each group says that all before it was durable, however its bytes went to the medium.
TEST(DamagedLogAnyWay, ARecordThatIsLostBeforeAWholeOneIsNotTheEnd) {
  for (const std::string streams : {"on", "off"}) {
    for (const bool padded : {true, false}) {
      auto region = dram(4 * KiB + 3 * kSegment, streams);
      {
        auto log = Log::create(region, whole(region),
                               LogKind{LogFormat::kChecksum, padded}.options(kSegment))
                       .value();
        for (std::uint64_t i = 0; i < 5; ++i)
          log.append(bytes(pattern(i, 200))).value();
      }
      const auto frame = padded ? 256 : 224;
      std::memset(region.data() + 4 * KiB + 64 + 2 * frame, 0, static_cast<std::size_t>(frame));
      const auto log = Log::open(region, whole(region));
      ASSERT_FALSE(log) << streams << padded;
      EXPECT_EQ(log.code(), Errc::kCorrupt);
    }
  }
}

TEST_F(DamagedLog, AnExtentThatIsTooSmallIsNamed) {
  const auto log = Log::open(region_, {0, 4 * KiB + 2 * kSegment});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.code(), Errc::kCorrupt);
  EXPECT_NE(log.error().detail.find("do not fit"), std::string::npos);
}

// A limit that only 228 years of appends, or damage that has the right check bits, lead to.
TEST_F(DamagedLog, WithoutLsnsLeftItIsReadAndRefusesAppends) {
  const auto before = records(Log::open(region_, whole(region_)).value());
  set_limit(log_detail::kLsnMax - 1);
  for (int i = 0; i < 2; ++i) {
    auto log = Log::open(region_, whole(region_)).value();
    EXPECT_EQ(records(log), before);
    const auto refused = log.append(bytes("one more"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.code(), Errc::kNoSpace);
    EXPECT_NE(refused.error().detail.find("LSNs are used up"), std::string::npos);
  }
  {
    auto log = Log::open(region_, whole(region_)).value();
    ASSERT_TRUE(log.truncate({log.stable().value + 1}));
  }
  EXPECT_TRUE(records(Log::open(region_, whole(region_)).value()).empty());
}

// Nothing that lies on the medium stops the process, and what is found can be read and appended to.
TEST_F(DamagedLog, AnyBytesAreRefusedOrWork) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    for (const auto& kind : all_kinds()) {
      auto region = dram(4 * KiB + 3 * kSegment);
      {
        auto log = Log::create(region, whole(region), kind.options(kSegment)).value();
        for (int i = 0; i < 30; ++i)
          (void)log.append(bytes(pattern(i, random.below(300)))).has_value();
      }
      for (auto n = 1 + random.below(8); n > 0; --n) {
        const auto at = random.below(region.size_bytes() - 8);
        const auto bytes = random.next();
        std::memcpy(region.data() + at, &bytes, 1 + random.below(8));
      }
      auto log = Log::open(region, whole(region));
      if (!log) continue;
      (void)entries(*log).has_value();
      (void)log->append(bytes("x")).has_value();
    }
  }
}

}  // namespace
}  // namespace holdfast::blocks
