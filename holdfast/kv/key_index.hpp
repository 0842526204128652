// key_index.hpp: the only way to the index: from a key to its newest record.
//
//   KeyIndex::Place place = index.place(key);               // Hashed once, for all later steps.
//   Live live = index.find(place, key, guard);              // Readers.
//   if (live) … live.record …; else return live.error(…);
//
//   Seen old = index.look(place, key);                      // Writers: all misses happen here,
//   auto home = index.latch(place, session);                // and the latch is held for a
//   if (home.unchanged(old)) home.replace(old.entry, line); // comparison and a store.
//
// Whether a record is live is decided here and nowhere else: absent, tombstone, unknown kind,
// longer than its run, checksum, expired.
//
// Batches become visible at once: while one is being published, `previous` leads readers from its
// records to those that they supersede.
//
// Threads    Any; inside a guard where it says so in offset_map.hpp.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>

#include <holdfast/base/epoch.hpp>
#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/index/offset_map.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/expiry_rules.hpp>
#include <holdfast/kv/hot_path.hpp>
#include <holdfast/kv/key_order.hpp>
#include <holdfast/kv/records.hpp>
#include <holdfast/kv/sessions.hpp>

namespace holdfast::kv {

class StoredOrder;
using index::Entry;
using index::OffsetMap;
using index::Place;
using index::Seen;

struct LineHash {
  std::size_t operator()(Line line) const { return mix64(line.number); }
};
using LineMap = std::unordered_map<Line, Line, LineHash>;

// A batch that is being published, in one index or in several: from its records to those that they
// supersede.
struct BatchUnderWay {
  LineMap previous;
  std::atomic<bool> over{false};  // Its records are what readers are to see, in all indexes.
};

// Frees the batch when no reader that was sent there looks at it any more.
void retire(EpochDomain& epochs, std::unique_ptr<BatchUnderWay> batch);

// What a snapshot shows: what was newest at a version, and has not expired by a clock.
struct Moment {
  std::uint64_t version = 0;
  std::uint64_t clock = 0;
};

// What a key leads to.
struct Live {
  Errc outcome = Errc::kNotFound;  // kOk: there is a record. kCorrupt: `what` is wrong with it.
  Line line;
  RecordView record;
  const char* what = "";

  explicit operator bool() const { return outcome == Errc::kOk; }
};

class KeyIndex {
 public:
  KeyIndex(const Records& records, const ExpiryRules& expiry, KeyHash hash, bool verify_reads)
      : records_(records), expiry_(expiry), hash_(hash), verify_reads_(verify_reads) {}
  KeyIndex(const KeyIndex&) = delete;

  OffsetMap& map() { return *map_; }
  const OffsetMap& map() const { return *map_; }
  void adopt(std::unique_ptr<OffsetMap> map) { map_ = std::move(map); }
  void adopt(std::unique_ptr<KeyOrder> order) { order_ = std::move(order); }
  // Empties the index. No thread uses it meanwhile, and the caller is in no guard. O(entries).
  // Errors: kNoSpace; the index is unusable then.
  Status clear(EpochDomain& epochs);
  const KeyOrder* order() const { return order_.get(); }  // Null: there is none.
  const Records& records() const { return records_; }

  template <class Path = AnyPath>
  std::uint64_t hash(Bytes key) const {
    return Path::hash(hash_, key);
  }
  bool hashes_by_instruction() const { return hash_.has_instruction(); }
  Place place(std::uint64_t hash) const { return map_->place(hash); }
  auto matches(Bytes key) const {
    return [this, key](Line line) { return records_.has_key(line, key); };
  }

  // ---- Readers ----
  Live find(const Place& place, Bytes key, const EpochDomain::Guard&) const {
    Line line = map_->find(place, matches(key));
    if (line) line = settled(line);
    return judge(line);
  }
  // The line that a reader of the key is to see, or none.
  template <class Path>
  Line line_of(const Place& place, Bytes key) const {
    const Line line = map_->find<typename Path::Probing>(place, matches(key));
    return line ? settled(line) : line;
  }
  // The same, with the answer of map().candidate(place) from before in this guard. It is nearly
  // always the right line.
  template <class Path>
  Line line_of(const Place& place, Bytes key, Line candidate) const {
    if (candidate && records_.has_key(candidate, key)) [[likely]]
      return settled(candidate);
    return line_of<Path>(place, key);
  }
  // The rule of judge(), for hot paths. Stores whose records may expire have no fixed paths.
  template <class Path = AnyPath>
  bool is_live(const RecordView& record, Line line) const {
    return line && record.kind() == RecordKind::kPut && records_.value_fits(record, line) &&
           (!verify_reads_ || records_.is_sound(record, line)) &&
           (Path::kFixed || !expiry_.expired(record));
  }
  // The same for a writer, without the checksum: whether its key has a record there.
  bool is_there(const RecordView& record, Line line) const {
    return is_put(record.kind()) &&
           (!expiry_.any() || !records_.value_fits(record, line) || !expiry_.expired(record));
  }
  // The rule. Line 0 is absent.
  Live judge(Line line) const { return judge(line, {ExpiryRules::kNewest, expiry_.clock()}); }
  // The same by the clock and the rules of a snapshot.
  Live judge(Line line, Moment moment) const {
    const RecordView record = records_.at(line);
    if (!line) [[unlikely]]
      return {Errc::kNotFound, line, record, ""};
    if (!is_put(record.kind())) [[unlikely]] {
      if (record.kind() == RecordKind::kErase) return {Errc::kNotFound, line, record, ""};
      return {Errc::kCorrupt, line, record, "record of unknown kind"};
    }
    if (!records_.value_fits(record, line)) [[unlikely]]
      return {Errc::kCorrupt, line, record, "record longer than its run"};
    // The checksum does not cover what is updated in place.
    if (verify_reads_ && !records_.is_sound(record, line)) [[unlikely]]
      return {Errc::kCorrupt, line, record, "record whose checksum does not hold"};
    if (expiry_.any() && expiry_.expired(record, moment.clock, moment.version)) [[unlikely]]
      return {Errc::kNotFound, line, record, ""};
    return {Errc::kOk, line, record, ""};
  }
  Error error(const Live& live) const {
    if (live.outcome == Errc::kNotFound) return {Errc::kNotFound, {}};
    return records_.damaged(offset_of(live.line), live.what);
  }
  // What a reader is to see where the index names `line`.
  Line settled(Line line) const {
    const BatchUnderWay* const batch = batch_.load(std::memory_order_acquire);
    if (batch == nullptr) [[likely]]
      return line;
    if (batch->over.load(std::memory_order_acquire)) return line;
    const auto found = batch->previous.find(line);
    return found == batch->previous.end() ? line : found->second;
  }
  // Whether settled() has anything to say.
  bool is_settled() const { return batch_.load(std::memory_order_acquire) == nullptr; }
  // Asks for what publishing over the key's record will touch: its first line, the one `word_at`
  // bytes behind it, and what is known of its run. Waits for the index, for nothing else.
  template <class Path = AnyPath>
  void prefetch_record(const Place& place, std::uint64_t word_at = 0) const;

