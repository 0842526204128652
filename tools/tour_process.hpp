// tour_process.hpp: other processes and scratch space, each released by its destructor.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>

#include "tour_workload.hpp"

namespace holdfast::tools {

// A new directory "holdfast-tour-XXXXXX" in `parent`, removed with all it holds unless kept.
class ScratchDirectory {
 public:
  static Result<ScratchDirectory> create(const std::string& parent, bool keep);
  ScratchDirectory(ScratchDirectory&& other) noexcept
      : path_(std::move(other.path_)), keep_(other.keep_) {
    other.path_.clear();
  }
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();
  const std::string& path() const { return path_; }
  void keep() { keep_ = true; }

 private:
  ScratchDirectory(std::string path, bool keep) : path_(std::move(path)), keep_(keep) {}
  std::string path_;
  bool keep_;
};

// A Board in memory that a child process can be given.
class SharedBoard {
 public:
  static Result<std::unique_ptr<SharedBoard>> create();
  ~SharedBoard();
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board& operator*() const { return *board_; }
  Board* operator->() const { return board_; }
  int fd() const { return fd_; }

 private:
  SharedBoard(int fd, Board* board) : fd_(fd), board_(board) {}
  int fd_;
  Board* board_;
};

// A running process; killed and reaped if it is still there at the end.
class Child {
 public:
  // Executes this program with `arguments`. `inherit_fd` stays open in it (-1: none).
  static Result<Child> start_self(const std::vector<std::string>& arguments, int inherit_fd);
  Child(Child&& other) noexcept : pid_(other.pid_) { other.pid_ = -1; }
  Child& operator=(Child&&) = delete;
  ~Child();
  void kill_now() const;
  // True once it has ended: then `status` is what waitpid said.
  bool ended(int& status);
  int wait();  // The status.

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

// Standard output of a command found in PATH, as it stands; kIo if it cannot be run or fails.
Result<std::string> output_of(const std::vector<std::string>& command);

}  // namespace holdfast::tools
