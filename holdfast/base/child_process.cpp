#include <holdfast/base/child_process.hpp>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace holdfast {

Result<ChildProcess> ChildProcess::start(std::vector<std::string> words, const Files& files,
                                         bool own_group) {
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const auto& [ours, theirs] : files)
    ::posix_spawn_file_actions_adddup2(&actions, ours, theirs);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults, none;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGPROF})
    sigaddset(&defaults, number);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  const int group = own_group ? POSIX_SPAWN_SETPGROUP : 0;
  ::posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | group));
  pid_t id = -1;
  const int code =
      ::posix_spawnp(&id, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return Error{Errc::kNotFound, std::strerror(code)};
  return ChildProcess(id);
}

ChildProcess::~ChildProcess() {
  if (id_ < 0) return;
  kill();
  (void)wait();
}

void ChildProcess::kill() const {
  if (id_ >= 0) ::kill(id_, SIGKILL);
}

int ChildProcess::wait() {
  int status = 0;
  if (id_ < 0) return status;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  return status;
}

}  // namespace holdfast
