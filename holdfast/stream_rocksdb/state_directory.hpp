// state_directory.hpp: a directory in which RocksDB keeps state: what RocksDB itself does not look
// after.
//
//   DIR/HOLDFAST         32 bytes: the format, zeros until the database was made
//                        32: the number of RocksDB's manifest, how much of it was there, the
//                            hash64 of that, and the hash64 of these three numbers
//                        16 for each query: its last completed epoch, its hash64 with its number
//   DIR/kept-logs/       RocksDB's logs as they were before they were replayed
//   DIR/CURRENT and all others are RocksDB's.
//
// Guarantee  (1) Nothing is written into a directory that holds something else.
//            (2) A database that was made is never made anew: where a file of it is missing, open()
//                says so.
//            (3) One process has the directory. Its lock (flock) goes with it, however it ends.
// Notes      RocksDB takes damage within a log or its manifest for the end of these, as a crash
//            leaves it, and goes on without what lies behind. So complete() notes the epoch here
//            behind its sync, and what the manifest was. Notes are not synced themselves: a power
//            failure may leave older ones, never newer ones. A database whose last epoch is below
//            the noted one (its floor) has lost a checkpoint, one with another manifest tables.
// Logs       RocksDB removes a log that it has replayed. keep_logs() gives each a second name
//            before, and forget_logs() takes it away: if a floor says that a log was damaged, its
//            bytes are there yet.
// Threads    raise() of several queries at a time, beside note_manifest(); else one at a time.
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
  static constexpr std::uint64_t kHeadBytes = 64, kFloorBytes = 16;

  // Makes it where it is not there.
  static Result<StateDirectory> open(const std::string& path);

  const std::string& path() const { return path_; }
  // The database is to be made. made() says that it is there, durably.
  bool is_new() const { return is_new_; }
  Status made();
  // Of the queries that have completed a checkpoint here.
  Result<std::map<std::uint32_t, std::uint64_t>> floors() const;
  Status raise(std::uint32_t query, std::uint64_t epoch) const;
  // What the file that CURRENT names is, as far as it is durable: "MANIFEST-000005", 1234.
  Status note_manifest(const std::string& name, std::uint64_t bytes);
  void keep_logs() const;
  void forget_logs() const;
  std::string kept_logs() const { return path_ + "/kept-logs"; }

 private:
  explicit StateDirectory(std::string path) : path_(std::move(path)) {}
  Status lock();
  Status look();
  Status check_files() const;
  Status check_manifest() const;
  std::string file_path() const { return path_ + "/HOLDFAST"; }
  Error about(Errc code, const std::string& what) const { return {code, path_ + ": " + what}; }

  std::string path_;
  memory_detail::FileDescriptor directory_, file_;
  bool is_new_ = false;
  std::string noted_;  // The manifest's name.
  std::uint64_t noted_bytes_ = 0;
};

}  // namespace holdfast::stream
