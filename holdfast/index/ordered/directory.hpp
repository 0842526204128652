// directory.hpp: the inner levels of the ordered index: from a key to the leaf that is for it.
//
// They are a short cut, not the truth. leaf_for() may return a leaf left of the right one, or one
// that is gone; never one right of it. The leaves know their ranges, and the caller walks.
//
// A change makes new nodes beside the old ones, stores one pointer, and retires the old ones:
// readers see plain memory that nobody writes, and never wait.
//
// Threads    leaf_for() from any, inside a guard. Changes exclude each other by a mutex, which is
//            taken once in about 40 inserts.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/epoch.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/index/ordered/inner.hpp>
#include <holdfast/index/ordered/leaf.hpp>

namespace holdfast::index::ordered {

class Directory {
 public:
  explicit Directory(EpochDomain& domain) : domain_(domain) {}
  // Frees the nodes, not the leaves.
  ~Directory();

  // Makes the directory of these leaves, ascending; the 0th separator is not looked at. Before
  // anybody else uses it, or to replace it while nobody does. False if the system has no memory.
  bool build(std::vector<Inner::Entry> leaves);

  Leaf* leaf_for(const Target& target) const;
  const Inner* root() const { return root_.load(std::memory_order_acquire); }

  // Adds a leaf that a split made, inside the guard of the split. Without memory it stays out, and
  // is reached through its neighbour on the left.
  void add(Leaf& leaf);
  // Merges the leaf for `key` with a neighbour if both fit into three quarters of one. Inside a
  // guard. A neighbour under another parent is left alone.
  void tidy(std::string_view key);

  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Step {
    Inner* node;
    std::uint32_t child;  // That the path takes.
  };
  // From the root to level 1.
  std::vector<Step> path_to(const Target& target) const HF_REQUIRES(mutex_);
  Inner* make(std::uint32_t level, std::span<const Inner::Entry> entries);
  void drop(Inner* node);
  void retire(Inner* node);
  // Stores `node` where step `depth` of the path is reached from.
  void publish(const std::vector<Step>& path, std::size_t depth, Inner* node) HF_REQUIRES(mutex_);
  bool merge(std::vector<Step>& path, std::uint32_t left) HF_REQUIRES(mutex_);
  void join_nodes(std::vector<Step>& path, std::size_t depth) HF_REQUIRES(mutex_);
  void lower_root() HF_REQUIRES(mutex_);

  EpochDomain& domain_;
  KernelMutex mutex_;
  std::atomic<Inner*> root_{nullptr};
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace holdfast::index::ordered
