// compiler.hpp: the C++ compiler of this machine: which one, and how it is called.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/compile/cache.hpp>

namespace holdfast::stream::compile {

struct Compiler {
  std::string path;
  std::string version;  // The first line of what --version says.
  std::string machine;  // The CPU's name and abilities: code for one need not run on another.

  // Finds the compiler of the name `wanted` (--compiler, then $CXX); empty: g++ or clang++, the
  // first that is there. A name without '/' is looked up in $PATH. What --version says goes through
  // `scratch`. Errors: kNotFound (what was looked for), kIo (it says no version within 10 s, or
  // `stop`, which may be null, was raised before).
  static Result<Compiler> find(const std::string& wanted, OwnFile scratch,
                               const std::atomic<bool>* stop);

  static constexpr const char* kApartEnding = ".o";  // Of what stands beside `first`.

  // Words for Process: `source` into the shared library `library`. Unless `first` is empty, it is
  // included before all, and what stands beside it is linked (Precompiled).
  std::vector<std::string> words(const std::string& source, const std::string& headers,
                                 const std::string& library, const std::string& first) const;
  // `header` into what the compiler has once it has read it.
  std::vector<std::string> words_for_headers(const std::string& header, const std::string& headers,
                                             const std::string& made) const;
  // `source` into what queries are linked to.
  std::vector<std::string> words_for_apart(const std::string& source, const std::string& headers,
                                           const std::string& made) const;
  // All that a library depends on beside its source.
  std::string identity() const;
};

}  // namespace holdfast::stream::compile
