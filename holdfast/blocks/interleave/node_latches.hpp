// node_latches.hpp: which nodes are being changed. In DRAM: a crash releases all.
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

// Zero bytes are a free latch, so that an array of them may be memory that nobody has touched.
class NodeLatch {
 public:
  bool try_lock() {
    auto state = word().load(std::memory_order_relaxed);
    return (state & 1) == 0 &&
           word().compare_exchange_strong(state, state + 1, std::memory_order_acquire);
  }
  // A plain store: nobody else writes while it is odd.
  void unlock() { word().store(own() + 1, std::memory_order_release); }
  // The same for a holder that changed nothing: readers go on.
  void unlock_unchanged() { word().store(own() - 1, std::memory_order_release); }
  // For the holder: the number before it came.
  std::uint32_t before() const { return own() - 1; }

  // A reader's view: `begin` is odd while somebody holds the node; what was read in between counts
  // if `unchanged(begin)`. Reads in between are Persist::load().
  std::uint32_t begin_read() const { return word().load(std::memory_order_acquire); }
  bool unchanged(std::uint32_t begin) const {
    return (begin & 1) == 0 && word().load(std::memory_order_relaxed) == begin;
  }

 private:
  std::atomic_ref<std::uint32_t> word() const {
    return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(state_));
  }

  std::uint32_t own() const { return word().load(std::memory_order_relaxed); }

  std::uint32_t state_ = 0;  // A plain one: arrays of zeros hold nothing that cannot be copied.
};

// Latches for any number of nodes. Two nodes may share one: then an operation waits without need.
class NodeLatches {
 public:
  // 64 KiB. With 64 operations in flight one in 256 waits for a node that it does not share.
  static constexpr std::size_t kCount = 16 * 1024;
  static_assert(std::has_single_bit(kCount));
  NodeLatches() : latches_(new NodeLatch[kCount]) {}
  // Chooses by the upper bits of a product with the golden ratio: one multiplication on every path.
  NodeLatch& of(std::uint64_t node) const {
    return latches_[node * 0x9e3779b97f4a7c15 >> (64 - std::bit_width(kCount - 1))];
  }

 private:
  std::unique_ptr<NodeLatch[]> latches_;
};

}  // namespace holdfast::blocks
