// Every kernel stores the record that the format describes, with its sum, and nothing else.
#include <holdfast/kv/record_kernel.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <string>

#include <holdfast/base/random.hpp>
#include <holdfast/memory/cpu.hpp>

#include "record_support.hpp"

namespace holdfast::kv {
namespace {

constexpr std::uint64_t kSeed = 0x123456789abcdef0;
using Offsets = std::vector<std::uint32_t>;

std::vector<RecordIsa> isas() {
  std::vector<RecordIsa> all;
  for (const auto isa : {RecordIsa::kPortable, RecordIsa::kAvx2, RecordIsa::kAvx512}) {
    if (isa <= record_isa()) all.push_back(isa);
  }
  return all;
}

const std::array<Persist, 4> kPersists = {Persist::none(), Persist::byte(),
                                          Persist(cpu().write_back, false),
                                          Persist(cpu().write_back, true)};

// 64 words at every second place; beyond 64 words; both.
Offsets every_second() {
  Offsets offsets;
  for (std::uint32_t i = 0; i < 64; ++i)
    offsets.push_back(i * 16);
  return offsets;
}
const std::vector<Offsets> kSets = {
    {}, {0}, {8, 24}, {0, 8, 16, 24, 32, 40, 48, 56}, {504, 512}, {0, 256, 560}, every_second()};

// Memory with lines before and behind the record that must stay as they are.
class Medium {
 public:
  explicit Medium(std::size_t bytes) : lines_(std::make_unique<Line[]>(bytes / 64 + 4)) {}
  std::byte* at() { return lines_[2].bytes; }
  void clear(std::size_t bytes) { std::memset(lines_.get(), 0xcd, bytes + 4 * 64); }
  bool is_clear_around(std::size_t bytes) const {
    const auto* const begin = lines_[0].bytes;
    for (std::size_t i = 0; i < 128; ++i) {
      if (begin[i] != std::byte{0xcd} || begin[128 + bytes + i] != std::byte{0xcd}) return false;
    }
    return true;
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::unique_ptr<Line[]> lines_;
};

void expect_model(Medium& medium, const TestRecord& record, const Offsets& offsets,
                  const PatchableWords& words, RecordIsa isa, const Persist& persist) {
  const auto expected = model_record(record, kSeed, offsets);
  medium.clear(expected.size());
  const RecordSums sums =
      compose_record_by(isa, persist, medium.at(), record.parts(), kSeed, words);
  const std::string what = "isa " + std::to_string(static_cast<int>(isa)) + ", key " +
                           std::to_string(record.key.size()) + ", value " +
                           std::to_string(record.value.size()) + ", " +
                           std::to_string(offsets.size()) + " words";
  ASSERT_EQ(std::memcmp(medium.at(), expected.data(), expected.size()), 0) << what;
  ASSERT_TRUE(medium.is_clear_around(expected.size())) << what;
  ASSERT_EQ(sums.whole, word_of(expected, 0)) << what;
  ASSERT_EQ(sums.fixed, word_of(expected, offsets.empty() ? 0 : 32)) << what;
  for (const RecordIsa other : isas()) {
    ASSERT_EQ(record_sum_by(other, medium.at(), expected.size(), kSeed, words), sums) << what;
  }
}

class RecordKernel : public testing::TestWithParam<RecordIsa> {
 protected:
  void SetUp() override {
    if (GetParam() > record_isa()) GTEST_SKIP() << "this CPU has no such instructions";
  }
};

TEST_P(RecordKernel, StoresWhatTheFormatSaysForAllSmallSizes) {
  Medium medium(1024);
  const auto keys = pattern(130, 7);
  const auto values = pattern(600, 11);
  // All pairs would be 80,000 for each of the sets: every size of each meets many of the other.
  for (std::size_t set = 0; set < kSets.size(); ++set) {
    const PatchableWords words(kSets[set]);
    for (std::size_t key = 0; key <= keys.size(); ++key) {
      for (std::size_t value = (key + set) % 7; value <= values.size(); value += 7) {
        TestRecord record;
        record.key.assign(keys.begin(), keys.begin() + key);
        record.value.assign(values.begin(), values.begin() + value);
        record.flags = (key + value) % 5 == 0;
        record.expiry = value * 1'000'000'007;
        record.keyspace = key;
        expect_model(medium, record, kSets[set], words, GetParam(),
                     kPersists[(key + value) % kPersists.size()]);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(RecordKernel, StoresWhatTheFormatSaysOnEveryMediumForTheUsualSizes) {
  Medium medium(1024);
  for (const auto& offsets : kSets) {
    for (const Persist& persist : kPersists) {
      for (const std::size_t key : {0, 8, 15, 16, 17, 20, 24, 25, 32, 40}) {
        for (const std::size_t value : {0, 1, 7, 8, 9, 15, 16, 17, 64, 100, 199, 200, 201, 512}) {
          for (const std::uint64_t flags : {0, 1, 2, 255}) {
            TestRecord record{pattern(key, 13), pattern(value, 5)};
            record.flags = flags;
            record.keyspace = 65535;
            record.expiry = ~std::uint64_t{0};
            expect_model(medium, record, offsets, PatchableWords(offsets), GetParam(), persist);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(RecordKernel, StoresLargeRecords) {
  Medium medium(200 * KiB);
  Random random(3);
  for (int i = 0; i < 60; ++i) {
    TestRecord record{pattern(random.below(i % 3 == 0 ? 66'000 : 300), 13),
                      pattern(random.below(100'000), 5)};
    record.sequence = random.next();
    record.ordinal = static_cast<std::uint32_t>(random.next());
    record.kind = random.below(256);
    record.flags = random.below(256);
    const auto& offsets = kSets[random.below(kSets.size())];
    expect_model(medium, record, offsets, PatchableWords(offsets), GetParam(),
                 kPersists[random.below(kPersists.size())]);
    if (HasFatalFailure()) return;
  }
}

// Key and value each at the beginning and the end of a page between two that cannot be read.
TEST_P(RecordKernel, ReadsNothingBesideKeyAndValue) {
  std::array<std::byte*, 2> pages;
  for (auto& page : pages) {
    auto* const mapped = static_cast<std::byte*>(
        mmap(nullptr, 3 * kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(mapped, MAP_FAILED);
    page = mapped + kPageBytes;
    ASSERT_EQ(mprotect(page, kPageBytes, PROT_READ | PROT_WRITE), 0);
    std::memset(page, 0x42, kPageBytes);
  }
  Medium medium(2048);
  for (const auto& offsets : kSets) {
    const PatchableWords words(offsets);
    for (std::size_t key = 0; key <= 130; key += key < 34 ? 1 : 7) {
      for (std::size_t value = 0; value <= 600; value += value < 72 ? 1 : 17) {
        const TestRecord record{std::vector(key, std::byte{0x42}),
                                std::vector(value, std::byte{0x42})};
        for (const bool at_end : {false, true}) {
          RecordParts parts = record.parts();
          parts.key = pages[0] + (at_end ? kPageBytes - key : 0);
          parts.value = pages[1] + (at_end ? kPageBytes - value : 0);
          const RecordSums there =
              compose_record_by(GetParam(), Persist::none(), medium.at(), parts, kSeed, words);
          ASSERT_EQ(there, compose_record_by(GetParam(), Persist::none(), medium.at(),
                                             record.parts(), kSeed, words));
        }
      }
    }
  }
  for (auto* page : pages)
    munmap(page - kPageBytes, 3 * kPageBytes);
}

TEST_P(RecordKernel, CountsTheLinesThatItWritesBack) {
  Medium medium(1024);
  const TestRecord record{pattern(16, 7), pattern(200, 11)};
  for (const Persist& persist : kPersists) {
    const auto before = persist_counts();
    compose_record_by(GetParam(), persist, medium.at(), record.parts(), kSeed, {});
    const bool writes_back = persist.line_way() != LineWay::kStore;
    EXPECT_EQ(persist_counts().lines_written_back - before.lines_written_back,
              writes_back ? 4u : 0u);
    EXPECT_EQ(persist_counts().fences, before.fences);
  }
}

std::string isa_name(const testing::TestParamInfo<RecordIsa>& info) {
  return info.param == RecordIsa::kAvx512 ? "Avx512"
         : info.param == RecordIsa::kAvx2 ? "Avx2"
                                          : "Portable";
}
INSTANTIATE_TEST_SUITE_P(Isas, RecordKernel,
                         testing::Values(RecordIsa::kPortable, RecordIsa::kAvx2,
                                         RecordIsa::kAvx512),
                         isa_name);

}  // namespace
}  // namespace holdfast::kv
