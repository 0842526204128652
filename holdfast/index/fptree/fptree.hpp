// fptree.hpp: a persistent ordered index from 8-byte keys to 8-byte values: an FP-Tree.
// Public header.
//
// Guarantee  insert, put, update and erase are durable when they return; after a crash before that
//            the record is the old one or the new one. No crash loses another record or shows a key
//            twice. What find() and scan() return is durable, unless the region is read-only and a
//            process that was killed had just stored it.
// Structure  The leaves are on the medium: up to 56 records in no order, and a byte of hash for
//            each. The levels above them are in DRAM, and are built when the tree is opened.
// Cost       find reads the inner levels, then two lines of the medium. Fences: update 1; erase 1,
//            and 1 more if it empties its leaf; insert 2; a split 3, once in some 28 inserts.
//            Lines: insert 2, update 1, erase 1.
// Space      1 KiB of the medium and some 24 bytes of DRAM for each leaf.
// Threads    Any. Readers take no latch and write nothing. A writer latches its leaf over its
//            fences; readers of that leaf wait meanwhile.
// Recovery   open() reads one line of each leaf, in parallel, and sorts what it read: O(leaves).
//            The first access to each leaf checks and repairs it.
// Media      Granularity line, byte or none; not page (a plain file on a disk).
// Damage     Superblock, the word of ever-used leaves and each leaf's range and state are checked,
//            and each key by a byte: kCorrupt. Values and the word of used slots carry no check.
// Memory     std::bad_alloc if the system has none; nothing was changed.
// Implements Oukid, Lasperas, Nica, Willhalm, Lehner, "FPTree: A Hybrid SCM-DRAM Persistent and
//            Concurrent B-Tree for Storage Class Memory" (SIGMOD 2016). Deviations, argued in
//            docs/fptree.md: a leaf knows its least key, so there is no list of leaves, no log of
//            splits and no leaf group; latches and versions are in DRAM; no hardware transactions;
//            values are updated in place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/base/sparse_array.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/blocks/interleave/node_latches.hpp>
#include <holdfast/blocks/interleave/scheduler.hpp>
#include <holdfast/index/fptree/inner.hpp>
#include <holdfast/index/fptree/leaf.hpp>
#include <holdfast/index/fptree/leaf_space.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::index {

struct FpTreeOptions {         // Of a new tree; an existing one keeps its own.
  std::uint32_t records = 56;  // Of a leaf: 2 to 56.
  std::uint32_t leaves = 0;    // Up to 2^31; 0: as many as fit into the extent.
  Status validate() const;     // kInvalidOption, naming the field, the value seen and the rule.
};

class FpTree {
 public:
  // A new, empty tree. It is there when this returns; a crash before leaves none. Errors:
  // kInvalidOption (options, extent), kNoSpace (says how many bytes are needed), kAlreadyExists
  // (the extent begins with a structure of Holdfast's), kBusy (another object uses a part of the
  // extent), kUnsupported (page granularity), kReadOnly, kIo.
  static Result<std::unique_ptr<FpTree>> create(Region& region, const Extent& extent,
                                                const FpTreeOptions& options = {});
  // A new tree with records in it. next() gives them one after the other, their keys ascending, and
  // nothing at the end. Leaves are filled to seven eighths. A crash before it returns leaves no
  // tree, and so does an error. Errors: as create(), and kInvalidOption (keys do not ascend),
  // kNoSpace (too many).
  using Source = FunctionRef<std::optional<FpRecord>()>;
  static Result<std::unique_ptr<FpTree>> load(Region& region, const Extent& extent, Source next,
                                              const FpTreeOptions& options = {});
  // Errors: kNotHoldfast (no tree), kNewerFormat, kCorrupt (names what is damaged), kBusy,
  // kInvalidOption, kUnsupported. In a read-only region nothing is written, and any number of
  // objects may read. `threads`: how many read the leaves; 0: as many as there are CPUs.
  static Result<std::unique_ptr<FpTree>> open(Region& region, const Extent& extent,
                                              unsigned threads = 0);

