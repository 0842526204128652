// process.hpp: another program, started with a list of words. No shell reads them.
//
// The program has a process group of its own, no files of ours but an empty input and one file for
// what it says, and is ended with all it started when the Process goes.
//
// Threads  One at a time.
// Errors   kIo: it could not be started.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::stream::compile {

enum class Priority { kUsual, kLow };

class Process {
 public:
  // `words[0]` is the path of the program. Its two outputs go to the file `output`, which is made
  // or emptied.
  static Result<Process> start(const std::vector<std::string>& words, const std::string& output,
                               Priority priority = Priority::kUsual);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  // What it ended with; 128 + the signal that ended it. None: it runs.
  std::optional<int> poll() { return look(false); }
  // The same when it has ended, `most` has passed, or `stop`, which may be null, is raised.
  std::optional<int> wait(std::chrono::milliseconds most, const std::atomic<bool>* stop);

 private:
  explicit Process(pid_t id) : id_(id) {}
  std::optional<int> look(bool wait);

  pid_t id_ = 0;
  std::optional<int> ended_;
};

}  // namespace holdfast::stream::compile
