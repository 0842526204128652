// Locks between processes: which process is kept out, which is named, and that no lock outlives its
// owner.
#include <holdfast/memory/region.hpp>

#include <gtest/gtest.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "region_support.hpp"
#include "scratch.hpp"

namespace holdfast {
namespace {

// A child process that opens a region, says so, and holds it until it is killed.
class Holder {
 public:
  Holder(const std::string& spec, const RegionOptions& options) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
      const auto region = Region::open(spec, options);
      const char said = region ? 'y' : 'n';
      if (::write(ends[1], &said, 1) != 1) ::_exit(1);
      while (true)
        ::pause();
    }
    ::close(ends[1]);
    char said = 0;
    holds_ = ::read(ends[0], &said, 1) == 1 && said == 'y';
    ::close(ends[0]);
  }
  Holder(const Holder&) = delete;
  ~Holder() { kill(); }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  bool holds() const { return holds_; }
  std::string pid() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = 0;
  bool holds_ = false;
};

class RegionLock : public testing::TestWithParam<RegionLayout> {
 protected:
  void SetUp() override { ASSERT_TRUE(Region::open(path, options)); }
  Scratch scratch = Scratch::tmpfs();
  std::string path = scratch.path("region");
  RegionOptions options = small(GetParam());
};

TEST_P(RegionLock, SecondProcessIsToldTheFirstOnesPid) {
  const Holder holder(path, options);
  ASSERT_TRUE(holder.holds());
  for (const auto access : {RegionAccess::kOpen, RegionAccess::kOpenReadOnly,
                            RegionAccess::kOpenOrCreate, RegionAccess::kCreate}) {
    const auto refused = Region::open(path, with(access, options));
    ASSERT_EQ(refused.code(), Errc::kBusy);
    EXPECT_NE(refused.error().detail.find("process " + holder.pid() + " (memory_test)"),
              std::string::npos)
        << refused.error().detail;
  }
}

TEST_P(RegionLock, DiesWithItsOwner) {
  Holder holder(path, options);
  ASSERT_EQ(Region::open(path, options).code(), Errc::kBusy);
  holder.kill();  // SIGKILL: nothing of the owner runs any more.
  EXPECT_TRUE(Region::open(path, options));
}

TEST_P(RegionLock, ReadersShareItAndKeepWritersOut) {
  const auto read_only = with(RegionAccess::kOpenReadOnly, options);
  Holder first(path, read_only), second(path, read_only);
  ASSERT_TRUE(first.holds() && second.holds());
  EXPECT_TRUE(Region::open(path, read_only));
  const auto refused = Region::open(path, options);
  ASSERT_EQ(refused.code(), Errc::kBusy);
  EXPECT_NE(refused.error().detail.find("and 1 more"), std::string::npos) << refused.error().detail;
  first.kill();
  EXPECT_EQ(Region::open(path, options).code(), Errc::kBusy);
  second.kill();
  EXPECT_TRUE(Region::open(path, options));
}

// Two processes that came by different names would both have written.
TEST_P(RegionLock, IsOfTheFilesWhateverTheirNames) {
  namespace fs = std::filesystem;
  const std::string symbolic = scratch.path("symbolic"), hard = scratch.path("hard"),
                    moved = scratch.path("moved");
  fs::create_symlink(path, symbolic);
  if (fs::is_directory(path)) {  // As `cp -al` does.
    fs::create_directory(hard);
    for (const auto& entry : fs::directory_iterator(path))
      fs::create_hard_link(entry.path(), fs::path(hard) / entry.path().filename());
  } else {
    fs::create_hard_link(path, hard);
  }
  for (const auto& [first, second] :
       {std::pair{path, symbolic}, {path, hard}, {symbolic, hard}, {hard, path}}) {
    const Holder holder(first, options);
    ASSERT_TRUE(holder.holds()) << first;
    const auto refused = Region::open(second, options);
    ASSERT_EQ(refused.code(), Errc::kBusy) << first << ", then " << second;
    EXPECT_NE(refused.error().detail.find("process " + holder.pid()), std::string::npos)
        << refused.error().detail;
    EXPECT_EQ(Region::open(second, with(RegionAccess::kOpenReadOnly, options)).code(), Errc::kBusy);
  }
  const Holder holder(path, options);
  fs::rename(path, moved);
  EXPECT_EQ(Region::open(moved, options).code(), Errc::kBusy);
  EXPECT_TRUE(Region::open(path, with(RegionAccess::kCreate, options))) << "another one";
}

// Not only after it was opened again.
TEST_P(RegionLock, OfANewRegionIsOfItsFilesToo) {
  namespace fs = std::filesystem;
  const std::string fresh = scratch.path("fresh"), hard = scratch.path("hard");
  const Holder holder(fresh, with(RegionAccess::kCreate, options));
  ASSERT_TRUE(holder.holds());
  if (fs::is_directory(fresh)) {
    fs::create_directory(hard);
    for (const auto& entry : fs::directory_iterator(fresh))
      fs::create_hard_link(entry.path(), fs::path(hard) / entry.path().filename());
  } else {
    fs::create_hard_link(fresh, hard);
  }
  EXPECT_EQ(Region::open(hard, options).code(), Errc::kBusy);
}

TEST_P(RegionLock, EndsWithTheRegion) {
  {
    const auto region = Region::open(path, options).value();
    EXPECT_EQ(Region::open(path, options).code(), Errc::kBusy);
  }
  EXPECT_TRUE(Region::open(path, options));
}

TEST_P(RegionLock, MovesWithTheRegion) {
  auto region = Region::open(path, options).value();
  const Region moved = std::move(region);
  EXPECT_EQ(Region::open(path, options).code(), Errc::kBusy);
}

INSTANTIATE_TEST_SUITE_P(Layouts, RegionLock,
                         testing::Values(RegionLayout::kDirectory, RegionLayout::kFile),
                         [](const auto& test) {
                           return test.param == RegionLayout::kFile ? "File" : "Directory";
                         });

}  // namespace
}  // namespace holdfast
