// background_pool.hpp: the threads that do the background work of stores.
// Public header.
//
//   auto pool = std::make_shared<kv::BackgroundPool>(2);
//   kv::StoreOptions options;
//   options.background_pool = pool;               // Else: the process's own pool.
//
// Stores of one process share one pool, unless they are given another. It has a few threads,
// however many stores there are. Growth and reclamation of stores are done by up to `threads` of
// them; the syncs of stores on plain files by up to four more, so that no long reclamation holds
// them up. Threads are started with the first stores, and end when the last holder of the pool lets
// it go: each open store is one.
//
// Threads    Any.
// Fork       A child that fork() makes has none of the threads. A store that it opens gets a pool
//            of the child; with a pool of the parent it is refused (kInvalidOption).
#pragma once

#include <memory>

namespace holdfast::kv {

class Crew;

class BackgroundPool {
 public:
  explicit BackgroundPool(unsigned threads = 0);  // 0: one per CPU.
  ~BackgroundPool();
  BackgroundPool(const BackgroundPool&) = delete;

  // The one that stores share; made when there is none.
  static std::shared_ptr<BackgroundPool> of_process();

  unsigned threads() const;  // Started so far, of both kinds.

  Crew& upkeep() { return *upkeep_; }  // For the library.
  Crew& syncs() { return *syncs_; }    // For the library.

 private:
  std::unique_ptr<Crew> upkeep_, syncs_;
};

}  // namespace holdfast::kv
