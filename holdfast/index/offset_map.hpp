// offset_map.hpp: hash of a key -> line of its record. The volatile index of the kv store.
//
//   Line line = map.find(hash, [&](Line at) { return key_at(at) == key; });     // Inside a guard.
//
//   OffsetMap::Latched home = map.latch(hash);                                  // Inside a guard.
//   if (Entry entry = home.find(matches)) {
//     home.replace(entry, line);                                              // One store.
//   } else if (Entry claimed = home.claim()) {
//     home.replace(claimed, line);                                            // Publishes it.
//   } else {
//     home.release(), map.grow(hash);                                         // And again.
//   }
//
// The map knows 45 bits or less of each hash and no key: the caller's `matches(line)` decides, and
// is asked about another key about once in 10^4 calls. Eight bytes per entry (bucket.hpp); a
// partition, chosen by the top bits of the hash, is a small table of its own (table.hpp), a key
// lies in its home bucket or at most `reach` buckets behind it.
//
// Guarantee  find() never misses a key that is present throughout the call, and never blocks; why:
//            below, at find(). The latch of a home gives its holder alone the right to change the
//            entries of that home. size() is exact when nobody writes.
// Threads    Everything from any thread, except create() and destruction. What says "inside a
//            guard" needs an EpochDomain guard of the map's domain around it.
// Deadlock   A thread holds at most one Latched or LatchedMany at a time, and none while it calls
//            grow(), clear() or deserialize(). LatchedMany latches in one global order.
// Hashes     All 64 bits random. Keys whose hashes share their upper 45 bits are found, but slowly.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <holdfast/base/epoch.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/index/bucket.hpp>
#include <holdfast/index/table.hpp>

namespace holdfast::index {

// A position on the medium: byte offset / 64. Line 0 is no record's.
struct Line {
  std::uint64_t number = 0;

  explicit operator bool() const { return number != 0; }
  auto operator<=>(const Line&) const = default;
};
inline constexpr Line kNoLine{};
inline constexpr std::uint64_t kLineLimit = std::uint64_t{1} << kLineBits;  // Lines are below it.

struct OffsetMapOptions {
  std::uint64_t expected_records = 0;  // Chooses the number of partitions; more or fewer may come.
  std::uint32_t partitions = 0;  // Power of two, 1024 to 2^20; 0: about expected_records / 2048.
  bool reserve = false;          // Tables start with room for expected_records.

  // kInvalidOption, naming the field, the value seen and what is allowed.
  Status validate() const;
};

// Where the keys of one hash belong, found once per operation and taken by all later steps. It
// stays of use while the caller's guard lives: find() of an older table is still right, and latch()
// brings it up to date.
struct Place {
  std::uint64_t hash = 0;
  std::uint64_t table = 0;  // The partition's table when this was made, as readers load it.
  Bucket* home = nullptr;
  std::uint64_t tag = 0;
};

// An entry as it was when look() saw it.
struct Seen {
  Entry entry;
  std::uint64_t payload = 0;
  std::uint64_t table = 0;  // That it stands in.

  explicit operator bool() const { return static_cast<bool>(entry); }
  Line line() const { return Line{line_of(payload)}; }
};

class OffsetMap {
 public:
  class Home;
  class Latched;
  class LatchedMany;
  class PatchedHome;

  // Counts the entries that one thread at a time inserts and removes, without a locked instruction.
  // A session keeps one; the map adds them up.
  class alignas(kCacheLineBytes) Tally {
    friend class OffsetMap;
    std::atomic<std::uint64_t> entries_{0};  // May wrap below zero.
  };

#ifdef HF_TRACED  // The crash checker opens a store, and so a map, for each image of a medium.
  static constexpr std::uint32_t kMinPartitions = 16;
#else
  static constexpr std::uint32_t kMinPartitions = 1024;
#endif
  static constexpr std::uint32_t kMaxPartitions = 1u << 20;

