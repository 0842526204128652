// background_pool.hpp: the threads that do the background work of stores.
// Public header.
//
//   auto pool = std::make_shared<kv::BackgroundPool>(2);
//   kv::StoreOptions options;
//   options.background_pool = pool;               // Else: the process's own pool.
//
// Stores of one process share one pool, unless they are given another. It has a few threads,
// however many stores there are. Up to `threads` of them do growth and reclamation. Up to four more
// do the syncs of stores on plain files, so no long reclamation holds up a sync. Threads are
// started with the first stores, and end when the last holder releases the pool; each open store is
// a holder.
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

  // The pool that stores share; made when there is none.
  static std::shared_ptr<BackgroundPool> of_process();

  unsigned threads() const;  // Started so far, of both kinds.

  Crew& upkeep() { return *upkeep_; }  // For the library.
  Crew& syncs() { return *syncs_; }    // For the library.

 private:
  std::unique_ptr<Crew> upkeep_, syncs_;
};

}  // namespace holdfast::kv
