// store.hpp: records that survive. An embedded, durable key-value store on a region of memory.
// Public header.
//
//   auto store = kv::Store<>::open("/mnt/pmem/users").value();          // Bytes to bytes.
//   store.put("ada", "lovelace").value();
//   std::string name;
//   if (store.get("ada", name)) …                                       // false: kNotFound.
//
// Store<Key, Value> with fixed-size types: typed_store.hpp.
//
// Guarantee  When a verb that writes returns success, what it did survives what its Durability
//            names; until then it is there wholly or not at all. Readers see only such values,
//            never block, and never see another key's value. One fence per put, erase and
//            update_word; none per get.
// Threads    Every verb from any thread, without registration; a thread's session is made at its
//            first use of the store and released at its exit. close() and moving need the store to
//            themselves. Verbs are linearizable: a thread that learns through memory, a socket or a
//            join that a verb has returned sees what that verb did. Two clock readings prove no
//            order: a core may read its clock up to microseconds before others see its last store.
// Errors     kTooLarge, kInvalidOption (bad argument), kNoSpace (what lives does not fit; reads go
//            on, and erases, unless a mark, a checkpoint, a snapshot or a pinned value holds what
//            they would free), kReadOnly, kCorrupt (names the record), kIo, kClosed. Absence is
//            kNotFound, without a detail; get() leaves its output unchanged then.
// Implements Benson, Makait, Rabl: "Viper: An Efficient Hybrid PMem-DRAM Key-Value Store" (VLDB
//            2021), sections 3 and 4; deviations: docs/kv_arguments.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/kv/expiry.hpp>
#include <holdfast/kv/latencies.hpp>
#include <holdfast/kv/merge.hpp>
#include <holdfast/kv/options.hpp>
#include <holdfast/kv/verb_table.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::kv {

// Grows with every write of a record; unchanged by update_word(). 0 is the version of an absent
// key.
using Version = std::uint64_t;

inline constexpr std::uint64_t kMaxKeyBytes = 64 * KiB;  // Keys of length 0 are allowed.
inline constexpr std::uint64_t kMaxValueBytes = 4 * GiB;

// kWritten: put() does not know whether the key was there before; to find out, it would have to
// wait for a device. Only on a plain file, and only where the old record is not in memory.
// put_if_absent(), compare_and_put() and erase() always know.
enum class PutOutcome : std::uint8_t { kInserted = 1, kOverwrote = 2, kWritten = 3 };

struct StoreStats {
  std::uint64_t records = 0;       // Live keys; approximate while displaced_records is not 0.
  std::uint64_t live_bytes = 0;    // Of their records on the medium, with headers and padding.
  std::uint64_t medium_bytes = 0;  // Size of the region: what the store takes from the system.
  std::uint64_t used_bytes = 0;    // Blocks that are not free.
  std::uint64_t blocks = 0, free_blocks = 0, open_blocks = 0;
  std::uint64_t dram_index_bytes = 0;
  // Block table, dead bits, sessions, versions for snapshots, the order of the keys.
  std::uint64_t dram_other_bytes = 0;
  std::uint64_t sessions = 0;
  std::uint64_t snapshots_open = 0;
  // Executed since open, by all threads of the store. Zero where the medium has none: fences on
  // DRAM, tmpfs and plain files.
  std::uint64_t fences = 0, lines_written_back = 0, syncs = 0;
  std::uint64_t reclaimed_blocks = 0, relocated_bytes = 0, tombstones_dropped = 0;
  std::uint64_t expired_records = 0;  // That reclamation came upon.
  std::uint64_t index_rehashes = 0;
  // On a plain file: superseded without having been read (PutOutcome::kWritten), and not yet
  // counted as dead.
  std::uint64_t displaced_records = 0;
  Version newest_version = 0;
  Version mark_version = 0;           // Of the store's mark; 0: it has none.
  std::uint64_t mark_held_bytes = 0;  // Of blocks that are kept for the mark alone.
  std::uint64_t events_dropped = 0;   // That the listener was too slow for (events.hpp).
};

struct Defect {
  std::uint64_t offset = 0;  // Into the region.
  std::string what;          // "record 17 of block 3: checksum does not hold"
};