  // Errors: those of validate(); kNoSpace if the system has no memory. The domain outlives the map.
  static Result<std::unique_ptr<OffsetMap>> create(EpochDomain& domain,
                                                   const OffsetMapOptions& options = {});
  // Nobody uses the map any more, and the caller is inside no guard of the domain.
  ~OffsetMap();
  OffsetMap(const OffsetMap&) = delete;
  OffsetMap& operator=(const OffsetMap&) = delete;

  // --- Readers: lock-free, inside a guard. ---

  // The line for which matches(line) is true, or kNoLine. `matches` is called for lines of this
  // hash, rarely of others, and may see the line of a key that is being replaced or erased at the
  // moment. One cache line where the key is at home.
  //
  // It misses no key that is present throughout: such a key has one entry word in each table that
  // the partition has while the call runs. Within a table that word never moves; replace() changes
  // its line in one store and keeps its tag. The table read here is the current one when the call
  // starts; if it is replaced meanwhile it was frozen first, with the key in it. If the entry lies
  // at home, probe() looks at its word. If it lies behind, the control bit of its distance was set
  // before claim() returned and is cleared only when no entry is left at that distance, so
  // it is set throughout, in a word of its own; and then each word of the bucket there is looked
  // at.
  template <class Match>
  Line find(std::uint64_t hash, Match&& matches) const {
    return find(place(hash), matches);
  }
  template <class Probing = AnyProbing, class Match>
  Line find(const Place& place, Match&& matches) const;
  // The same, and where the entry stands: a writer that latches the place later compares the entry
  // with what was seen here, and need not search again.
  template <class Probing = AnyProbing, class Match>
  Seen look(const Place& place, Match&& matches) const;

  // look() without what is rare. False: it cannot say, and look() can. kBehind: an entry may also
  // lie one bucket behind.
  template <class Probing, bool kBehind = false, class Match>
  bool glance(const Place& place, Match&& matches, Seen& seen) const;

  // Where this hash belongs now. Inside a guard: one made before it may be of a table that is gone.
  Place place(std::uint64_t hash) const {
    const unsigned shift = partition_shift_;  // Once: behind the load it would be loaded again.
    const std::uint64_t word = tables_[hash >> shift].load(std::memory_order_acquire);
    const std::uint64_t bits = tag(hash, shift);
    return {hash, word, first_bucket(word) + Table::home(bits, bucket_count(word)), bits};
  }

  // True while set_patching(true) holds for this place. Reads the current table, so call it after
  // reading the patched word: false then means that what was read is durable.
  bool patching(std::uint64_t hash) const { return patching(place(hash)); }
  bool patching(const Place& at) const {
    if (table_word(at.hash) != at.table) [[unlikely]]
      return patching(place(at.hash));
    return (at.home->words[kPatchEntry].load(std::memory_order_acquire) & kControl) != 0;
  }

  // patching() without a look at the current table. True also where the home is latched, which
  // those of a table that was replaced are for ever.
  bool may_be_patching(const Place& at) const {
    std::atomic_signal_fence(std::memory_order_acquire);  // Behind what was read.
    return ((at.home->words[kPatchEntry].load(std::memory_order_acquire) |
             at.home->words[kLatchEntry].load(std::memory_order_acquire)) &
            kControl) != 0;
  }

  // True also while anybody holds the latch of this hash's home. A writer latches and then looks at
  // a counter; a reader raises that counter and then asks here. At least one sees the other, since
  // both steps are sequentially consistent.
  bool latched_or_patching(std::uint64_t hash) const;

  // Start the misses of the home bucket and the one behind it; need no guard. The second also asks
  // for the right to write, and for the line with the partition's erase horizon.
  void prefetch(std::uint64_t hash) const;
  void prefetch_for_write(std::uint64_t hash) const;

  // The line that find() would try first, or kNoLine if it has none at home or one behind: for
  // prefetching what it names, and no answer. Waits for the home bucket. Inside a guard.
  template <class Probing = AnyProbing>
  Line candidate(const Place& place) const;

