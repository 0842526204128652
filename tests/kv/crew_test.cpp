#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <holdfast/kv/crew.hpp>

namespace holdfast::kv {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

template <class Condition>
bool soon(Condition&& condition) {
  for (int waited_ms = 0; !condition() && waited_ms < 20'000; ++waited_ms)
    ::usleep(1'000);
  return condition();
}

TEST(Crew, DoesARoundAfterEachInterval) {
  Crew crew(1);
  std::atomic<int> rounds{0};
  Crew::Job* const job = crew.add(milliseconds(1), [&] { ++rounds; }).value();
  EXPECT_TRUE(soon([&] { return rounds > 5; }));
  crew.remove(job);
  const int last = rounds;
  ::usleep(20'000);
  EXPECT_EQ(rounds, last);
}

TEST(Crew, DoesARoundWhenItIsAskedFor) {
  Crew crew(1);
  std::atomic<int> rounds{0};
  Crew::Job* const job = crew.add(hours(1), [&] { ++rounds; }).value();
  ::usleep(20'000);
  EXPECT_EQ(rounds, 0);
  EXPECT_TRUE(soon([&] { return crew.ask(*job), rounds > 0; }));
  crew.remove(job);
}

TEST(Crew, NeverDoesTwoRoundsOfAJobAtATime) {
  Crew crew(4);
  std::atomic<int> inside{0}, most{0}, rounds{0};
  const auto round = [&] {
    const int now = ++inside;
    if (now > most) most = now;
    ::usleep(100);
    --inside, ++rounds;
  };
  Crew::Job* const job = crew.add(milliseconds(0), round).value();
  // Others, so that there are threads.
  std::vector<Crew::Job*> others;
  for (int i = 0; i < 3; ++i)
    others.push_back(crew.add(hours(1), [] {}).value());
  EXPECT_EQ(crew.threads(), 4u);
  EXPECT_TRUE(soon([&] { return crew.ask(*job), rounds > 100; }));
  EXPECT_EQ(most, 1);
  crew.remove(job);
  for (Crew::Job* other : others)
    crew.remove(other);
}

TEST(Crew, HasAThreadPerJobUpToItsLimitAndStarvesNone) {
  Crew crew(2);
  constexpr int kJobs = 10;
  std::atomic<int> rounds[kJobs] = {};
  std::vector<Crew::Job*> jobs;
  for (int i = 0; i < kJobs; ++i) {
    // All are due all the time, and the first asks without end.
    jobs.push_back(crew.add(milliseconds(0), [&rounds, i] { ++rounds[i]; }).value());
    EXPECT_EQ(crew.threads(), i == 0 ? 1u : 2u);
  }
  EXPECT_TRUE(soon([&] {
    crew.ask(*jobs[0]);
    for (auto& count : rounds) {
      if (count < 10) return false;
    }
    return true;
  }));
  for (Crew::Job* job : jobs)
    crew.remove(job);
}

TEST(Crew, RemoveWaitsForTheRoundUnderWay) {
  Crew crew(1);
  std::atomic<bool> begun{false}, ended{false};
  Crew::Job* const job = crew.add(milliseconds(0),
                                  [&] {
                                    begun = true;
                                    ::usleep(50'000);
                                    ended = true;
                                  })
                             .value();
  ASSERT_TRUE(soon([&] { return begun.load(); }));
  crew.remove(job);
  EXPECT_TRUE(ended);
}

TEST(Crew, AForkedChildIsRefusedAndMayLetItGo) {
  auto crew = std::make_unique<Crew>(2);
  Crew::Job* const job = crew->add(milliseconds(1), [] {}).value();
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto refused = crew->add(milliseconds(1), [] {});
    const bool right = refused.code() == Errc::kInvalidOption && crew->of_another_process();
    crew.reset();  // Its job is still in it, and its threads are not here.
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_FALSE(crew->of_another_process());
  crew->remove(job);
}

}  // namespace
}  // namespace holdfast::kv
