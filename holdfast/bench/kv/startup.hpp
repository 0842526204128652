// startup.hpp: kills a process that is writing to a store, to time what opening costs afterwards.
//
// A process with threads must not fork and go on, so the fork happens early: a Killer is made before
// the first thread. Its server process has one thread only and forks a worker per request. The worker
// opens the store that the parent has closed, overwrites records one after the other, and counts each
// acknowledged one in shared memory; the parent kills it with SIGKILL while it works.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <holdfast/base/result.hpp>

namespace holdfast::bench::kv {

// In memory shared with the worker.
struct Acknowledged {
  std::atomic<std::uint64_t> count{0};
  char failure[512] = {};  // Why the worker stopped by itself; zero-terminated.
};

class Killer {
 public:
  // What a worker does: works on the named subject until it is killed, or returns why it cannot.
  using Work = std::function<Status(const std::string& subject, Acknowledged& acknowledged)>;

  // Forks the server. Call before any thread exists. Errors: kIo.
  static Result<std::unique_ptr<Killer>> start(Work work);
  ~Killer();
  Killer(const Killer&) = delete;
  Killer& operator=(const Killer&) = delete;

  // Lets a worker acknowledge at least `least` operations, or work for `seconds`, then kills it.
  // Returns how many it acknowledged; the one after may be there or not. Errors: kIo (it failed by itself).
  Result<std::uint64_t> kill_at_work(const std::string& subject, std::uint64_t least, double seconds);

 private:
  Killer(int socket, pid_t server, Acknowledged* shared) : socket_(socket), server_(server), shared_(shared) {}
  [[noreturn]] static void serve(int socket, Acknowledged& shared, const Work& work);

  int socket_;
  pid_t server_;
  Acknowledged* shared_;
};

}  // namespace holdfast::bench::kv
