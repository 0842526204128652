// latched.hpp: a leaf of an FP-Tree that this thread has latched, until the end of the block.
//
// Threads    One. The latch's number rises when it is released, so readers of that time read again.
//            unchanged() says that they need not.
#pragma once

#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/index/fptree/fptree.hpp>

namespace holdfast::index {

class FpTree::Latched {
 public:
  // The latch is taken already.
  Latched(blocks::NodeLatch& latch, const Leaf& leaf, const Route& route)
      : latch_(&latch), leaf_(leaf), route_(route) {}
  Latched(Latched&& other) noexcept
      : latch_(std::exchange(other.latch_, nullptr)),
        changed_(other.changed_),
        leaf_(other.leaf_),
        route_(other.route_) {}
  Latched& operator=(Latched&&) = delete;
  ~Latched() {
    if (latch_ == nullptr) return;
    if (HF_MUTANT("T12", changed_, false))
      latch_->unlock();
    else
      latch_->unlock_unchanged();
  }
  void unchanged() { changed_ = false; }
  // Whether this is the first access since the tree was opened.
  bool first_access() const { return latch_->before() == 0; }
  const Leaf* operator->() const { return &leaf_; }
  const Route& route() const { return route_; }

 private:
  blocks::NodeLatch* latch_;
  bool changed_ = true;
  Leaf leaf_;
  Route route_;
};

}  // namespace holdfast::index
