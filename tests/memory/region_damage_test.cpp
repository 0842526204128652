// Files that are short, missing, foreign or vanish: refused with a reason, or read as zeros when
// asked.
#include <holdfast/memory/region.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "region_support.hpp"
#include "scratch.hpp"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

bool mentions(const Error& error, const std::string& part) {
  return error.detail.find(part) != std::string::npos;
}

class DamagedDirectory : public testing::Test {
 protected:
  // Three segments that hold their number at the end.
  void SetUp() override {
    auto options = small();
    options.size_bytes = 6 * MiB;
    auto region = Region::open(path, options).value();
    for (unsigned i = 0; i < 3; ++i) {
      ASSERT_TRUE(region.write((i + 1) * 2 * MiB - 1, bytes(std::to_string(i))));
    }
  }
  Error refusal(RegionAccess access = RegionAccess::kOpen) {
    auto region = Region::open(path, with(access));
    EXPECT_FALSE(region);
    return region ? Error{Errc::kOk, {}} : region.error();
  }
  std::string segment(int number) { return path + "/segment-00000" + std::to_string(number); }

  Scratch scratch = Scratch::tmpfs();
  std::string path = scratch.path("region");
};

TEST_F(DamagedDirectory, ShortSegmentNamesFileSizeAndExpectation) {
  for (const int number : {0, 1, 2}) {
    fs::resize_file(segment(number), 1 * MiB + 5);
    for (const auto access :
         {RegionAccess::kOpen, RegionAccess::kOpenReadOnly, RegionAccess::kOpenOrCreate}) {
      const auto error = refusal(access);
      EXPECT_EQ(error.code, Errc::kCorrupt);
      EXPECT_TRUE(mentions(error, segment(number))) << error.detail;
      EXPECT_TRUE(mentions(error, "holds 1048581 bytes; expected 2097152")) << error.detail;
    }
    fs::resize_file(segment(number), 2 * MiB);
  }
}

TEST_F(DamagedDirectory, ShortSegmentReadsAsZerosWhereTolerated) {
  fs::resize_file(segment(1), 1 * MiB + 5);
  const auto region = Region::open(path, tolerant()).value();
  EXPECT_EQ(region.size_bytes(), 6 * MiB);
  EXPECT_EQ(text_at(region, 2 * MiB - 1, 1), "0");
  for (auto at = 2 * MiB; at < 4 * MiB; ++at)
    ASSERT_EQ(region.data()[at], std::byte{0}) << at;
  EXPECT_EQ(text_at(region, 6 * MiB - 1, 1), "2");
  const auto damage = region.report().damage;
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_NE(damage[0].find("segment-000001 holds 1048581 bytes"), std::string::npos) << damage[0];
}

TEST_F(DamagedDirectory, MissingSegmentIsAGap) {
  for (const int number : {0, 1}) {
    fs::rename(segment(number), scratch.path("away"));
    const auto error = refusal();
    EXPECT_EQ(error.code, Errc::kCorrupt);
    EXPECT_TRUE(mentions(error, segment(number) + " is missing; expected 2097152 bytes"))
        << error.detail;
    const auto region = Region::open(path, tolerant()).value();
    for (auto at = number * 2 * MiB; at < (number + 1) * 2 * MiB; at += 64) {
      ASSERT_EQ(region.data()[at], std::byte{0});
    }
    EXPECT_EQ(text_at(region, 6 * MiB - 1, 1), "2");
    EXPECT_EQ(region.report().damage.size(), 1u);
    fs::rename(scratch.path("away"), segment(number));
  }
}

TEST_F(DamagedDirectory, EverySegmentShortOrStrangeIsStillAValue) {
  for (const int number : {0, 1, 2})
    fs::resize_file(segment(number), 0);
  EXPECT_EQ(refusal().code, Errc::kCorrupt);
  EXPECT_EQ(Region::open(path, tolerant()).code(), Errc::kCorrupt);
  fs::remove(segment(1));
  fs::create_directory(segment(1));
  EXPECT_EQ(refusal().code, Errc::kCorrupt);
  fs::remove(segment(1));
  ASSERT_EQ(::mkfifo(segment(1).c_str(), 0600), 0);  // Opening it would wait for a writer.
  EXPECT_EQ(refusal(RegionAccess::kOpenReadOnly).code, Errc::kCorrupt);
  std::ofstream(path + "/segment-99999999999999999999") << "x";
  std::ofstream(path + "/segment-9000000000000000000") << "x";
  EXPECT_EQ(refusal().code, Errc::kCorrupt);
  EXPECT_FALSE(Region::open(path, tolerant()));
}

