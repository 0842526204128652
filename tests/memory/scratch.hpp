// scratch.hpp: a directory of a test's own, removed with it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace holdfast {

class Scratch {
 public:
  // On tmpfs, and on the file system of the temporary directory, which must not be tmpfs: where it
  // is, the tests there run under another granularity and say so.
  static Scratch tmpfs() { return Scratch("/dev/shm"); }
  static Scratch disk() {
    const char* directory = std::getenv("HOLDFAST_TEST_DIRECTORY");
    return Scratch(directory ? directory : "/var/tmp");
  }

  explicit Scratch(const std::string& parent) {
    auto pattern = parent + "/holdfast-test-XXXXXX";
    if (!::mkdtemp(pattern.data())) std::abort();
    directory_ = pattern;
  }
  Scratch(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  const std::string& directory() const { return directory_; }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  bool empty() const { return std::filesystem::is_empty(directory_); }

 private:
  std::string directory_;
};

}  // namespace holdfast
