// worker_places.hpp: on which NUMA node each of several threads runs, and how many have a core of
// their own.
//
// Threads with a core of their own come first: as many on the first node as it has cores, then
// those of the next. Behind them come those that share a core with one of these (simultaneous
// multithreading), node by node. Where there are more threads than CPUs it begins anew. Within a
// node the system places them: it prefers cores that have nothing to do.
#pragma once

#include <sched.h>

#include <vector>

#include <holdfast/memory/topology.hpp>

namespace holdfast::stream {

struct WorkerPlaces {
  std::vector<cpu_set_t> cpus;  // By thread. Empty: there is one node, or none is told.
  unsigned cores = 0;           // So many threads have a core of their own; 0: not known.
};

// `allowed`: the CPUs that the process may use.
WorkerPlaces places_of(const Topology& topology, const cpu_set_t& allowed, unsigned threads);

}  // namespace holdfast::stream