  // Calls `visit(line)` for each entry of the partition's current table until it returns false.
  // Sees each key that is present throughout exactly once, others at most once per insertion.
  // Inside a guard.
  template <class Visit>
  bool for_each(std::uint32_t partition, Visit&& visit) const;

  // --- Writers. ---

  // Waits for the latch of the home of `hash`. Inside a guard, which may end before the latch does.
  Latched latch(std::uint64_t hash);
  // The same with the place known already, which is brought up to date where its table was
  // replaced. Insertions and removals count in `tally`. Call grow_in_turn() after insertions, when
  // the latch has ended.
  Latched latch(Place& place, Tally& tally);

  // What nearly every writer does, without a call and with the latch held for a few instructions:
  // where the home is free, `seen` is as it was and `allowed()`, asked behind the latch, the entry
  // is pointed to `line`, or removed. False: nothing was done; latch() can say more.
  template <class Allowed>
  bool replace_at_once(const Place& at, const Seen& seen, Line line, Allowed&& allowed);
  template <class Allowed>
  bool remove_at_once(const Place& at, const Seen& seen, Tally& tally, Allowed&& allowed);
  // The same of a key for which glance() has seen no entry at home, while there is none of its tag.
  // kBehind: also where the home is full or has entries behind it, by a call.
  // grow_in_turn() then.
  template <class Probing, bool kBehind, class Allowed>
  bool insert_at_once(const Place& at, Line line, Tally& tally, Allowed&& allowed);
  // Home::set_patching(), for a home that is latched.
  static void set_patching(Bucket& home, bool patching) {
    auto& word = home.words[kPatchEntry];
    const std::uint64_t seen = word.load(std::memory_order_relaxed);
    word.store(patching ? seen | kControl : seen & ~kControl, std::memory_order_release);
  }
  // Latches a home for an update of a word of the record; PatchedHome releases it.
  bool latch_at_once(const Place& at, const Seen& seen) const;

  // A counter for one thread at a time; the map keeps it to its end.
  Tally& new_tally();

  // Lets one partition or two grow, if it is their turn. The caller holds no latch.
  void grow_in_turn() {
    if (wants_growth()) [[unlikely]]
      take_turns();
  }
  // Whether grow_in_turn() has something to do.
  bool wants_growth() const {
    return reported_entries_.load(std::memory_order_relaxed) >=
           next_turn_at_.load(std::memory_order_relaxed);
  }

  // Makes room at the home of `hash`, where claim() found none: rebuilds its partition's table.
  // Only writers of this partition wait meanwhile (10-20 us per 2,500 entries). Returns at once if
  // another thread made room already. The caller holds no latch. Errors: kNoSpace (no memory). Any
  // guard or none.
  Status grow(std::uint64_t hash);

  // Makes room for one more entry of each of these hashes, each partition in one step: before a
  // batch latches them all. Others may take the room meanwhile, so claim() still decides. The
  // caller holds no latch. Errors: kNoSpace. Any guard or none.
  Status grow(std::span<const std::uint64_t> hashes);

  // Makes room for `entries` in all, so that until then nothing grows (unless keys share more
  // bits of their hashes than chance would have it). Never shrinks. Writers of one partition after
  // the other wait as in grow(). Errors: kNoSpace: more than the memory available, nothing changed;
  // or the system has no more, and room was made in some partitions.
  Status reserve(std::uint64_t entries);

  // Whether growth will soon need memory that the system has yet to provide, and taking it ahead:
  // for a thread that has time, one at a time. Without it the writer that comes first waits.
  bool wants_memory() const { return arena_.wants_unit(); }
  void take_memory() { arena_.prepare(); }

  // The greatest sequence number of an erased key of this partition, for kv's protocol; starts at
  // 0, survives growth, is reset by clear().
  std::atomic<std::uint64_t>& erase_horizon(std::uint64_t hash) {
    return partition_of(hash).erase_horizon;
  }
  // Raises it to `sequence` if it is lower.
  void raise_erase_horizon(std::uint64_t hash, std::uint64_t sequence);

