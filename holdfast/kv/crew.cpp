#include <holdfast/kv/crew.hpp>

#include <unistd.h>

#include <algorithm>
#include <list>
#include <system_error>
#include <thread>
#include <vector>

#include <holdfast/base/check.hpp>
#include <holdfast/base/condition.hpp>

namespace holdfast::kv {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct Crew::Job {
  std::function<void()> round;
  std::chrono::milliseconds interval;
  Clock::time_point last;  // The end of its last round.
  std::atomic<bool> asked{false};
  bool running = false;
  bool leaving = false;  // No round begins any more.

  Clock::time_point due() const {
    return asked.load(std::memory_order_relaxed) ? last : last + interval;
  }
};

struct Crew::State {
  const pid_t process = ::getpid();
  const unsigned most_threads;
  mutable KernelMutex mutex;
  Condition changed;  // For threads that wait for work.
  Condition ended;    // A round has.
  std::list<Job> jobs HF_GUARDED_BY(mutex);
  std::vector<std::thread> threads HF_GUARDED_BY(mutex);
  bool ending HF_GUARDED_BY(mutex) = false;

  explicit State(unsigned most) : most_threads(most) {}

  // The job to do now, or null and how long none is due.
  Job* next(Clock::duration& quiet) HF_REQUIRES(mutex) {
    const auto now = Clock::now();
    auto earliest = now + std::chrono::hours(1);
    Job* next = nullptr;
    for (Job& job : jobs) {
      if (job.running || job.leaving) continue;
      earliest = std::min(earliest, job.due());
      if (job.due() <= now && (next == nullptr || job.last < next->last)) next = &job;
    }
    quiet = earliest - now;
    return next;
  }

  void work() {
    UniqueLock lock(mutex);
    while (!ending) {
      Clock::duration quiet{};
      Job* const job = next(quiet);
      if (job == nullptr) {
        changed.wait_for(mutex, quiet);
        continue;
      }
      job->running = true;
      job->asked.store(false, std::memory_order_relaxed);
      lock.unlock();
      try {
        job->round();
      } catch (const std::bad_alloc&) {  // The next round may find memory.
      }
      lock.lock();
      job->running = false;
      job->last = Clock::now();
      ended.notify_all();
    }
  }
};

Crew::Crew(unsigned most_threads) : state_(std::make_unique<State>(most_threads)) {}

Crew::~Crew() {
  if (of_another_process()) {
    // Its threads wait in a condition, as far as this process knows: neither can be destroyed.
    (void)state_.release();
    return;
  }
  std::vector<std::thread> threads;
  {
    const Lock lock(state_->mutex);
    HF_CHECK(state_->jobs.empty());
    state_->ending = true;
    threads.swap(state_->threads);
  }
  state_->changed.notify_all();
  for (std::thread& thread : threads)
    thread.join();
}

Result<Crew::Job*> Crew::add(std::chrono::milliseconds interval, std::function<void()> round) {
  if (of_another_process()) {
    return Error{Errc::kInvalidOption,
                 "background_pool was made before fork() by the parent, whose threads this process "
                 "does not have; make one after the fork"};
  }
  State& state = *state_;
  const Lock lock(state.mutex);
  Job& job = state.jobs.emplace_back();
  job.round = std::move(round);
  job.interval = interval;
  job.last = Clock::now();
  if (state.threads.size() < std::min<std::size_t>(state.most_threads, state.jobs.size())) {
    try {
      state.threads.emplace_back([&state] { state.work(); });
    } catch (const std::system_error& error) {
      if (state.threads.empty()) {
        state.jobs.pop_back();
        return Error{Errc::kNoSpace, std::string("no thread for background work: ") + error.what()};
      }
    }
  }
  state.changed.notify_one();  // Its interval may be the shortest.
  return &job;
}

void Crew::remove(Job* job) {
  State& state = *state_;
  UniqueLock lock(state.mutex);
  job->leaving = true;
  while (job->running)
    state.ended.wait(state.mutex);
  state.jobs.remove_if([job](const Job& other) { return &other == job; });
}

void Crew::ask(Job& job) {
  job.asked.store(true, std::memory_order_relaxed);
  state_->changed.notify_one();
}

unsigned Crew::threads() const {
  const Lock lock(state_->mutex);
  return static_cast<unsigned>(state_->threads.size());
}

bool Crew::of_another_process() const { return state_->process != ::getpid(); }

}  // namespace holdfast::kv
