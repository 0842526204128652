// byte_dash.hpp: a persistent hash index whose keys and values are bytes of any length: a Dash
// index from the keys' hashes to records of a log.
// Public header.
//
// Guarantee  insert, put, update and erase are durable when they return; after a crash before that
//            the record is the old one or the new one. What find() returns is durable.
// Structure  A record of the log holds key and value. Dash leads from the 64-bit hash of the key to
//            it. Keys of one hash share a record, so Dash has one entry for each hash.
// Cost       find reads Dash's bucket, then the record, whose checksum is compared. Fences: insert
//            and update 2, the record's and Dash's; erase 1.
// Space      The log holds all records that were written. When it is full, or by reclaim(), the
//            live records of its oldest segments are copied to its end.
// Threads    Any. A find waits for no other thread, except for a moment while one reuses space.
// Recovery   Dash's and the log's: one pass over the last segment of each lane, whatever the size.
// Media      Granularity line, byte or none; not page (a plain file on a disk).
// Damage     kCorrupt, naming the place. A record's checksum covers key and value.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/keyed_hash.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/blocks/interleave/node_latches.hpp>
#include <holdfast/blocks/log/log.hpp>
#include <holdfast/index/dash/dash.hpp>

namespace holdfast::index {

struct ByteDashOptions {  // Of a new index; an existing one keeps its own.
  // Of the extent, for the log; a multiple of 4096, up to 8 TiB. 0: seven eighths of the extent, as
  // far as that. The rest is Dash's.
  std::uint64_t log_bytes = 0;
  std::uint64_t segment_bytes = 1 * MiB;  // Of the log. A record fits into one.
  std::uint32_t lanes = 4;                // Threads that write records at once: 1 to 63.
  DashOptions dash;
  Status validate() const;  // kInvalidOption, naming the field, the value seen and the rule.
};

class ByteDash {
 public:
  // A new, empty index. It is there when this returns; a crash before leaves none. Errors: as
  // Dash::create and Log::create.
  static Result<std::unique_ptr<ByteDash>> create(Region& region, const Extent& extent,
                                                  const ByteDashOptions& options = {});
  // Errors: as Dash::open and Log::open.
  static Result<std::unique_ptr<ByteDash>> open(Region& region, const Extent& extent);

  // Errors of all verbs: kCorrupt, naming the damaged place; of all but find and for_each:
  // kReadOnly; of those that write a record: kTooLarge (it does not fit into a segment), kNoSpace
  // (live records fill the log, or Dash is full). After any of these nothing was changed.

  // Errors: kNotFound.
  Result<std::string> find(std::string_view key) const;
  // Errors: kAlreadyExists.
  Status insert(std::string_view key, std::string_view value);
  // Inserts or updates.
  Status put(std::string_view key, std::string_view value);
  // Errors: kNotFound.
  Status update(std::string_view key, std::string_view value);
  // Errors: kNotFound. Writes no record unless another key has the same hash.
  Status erase(std::string_view key);

  // visit(key, value) for each record, in no order; as Dash::for_each. visit() must not write.
  Status for_each(FunctionRef<void(std::string_view key, std::string_view value)> visit) const;

  // Copies the live records of the oldest segments to the end of the log, until there is room for
  // some segments of new records. The segments that it copied from can be used again. Errors:
  // kNoSpace (live records fill the log).
  Status reclaim();

  const Dash& dash() const { return *dash_; }
  const blocks::Log& log() const { return *log_; }
  // For tests: only the lowest bits of a hash count, so that keys share one.
  void mask_hashes(std::uint64_t mask) { hash_mask_ = mask; }

  ByteDash(const ByteDash&) = delete;
  ByteDash& operator=(const ByteDash&) = delete;

 private:
  struct Entry {
    std::string_view key, value;
  };
  enum class Verb { kInsert, kPut, kUpdate };
  class KeyLatch;
  class Reading;
  void wait_for_readers();  // Readers that have begun.
  struct Lane {             // An appender that threads share.
    Mutex mutex;
    std::optional<blocks::LogAppender> appender HF_GUARDED_BY(mutex);
    std::uint64_t records HF_GUARDED_BY(mutex) = 0;  // Appended since it was opened.
  };

  ByteDash(const HashKey& hash_key, Claim claim, blocks::Log log, std::unique_ptr<Dash> dash);
  static Result<std::unique_ptr<ByteDash>> assemble(Region& region, const Extent& extent,
                                                    Claim claim);

  std::uint64_t hash_of(std::string_view key) const;
  // The entries of the record at a place that Dash names. The bytes are those of the medium.
  Result<std::vector<Entry>> entries_at(std::uint64_t place) const;
  // Under the key's latch: the place that Dash has for its hash, if any, and the entries there.
  struct Held {
    std::optional<std::uint64_t> place;
    std::vector<Entry> entries;
    std::vector<Entry>::iterator find(std::string_view key);
  };
  Result<Held> look(std::uint64_t hash) const;
  Status write(std::string_view key, std::string_view value, Verb verb);
  // These three return false where the log has no room now; nothing was changed then.
  Result<bool> try_write(std::string_view key, std::string_view value, Verb verb);
  Result<bool> try_erase(std::string_view key);
  // Appends the entries and makes Dash lead to them.
  Result<bool> replace(std::uint64_t hash, const Held& held, const std::vector<Entry>& entries);
  // Segments that only reclaim() may take: one to begin with, and one more than the live records
  // take, since its lane ends segments at other places. Each other lane keeps its last one, which
  // is never given back, and may have taken another after it had asked.
  std::size_t reserve() const { return 2 * lanes_.size() + 2; }
  // Calls do_it() until it says true, with a reclaim() before each further call.
  template <class DoIt>
  Status with_space(DoIt&& do_it);
  // Copies the record that the reader is at, if Dash leads to it.
  Status carry_on(const blocks::LogReader& reader);
  struct Written {
    blocks::Lsn stable;     // Of the last record, or the last one a former opening may have given.
    std::uint64_t records;  // Appended by all lanes but reclaim()'s, since it was opened.
  };
  Written written() const;  // Waits for appends that have begun.

  Claim claim_;  // Of the superblock; log and Dash have theirs.
  const HashKey hash_key_;
  std::uint64_t hash_mask_ = ~std::uint64_t{0};
  std::optional<blocks::Log> log_;
  std::unique_ptr<Dash> dash_;
  blocks::NodeLatches latches_;  // By hash: held by the writer of a key.
  std::vector<std::unique_ptr<Lane>> lanes_;
  Mutex reclaim_mutex_;  // Before any latch and any lane's mutex.
  // Shared while a record is read whose key is not latched. Taken alone, for a moment, between the
  // copying of records and the reuse of their segments. There are two, used in turn: a reader that
  // begins meanwhile takes the other one, so many readers do not keep reclaim() waiting.
  mutable std::array<SharedMutex, 2> reuse_;
  std::atomic<std::uint32_t> reuse_turn_{0};
};

}  // namespace holdfast::index
