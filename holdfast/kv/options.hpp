// options.hpp: how a store is created and opened. One struct, one validate(), one test per rule.
// Public header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::kv {

class BackgroundPool;  // background_pool.hpp
class EventListener;   // events.hpp

// What an acknowledged operation survives. docs/durability.md says what each medium can give.
enum class Durability : std::uint8_t {
  kDefault = 0,  // The strongest that the medium gives without a system call: kPower on line and
                 // byte regions, kProcess on files, tmpfs and DRAM-like media.
  kProcess = 1,  // The death of the process.
  kPower = 2,    // Power loss. On page regions an operation waits for its group's sync.
};

struct ReclaimOptions {
  bool background = true;  // Off: only reclaim() reclaims.
  // Goal for medium in use over live data, beyond 10 blocks and the open runs. Writers are slowed
  // to keep to it (pace.hpp). 1.05 to 10.
  double space_amplification = 1.25;
  // Limit on bytes moved in the background per second. It holds while writers do not outrun it. 0:
  // none.
  std::uint64_t bytes_per_second = 0;
};

struct StoreOptions {
  RegionAccess access = RegionAccess::kOpenOrCreate;

  // Used when the store is created; later opens read them from the store.
  // Power of two, 8 KiB to 16 MiB: what a session writes into at a time.
  std::uint32_t block_bytes = 256 * KiB;
  std::uint64_t segment_bytes = 4 * MiB;  // Multiple of block_bytes: the step of growth.
  std::uint64_t initial_bytes = 4 * MiB;  // Rounded up to segments; kept also when less is used.
  // Byte offsets into the value of aligned 8-byte words that update_word() may change in place.
  // Multiples of 8, ascending, at most 64 of them. Costs 8 bytes per record when not empty.
  std::vector<std::uint32_t> patchable_words;

  // Used at every open.
  // The size of a directory's files, rounded up to segments; the last file is as long as it needs
  // to be. A directory that has several files keeps their size.
  std::uint64_t file_bytes = 32 * MiB;
  Durability durability = Durability::kDefault;  // Of operations that do not say otherwise.
  // Hard limit on the medium. Where the medium is larger already, it limits what is in use of it.
  // Beyond the limit puts return kNoSpace.
  std::uint64_t max_bytes = 16 * TiB;
  // On: every read checks its record's checksum, so damage is kCorrupt, never a wrong value. A read
  // then also costs the hashing of the record. Off: reads trust what the open has accepted;
  // `verify` and reclamation find damage.
  bool verify_reads = false;
  // Keeps the keys, also those of keyspaces, in order in DRAM, for cursors (cursor.hpp). It takes
  // some 30 bytes more per key of 16. After an open the key of each record is read, in the
  // background where that is on; cursors wait for it. The bytes on the medium are the same.
  bool order = false;
  // Opens the store as it was at its mark(). For writing: what came later is gone for good, and the
  // store goes on from there. Read-only: nothing changes.
  bool at_mark = false;
  bool prefault = false;  // Touch the medium at open and growth, so that no put pays a first touch.
  unsigned recovery_threads = 0;  // 0: one per CPU.
  // Page regions: bound on the age of data that is not synced; 0: only sync() syncs.
  std::uint32_t sync_interval_ms = 100;
  bool background = true;  // Off: no background work (growth happens in the caller).
  // Whose threads do the background work; null: those that all stores of the process share.
  std::shared_ptr<BackgroundPool> background_pool;
  // For tools: opens a store of any types as bytes. Writes do not check the sizes then, so a
  // program that sets it opens read-only.
  bool any_shape = false;
  // Is told of growth, reclamation, failures, recovery and stalls; null: nobody is.
  std::shared_ptr<EventListener> listener;
  ReclaimOptions reclaim;

  // kInvalidOption, naming the field, the value seen and what is allowed.
  Status validate() const;
};

// Per operation.
struct WriteOptions {
  Durability durability = Durability::kDefault;  // kDefault: the store's.
  // For append(), merge(), update() and update_many(). True: where a rule with a ttl has a time
  // stamp in the new value (expiry.hpp), the stamp becomes the store's clock. False: the stamp
  // stays. Other verbs write values with a stamp of their own, and ignore this.
  bool renew = false;
};

}  // namespace holdfast::kv
