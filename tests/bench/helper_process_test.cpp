// The process that forks workers for benchmarks of stores: no end of a worker or of itself makes
// the benchmark wait for ever.
#include <holdfast/bench/kv/helper_process.hpp>

#include <csignal>

#include <unistd.h>

#include <gtest/gtest.h>

namespace holdfast::bench::kv {
namespace {

using WorkerBody = std::function<Status(HelperShared&)>;

std::unique_ptr<HelperProcess> helper(WorkerBody body) {
  const auto work = [body](const std::string&, HelperShared& shared) { return body(shared); };
  return HelperProcess::start({work, work}).value();
}

// Was: recv() of a closed socket said "nothing yet", for ever.
TEST(HelperProcess, AServerThatIsGoneEndsTheWait) {
  const WorkerBody kill_the_server = [](HelperShared&) -> Status {
    ::kill(::getppid(), SIGKILL);
    for (;;)
      ::pause();
  };
  const auto grown = helper(kill_the_server)->grow("any");
  ASSERT_FALSE(grown);
  EXPECT_EQ(grown.code(), Errc::kIo) << grown.error().message();
  const auto killed = helper(kill_the_server)->kill_at_work("any", 1, 0.01);
  ASSERT_FALSE(killed);
  EXPECT_EQ(killed.code(), Errc::kIo) << killed.error().message();
}

TEST(HelperProcess, AWorkerThatFailsSaysWhy) {
  const auto grown = helper([](HelperShared&) -> Status {
                       return Error{Errc::kNoSpace, "no room here"};
                     })->grow("any");
  ASSERT_FALSE(grown);
  EXPECT_NE(grown.error().message().find("no room here"), std::string::npos);
}

TEST(HelperProcess, AWorkerIsKilledWhenItHasDoneItsWork) {
  const auto acknowledged = helper([](HelperShared& shared) -> Status {
                              shared.acknowledged.store(7);
                              for (;;)
                                ::pause();
                            })->kill_at_work("any", 5, 30);
  ASSERT_TRUE(acknowledged) << acknowledged.error().message();
  EXPECT_EQ(*acknowledged, 7u);
}

}  // namespace
}  // namespace holdfast::bench::kv