struct RecoveryReport {
  bool created = false;
  bool clean = false;  // The last close was clean and its index was loaded.
  std::uint64_t blocks_sealed_before = 0, blocks_scanned = 0;
  std::uint64_t records_scanned = 0;  // Whole ones, in those blocks.
  std::uint64_t records = 0, tombstones = 0, superseded = 0;
  // Behind the last whole record of open blocks. Nothing says that they were durable.
  std::uint64_t torn_bytes_dropped = 0;
  double seconds = 0;
  std::vector<Defect> defects;  // Read-only opens: what was not intact; the first 1,000.
};

struct VerifyReport {
  std::uint64_t blocks = 0, records = 0, tombstones = 0, bytes = 0;
  std::vector<Defect> defects;  // The first 1,000.
  std::uint64_t defects_total = 0;
  bool ok() const { return defects_total == 0; }
};

struct SpaceCore;
class Space;  // space.hpp

// An atomic group of puts and erases: all of them become visible and durable at once, or none. The
// last operation on a key wins. Reusable after clear().
class WriteBatch {
 public:
  void put(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  // Of a keyspace of the store that the batch is written to.
  void put(const Space& space, std::string_view key, std::string_view value);
  void erase(const Space& space, std::string_view key);
  void clear() { operations_.clear(), bytes_.clear(), spaces_.clear(); }
  std::size_t size() const { return operations_.size(); }

  struct View {
    std::string_view key, value;
    std::uint32_t space;  // 0: the store's own keys; else of spaces(), counted from 1.
    bool erase;
  };
  View operator[](std::size_t i) const;  // In the order in which they were added.
  using Spaces = std::vector<std::shared_ptr<std::atomic<SpaceCore*>>>;
  const Spaces& spaces() const { return spaces_; }

 private:
  struct Operation {
    std::uint64_t key_at, key_bytes, value_at, value_bytes;
    std::uint32_t space;
    bool erase;
  };
  std::uint32_t number_of(const Space& space);

  std::vector<Operation> operations_;
  std::string bytes_;
  Spaces spaces_;
};

// A value read in place. While it lives its bytes stay as they were; it holds back reclamation and
// in-place updates, so keep it briefly. Movable. It ends before its store does: close() refuses
// while there is one, and a destructor that finds one stops the process.
class Pinned {
 public:
  Pinned() = default;
  Pinned(Pinned&& other) noexcept;
  Pinned& operator=(Pinned&& other) noexcept;
  ~Pinned();
  std::string_view value() const { return pins_ == nullptr ? std::string_view(copy_) : value_; }
  Version version() const { return version_; }

  // For the store. `pins`: what was raised for it.
  Pinned(std::atomic<std::uint32_t>& pins, std::string_view value, Version version)
      : pins_(&pins), value_(value), version_(version) {}
  Pinned(std::string copy, Version version) : copy_(std::move(copy)), version_(version) {}

 private:
  std::atomic<std::uint32_t>* pins_ = nullptr;  // Null: the copy is the value.
  std::string copy_;                            // Read beside an in-place update.
  std::string_view value_;
  Version version_ = 0;
};

class StoreCore;
class Cursor;      // cursor.hpp
class Checkpoint;  // checkpoint.hpp

// Every record of a store's own keys, or of a keyspace, as it was when the snapshot was taken,
// while writes and reclamation go on. It keeps the versions that it can see. close() and
// drop_space() do not wait for snapshots: they refuse. A snapshot is empty (kClosed) if it was
// moved from, was taken of a closed store or of a dropped keyspace, or outlives its store. So is
// one taken inside the function given to update() or update_word(). No snapshot may end inside such
// a function.
class Snapshot {
 public:
  Snapshot() = default;  // Empty.
  Snapshot(Snapshot&& other) noexcept;
  Snapshot& operator=(Snapshot&& other) noexcept;
  ~Snapshot();
  Version version() const { return version_; }

  Result<Version> get(std::string_view key, std::string& value) const;
  // Calls `visit(key, value, version)` once per record, in no order, until it returns false. The
  // views are valid during the call. Errors: kCorrupt (some records are damaged; all others were
  // visited).
  Status for_each(
      FunctionRef<bool(std::string_view key, std::string_view value, Version)> visit) const;
  std::uint64_t count() const;  // Of records that are not damaged. O(records).
  // A cursor over its records, in order. Errors: kInvalidOption (the store keeps no order).
  Result<Cursor> cursor() const;

  // For the store.
  using StoreLink = std::shared_ptr<std::atomic<StoreCore*>>;
  using SpaceLink = std::shared_ptr<std::atomic<SpaceCore*>>;
  Snapshot(StoreLink store, Version version, std::uint64_t clock)
      : store_(std::move(store)), version_(version), clock_(clock) {}
  Snapshot(SpaceLink space, Version version, std::uint64_t clock)
      : space_(std::move(space)), version_(version), clock_(clock) {}

