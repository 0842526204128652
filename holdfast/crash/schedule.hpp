// schedule.hpp: runs threads one at a time, in an order that a seed or a list decides.
//
// Real threads, of which exactly one runs. It may be switched after every step that the persist
// layer reports and must be switched where a thread waits for another one: a spin loop calls
// trace_sink().on_wait() each time round. The same schedule gives the same run, so a failure that
// needs an unlucky order comes back from its seed.
//
// Not seen   Order between switch points (plain loads, DRAM atomics), and threads that block in the
//            kernel: a std::mutex held over a switch stops the run; a watchdog then says so and
//            aborts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::crash {

// Which orders to try. Seeded ones first, then, if preemptions > 0, all schedules with at most that
// many preemptions (as far as max_schedules goes; fewest preemptions first).
struct Schedules {
  std::uint64_t seeds = 1;
  unsigned preemptions = 0;
  std::uint64_t max_schedules = 1000;
};

// The decisions of one run: at switch point `step` go on with `thread`.
struct Preemption {
  std::uint64_t step = 0;
  std::uint32_t thread = 0;
};

struct Schedule {
  bool seeded = true;
  std::uint64_t seed = 0;
  std::vector<Preemption> preemptions;  // Ascending by step. Only if not seeded.
  std::string describe() const;
};

class Scheduler {
 public:
  explicit Scheduler(Schedule schedule);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Runs all bodies to their end. From one thread; not from a body.
  void run(std::vector<std::function<void()>> bodies);

  // What could have been decided otherwise at each step so far.
  struct Decision {
    std::uint32_t chosen;
    std::vector<std::uint32_t> others;
  };
  const std::vector<Decision>& decisions() const { return decisions_; }
  const Schedule& schedule() const { return schedule_; }

 private:
  struct Worker;
  friend void scheduler_step();
  friend void scheduler_wait();
  void yield(std::uint32_t self, bool waiting);
  std::uint32_t decide(std::uint32_t self, bool self_may_run, bool waiting);

  Schedule schedule_;
  std::uint64_t random_;
  std::uint64_t one_in_;  // Seeded: a switch is made at one step in this many.
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Decision> decisions_;
  std::size_t next_preemption_ = 0;
  std::uint64_t waits_in_a_row_ = 0;
  struct Main;
  std::unique_ptr<Main> main_;
};

// Gives the schedules of a Schedules one after the other; each run's decisions feed the next.
class ScheduleSource {
 public:
  ScheduleSource(const Schedules& schedules, std::uint64_t seed);
  bool next(Schedule* schedule);
  // After the run of the schedule that next() gave.
  void ran(const Scheduler& scheduler);

 private:
  Schedules options_;
  std::uint64_t seed_;
  std::uint64_t given_ = 0;
  bool systematic_started_ = false;
  std::vector<Schedule> queue_;
  std::size_t queue_begin_ = 0;
};

// A switch point of the calling thread; nothing if no scheduler runs it.
void scheduler_step();
// The calling thread waits for another one. Outside of a scheduler: lets others run.
void scheduler_wait();
// All threads of this run so far were run by a scheduler, so that nothing moves between reports.
bool scheduler_in_charge();

}  // namespace holdfast::crash