  // --- The whole. ---

  std::uint32_t partitions() const { return partitions_; }
  std::uint32_t partition(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> partition_shift_);
  }
  std::uint64_t size() const;                         // Published entries. O(tallies).
  std::uint64_t size(std::uint32_t partition) const;  // Of one. O(its buckets).
  std::uint64_t slots() const;       // Entries that homes have place for. O(partitions).
  std::uint64_t dram_bytes() const;  // All that the map took from the system.
  std::uint64_t rehashes() const { return rehashes_.load(std::memory_order_relaxed); }

  // Removes everything. No latch held by the caller, inside no guard. Errors: kNoSpace (nothing
  // changed in the partitions not yet reached).
  Status clear();

  // Writes the published entries of a partition to `out`, one word each (tag and line, as in
  // bucket.hpp), and returns how many there are; writes none beyond out.size(). Exact when nobody
  // writes.
  std::uint64_t serialize(std::uint32_t partition, std::span<std::uint64_t> out) const;
  // Replaces the partition's entries by those of `entries`, written by serialize() of a map with as
  // many partitions. Does not trust them. Errors: kCorrupt (an entry that serialize() cannot have
  // written; a line not below `line_limit`; too many entries of one hash), kNoSpace; then nothing
  // changed.
  Status deserialize(std::uint32_t partition, std::span<const std::uint64_t> entries,
                     std::uint64_t line_limit);

 private:
  // What writers of a partition share: its own line, apart from what readers need.
  struct alignas(kCacheLineBytes) Partition {
    std::atomic<std::uint64_t> erase_horizon{0};
    SpinLatch rebuilding;  // One rebuild at a time.
  };

  OffsetMap(EpochDomain& domain, std::uint32_t partitions);

  // A partition's table as readers load it: one word, so that bucket and count are of one table.
  // Address of the first bucket in lines (42 bits: 48-bit addresses), number of homes (22 bits).
  static constexpr unsigned kBucketsBits = 22;
  static constexpr std::uint32_t kMaxBuckets = (1u << kBucketsBits) - 1;
  static std::uint64_t word_of(Table* table) {
    return reinterpret_cast<std::uintptr_t>(table->buckets()) / kCacheLineBytes << kBucketsBits |
           table->geometry.buckets;
  }
  static Bucket* first_bucket(std::uint64_t word) {
    return reinterpret_cast<Bucket*>((word >> kBucketsBits) * kCacheLineBytes);
  }
  static std::uint32_t bucket_count(std::uint64_t word) {
    return static_cast<std::uint32_t>(word) & kMaxBuckets;
  }

  // Never 0, so that a free entry matches no tag.
  std::uint64_t tag(std::uint64_t hash) const { return tag(hash, partition_shift_); }
  static std::uint64_t tag(std::uint64_t hash, unsigned partition_shift) {
    const std::uint64_t bits = (hash >> (partition_shift - kTagBits)) & kTagMask;
    return bits + (bits == 0);
  }
  std::uint64_t table_word(std::uint64_t hash) const {
    return tables_[partition(hash)].load(std::memory_order_acquire);
  }
  Table& table(std::uint32_t partition) const {
    return *Table::of(first_bucket(tables_[partition].load(std::memory_order_acquire)));
  }
  Partition& partition_of(std::uint64_t hash) const { return headers_[partition(hash)]; }

  // latch() without growth: also while other latches are held. No tally: counted for all threads.
  Latched latch_now(Place& place, Tally* tally);

  static bool try_latch(Bucket& home) {
    auto& latch = home.words[kLatchEntry];
    std::uint64_t seen = latch.load(std::memory_order_relaxed);
    return (seen & kControl) == 0 &&
           latch.compare_exchange_strong(seen, seen | kControl, std::memory_order_seq_cst,
                                         std::memory_order_relaxed);
  }
  static void unlatch(Bucket& home) {
    auto& word = home.words[kLatchEntry];
    word.store(word.load(std::memory_order_relaxed) & ~kControl, std::memory_order_release);
  }

