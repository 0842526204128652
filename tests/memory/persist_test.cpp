// What the primitives count and which CPU property decides what.
#include <holdfast/memory/persist.hpp>

#include <gtest/gtest.h>

#include <cstring>

#include <holdfast/memory/cpu.hpp>

namespace holdfast {
namespace {

PersistCounts during(auto&& work) {
  const auto before = persist_counts();
  work();
  return {persist_counts().fences - before.fences,
          persist_counts().lines_written_back - before.lines_written_back};
}

TEST(Persist, WritesBackEveryLineThatHoldsAByteOfTheRange) {
  alignas(64) static std::byte lines[64 * 8];
  const Persist persist(cpu().write_back, false);
  const auto counted = [&](std::size_t offset, std::size_t bytes) {
    return during([&] { persist.write_back(lines + offset, bytes); }).lines_written_back;
  };
  EXPECT_EQ(counted(0, 0), 0u);
  EXPECT_EQ(counted(0, 1), 1u);
  EXPECT_EQ(counted(63, 1), 1u);
  EXPECT_EQ(counted(63, 2), 2u);  // The unaligned tail has a line of its own.
  EXPECT_EQ(counted(0, 64), 1u);
  EXPECT_EQ(counted(1, 64), 2u);
  EXPECT_EQ(counted(60, 200), 5u);
}

TEST(Persist, WritesBackTheOneLineOfAWordByEveryInstruction) {
  alignas(64) static std::uint64_t words[16] = {};
  for (const auto instruction : {cpu().write_back, WriteBackInstruction::kClflush}) {
    const Persist persist(instruction, false);
    for (std::uint64_t& word : words) {
      const auto counts = during([&] { persist.write_back_word(&word); });
      EXPECT_EQ(counts.lines_written_back, 1u);
      EXPECT_EQ(counts.fences, 0u);
    }
    EXPECT_EQ(during([&] { persist.fence_lines(); }).fences, 1u);
  }
  EXPECT_EQ(during([] { Persist::none().write_back_word(words); }).lines_written_back, 0u);
}

TEST(Persist, EveryInstructionOfThisCpuRunsAndKeepsTheBytes) {
  alignas(64) static std::byte lines[256];
  std::memset(lines, 42, sizeof lines);
  for (const auto& [has, instruction] :
       {std::pair{cpu().clflush, WriteBackInstruction::kClflush},
        std::pair{cpu().clflushopt, WriteBackInstruction::kClflushopt},
        std::pair{cpu().clwb, WriteBackInstruction::kClwb}}) {
    if (!has) continue;
    const auto counts = during([&] { Persist(instruction, false).persist(lines + 10, 200); });
    EXPECT_EQ(counts.fences, 1u);
    EXPECT_EQ(counts.lines_written_back, 4u);
    for (const auto byte : lines)
      ASSERT_EQ(byte, std::byte{42});
  }
}

TEST(Persist, BestInstructionIsTheOneThatKeepsTheLine) {
  EXPECT_NE(cpu().write_back, WriteBackInstruction::kNone);  // Every x86-64 has clflush.
  if (cpu().clwb) {
    EXPECT_EQ(cpu().write_back, WriteBackInstruction::kClwb);
  }
}

TEST(Persist, NoneDoesNothingAndByteOnlyFences) {
  alignas(64) static std::byte lines[128];
  const auto none = during([&] { Persist::none().persist(lines, 128); });
  EXPECT_EQ(none.fences, 0u);
  EXPECT_EQ(none.lines_written_back, 0u);
  const auto byte = during([&] { Persist::byte().persist(lines, 128); });
  EXPECT_EQ(byte.fences, 1u);
  EXPECT_EQ(byte.lines_written_back, 0u);
  EXPECT_EQ(Persist::byte().instruction(), WriteBackInstruction::kNone);
}

TEST(Persist, StreamCopiesUnderEverySetting) {
  alignas(64) static std::byte from[128], to[128];
  std::memset(from, 9, sizeof from);
  for (const auto& persist : {Persist(cpu().write_back, true), Persist(cpu().write_back, false),
                              Persist::none(), Persist::byte()}) {
    std::memset(to, 0, sizeof to);
    persist.stream(to, from, 128);
    persist.fence();
    EXPECT_EQ(std::memcmp(to, from, 128), 0);
  }
  EXPECT_EQ(
      during([&] { Persist(cpu().write_back, false).stream(to, from, 128); }).lines_written_back,
      2u);
  EXPECT_EQ(
      during([&] { Persist(cpu().write_back, true).stream(to, from, 128); }).lines_written_back,
      2u);
}

// At every alignment within a line, up to and beyond the pieces in which long ranges go.
TEST(Persist, WriteCopiesTheRangeAloneAndWritesBackEachOfItsLinesOnce) {
  constexpr std::size_t kBytes = 4096;
  alignas(64) static std::byte from[kBytes], to[kBytes];
  for (std::size_t i = 0; i < kBytes; ++i)
    from[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (const auto& persist : {Persist(cpu().write_back, true), Persist(cpu().write_back, false),
                              Persist::none(), Persist::byte()}) {
    const bool writes_back = persist.instruction() != WriteBackInstruction::kNone;
    for (std::size_t at = 128; at < 128 + 64; at += at % 8 == 0 ? 1 : 7) {
      for (const std::size_t bytes :
           {0, 1, 8, 55, 63, 64, 65, 128, 129, 511, 512, 513, 1024, 1500, 3000}) {
        std::memset(to, 0xcd, sizeof to);
        const auto counts = during([&] { persist.write(to + at, from + 3, bytes); });
        persist.fence();
        ASSERT_EQ(std::memcmp(to + at, from + 3, bytes), 0) << at << " " << bytes;
        for (std::size_t i = 0; i < kBytes; i = i + 1 == at ? at + bytes : i + 1)
          ASSERT_EQ(to[i], std::byte{0xcd}) << at << " " << bytes << " " << i;
        const auto lines = bytes == 0 ? 0 : (at + bytes - 1) / 64 - at / 64 + 1;
        ASSERT_EQ(counts.lines_written_back, writes_back ? lines : 0) << at << " " << bytes;
        ASSERT_EQ(counts.fences, 0u);
      }
    }
  }
}

TEST(Persist, StoreAndLoadAreOneWord) {
  alignas(8) std::uint64_t word = 1;
  Persist::none().store(&word, 0x1122334455667788u);
  EXPECT_EQ(Persist::load(&word), 0x1122334455667788u);
}

// The table decides; the probe may only turn the property off.
TEST(NtEvicts, TableAndProbeDecideTogether) {
  using memory_detail::judge_nt_evicts;
  EXPECT_TRUE(judge_nt_evicts("GenuineIntel", 100, 90).value);
  EXPECT_TRUE(judge_nt_evicts("GenuineIntel", 160, 82).value);
  EXPECT_FALSE(judge_nt_evicts("GenuineIntel", 2, 104).value);
  EXPECT_FALSE(judge_nt_evicts("AuthenticAMD", 100, 90).value);
  EXPECT_FALSE(judge_nt_evicts("an emulated CPU", 100, 90).value);
  EXPECT_NE(judge_nt_evicts("GenuineIntel", 2, 104).source.find("probe denies"), std::string::npos);
  EXPECT_NE(judge_nt_evicts("AuthenticAMD", 2, 104).source.find("AuthenticAMD is not in the table"),
            std::string::npos);
  if (cpu().vendor != "GenuineIntel") {
    EXPECT_FALSE(nt_evicts().value);
  }
  EXPECT_GT(nt_evicts().uncached_ns, 0);
}

}  // namespace
}  // namespace holdfast
