#include <holdfast/bench/kv/helper_process.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include <holdfast/bench/runner.hpp>

namespace holdfast::bench::kv {
namespace {

struct Ended {
  bool killed = false;
  bool good = false;
};

std::string call_error(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

bool receive(int socket, void* to, std::size_t bytes) {
  ssize_t got;
  do
    got = ::recv(socket, to, bytes, MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(bytes);
}
bool send_all(int socket, const void* from, std::size_t bytes) {
  return ::send(socket, from, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

// Whether a process has as good as stopped: hardly any CPU time for minutes.
class Stuck {
 public:
  explicit Stuck(pid_t process) : process_(process) {}
  bool now() {
    const auto now = Clock::now();
    if (now - since_ < kPatience) return false;
    const auto used = cpu_time();
    const bool stuck = used - used_ < kLeastWork;
    since_ = now;
    used_ = used;
    return stuck;
  }

 private:
  static constexpr auto kPatience = std::chrono::seconds(300);
  static constexpr auto kLeastWork = std::chrono::milliseconds(300);

  std::chrono::nanoseconds cpu_time() const {
    clockid_t clock;
    timespec time{};
    if (::clock_getcpuclockid(process_, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
      return {};
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  pid_t process_;
  Clock::time_point since_ = Clock::now();
  std::chrono::nanoseconds used_{0};
};

}  // namespace

struct HelperProcess::Request {
  char kind = 0;          // 'k' or 'g'.
  char subject[63] = {};  // Zero-terminated.
};

Result<std::unique_ptr<HelperProcess>> HelperProcess::start(const Work& work) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return Error{Errc::kIo, call_error("socketpair")};
  void* memory = ::mmap(nullptr, sizeof(HelperShared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Error{Errc::kIo, call_error("mmap")};
  auto* shared = new (memory) HelperShared;
  const auto server = ::fork();
  if (server < 0) return Error{Errc::kIo, call_error("fork")};
  if (server == 0) {
    ::close(sockets[0]);
    serve(sockets[1], *shared, work);
  }
  ::close(sockets[1]);
  return std::unique_ptr<HelperProcess>(new HelperProcess(sockets[0], server, shared));
}

void HelperProcess::serve(int socket, HelperShared& shared, const Work& work) {
  ::signal(SIGINT,
           SIG_IGN);  // A terminal signals the whole group; the parent decides what happens.
  ::signal(SIGTERM, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto server = ::getpid();
  for (Request request; receive(socket, &request, sizeof request);) {
    const auto worker = ::fork();
    if (worker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != server) ::_exit(1);
      const auto status =
          (request.kind == 'k' ? work.until_killed : work.grow)(request.subject, shared);
      if (!status)
        std::strncpy(shared.failure, status.error().message().c_str(), sizeof shared.failure - 1);
      ::_exit(status ? 0 : 1);
    }
    if (!send_all(socket, &worker, sizeof worker)) break;
    if (worker < 0) continue;
    // The worker is reaped only when the parent has said so: until then its id belongs to no other.
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(worker), &info, WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
    const Ended how{info.si_code == CLD_KILLED && info.si_status == SIGKILL,
                    info.si_code == CLD_EXITED && info.si_status == 0};
    char go_on;
    if (!send_all(socket, &how, sizeof how) || !receive(socket, &go_on, sizeof go_on)) break;
    while (::waitpid(worker, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::_exit(0);
}

HelperProcess::~HelperProcess() {
  ::close(socket_);
  ::kill(server_, SIGKILL);  // It waits for requests, and has no worker now; not reaped, so it is
                             // no other process.
  while (::waitpid(server_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(shared_, sizeof(HelperShared));
}

Result<pid_t> HelperProcess::begin(char kind, const std::string& subject) {
  shared_->acknowledged.store(0);
  shared_->growth = Growth{};
  shared_->failure[0] = '\0';
  Request request;
  request.kind = kind;
  std::strncpy(request.subject, subject.c_str(), sizeof request.subject - 1);
  pid_t worker = -1;
  if (!send_all(socket_, &request, sizeof request) || !receive(socket_, &worker, sizeof worker) ||
      worker < 0) {
    return Error{Errc::kIo, "the process that forks workers is gone or could not fork"};
  }
  return worker;
}

bool HelperProcess::ended() const {
  char byte;
  const auto got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool HelperProcess::finish(bool& killed, bool& good) {
  Ended how;
  const char go_on = 1;
  if (!receive(socket_, &how, sizeof how) || !send_all(socket_, &go_on, sizeof go_on)) return false;
  killed = how.killed;
  good = how.good;
  return true;
}

Error HelperProcess::failure(const std::string& what) const {
  const std::string why = shared_->failure;
  return Error{Errc::kIo, what + (why.empty() ? std::string() : ": " + why)};
}

Result<std::uint64_t> HelperProcess::kill_at_work(const std::string& subject, std::uint64_t least,
                                                  double seconds) {
  HF_ASSIGN_OR_RETURN(const auto worker, begin('k', subject));
  const auto start = Clock::now();
  Stuck stuck(worker);
  while (shared_->acknowledged.load(std::memory_order_acquire) < least && !ended()) {
    const auto passed = seconds_since(start);
    if (interrupted() || (passed > seconds && shared_->acknowledged.load() > 0)) break;
    if (stuck.now()) break;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  ::kill(worker, SIGKILL);
  bool killed = false, good = false;
  if (!finish(killed, good))
    return Error{Errc::kIo, "open_killed: lost the process that forks workers"};
  if (!killed) return failure("open_killed: the worker on " + subject + " ended by itself");
  if (shared_->acknowledged.load() == 0 && !interrupted())
    return failure("open_killed: the worker on " + subject + " did nothing for minutes");
  return shared_->acknowledged.load(std::memory_order_acquire);
}

Result<Growth> HelperProcess::grow(const std::string& subject) {
  HF_ASSIGN_OR_RETURN(const auto worker, begin('g', subject));
  Stuck stuck(worker);
  while (!ended()) {
    if (interrupted() || stuck.now()) ::kill(worker, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  bool killed = false, good = false;
  if (!finish(killed, good))
    return Error{Errc::kIo, "put_longest: lost the process that forks workers"};
  if (interrupted()) return Error{Errc::kClosed, "interrupted"};
  if (!good)
    return failure(
        "put_longest: the worker on " + subject +
        (killed ? " was killed (out of memory, or no progress for minutes)" : " failed"));
  return shared_->growth;
}

}  // namespace holdfast::bench::kv
