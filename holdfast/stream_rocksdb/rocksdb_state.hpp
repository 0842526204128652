// rocksdb_state.hpp: the state of queries in RocksDB, behind the interface of state_store.hpp. It
// lies in the module of RocksDB, holdfast-peers-rocksdb.so. Callers ask the module for this
// function (modules/modules.hpp).
//
//   key    of an entry; 'm', the last checkpoint; 's', entries were written early: state_keys.hpp
//   value  the state; of 'm' the epoch (8 bytes, big-endian) and the metadata; of 's' none
//
// Guarantee  An entry is a delta of its epoch. complete() writes the entries that wait, what was
//            replaced or dropped, and 'm' as one batch, and syncs RocksDB's log: after a crash all
//            of it is there or nothing. So a crash gives no dropped slice back and leaves no older
//            version of a key.
// Order      Entries are written in the order of their keys: waiting_entries.hpp.
// Large      Entries beyond kEarlyBytes do not wait in memory: they are written before, without a
// epochs     sync, and 's' with the first of them. open() removes entries of later epochs only
//            where it finds 's', so it need not look at all entries.
// One column All queries share it. complete() is then one batch in one log whatever the number of
// family     queries, and they share one write buffer; the first four bytes keep them apart.
// Settings   No Bloom filter: no entry is asked for by itself, each read is a scan of a slice. LZ4
//            where the library has it. One block cache with indexes in it, so that memory has a
//            bound. A slice that is dropped is one range delete; compaction frees its bytes.
// Damage     RocksDB's checksums find it in tables (kCorrupt, where they are read). In its logs and
//            its manifest RocksDB takes damage for their end: state_directory.hpp finds that.
// Threads    Stores of several queries at a time; each store one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream {

// Of entries that wait for complete() in memory, at most.
inline constexpr std::size_t kEarlyBytes = std::size_t{16} << 20;

// "/var/state", "/var/state?cache=512M&buffer=64M".
struct RocksdbPlace {
  std::string path;
  std::uint64_t cache_bytes = std::uint64_t{256} << 20;  // Of blocks; at least 1 MiB.
  std::uint64_t buffer_bytes = std::uint64_t{64} << 20;  // A write buffer; 1 MiB to 4 GiB.

  // Errors: kInvalidOption, naming the option and the value seen.
  static Result<RocksdbPlace> parse(std::string_view spec);
};

// The store of one query of a script, by its number. The directory is open until all stores and
// all copies of this have gone.
using StateOfQuery = std::function<Result<std::unique_ptr<StateStore>>(std::uint32_t query)>;

// Opens the directory, or makes it. Errors: kInvalidOption (the spec), kNotHoldfast (there is
// something else), kNewerFormat, kBusy (another process has it: names it), kCorrupt, kNoSpace, kIo.
Result<StateOfQuery> open_rocksdb_state(const std::string& spec);

}  // namespace holdfast::stream
