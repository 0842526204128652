// leaf_space.hpp: which leaves of an FP-Tree are in use: found at open, handed out, taken back.
//
// Nothing on the medium lists free leaves. A leaf is in use if its own state says so. A leaf that
// was taken but never entered is free again after a crash. Leaves from the ever-used number on are
// not looked at; the number rises in steps, after the states below it are zero and durable.
//
// Cost       take, give: O(1), and 2 fences once in up to 1,024 leaves that were never in use.
// Threads    take() and give() from any.
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/index/fptree/fptree_format.hpp>
#include <holdfast/index/fptree/leaf.hpp>
#include <holdfast/memory/durable_writer.hpp>

namespace holdfast::index::fptree_detail {

struct LeafEntry {
  std::uint64_t low;
  std::uint32_t leaf;
};

class LeafSpace {
 public:
  LeafSpace(const DurableWriter& writer, const FpTreeShape& shape, std::uint64_t id)
      : writer_(writer), shape_(shape), id_(id) {}

  Leaf leaf(std::uint32_t number) const {
    return Leaf(writer_.persist(), writer_.at(shape_.leaf_at(number)), shape_);
  }

  // Raises the ever-used number to `leaves`. Not durable before the next fence.
  Status put_ever_used(std::uint32_t leaves);
  // Returns all leaves in use, ascending by low, and keeps the free ones for take(). Reads one line
  // of each leaf, with `threads` threads, and makes it durable unless the region is read-only.
  // Errors: kCorrupt, naming the leaf or the word.
  Result<std::vector<LeafEntry>> open(unsigned threads);

  // Errors: kNoSpace.
  Result<std::uint32_t> take();
  void give(std::uint32_t leaf);
  std::uint32_t in_use() const;

 private:
  struct Part;  // What one thread of open() found.
  void scan(Part& part) const;
  Status raise() HF_REQUIRES(mutex_);

  const DurableWriter writer_;
  const FpTreeShape shape_;
  const std::uint64_t id_;
  mutable Mutex mutex_;
  std::uint32_t ever_used_ HF_GUARDED_BY(mutex_) = 0;
  std::vector<std::uint32_t> free_ HF_GUARDED_BY(mutex_);
};

}  // namespace holdfast::index::fptree_detail