 private:
  template <class Verb>
  auto in(Verb&& verb) const;

  // At most one is set. It leads to null once the store is gone.
  StoreLink store_;
  SpaceLink space_;
  Version version_ = 0;
  std::uint64_t clock_ = 0;  // By which records have expired.
};

struct StoreCoreDeleter {
  void operator()(StoreCore* core) const;
};
using StoreCorePointer = std::unique_ptr<StoreCore, StoreCoreDeleter>;

// What a store says of its keys and values at creation and checks at every later open.
struct RecordShape {
  std::uint32_t key_bytes = 0;    // 0: any length.
  std::uint64_t value_bytes = 0;  // 0 with key_bytes 0: any length.
};

// The verbs that do not depend on the types. After close(), and for a store that was moved from, a
// verb that returns a Status or a Result says kClosed. The others answer as for an empty store:
// count(), durable_up_to() and stats() are zero, and verify() has one defect that says so. The same
// holds in a child of fork(), unless the store was opened read-only.
class StoreBase {
 public:
  StoreBase(StoreBase&& other) noexcept
      : core_(std::move(other.core_)), verbs_(std::exchange(other.verbs_, &closed_verbs)) {}
  StoreBase& operator=(StoreBase&& other) noexcept {
    core_ = std::move(other.core_);
    verbs_ = std::exchange(other.verbs_, &closed_verbs);
    return *this;
  }

  std::uint64_t count() const;
  // Everything acknowledged before is durable against power loss when it returns.
  Status sync();
  // Records up to this version are durable against power loss.
  Version durable_up_to() const;
  // Waits for the writes that are under way; those that begin meanwhile wait for it. Reads go on.
  Snapshot snapshot();
  // The records in the order of their keys. Errors: kInvalidOption (StoreOptions::order is off).
  Result<Cursor> cursor() const;
  // How many keys begin with `prefix`. O(that number). Errors: those of a cursor.
  Result<std::uint64_t> count_prefix(std::string_view prefix) const;
  // Erases the keys that begin with `prefix`, or those from `from` on and below `to`, and returns
  // how many. Not atomic: it erases in groups that share fences. A crash or an error leaves a part
  // of the keys, and a key that comes meanwhile may stay. O(that number). Errors: those of a cursor
  // and of erase; kInvalidOption (`from` is not below `to`). An empty `to` is refused: no key is
  // below it, and it does not mean the end.
  Result<std::uint64_t> erase_prefix(std::string_view prefix, WriteOptions options = {});
  Result<std::uint64_t> erase_range(std::string_view from, std::string_view to,
                                    WriteOptions options = {});
  // Records that expire: expiry.hpp. Both verbs are durable when they return. Each costs one fence
  // (the first of a store: two more), or a sync on page media. Errors of expire(): kInvalidOption,
  // kAlreadyExists (the prefix has another rule), kNoSpace (64 rules); of set_clock():
  // kInvalidOption (it would run backwards); of both kBusy (called by a verb that is under way),
  // and those of a put.
  Status expire(const ExpiryRule& rule);
  Status set_clock(std::uint64_t now);
  std::uint64_t clock() const;  // 0 until it was set.
  std::vector<ExpiryRule> expiry_rules() const;
  // The store as it is now, as runs that do not change: checkpoint.hpp. Writers go on, but for a
  // moment as beside snapshot().
  Result<Checkpoint> checkpoint();
  // A durable savepoint in place: an open with StoreOptions::at_mark finds what checkpoint() would
  // have copied now. The mark before is gone. Copies no record: a bit per line of the medium, some
  // milliseconds; writers go on. From then on reclamation keeps what the mark needs, up to all that
  // lives now. Patchable words are as in a checkpoint. Fences on line media: three (for the first
  // mark four), one for each open run, one where there are patchable words; for a later mark also
  // one for each run in which nothing lives. Returns the version: every record at the mark has it
  // or an older one. Errors: kReadOnly, kBusy (called by a verb that is under way), kNoSpace (the
  // mark before stays), kTooLarge, kIo.
  Result<Version> mark();
  Status drop_mark();  // Two fences. Errors: kNotFound (there is none), kReadOnly, kBusy, kIo.
  StoreStats stats() const;
  // From now on times one in `one_in` calls, drawn at random, of put, erase, update_word, get,
  // put_many and get_many. 0, as after open: it times none, and costs nothing. A timed call reads
  // the clock twice. Calls of keyspaces and pipelines, and calls with a durability of their own,
  // are not timed. May be called while other threads use the store.
  Status sample_latencies(std::uint32_t one_in);
  // Of all calls that were timed since open.
  Latencies latencies() const;
  const RecoveryReport& recovery() const;
  RegionReport region_report() const;
  // Allocates an index for so many records in all: until then no put grows it. Call it before a
  // load of known size; initial_bytes does the same for the medium. Other sessions go on. Errors:
  // kNoSpace (not as much memory is available), kReadOnly, kBusy (called by a verb that is under
  // way).
  Status reserve(std::uint64_t records);
  // Reclaims now, in the caller, until what is in use is near live data; also where background is
  // off. Errors: kBusy (called by a verb that is under way), kCorrupt, kIo.
  Status reclaim();
  // Reads and checks everything on the medium. Finds damage; changes nothing. Called by a verb that
  // is under way it reads nothing, and names that as its only defect (kBusy).
  VerifyReport verify() const;
  // Ends sessions and background work, writes the index and the clean mark, unlocks. kBusy while
  // snapshots, checkpoints or pinned values are held, when the store's listener calls it, and when
  // a verb that is under way calls it. Nothing has changed then. A full medium may have no room for
  // the index: the next open rebuilds it, and says so (RecoveryReport::clean). The destructor does
  // the same and drops the status.
  Status close();
  bool read_only() const;         // True when closed.
  Durability durability() const;  // Of an operation that does not say otherwise; never kDefault.

