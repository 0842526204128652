#include <holdfast/base/child_process.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(ChildProcess, HasTheFilesThatItWasGivenAndEndsWithItsCode) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  auto child = ChildProcess::start({"sh", "-c", "echo \"$1\" >&5; exit 7", "sh", "a word"},
                                   {{pipe[1], 5}}, false);
  ::close(pipe[1]);
  ASSERT_TRUE(child) << child.error().detail;
  std::string said(64, '\0');
  said.resize(static_cast<std::size_t>(::read(pipe[0], said.data(), said.size())));
  EXPECT_EQ(said, "a word\n");
  const int status = child->wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(child->wait(), 0) << "another child is not waited for";
  EXPECT_EQ(::read(pipe[0], said.data(), 1), 0);
  ::close(pipe[0]);
}

TEST(ChildProcess, IsKilledWithItsObjectAndLeavesNothing) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  {
    auto child = ChildProcess::start({"sh", "-c", "echo $$ >&1; exec sleep 600"},
                                     {{pipe[1], STDOUT_FILENO}}, true);
    ASSERT_TRUE(child);
    std::string said(64, '\0');
    ASSERT_GT(::read(pipe[0], said.data(), said.size()), 0);
    EXPECT_EQ(::getpgid(std::stoi(said)), std::stoi(said));
    auto other = *std::move(child);
    other.kill();
    const int status = other.wait();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    auto last = ChildProcess::start({"sleep", "600"}, {}, false);
    ASSERT_TRUE(last);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(ChildProcess, AProgramThatIsNotThereIsAnError) {
  const auto child = ChildProcess::start({"no-such-program"}, {}, false);
  ASSERT_EQ(child.code(), Errc::kNotFound);
  EXPECT_EQ(child.error().detail, "No such file or directory");
}

// A signal that is ignored or blocked here is neither there.
TEST(ChildProcess, HasSignalsAsAtTheStartOfAProgram) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto handler = ::signal(SIGPIPE, SIG_IGN);
  auto child = ChildProcess::start({"sh", "-c", "kill -PIPE $$; exit 1"}, {}, false);
  auto other = ChildProcess::start({"sh", "-c", "kill -TERM $$; exit 1"}, {}, false);
  ::signal(SIGPIPE, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(child && other);
  const int first = child->wait(), second = other->wait();
  EXPECT_TRUE(WIFSIGNALED(first) && WTERMSIG(first) == SIGPIPE) << first;
  EXPECT_TRUE(WIFSIGNALED(second) && WTERMSIG(second) == SIGTERM) << second;
}

}  // namespace
}  // namespace holdfast
