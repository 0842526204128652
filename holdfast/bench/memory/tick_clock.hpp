// tick_clock.hpp: times of single operations, in ticks of the CPU's counter.
//
// begin() and end() keep the loads and stores of what is timed between them. What the clock itself
// takes is measured once and subtracted by elapsed_ns(). Where the counter is not steady
// (constant_tsc, nonstop_tsc) or not there, the system's clock is read instead, which costs some
// 20 ns more.
#pragma once

#include <cstdint>

namespace holdfast::bench::memory {

class TickClock {
 public:
  // Measured at the first call, in some 20 ms.
  static const TickClock& get();

  std::uint64_t begin() const { return now(); }
  // The same after all stores before it have reached memory. For what ends in a fence, which would
  // otherwise wait for the stores of earlier operations, too: some 50 of them fit a store buffer.
  std::uint64_t begin_after_stores() const;
  std::uint64_t end() const { return now(); }
  // From begin() to end(), without the clock; never below 0.
  double elapsed_ns(std::uint64_t begin, std::uint64_t end) const;
  double overhead_ns() const { return overhead_ticks_ * ns_per_tick_; }

  // How fast the calling thread's core runs now, in some 50 us: the best of several chains of
  // multiplications, each of which takes three cycles on the x86 CPUs of the last ten years. Where
  // it takes another number, times of one machine can still be compared. NaN elsewhere.
  double core_ghz() const;

  // Computes for about so long; does not touch memory.
  void delay(double ns) const;

 private:
  TickClock();
  std::uint64_t now() const;
  bool counter_ = false;
  double ns_per_tick_ = 1;
  double overhead_ticks_ = 0;
};

}  // namespace holdfast::bench::memory
