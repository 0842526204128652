// fastfair.hpp: a persistent ordered index from 8-byte keys to 8-byte values: a FAST+FAIR B+-tree,
// as it was before Optane: every node, also the inner ones, is sorted and on the medium.
// Public header.
//
// Use        As a baseline. FpTree (index/fptree/fptree.hpp) does the same faster.
// Guarantee  insert, put, update and erase are durable when they return; a crash before that leaves
//            the record as it was or as it was to be. No crash loses another record or shows a key
//            twice. As published, a reader beside a writer may see a record that is not durable
//            yet; a crash can take it back.
// Structure  Entries are shifted in place, in an order of stores that leaves a readable node at
//            any time. A split node is linked to the new one before what is above knows of it.
// Cost       find reads a node of 512 bytes for each level. Fences: update 1; erase and insert 1
//            for each line that is shifted, some 4; a split 3 and an insert above, once in 14.
// Space      512 bytes of the medium for each node of up to 28 entries, 8 bytes of DRAM.
// Threads    Any. Readers take no latch, write nothing and wait for nobody. A writer latches one
//            node. The first access to a node after an opening repairs it, under its latch.
// Recovery   open() reads two words and one path: some microseconds, whatever the size.
// Media      Granularity line, byte or none; not page (a plain file on a disk).
// Damage     Superblock, root, heads of nodes and children are checked, and the order of keys:
//            kCorrupt. Values carry no check, and keys none of their own.
// Implements Hwang, Kim, Won, Nam, "Endurable Transient Inconsistency in Byte-Addressable
//            Persistent B+-Tree" (FAST 2018). Deviations, argued in docs/fastfair.md: of two equal
//            neighbours keys are compared, not pointers, so that values are free; a node knows its
//            least key and where it ends; what a crash left undone is done; nodes are not merged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/base/sparse_array.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/index/fastfair/fastfair_format.hpp>
#include <holdfast/index/fastfair/node.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::index {

struct FastFairOptions {     // Of a new tree; an existing one keeps its own.
  std::uint32_t slots = 28;  // Entries of a node: 2 to 60.
  std::uint32_t nodes = 0;   // Up to 2^31; 0: as many as fit into the extent.
  Status validate() const;   // kInvalidOption, naming the field, the value seen and the rule.
};

class FastFair {
 public:
  // The one key that cannot be stored: it marks the end of a node.
  static constexpr std::uint64_t kMaxKey = ~std::uint64_t{0} - 1;

  // A new, empty tree. It is there when this returns; a crash before leaves none. Errors:
  // kInvalidOption (options, extent), kNoSpace (says how many bytes are needed), kAlreadyExists
  // (the extent begins with a structure of Holdfast's), kBusy (another object uses a part of the
  // extent), kUnsupported (page granularity), kReadOnly, kIo.
  static Result<std::unique_ptr<FastFair>> create(Region& region, const Extent& extent,
                                                  const FastFairOptions& options = {});
  // Errors: kNotHoldfast (no tree), kNewerFormat, kCorrupt (names what is damaged), kBusy,
  // kInvalidOption, kUnsupported. In a read-only region nothing is written, and any number of
  // objects may read.
  static Result<std::unique_ptr<FastFair>> open(Region& region, const Extent& extent);

  // All of these: kCorrupt, naming the node, if it is damaged; nothing was changed then. All but
  // find and scan: kReadOnly.

  // kNotFound.
  Result<std::uint64_t> find(std::uint64_t key) const;
  // kAlreadyExists, kNoSpace, kInvalidOption (above kMaxKey): nothing was changed.
  Status insert(std::uint64_t key, std::uint64_t value);
  // Inserts or updates. kNoSpace, kInvalidOption.
  Status put(std::uint64_t key, std::uint64_t value);
  // kNotFound.
  Status update(std::uint64_t key, std::uint64_t value);
  // kNotFound. The node stays, also if it is empty, for keys that come back.
  Status erase(std::uint64_t key);

  // visit(key, value) for each record from key `from` on, ascending, until it returns false.
  // Records that are there all the time are visited once; of those that come, go or change
  // meanwhile any state. Nothing is held during visit(), which may change the tree.
  Status scan(std::uint64_t from,
              FunctionRef<bool(std::uint64_t key, std::uint64_t value)> visit) const;

  std::uint32_t nodes() const;  // That were taken.
  std::uint32_t nodes_max() const { return shape_.nodes; }
  Result<std::uint32_t> levels() const;  // 1: the root is a leaf.

  FastFair(const FastFair&) = delete;
  FastFair& operator=(const FastFair&) = delete;

 private:
  using Node = fastfair_detail::Node;
  class Latched;
  // A node that its left neighbour leads to and that perhaps nothing above does.
  struct Orphan {
    std::uint32_t level, number;
    std::uint64_t low;
  };
  using Orphans = std::optional<Orphan>;  // One is enough: the next operation finds the next.

  FastFair(Region& region, const Extent& extent, const fastfair_detail::FastFairShape& shape,
           std::uint64_t id, Claim claim);
  Status write_first_root();
  Status recover();
  // Whether anything leads to the node.
  Result<bool> linked(std::uint32_t number) const;

  // Checks its number and its head. kCorrupt: `from` led to it.
  Result<Node> node(std::uint32_t number, std::uint32_t level, std::uint64_t low,
                    const Node& from) const;
  Node node_at(std::uint32_t number) const;
  Result<Node> root() const;
  Result<Node> right_of(const Node& node, std::uint64_t key) const;
  Result<Node> child_of(const Node& node, std::uint32_t level, std::uint64_t key) const;
  // What an opening left to the first access. Read-only it checks.
  Status visit(const Node& node) const;
  Status repair(const Node& node) const;
  // The node of `level` that was for the key at a time. Its siblings to the right may be by now.
  Result<Node> descend(std::uint64_t key, std::uint32_t level, Orphans* orphans = nullptr) const;
  // Latches the node of `level` for the key.
  Result<Latched> latch_for(std::uint64_t key, std::uint32_t level, Orphans& orphans) const;

  Status refuse(std::uint64_t key) const;
  Status add(std::uint64_t key, std::uint64_t value, bool may_exist);
  // Splits a full node. kNoSpace: nothing was changed.
  Result<Orphan> split(const Latched& at, std::uint32_t level);
  // Makes the level above lead to it.
  Status adopt(Orphan orphan);
  // True: a new root leads to it now.
  Result<bool> raise_root(const Orphan& orphan);
  // A node that nothing leads to. It is durably taken at the next fence. given() once it is linked.
  Result<std::uint32_t> take() HF_REQUIRES(split_mutex_);
  void given() HF_REQUIRES(split_mutex_);
  Status put_taken(std::uint32_t nodes);
  Status put_root(std::uint32_t number);

  Claim claim_;
  DurableWriter writer_;
  const fastfair_detail::FastFairShape shape_;
  const std::uint64_t id_;
  const bool read_only_;
  mutable SparseArray<fastfair_detail::NodeState> states_;

  // One split at a time: so at most the last node taken is not linked after a crash.
  mutable Mutex split_mutex_;
  std::uint32_t taken_ HF_GUARDED_BY(split_mutex_) = 0;
  bool last_is_spare_ HF_GUARDED_BY(split_mutex_) = false;
};

}  // namespace holdfast::index
