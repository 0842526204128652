// state_directory.hpp: a directory in which RocksDB keeps state: what RocksDB itself does not look
// after.
//
//   DIR/HOLDFAST         kHeadBytes: the format, zeros until the database was made. Then for each
//                        query 16 bytes: its last completed epoch, and their hash64 with its number
//   DIR/kept-logs/       RocksDB's logs as they were before they were replayed
//   DIR/CURRENT and all others are RocksDB's.
//
// Guarantee  (1) Nothing is written into a directory that holds something else.
//            (2) A database that was made is never made anew: where a file of it is missing, open()
//                says so.
//            (3) One process has the directory. Its lock (flock) goes with it, however it ends.
// Floors     RocksDB takes damage within its log for the end of the log, and goes on without what
//            lies behind it. So complete() notes the epoch here behind its sync. It is not synced
//            itself: a power failure may leave an older number, never a newer one. A database whose
//            last epoch is below its floor has lost a checkpoint.
// Logs       RocksDB removes a log that it has replayed. keep_logs() gives each a second name
//            before, and forget_logs() takes it away: if a floor says that a log was damaged, its
//            bytes are there yet.
// Threads    raise() of several queries at a time, else one at a time.
// Errors     kNotHoldfast, kNewerFormat, kBusy, kCorrupt, kNoSpace, kIo: name the path.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/system.hpp>

namespace holdfast::stream {

class StateDirectory {
 public:
  static constexpr std::uint64_t kHeadBytes = 32, kFloorBytes = 16;

  // Makes it where it is not there.
  static Result<StateDirectory> open(const std::string& path);

  const std::string& path() const { return path_; }
  // The database is to be made. made() says that it is there, durably.
  bool is_new() const { return is_new_; }
  Status made();
  // Of the queries that have completed a checkpoint here.
  Result<std::map<std::uint32_t, std::uint64_t>> floors() const;
  Status raise(std::uint32_t query, std::uint64_t epoch) const;
  void keep_logs() const;
  void forget_logs() const;
  std::string kept_logs() const { return path_ + "/kept-logs"; }

 private:
  explicit StateDirectory(std::string path) : path_(std::move(path)) {}
  Status lock();
  Status look();
  Status check_files() const;
  std::string file_path() const { return path_ + "/HOLDFAST"; }
  Error about(Errc code, const std::string& what) const { return {code, path_ + ": " + what}; }

  std::string path_;
  memory_detail::FileDescriptor directory_, file_;
  bool is_new_ = false;
};

}  // namespace holdfast::stream
