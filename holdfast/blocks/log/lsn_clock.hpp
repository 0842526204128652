// lsn_clock.hpp: LSNs for several lanes, without a word that all of them write. Internal to
// blocks/log.
//
// A logical clock (Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System",
// 1978): each lane publishes the tick of its last LSN on a line
// of its own, and draws a tick above all that it reads there. Two lanes may draw the same tick at a
// time; the lane makes the LSN unique: LSN = tick * lanes + lane.
//
// Guarantee  If one append returned before another began, its LSN is the smaller one. stable() is
//            never taken back: nothing at or below it is drawn later.
// Why so     A counter that all lanes write passes from core to core with every append, and each
//            draw waits for it. A line that another lane has written is fetched while this lane
//            waits for its own fence.
// Threads    draw(), publish(), end(): of one lane, one thread at a time. The others: any.
// Cost       draw(): a load per lane up to the last one that was ever in use. stable() of several
//            lanes: some microseconds (AsymmetricFence::heavy).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include <holdfast/base/asymmetric_fence.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::blocks::log_detail {

class LsnClock {
 public:
  // All LSNs so far are at most `last`; those drawn are greater. Lane 0 is in use.
  LsnClock(std::uint32_t lanes, std::uint64_t last)
      : lanes_(lanes),
        last_(last),
        start_((last + lanes - 1) / lanes),
        fence_(lanes > 1 ? AsymmetricFence::Kind::kAuto : AsymmetricFence::Kind::kSymmetric),
        slots_(std::make_unique<Slot[]>(lanes)) {
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      slots_[lane].tick = start_;
      slots_[lane].published.store(start_, std::memory_order_relaxed);
    }
  }

  // From one LSN of a lane to its next one.
  std::uint64_t stride() const { return lanes_; }

  // Before the first draw of a lane.
  void use(std::uint32_t lane) {
    for (auto used = used_.load(); used <= lane && !used_.compare_exchange_weak(used, lane + 1);) {
    }
  }

  // The first of `count` LSNs, `stride()` apart. They are in flight until end(). Best before the
  // records are read: if they were stored just now, loads of them wait for the fence before, and
  // what is loaded behind these is loaded again whenever another lane publishes meanwhile.
  std::uint64_t draw(std::uint32_t lane, std::uint64_t count) {
    auto& own = slots_[lane];
    own.in_flight.store(kDrawing, std::memory_order_relaxed);
    if (lanes_ > 1) fence_.light();
    auto newest = own.tick;
    for (std::uint32_t i = 0, used = used_.load(std::memory_order_relaxed); i < used; ++i)
      newest = std::max(newest, slots_[i].published.load(std::memory_order_acquire));
    own.tick = newest + count;
    const auto first = lsn(newest + 1, lane);
    own.in_flight.store(first, std::memory_order_release);
    return first;
  }
  // Other lanes draw greater ones from now on. Call it before the append returns, best between its
  // last write-back and its fence: the line comes back from the core that read it while the fence
  // waits.
  void publish(std::uint32_t lane) {
    slots_[lane].published.store(slots_[lane].tick, std::memory_order_release);
  }
  // What was drawn is readable, or given up.
  void end(std::uint32_t lane) { slots_[lane].in_flight.store(kIdle, std::memory_order_release); }

  // Nothing that is drawn from now on is below.
  std::uint64_t next() const {
    std::uint64_t newest = 0;
    for (std::uint32_t lane = 0; lane < lanes_; ++lane)
      newest = std::max(newest, slots_[lane].published.load(std::memory_order_acquire));
    return lsn(newest + 1, 0);
  }

  // No LSN up to here is in flight or will come. A lane that is not seen to draw after the fence
  // sees, when it draws, all that was read before.
  std::uint64_t stable() const {
    auto stable = last_;
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
      const auto tick = slots_[lane].published.load(std::memory_order_acquire);
      if (tick > start_) stable = std::max(stable, lsn(tick, lane));
    }
    if (lanes_ > 1) fence_.heavy();
    // Lanes in use now, not before: one may have begun, and drawn, while the others were read.
    for (std::uint32_t lane = 0, used = used_.load(std::memory_order_acquire); lane < used;
         ++lane) {
      const auto& slot = slots_[lane].in_flight;
      auto in_flight = slot.load(std::memory_order_acquire);
      for (SpinWait wait; in_flight == kDrawing; wait())
        in_flight = slot.load(std::memory_order_acquire);
      if (in_flight != kIdle) stable = std::min(stable, in_flight - 1);
    }
    return stable;
  }

 private:
  static constexpr std::uint64_t kIdle = ~std::uint64_t{0}, kDrawing = 0;
  struct Slot {
    // Read by all lanes: a line of its own, written once per append.
    alignas(kCacheLineBytes) std::atomic<std::uint64_t> published{0};
    alignas(kCacheLineBytes) std::atomic<std::uint64_t> in_flight{kIdle};  // The first LSN.
    std::uint64_t tick = 0;  // Of the last LSN drawn. The lane's.
  };
  std::uint64_t lsn(std::uint64_t tick, std::uint32_t lane) const { return tick * lanes_ + lane; }

  const std::uint64_t lanes_, last_;
  const std::uint64_t start_;  // The tick before the first one drawn.
  const AsymmetricFence fence_;
  std::atomic<std::uint32_t> used_{1};  // Lanes below.
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace holdfast::blocks::log_detail
