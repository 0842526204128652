// What a Dash index says about media that are foreign or damaged: a named error, never a crash.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/memory/sealed_word.hpp>

#include "dash_support.hpp"

namespace holdfast::index {
namespace {

using namespace dash_detail;

class DashDamage : public testing::Test {
 protected:
  DashDamage() : region_(make()) {
    DashOptions options;
    options.buckets = 4, options.stash_buckets = 1, options.segments = 40, options.max_depth = 7;
    auto dash = Dash::create(region_, blocks::whole(region_), options).value();
    while (dash->segments() < 12) {
      ++keys_;
      dash->insert(keys_, keys_).value();
    }
    shape_ = {4, 1, 40, 7};
  }
  static Region make() {
    RegionOptions size;
    size.size_bytes = size.unit_bytes = 128 * KiB;
    return Region::open("dram", size).value();
  }
  std::uint64_t& word(std::uint64_t offset) {
    return *reinterpret_cast<std::uint64_t*>(region_.data() + offset);
  }
  Result<std::unique_ptr<Dash>> open() { return Dash::open(region_, blocks::whole(region_)); }
  // The error of the opening.
  void expect_refused(Errc code, const std::string& detail) {
    const auto dash = open();
    ASSERT_EQ(dash.code(), code);
    EXPECT_NE(dash.error().detail.find(detail), std::string::npos) << dash.error().detail;
  }
  // The errors of looking at all keys.
  std::vector<Error> errors_of_finds() {
    const auto dash = open().value();
    std::vector<Error> errors;
    for (std::uint64_t key = 1; key <= keys_; ++key) {
      const auto found = dash->find(key);
      if (!found)
        errors.push_back(found.error());
      else
        EXPECT_EQ(*found, key);
    }
    return errors;
  }