  // look() where the first candidate is not the one: apart, so that the usual case is a few
  // instructions and a core has the misses of several calls under way.
  template <class Match>
  [[gnu::noinline]] Seen look_further(Place place, Match matches) const;
  template <class Match>
  static Seen look_in(Bucket& bucket, unsigned candidates, std::uint32_t distance, Match&& matches);

  static bool take(Bucket& home, unsigned entry, std::uint64_t payload);

  // The reach that a new table may have, and what a greater one is.
  struct ReachLimit {
    std::uint32_t buckets;
    Errc beyond;
  };
  Geometry geometry_for(std::uint64_t entries, std::uint32_t partition) const;
  Geometry larger(const Geometry& geometry, std::uint64_t entries, std::uint32_t partition) const;
  std::uint32_t staggered_buckets(std::uint32_t at_least, std::uint32_t partition) const;
  template <class Source>
  Result<Table*> build(std::uint32_t partition, Geometry geometry, std::uint64_t entries,
                       ReachLimit limit, TableArena::Stream stream, Source&& source);
  void freeze(Table& table);
  void thaw(Table& table);
  void publish(std::uint32_t partition, Table* table) HF_REQUIRES(headers_[partition].rebuilding);
  void count(Tally* tally, bool inserted);
  void count_whole_table(std::uint64_t before, std::uint64_t now);
  template <class Choose>
  Result<bool> rebuild(std::uint32_t partition, TableArena::Stream stream, Choose&& choose);
  bool has_room(std::uint64_t hash) const;
  void take_turns();
  void set_next_turn() HF_REQUIRES(turns_);
  void tidy();
  void move(TableArena::Move what);

  // Tallies report every so many entries to the map.
  static constexpr std::uint64_t kReported = 64;

  EpochDomain& domain_;
  const std::uint32_t partitions_;
  const unsigned partition_shift_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> tables_;
  std::unique_ptr<Partition[]> headers_;
  // Growth by turns (take_turns). The first changes once in 64 insertions; each tally's share may
  // be up to 63 too small, so that the sum may be below zero.
  alignas(kCacheLineBytes) std::atomic<std::int64_t> reported_entries_{0};
  std::atomic<std::int64_t> next_turn_at_{0};                              // As many entries.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> shared_entries_{0};  // Of no tally.
  mutable SpinLatch tallies_latch_;
  std::vector<std::unique_ptr<Tally>> tallies_ HF_GUARDED_BY(tallies_latch_);
  SpinLatch turns_;
  std::uint64_t turn_ HF_GUARDED_BY(turns_) = 0;
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> rehashes_{0};
  TableArena arena_;
};

// A latched home: what its holder can do for one hash. Made by latch() and LatchedMany.
class OffsetMap::Home {
 public:
  Home() = default;

  // The entry for which matches(line) is true, or none.
  template <class Probing = AnyProbing, class Match>
  Entry find(Match&& matches) const;

  // Whether the entry still is what look() saw. Exact: nobody else changes it while this latch is
  // held. False where the latch brought the place up to date: then find() again.
  bool unchanged(const Seen& seen) const {
    return seen.table == word_ &&
           payload_of(seen.entry.word->load(std::memory_order_relaxed)) == seen.payload;
  }

  // Points an entry that is unchanged() to `line`, by one store as replace() does. False:
  // nothing was done; find() again.
  bool replace_unchanged(const Seen& seen, Line line) {
    if (!unchanged(seen)) [[unlikely]]
      return false;
    replace(seen.entry, line);
    return true;
  }

  static Line line(Entry entry) {
    return Line{line_of(entry.word->load(std::memory_order_relaxed))};
  }

  // Points the entry, found or claimed, to `line` (1 to kLineLimit - 1): one atomic store with
  // release order. A claimed entry becomes visible by it.
  void replace(Entry entry, Line line);