  // For the library and its tests. Null: closed() says why.
  StoreCore* core() const;
  Error closed() const;     // What a verb returns then.
  static Error no_order();  // For the library.

 protected:
  StoreBase(StoreCorePointer core);
  static Result<StoreCorePointer> open_core(std::string_view spec, const StoreOptions& options,
                                            RecordShape shape);
  static Result<StoreCorePointer> open_core(Region region, const StoreOptions& options,
                                            RecordShape shape);

  // The verbs on bytes. The verbs of all stores are made of them.
  static std::string_view text_of(const void* object, std::size_t bytes) {
    return {static_cast<const char*>(object), bytes};
  }
  using WordChange = FunctionRef<std::uint64_t(std::uint64_t)>;
  Result<PutOutcome> put_bytes(std::string_view key, std::string_view value, WriteOptions options) {
    if (!is_default(options)) [[unlikely]]
      return put_with(key, value, options);
    return Result<PutOutcome>::of(verbs_->put(*verbs_, key, value));
  }
  Result<Version> put_bytes_if_absent(std::string_view key, std::string_view value,
                                      WriteOptions options);
  Result<Version> put_bytes_if_version(std::string_view key, Version expected,
                                       std::string_view value, WriteOptions options);
  // What these two return: verb_table.hpp.
  Result<Version> get_bytes(std::string_view key, std::span<std::byte> buffer) const {
    return Result<Version>::of(verbs_->get(*verbs_, key, buffer));
  }
  Result<std::uint64_t> get_length(std::string_view key, std::span<std::byte> buffer) const {
    return Result<std::uint64_t>::of(verbs_->get_length(*verbs_, key, buffer));
  }
  Result<Version> get_text(std::string_view key, std::string& value) const {
    return Result<Version>::of(verbs_->get_text(*verbs_, key, value));
  }
  Result<Pinned> get_bytes_pinned(std::string_view key) const;
  Status get_texts(std::span<const std::string_view> keys, std::span<std::string> values,
                   std::span<Errc> outcomes) const;
  Status put_texts(std::span<const std::string_view> keys, std::span<const std::string_view> values,
                   WriteOptions options);
  // Objects of one size each, side by side.
  struct Objects {
    const void* first;
    std::size_t bytes, count;
  };
  Status get_objects(Objects keys, Objects values, std::span<Errc> outcomes) const;
  Status put_objects(Objects keys, Objects values, WriteOptions options);
  Result<Version> update_bytes(std::string_view key, FunctionRef<void(std::string&)> change,
                               bool fixed_size, WriteOptions options);
  Result<Version> merge_bytes(std::string_view key, MergeFunction function,
                              std::string_view operand, WriteOptions options);
  Result<std::uint64_t> update_word_of(std::string_view key, std::uint32_t offset_bytes,
                                       WordChange change, WriteOptions options) {
    if (!is_default(options)) [[unlikely]]
      return update_word_with(key, offset_bytes, change, options);
    return Result<std::uint64_t>::of(verbs_->update_word(*verbs_, key, offset_bytes, change));
  }
  Result<bool> erase_bytes(std::string_view key, WriteOptions options) {
    if (!is_default(options)) [[unlikely]]
      return erase_with(key, options);
    return Result<bool>::of(verbs_->erase(*verbs_, key));
  }
  using ChangeOne = FunctionRef<void(std::size_t i, std::string& value)>;
  using ChangeWordOne = FunctionRef<std::uint64_t(std::size_t i, std::uint64_t word)>;
  Status update_texts(std::span<const std::string_view> keys, ChangeOne change,
                      std::span<Errc> outcomes, WriteOptions options);
  Status update_objects(Objects keys, ChangeOne change, std::span<Errc> outcomes,
                        WriteOptions options);
  Status update_words_of(std::span<const std::string_view> keys, std::uint32_t offset_bytes,
                         ChangeWordOne change, std::span<Errc> outcomes, WriteOptions options);
  Status update_words_of(Objects keys, std::uint32_t offset_bytes, ChangeWordOne change,
                         std::span<Errc> outcomes, WriteOptions options);
  Status erase_texts(std::span<const std::string_view> keys, std::span<Errc> outcomes,
                     WriteOptions options);
  Status erase_objects(Objects keys, std::span<Errc> outcomes, WriteOptions options);
  Result<Version> write_batch(const WriteBatch& batch, WriteOptions options);

