// child_process.hpp: another program, started with the streams that it is to have. Internal.
//
// It is killed and waited for when its object goes, unless it was waited for before.
//
// Threads  One at a time.
// Errors   kNotFound: there is no such program, or it cannot be started; the detail is the system's
//          reason alone.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast {

class ChildProcess {
 public:
  // An open file of ours that becomes one of its: {ours, theirs}. Files that are not named here it
  // has as we have them.
  using Files = std::vector<std::pair<int, int>>;

  // `words`: the program, looked up in PATH, and its arguments. Signals are as at the start of a
  // program, none is blocked. `own_group`: what a terminal sends does not reach it.
  static Result<ChildProcess> start(std::vector<std::string> words, const Files& files,
                                    bool own_group);
  ChildProcess(ChildProcess&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~ChildProcess();

  void kill() const;
  // When it has ended, what waitpid() says of it; 0 if it was waited for before.
  int wait();

 private:
  explicit ChildProcess(pid_t id) : id_(id) {}

  pid_t id_;  // -1: it was waited for.
};

}  // namespace holdfast
