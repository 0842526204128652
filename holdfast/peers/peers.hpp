// peers.hpp: the libraries that benchmarks compare with (RocksDB, PMDK …), loaded when they are
// asked for.
//
// The command does not link them. Each library has a module of its own, holdfast-peers-NAME.so,
// which holds the subjects made with it. When it is loaded, a module offers functions; a suite asks
// for one by the name of the library and the type of the function. So a suite never sees a header
// of a library, and the command runs where the libraries are missing.
//
// Place      in the directory $HOLDFAST_PEERS, if that is set; else beside the command, else in the
//            lib/holdfast that belongs to the bin directory of an installed command.
// Identity   A module shares C++ types with the command, so both must come from the same headers
//            and compiler. Each carries a text that is made from these; a module with another text
//            is refused before any of its code runs.
// Threads    one at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::bench {

// A library for which a module can be built.
struct Peer {
  std::string_view name;     // "rocksdb": its module is holdfast-peers-rocksdb.so.
  std::string_view package;  // Of Debian, with what the module is built from: "librocksdb-dev".
};
const std::vector<Peer>& all_peers();

// Loads the module of a library, once. Errors: kInvalidOption (there is no such library), kNotFound
// (no module), kUnsupported (a module of another build, or one whose library is not installed).
// Each says what to install or to build.
Status load_peer(std::string_view name);

// The names of the modules that load_peer() would find and accept; nothing is loaded.
std::vector<std::string> installed_peers();

// Where modules are looked for, most wanted first. A second program of the command may lie there,
// too.
std::vector<std::string> module_places();

// A program that is started by another of the same build finds that one's identity in this variable
// of the environment. kUnsupported if it is another.
inline constexpr const char* kStartedBy = "HOLDFAST_STARTED_BY";
Status check_started_by();

// What the modules of this command must carry, for example "0.1.0, GNU 12.2.0, headers 1f0c…".
std::string_view peer_identity();

using AnyFunction = void (*)();
void offer_function(std::string_view peer, std::type_index type, AnyFunction function);
// Null where no loaded module offers such a function.
AnyFunction offered_function(std::string_view peer, std::type_index type);

// In a module, as a constant at namespace scope:   const PeerOffer offer{"rocksdb", rocksdb_kind};
struct PeerOffer {
  template <class R, class... Arguments>
  PeerOffer(std::string_view peer, R (*function)(Arguments...)) {
    offer_function(peer, typeid(R(Arguments...)), reinterpret_cast<AnyFunction>(function));
  }
};

// In a suite: the function of this type that the library's module offers. Errors: those of
// load_peer().
template <class Function>
Result<std::function<Function>> peer_function(std::string_view peer) {
  HF_RETURN_IF_ERROR(load_peer(peer));
  const auto function = offered_function(peer, typeid(Function));
  if (function == nullptr) {
    return Error{Errc::kUnsupported,
                 "the module of " + std::string(peer) + " offers no function of this type"};
  }
  return std::function<Function>(reinterpret_cast<Function*>(function));
}

}  // namespace holdfast::bench
