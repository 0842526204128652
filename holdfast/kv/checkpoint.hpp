// checkpoint.hpp: a store at one moment, as runs that never change and a small private part. For
// incremental backups and for the checkpoints of stream processors. backup.hpp keeps them in a
// directory.
// Public header.
//
//   auto checkpoint = store.checkpoint().value();
//   for (std::size_t i = 0; i < checkpoint.runs().size(); ++i) {
//     const kv::CheckpointRun& run = checkpoint.runs()[i];
//     if (mine.contains(run.name)) continue;                    // An earlier checkpoint had it.
//     bytes.resize(run.bytes);
//     checkpoint.read(i, bytes);
//     mine.keep(run.name, bytes);
//   }
//   mine.keep_private_part(checkpoint.private_part().value());
//   …
//   kv::restore("/mnt/pmem/users", private_part, [&](const kv::CheckpointRun& run,
//                                                    std::span<std::byte> to) { … });
//
// A run is a piece of the store's log, of block_bytes or more. Its records never change, and its
// name is never given to other bytes. What changes with each checkpoint is the list of the runs,
// and which of their records are dead: these are the private part.
//
// Guarantee  A restored store has all records of all keyspaces that were acknowledged before
//            checkpoint() was called. Of records written while it ran it has a part that a crash at
//            some moment might have left. Batches are whole.
// Words      Once a checkpoint has a run, no word of a record in it is updated in place any more:
//            its next update writes a new record.
// Cost       checkpoint(): seals the open runs, and reads a bit per line of the medium; writers go
//            on. O(runs). Until a Checkpoint is released, it holds the medium of its runs.
// Threads    checkpoint() from any thread, but not inside the function given to update(). The
//            functions of a Checkpoint from one thread at a time, read() from any number.
// Errors     kReadOnly, kBusy (called by a verb that is under way), kNoSpace (no block for what
//            writers need next), kIo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/kv/options.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

// The name of a run, for ever. `origin`: of the store that wrote it. A restored store gets a new
// origin for the runs that it will write. So two stores restored from one checkpoint never give one
// name to different bytes.
struct RunName {
  std::uint64_t origin = 0, generation = 0;
  auto operator<=>(const RunName&) const = default;
};

struct CheckpointRun {
  RunName name;
  std::uint64_t bytes = 0;    // Of what read() gives.
  std::uint64_t records = 0;  // Dead ones too.
};

class Checkpoint {
 public:
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();  // Releases the runs. close() refuses before that.

  // Every record of the checkpoint has this version or an older one.
  Version version() const;
  std::span<const CheckpointRun> runs() const;
  // Reads the summaries of runs with dead records. Errors: kCorrupt, kIo.
  Result<std::vector<std::byte>> private_part() const;
  // All bytes of the run `i`, always the same ones: `to` has runs()[i].bytes. The sum of each
  // record that is not dead is checked. Errors: kInvalidOption (`to` has another size), kCorrupt
  // (names the record that the medium damaged), kIo.
  Status read(std::size_t i, std::span<std::byte> to) const;
  // Grows whenever the store opens a run: it shows whether there are writers now.
  std::uint64_t runs_opened() const;

  struct State;
  explicit Checkpoint(std::unique_ptr<State> state);  // For the store.

 private:
  std::unique_ptr<State> state_;
};

// Reads what a private part says of itself. Errors: kCorrupt, kNewerFormat.
struct CheckpointContents {
  std::uint64_t store_id = 0;  // A store and those restored from its checkpoints have the same.
  Version version = 0;
  std::vector<CheckpointRun> runs;
  std::uint64_t medium_bytes = 0;  // That restore() takes, at least.
};
Result<CheckpointContents> read_private_part(std::span<const std::byte> private_part);

// Makes the store anew in `spec`, where nothing may be, and closes it. It copies runs and checks
// their records, and rewrites none. `read` fills its buffer with the run's bytes. Options used:
// file_bytes, max_bytes, prefault. A failure or a crash leaves what no open takes for a store
// (kCorrupt, "did not end"), and into which a restore can be done again, of any checkpoint. Five
// fences. On a device, where there is something in any case, kAlreadyExists means that it begins
// with a structure of Holdfast's. Errors: kAlreadyExists, kCorrupt (the private part; a run that
// does not hold, or one of its records; a run of another name), kNewerFormat, kNoSpace (names how
// much is needed), kIo, those of `read`.
using ReadRun = FunctionRef<Status(const CheckpointRun& run, std::span<std::byte> to)>;
Status restore(std::string_view spec, std::span<const std::byte> private_part, ReadRun read,
               const StoreOptions& options = {});
// The same, but leaves the store open, with these options. For media on which a closed store is
// gone ("dram"). Errors: also those of Store::open().
Result<Store<>> restore_open(std::string_view spec, std::span<const std::byte> private_part,
                             ReadRun read, const StoreOptions& options = {});

// Puts the records of a checkpoint whose keys lie in one of the ranges (none given: all) into
// another store, over what it has: the store's own keys, not those of keyspaces. Not atomic: an
// error leaves a part. Reads each run twice, and keeps the keys of the ranges in memory meanwhile.
// Returns how many records. Errors: kCorrupt (the private part; names the record), kNewerFormat,
// those of put_many() and `read`.
struct KeyRange {
  std::string from, to;  // Keys from the one on, and below the other; empty `to`: no end.
};
Result<std::uint64_t> import_checkpoint(Store<>& into, std::span<const std::byte> private_part,
                                        ReadRun read, std::span<const KeyRange> ranges);

}  // namespace holdfast::kv