TEST_F(DamagedDirectory, LeftoversOfAnInterruptedGrowthGoAtAWritingOpen) {
  const auto leftover = path + "/segment-000003.tmp";
  std::ofstream(leftover) << "half";
  {
    ASSERT_TRUE(Region::open(path, with(RegionAccess::kOpenReadOnly)));
  }
  EXPECT_TRUE(fs::exists(leftover));
  {
    auto region = Region::open(path, with(RegionAccess::kOpen)).value();
    EXPECT_FALSE(fs::exists(leftover));
    EXPECT_EQ(region.size_bytes(), 6 * MiB);
  }
}

TEST_F(DamagedDirectory, HolesAreFilledSoThatNoStoreCanFail) {
  fs::remove(segment(1));
  {
    std::ofstream create(segment(1));
  }
  fs::resize_file(segment(1), 2 * MiB);
  {
    ASSERT_TRUE(Region::open(path, with(RegionAccess::kOpen)));
  }
  struct stat status{};
  ASSERT_EQ(::stat(segment(1).c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, static_cast<long>(2 * MiB));
}

// Bytes of the file that have blocks, as the file system tells; -1: it does not.
std::int64_t allocated_bytes(const std::string& path) {
  constexpr unsigned kExtents = 2048;
  std::vector<std::uint64_t> room((sizeof(fiemap) + kExtents * sizeof(fiemap_extent)) / 8);
  auto* const map = reinterpret_cast<fiemap*>(room.data());
  map->fm_length = ~std::uint64_t{0};
  map->fm_extent_count = kExtents;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int code = ::ioctl(fd, FS_IOC_FIEMAP, map);
  ::close(fd);
  if (code != 0) return -1;
  std::int64_t sum = 0;
  for (unsigned i = 0; i < map->fm_mapped_extents; ++i)
    sum += static_cast<std::int64_t>(map->fm_extents[i].fe_length);
  return sum;
}

// A file in many pieces has more blocks than its bytes need, since the list of the pieces counts.
TEST(RegionOpen, FillsAHoleThatTheNumberOfBlocksHides) {
  const Scratch scratch = Scratch::disk();
  const auto path = scratch.path("file");
  constexpr off_t kPages = 512;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(::ftruncate(fd, kPages * 4096), 0);
  const std::vector<char> page(4096, 'x');
  for (off_t i = 0; i < kPages; ++i) {
    if (i == 301) continue;
    if (i % 2 == 1) {
      ASSERT_EQ(::fallocate(fd, 0, i * 4096, 4096), 0);
    } else {
      ASSERT_EQ(::pwrite(fd, page.data(), page.size(), i * 4096), 4096);
    }
  }
  ::fsync(fd);
  ::close(fd);
  if (allocated_bytes(path) != (kPages - 1) * 4096) GTEST_SKIP() << "no such file can be made here";
  ASSERT_TRUE(Region::open(path, with(RegionAccess::kOpen)));
  EXPECT_EQ(allocated_bytes(path), kPages * 4096);
}

TEST(RegionRefuses, FilesOfOddSize) {
  const Scratch scratch = Scratch::tmpfs();
  const auto path = scratch.path("file");
  const auto options = small(RegionLayout::kFile);
  {
    ASSERT_TRUE(Region::open(path, options).value().write(0, bytes("head")));
  }
  fs::resize_file(path, 4 * MiB - 100);
  const auto refused = Region::open(path, options);
  ASSERT_EQ(refused.code(), Errc::kCorrupt);
  EXPECT_TRUE(mentions(refused.error(), path + " holds 4194204 bytes"));
  {
    const auto region = Region::open(path, tolerant()).value();
    EXPECT_EQ(text_at(region, 0, 4), "head");
    EXPECT_EQ(region.data()[4 * MiB - 1], std::byte{0});
    EXPECT_EQ(region.report().damage.size(), 1u);
  }
  fs::resize_file(path, 0);
  EXPECT_EQ(Region::open(path, with(RegionAccess::kOpen)).code(), Errc::kCorrupt);
  EXPECT_EQ(Region::open(path, tolerant()).code(), Errc::kCorrupt);
}

TEST(RegionRefuses, DirectoriesOfOthers) {
  const Scratch scratch = Scratch::tmpfs();
  std::ofstream(scratch.path("letter.txt")) << "dear";
  const auto refused = Region::open(scratch.directory(), small());
  ASSERT_EQ(refused.code(), Errc::kAlreadyExists);
  EXPECT_TRUE(mentions(refused.error(), "letter.txt")) << refused.error().detail;
  EXPECT_EQ(Region::open(scratch.directory(), with(RegionAccess::kOpen)).code(), Errc::kNotFound);
  EXPECT_EQ(fs::file_size(scratch.path("letter.txt")), 4u);
}

TEST(RegionRefuses, PathsThatLeadNowhereOrToStrangeThings) {
  const Scratch scratch = Scratch::tmpfs();
  EXPECT_EQ(Region::open(scratch.path("no/such/place"), small()).code(), Errc::kNotFound);
  std::ofstream(scratch.path("file")) << "x";
  EXPECT_EQ(Region::open(scratch.path("file/below"), small()).code(), Errc::kIo);  // ENOTDIR
  ASSERT_EQ(::mkfifo(scratch.path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(Region::open(scratch.path("fifo"), small()).code(), Errc::kUnsupported);
  const auto device = Region::open("/dev/null", small());
  ASSERT_EQ(device.code(), Errc::kUnsupported);
  EXPECT_TRUE(mentions(device.error(), "not a devdax"));
}

// Such a link leads to a place where nothing is, and nobody is replacing anything.
TEST(RegionRefuses, ALinkThatLeadsNowhereByItsName) {
  const Scratch scratch = Scratch::tmpfs();
  fs::create_symlink(scratch.path("gone"), scratch.path("link"));
  for (const auto layout : {RegionLayout::kFile, RegionLayout::kDirectory}) {
    const auto refused = Region::open(scratch.path("link"), small(layout));
    ASSERT_EQ(refused.code(), Errc::kNotFound) << refused.error().detail;
    EXPECT_TRUE(mentions(refused.error(), "link is a symbolic link to " + scratch.path("gone")))
        << refused.error().detail;
  }
  EXPECT_FALSE(fs::exists(scratch.path("gone")));
}

// Bytes that this user may not read are not damaged.
TEST(RegionRefuses, FilesThatMayNotBeReadByTheReason) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user's files need root";
  const Scratch scratch = Scratch::tmpfs();
  ASSERT_EQ(::chmod(scratch.directory().c_str(), 0755), 0);
  ASSERT_TRUE(Region::open(scratch.path("region"), small()));
  for (const auto* name : {"region/segment-000000", "region/segment-000001"})
    ASSERT_EQ(::chmod(scratch.path(name).c_str(), 0600), 0);
  ASSERT_EQ(::seteuid(65534), 0);
  const auto refused = Region::open(scratch.path("region"), tolerant());
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_EQ(refused.code(), Errc::kIo) << refused.error().detail;
  EXPECT_TRUE(mentions(refused.error(), "Permission denied")) << refused.error().detail;
}

TEST(RegionRefuses, DevicesThatAreNotThereInsteadOfMakingThemInMemory) {
  for (const std::string path :
       {"/dev/holdfast-dax9.9", "/dev/../dev/holdfast-dax9.9", "/dev/holdfast-directory/"}) {
    for (const auto layout : {RegionLayout::kFile, RegionLayout::kDirectory}) {
      auto options = small();
      options.layout = layout;
      const auto refused = Region::open(path, options);
      ASSERT_EQ(refused.code(), Errc::kNotFound) << path;
      EXPECT_TRUE(mentions(refused.error(), "no such device; there ")) << refused.error().detail;
      EXPECT_FALSE(fs::exists(path));
    }
  }
  const Scratch scratch =
      Scratch::tmpfs();  // In /dev/shm where there is one: still a place for files.
  EXPECT_TRUE(Region::open(scratch.path("region"), small()));
}

TEST(RegionThatVanishes, CannotGrowAndSaysSo) {
  const Scratch scratch = Scratch::tmpfs();
  const auto path = scratch.path("region");
  auto region = Region::open(path, small()).value();
  ASSERT_TRUE(region.write(0, bytes("still mapped")));
  fs::remove_all(path);
  const auto status = region.grow(6 * MiB);
  ASSERT_FALSE(status);
  EXPECT_TRUE(mentions(status.error(), "was the directory removed")) << status.error().detail;
  EXPECT_EQ(region.size_bytes(), 4 * MiB);
  EXPECT_EQ(text_at(region, 0, 12), "still mapped");
}

// fdatasync of a removed file succeeds, and what it made durable is gone all the same.
TEST(RegionThatVanishes, FailsItsSync) {
  const Scratch scratch = Scratch::disk();
  for (const auto layout : {RegionLayout::kDirectory, RegionLayout::kFile}) {
    const auto path = scratch.path("region") + (layout == RegionLayout::kFile ? "f" : "d");
    auto region = Region::open(path + "?granularity=page", small(layout)).value();
    ASSERT_TRUE(region.write(0, bytes("x")));
    ASSERT_TRUE(region.sync());
    fs::remove_all(path);
    ASSERT_TRUE(region.write(0, bytes("y")));
    const auto status = region.sync();
    ASSERT_EQ(status.code(), Errc::kIo);
    EXPECT_TRUE(mentions(status.error(), "was removed while in use")) << status.error().detail;
    EXPECT_EQ(region.sync().code(), Errc::kReadOnly);
    EXPECT_TRUE(region.read_only());
  }
}

class SmallTmpfs : public testing::TestWithParam<RegionLayout> {
 protected:
  void SetUp() override {
    fs::create_directory(mount_point);
    if (::mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=8m") != 0) {
      GTEST_SKIP() << "mounting a small tmpfs needs root and CAP_SYS_ADMIN: "
                   << std::strerror(errno);
    }
    mounted = true;
  }
  void TearDown() override {
    if (mounted) ::umount2(mount_point.c_str(), MNT_DETACH);
  }
  std::uint64_t free_bytes() { return fs::space(mount_point).available; }

  Scratch scratch = Scratch::disk();
  std::string mount_point = scratch.path("mount");
  bool mounted = false;
};

TEST_P(SmallTmpfs, GrowingIntoNoSpaceLeavesNothingBehind) {
  for (const std::string options : {"", "?granularity=page", "?granularity=line&huge=off"}) {
    const auto path = mount_point + "/region";
    {
      auto region = Region::open(path + options, small(GetParam())).value();
      ASSERT_TRUE(region.write(0, bytes("kept")));
      const auto before = free_bytes();
      const auto status = region.grow(16 * MiB);
      ASSERT_EQ(status.code(), Errc::kNoSpace) << options;
      EXPECT_EQ(region.size_bytes(), 4 * MiB);
      EXPECT_EQ(free_bytes(), before);
      EXPECT_EQ(text_at(region, 0, 4), "kept");
      EXPECT_TRUE(region.write(4 * MiB - 4, bytes("too")));
      EXPECT_TRUE(region.sync());
      EXPECT_TRUE(region.shrink(2 * MiB));
      EXPECT_TRUE(region.grow(6 * MiB));
    }
    EXPECT_EQ(Region::open(path + options, with(RegionAccess::kOpen)).value().size_bytes(),
              6 * MiB);
    fs::remove_all(path);
  }
}

TEST_P(SmallTmpfs, CreatingIntoNoSpaceLeavesNothingBehind) {
  auto options = small(GetParam());
  options.size_bytes = 32 * MiB;
  EXPECT_EQ(Region::open(mount_point + "/region", options).code(), Errc::kNoSpace);
  EXPECT_TRUE(fs::is_empty(mount_point));
  EXPECT_EQ(free_bytes(), 8 * MiB);
}

INSTANTIATE_TEST_SUITE_P(Layouts, SmallTmpfs,
                         testing::Values(RegionLayout::kDirectory, RegionLayout::kFile),
                         [](const auto& test) {
                           return test.param == RegionLayout::kFile ? "File" : "Directory";
                         });

}  // namespace
}  // namespace holdfast
