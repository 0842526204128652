// places.hpp: on which CPUs and node each worker of a team is.
//
// Workers are dealt out to the nodes in turn, and within a node to its CPUs. Nodes without CPUs get
// none. What the process may not use is left out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/memory/topology.hpp>

namespace holdfast::olap {

enum class Pinning : std::uint8_t {
  kNone,  // The kernel places threads as it likes.
  kNode,  // A worker may use all CPUs of its node.
  kCore,  // A worker has one CPU.
  kAuto,  // kCore where there is more than one node, else kNone.
};

struct WorkerPlace {
  std::vector<int> cpus;  // Empty: anywhere.
  int node = 0;           // The system's number of it.

  bool operator==(const WorkerPlace&) const = default;
};

// Of `workers` workers; nothing where none is pinned. `usable`: CPUs that the process may use.
std::vector<WorkerPlace> places_for(unsigned workers, Pinning pinning, const Topology& topology,
                                    std::span<const int> usable);
// On this machine.
std::vector<WorkerPlace> places_for(unsigned workers, Pinning pinning);

// Where the calling thread may run, and to let it run there only. A refusal changes nothing.
std::vector<int> cpus_of_this_thread();
void put_this_thread_on(std::span<const int> cpus);

}  // namespace holdfast::olap
