#include <holdfast/bench/kv/startup.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

namespace holdfast::bench::kv {
namespace {

using Clock = std::chrono::steady_clock;
using Request = std::array<char, 64>;  // A subject's name, zero-terminated.

std::string io_error(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

bool receive(int socket, void* to, std::size_t bytes) {
  ssize_t got;
  do got = ::recv(socket, to, bytes, MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(bytes);
}
bool send_all(int socket, const void* from, std::size_t bytes) {
  return ::send(socket, from, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

}  // namespace

Result<std::unique_ptr<Killer>> Killer::start(Work work) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return Error{Errc::kIo, io_error("socketpair")};
  void* memory = ::mmap(nullptr, sizeof(Acknowledged), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Error{Errc::kIo, io_error("mmap")};
  auto* shared = new (memory) Acknowledged;
  const auto server = ::fork();
  if (server < 0) return Error{Errc::kIo, io_error("fork")};
  if (server == 0) {
    ::close(sockets[0]);
    serve(sockets[1], *shared, work);
  }
  ::close(sockets[1]);
  return std::unique_ptr<Killer>(new Killer(sockets[0], server, shared));
}

void Killer::serve(int socket, Acknowledged& shared, const Work& work) {
  ::signal(SIGINT, SIG_IGN);  // A terminal signals the whole group; the parent decides what happens.
  ::signal(SIGTERM, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto server = ::getpid();
  for (Request request; receive(socket, request.data(), request.size());) {
    const auto worker = ::fork();
    if (worker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != server) ::_exit(1);
      const auto status = work(request.data(), shared);
      std::strncpy(shared.failure, status ? "it came to an end" : status.error().message().c_str(), sizeof shared.failure - 1);
      ::_exit(1);
    }
    if (!send_all(socket, &worker, sizeof worker)) break;
    if (worker < 0) continue;
    // The worker is reaped only when the parent has said so: until then its id belongs to no other.
    siginfo_t ended{};
    while (::waitid(P_PID, static_cast<id_t>(worker), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    const bool was_killed = ended.si_code == CLD_KILLED && ended.si_status == SIGKILL;
    char go_on;
    if (!send_all(socket, &was_killed, sizeof was_killed) || !receive(socket, &go_on, sizeof go_on)) break;
    while (::waitpid(worker, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::_exit(0);
}

Killer::~Killer() {
  ::close(socket_);  // The server reads the end and exits.
  while (::waitpid(server_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(shared_, sizeof(Acknowledged));
}

Result<std::uint64_t> Killer::kill_at_work(const std::string& subject, std::uint64_t least, double seconds) {
  shared_->count.store(0);
  shared_->failure[0] = '\0';
  Request request{};
  std::strncpy(request.data(), subject.c_str(), request.size() - 1);
  pid_t worker = -1;
  if (!send_all(socket_, request.data(), request.size()) || !receive(socket_, &worker, sizeof worker) || worker < 0) {
    return Error{Errc::kIo, "open_killed: the process that forks workers is gone or could not fork"};
  }
  const auto begin = Clock::now();
  while (shared_->count.load(std::memory_order_acquire) < least) {
    if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds && shared_->count.load() > 0) break;
    char ended_by_itself;
    if (::recv(socket_, &ended_by_itself, 1, MSG_PEEK | MSG_DONTWAIT) == 1) break;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  ::kill(worker, SIGKILL);
  bool was_killed = false;
  const char go_on = 1;
  if (!receive(socket_, &was_killed, sizeof was_killed) || !send_all(socket_, &go_on, sizeof go_on)) {
    return Error{Errc::kIo, "open_killed: lost the process that forks workers"};
  }
  if (!was_killed) {
    return Error{Errc::kIo, "open_killed: the worker on " + subject + " ended by itself" +
                                (shared_->failure[0] != '\0' ? ": " + std::string(shared_->failure) : std::string())};
  }
  return shared_->count.load(std::memory_order_acquire);
}

}  // namespace holdfast::bench::kv
