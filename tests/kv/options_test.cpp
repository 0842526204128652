// One test per rule of StoreOptions::validate(): the error names the field, the value seen, what is
// allowed.
#include <limits>

#include <holdfast/base/random.hpp>

#include "for_tests.hpp"
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
  expect_refused(options, "initial_bytes", "134217729", "max_bytes=134217728");
}

// It asked for an initial_bytes that would not have counted.
TEST(Options, MaxBytesOfAStoreThatIsThereMayBeBelowWhatANewOneTakes) {
  const Scratch scratch = Scratch::tmpfs();
  const std::string spec = scratch.path("store");
  ASSERT_TRUE(Store<>::open(spec, tiny()).value().put("key", "value"));
  StoreOptions options;
  options.max_bytes = 1 * MiB;
  options.background = false;
  for (const auto access : {RegionAccess::kOpenReadOnly, RegionAccess::kOpen}) {
    options.access = access;
    auto store = Store<>::open(spec, options);
    ASSERT_TRUE(store) << store.error().message();
    EXPECT_EQ(get(*store, "key"), "value");
    if (access == RegionAccess::kOpenReadOnly) continue;
    Result<PutOutcome> put = PutOutcome::kInserted;
    for (int i = 0; put && i < 100; ++i)
      put = store->put(std::to_string(i), text_of(static_cast<std::uint64_t>(i), 20'000));
    EXPECT_EQ(put.code(), Errc::kNoSpace);
    EXPECT_TRUE(mentions(put.error(), "max_bytes=1048576")) << put.error().message();
    EXPECT_EQ(store->stats().medium_bytes, options.max_bytes);
  }
  options.max_bytes = 4095;
  expect_refused(options, "max_bytes", "4095", "at least 4096");
}

// Free blocks beyond it were written to, and the error named the medium's size as max_bytes.
TEST(Options, ASmallerMaxBytesThanTheMediumHoldsForItsFreeBlocks) {
  const Scratch scratch = Scratch::tmpfs();
  const std::string spec = scratch.path("store");
  const auto number = [](int i) { return std::to_string(i); };
  const std::string value(1'000, 'v');
  {
    auto store = Store<>::open(spec, tiny()).value();
    for (int i = 0; i < 4'000; ++i)
      ASSERT_TRUE(store.put(number(i), value));
    for (int i = 0; i < 4'000; ++i) {
      if (i % 10 == 0) continue;
      ASSERT_TRUE(store.erase(number(i)));
    }
    ForTests::abandon(store);
  }
  StoreOptions options = tiny();
  options.max_bytes = 1 * MiB;
  auto store = Store<>::open(spec, options).value();
  EXPECT_GT(store.stats().medium_bytes, 4 * MiB);
  const auto fill = [&] {
    for (int i = 10'000;; ++i) {
      const auto put = store.put(number(i), value);
      if (put) continue;
      EXPECT_EQ(put.code(), Errc::kNoSpace);
      EXPECT_TRUE(mentions(put.error(), "max_bytes=1048576")) << put.error().message();
      EXPECT_LE(store.stats().used_bytes, options.max_bytes);
      return i - 10'000;
    }
  };
  const int first = fill();
  EXPECT_GT(first, 300);
  for (int i = 0; i < 4'000; i += 10)
    ASSERT_TRUE(store.erase(number(i)).value());
  EXPECT_GT(fill(), first + 250);
  EXPECT_TRUE(store.verify().ok());
}

TEST(Options, MaxBytesHoldsASegmentAndIsWithinWhatLinesCanName) {
  StoreOptions options;
  options.initial_bytes = 0;
  options.max_bytes = options.segment_bytes - 1;
  expect_refused(options, "max_bytes", std::to_string(options.max_bytes), "at least segment_bytes");
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

// Whatever the options are: either validate() names one of them, or a store can be made, used and
// opened again with them, or the open says what the medium cannot give.
TEST(Options, AnyThatAreValidMakeAStore) {
  const Scratch scratch = Scratch::tmpfs();
  int valid = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const auto one_of = [&](std::initializer_list<std::uint64_t> values) {
      return values.begin()[random.below(values.size())];
    };
    StoreOptions options;
    options.block_bytes = static_cast<std::uint32_t>(
        one_of({0, 4 * KiB, 8 * KiB, 8 * KiB + 64, 16 * KiB, 64 * KiB, 256 * KiB, ~0u}));
    options.segment_bytes =
        options.block_bytes * one_of({0, 7, 8, 9, 13, 64}) + one_of({0, 0, 0, 1});
    options.initial_bytes = one_of({0, 1, options.segment_bytes, options.segment_bytes + 1,
                                    3 * options.segment_bytes - 1, ~0ull});
    options.max_bytes = one_of({0, options.segment_bytes, options.segment_bytes + 1, 64 * MiB,
                                16 * TiB, 16 * TiB + 1, ~0ull});
    options.patchable_words.assign(random.below(4), 0);
    for (std::uint32_t i = 0; i < options.patchable_words.size(); ++i)
      options.patchable_words[i] = i * 8 + static_cast<std::uint32_t>(one_of({0, 0, 0, 4}));
    options.durability = static_cast<Durability>(one_of({0, 0, 1, 2, 3}));
    options.sync_interval_ms = static_cast<std::uint32_t>(one_of({0, 1, 100, ~0u}));
    options.recovery_threads = static_cast<unsigned>(one_of({0, 1, 3, 1025}));
    options.background = random.below(2) == 0;
    options.prefault = random.below(2) == 0;
    options.verify_reads = random.below(2) == 0;
    options.reclaim.background = random.below(2) == 0;
    options.reclaim.space_amplification = random.below(8) == 0 ? 0 : 1.25;
    options.reclaim.bytes_per_second = one_of({0, 1 * GiB, ~0ull});
    const std::string spec =
        scratch.path("store") + (random.below(2) == 0 ? "?granularity=line" : "");
    if (!options.validate()) {
      EXPECT_EQ(Store<>::open(spec, options).code(), Errc::kInvalidOption) << "seed " << seed;
      EXPECT_TRUE(scratch.empty()) << "seed " << seed;
      continue;
    }
    auto store = Store<>::open(spec, options);
    if (!store && store.code() == Errc::kUnsupported) {  // kPower on tmpfs.
      std::filesystem::remove_all(scratch.path("store"));
      continue;
    }
    ASSERT_TRUE(store) << "seed " << seed << ": " << store.error().message();
    ++valid;
    for (int i = 0; i < 50; ++i) {
      const auto put = store->put("key" + std::to_string(i), text_of(i, 100));
      ASSERT_TRUE(put) << "seed " << seed << ": " << put.error().message();
    }
    EXPECT_LE(store->stats().medium_bytes, options.max_bytes) << "seed " << seed;
    ASSERT_TRUE(store->close()) << "seed " << seed;
    store = Store<>::open(spec, options);
    ASSERT_TRUE(store) << "seed " << seed << ": " << store.error().message();
    EXPECT_EQ(store->count(), 50u) << "seed " << seed;
    EXPECT_TRUE(store->verify().ok()) << "seed " << seed;
    ASSERT_TRUE(store->close());
    std::filesystem::remove_all(scratch.path("store"));
  }
  EXPECT_GT(valid, 10);
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