 private:
  static bool is_default(WriteOptions options) {
    return options.durability == Durability::kDefault;
  }
  Result<PutOutcome> put_with(std::string_view key, std::string_view value, WriteOptions options);
  Result<bool> erase_with(std::string_view key, WriteOptions options);
  Result<std::uint64_t> update_word_with(std::string_view key, std::uint32_t offset_bytes,
                                         WordChange change, WriteOptions options);
  Result<Cursor> key_cursor() const;  // Keys and versions only.
  Result<std::uint64_t> erase_group(std::span<const std::string_view> keys, WriteOptions options);

  StoreCorePointer core_;
  HotVerbs* verbs_ = &closed_verbs;  // Part of the core.
};

struct AnyBytes;
template <class Key = AnyBytes, class Value = AnyBytes>
class Store {
  static_assert(sizeof(Key) == 0,
                "Store<Key, Value> of fixed-size types: #include <holdfast/kv/typed_store.hpp>");
};

// Keys and values of any bytes: keys up to 64 KiB, values up to 4 GiB.
template <>
class Store<> : public StoreBase {
 public:
  // `spec` as in region.hpp; a path that does not exist or is an empty directory becomes a
  // directory of segments.
  static Result<Store> open(std::string_view spec, const StoreOptions& options = {});
  static Result<Store> open(Region region, const StoreOptions& options = {});

  // ---- Keyspaces: sets of keys of their own (space.hpp) ----
  // Durable and atomic. Errors: kAlreadyExists, kInvalidOption (a name of 1 to 255 bytes is
  // allowed), kBusy (called by a verb that is under way, or in a walk of a keyspace), kNoSpace,
  // those of put.
  Result<Space> create_space(std::string_view name);
  Result<Space> space(std::string_view name) const;  // Errors: kNotFound.
  // When it returns, the space's records are durably gone, and its medium is free. It reads none of
  // them. Errors: kNotFound, kBusy (a snapshot of it is open; as create_space()), those of put.
  Status drop_space(std::string_view name);
  std::vector<std::string> spaces() const;  // Their names, in order.
  // Snapshots of one moment: one of the store's own keys, then one of each of `spaces`, in order.
  // Of a batch, all of them show all or nothing. Errors: kClosed (a space is), kInvalidOption (one
  // is of another store), kBusy (called by a verb that is under way).
  Result<std::vector<Snapshot>> snapshots(std::span<const Space> spaces);
  // As those of the store's own keys. Errors: also kClosed (the space is), kInvalidOption (it is of
  // another store).
  using StoreBase::expire, StoreBase::expiry_rules;
  Status expire(const Space& space, const ExpiryRule& rule);
  Result<std::vector<ExpiryRule>> expiry_rules(const Space& space) const;

