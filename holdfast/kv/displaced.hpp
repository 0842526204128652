// displaced.hpp: records that a put took out of the index without reading them. Page media only.
//
// The old record of a key may lie on a device, and a put need not wait for it: the index knows 35
// bits or more of the key's hash (the place), and nearly always these are enough. "Nearly" is not
// enough for a store, so the record is not dead yet: it is displaced. Where the index does not have
// a key, a look-up searches here. settle() decides later, many records at a time: it reads the
// displaced record and compares keys. A record of the same key is dead. A record of another key
// goes back into the index, beside the one that displaced it.
//
// Invariant  A record that is acknowledged and not superseded is named by an entry of the index or
//            stands here, at every moment. A put notes the displaced record before it points the
//            index to its own; settle() points the index to a record before it takes it out here.
// Which      Of the records of one place that have the same key, the one in the index is the
//            newest; where none of them is there, the one of the highest sequence.
// Kept by    Those that look at the runs themselves: reclamation settles what lies in its victims,
//            and in these nothing is displaced any more; an erase settles its place first; a
//            snapshot and a close settle all.
// After a    crash nothing of this is left: recovery compares the keys of all records that claim a
//            place.
// Threads    Any. add() and settling change a place under the latch of its home only.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <unordered_map>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/key_index.hpp>
#include <holdfast/kv/records.hpp>
#include <holdfast/kv/sessions.hpp>

namespace holdfast::kv {

class Displaced {
 public:
  // The most records that may be displaced: a put that finds more settles some first. About 64
  // bytes of DRAM each.
  static constexpr std::uint64_t kLimit = 262'144;

  Displaced(Medium& medium, BlockTable& table, const Records& records, KeyIndex& index,
            EpochDomain& epochs)
      : medium_(medium), table_(table), records_(records), index_(index), epochs_(epochs) {}
  Displaced(const Displaced&) = delete;

  // ---- Writers, inside a guard ----
  // The entry that a put of this key may displace without reading its record: the only one of its
  // place, in a run that is not being moved, where to read it would mean to wait for a device.
  Seen to_displace(const Place& place) const;
  // Whether that still holds of the latched home, but for the device.
  bool still_alone(const OffsetMap::Home& home, const Seen& seen) const;
  void add(const Place& place, Line line);
  // Whether a record of this place stands here. Exact under the latch.
  bool any(const Place& place) const;
  // None of this hash's place stands here when it returns, unless another put displaced one since.
  // The caller holds no latch. Errors: kIo, kNoSpace (the index cannot grow).
  Status settle(Session& own, std::uint64_t hash);

  // ---- Readers, inside a guard ----
  // As KeyIndex::find(), whose first answer was that the key is not there.
  Live find(std::uint64_t hash, Bytes key, const EpochDomain::Guard& guard) const;
  bool holds(const Place& place, Line line) const;

  // ---- The whole, outside of guards and latches ----
  std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  bool full() const { return count() >= limit_; }
  bool half_full() const { return count() >= limit_ / 2; }
  void set_limit(std::uint64_t limit) { limit_ = limit; }
  static constexpr std::size_t kSettledAtOnce = 1024;
  // Settles about `limit` of them, those that lie side by side. Errors as above.
  Status settle_some(Session& own, std::size_t limit);
  Status settle_all(Session& own);
  // What lies in these runs. They are marked as being moved, and all operations that began before
  // that have ended.
  Status settle_runs(Session& own, std::span<const std::uint64_t> heads);
  std::uint64_t dram_bytes() const { return count() * 64; }

 private:
  struct Record {
    std::uint64_t hash;  // Of the key that displaced it: of the same place.
    Line line;
  };
  struct alignas(kCacheLineBytes) Shard {
    mutable KernelMutex mutex;
    std::unordered_multimap<std::uint64_t, Record> records HF_GUARDED_BY(mutex);
    std::atomic<std::uint64_t> settled{0};  // Rises with every record that goes.
  };

  // All that the index compares of a hash.
  std::uint64_t key_of(const Place& place) const {
    return std::uint64_t{index_.map().partition(place.hash)} << index::kTagBits | place.tag;
  }
  Shard& shard(std::uint64_t key) const { return shards_[mix64(key) % shards_.size()]; }
  std::vector<Line> lines_at(const Place& place) const;
  std::vector<Line> newest_first(std::vector<Line> lines) const;  // Reads the records.
  void remove(const Place& place, Line line);
  std::vector<Record> all() const;  // By line.
  Status settle(Session& own, std::span<const Record> records);
  Status settle_fetched(Session& own, std::uint64_t hash);

  Medium& medium_;
  BlockTable& table_;
  const Records& records_;
  KeyIndex& index_;
  EpochDomain& epochs_;
  mutable std::array<Shard, 64> shards_;
  std::atomic<std::uint64_t> count_{0};
  std::uint64_t limit_ = kLimit;
  Mutex round_mutex_;
  // What settle_some() has yet to come to, the last ones first.
  std::vector<Record> round_ HF_GUARDED_BY(round_mutex_);
};

}  // namespace holdfast::kv
