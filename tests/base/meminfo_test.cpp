#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <holdfast/base/meminfo.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast {
namespace {

TEST(Meminfo, AProcessMayUseNoMoreThanTheMachineHas) {
  EXPECT_GT(memory_limit_bytes(), 0u);
  EXPECT_LE(memory_limit_bytes(), meminfo("MemTotal"));
  EXPECT_EQ(meminfo("NoSuchLine"), 0u);
}

// A group below an own one, which a child enters.
TEST(Meminfo, TheLimitOfAControlGroupCounts) {
  namespace fs = std::filesystem;
  const auto groups = memory_groups();
  if (groups.empty()) GTEST_SKIP() << "no control group has a limit here";
  const auto& own = groups.front();
  const fs::path inside =
      fs::path(own.directory) / ("holdfast_meminfo_test_" + std::to_string(::getpid()));
  std::error_code refused;
  if (!fs::create_directory(inside, refused)) GTEST_SKIP() << "no control group can be made here";
  const char* const limit = own.version_2 ? "memory.max" : "memory.limit_in_bytes";
  const bool set = bool(std::ofstream(inside / limit) << 512 * MiB << std::flush);
  if (set) {
    EXPECT_EXIT(
        {
          std::ofstream(inside / "cgroup.procs") << ::getpid() << std::flush;
          std::_Exit(memory_limit_bytes() == 512 * MiB ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
  }
  fs::remove(inside, refused);
  if (!set) GTEST_SKIP() << "the group takes no limit";
}

}  // namespace
}  // namespace holdfast
