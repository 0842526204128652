// pmdk.hpp: PMDK 1.12 as a peer. Where its modules are not there, rows say so.
//
// PMDK does not take a tmpfs or a plain file for persistent memory and would msync. For a fair
// comparison with our primitive on the same memory it is told to believe (PMEM_IS_PMEM_FORCE=1),
// and where non-temporal stores do not leave the cache not to rely on them (PMEM_NO_MOVNT=1). It
// reads this when it is loaded: the command sets the environment before a suite asks for a peer.
#pragma once

#include <string>

#include <holdfast/bench/blocks/suites.hpp>

namespace holdfast::bench::blocks {

// Of `holdfast blocks bench`, behind the suites of ours.
Suite pmdk_suite();

// The environment that PMDK must be loaded with, as NAME=VALUE, for a region with this
// property.
std::vector<std::string> pmdk_environment(bool nt_evicts);
// Adds `peer_environment`: which of it is set; and `peer_directory`.
void add_pmdk_facts(results::Fields& facts, const Context& context);
// kUnsupported unless the environment is set: numbers of msync are not comparable.
Status check_pmdk_environment(const Context& context);

// The pages behind a pool that PMDK maps by itself. The region has 2 MiB pages where the system
// gives them; a pool on the same tmpfs has 4 KiB ones unless somebody asks.
class PoolPages {
 public:
  // Asks for pages as large as the region's. `pool` is where the mapping begins. Contents stay.
  void obtain(const Context& context, const void* pool, std::uint64_t bytes);
  // Adds `pool_page_bytes`: what it got.
  void add_facts(results::Fields& facts) const;

 private:
  std::uint64_t page_bytes_ = 0;
};

}  // namespace holdfast::bench::blocks
