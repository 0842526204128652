#include <holdfast/bench/kv/workload.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include <holdfast/bench/value_kernels.hpp>

namespace holdfast::bench::kv {
namespace {

const std::vector<Shape> kShapes = {
    {16, 200, false}, {8, 8, false},   {8, 200, false}, {100, 900, false}, {9, 17, false},
    {16, 23, false},  {33, 64, false}, {8, 79, false},  {8, 81, false},    {16, 200, true}};

struct Made {
  explicit Made(const Records& records, std::uint64_t index, std::uint64_t version)
      : key_bytes(records.key_stride()), value_bytes(records.value_stride()) {
    key = records.key(index, key_bytes.data());
    value = records.value(key, version, value_bytes.data());
  }
  std::vector<std::byte> key_bytes, value_bytes;
  Key key;
  ValueView value;
};

TEST(Workload, AValueMadeForAKeyIsRightForIt) {
  for (const auto& shape : kShapes) {
    const Records records(shape);
    for (std::uint64_t index = 0; index < 300; ++index) {
      Made made(records, index, index % 7);
      EXPECT_EQ(made.key.size, records.key_bytes(made.key.word));
      EXPECT_EQ(made.value.size, records.value_bytes(made.key.word));
      EXPECT_EQ(records.difference(made.key, made.value.data, made.value.size, 7), 0u)
          << shape.key_bytes << "/" << shape.value_bytes;
      EXPECT_EQ(records.version_of(made.key, made.value.data), index % 7);
    }
  }
}

TEST(Workload, EveryBitOfAValueIsChecked) {
  for (const auto& shape : kShapes) {
    const Records records(shape);
    Made made(records, 12345, 3);
    for (std::uint32_t bit = 0; bit < made.value.size * 8; ++bit) {
      // The stamp may be that of another phase up to the newest; everything else is determined.
      if (bit < 24) continue;
      made.value_bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(records.difference(made.key, made.value.data, made.value.size, 3), 0u)
          << "bit " << bit << " of " << made.value.size << " bytes";
      made.value_bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_EQ(records.difference(made.key, made.value.data, made.value.size, 3), 0u);
  }
}

TEST(Workload, AValueOfAnotherKeyAnotherSizeOrTheFutureIsWrong) {
  const Records records({16, 200, false});
  Made one(records, 1, 3), other(records, 2, 3);
  EXPECT_NE(records.difference(one.key, other.value.data, 200, 3), 0u);
  EXPECT_NE(records.difference(one.key, one.value.data, 199, 3), 0u);
  EXPECT_NE(records.difference(one.key, one.value.data, kAbsent, 3), 0u);
  EXPECT_NE(records.difference(one.key, one.value.data, 200, 2), 0u);
}

TEST(Workload, UpdatingTheStampLeavesAValueRight) {
  const Records records({16, 200, false});
  Made made(records, 77, 3);
  std::uint64_t word;
  std::memcpy(&word, made.value_bytes.data(), 8);
  word = stamped(word, 9);
  std::memcpy(made.value_bytes.data(), &word, 8);
  EXPECT_EQ(records.difference(made.key, made.value.data, 200, 9), 0u);
  EXPECT_EQ(Records::stamp_of(made.value_bytes.data()), 9u);
  EXPECT_EQ(records.version_of(made.key, made.value_bytes.data()), 3u);
}

TEST(Workload, KeysOfDifferentRecordsDiffer) {
  for (const auto& shape : kShapes) {
    const Records records(shape);
    std::set<std::string> keys;
    for (std::uint64_t index = 0; index < 20'000; ++index) {
      Made made(records, index, 0);
      keys.emplace(made.key.view());
    }
    EXPECT_EQ(keys.size(), 20'000u);
  }
}

TEST(Workload, VariableSizesHaveTheMeanAndDeviationOfThePaper) {
  const Records records({16, 200, true});
  double sum = 0, squares = 0;
  constexpr int kRecords = 100'000;
  for (std::uint64_t index = 0; index < kRecords; ++index) {
    const double size = records.value_bytes(mix(index));
    sum += size;
    squares += size * size;
  }
  const auto mean = sum / kRecords;
  EXPECT_NEAR(mean, 200, 2);
  EXPECT_NEAR(std::sqrt(squares / kRecords - mean * mean), 40, 2);
}

TEST(Workload, KernelsOfAllWidthsAgree) {
  const auto& portable = *value_kernels("portable");
  for (const auto* name : {"avx2", "avx512"}) {
    const auto* kernels = value_kernels(name);
    if (kernels == nullptr) continue;  // This CPU lacks it.
    for (std::size_t words = 3; words < 70; ++words) {
      std::vector<std::uint64_t> a(words + 16, 1), b(words + 16, 1);
      portable.fill(a.data(), words, 42);
      kernels->fill(b.data(), words, 42);
      EXPECT_TRUE(std::equal(a.begin(), a.begin() + static_cast<long>(words), b.begin()))
          << name << " fill of " << words;
      EXPECT_EQ(portable.sum(a.data(), words), kernels->sum(a.data(), words)) << name;
      EXPECT_EQ(kernels->differs(a.data(), words, 42), 0u) << name;
      for (std::size_t j = 2; j < words; ++j) {
        a[j] ^= std::uint64_t{1} << (j % 64);
        EXPECT_NE(kernels->differs(a.data(), words, 42), 0u)
            << name << " word " << j << " of " << words;
        a[j] ^= std::uint64_t{1} << (j % 64);
      }
      for (std::size_t bytes = 0; bytes <= words * 8; ++bytes) {
        std::vector<std::uint64_t> to(words + 16, 7);
        kernels->copy(to.data(), a.data(), bytes);
        EXPECT_EQ(std::memcmp(to.data(), a.data(), bytes), 0) << name << " copy of " << bytes;
        EXPECT_EQ(reinterpret_cast<const unsigned char*>(to.data())[bytes], bytes % 8 == 0 ? 7 : 0)
            << name << " beyond " << bytes;
      }
    }
  }
}

TEST(Workload, APermutationSliceHasDistinctNumbersAndSlicesDoNotOverlap) {
  constexpr std::uint64_t kRecords = 10'007;
  auto all = permutation_slice(kRecords, 5, 0, 4'000);
  const auto rest = permutation_slice(kRecords, 5, 4'000, kRecords - 4'000);
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  all.insert(all.end(), rest.begin(), rest.end());
  std::sort(all.begin(), all.end());
  std::vector<std::uint32_t> expected(kRecords);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST(Workload, UniformChoiceCoversTheRecordsEvenly) {
  constexpr std::uint64_t kBuckets = 100, kDraws = 1'000'000;
  std::vector<std::uint64_t> counts(kBuckets);
  const auto choice = Choice::uniform(123, kBuckets * 1000);
  for (std::uint64_t i = 0; i < kDraws; ++i)
    ++counts[choice(i) / 1000];
  for (const auto count : counts)
    EXPECT_NEAR(static_cast<double>(count), 10'000, 600);  // Six standard deviations.
}

TEST(Workload, ZipfianRanksPreferTheFirst) {
  const auto ranks = zipf_list(1'000'000, 1, 100'000, false);
  const auto first = std::count(ranks.begin(), ranks.end(), 0u);
  EXPECT_NEAR(static_cast<double>(first) / 1e5, 0.065, 0.01);  // 1 / zeta(1e6, 0.99) = 1 / 15.4
  EXPECT_TRUE(std::all_of(ranks.begin(), ranks.end(), [](auto r) { return r < 1'000'000; }));
}

TEST(Workload, ShapesOutOfRangeAreRefused) {
  EXPECT_TRUE(Shape{}.validate());
  EXPECT_EQ((Shape{7, 200, false}.validate().code()), Errc::kInvalidOption);
  EXPECT_EQ((Shape{16, 7, false}.validate().code()), Errc::kInvalidOption);
  EXPECT_EQ((Shape{16, (1 << 20) + 1, false}.validate().code()), Errc::kInvalidOption);
}

}  // namespace
}  // namespace holdfast::bench::kv
