// part_files.hpp: a directory of finished parts, which together are a query's output.
//
//   DIR/part-0000000001.csv          finished: never changes again; the suffix is the format
//   DIR/.part-RUN.inprogress         being written
//   DIR/.part-RUN-0000000002.synced  whole and durable: of a checkpoint that is not yet complete
//
// A part holds what was written between two checkpoints. It gets a name that is not hidden when the
// checkpoint that covers it is complete. Parts are numbered in the order in which they are shown; a
// number is used once. RUN is the random name of a run and of those that resume it: several queries
// may have one directory, one after the other, and each looks after its own.
//
// Threads         One run at a time: it holds a lock on the directory (memory/lock.hpp), if the
//                 file system has locks. A second one would take what it writes away.
// A crash leaves  at most one part of a run that is synced and not yet shown, and one that is being
//                 written. begin() of the same run shows the first, if its checkpoint is complete;
//                 begin() of any run removes the second. Of a run that was killed before its first
//                 checkpoint was complete, the first stays: nobody can tell that it will not go on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/durable_file.hpp>

namespace holdfast::stream {

class PartFiles {
 public:
  explicit PartFiles(std::string directory, std::string suffix = "csv")
      : directory_(std::move(directory)), suffix_("." + std::move(suffix)) {}

  // `run` empty: a new run. Else: parts of that run up to `epoch` are shown, later ones removed.
  // Makes the directory if need be. Errors: kBusy, and those of the directory.
  Status begin(std::uint64_t epoch, std::string_view run);
  // A new run that goes on from a checkpoint of an earlier build, which numbered hidden parts as
  // the others: .part-0000000002.inprogress. Shows those from `base` to `base` + `epoch`.
  Status begin_behind(std::uint64_t epoch, std::uint64_t base);
  Status write(std::string_view bytes);
  Status prepare(std::uint64_t epoch);
  Status commit(std::uint64_t epoch);
  // A checkpoint keeps it.
  const std::string& run() const { return run_; }

 private:
  // Names in the directory.
  std::string finished(std::uint64_t number) const;
  std::string written() const;
  std::string synced(std::uint64_t epoch) const;
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  Status open_folder();
  Result<std::vector<std::string>> all_names() const;
  bool is_there(const std::string& name) const;
  Status show(std::uint64_t epoch);
  Status flush();

  std::string directory_, suffix_, run_;
  std::string buffer_;
  FileDescriptor folder_, file_;
  std::uint64_t written_bytes_ = 0;  // Of file_.
  std::uint64_t newest_ = 0;         // Number of the last part that is shown.
};

}  // namespace holdfast::stream
