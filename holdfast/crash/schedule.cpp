#include <holdfast/crash/schedule.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <thread>

#include <holdfast/base/check.hpp>

namespace holdfast::crash {

namespace {

constexpr std::uint64_t kHangRounds = 10'000;  // All threads only waiting, this often in a row.
constexpr auto kWatchdog = std::chrono::seconds(120);  // No step at all for this long.

thread_local Scheduler* current = nullptr;
thread_local std::uint32_t current_thread = 0;
std::atomic<bool> in_charge{false};

std::uint64_t next_random(std::uint64_t& state) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dULL;
}

[[noreturn]] void stop(const Schedule& schedule, const char* what) {
  std::fprintf(stderr, "crash checker: %s (schedule: %s)\n", what, schedule.describe().c_str());
  std::abort();
}

}  // namespace

struct Scheduler::Worker {
  std::binary_semaphore go{0};
  bool done = false;
  std::thread thread;
};

struct Scheduler::Main {
  std::binary_semaphore all_done{0};
  std::atomic<std::uint64_t> steps{0};
};

std::string Schedule::describe() const {
  if (seeded) return "seed " + std::to_string(seed);
  std::string text = "preemptions [";
  for (const Preemption& preemption : preemptions) {
    text += " step " + std::to_string(preemption.step) + " -> thread " +
            std::to_string(preemption.thread);
  }
  return text + " ]";
}

Scheduler::Scheduler(Schedule schedule)
    : schedule_(std::move(schedule)),
      random_(schedule_.seed * 0x9e3779b97f4a7c15ULL + 0x1234567),
      main_(std::make_unique<Main>()) {
  // Coarse and fine interleavings find different defects.
  one_in_ = std::uint64_t{1} << (next_random(random_) % 5);
}

Scheduler::~Scheduler() { in_charge.store(false); }

void Scheduler::run(std::vector<std::function<void()>> bodies) {
  HF_CHECK(current == nullptr && !bodies.empty());
  in_charge.store(true);
  workers_.clear();
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    workers_.push_back(std::make_unique<Worker>());
  }
  for (std::uint32_t i = 0; i < bodies.size(); ++i) {
    workers_[i]->thread = std::thread([this, i, &bodies] {
      workers_[i]->go.acquire();
      current = this;
      current_thread = i;
      bodies[i]();
      current = nullptr;
      workers_[i]->done = true;
      const std::uint32_t next = decide(i, false, false);
      next == i ? main_->all_done.release() : workers_[next]->go.release();
    });
  }
  workers_[decide(0, true, false)]->go.release();
  std::uint64_t steps_before = ~std::uint64_t{0};
  while (!main_->all_done.try_acquire_for(kWatchdog)) {
    const std::uint64_t steps = main_->steps.load();
    if (steps == steps_before) {
      stop(schedule_,
           "no thread reached the next switch point; does one block in the kernel while it "
           "waits for another? Its loop must call trace_sink().on_wait()");
    }
    steps_before = steps;
  }
  for (auto& worker : workers_) {
    worker->thread.join();
  }
}

// The thread to go on with. Returns `self` if no other one is left.
std::uint32_t Scheduler::decide(std::uint32_t self, bool self_may_run, bool waiting) {
  const auto count = static_cast<std::uint32_t>(workers_.size());
  std::vector<std::uint32_t> candidates;  // The default first.
  if (self_may_run && !waiting) candidates.push_back(self);
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t other = (self + i) % count;
    if (!workers_[other]->done) candidates.push_back(other);
  }
  if (candidates.empty()) return self;
  waits_in_a_row_ = waiting ? waits_in_a_row_ + 1 : 0;
  if (waits_in_a_row_ > kHangRounds) stop(schedule_, "all threads wait for one another");

  const std::uint64_t step = decisions_.size();
  std::size_t chosen = 0;
  if (schedule_.seeded) {
    if (waiting || next_random(random_) % one_in_ == 0) {
      chosen = next_random(random_) % candidates.size();
    }
  } else if (next_preemption_ < schedule_.preemptions.size() &&
             schedule_.preemptions[next_preemption_].step == step) {
    const std::uint32_t wanted = schedule_.preemptions[next_preemption_++].thread;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i] == wanted) chosen = i;
    }
  }
  Decision decision{candidates[chosen], {}};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i != chosen) decision.others.push_back(candidates[i]);
  }
  decisions_.push_back(std::move(decision));
  main_->steps.store(decisions_.size());
  return candidates[chosen];
}

void Scheduler::yield(std::uint32_t self, bool waiting) {
  const std::uint32_t next = decide(self, true, waiting);
  if (next == self) return;
  workers_[next]->go.release();
  workers_[self]->go.acquire();
}

void scheduler_step() {
  if (current != nullptr) current->yield(current_thread, false);
}

void scheduler_wait() {
  if (current != nullptr) {
    current->yield(current_thread, true);
  } else {
    std::this_thread::yield();
  }
}

bool scheduler_in_charge() { return in_charge.load(); }

ScheduleSource::ScheduleSource(const Schedules& schedules, std::uint64_t seed)
    : options_(schedules), seed_(seed) {}

bool ScheduleSource::next(Schedule* schedule) {
  if (given_ >= options_.max_schedules) return false;
  if (given_ < options_.seeds) {
    *schedule = Schedule{true, seed_ + given_++, {}};
    return true;
  }
  if (options_.preemptions > 0 && !systematic_started_) {
    systematic_started_ = true;
    queue_.push_back(Schedule{false, 0, {}});
  }
  if (queue_begin_ == queue_.size()) return false;
  *schedule = queue_[queue_begin_++];
  ++given_;
  return true;
}

void ScheduleSource::ran(const Scheduler& scheduler) {
  const Schedule& schedule = scheduler.schedule();
  if (schedule.seeded || schedule.preemptions.size() >= options_.preemptions) return;
  const std::uint64_t first =
      schedule.preemptions.empty() ? 0 : schedule.preemptions.back().step + 1;
  for (std::uint64_t step = first; step < scheduler.decisions().size(); ++step) {
    for (const std::uint32_t other : scheduler.decisions()[step].others) {
      if (queue_.size() >= options_.max_schedules) return;
      Schedule child = schedule;
      child.preemptions.push_back({step, other});
      queue_.push_back(std::move(child));
    }
  }
}

}  // namespace holdfast::crash
