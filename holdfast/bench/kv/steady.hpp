// steady.hpp: what the operation steady-overwrite shows beside its rate: the medium in use, what
// reclamation moves, and what it costs.
//
//   used_over_live_max               the largest used_bytes / live_bytes, looked at each second
//                                    after the first 10 (in short phases ten times, in their second
//                                    half)
//   used_over_live_samples           how often it was looked at
//   relocated_bytes_per_written_byte bytes that reclamation moved over bytes that overwrites wrote
//   background_cpu_ns_per_op         CPU time of all threads but those of the phase, per operation
//   stall_max_ns                     the longest operation less waiting for a CPU: thread_times.hpp
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include <holdfast/base/condition.hpp>
#include <holdfast/bench/kv/thread_times.hpp>
#include <holdfast/results/result.hpp>

namespace holdfast::bench::kv {

// Of a store that reclaims in the background; since its beginning.
struct SpaceUse {
  std::uint64_t records = 0, live_bytes = 0, used_bytes = 0, relocated_bytes = 0;
};

class SteadyWatch {
 public:
  using Space = std::function<SpaceUse()>;  // From any thread. Empty: the store does not tell.

  // Begins now, for a phase of `seconds` that starts at once.
  SteadyWatch(Space space, double seconds);
  ~SteadyWatch();
  SteadyWatch(const SteadyWatch&) = delete;
  SteadyWatch& operator=(const SteadyWatch&) = delete;

  // Each thread of the phase, at its very end.
  void thread_ends(const StallWatch& stalls);
  // After all threads of the phase, on the thread that made this. `operations` of all threads.
  results::Fields finish(std::uint64_t operations);

 private:
  void look_now_and_then();
  void stop();

  const Space space_;
  const double seconds_;
  const std::uint64_t process_cpu_ns_, caller_cpu_ns_;
  SpaceUse before_;
  std::atomic<std::uint64_t> phase_cpu_ns_{0}, stall_max_ns_{0};
  std::atomic<bool> knows_waiting_{true};

  KernelMutex mutex_;
  Condition stopped_;
  bool stop_ HF_GUARDED_BY(mutex_) = false;
  double used_over_live_max_ = 0;
  std::uint64_t samples_ = 0, looker_cpu_ns_ = 0;
  std::thread looker_;
};

}  // namespace holdfast::bench::kv
