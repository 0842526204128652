// Which bytes a workload accesses, in which order, and by which thread.
#include <gtest/gtest.h>

#include <holdfast/bench/memory/worker.hpp>

#include "memory_support.hpp"

namespace holdfast::bench::memory {
namespace {

// Byte, and whether it is a write, of operations [0, count) of a lane.
struct Access {
  std::uint64_t byte = 0;
  bool write = false;
  bool dram = false;
};
std::vector<Access> accesses_of(const Config& config, unsigned lane, std::uint64_t count) {
  SharedWork work;
  work.config = &config;
  work.target.bytes = config.memory_range.bytes;
  work.dram.bytes = config.dram_memory_range.bytes;
  work.plan_packages();
  std::vector<Access> accesses;
  work.for_each_piece(lane, 0, count, [&](const Piece& piece) {
    for (std::uint64_t i = 0; i < piece.count; ++i)
      accesses.push_back({piece.byte_of(i), piece.write, piece.dram});
  });
  return accesses;
}

std::vector<std::uint64_t> bytes_of(const std::string& args, unsigned lane, std::uint64_t count) {
  std::vector<std::uint64_t> bytes;
  for (const auto& access : accesses_of(config_of(args), lane, count))
    bytes.push_back(access.byte);
  return bytes;
}

using Bytes = std::vector<std::uint64_t>;

TEST(Order, DescendingIsFromTheEndDown) {
  EXPECT_EQ(bytes_of("memory_range: 4K, access_size: 512, exec_mode: sequential_desc", 0, 9),
            (Bytes{3584, 3072, 2560, 2048, 1536, 1024, 512, 0, 3584}));
}

TEST(Order, StridedLeavesOutWhatLiesBetween) {
  EXPECT_EQ(bytes_of("memory_range: 4K, access_size: 64, exec_mode: strided, stride: 1K", 0, 5),
            (Bytes{0, 1024, 2048, 3072, 0}));
}

TEST(Order, GroupedThreadsTakeTurns) {
  const std::string args =
      "memory_range: 1536, access_size: 256, number_threads: 3, grouping: grouped";
  EXPECT_EQ(bytes_of(args, 0, 2), (Bytes{0, 768}));
  EXPECT_EQ(bytes_of(args, 1, 2), (Bytes{256, 1024}));
  EXPECT_EQ(bytes_of(args, 2, 3), (Bytes{512, 1280, 512}));
}

TEST(Order, IndividualThreadsHaveARangeEach) {
  const std::string args =
      "memory_range: 2K, access_size: 256, number_threads: 2, grouping: individual";
  EXPECT_EQ(bytes_of(args, 0, 5), (Bytes{0, 256, 512, 768, 0}));
  EXPECT_EQ(bytes_of(args, 1, 5), (Bytes{1024, 1280, 1536, 1792, 1024}));
}

TEST(Order, PartitionsAreDisjoint) {
  const std::string args =
      "memory_range: 2K, access_size: 256, number_threads: 4, number_partitions: 2";
  EXPECT_EQ(bytes_of(args, 0, 4), (Bytes{0, 256, 512, 768}));
  EXPECT_EQ(bytes_of(args, 1, 4), (Bytes{1024, 1280, 1536, 1792}));
}

TEST(Order, WriteRatioIsTheShareOfWrites) {
  const auto accesses =
      accesses_of(config_of("memory_range: 1M, access_size: 64, write_ratio: 0.25"), 0, 6400);
  EXPECT_EQ(std::count_if(accesses.begin(), accesses.end(), [](auto a) { return a.write; }), 1600);
  // In each group, not first all of the one kind.
  EXPECT_EQ(std::count_if(accesses.begin(), accesses.begin() + 640, [](auto a) { return a.write; }),
            160);
}

TEST(Order, DramRatioIsTheShareOfTheSecondRange) {
  const auto config = config_of(
      "memory_range: 1M, dram_memory_range: 1M, access_size: 64, exec_mode: random, "
      "dram_operation_ratio: 0.75");
  const auto accesses = accesses_of(config, 0, 6400);
  EXPECT_EQ(std::count_if(accesses.begin(), accesses.end(), [](auto a) { return a.dram; }), 4800);
}

}  // namespace
}  // namespace holdfast::bench::memory
