// backup.hpp: incremental backups of a store in a directory.
// Public header.
//
//   kv::backup(store, "/backups/users").value();                  // Writers go on.
//   kv::backup(store, "/backups/users").value();                  // Copies what is new.
//   kv::verify_backup("/backups/users").value();
//   kv::restore_backup("/backups/users", "/mnt/pmem/users-again").value();
//
//   DIR/backup-00000007     the list of a backup's runs and its private part (checkpoint.hpp)
//   DIR/runs-00000007-000   runs that the backup 7 was the first to have, up to 64 MiB a file
//
// Guarantee  A backup is there wholly or not at all, whenever its process or the power ends: the
//            list is written last, and renamed into place after all it names is durable. An earlier
//            backup never changes. The next backup removes what an interrupted one left; a backup
//            that fails removes what it copied.
// Threads    One backup of a directory at a time (kBusy), by a lock that ends with its process;
//            restoring and verifying share a lock.
// Errors     kBusy, kNotFound, kCorrupt (names the file), kNewerFormat, kWrongType (backups of
//            another store are there), kNoSpace, kIo, those of checkpoint() and restore().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/kv/options.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

using Progress = FunctionRef<void(std::uint64_t done_bytes, std::uint64_t all_bytes)>;

struct BackupOptions {
  // How many backups stay, this one included; older ones are removed when it is whole. 0: all. If
  // not 0, a file of which a new backup needs less than half is not shared, so it can go later.
  std::uint32_t keep = 0;
  // While others write to the store, copying pauses after each few milliseconds for as long as they
  // took. So writers keep most of the memory's bandwidth. False: no pauses.
  bool considerate = true;
  std::optional<Progress> progress;
};

struct BackupReport {
  std::uint32_t number = 0;
  Version version = 0;
  std::uint64_t runs = 0, bytes = 0;                // Of the whole backup.
  std::uint64_t copied_runs = 0, copied_bytes = 0;  // That no earlier backup had.
  std::uint32_t removed_backups = 0;
  // First the store gave its runs; then they were copied, with pauses for writers.
  double checkpoint_seconds = 0, rested_seconds = 0;
  double seconds = 0;  // All of it.
};
// The directory is made if it is not there; its parent must be.
Result<BackupReport> backup(StoreBase& store, const std::string& directory,
                            const BackupOptions& options = {});

struct BackupInfo {
  std::uint32_t number = 0;
  Version version = 0;
  std::uint64_t runs = 0, bytes = 0;
  std::uint64_t medium_bytes = 0;  // That a restored store takes, at least.
  std::string defect;              // Of its list. Then nothing but the number is known.
};
// The oldest first. An error means that the directory could not be read.
Result<std::vector<BackupInfo>> list_backups(const std::string& directory);

// `number`: of a backup; 0 is the newest. See restore() for `spec` and the options.
Result<BackupInfo> restore_backup(const std::string& directory, std::string_view spec,
                                  std::uint32_t number = 0, const StoreOptions& options = {},
                                  std::optional<Progress> progress = std::nullopt);

// Reads everything. A damaged file is no error but a defect; an error means that the directory
// could not be read.
struct BackupVerification {
  std::uint64_t backups = 0, runs = 0, bytes = 0;
  std::vector<std::string> defects;  // "runs-00000003-000, byte 4096: …"
};
Result<BackupVerification> verify_backup(const std::string& directory,
                                         std::optional<Progress> progress = std::nullopt);

}  // namespace holdfast::kv
