#include "tour_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <new>

extern char** environ;

namespace holdfast::tools {
namespace {

Error io_error(const std::string& what, int error) {
  return Error{Errc::kIo, fmt::format("{}: {}", what, std::strerror(error))};
}

std::vector<char*> argument_vector(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words)
    pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<ScratchDirectory> ScratchDirectory::create(const std::string& parent, bool keep) {
  std::string path = parent + "/holdfast-tour-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return io_error(fmt::format("making a directory in '{}'", parent), errno);
  return ScratchDirectory{path, keep};
}

ScratchDirectory::~ScratchDirectory() {
  if (path_.empty() || keep_) return;
  std::error_code ignored;  // Nothing hangs on it, and there is nobody left to tell.
  std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<SharedBoard>> SharedBoard::create() {
  const int fd = memfd_create("holdfast-tour", MFD_CLOEXEC);
  if (fd < 0) return io_error("memfd_create", errno);
  if (ftruncate(fd, sizeof(Board)) != 0) {
    const int error = errno;
    ::close(fd);
    return io_error("ftruncate of the board", error);
  }
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    ::close(fd);
    return io_error("mapping the board", error);
  }
  return std::unique_ptr<SharedBoard>{new SharedBoard{fd, new (memory) Board{}}};
}

SharedBoard::~SharedBoard() {
  munmap(board_, sizeof(Board));
  ::close(fd_);
}

Result<Child> Child::start_self(const std::vector<std::string>& arguments, int inherit_fd) {
  std::vector<std::string> words{"holdfast"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // The same number in the child; posix_spawn clears its close-on-exec mark.
  if (inherit_fd >= 0) posix_spawn_file_actions_adddup2(&actions, inherit_fd, inherit_fd);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                argument_vector(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return io_error("starting a child process", error);
  return Child{pid};
}

Child::~Child() {
  if (pid_ < 0) return;
  kill_now();
  wait_for(pid_);
}

void Child::kill_now() const { ::kill(pid_, SIGKILL); }

bool Child::ended(int& status) {
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = -1;
  return true;
}

int Child::wait() {
  const int status = wait_for(pid_);
  pid_ = -1;
  return status;
}

Result<std::string> output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return io_error("pipe", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, command[0].c_str(), &actions, nullptr,
                                 argument_vector(command).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return io_error(fmt::format("running '{}'", command[0]), error);
  }
  std::string text;
  std::vector<char> buffer(1 << 20);
  ssize_t got = 0;
  while ((got = ::read(ends[0], buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  const int status = wait_for(pid);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{Errc::kIo, fmt::format("'{}' failed (status {})", command[0], status)};
  }
  return text;
}

}  // namespace holdfast::tools
