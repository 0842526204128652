// The verbs of Region on every place that this machine has: anonymous memory, tmpfs, a file system.
#include <holdfast/memory/region.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/memory/pages.hpp>

#include "region_support.hpp"
#include "scratch.hpp"

namespace holdfast {
namespace {

struct Place {
  std::string name;
  bool on_disk;  // In the working directory; else on tmpfs.
  RegionLayout layout;
  std::string options;
  std::uint64_t file_bytes = 0;
};

RegionOptions with_files_of(std::uint64_t file_bytes, RegionOptions options) {
  options.file_bytes = file_bytes;
  return options;
}

class RegionOn : public testing::TestWithParam<Place> {
 protected:
  Scratch scratch{GetParam().on_disk ? Scratch::disk() : Scratch::tmpfs()};
  std::string spec = scratch.path("region") + GetParam().options;
  RegionOptions options = with_files_of(GetParam().file_bytes, small(GetParam().layout));
};

TEST_P(RegionOn, KeepsWhatWasWrittenAfterReopening) {
  {
    auto region = Region::open(spec, options).value();
    EXPECT_EQ(region.size_bytes(), 4 * MiB);
    ASSERT_TRUE(region.write(2 * MiB - 3, bytes("across the border")));
    ASSERT_TRUE(region.sync());
    EXPECT_EQ(text_at(region, 2 * MiB - 3, 17), "across the border");
  }
  auto region = Region::open(spec, with(RegionAccess::kOpen, options)).value();
  EXPECT_EQ(region.size_bytes(), 4 * MiB);
  EXPECT_EQ(text_at(region, 2 * MiB - 3, 17), "across the border");
}

TEST_P(RegionOn, GathersBuffersAcrossFiles) {
  auto region = Region::open(spec, options).value();
  const std::string large(3 * MiB, 'x');
  const std::span<const std::byte> buffers[] = {bytes("ab"), bytes(""), bytes(large), bytes("yz"),
                                                bytes("")};
  ASSERT_TRUE(region.write(1000, buffers));
  EXPECT_EQ(text_at(region, 1000, large.size() + 4), "ab" + large + "yz");
  EXPECT_EQ(text_at(region, 999, 1), std::string(1, '\0'));
  EXPECT_EQ(text_at(region, 1004 + large.size(), 1), std::string(1, '\0'));
}

TEST_P(RegionOn, GrowsWithZerosInPlaceAndShrinksAgain) {
  auto region = Region::open(spec, options).value();
  const auto* data = region.data();
  ASSERT_TRUE(region.write(0, bytes("stays")));
  ASSERT_TRUE(region.grow(10 * MiB));
  EXPECT_EQ(region.data(), data);
  EXPECT_EQ(region.size_bytes(), 10 * MiB);
  for (auto at = 4 * MiB; at < 10 * MiB; at += 8) {
    ASSERT_EQ(Persist::load(reinterpret_cast<const std::uint64_t*>(data + at)), 0u) << at;
  }
  ASSERT_TRUE(region.write(10 * MiB - 4, bytes("last")));
  ASSERT_TRUE(region.sync());
  ASSERT_TRUE(region.shrink(2 * MiB));
  EXPECT_EQ(region.size_bytes(), 2 * MiB);
  ASSERT_TRUE(region.sync());
  ASSERT_TRUE(region.grow(10 * MiB));
  EXPECT_EQ(text_at(region, 10 * MiB - 4, 4), std::string(4, '\0'));
  EXPECT_EQ(text_at(region, 0, 5), "stays");
  region = Region::open("dram", small()).value();  // Closes it.
  EXPECT_EQ(Region::open(spec, with(RegionAccess::kOpen, options)).value().size_bytes(), 10 * MiB);
}

TEST_P(RegionOn, PrefaultChangesNothing) {
  options.prefault = true;
  auto region = Region::open(spec, options).value();
  ASSERT_TRUE(region.write(4 * MiB - 5, bytes("there")));
  ASSERT_TRUE(region.prefault(0, region.size_bytes()));
  ASSERT_TRUE(region.prefault(4 * MiB - 1, 1));
  ASSERT_TRUE(region.prefault(0, 0));
  EXPECT_EQ(text_at(region, 4 * MiB - 5, 5), "there");
  EXPECT_EQ(region.prefault(0, 4 * MiB + 1).code(), Errc::kInvalidOption);
}

TEST_P(RegionOn, ReadOnlyOpensShareAndWriteNothing) {
  {
    ASSERT_TRUE(Region::open(spec, options).value().write(0, bytes("seen")));
  }
  auto first = Region::open(spec, with(RegionAccess::kOpenReadOnly, options)).value();
  auto second = Region::open(spec, with(RegionAccess::kOpenReadOnly, options)).value();
  EXPECT_EQ(text_at(second, 0, 4), "seen");
  EXPECT_TRUE(second.read_only());
  EXPECT_EQ(second.write(0, bytes("no")).code(), Errc::kReadOnly);
  EXPECT_EQ(second.grow(8 * MiB).code(), Errc::kReadOnly);
  EXPECT_EQ(second.shrink(2 * MiB).code(), Errc::kReadOnly);
  EXPECT_TRUE(second.prefault(0, 4 * MiB));
  EXPECT_TRUE(second.sync());
  const auto refused = Region::open(spec, options);
  ASSERT_EQ(refused.code(), Errc::kBusy);
  EXPECT_NE(refused.error().detail.find(std::to_string(getpid())), std::string::npos)
      << refused.error().detail;
}

// Found by trying: `holdfast kv restore` made a store below another store.
TEST_P(RegionOn, ARegionIsNotMadeInsideOfAnother) {
  if (GetParam().layout != RegionLayout::kDirectory) return;  // A file has no inside.
  ASSERT_TRUE(Region::open(spec, options));
  const auto outer = scratch.path("region");
  std::filesystem::create_directories(outer + "/empty/directory");
  for (const auto layout : {RegionLayout::kDirectory, RegionLayout::kFile}) {
    for (const char* inner : {"/inner", "/empty/inner", "/empty/../inner"}) {
      auto inside = options;
      inside.layout = layout;
      const auto refused = Region::open(outer + inner, inside);
      ASSERT_EQ(refused.code(), Errc::kInvalidOption) << inner;
      EXPECT_NE(refused.error().detail.find("which holds a region"), std::string::npos);
      EXPECT_FALSE(std::filesystem::exists(outer + inner)) << inner;
    }
  }
  EXPECT_EQ(Region::open(outer + "/empty/directory", options).code(), Errc::kInvalidOption);
  std::filesystem::remove_all(outer + "/empty");
  EXPECT_TRUE(Region::open(spec, with(RegionAccess::kOpen, options)));
}

TEST_P(RegionOn, AccessModesAreKept) {
  EXPECT_EQ(Region::open(spec, with(RegionAccess::kOpen, options)).code(), Errc::kNotFound);
  EXPECT_EQ(Region::open(spec, with(RegionAccess::kOpenReadOnly, options)).code(), Errc::kNotFound);
  EXPECT_TRUE(scratch.empty());
  {
    ASSERT_TRUE(Region::open(spec, with(RegionAccess::kCreate, options)));
  }
  EXPECT_EQ(Region::open(spec, with(RegionAccess::kCreate, options)).code(), Errc::kAlreadyExists);
  EXPECT_TRUE(Region::open(spec, with(RegionAccess::kOpenOrCreate, options)));
}

TEST_P(RegionOn, RefusesRangesAndSizesThatDoNotFit) {
  auto region = Region::open(spec, options).value();
  EXPECT_EQ(region.write(4 * MiB - 1, bytes("ab")).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.write(~std::uint64_t{0}, bytes("ab")).code(), Errc::kInvalidOption);
  EXPECT_TRUE(region.write(4 * MiB, bytes("")));
  EXPECT_EQ(region.grow(5 * MiB).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.grow(2 * MiB).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.shrink(0).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.shrink(6 * MiB).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.grow(region.max_size_bytes() + 2 * MiB).code(), Errc::kNoSpace);
  EXPECT_EQ(region.size_bytes(), 4 * MiB);
}

INSTANTIATE_TEST_SUITE_P(
    Places, RegionOn,
    testing::Values(
        Place{"TmpfsDirectory", false, RegionLayout::kDirectory, ""},
        Place{"TmpfsFile", false, RegionLayout::kFile, ""},
        Place{"TmpfsLine", false, RegionLayout::kDirectory, "?granularity=line"},
        Place{"TmpfsLineFileSmallPages", false, RegionLayout::kFile, "?granularity=line&huge=off"},
        Place{"TmpfsByte", false, RegionLayout::kDirectory, "?granularity=byte"},
        Place{"TmpfsPage", false, RegionLayout::kDirectory, "?granularity=page"},
        Place{"TmpfsLongFiles", false, RegionLayout::kDirectory, "", 6 * MiB},
        Place{"TmpfsLongFilesPage", false, RegionLayout::kDirectory, "?granularity=page", 6 * MiB},
        Place{"DiskLongFiles", true, RegionLayout::kDirectory, "", 6 * MiB},
        Place{"DiskDirectory", true, RegionLayout::kDirectory, ""},
        Place{"DiskFile", true, RegionLayout::kFile, ""},
        Place{"DiskLine", true, RegionLayout::kFile, "?granularity=line"}),
    [](const auto& test) { return test.param.name; });

// ---- A last file that is as long as the region needs it ----

class LongFiles : public testing::Test {
 protected:
  std::uint64_t length(int number) const {
    return std::filesystem::file_size(path + "/segment-00000" + std::to_string(number));
  }
  Region open(RegionAccess access = RegionAccess::kOpenOrCreate) {
    return Region::open(path, with(access, options)).value();
  }