  Region region_;
  std::uint64_t keys_ = 0;
  DashShape shape_;
};

TEST_F(DashDamage, NothingAndSomethingElseAreNoIndex) {
  word(0) = 0;
  expect_refused(Errc::kNotHoldfast, "there is none here");
  word(0) = magic_of("HLDPAGE2");
  expect_refused(Errc::kNotHoldfast, "something else");
}

TEST_F(DashDamage, ANewerVersionAndAnUnknownFeatureAreRefusedByName) {
  SuperblockHeader header;
  std::memcpy(&header, region_.data(), sizeof header);
  const auto body = std::span(region_.data() + sizeof header, sizeof(DashShape));
  const auto write = [&](const SuperblockHeader& changed) {
    const auto sealed = sealed_header(changed, kDashFormat, body);
    std::memcpy(region_.data(), &sealed, sizeof sealed);
  };
  auto newer = header;
  newer.format_version = newer.oldest_reader = 2;
  write(newer);
  expect_refused(Errc::kNewerFormat, "format version 2");
  auto feature = header;
  feature.incompatible_features = 1;
  write(feature);
  expect_refused(Errc::kNewerFormat, "bit 0");
}

TEST_F(DashDamage, EveryByteOfTheSuperblockIsChecked) {
  for (std::uint64_t at = 8; at < 64 + sizeof(DashShape); ++at) {
    region_.data()[at] ^= std::byte{0x10};
    ASSERT_EQ(open().code(), Errc::kCorrupt) << "byte " << at;
    region_.data()[at] ^= std::byte{0x10};
  }
  EXPECT_TRUE(open().has_value());
}

TEST_F(DashDamage, AShapeThatNoBuildWritesIsRefused) {
  SuperblockHeader header;
  std::memcpy(&header, region_.data(), sizeof header);
  const auto write = [&](const DashShape& shape) {
    const auto body = std::as_bytes(std::span(&shape, 1));
    const auto sealed = sealed_header(header, kDashFormat, body);
    std::memcpy(region_.data(), &sealed, sizeof sealed);
    std::memcpy(region_.data() + sizeof sealed, &shape, sizeof shape);
  };
  for (const auto& bad : {DashShape{0, 1, 40, 7}, DashShape{4, ~0u, 40, 7}, DashShape{4, 1, 0, 7},
                          DashShape{4, 1, 40, 29}, DashShape{~0u, 1, 40, 7}}) {
    write(bad);
    expect_refused(Errc::kCorrupt, "a shape that no build writes");
  }
  write({4, 1, 4'000, 7});
  expect_refused(Errc::kCorrupt, "too short");
}

TEST_F(DashDamage, TheDepthAndTheSplitWordAreChecked) {
  for (const auto& [at, detail] :
       {std::pair{kDepthAt, "depth of its directory"}, std::pair{kSplitAt, "last split"}}) {
    for (unsigned bit = 0; bit < 64; ++bit) {
      word(at) ^= std::uint64_t{1} << bit;
      expect_refused(Errc::kCorrupt, detail);
      word(at) ^= std::uint64_t{1} << bit;
    }
  }
}

TEST_F(DashDamage, ADamagedPlaceOfTheDirectoryFailsItsKeysAndNoOthers) {
  word(kDirectoryAt + 8 * 3) ^= 1;
  const auto errors = errors_of_finds();
  ASSERT_FALSE(errors.empty());
  EXPECT_LT(errors.size(), keys_ / 2);
  for (const auto& error : errors) {
    EXPECT_EQ(error.code, Errc::kCorrupt);
    EXPECT_NE(error.detail.find("place 3 of its directory"), std::string::npos) << error.detail;
  }
  const auto dash = open().value();
  EXPECT_EQ(dash->for_each([](std::uint64_t, std::uint64_t) {}).code(), Errc::kCorrupt);
}

TEST_F(DashDamage, APlaceThatNamesNoSegmentIsRefused) {
  const auto context = entry_context(id_of(region_), 3);
  word(kDirectoryAt + 8 * 3) = seal_word<SealedWord>(shape_.segments, context);
  const auto errors = errors_of_finds();
  ASSERT_FALSE(errors.empty());
  for (const auto& error : errors)
    EXPECT_NE(error.detail.find("place 3 of its directory"), std::string::npos) << error.detail;
}

TEST_F(DashDamage, ASegmentThatIsDeeperThanTheDirectoryIsRefused) {
  const auto split = SplitWord::of(SealedWord::value(word(kSplitAt)));
  const std::uint32_t number = split.from == 2 ? 3 : 2;
  auto* const bucket = reinterpret_cast<Bucket*>(region_.data() + shape_.segment_at(number));
  bucket->lines[1].extra =
      seal_word<SealedWord>(SegmentKeys{0, 7}.word(), segment_context(id_of(region_), number));
  for (const auto& error : errors_of_finds())
    EXPECT_NE(error.detail.find("segment " + std::to_string(number) + " are damaged"),
              std::string::npos)
        << error.detail;
}

TEST_F(DashDamage, ASegmentWhoseKeysAreDamagedIsRefusedByNameAndOthersAreNot) {
  // An opening looks at the segments of the last split: one that is not of it.
  const auto split = SplitWord::of(SealedWord::value(word(kSplitAt)));
  const std::uint32_t number = split.from == 2 ? 3 : 2;
  const auto name = "segment " + std::to_string(number);
  auto* const bucket = reinterpret_cast<Bucket*>(region_.data() + shape_.segment_at(number));
  const auto damaged = [&](std::uint64_t& at, std::uint64_t flip, const std::string& detail) {
    at ^= flip;
    const auto errors = errors_of_finds();
    EXPECT_FALSE(errors.empty());
    EXPECT_LT(errors.size(), keys_ / 2);
    for (const auto& error : errors) {
      EXPECT_EQ(error.code, Errc::kCorrupt);
      EXPECT_NE(error.detail.find(detail), std::string::npos) << error.detail;
    }
    at ^= flip;
  };
  unsigned line = 0;
  while ((bucket->lines[line].meta >> 48 & 1) == 0)
    ++line;
  damaged(bucket->lines[line].records[0].key, 1, name + ": bucket 0 has a key of another");
  const auto key = bucket->lines[line].records[0].key, id = id_of(region_);
  const auto elsewhere = key_of_hash(hash_of_key(key, id) ^ std::uint64_t{1} << 63, id);
  damaged(bucket->lines[line].records[0].key, key ^ elsewhere,
          name + ": bucket 0 has a key of another bucket");
  const auto other_segment = key_of_hash(hash_of_key(key, id) ^ 1, id);
  damaged(bucket->lines[line].records[0].key, key ^ other_segment,
          name + ": bucket 0 has a key of another segment");
  damaged(bucket->lines[line].meta, 4, name + ": bucket 0 has a key of another bucket");
  damaged(bucket->lines[line].meta, std::uint64_t{1} << 60, name + ": bucket 0 has a line");
  damaged(bucket->lines[1].extra, 1, name + " are damaged");
}

// Whatever a file contains: an error or an answer.
TEST_F(DashDamage, RandomDamageNeverCrashes) {
  std::vector<std::byte> good(region_.data(), region_.data() + region_.size_bytes());
  std::mt19937_64 random(1);
  for (unsigned round = 0; round < 3'000; ++round) {
    std::memcpy(region_.data(), good.data(), good.size());
    for (unsigned i = 0; i <= round % 8; ++i) {
      const auto at = 4096 + random() % (shape_.segment_at(12) - 4096);
      region_.data()[at] = static_cast<std::byte>(random());
    }
    auto dash = open();
    if (!dash) continue;
    for (std::uint64_t key = 1; key <= keys_; ++key) {
      (void)(*dash)->find(key);
      if (key % 7 == 0) (void)(*dash)->erase(key);
      if (key % 5 == 0) (void)(*dash)->insert(key + keys_, key);
    }
    (void)(*dash)->for_each([](std::uint64_t, std::uint64_t) {});
  }
}

}  // namespace
}  // namespace holdfast::index
