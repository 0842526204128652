#include "process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace holdfast::stream::compile {
namespace {

// What posix_spawn() is given beside the words.
class Setting {
 public:
  explicit Setting(const std::string& output) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files_, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                       0600);
    ::posix_spawn_file_actions_adddup2(&files_, 1, 2);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&files_, 3);
#endif
    sigset_t defaults, none;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
      sigaddset(&defaults, number);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~Setting() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  int spawn(pid_t& id, std::vector<std::string> words) const {
    std::vector<char*> arguments;
    for (auto& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return ::posix_spawn(&id, arguments[0], &files_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Result<Process> Process::start(const std::vector<std::string>& words, const std::string& output,
                               Priority priority) {
  constexpr int kLowNice = 10;
  pid_t id = 0;
  const int code = Setting(output).spawn(id, words);
  if (code != 0) return Error{Errc::kIo, "starting " + words[0] + ": " + std::strerror(code)};
  // What it has started already goes on as usual; a compiler's driver has not by then.
  if (priority == Priority::kLow) ::setpriority(PRIO_PROCESS, static_cast<id_t>(id), kLowNice);
  return Process(id);
}

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, 0)), ended_(other.ended_) {}

Process::~Process() {
  if (id_ == 0 || ended_) return;
  ::kill(-id_, SIGKILL);
  look(true);
}

std::optional<int> Process::wait(std::chrono::milliseconds most, const std::atomic<bool>* stop) {
  constexpr std::chrono::milliseconds kTick{1};
  const auto begun = std::chrono::steady_clock::now();
  while (!poll() && std::chrono::steady_clock::now() - begun < most &&
         (stop == nullptr || !stop->load()))
    std::this_thread::sleep_for(kTick);
  return poll();
}

std::optional<int> Process::look(bool wait) {
  if (ended_) return ended_;
  int status = 0;
  pid_t found = 0;
  do {
    found = ::waitpid(id_, &status, wait ? 0 : WNOHANG);
  } while (found < 0 && errno == EINTR);
  if (found == 0) return std::nullopt;
  // Where SIGCHLD is ignored the kernel has forgotten it.
  ended_ = found < 0 ? 127 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended_;
}

}  // namespace holdfast::stream::compile
