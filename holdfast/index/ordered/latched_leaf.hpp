// latched_leaf.hpp: a leaf that this thread has latched, until the end of the block.
//
// Threads    One. Which leaf it is turns out at run time, so clang's analysis cannot follow it; the
//            latch is taken and given back here and nowhere else.
#pragma once

#include <holdfast/base/thread_annotations.hpp>
#include <holdfast/index/ordered/leaf.hpp>

namespace holdfast::index::ordered {

class [[nodiscard]] LatchedLeaf {
 public:
  explicit LatchedLeaf(Leaf& leaf) HF_NO_THREAD_SAFETY_ANALYSIS : leaf_(&leaf) {
    leaf.latch().lock();
  }
  ~LatchedLeaf() { unlock(); }
  LatchedLeaf(const LatchedLeaf&) = delete;
  LatchedLeaf& operator=(const LatchedLeaf&) = delete;

  // Gives this leaf's latch back, then waits for that of another one.
  void move_to(Leaf& leaf) HF_NO_THREAD_SAFETY_ANALYSIS {
    unlock();
    leaf.latch().lock();
    leaf_ = &leaf;
  }
  Leaf* operator->() const { return leaf_; }

 private:
  void unlock() HF_NO_THREAD_SAFETY_ANALYSIS { leaf_->latch().unlock(); }

  Leaf* leaf_;
};

}  // namespace holdfast::index::ordered
