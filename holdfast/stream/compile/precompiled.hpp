// precompiled.hpp: the runtime's headers as a compiler has them once it has read them, in the
// cache:
//
//   headers-HASH.hpp        includes all of them; HASH is of the compiler, its flags, the CPU and
//                           the headers
//   headers-HASH.hpp.gch    what the compiler made of it, 15 to 70 MB
//   headers-HASH.hpp.lock   locked by the process that makes it
//
// A query that includes the first begins with the second, and is compiled in less time. It is made
// when the first query has been compiled, by a process that leaves the CPU to others, and only if
// that query's run is long enough. Nobody waits for it, and of several processes one makes it. A
// thread looks for its end, so that queries which begin while this one runs have it.
//
// Threads  One at a time.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/stream/compile/cache.hpp>
#include <holdfast/stream/compile/compiler.hpp>
#include <holdfast/stream/compile/process.hpp>
#include <holdfast/stream/durable_file.hpp>

namespace holdfast::stream::compile {

class Precompiled {
 public:
  // What to include first; empty: it has yet to be made.
  static std::string find(const Cache& cache, const Compiler& compiler);
  // Starts to make it. Null: it cannot be, or another process does.
  static std::unique_ptr<Precompiled> make(const Cache& cache, const Compiler& compiler);
  // It is broken.
  static void remove(const std::string& found);

  // A compiler that is not done is ended.
  ~Precompiled();
  Precompiled(const Precompiled&) = delete;
  Precompiled& operator=(const Precompiled&) = delete;

 private:
  Precompiled(FileDescriptor lock, std::string place, OwnFile made, OwnFile said, Process process);
  void publish_when_made();

  FileDescriptor lock_;
  std::string place_;
  OwnFile made_, said_;
  Process process_;
  KernelMutex mutex_;
  Condition ended_;
  bool ends_ HF_GUARDED_BY(mutex_) = false;
  std::thread publisher_;  // The last one: it uses the others.
};

}  // namespace holdfast::stream::compile
