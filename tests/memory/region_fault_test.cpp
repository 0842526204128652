// System calls that fail: the error is told, and the region is as it was, or read-only.
#include <holdfast/memory/region.hpp>
#include <holdfast/memory/system.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <vector>

#include "region_support.hpp"
#include "scratch.hpp"

namespace holdfast {
namespace {

using memory_detail::Call;

// Lets the n-th call of a kind fail, once. 0: none.
std::atomic<Call> failing_call{Call::kWrite};
std::atomic<int> countdown{0};
std::atomic<int> failure{EIO};
std::atomic<int> data_syncs{0};

int hook(Call call, int) {
  if (call == Call::kDataSync) ++data_syncs;
  if (call != failing_call || countdown == 0) return 0;
  return --countdown == 0 ? failure.load() : 0;
}

class Faults : public testing::TestWithParam<RegionLayout> {
 protected:
  void SetUp() override {
    countdown = 0;
    data_syncs = 0;
    memory_detail::set_fault_hook(&hook);
  }
  void TearDown() override { memory_detail::set_fault_hook(nullptr); }
  static void let_fail(Call call, int nth, int error_number) {
    failing_call = call;
    failure = error_number;
    countdown = nth;
  }
  Region open() { return Region::open(spec, options).value(); }

  Scratch scratch = Scratch::disk();
  std::string path = scratch.path("region");
  std::string spec = path + "?granularity=page";
  RegionOptions options = small(GetParam());
};

// A directory whose reading failed passed for an empty one, and kOpenOrCreate put a new region over
// the one that was there.
TEST_P(Faults, ADirectoryThatCannotBeReadIsNotTakenForAnEmptyOne) {
  if (GetParam() != RegionLayout::kDirectory) GTEST_SKIP() << "one file";
  {
    auto region = open();
    ASSERT_TRUE(region.write(0, bytes("there")));
  }
  for (const int nth : {1, 2, 3, 4, 5}) {  // Two entries are the directory's own.
    for (const RegionAccess access : {RegionAccess::kOpen, RegionAccess::kOpenReadOnly,
                                      RegionAccess::kOpenOrCreate, RegionAccess::kCreate}) {
      options.access = access;
      let_fail(Call::kReadDirectory, nth, EIO);
      const auto opened = Region::open(spec, options);
      EXPECT_EQ(opened.code(), Errc::kIo) << nth;
    }
  }
  options.access = RegionAccess::kOpen;
  EXPECT_EQ(text_at(open(), 0, 5), "there");
}

TEST_P(Faults, FailedSyncMakesTheRegionReadOnlyForEver) {
  auto region = open();
  ASSERT_TRUE(region.write(0, bytes("a")));
  let_fail(Call::kDataSync, 1, EIO);
  const auto first = region.sync();
  ASSERT_EQ(first.code(), Errc::kIo);
  EXPECT_NE(first.error().detail.find("EIO"), std::string::npos) << first.error().detail;
  EXPECT_NE(first.error().detail.find(path), std::string::npos);
  EXPECT_NE(first.error().detail.find("read-only from now on"), std::string::npos);
  const int syncs = data_syncs;
  EXPECT_EQ(region.sync().code(), Errc::kReadOnly);
  EXPECT_EQ(data_syncs, syncs) << "a failed sync must not be retried";
  EXPECT_TRUE(region.read_only());
  EXPECT_EQ(region.write(0, bytes("b")).code(), Errc::kReadOnly);
  EXPECT_EQ(region.grow(8 * MiB).code(), Errc::kReadOnly);
  EXPECT_EQ(region.shrink(2 * MiB).code(), Errc::kReadOnly);
  EXPECT_EQ(text_at(region, 0, 1), "a");  // Reading goes on.
}

TEST_P(Faults, FailedSyncForLackOfSpaceIsNoBetter) {
  auto region = open();
  ASSERT_TRUE(region.write(0, bytes("a")));
  let_fail(Call::kDataSync, 1, ENOSPC);
  EXPECT_EQ(region.sync().code(), Errc::kIo);
  EXPECT_EQ(region.sync().code(), Errc::kReadOnly);
}

TEST_P(Faults, FailedWriteIsToldAndTheNextOneWorks) {
  auto region = open();
  let_fail(Call::kWrite, 1, EIO);
  EXPECT_EQ(region.write(0, bytes("a")).code(), Errc::kIo);
  let_fail(Call::kWrite, 1, ENOSPC);
  EXPECT_EQ(region.write(0, bytes("a")).code(), Errc::kNoSpace);
  ASSERT_TRUE(region.write(0, bytes("c")));
  EXPECT_TRUE(region.sync());
}

TEST_P(Faults, AReadThatTheDeviceRefusesIsAnErrorAndNotASignal) {
  auto region = open();
  ASSERT_TRUE(region.write(MiB, bytes("there")));
  const Extent ranges[] = {{0, 64}, {MiB, 5}, {4 * MiB - 100, 100}};
  ASSERT_TRUE(region.fetch(ranges));
  EXPECT_TRUE(region.resident({MiB, 5}));
  let_fail(Call::kRead, 2, EIO);
  const auto failed = region.fetch(ranges);
  if (region.report().file_system == "tmpfs") GTEST_SKIP() << "no disk here";
  ASSERT_EQ(failed.code(), Errc::kIo);
  EXPECT_NE(failed.error().detail.find("at byte 1048576"), std::string::npos)
      << failed.error().detail;
  EXPECT_TRUE(region.fetch(ranges)) << "not for ever";
  // Somebody cuts the file: the kernel would answer a load with SIGBUS.
  const auto file = GetParam() == RegionLayout::kDirectory ? path + "/segment-000001" : path;
  std::filesystem::resize_file(file, GetParam() == RegionLayout::kDirectory ? 0 : 2 * MiB);
  EXPECT_EQ(region.fetch({{{3 * MiB, 64}}}).code(), Errc::kIo);
  EXPECT_TRUE(region.fetch({{{MiB, 64}}}));
}

TEST_P(Faults, SyncTouchesOnlyFilesWrittenSinceTheLastOne) {
  auto region = open();
  ASSERT_TRUE(
      region.sync());  // The first one covers every file: a process that died may not have synced.
  data_syncs = 0;
  ASSERT_TRUE(region.sync());
  EXPECT_EQ(data_syncs, 0);
  ASSERT_TRUE(region.write(0, bytes("a")));
  ASSERT_TRUE(region.write(100, bytes("b")));
  ASSERT_TRUE(region.sync());
  EXPECT_EQ(data_syncs, 1);
  ASSERT_TRUE(region.sync());
  EXPECT_EQ(data_syncs, 1);
  ASSERT_TRUE(region.write(2 * MiB - 1, bytes("cd")));  // Into two segments, if it is a directory.
  ASSERT_TRUE(region.sync());
  EXPECT_EQ(data_syncs, GetParam() == RegionLayout::kDirectory ? 3 : 2);
}

TEST_P(Faults, ConcurrentSyncsCoverEachOthersWrites) {
  auto region = open();
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (unsigned i = 0; i < 50; ++i) {
        const auto status = region.write(thread * 64 * KiB + i, bytes("x"));
        if (!status || !region.sync()) ++failures;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  data_syncs = 0;
  ASSERT_TRUE(region.sync());
  EXPECT_EQ(data_syncs, 0) << "everything was covered";
}

// The kernel tells of a lost write once. Where growing or shrinking is told, nobody else will be.
TEST_P(Faults, AFailedSyncInsideOfGrowOrShrinkIsOneOfTheRegion) {
  options.file_bytes = GetParam() == RegionLayout::kDirectory ? 64 * MiB : 0;
  for (const bool growing : {true, false}) {
    std::filesystem::remove_all(path);
    auto region = open();
    if (region.report().file_system == "tmpfs") GTEST_SKIP() << "no disk here";
    ASSERT_TRUE(region.write(0, bytes("a")));
    let_fail(Call::kFileSync, 1, EIO);
    const auto failed = growing ? region.grow(6 * MiB) : region.shrink(2 * MiB);
    ASSERT_EQ(failed.code(), Errc::kIo);
    EXPECT_EQ(region.sync().code(), Errc::kReadOnly) << "what was written may be lost";
    EXPECT_TRUE(region.read_only());
    EXPECT_EQ(region.write(0, bytes("b")).code(), Errc::kReadOnly);
    EXPECT_EQ(text_at(region, 0, 1), "a");
  }
}

// Each call of a growth in turn, until it succeeds: nothing is left behind by any.
TEST_P(Faults, FailedGrowthChangesNothing) {
  auto region = open();
  for (const auto call :
       {Call::kAllocate, Call::kWrite, Call::kMap, Call::kRename, Call::kDirectorySync}) {
    int failures = 0;
    for (int nth = 1;; ++nth) {
      let_fail(call, nth, call == Call::kAllocate ? ENOSPC : EIO);
      const auto status = region.grow(8 * MiB);
      if (status) break;
      ++failures;
      EXPECT_EQ(status.code(), call == Call::kAllocate ? Errc::kNoSpace : Errc::kIo);
      ASSERT_EQ(region.size_bytes(), 4 * MiB);
      std::uint64_t seen = 0;
      if (GetParam() == RegionLayout::kDirectory) {
        for (const auto& entry : std::filesystem::directory_iterator(path)) {
          seen += entry.file_size();
          EXPECT_EQ(entry.path().extension(), "") << entry.path();
        }
      } else {
        seen = std::filesystem::file_size(path);
      }
      ASSERT_EQ(seen, 4 * MiB);
      ASSERT_LT(nth, 1000);
    }
    const bool directory = GetParam() == RegionLayout::kDirectory;
    if (directory || (call != Call::kRename && call != Call::kDirectorySync)) {
      EXPECT_GT(failures, 0) << static_cast<int>(call);
    }
    countdown = 0;
    ASSERT_TRUE(region.write(8 * MiB - 1, bytes("x")));
    ASSERT_TRUE(region.shrink(4 * MiB));
  }
}

TEST_P(Faults, FailedCreationLeavesNothing) {
  for (const auto call :
       {Call::kAllocate, Call::kWrite, Call::kMap, Call::kRename, Call::kDirectorySync}) {
    int failures = 0;
    for (int nth = 1;; ++nth) {
      let_fail(call, nth, EIO);
      const auto region = Region::open(spec, with(RegionAccess::kCreate, options));
      if (region) break;
      ++failures;
      EXPECT_EQ(region.code(), Errc::kIo);
      ASSERT_TRUE(scratch.empty()) << static_cast<int>(call) << " " << nth;
    }
    const bool directory = GetParam() == RegionLayout::kDirectory;
    EXPECT_TRUE(failures > 0 || (call == Call::kRename && !directory)) << static_cast<int>(call);
    std::filesystem::remove_all(path);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Faults,
                         testing::Values(RegionLayout::kDirectory, RegionLayout::kFile),
                         [](const auto& test) {
                           return test.param == RegionLayout::kFile ? "File" : "Directory";
                         });

}  // namespace
}  // namespace holdfast
