// dash.hpp: a persistent hash index from 8-byte keys to 8-byte values: Dash extendible hashing.
// Public header.
//
// Guarantee  insert, put, update and erase are durable when they return; after a crash before that
//            the record is the old one or the new one. No crash loses another record or shows a key
//            twice. What find() returns is durable, unless the region is read-only and a process
//            that was killed had just stored it.
// Structure  A directory of 2^depth places names segments by the lowest bits of a key's hash. A
//            segment is 60 buckets of 256 bytes and 4 for what found no room (the stash). A record
//            lies in one of two neighbouring buckets or in the stash. A segment that is full is
//            split in two.
// Cost       find reads 2 lines for three keys of four, else 2 buckets. Fences: update, erase 1;
//            insert 1, or 2 where a record is moved to its neighbour or the first of its kind goes
//            to the stash; a split 4, once per some 300 inserts; doubling the directory 2. An
//            insert writes one line.
// Space      24 to 34 bytes per record on the medium, no DRAM per record; of DRAM 4 bytes per
//            segment and 4 per place of the directory that is in use.
// Threads    Any. Readers take no latch and write nothing. Writers latch the segment over their
//            fences; readers of that segment wait meanwhile. Splits wait for one another.
// Recovery   open() looks at the last split and finishes it: microseconds, whatever the size. The
//            first access to a segment checks and repairs it: tens of microseconds.
// Media      Granularity line, byte or none; not page (a plain file on a disk).
// Damage     Superblock, directory, depth, split and segment words and the place of each key are
//            checked: kCorrupt. Values carry no check.
// Keys       Any 64-bit number. The hash is seeded with the index's random id; that makes
//            collisions by accident unlikely, but stops no attacker that can read the medium.
// Implements Lu, Hao, Wang, Lo, "Dash: Scalable Hashing on Persistent Memory" (VLDB 2020), the
//            extendible variant (sections 4 and 5). Deviations, argued in docs/dash.md: each line
//            of a bucket holds its own fingerprints (12 records per bucket, not 14; an insert is
//            one fence, not two); a 64-bit filter announces the stash, not overflow fingerprints;
//            locks and versions are in DRAM and per segment; the directory goes by the lowest bits
//            and doubles in place; a split moves no record within its segment; one split at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/base/sparse_array.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/blocks/interleave/scheduler.hpp>
#include <holdfast/index/dash/directory.hpp>
#include <holdfast/index/dash/segment.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::index {

struct DashOptions {                // Of a new index; an existing one keeps its own.
  std::uint32_t buckets = 60;       // Normal ones of a segment: 2 to 1,024.
  std::uint32_t stash_buckets = 4;  // Of a segment: 0 to 64.
  std::uint32_t segments = 0;       // Up to 2^24; 0: as many as fit into the extent.
  // The directory has 2^max_depth places of 8 bytes; up to 28. 0: four to eight per segment.
  std::uint32_t max_depth = 0;
  Status validate() const;  // kInvalidOption, naming the field, the value seen and the rule.
};

using DashRecord = dash_detail::Record;  // Key and value.

class Dash {
 public:
  // A new, empty index. It is there when this returns; a crash before leaves none. Errors:
  // kInvalidOption (options, extent), kNoSpace (says how many bytes are needed), kAlreadyExists
  // (the extent begins with a structure of Holdfast's), kBusy (another object uses a part of the
  // extent), kUnsupported (page granularity), kReadOnly, kIo.
  static Result<std::unique_ptr<Dash>> create(Region& region, const Extent& extent,
                                              const DashOptions& options = {});
  // Errors: kNotHoldfast (no index), kNewerFormat, kCorrupt (names what is damaged), kBusy,
  // kInvalidOption, kUnsupported. In a read-only region nothing is written, and any number of
  // objects may read.
  static Result<std::unique_ptr<Dash>> open(Region& region, const Extent& extent);

  // Errors of all verbs: kCorrupt, naming the damaged directory place or segment; of all but find:
  // kReadOnly. After either nothing was changed.

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

  // visit(key, value) for each record, in no order. Records that are there all the time are visited
  // once. Of records that come, go or change meanwhile it may see any state. No latch is held
  // during visit(), but inserts that need a split wait. visit() must not insert.
  Status for_each(FunctionRef<void(std::uint64_t key, std::uint64_t value)> visit) const;

  // Many at once, interleaved: their waits for memory overlap, and they share fences. The spans of
  // a call are of one length; its operations have no order. An insert latches its segment until the
  // group's fence, so two inserts into one segment do not share a fence.
  // values[i] is the value of keys[i], or nothing. On an error, which is that of one key, all
  // values are undefined.
  Status find_many(std::span<const std::uint64_t> keys,
                   std::span<std::optional<std::uint64_t>> values,
                   const blocks::Interleaving& how = {}) const;
  // outcomes[i]: kOk, or as insert(). All are durable when this returns. Of two records of one key
  // one is inserted. Returns the first error that is not kAlreadyExists; the other inserts were
  // done.
  Status insert_many(std::span<const DashRecord> records, std::span<Errc> outcomes,
                     const blocks::Interleaving& how = {});

  std::uint32_t segments() const { return directory_.in_use(); }
  std::uint32_t segments_max() const { return shape_.segments; }
  std::uint32_t depth() const { return directory_.depth(); }

  Dash(const Dash&) = delete;
  Dash& operator=(const Dash&) = delete;

 private:
  using Segment = dash_detail::Segment;
  using KeyHash = dash_detail::KeyHash;
  using SegmentKeys = dash_detail::SegmentKeys;
  class Latched;
  class Lookups;
  class Insert;  // A machine of blocks::interleave().

  Dash(Region& region, const Extent& extent, const dash_detail::DashShape& shape, std::uint64_t id,
       Claim claim);
  Status recover();
  // Whether segments behind those of the split word are in use: then the split word was lost.
  bool is_split_word_lost() const;

  KeyHash hash_of(std::uint64_t key) const { return KeyHash::of(key, id_); }
  Segment segment(std::uint32_t number) const {
    return Segment(writer_.persist(), segments_ + number * segment_bytes_, shape_, id_);
  }
  Result<SegmentKeys> keys_of(std::uint32_t segment) const;
  // Does what an opening left to the first access, under the latch. In a read-only region it only
  // checks.
  Status repair(std::uint32_t segment) const;
  // Latches the segment, and repairs it at the first access.
  Result<Latched> latch(std::uint32_t segment) const;
  // Latches the segment that holds keys of this hash.
  Result<Latched> latch_for(KeyHash hash) const;
  Status refuse_if_read_only() const;
  Status add(std::uint64_t key, std::uint64_t value, bool may_exist);
  // Splits the segment if its keys are still these.
  Status split(std::uint32_t number, const SegmentKeys& keys);
  // The part of a split after its split word is durable. May be repeated.
  Status finish_split(const dash_detail::SplitWord& split, const SegmentKeys& upper);

  Claim claim_;
  DurableWriter writer_;
  const dash_detail::DashShape shape_;
  std::byte* const segments_;  // Where the first one begins.
  const std::uint64_t segment_bytes_;
  const std::uint64_t id_;
  const bool read_only_;
  dash_detail::SplitWord last_split_;  // That open() found.
  dash_detail::Directory directory_;
  mutable SparseArray<blocks::NodeLatch> latches_;  // 0: not repaired since the index was opened.
  mutable Mutex structure_;  // Splits, doublings and for_each. Before any latch.
};

}  // namespace holdfast::index