  // Errors of all verbs: kCorrupt, naming the damaged leaf; of all but find and scan: kReadOnly.
  // After either nothing was changed.

  // Errors: kNotFound.
  Result<std::uint64_t> find(std::uint64_t key) const;
  // Errors: kAlreadyExists, kNoSpace: nothing was changed.
  Status insert(std::uint64_t key, std::uint64_t value);
  // Inserts or updates. Errors: kNoSpace.
  Status put(std::uint64_t key, std::uint64_t value);
  // Errors: kNotFound.
  Status update(std::uint64_t key, std::uint64_t value);
  // Errors: kNotFound.
  Status erase(std::uint64_t key);

  // visit(key, value) for each record from key `from` on, ascending, until it returns false.
  // Records that are there all the time are visited once. Of records that come, go or change
  // meanwhile it may see any state. No latch is held during visit(), which may change the tree.
  Status scan(std::uint64_t from,
              FunctionRef<bool(std::uint64_t key, std::uint64_t value)> visit) const;

  // Many at once, interleaved: their waits for memory overlap, and they share fences. The spans of
  // a call are of one length; its operations have no order.
  // values[i] is the value of keys[i], or nothing. On an error, which is that of one key, all
  // values are undefined.
  Status find_many(std::span<const std::uint64_t> keys,
                   std::span<std::optional<std::uint64_t>> values,
                   const blocks::Interleaving& how = {}) const;
  // outcomes[i]: kOk, or as insert(). All are durable when this returns. Of two records of one key
  // one is inserted. Returns the first error that is not kAlreadyExists; the other inserts were
  // done.
  Status insert_many(std::span<const FpRecord> records, std::span<Errc> outcomes,
                     const blocks::Interleaving& how = {});

  std::uint32_t leaves() const { return space_.in_use(); }
  std::uint32_t leaves_max() const { return shape_.leaves; }
  std::uint64_t inner_bytes() const { return inner_.bytes(); }  // Of DRAM.

  FpTree(const FpTree&) = delete;
  FpTree& operator=(const FpTree&) = delete;

 private:
  using Leaf = fptree_detail::Leaf;
  using Route = fptree_detail::Route;
  class Latched;
  class Lookup;  // Machines of blocks::interleave().
  class Insert;

  FpTree(Region& region, const Extent& extent, const fptree_detail::FpTreeShape& shape,
         std::uint64_t id, Claim claim);
  static Result<std::unique_ptr<FpTree>> make(Region& region, const Extent& extent, Source* next,
                                              const FpTreeOptions& options);
  Status write_leaves(Source* next);
  Status recover(unsigned threads);

  Leaf leaf(std::uint32_t number) const { return space_.leaf(number); }
  const void* leaf_address(std::uint32_t number) const {
    return writer_.at(shape_.leaf_at(number));
  }
  blocks::NodeLatch& latch(std::uint32_t leaf) const { return latches_[leaf]; }
  // Does what an opening left to the first access, under the latch. In a read-only region it only
  // checks.
  Status repair(const Route& route) const;
  // Latches the leaf for the key, and repairs it at the first access.
  Result<Latched> latch_for(std::uint64_t key) const;
  // Calls read(leaf, route) for the key's leaf, again whenever a writer changed it meanwhile.
  template <class Read>
  Status read_leaf(std::uint64_t key, Read&& read) const;

  Status refuse_if_read_only() const;
  Status add(const FpRecord& record, bool may_exist);
  Status split(const Latched& at, std::uint64_t key);
  // Frees the leaf that begins at `low` if it holds nothing.
  Status unlink_if_empty(std::uint64_t low);

  Claim claim_;
  DurableWriter writer_;
  const fptree_detail::FpTreeShape shape_;
  const std::uint64_t id_;
  const bool read_only_;
  fptree_detail::LeafSpace space_;
  fptree_detail::InnerLevels inner_;
  // 0: not repaired since the tree was opened. Latched from left to right.
  mutable SparseArray<blocks::NodeLatch> latches_;
};

}  // namespace holdfast::index
