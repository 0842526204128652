// modules.hpp: libraries that the command can do without (RocksDB, PMDK, a client of Kafka …),
// loaded when they are asked for.
//
// The command does not link them. Each library has a module of its own, holdfast-peers-NAME.so,
// which holds what is made with it: subjects of benchmarks, connectors. When it is loaded, a module
// offers functions; a caller asks for one by the name of the library and the type of the function.
// So a suite never sees a header of a library, and the command runs where the libraries are
// missing.
//
// Place      in the directory $HOLDFAST_PEERS, if that is set; else beside the command, else in the
//            lib/holdfast that belongs to the bin directory of an installed command.
// Identity   A module shares C++ types with the command, so both must come from the same headers
//            and compiler. Each carries a text that is made from these; a module with another text
//            is refused before any of its code runs.
// Threads    any.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::modules {

// A library for which a module can be built.
struct Module {
  std::string_view name;     // "rocksdb": its module is holdfast-peers-rocksdb.so.
  std::string_view package;  // Of Debian, with what the module is built from: "librocksdb-dev".
};
const std::vector<Module>& all();

// Loads the module of a library, once. Errors: kInvalidOption (there is no such library), kNotFound
// (no module), kUnsupported (a module of another build, or one whose library is not installed).
// Each says what to install or to build.
Status load(std::string_view name);

// The names of the modules that load() would find and accept; nothing is loaded.
std::vector<std::string> installed();

// Where modules are looked for, most wanted first. A second program of the command may lie there,
// too.
std::vector<std::string> places();

// A program that is started by another of the same build finds that one's identity in this variable
// of the environment. kUnsupported if it is another.
inline constexpr const char* kStartedBy = "HOLDFAST_STARTED_BY";
Status check_started_by();

// What the modules of this command must carry, for example "0.1.0, GNU 12.2.0, headers 1f0c…".
std::string_view identity();

using AnyFunction = void (*)();
void offer_function(std::string_view module, std::type_index type, AnyFunction function);
// Null where no loaded module offers such a function.
AnyFunction offered_function(std::string_view module, std::type_index type);

// In a module, as a constant at namespace scope:   const Offer offer{"rocksdb", rocksdb_kind};
struct Offer {
  template <class R, class... Arguments>
  Offer(std::string_view module, R (*function)(Arguments...)) {
    offer_function(module, typeid(R(Arguments...)), reinterpret_cast<AnyFunction>(function));
  }
};

// In a suite: the function of this type that the library's module offers. Errors: those of
// load().
template <class Function>
Result<std::function<Function>> function(std::string_view module) {
  HF_RETURN_IF_ERROR(load(module));
  const auto offered = offered_function(module, typeid(Function));
  if (offered == nullptr) {
    return Error{Errc::kUnsupported,
                 "the module of " + std::string(module) + " offers no function of this type"};
  }
  return std::function<Function>(reinterpret_cast<Function*>(offered));
}

}  // namespace holdfast::modules
