// The copy kernels of every width this CPU has: right bytes, nothing beside them, no torn word.
#include <holdfast/memory/copy.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast {
namespace {

class CopyKernelsOf : public testing::TestWithParam<VectorWidth> {
 protected:
  void SetUp() override {
    if (GetParam() > cpu().vectors) GTEST_SKIP() << "this CPU has no " << name(GetParam());
    kernel = memory_detail::kernels(GetParam());
  }
  memory_detail::CopyKernels kernel{};
};

TEST_P(CopyKernelsOf, CopyExactlyTheRangeAtEveryAlignmentAndLength) {
  std::vector<std::byte> from(1024);
  Random random(1);
  for (auto& byte : from)
    byte = static_cast<std::byte>(random.next());
  alignas(64) static std::byte to[1024];
  for (std::size_t at = 64; at < 64 + 65; ++at) {
    for (std::size_t source = 0; source < 9; ++source) {
      for (std::size_t bytes = 0; bytes <= 300; bytes += bytes < 140 ? 1 : 13) {
        std::memset(to, 0xcd, sizeof to);
        kernel.copy(to + at, from.data() + source, bytes);
        ASSERT_EQ(std::memcmp(to + at, from.data() + source, bytes), 0)
            << at << " " << source << " " << bytes;
        for (std::size_t i = 0; i < at; ++i)
          ASSERT_EQ(to[i], std::byte{0xcd}) << at << " " << bytes;
        for (std::size_t i = at + bytes; i < sizeof to; ++i) {
          ASSERT_EQ(to[i], std::byte{0xcd}) << at << " " << bytes << " " << i;
        }
      }
    }
  }
}

// Between two pages that must not be touched, neither by loads nor by stores.
TEST_P(CopyKernelsOf, CopyNeverTouchesAPageBesideTheRange) {
  const auto page = kPageBytes;
  auto* mapped = static_cast<std::byte*>(
      ::mmap(nullptr, 6 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  auto* from = mapped + page;
  auto* to = mapped + 4 * page;
  ASSERT_EQ(::mprotect(from, page, PROT_READ | PROT_WRITE), 0);
  ASSERT_EQ(::mprotect(to, page, PROT_READ | PROT_WRITE), 0);
  for (std::size_t bytes = 1; bytes <= 200; ++bytes) {
    kernel.copy(to, from, bytes);
    kernel.copy(to + page - bytes, from + page - bytes, bytes);
    kernel.copy(to, from + page - bytes, bytes);
    kernel.copy(to + page - bytes, from, bytes);
  }
  ::munmap(mapped, 6 * page);
}

TEST_P(CopyKernelsOf, StreamCopiesLinesFromAnywhere) {
  std::vector<std::byte> from(1024);
  Random random(2);
  for (auto& byte : from)
    byte = static_cast<std::byte>(random.next());
  alignas(64) static std::byte to[1024];
  for (std::size_t lines = 0; lines <= 8; ++lines) {
    for (const std::size_t source : {0, 1, 8, 31, 64}) {
      std::memset(to, 0xcd, sizeof to);
      kernel.stream(to + 64, from.data() + source, lines * 64);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      ASSERT_EQ(std::memcmp(to + 64, from.data() + source, lines * 64), 0);
      ASSERT_EQ(to[63], std::byte{0xcd});
      ASSERT_EQ(to[64 + lines * 64], std::byte{0xcd});
    }
  }
}

// A reader beside the copier sees each aligned word as it was before or after, at any alignment of
// the range: every word is written with eight equal bytes.
TEST_P(CopyKernelsOf, NoAlignedWordIsTorn) {
  alignas(64) static std::uint64_t words[40];
  std::memset(words, 0, sizeof words);
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> torn{0};
  std::thread reader([&] {
    while (!done.load(std::memory_order_relaxed)) {
      for (auto& word : words) {
        const auto seen = std::atomic_ref<std::uint64_t>(word).load(std::memory_order_relaxed);
        if (seen != (seen & 0xff) * 0x0101010101010101u) torn.fetch_add(1);
      }
    }
  });
  std::vector<std::byte> from(sizeof words);
  for (int round = 0; round < 30'000; ++round) {
    std::memset(from.data(), round & 0xff, from.size());
    const std::size_t first = static_cast<std::size_t>(round) % 9;
    // Whole words only: a range that ends inside of a word tears that word by its nature.
    kernel.copy(reinterpret_cast<std::byte*>(words + first), from.data() + round % 8,
                8 * (1 + static_cast<std::size_t>(round) % 30));
  }
  done = true;
  reader.join();
  EXPECT_EQ(torn.load(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Widths, CopyKernelsOf,
                         testing::Values(VectorWidth::kPortable, VectorWidth::kAvx2,
                                         VectorWidth::kAvx512),
                         [](const auto& test) {
                           return test.param == VectorWidth::kAvx512 ? "Avx512"
                                  : test.param == VectorWidth::kAvx2 ? "Avx2"
                                                                     : "Portable";
                         });

TEST(Copy, PublicFunctionsUseTheBestKernel) {
  alignas(64) std::byte from[128], to[128];
  std::memset(from, 7, sizeof from);
  std::memset(to, 0, sizeof to);
  copy_words(to + 1, from + 3, 60);
  EXPECT_EQ(std::memcmp(to + 1, from + 3, 60), 0);
  stream_lines(to, from, 128);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  EXPECT_EQ(std::memcmp(to, from, 128), 0);
}

}  // namespace
}  // namespace holdfast
