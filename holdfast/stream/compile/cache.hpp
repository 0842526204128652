// cache.hpp: the directory of compiled queries: sources, libraries, and the runtime headers that
// belong to this command.
//
//   NAME.cpp, NAME.so          NAME is a hash of the source but for its first comment, the
//                              compiler, its flags, the CPU and the headers
//   runtime-HASH/holdfast/…    the headers, as this command holds them
//   headers-HASH.hpp…          the same as a compiler has read them (precompiled.hpp)
//
// Libraries of the directory are loaded: it belongs to the user alone (mode 0700), or is refused.
// A library is there in whole or not at all: it is synced under a name of its own, then renamed.
// All of it may be removed at any time. What nobody has read for 30 days goes when a query begins,
// and what processes that were killed left there after an hour.
//
// Threads  Several processes may use one directory.
// Errors   kIo, kNoSpace; kInvalidOption: somebody else may write into the directory.
#pragma once

#include <string>
#include <utility>

#include <holdfast/base/result.hpp>

namespace holdfast::stream::compile {

// A file that is there as long as this is. It may be renamed meanwhile.
class OwnFile {
 public:
  OwnFile() = default;
  explicit OwnFile(std::string path) : path_(std::move(path)) {}
  OwnFile(OwnFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  OwnFile& operator=(OwnFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~OwnFile();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Cache {
 public:
  // `directory` is made if it is not there. Empty: $XDG_CACHE_HOME or $HOME/.cache, and
  // holdfast/stream in it.
  static Result<Cache> open(std::string directory);

  const std::string& headers() const { return headers_; }
  // Without an ending. The source is written if it is not there.
  Result<std::string> place_of(const std::string& source, const std::string& identity) const;
  // In the directory, by a name that only this process uses.
  OwnFile own_file(const std::string& ending) const { return OwnFile(own_name(ending)); }
  // The place of the headers in one file, for one compiler (precompiled.hpp).
  std::string headers_place(const std::string& identity) const;
  // The file at `path` becomes `place`, in whole.
  static Status publish(const std::string& path, const std::string& place);

 private:
  std::string own_name(const std::string& ending) const;
  void remove_old() const;
  Status write_headers();

  std::string directory_, headers_;
};

}  // namespace holdfast::stream::compile
