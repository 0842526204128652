// part_files.hpp: a directory of finished parts, which together are a query's output.
//
//   DIR/part-0000000001.csv          finished: never changes again; the suffix is the format
//   DIR/.part-0000000002.inprogress  not yet to be read
//
// A part holds what was written between two checkpoints. It is written under its hidden name,
// synced, and renamed when the checkpoint that covers it is complete. Parts are numbered in the
// order of their rows; a number is used once.
//
// Threads         One run at a time: it holds a lock on the directory (memory/lock.hpp), if the
//                 file system has locks. A second one would take its hidden parts away.
// A crash leaves  at most one hidden part that is synced and not yet renamed, and one that is
//                 neither. begin() renames the first and removes the second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/durable_file.hpp>

namespace holdfast::stream {

class PartFiles {
 public:
  explicit PartFiles(std::string directory, std::string suffix = "csv")
      : directory_(std::move(directory)), suffix_("." + std::move(suffix)) {}

  // For a new run: numbers follow those that are there, and those that this object gave. For a
  // resumed run: parts up to `epoch` are finished, later ones removed. Makes the directory if need
  // be. Errors: kBusy, and those of the directory.
  Status begin(std::uint64_t epoch, std::uint64_t base);
  Status write(std::string_view bytes);
  Status prepare(std::uint64_t epoch);
  Status commit(std::uint64_t epoch);
  // Number of the part before this run's first. A checkpoint keeps it.
  std::uint64_t base() const { return base_; }

 private:
  // Names in the directory.
  std::string finished(std::uint64_t number) const;
  static std::string hidden(std::uint64_t number);
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  Status open_folder();
  Status finish(std::uint64_t number);
  Status flush();

  std::string directory_, suffix_;
  std::string buffer_;
  FileDescriptor folder_, file_;
  std::uint64_t written_bytes_ = 0;      // Of file_.
  std::uint64_t base_ = 0, number_ = 0;  // Of the part being written.
};

}  // namespace holdfast::stream
