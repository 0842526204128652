// Where results go: files are replaced as a whole, everything else is written into and stays what
// it is (MEM-1, MEM-2).
#include <holdfast/results/output.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace holdfast::results {
namespace {

namespace fs = std::filesystem;

class OutputTest : public testing::Test {
 protected:
  OutputTest() : at_(fs::temp_directory_path() / ("holdfast-output-" + std::to_string(getpid()))) {
    fs::remove_all(at_);
    fs::create_directory(at_);
  }
  ~OutputTest() override { fs::remove_all(at_); }

  std::string path(const std::string& name) const { return (at_ / name).string(); }
  std::string text(const std::string& name) const { return read_file(path(name), 1000).value(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(at_), fs::directory_iterator()));
  }

  const fs::path at_;
};

TEST_F(OutputTest, AFileIsReplacedAsAWholeAndKeepsItsRights) {
  ASSERT_TRUE(write_file("old and longer", path("r.json")));
  ASSERT_EQ(::chmod(path("r.json").c_str(), 0640), 0);
  const int old = ::open(path("r.json").c_str(), O_RDONLY);
  ASSERT_TRUE(write_file("new", path("r.json")));
  EXPECT_EQ(text("r.json"), "new");
  char still[20] = {};
  EXPECT_EQ(::read(old, still, sizeof still), 14);  // A reader of the old one keeps it.
  ::close(old);
  EXPECT_EQ(fs::status(path("r.json")).permissions(), static_cast<fs::perms>(0640));
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputTest, AUsersFileWithANameLikeOursIsLeftAlone) {
  ASSERT_TRUE(write_file("the user's", path("r.json.new")));
  ASSERT_TRUE(write_file("ours", path("r.json")));
  EXPECT_EQ(text("r.json.new"), "the user's");
}

TEST_F(OutputTest, ALinkStaysAndItsTargetIsWritten) {
  fs::create_directory(at_ / "far");
  fs::create_symlink("far/real.json", path("link.json"));
  fs::create_symlink("link.json", path("link2.json"));
  ASSERT_TRUE(check_writable(path("link2.json")));
  ASSERT_TRUE(write_file("through two links", path("link2.json")));  // The target is not there yet.
  EXPECT_EQ(text("far/real.json"), "through two links");
  ASSERT_TRUE(write_file("again", path("link.json")));
  EXPECT_EQ(text("far/real.json"), "again");
  EXPECT_TRUE(fs::is_symlink(path("link.json")) && fs::is_symlink(path("link2.json")));
  fs::create_symlink("round", path("round"));
  EXPECT_EQ(check_writable(path("round")).code(), Errc::kIo);
}

TEST_F(OutputTest, ANamedPipeIsWrittenInto) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  ASSERT_TRUE(check_writable(path("pipe")));  // Does not wait for a reader.
  std::string got;
  std::thread reader([&] { got = text("pipe"); });
  const auto status = write_file("into the pipe", path("pipe"));
  reader.join();
  EXPECT_TRUE(status);
  EXPECT_EQ(got, "into the pipe");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(OutputTest, ADeviceIsWrittenIntoAndStaysOne) {
  EXPECT_TRUE(check_writable("/dev/full"));
  const auto status = write_file("text", "/dev/full");
  EXPECT_EQ(status.code(), Errc::kIo);
  EXPECT_NE(status.error().detail.find("No space left"), std::string::npos);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_TRUE(write_file("text", "/dev/null"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputTest, WhatIsStandardOutputUnderAnotherNameIsWrittenToItAndNotReplaced) {
  const int before = ::dup(STDOUT_FILENO);
  const int file = ::open(path("out.txt").c_str(), O_RDWR | O_CREAT, 0600);
  std::fflush(stdout);
  ::dup2(file, STDOUT_FILENO);
  const bool by_name = is_standard_output(path("out.txt"));
  const bool by_device = is_standard_output("/dev/stdout");
  std::fputs("first, ", stdout);
  const auto status = write_file("second", "/dev/stdout");
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  ::close(file);
  EXPECT_TRUE(by_name && by_device && status);
  EXPECT_EQ(text("out.txt"), "first, second");
  EXPECT_FALSE(is_standard_output(path("out.txt")));
  EXPECT_TRUE(is_standard_output("-"));
}

// BEN-8: a workload file that is a pipe without a writer was waited for, for ever.
TEST_F(OutputTest, APipeIsReadIfSomebodyWritesIntoIt) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(read_file(path("pipe"), 1000).error().detail.find("nobody writes"), std::string::npos);
}

TEST_F(OutputTest, WhatCannotBeWrittenIsKnownBefore) {
  EXPECT_EQ(check_writable(at_.string()).code(), Errc::kInvalidOption);
  EXPECT_EQ(check_writable(path("no/where.json")).code(), Errc::kIo);
  EXPECT_EQ(check_writable("/proc/x.json").code(), Errc::kIo);
  EXPECT_EQ(write_file("text", "/proc/x.json").code(), Errc::kIo);
  // A test leaves nothing and changes nothing.
  ASSERT_TRUE(write_file("kept", path("r.json")));
  EXPECT_TRUE(check_writable(path("r.json")) && check_writable(path("new.json")));
  EXPECT_EQ(text("r.json"), "kept");
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace holdfast::results
