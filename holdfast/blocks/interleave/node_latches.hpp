// node_latches.hpp: who is changing which node. In DRAM: a crash releases all.
//
// A latch is a number that is odd while the node is held, so that readers need not write: they read
// the number, then the node, then the number again.
//
// Threads    Any. Deadlock is out of the question as long as nobody holds two.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include <holdfast/base/spin.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::blocks {

class NodeLatch {
 public:
  bool try_lock() {
    auto state = state_.load(std::memory_order_relaxed);
    return (state & 1) == 0 &&
           state_.compare_exchange_strong(state, state + 1, std::memory_order_acquire);
  }
  // A plain store: nobody else writes while it is odd.
  void unlock() {
    state_.store(state_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // A reader's view: `begin` is odd while somebody holds the node; what was read in between counts
  // if `unchanged(begin)`. Reads in between are Persist::load().
  std::uint32_t begin_read() const { return state_.load(std::memory_order_acquire); }
  bool unchanged(std::uint32_t begin) const {
    return (begin & 1) == 0 && state_.load(std::memory_order_relaxed) == begin;
  }

 private:
  std::atomic<std::uint32_t> state_{0};
};

// Latches for any number of nodes. Two nodes may share one: then an operation waits without need.
class NodeLatches {
 public:
  // 64 KiB. With 64 operations in flight one in 256 waits for a node that it does not share.
  static constexpr std::size_t kCount = 16 * 1024;
  static_assert(std::has_single_bit(kCount));
  NodeLatches() : latches_(new NodeLatch[kCount]) {}
  // By the upper bits of a product with the golden ratio: one multiplication, on every path.
  NodeLatch& of(std::uint64_t node) const {
    return latches_[node * 0x9e3779b97f4a7c15 >> (64 - std::bit_width(kCount - 1))];
  }

 private:
  std::unique_ptr<NodeLatch[]> latches_;
};

}  // namespace holdfast::blocks
