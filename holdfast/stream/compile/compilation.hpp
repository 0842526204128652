// compilation.hpp: from a source to a library: out of the cache, or by the compiler, which runs
// beside us.
//
// Threads  One at a time.
// Errors   Those of the cache; kNotFound: there is no compiler; kIo: the compiler failed, with what
//          it said and the name of the source, which is kept.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/compile/cache.hpp>
#include <holdfast/stream/compile/compiler.hpp>
#include <holdfast/stream/compile/library.hpp>
#include <holdfast/stream/compile/precompiled.hpp>
#include <holdfast/stream/compile/process.hpp>

namespace holdfast::stream::compile {

struct CompileSettings {
  std::string compiler;   // Empty: $CXX, then g++ or clang++.
  std::string directory;  // Of the cache; empty: the user's.
  // Raised: nobody waits for a compiler any more. May be null; outlives the compilation.
  const std::atomic<bool>* stop = nullptr;
};

class Compilation {
 public:
  // Starts the compiler, unless the cache has the library.
  static Result<Compilation> begin(const std::string& source, const CompileSettings& settings);

  // Null: the compiler is still at work. Keep it until the query ends: what later ones begin with
  // may be made until then.
  Result<std::shared_ptr<const Library>> poll();
  // Null: `stop` was raised before, or a day has passed.
  Result<std::shared_ptr<const Library>> wait();
  const std::string& source_path() const { return source_path_; }

 private:
  Compilation() = default;
  Status start();
  Result<std::shared_ptr<const Library>> finish(int code);

  const std::atomic<bool>* stop_ = nullptr;
  std::string place_, source_path_;
  std::string first_;  // What the compiler includes before all.
  std::optional<Cache> cache_;
  Compiler compiler_;
  OwnFile made_, said_;                       // By the compiler, which ends before they do.
  std::shared_ptr<const Library> library_;    // Of the cache;
  std::optional<Process> process_;            // or the compiler that makes it,
  std::unique_ptr<Precompiled> precompiled_;  // and what later ones begin with.
};

}  // namespace holdfast::stream::compile
