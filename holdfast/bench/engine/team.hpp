// team.hpp: threads that are measured together.
//
//   all threads of a team wait at one line and leave it together
//   each says when its measured part begins and ends; a thread that fails before it begins does not
//   keep the others waiting
//   a team has one flag that ends it: the time is up, the run was interrupted, or a thread says so
//   the time of a team is from its earliest begin to its latest end
//
// Threads  A Seat belongs to its thread while the team runs, to the team's owner before and after.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <holdfast/bench/engine/interruption.hpp>

namespace holdfast::bench {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end);
inline double seconds_since(Clock::time_point begin) {
  return seconds_between(begin, Clock::now());
}

// Runs piece(index) for all pieces on `threads` threads, this one among them. Not measured.
template <class Piece>
void in_parallel(std::uint64_t pieces, unsigned threads, const Piece& piece) {
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    for (auto i = next.fetch_add(1); i < pieces; i = next.fetch_add(1))
      piece(i);
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < std::min<std::uint64_t>(threads, pieces); ++i)
    helpers.emplace_back(work);
  work();
  for (auto& helper : helpers)
    helper.join();
}

class Team;

// One thread of a team, and what was measured of it.
class Seat {
 public:
  Seat(Team& team, unsigned index) : team_(team), index_(index) {}
  unsigned index() const { return index_; }

  // Waits for all threads of the team, then starts the clock.
  void begin();
  void end();

  bool begun() const { return begin_ != Clock::time_point{}; }
  // It began and ended its part.
  bool complete() const { return begun() && end_ >= begin_; }
  Clock::time_point begin_time() const { return begin_; }
  Clock::time_point end_time() const { return end_; }
  double seconds() const { return seconds_between(begin_, end_); }
  double cpu_seconds() const { return cpu_seconds_; }
  std::uint64_t page_faults() const { return page_faults_; }
  std::uint64_t involuntary_switches() const { return switches_; }

 private:
  Team& team_;
  const unsigned index_;
  Clock::time_point begin_{}, end_{};
  double cpu_seconds_ = 0;
  std::uint64_t page_faults_ = 0, switches_ = 0;
};

class Team {
 public:
  // Threads spin at the line for a while if there is a CPU for each: waking up from a futex takes
  // longer than a short measurement may.
  explicit Team(unsigned threads);

  using Body = std::function<void(Seat&)>;
  // Runs body(seat) on a thread for each seat. Returns when all have ended.
  void run(const Body& body);
  // The same, and sets the flag `seconds_max` after all began (0: never), or when the run is
  // interrupted.
  void run_at_most(double seconds_max, const Body& body);

  Seat& seat(unsigned index) { return *seats_[index]; }
  unsigned threads() const { return static_cast<unsigned>(seats_.size()); }
  void stop() { stop_.store(true, std::memory_order_relaxed); }
  const std::atomic<bool>& stop_flag() const { return stop_; }
  // Of the time of all CPUs while it ran, what the host of a virtual machine took.
  double stolen_ratio() const { return stolen_ratio_; }

 private:
  friend class Seat;
  void arrive_and_wait();
  bool all_here() const { return arrived_.load() >= threads(); }
  void supervise(double seconds_max);

  std::vector<std::unique_ptr<Seat>> seats_;
  const bool spin_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<unsigned> ended_{0};
  alignas(64) std::atomic<bool> stop_{false};
  double stolen_ratio_ = 0;
};

// What the seats of one subject come to, a team's or some of it.
struct TeamTimes {
  Clock::time_point begin = Clock::time_point::max();
  Clock::time_point end = Clock::time_point::min();
  double cpu_seconds = 0;
  void add(const Seat& seat);
  double seconds() const { return seconds_between(begin, end); }
};

}  // namespace holdfast::bench
