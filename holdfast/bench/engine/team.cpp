#include <holdfast/bench/engine/team.hpp>

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <thread>

#include <holdfast/bench/engine/placement.hpp>

namespace holdfast::bench {
namespace {

double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Usage {
  std::uint64_t faults = 0, switches = 0;
  static Usage now() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return {static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt),
            static_cast<std::uint64_t>(usage.ru_nivcsw)};
  }
};

}  // namespace

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

void Seat::begin() {
  team_.arrive_and_wait();
  const auto usage = Usage::now();
  page_faults_ = usage.faults;
  switches_ = usage.switches;
  cpu_seconds_ = -thread_cpu_seconds();
  begin_ = Clock::now();
}

void Seat::end() {
  end_ = Clock::now();
  cpu_seconds_ += thread_cpu_seconds();
  const auto usage = Usage::now();
  page_faults_ = usage.faults - page_faults_;
  switches_ = usage.switches - switches_;
}

Team::Team(unsigned threads) : spin_(threads <= usable_cpus().size()) {
  for (unsigned i = 0; i < threads; ++i)
    seats_.push_back(std::make_unique<Seat>(*this, i));
}

void Team::arrive_and_wait() {
  arrived_.fetch_add(1);
  // On a machine where others are at work, too, a thread that spins may hold the CPU that the last
  // one waits for.
  constexpr unsigned kSpinsMax = 100'000;
  for (unsigned spins = 0; !all_here(); ++spins) {
    if (!spin_ || spins >= kSpinsMax) std::this_thread::yield();
  }
}

void Team::run(const Body& body) { run_at_most(-1, body); }

void Team::run_at_most(double seconds_max, const Body& body) {
  const StolenTime stolen;
  std::vector<std::thread> running;
  for (auto& seat : seats_) {
    running.emplace_back([this, &body, &seat = *seat] {
      body(seat);
      if (!seat.begun()) arrived_.fetch_add(1);
      ended_.fetch_add(1);
    });
  }
  if (seconds_max >= 0) supervise(seconds_max);
  for (auto& thread : running)
    thread.join();
  stolen_ratio_ = stolen.ratio();
}

void Team::supervise(double seconds_max) {
  constexpr double kLookEverySeconds = 0.001;
  Clock::time_point begin{};
  bool running = false;
  while (ended_.load() < threads()) {
    // From the start line on: on a busy machine threads take their time to get there.
    if (!running && all_here()) running = true, begin = Clock::now();
    const auto passed = running ? seconds_since(begin) : 0.0;
    const bool up = seconds_max > 0 && running && passed >= seconds_max;
    if (up || interrupted().load(std::memory_order_relaxed)) stop();
    const auto left = !running ? 0.0 : seconds_max > 0 && !up ? seconds_max - passed : 1.0;
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::clamp(left, 0.00005, kLookEverySeconds)));
  }
}

void TeamTimes::add(const Seat& seat) {
  begin = std::min(begin, seat.begin_time());
  end = std::max(end, seat.end_time());
  cpu_seconds += seat.cpu_seconds();
}

}  // namespace holdfast::bench