  // An entry that readers do not see yet, or none if the neighbourhood is full: then release the
  // latch, grow(), and latch again. Before the latch ends, replace() publishes it or remove() gives
  // it back; if neither happens, the place is lost until the next growth, and nothing else.
  Entry claim();

  // claim() + replace(); false if the neighbourhood is full.
  bool insert(Line line) {
    const Entry entry = claim();
    if (entry) replace(entry, line);
    return static_cast<bool>(entry);
  }

  // The same where no entry has the tag; false also where one has.
  bool insert_new(Line line);

  void remove(Entry entry);

  // Set before the first store of a patch, cleared after its fence. It needs no locked instruction:
  // stores become visible in order, so a thread that reads the patched word sees the mark.
  void set_patching(bool patching) { OffsetMap::set_patching(*bucket_, patching); }

 private:
  friend class OffsetMap;
  Home(OffsetMap* map, Tally* tally, const Place& place)
      : map_(map), tally_(tally), word_(place.table), bucket_(place.home), tag_(place.tag) {}
  void unlatch() { OffsetMap::unlatch(*bucket_); }
  std::uint32_t number() const { return static_cast<std::uint32_t>(bucket_ - first_bucket(word_)); }
  const Table& table() const { return *Table::of(first_bucket(word_)); }
  template <class Match>
  [[gnu::noinline]] Entry find_among(Probe here, Match matches) const;
  Entry claim_behind();
  void forget_distance(std::uint32_t distance);

  OffsetMap* map_ = nullptr;
  Tally* tally_ = nullptr;
  std::uint64_t word_ = 0;  // The table; it cannot be replaced while the latch is held.
  Bucket* bucket_ = nullptr;
  std::uint64_t tag_ = 0;
};

// A home that latch_at_once() latched, perhaps in another function: until its end.
class OffsetMap::PatchedHome {
 public:
  explicit PatchedHome(Bucket& home) : home_(home) {}
  PatchedHome(const PatchedHome&) = delete;
  ~PatchedHome() { unlatch(home_); }
  void set_patching(bool patching) const { OffsetMap::set_patching(home_, patching); }

 private:
  Bucket& home_;
};

class [[nodiscard]] OffsetMap::Latched : public Home {
 public:
  Latched() = default;
  Latched(Latched&& other) noexcept : Home(std::exchange(static_cast<Home&>(other), Home())) {}
  Latched& operator=(Latched&& other) noexcept {
    if (this != &other)
      release(), static_cast<Home&>(*this) = std::exchange(static_cast<Home&>(other), Home());
    return *this;
  }
  ~Latched() { release(); }

  explicit operator bool() const { return bucket_ != nullptr; }
  void release() {
    if (bucket_ != nullptr) unlatch(), bucket_ = nullptr;
  }

 private:
  friend class OffsetMap;
  explicit Latched(Home home) : Home(home) {}
};

// The homes of several hashes, latched at once. Keep one per session: it reuses its memory.
class OffsetMap::LatchedMany {
 public:
  LatchedMany() = default;
  LatchedMany(const LatchedMany&) = delete;
  LatchedMany& operator=(const LatchedMany&) = delete;
  ~LatchedMany() { release(); }

  // Waits for all of them, in one global order. Inside a guard. Nothing is held before. Any number
  // of hashes, in any order, equal ones too.
  void acquire(OffsetMap& map, std::span<const std::uint64_t> hashes);
  void release();

  std::size_t size() const { return homes_.size(); }
  // The home of hashes[i] of acquire(). Two hashes may share one. To change all or nothing, claim()
  // for all new keys before the first replace().
  Home& operator[](std::size_t i) { return homes_[i]; }

 private:
  struct Ordered {
    std::uint64_t hash;
    std::size_t index;
  };
  std::vector<Home> homes_;
  std::vector<Ordered> order_;
};

}  // namespace holdfast::index

#include <holdfast/index/offset_map_inline.hpp>
