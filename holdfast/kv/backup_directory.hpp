// backup_directory.hpp: the files of a backup directory, and the order in which they become
// durable.
//
// Guarantee  publish() is the moment at which a backup begins to be: what it names was made durable
//            before by finish_packs(), and its own name afterwards.
// Threads    One at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/kv/backup_manifest.hpp>
#include <holdfast/memory/system.hpp>

namespace holdfast::kv {

class BackupDirectory {
 public:
  static constexpr std::uint64_t kPackBytes = 64 * MiB;  // A file is ended when it has so many.

  // `writing`: makes it if need be, and locks it for itself. Errors: kNotFound, kBusy, kIo.
  static Result<BackupDirectory> open(const std::string& path, bool writing);

  // Numbers of the backups that are there, ascending.
  const std::vector<std::uint32_t>& numbers() const { return numbers_; }
  // Errors: kCorrupt (names the file), kNewerFormat, kNotFound, kIo.
  Result<Manifest> read(std::uint32_t number) const;
  // A run's bytes, checked. Errors: kCorrupt (names the file and the byte), kIo.
  Status read_run(const ManifestRun& place, std::span<std::byte> to) const;
  // Whether the file has this range.
  bool has(const ManifestRun& place) const;

  // ---- One backup, in this order ----
  Status remove_all_but(std::span<const Manifest> kept);  // Files that none of these name.
  void begin(std::uint32_t number) { number_ = number; }
  Result<ManifestRun> append(std::span<const std::byte> run);
  Status finish_packs();
  Status publish(const Manifest& manifest);
  // Durable when it returns. Their runs stay until remove_all_but().
  Status remove(std::span<const std::uint32_t> numbers);

 private:
  BackupDirectory(std::string path, memory_detail::FileDescriptor fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  static std::string name_of(std::uint32_t number);
  static std::string name_of(PackName pack);
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  Status list();
  Status end_pack();
  Result<std::vector<std::byte>> read_file(const std::string& name) const;

  std::string path_;
  memory_detail::FileDescriptor fd_;  // The directory; locked.
  std::vector<std::uint32_t> numbers_;
  std::vector<std::string> files_;  // Of ours, but for the manifests.
  std::uint32_t number_ = 0;        // Of the backup that is being written.
  memory_detail::FileDescriptor pack_;
  PackName pack_name_;
  std::uint64_t pack_bytes_ = 0;
  // Opened for reading, the last one.
  mutable memory_detail::FileDescriptor read_pack_;
  mutable PackName read_pack_name_;
};

}  // namespace holdfast::kv
