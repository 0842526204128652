// inner.hpp: an inner node of the ordered index. Its separators never change; its children are
// replaced in one store each.
//
// Child i is for the keys from separator i on (the 0th: from the start of the node's range) up to
// separator i + 1. What all separators have in common is stored once, the next eight bytes of each
// as a number, and its whole rest beside, for those that the number does not tell apart.
//
// Threads    Readers inside a guard; set_child() by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include <holdfast/index/ordered/leaf.hpp>

namespace holdfast::index::ordered {

class Inner {
 public:
  // Children of a node at most; half of that after a split. A split of a leaf copies a node, some
  // 2 KiB, once in about 40 inserts.
  static constexpr std::size_t kFanout = 128;
  // Long separators: a node is split above this, if it has four children.
  static constexpr std::size_t kTextBytes = 16 * KiB;

  struct Entry {
    std::string_view separator;  // The 0th entry's is not looked at.
    void* child;
  };

  // level 1: the children are leaves. Null if the system has no memory.
  static Inner* make(std::uint32_t level, std::span<const Entry> entries);
  static void destroy(void* inner);  // Not its children.
  static bool too_big(std::span<const Entry> entries);

  std::uint32_t level() const { return level_; }
  std::uint32_t size() const { return size_; }
  std::uint64_t bytes() const { return bytes_; }
  void* child(std::uint32_t at) const { return children()[at].load(std::memory_order_acquire); }
  void set_child(std::uint32_t at, void* child) {
    children()[at].store(child, std::memory_order_release);
  }
  // Number of separators not above target.key; with target.below, of those below it.
  std::uint32_t child_for(const Target& target) const;
  std::string_view prefix() const { return {texts(), prefix_}; }
  std::string_view rest(std::uint32_t separator) const;  // Of separator 1 to size() - 1.
  void prefetch() const;

 private:
  Inner() = default;

  std::uint32_t separators() const { return size_ - 1; }
  std::uint64_t* heads() const {
    return reinterpret_cast<std::uint64_t*>(const_cast<Inner*>(this) + 1);
  }
  std::atomic<void*>* children() const {
    return reinterpret_cast<std::atomic<void*>*>(heads() + separators());
  }
  std::uint32_t* ends() const { return reinterpret_cast<std::uint32_t*>(children() + size_); }
  char* texts() const { return reinterpret_cast<char*>(ends() + separators()); }

  std::uint32_t level_;
  std::uint32_t size_;    // Children.
  std::uint32_t prefix_;  // Bytes that all separators have in common.
  std::uint32_t bytes_;   // Of this allocation.
};

}  // namespace holdfast::index::ordered
