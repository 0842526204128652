// files.hpp: what a region in one file and one in a directory of files share: the page back end,
// mapping, and giving files their memory. Internal.
//
// Page back end  write() is one gathered pwritev per file, visible at once through the read-only
//                mapping. sync() is one fdatasync for each file written since its last one. Files
//                are allocated and filled with zeros beforehand, so that neither needs new
//                metadata.
// Reading        A fault of a mapping without advice reads the device's whole read-ahead window
//                around it (8 MiB on some disks), for a record of a few hundred bytes. So files
//                on a disk are mapped with random advice; prefault() asks for its range at once.
// Failed sync    The region is read-only from then on. A file that somebody removed counts as a
//                failure: what was written to it is gone with its last descriptor. So does a failed
//                fsync of a file that gets longer or shorter: the kernel tells of a lost write
//                once, and the next fdatasync would succeed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/memory/backings.hpp>
#include <holdfast/memory/system.hpp>

namespace holdfast::memory_detail {

struct OpenFile {
  FileDescriptor fd;
  std::string path;  // For messages.
  // Written since the last fdatasync began; at first also by a process that died before its own.
  std::atomic<bool> unsynced{true};
  std::atomic<bool> given_up{false};  // By shrink(): losing it is no failure.
};

class FilesBacking : public MappedBacking {
 public:
  using MappedBacking::MappedBacking;

  bool read_only() const override { return MappedBacking::read_only() || sync_failed_.load(); }
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  Status write_gathered(std::uint64_t offset,
                        std::span<const std::span<const std::byte>> buffers) override;
  Status sync() override;
  Status prefault(std::uint64_t offset, std::uint64_t bytes) override;
  // file_reads.cpp:
  void advise(std::uint64_t offset, std::uint64_t bytes, ReadAdvice advice) override;
  void read_ahead(std::span<const Extent> ranges) override;
  Status fetch(std::span<const Extent> ranges) override;
  bool resident(const Extent& range) const override;

 protected:
  std::string no_giant_reason() const override { return "files give 2 MiB pages at most"; }

  // Takes what is known of the first file: granularity, mapping.
  Status examine(int fd);
  // Maps [file_offset, + bytes) of a file, which must be that long, to `offset` of the region.
  Status map(const OpenFile& file, std::uint64_t file_offset, std::uint64_t offset,
             std::uint64_t bytes);
  // Gives the new bytes of a file their memory, maps them, and makes them durable as zeros.
  // On failure the addresses are free again; the caller takes the file back.
  Status add_memory(const OpenFile& file, std::uint64_t file_offset, std::uint64_t offset,
                    std::uint64_t bytes);
  // fsync of a file that holds bytes of the region already.
  Status sync_length(const OpenFile& file) HF_EXCLUDES(sync_mutex_);
  // An existing file may have holes (cp makes them): gives them memory, so that no store fails
  // later.
  Status fill_holes(const OpenFile& file);

  // The file at `offset` of the region is number offset / bytes_per_file_. Null: it is not needed
  // open, since it is only mapped.
  std::shared_ptr<OpenFile> file(std::uint64_t number) const HF_EXCLUDES(files_mutex_);
  // Makes it the last one.
  void set_last_file(std::uint64_t number, std::shared_ptr<OpenFile> file)
      HF_EXCLUDES(files_mutex_);
  // Forgets the files from `number` on.
  void forget_files(std::uint64_t number) HF_EXCLUDES(files_mutex_);

  std::uint64_t bytes_per_file_ = ~std::uint64_t{0};

 private:
  // The mapping's pages are read from a disk.
  bool reads_ahead() const { return !medium_.in_memory && !medium_.map_sync; }
  Extent whole_pages(const Extent& range) const;
  // Allocates the first 4 KiB of each 2 MiB, if large pages are to be had.
  void seed_huge_pages(int fd, std::uint64_t file_offset, std::uint64_t offset,
                       std::uint64_t bytes) const;

  // Errors: kIo. Nothing is written from then on.
  Status give_up(Error error);

  // A sync waits for the one before it, which may cover its writes.
  KernelMutex sync_mutex_ HF_ACQUIRED_BEFORE(files_mutex_);
  mutable SharedMutex files_mutex_;
  std::vector<std::shared_ptr<OpenFile>> files_ HF_GUARDED_BY(files_mutex_);
  std::atomic<bool> sync_failed_{false};
};

// Opened file or directory with its lock. With `may_create`, makes what is missing.
struct LockedPath {
  FileDescriptor fd;
  bool created = false;
};
Result<LockedPath> open_locked(const RegionSpec& spec, const RegionOptions& options,
                               bool directory);
// A region inside of another one's directory would be removed with it. Errors: kInvalidOption.
Status check_outside_of_regions(const std::string& path);
// Makes the name of a new file or directory durable.
Status sync_parent(const std::string& path);

}  // namespace holdfast::memory_detail
