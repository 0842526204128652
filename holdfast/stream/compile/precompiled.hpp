// precompiled.hpp: the runtime's headers as a compiler has them once it has read them, in the
// cache:
//
//   headers-HASH.hpp        includes all of them; HASH is of the compiler, its flags, the CPU and
//                           the headers
//   headers-HASH.hpp.gch    what the compiler made of it, 15 to 70 MB
//   headers-HASH.hpp.cpp    includes all of them, too, for
//   headers-HASH.hpp.o      what no query needs for itself (runtime/apart.hpp)
//   headers-HASH.hpp.lock   locked by the process that makes them
//
// A query that includes the first begins with the second and is linked to the object, and is
// compiled in less time. They are made when the first query has been compiled, by processes that
// leave the CPU to others, and only if that query's run is long enough. Nobody waits for them, and
// of several processes one makes them. A thread looks for their end, so that queries which begin
// while this one runs have them.
//
// Threads  One at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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
  // A file that a compiler makes.
  struct Made {
    OwnFile file, said;
    std::optional<Process> process;  // It ends before they go.
  };

  Precompiled(FileDescriptor lock, std::string place, Made headers, Made apart);
  static bool start(Made& made, const std::vector<std::string>& words);
  void publish_when_made();

  FileDescriptor lock_;
  std::string place_;
  Made headers_, apart_;
  KernelMutex mutex_;
  Condition ended_;
  bool ends_ HF_GUARDED_BY(mutex_) = false;
  std::thread publisher_;  // The last one: it uses the others.
};

}  // namespace holdfast::stream::compile