  // ---- Writers ----
  template <class Path = AnyPath>
  Seen look(const Place& place, Bytes key) const {
    return map_->look<typename Path::Probing>(place, matches(key));
  }
  OffsetMap::Latched latch(Place& place, Session& session) {
    return map_->latch(place, *session.tally);
  }
  // Nothing older than the horizon may be published: a newer tombstone is durable.
  bool behind_horizon(const Place& place, std::uint64_t sequence) const {
    return map_->erase_horizon(place.hash).load(std::memory_order_acquire) >= sequence;
  }
  void raise_horizon(std::uint64_t hash, std::uint64_t sequence) {
    map_->raise_erase_horizon(hash, sequence);
  }
  // Whether the index leads to this very record.
  bool leads_to(std::uint64_t hash, Line line, const EpochDomain::Guard&) const {
    return static_cast<bool>(map_->find(hash, [line](Line other) { return other == line; }));
  }

  // For an order: a key gets an entry, or loses it. Both under the latch of its home.
  bool is_ordered() const { return order_ != nullptr; }
  void enter(Bytes key) {
    if (order_) [[unlikely]]
      order_->add(key);
  }
  void leave(Bytes key) {
    if (order_) [[unlikely]]
      order_->remove(key);
  }

  // Prefetches what the order will need for a key that seems new by its home. Called beside a
  // fence, or before a group is published; inside a guard.
  [[gnu::noinline]] void prefetch_order(const Place& place, Bytes key) const {
    const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
    if (map_->candidate(place) == kNoLine) order_->prefetch({&text, 1});
  }
  // The same for puts of the keys from `first` on.
  [[gnu::noinline]] void prefetch_order(std::span<const OnItsWay> group, const ByteSpans& keys,
                                        std::size_t first) const;

  // Puts the keys of all entries in order: KeyOrder::load(). Called once, where there is an order,
  // beside other threads. `sessions` are those of this index. `stored`: the keys in order, or null.
  void load_order(Sessions& sessions, EpochDomain& epochs, unsigned threads,
                  const std::atomic<bool>& stop, StoredOrder* stored = nullptr);

  // From begin_batch() to end_batch(), readers are sent from the keys of batch.previous to its
  // values, unless the batch is over. One batch at a time. The caller retires `batch` after the
  // end.
  Mutex& batch_mutex() HF_RETURN_CAPABILITY(batch_mutex_) { return batch_mutex_; }
  void begin_batch(BatchUnderWay& batch) HF_REQUIRES(batch_mutex_);
  // Here the batch becomes visible, if it is not over yet.
  void end_batch() HF_REQUIRES(batch_mutex_);

  // Tombstones that are indexed for snapshots do not count as records.
  void count_tombstone(std::int64_t change) {
    tombstones_.fetch_add(static_cast<std::uint64_t>(change), std::memory_order_relaxed);
  }
  std::uint64_t count() const { return map_->size() - tombstones_.load(std::memory_order_relaxed); }

 private:
  const Records& records_;
  const ExpiryRules& expiry_;
  const KeyHash hash_;
  const bool verify_reads_;
  std::unique_ptr<OffsetMap> map_;
  std::unique_ptr<KeyOrder> order_;
  Mutex batch_mutex_;
  std::atomic<BatchUnderWay*> batch_{nullptr};
  std::atomic<std::uint64_t> tombstones_{0};
};

template <class Path>
void KeyIndex::prefetch_record(const Place& place, std::uint64_t word_at) const {
  const Line line = map_->candidate<typename Path::Probing>(place);
  if (line == kNoLine) return;
  const std::byte* const at = records_.medium().at(offset_of(line));
  prefetch_for_write(at);
  if (word_at >= kCacheLineBytes) prefetch_for_write(at + word_at);
}

}  // namespace holdfast::kv