  Scratch scratch = Scratch::tmpfs();
  std::string path = scratch.path("region");
  RegionOptions options = with_files_of(8 * MiB, small());
};

TEST_F(LongFiles, GetLongerUpToTheirSizeAndShorterAgain) {
  {
    Region region = open();
    EXPECT_EQ(length(0), 4 * MiB);
    ASSERT_TRUE(region.write(4 * MiB - 4, bytes("kept")));
    ASSERT_TRUE(region.grow(12 * MiB));
    EXPECT_EQ(length(0), 8 * MiB);
    EXPECT_EQ(length(1), 4 * MiB);
    ASSERT_TRUE(region.shrink(10 * MiB));
    EXPECT_EQ(length(1), 2 * MiB);
  }
  Region region = open(RegionAccess::kOpen);
  EXPECT_EQ(region.size_bytes(), 10 * MiB);
  ASSERT_TRUE(region.shrink(6 * MiB));
  EXPECT_EQ(length(0), 6 * MiB);
  EXPECT_FALSE(std::filesystem::exists(path + "/segment-000001"));
  EXPECT_EQ(text_at(region, 4 * MiB - 4, 4), "kept");
}

TEST_F(LongFiles, KeepTheSizeThatTheFirstOfSeveralHas) {
  ASSERT_TRUE(open().grow(10 * MiB));
  options.file_bytes = 32 * MiB;
  Region region = open(RegionAccess::kOpen);
  EXPECT_EQ(region.size_bytes(), 10 * MiB);
  ASSERT_TRUE(region.grow(18 * MiB));
  EXPECT_EQ(length(1), 8 * MiB);
  EXPECT_EQ(length(2), 2 * MiB);
}

TEST_F(LongFiles, GrowInSmallerStepsThanTheyWereMadeWith) {
  open();
  Region region = open(RegionAccess::kOpen);
  ASSERT_TRUE(region.grow(4 * MiB + 64 * KiB));
  EXPECT_EQ(length(0), 4 * MiB + 64 * KiB);
}

TEST_F(LongFiles, OnlyTheLastMayBeShortAndOnlyByPages) {
  ASSERT_TRUE(open().grow(18 * MiB));
  const auto refused = [&](int number, std::uint64_t bytes) {
    const auto file = path + "/segment-00000" + std::to_string(number);
    const auto before = length(number);
    std::filesystem::resize_file(file, bytes);
    const auto region = Region::open(path, with(RegionAccess::kOpen, options));
    std::filesystem::resize_file(file, before);
    return region.code() == Errc::kCorrupt;
  };
  EXPECT_TRUE(refused(0, 4 * MiB));
  EXPECT_TRUE(refused(1, 4 * MiB));
  EXPECT_TRUE(refused(2, 0));
  EXPECT_TRUE(refused(2, 1 * MiB + 5));
  EXPECT_FALSE(refused(2, 1 * MiB));  // Whether it was longer the owner of the contents can tell.
  options.file_bytes = 0;             // A short file that was not expected is refused.
  EXPECT_TRUE(refused(2, 2 * MiB));
}

// ---- Addresses ----

TEST(Regions, OfAProcessMayBeManyAndEachGrow) {
  std::vector<Region> regions;
  for (int i = 0; i < 300; ++i) {
    auto region = Region::open("dram", small());
    ASSERT_TRUE(region) << i << ": " << region.error().message();
    regions.push_back(std::move(*region));
  }
  for (Region& region : regions) {
    const auto* const data = region.data();
    ASSERT_TRUE(region.grow(64 * MiB));
    EXPECT_EQ(region.data(), data);
  }
}

TEST(Addresses, AreSetAsideAsTheyAreNeeded) {
#ifdef HF_TSAN
  GTEST_SKIP() << "a range never has more than 64 GiB here";
#endif
  auto range = memory_detail::AddressRange::reserve(1 * TiB, 4 * MiB, 2 * MiB).value();
  const auto* const data = range.data();
  const auto first = range.bytes();
  EXPECT_LT(first, 1 * TiB);
  EXPECT_EQ(range.most(), 1 * TiB);
  ASSERT_TRUE(range.extend(first + 1));
  EXPECT_GE(range.bytes(), first + 1);
  EXPECT_EQ(range.data(), data);
  // Something is in the way: what is there stays, and what fits before it is given.
  void* const other = ::mmap(range.data() + range.bytes() + 4 * MiB, 4096, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_NE(other, MAP_FAILED);
  const auto before = range.bytes();
  EXPECT_EQ(range.extend(before + 8 * MiB).code(), Errc::kNoSpace);
  EXPECT_EQ(range.bytes(), before);
  EXPECT_TRUE(range.extend(before + 2 * MiB));
  ::munmap(other, 4096);
}

TEST(Addresses, OfMoreThanThereAreAreRefusedByTheNumber) {
  const Scratch scratch = Scratch::tmpfs();
  for (const std::string spec : {std::string("dram"), scratch.path("region")}) {
    for (const auto bytes : {std::uint64_t{1} << 62, ~std::uint64_t{0} - kPageBytes + 1}) {
      auto options = small();
      options.size_bytes = options.unit_bytes = bytes;
      const auto refused = Region::open(spec, options);
      ASSERT_EQ(refused.code(), Errc::kNoSpace);
      EXPECT_NE(refused.error().detail.find(std::to_string(bytes) + " bytes are more than"),
                std::string::npos)
          << refused.error().detail;
    }
  }
  EXPECT_TRUE(scratch.empty());
}

// A sync that asked for the times of its file (by fstat, for the number of its links) makes Linux
// from 6.13 on give the file finer ones with its next write in the same tick of the clock, so that
// each sync wrote the inode, too: one request more per group commit, which took 1.7 times as long.
TEST(RegionSync, DoesNotMakeTheNextOneWriteTheInode) {
  const Scratch scratch = Scratch::disk();
  const auto path = scratch.path("region");
  auto region = Region::open(path + "?granularity=page", small(RegionLayout::kFile)).value();
  const auto nanoseconds = [](const struct timespec& time) {
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  };
  const auto tick = [&] {
    struct timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return nanoseconds(now);
  };
  // Not each time: the tick may end, and other users of the file system may move its clock on.
  unsigned within_a_tick = 0;
  bool kept = false;
  for (int i = 0; i < 100 && !kept; ++i) {
    auto before = tick();
    for (const auto last = before; before == last; before = tick())
      std::this_thread::yield();
    ASSERT_TRUE(region.write(0, bytes("x")));
    ASSERT_TRUE(region.sync());
    ASSERT_TRUE(region.write(0, bytes("y")));
    if (tick() != before) continue;
    ++within_a_tick;
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    kept = nanoseconds(status.st_ctim) == before;
  }
  if (within_a_tick == 0) GTEST_SKIP() << "a sync takes longer here than a tick of the clock";
  EXPECT_TRUE(kept);
}

TEST(AnonymousRegion, WritesGrowsAndShrinks) {
  for (const char* spec : {"dram", "dram?huge=2M", "dram?huge=off", "dram?huge=1G",
                           "dram?granularity=line", "dram?granularity=byte"}) {
    auto options = small();
    options.prefault = true;
    auto region = Region::open(spec, options).value();
    const auto* data = region.data();
    ASSERT_TRUE(region.write(0, bytes("stays"))) << spec;
    ASSERT_TRUE(region.sync());
    ASSERT_TRUE(region.grow(8 * MiB));
    ASSERT_TRUE(region.write(8 * MiB - 4, bytes("last")));
    ASSERT_TRUE(region.shrink(2 * MiB));
    ASSERT_TRUE(region.grow(8 * MiB));
    EXPECT_EQ(text_at(region, 8 * MiB - 4, 4), std::string(4, '\0'));
    EXPECT_EQ(text_at(region, 0, 5), "stays");
    EXPECT_EQ(region.data(), data);
    const auto report = region.report();
    EXPECT_EQ(report.kind, "dram");
    EXPECT_FALSE(report.page_reason.empty());
    // Of a machine with one node, as of a prefaulted one.
    EXPECT_EQ(report.nodes.size(), 1u) << spec;
  }
}

TEST(AnonymousRegion, BindsToANodeThatExists) {
  const auto region = Region::open("node:0", small());
  // A kernel without NUMA.
  if (region.code() == Errc::kIo) GTEST_SKIP() << region.error().message();
  EXPECT_EQ(region.value().report().kind, "node");
  const auto refused = Region::open("node:4095", small());
  ASSERT_EQ(refused.code(), Errc::kInvalidOption);
  EXPECT_NE(refused.error().detail.find("no NUMA node 4095; here are"), std::string::npos);
}

// On a machine with one node, each stripe goes to that one: tests/qemu has two.
TEST(AnonymousRegion, GoesInStripesToSeveralNodes) {
  auto options = small();
  options.unit_bytes = 4 * MiB;
  options.size_bytes = 44 * MiB;  // The second stripe is not whole, and grows.
  auto region = Region::open("node:0,0", options);
  if (region.code() == Errc::kIo) GTEST_SKIP() << region.error().message();
  ASSERT_TRUE(region) << region.error().message();
  ASSERT_TRUE(region->grow(100 * MiB));
  for (std::uint64_t at = 0; at < region->size_bytes(); at += MiB)
    region->data()[at] = std::byte{1};
  EXPECT_EQ(region->report().nodes, std::vector{0});
  EXPECT_EQ(Region::open("node:0,4095", small()).code(), Errc::kInvalidOption);
  auto giant = Region::open("node:0,0?huge=1G", small());
  ASSERT_TRUE(giant);
  giant->data()[0] = std::byte{1};
  EXPECT_NE(giant->report().page_reason.find("stripes over several nodes"), std::string::npos)
      << giant->report().page_reason;
}

TEST(AnonymousRegion, CannotBeOpenedNorWrittenByPages) {
  EXPECT_EQ(Region::open("dram", with(RegionAccess::kOpen)).code(), Errc::kNotFound);
  EXPECT_EQ(Region::open("dram", with(RegionAccess::kOpenReadOnly)).code(), Errc::kNotFound);
  EXPECT_EQ(Region::open("dram?granularity=page", small()).code(), Errc::kUnsupported);
}

TEST(RegionReport, SaysWhatWasFoundAndWhatWasAssumed) {
  const Scratch scratch = Scratch::tmpfs();
  const auto found = Region::open(scratch.path("a"), small()).value().report();
  EXPECT_EQ(found.kind, "directory");
  EXPECT_EQ(found.file_system, "tmpfs");
  EXPECT_EQ(found.granularity, Granularity::kNone);
  EXPECT_EQ(found.granularity_source, "tmpfs lives in DRAM");
  EXPECT_EQ(found.write_back, WriteBackInstruction::kNone);
  EXPECT_EQ(found.mapping, "MAP_SHARED, no MAP_SYNC: EOPNOTSUPP");

  const auto spec = scratch.path("b") + "?granularity=line&nt_evicts=on";
  const auto assumed = Region::open(spec, small(RegionLayout::kFile)).value().report();
  EXPECT_EQ(assumed.spec, spec);
  EXPECT_EQ(assumed.kind, "file");
  EXPECT_EQ(assumed.granularity, Granularity::kLine);
  EXPECT_EQ(assumed.granularity_source,
            "assumed (granularity=line); found: none, tmpfs lives in DRAM");
  EXPECT_NE(assumed.write_back, WriteBackInstruction::kNone);
  EXPECT_TRUE(assumed.nt_evicts);
  EXPECT_EQ(assumed.nt_evicts_source, "assumed (nt_evicts=on)");

  const Scratch disk = Scratch::disk();
  const auto page = Region::open(disk.path("c"), small()).value().report();
  if (page.file_system == "tmpfs") GTEST_SKIP() << disk.directory() << " is on tmpfs";
  EXPECT_EQ(page.granularity, Granularity::kPage) << page.granularity_source;
  EXPECT_EQ(page.mapping, "MAP_SHARED, read-only; written with pwritev");
}

TEST(RegionReport, TellsWhyPagesAreSmall) {
  const Scratch scratch = Scratch::tmpfs();
  auto options = small();
  options.prefault = true;
  const auto off = Region::open(scratch.path("off") + "?huge=off", options).value().report();
  EXPECT_EQ(off.page_bytes, 4096u);
  EXPECT_EQ(off.page_reason, "huge=off");
  options.unit_bytes = 1 * MiB;
  const auto odd = Region::open(scratch.path("odd"), options).value().report();
  EXPECT_EQ(odd.page_bytes, 4096u);
  EXPECT_NE(odd.page_reason.find("no multiple of 2 MiB"), std::string::npos) << odd.page_reason;
}

TEST(RegionLayoutOfANewPath, FollowsTheTrailingSlashThenTheOption) {
  const Scratch scratch = Scratch::tmpfs();
  EXPECT_EQ(Region::open(scratch.path("a/"), small(RegionLayout::kFile)).value().report().kind,
            "directory");
  EXPECT_EQ(Region::open(scratch.path("b"), small(RegionLayout::kFile)).value().report().kind,
            "file");
  EXPECT_EQ(Region::open(scratch.path("c"), small()).value().report().kind, "directory");
  EXPECT_EQ(Region::open(scratch.path("b/"), small()).code(), Errc::kInvalidOption);
}

// The unit of a directory is that of its files, whatever a later caller asks for.
TEST(RegionUnit, OfADirectoryIsThatOfItsFiles) {
  const Scratch scratch = Scratch::tmpfs();
  {
    ASSERT_TRUE(Region::open(scratch.path("a"), small()));
  }
  RegionOptions other;
  other.unit_bytes = other.size_bytes = 16 * MiB;
  auto region = Region::open(scratch.path("a"), other).value();
  EXPECT_EQ(region.unit_bytes(), 2 * MiB);
  EXPECT_EQ(region.size_bytes(), 4 * MiB);
}

// "rr" (random) or "sr" (sequential) among the flags of the mapping that holds `address`.
std::string read_flags_at(const std::byte* address) {
  std::ifstream smaps("/proc/self/smaps");
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
      inside = place >= from && place < to;
    if (!inside || !line.starts_with("VmFlags:")) continue;
    // A fault of a mapping that wants huge pages reads 2 MiB from the disk, random or not.
    if (line.find(" rr") != std::string::npos && line.find(" hg") != std::string::npos)
      return "rr hg";
    return line.find(" rr") != std::string::npos   ? "rr"
           : line.find(" sr") != std::string::npos ? "sr"
                                                   : "none";
  }
  return "not mapped";
}

TEST(RegionAdvice, AFileOnADiskIsMappedForRandomReadsUntilToldOtherwise) {
  for (const auto layout : {RegionLayout::kDirectory, RegionLayout::kFile}) {
    Scratch scratch{Scratch::disk()};
    auto region = Region::open(scratch.path("region"), small(layout)).value();
    if (region.granularity() != Granularity::kPage) GTEST_SKIP() << "no disk here";
    const auto* data = region.data();
    EXPECT_EQ(read_flags_at(data), "rr");
    EXPECT_EQ(read_flags_at(data + 4 * MiB - 1), "rr");
    ASSERT_TRUE(region.advise(MiB + 1, MiB, ReadAdvice::kSequential));
    EXPECT_EQ(read_flags_at(data + MiB), "sr") << "whole pages around the range";
    EXPECT_EQ(read_flags_at(data + 2 * MiB), "sr");
    EXPECT_EQ(read_flags_at(data + MiB - 1), "rr");
    EXPECT_EQ(read_flags_at(data + 2 * MiB + 4096), "rr");
    ASSERT_TRUE(region.advise(0, region.size_bytes(), ReadAdvice::kNormal));
    EXPECT_EQ(read_flags_at(data), "none");
    ASSERT_TRUE(region.grow(6 * MiB));
    EXPECT_EQ(read_flags_at(data + 5 * MiB), "rr") << "what is grown later";
    ASSERT_TRUE(region.prefault(0, region.size_bytes()));
    ASSERT_TRUE(region.write(MiB, bytes("as before")));
    EXPECT_EQ(text_at(region, MiB, 9), "as before");
  }
}

TEST(RegionAdvice, ManyRangesAreFetchedAndStayInside) {
  Scratch scratch{Scratch::disk()};
  auto region = Region::open(scratch.path("region"), small()).value();
  ASSERT_TRUE(region.write(3 * MiB, bytes("far")));
  const Extent ranges[] = {{0, 1}, {2 * MiB - 1, 2}, {3 * MiB, 0}, {3 * MiB, 3}};
  EXPECT_TRUE(region.read_ahead(ranges));
  EXPECT_TRUE(region.fetch(ranges));
  EXPECT_TRUE(region.fetch({}));
  for (const Extent& range : ranges)
    EXPECT_TRUE(region.resident(range));
  EXPECT_EQ(text_at(region, 3 * MiB, 3), "far");
  const Extent beyond{4 * MiB - 1, 2};
  EXPECT_EQ(region.fetch({&beyond, 1}).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.read_ahead({&beyond, 1}).code(), Errc::kInvalidOption);
  EXPECT_FALSE(region.resident(beyond));
}

TEST(RegionAdvice, IsForFilesOnADiskAndStaysInside) {
  Scratch scratch{Scratch::tmpfs()};
  auto region = Region::open(scratch.path("region"), small()).value();
  EXPECT_EQ(read_flags_at(region.data()), "none");
  EXPECT_TRUE(region.advise(0, region.size_bytes(), ReadAdvice::kRandom));
  EXPECT_TRUE(region.advise(region.size_bytes(), 0, ReadAdvice::kRandom));
  EXPECT_EQ(read_flags_at(region.data()), "none");
  EXPECT_EQ(region.advise(1, region.size_bytes(), ReadAdvice::kRandom).error().code,
            Errc::kInvalidOption);
}

}  // namespace
}  // namespace holdfast
