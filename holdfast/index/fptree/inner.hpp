// inner.hpp: the inner levels of an FP-Tree, in DRAM: from a key to the leaf that is for it.
//
// A node has up to 127 children; beside each stands the least key that it is for. Level 1 leads to
// leaves, which are numbers. The levels are built when a tree is opened and die with it.
//
// Guarantee  find() returns a leaf that was right at some moment. still() says whether it is right
//            yet. This is optimistic lock coupling, with a leaf as the last step.
// Cost       find: a binary search for each level, without a store. add, remove: one node, rarely
//            more.
// Space      16 bytes for each leaf; a node is 2 KiB.
// Threads    find() and still() from any. Changes exclude each other; they hold the latches of the
//            nodes that they change. Nodes are never freed before the levels are, so a late reader
//            still reads a node, and sees that it changed.
// Errors     std::bad_alloc, of build() and of Reservation; nothing was changed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <holdfast/base/check.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/blocks/interleave/node_latches.hpp>
#include <holdfast/index/fptree/fptree_format.hpp>
#include <holdfast/index/fptree/leaf_space.hpp>

namespace holdfast::index::fptree_detail {

class InnerNode {
 public:
  static constexpr std::uint32_t kFanout = 127;

  blocks::NodeLatch& latch() { return latch_; }
  const blocks::NodeLatch& latch() const { return latch_; }

  std::uint32_t level() const { return level_.load(std::memory_order_acquire); }
  std::uint32_t size() const { return size_.load(std::memory_order_acquire); }
  bool full() const { return size() == kFanout; }
  std::uint64_t low(std::uint32_t at) const { return lows_[at].load(std::memory_order_acquire); }
  std::uint64_t child(std::uint32_t at) const {
    return children_[at].load(std::memory_order_acquire);
  }
  InnerNode* node(std::uint32_t at) const { return reinterpret_cast<InnerNode*>(child(at)); }
  // The lines that the first steps of child_for() read, all at once.
  void prefetch() const {
    const auto* const begin = reinterpret_cast<const std::byte*>(this);
    for (std::size_t at = 0; at < sizeof lows_; at += 2 * kCacheLineBytes)
      prefetch_for_read(begin + at);
  }
  // The last child whose low is not above the key. size(): there is none; a reader sees that during
  // a change only.
  std::uint32_t child_for(std::uint64_t key) const;

  // These need the latch.
  void clear(std::uint32_t level);
  void insert(std::uint32_t at, std::uint64_t low, std::uint64_t child);
  void erase(std::uint32_t at);
  void set_low(std::uint32_t at, std::uint64_t low) {
    lows_[at].store(low, std::memory_order_release);
  }
  // Moves the children from `at` on into `right`, which is empty.
  void move_tail(std::uint32_t at, InnerNode& right);

 private:
  void resize(std::uint32_t size) { size_.store(size, std::memory_order_release); }

  blocks::NodeLatch latch_;
  std::atomic<std::uint32_t> level_{0}, size_{0};
  std::atomic<std::uint64_t> lows_[kFanout] = {};
  std::atomic<std::uint64_t> children_[kFanout] = {};
};
static_assert(sizeof(InnerNode) == 2'048);

// Where find() ended.
struct Route {
  std::uint32_t leaf;
  KeyRange range;           // Of the leaf. Its `high` may have risen since.
  const InnerNode* parent;  // With its version then.
  std::uint32_t version;
};

class InnerLevels {
 public:
  // `leaves` ascend by low; the first one's is 0. Called once, before any other use.
  void build(std::span<const LeafEntry> leaves);

  Route find(std::uint64_t key) const;
  static bool still(const Route& route) { return route.parent->latch().unchanged(route.version); }

  // Holds memory for one add(); made before the medium is changed.
  class Reservation;
  // Adds a leaf for the keys from `low` on. The caller holds the latch of its left neighbour.
  void add(std::uint64_t low, std::uint32_t leaf, Reservation& reservation);
  // Removes the leaf that begins at `low`, not the first one. Its keys go to the leaf on the left.
  // The caller holds the latches of both.
  void remove(std::uint64_t low);

  std::uint64_t bytes() const;

  InnerLevels() = default;
  InnerLevels(const InnerLevels&) = delete;
  InnerLevels& operator=(const InnerLevels&) = delete;

 private:
  // A node of level n + 1 comes from 64 of level n, so no tree grows so high.
  static constexpr std::size_t kMaxLevels = 12;
  struct Step {
    InnerNode* node;
    std::uint32_t at;
  };
  // A list without allocations, so a change that has begun cannot fail.
  template <class T, std::size_t kMost>
  class Few {
   public:
    void push_back(T item) {
      HF_CHECK(size_ < kMost);
      items_[size_++] = item;
    }
    std::size_t size() const { return size_; }
    const T& operator[](std::size_t i) const { return items_[i]; }

   private:
    std::array<T, kMost> items_;
    std::size_t size_ = 0;
  };
  using Path = Few<Step, kMaxLevels>;  // From the root to level 1.
  std::optional<Route> try_find(std::uint64_t key) const;
  Path path_to(std::uint64_t key) const HF_REQUIRES(mutex_);
  void make_spare(std::size_t nodes) HF_REQUIRES(mutex_);
  // An empty node, latched.
  InnerNode* take(std::uint32_t level) HF_REQUIRES(mutex_);
  void lower_root() HF_REQUIRES(mutex_);

  mutable KernelMutex mutex_;
  std::atomic<InnerNode*> root_{nullptr};
  std::vector<std::unique_ptr<InnerNode>> nodes_ HF_GUARDED_BY(mutex_);
  std::vector<InnerNode*> spare_ HF_GUARDED_BY(mutex_);
  std::size_t reservations_ HF_GUARDED_BY(mutex_) = 0;
};

class InnerLevels::Reservation {
 public:
  explicit Reservation(InnerLevels& levels);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

 private:
  InnerLevels& levels_;
};

}  // namespace holdfast::index::fptree_detail