  Result<PutOutcome> put(std::string_view key, std::string_view value, WriteOptions options = {}) {
    return put_bytes(key, value, options);
  }
  // kAlreadyExists if the key has a record; nothing was written then.
  Result<Version> put_if_absent(std::string_view key, std::string_view value,
                                WriteOptions options = {}) {
    return put_bytes_if_absent(key, value, options);
  }
  // Writes if the record's version is `expected` (0: absent), else kVersionMismatch. Returns the
  // new version.
  Result<Version> compare_and_put(std::string_view key, Version expected, std::string_view value,
                                  WriteOptions options = {}) {
    return put_bytes_if_version(key, expected, value, options);
  }

  // Copies the value out and returns its version, or kNotFound.
  Result<Version> get(std::string_view key, std::string& value) const {
    return get_text(key, value);
  }
  // Copies into `buffer` as much as fits; returns the value's full length, or kNotFound.
  Result<std::uint64_t> get(std::string_view key, std::span<std::byte> buffer) const {
    return get_length(key, buffer);
  }
  Result<Pinned> get_pinned(std::string_view key) const { return get_bytes_pinned(key); }

  // `outcomes[i]` is kOk or kNotFound, and values[i] is assigned where kOk. The cache misses of
  // the batch overlap. Spans of equal length. Errors: kCorrupt.
  Status get_many(std::span<const std::string_view> keys, std::span<std::string> values,
                  std::span<Errc> outcomes) const {
    return get_texts(keys, values, outcomes);
  }
  // Several puts that share one fence. Not atomic: after a crash any prefix of them may be there.
  // For a key that another thread writes meanwhile, that write may count as the later one.
  Status put_many(std::span<const std::string_view> keys, std::span<const std::string_view> values,
                  WriteOptions options = {}) {
    return put_texts(keys, values, options);
  }

  // Replaces the value by what `change` makes of it, atomically. Returns the new version, or
  // kNotFound. Where the medium was full, `change` may be called again, with the value of that
  // time. It must not call verbs of this store that write, nor wait for a thread that does: a
  // snapshot waits for the update, and other writes for the snapshot.
  Result<Version> update(std::string_view key, FunctionRef<void(std::string& value)> change,
                         WriteOptions options = {}) {
    return update_bytes(key, change, false, options);
  }
  // Adds to the value, without rewriting it; an absent key gets `bytes`. Returns the new version.
  // merge.hpp has the costs.
  Result<Version> append(std::string_view key, std::string_view bytes, WriteOptions options = {}) {
    return merge_bytes(key, MergeFunction::kAppend, bytes, options);
  }
  // Replaces the value by function(value, operand); an absent key gets `operand`. Returns the new
  // version. Errors: kInvalidOption (sizes that the function does not take).
  Result<Version> merge(std::string_view key, MergeFunction function, std::string_view operand,
                        WriteOptions options = {}) {
    return merge_bytes(key, function, operand, options);
  }
  // Replaces the 8-byte word at `offset_bytes` of the value (a multiple of 8) by change(word); in
  // place where declared in patchable_words and possible, else through a new record. Returns the
  // old word. `change` as for update().
  Result<std::uint64_t> update_word(std::string_view key, std::uint32_t offset_bytes,
                                    WordChange change, WriteOptions options = {}) {
    return update_word_of(key, offset_bytes, change, options);
  }
  // Returns whether the key was there.
  Result<bool> erase(std::string_view key, WriteOptions options = {}) {
    return erase_bytes(key, options);
  }

  // The same for several keys, in order, in groups that share misses and fences; not atomic.
  // `outcomes[i]` is kOk, kNotFound, or why key i failed. The other keys go on, and the first
  // failure is returned. `change` gets the number of the key, and must not throw. Spans of equal
  // length.
  Status update_many(std::span<const std::string_view> keys, ChangeOne change,
                     std::span<Errc> outcomes, WriteOptions options = {}) {
    return update_texts(keys, change, outcomes, options);
  }
  Status update_word_many(std::span<const std::string_view> keys, std::uint32_t offset_bytes,
                          ChangeWordOne change, std::span<Errc> outcomes,
                          WriteOptions options = {}) {
    return update_words_of(keys, offset_bytes, change, outcomes, options);
  }
  Status erase_many(std::span<const std::string_view> keys, std::span<Errc> outcomes,
                    WriteOptions options = {}) {
    return erase_texts(keys, outcomes, options);
  }

  Result<Version> write(const WriteBatch& batch, WriteOptions options = {}) {
    return write_batch(batch, options);
  }

 private:
  using StoreBase::StoreBase;
  Result<std::uint16_t> number_of(const Space& space) const;
};

}  // namespace holdfast::kv
