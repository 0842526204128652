// One test per rule of StoreOptions::validate(): the error names the field, the value seen, what is
// allowed.
#include <limits>

#include "support.hpp"

namespace holdfast::kv {
namespace {

void expect_refused(const StoreOptions& options, std::string_view field, std::string_view seen,
                    std::string_view allowed) {
  const Status status = options.validate();
  ASSERT_EQ(status.code(), Errc::kInvalidOption) << field << "=" << seen;
  for (const std::string_view part : {field, seen, allowed})
    EXPECT_TRUE(mentions(status.error(), part)) << status.error().detail;
  // An open checks first and leaves nothing behind.
  const Scratch scratch = Scratch::tmpfs();
  EXPECT_EQ(Store<>::open(scratch.path("store"), options).code(), Errc::kInvalidOption);
  EXPECT_TRUE(scratch.empty());
}

TEST(Options, DefaultsAndSmallestAndLargestAreValid) {
  EXPECT_TRUE(StoreOptions{}.validate());
  EXPECT_TRUE(tiny().validate());
  StoreOptions options;
  options.block_bytes = 16 * MiB;
  options.segment_bytes = 1 * TiB;
  options.initial_bytes = 0;
  EXPECT_TRUE(options.validate());
}

TEST(Options, BlockBytesIsAPowerOfTwoInItsRange) {
  for (const std::uint32_t bytes : {0u, 4096u, 8191u, 12288u, 8193u, 33554432u}) {
    StoreOptions options;
    options.block_bytes = bytes;
    expect_refused(options, "block_bytes", std::to_string(bytes),
                   "power of two from 8 KiB to 16 MiB");
  }
}

TEST(Options, SegmentBytesIsAMultipleOfBlocks) {
  for (const std::uint64_t bytes : {0 * KiB, 512 * KiB, 2 * MiB + 4 * KiB, 2 * TiB}) {
    StoreOptions options;
    options.segment_bytes = bytes;
    expect_refused(options, "segment_bytes", std::to_string(bytes), "multiple of block_bytes");
  }
}

TEST(Options, InitialBytesIsAtMostMaxBytes) {
  StoreOptions options;
  options.max_bytes = 128 * MiB;
  options.initial_bytes = 128 * MiB + 1;
  expect_refused(options, "initial_bytes", "134217729", "at most max_bytes");
}

TEST(Options, MaxBytesHoldsASegmentAndIsWithinWhatLinesCanName) {
  StoreOptions options;
  options.initial_bytes = 0;
  options.max_bytes = 32 * MiB - 1;
  expect_refused(options, "max_bytes", "33554431", "at least segment_bytes");
  options.max_bytes = 16 * TiB + 1;
  expect_refused(options, "max_bytes", std::to_string(16 * TiB + 1), "at most 16 TiB");
}

TEST(Options, PatchableWordsAreAscendingMultiplesOfEight) {
  for (const auto& [words, seen] : {std::pair<std::vector<std::uint32_t>, const char*>{{4}, "4"},
                                    {{8, 8}, "8"},
                                    {{16, 8}, "8"},
                                    {{0, 9}, "9"}}) {
    expect_refused(with_words(words, StoreOptions{}), "patchable_words", seen,
                   "ascending multiples of 8");
  }
}

TEST(Options, PatchableWordsAreAtMostSixtyFour) {
  StoreOptions options;
  for (std::uint32_t i = 0; i < 64; ++i)
    options.patchable_words.push_back(i * 8);
  EXPECT_TRUE(options.validate());
  options.patchable_words.push_back(64 * 8);
  expect_refused(options, "patchable_words", "65 words", "at most 64");
}

TEST(Options, RecoveryThreadsAreBounded) {
  StoreOptions options;
  options.recovery_threads = 1025;
  expect_refused(options, "recovery_threads", "1025", "1024");
}

TEST(Options, SpaceAmplificationIsInItsRange) {
  for (const double value : {1.0, 1.04, 10.5, -1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    StoreOptions options;
    options.reclaim.space_amplification = value;
    expect_refused(options, "reclaim.space_amplification", std::to_string(value).substr(0, 3),
                   "1.05 to 10");
  }
}

TEST(Options, AccessAndDurabilityAreAmongTheirValues) {
  StoreOptions options;
  options.access = static_cast<RegionAccess>(9);
  expect_refused(options, "access", "9", "kOpenOrCreate");
  options = {};
  options.durability = static_cast<Durability>(7);
  expect_refused(options, "durability", "7", "kPower");
}

TEST(Options, DurabilityOfTheStoreThatItsMediumCannotGiveIsRefusedAtOpen) {
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions options = tiny();
  options.durability = Durability::kPower;
  const auto refused = Store<>::open(scratch.path("store"), options);
  ASSERT_EQ(refused.code(), Errc::kUnsupported);
  EXPECT_TRUE(mentions(refused.error(), "durability=power")) << refused.error().detail;
  // There is no store yet: one that asks for less is made in its place.
  EXPECT_TRUE(Store<>::open(scratch.path("store"), tiny()).value().recovery().created);
}

}  // namespace
}  // namespace holdfast::kv
