// helper_process.hpp: work on a store in a process of its own: one that is killed in the middle,
// and one whose memory is the store's and nothing else's.
//
// A process with threads must not fork and go on, so the fork happens early: a HelperProcess is
// made before the first thread. It has one thread only and forks a worker per request:
//
//   kill_at_work  the worker opens the store that the parent has closed, overwrites records one
//                 after the other, and counts each acknowledged one in shared memory; it is killed
//                 with SIGKILL
//   grow          the worker fills a new store from nothing to all records, one put at a time with
//                 its thread's CPU clock around it, and weighs the result; malloc starts out fresh
//                 in it
//
// A worker that hangs (a store need not stand a fork) is killed after five minutes without work.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <holdfast/base/result.hpp>

namespace holdfast::bench::kv {

// What a store that grew from nothing cost.
struct Growth {
  // Puts under the clock; the rest, if any, was filled in batches.
  std::uint64_t records_timed = 0;
  std::uint64_t longest_put_ns = 0;  // Of the thread's CPU time.
  std::uint64_t p50_ns = 0, p999_ns = 0;
  std::uint64_t dram_bytes = 0;  // Anonymous resident memory, difference to the process without it.
  std::uint64_t medium_bytes = 0;
};

// In memory shared with the worker.
struct HelperShared {
  std::atomic<std::uint64_t> acknowledged{0};
  Growth growth;
  char failure[512] = {};  // Why the worker stopped by itself; zero-terminated.
};

class HelperProcess {
 public:
  struct Work {
    std::function<Status(const std::string& subject, HelperShared& shared)> until_killed;
    std::function<Status(const std::string& subject, HelperShared& shared)> grow;
  };

  // Forks it. Call before any thread exists. Errors: kIo.
  static Result<std::unique_ptr<HelperProcess>> start(const Work& work);
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // Lets a worker acknowledge at least `least` operations, or work for `seconds`, then kills it.
  // Returns how many it acknowledged; the one after may be there or not. Errors: kIo (it failed by
  // itself).
  Result<std::uint64_t> kill_at_work(const std::string& subject, std::uint64_t least,
                                     double seconds);

  // Errors: kIo (it failed), kClosed (the run was interrupted; the worker is killed, its files
  // remain).
  Result<Growth> grow(const std::string& subject);

 private:
  struct Request;
  HelperProcess(int socket, pid_t server, HelperShared* shared)
      : socket_(socket), server_(server), shared_(shared) {}
  [[noreturn]] static void serve(int socket, HelperShared& shared, const Work& work);
  Result<pid_t> begin(char kind, const std::string& subject);
  bool ended() const;  // The worker, or else the server.
  // Waits for the worker's end; false if the server is gone. `killed`: by SIGKILL; `good`: exit
  // code 0.
  bool finish(bool& killed, bool& good);
  Error failure(const std::string& what) const;

  int socket_;
  pid_t server_;
  HelperShared* shared_;
};

}  // namespace holdfast::bench::kv
