// What a log says of media that are foreign, newer, damaged or read-only.
#include <gtest/gtest.h>

#include <cstring>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/blocks/log/space.hpp>

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
    std::memcpy(&id, region_.data() + offsetof(log_detail::LogHeader, log_id), sizeof id);
    std::memcpy(&word, region_.data() + log_detail::kStateOffset + which * 8, sizeof word);
    return log_detail::checked(word >> 8, id, static_cast<log_detail::StateWord>(which)) == word;
  }
  std::uint64_t segment(std::uint64_t i) const { return 4 * KiB + i * kSegment; }

  Region region_ = dram(4 * KiB + 4 * kSegment);
  std::vector<Lsn> last_;
};

TEST_F(DamagedLog, NamesForeignAndNewerMedia) {
  flip(0);
  EXPECT_EQ(open(), Errc::kNotHoldfast);
  flip(0);
  region_.data()[8] = std::byte{3};  // The version.
  EXPECT_EQ(open(), Errc::kNewerFormat);
  EXPECT_NE(detail().find("format 3"), std::string::npos);
  region_.data()[8] = std::byte{1};
  EXPECT_EQ(open(), Errc::kUnsupported);
  EXPECT_NE(detail().find("format 1"), std::string::npos);
  std::memset(region_.data(), 0, region_.size_bytes());
  EXPECT_EQ(open(), Errc::kNotHoldfast);
}

TEST_F(DamagedLog, EveryBitOfHeaderAndStateIsChecked) {
  for (std::uint64_t at = 8; at < 64 + 16; ++at) {
    if (at >= 8 && at < 12) continue;  // The version: kNewerFormat, above.
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

TEST_F(DamagedLog, AnExtentThatIsTooSmallIsNamed) {
  const auto log = Log::open(region_, {0, 4 * KiB + 2 * kSegment});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.code(), Errc::kCorrupt);
  EXPECT_NE(log.error().detail.find("do not fit"), std::string::npos);
}

// A limit that only 228 years of appends, or damage that has the right check bits, lead to.
TEST_F(DamagedLog, WithoutLsnsLeftItIsReadAndRefusesAppends) {
  const auto before = records(Log::open(region_, whole(region_)).value());
  log_detail::LogHeader header;
  std::memcpy(&header, region_.data(), sizeof header);
  const auto word = log_detail::checked(log_detail::kLsnMax - 1, header.log_id, log_detail::kLimit);
  std::memcpy(region_.data() + log_detail::kStateOffset, &word, sizeof word);
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
