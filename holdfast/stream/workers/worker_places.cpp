#include "worker_places.hpp"

#include <charconv>
#include <string>

namespace holdfast::stream {
namespace {

// "0-3,8" as a set.
cpu_set_t cpus_of(const std::string& list) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    unsigned first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) break;
    unsigned last = first;
    if (read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    for (unsigned cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu)
      CPU_SET(cpu, &set);
    at = read.ptr == end ? end : read.ptr + 1;
  }
  return set;
}

// All of them but the first of each core.
cpu_set_t later_of_cores(const Topology& topology, const cpu_set_t& allowed) {
  cpu_set_t later;
  CPU_ZERO(&later);
  for (const auto& list : topology.core_cpus) {
    const auto core = cpus_of(list);
    bool first = true;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &core) || !CPU_ISSET(cpu, &allowed)) continue;
      if (!first) CPU_SET(cpu, &later);
      first = false;
    }
  }
  return later;
}

}  // namespace

WorkerPlaces places_of(const Topology& topology, const cpu_set_t& allowed, unsigned threads) {
  const auto later = later_of_cores(topology, allowed);
  struct Node {
    cpu_set_t cpus;
    int cores, others;
  };
  std::vector<Node> nodes;
  WorkerPlaces places;
  for (const auto& node : topology.nodes) {
    auto set = cpus_of(node.cpus);
    CPU_AND(&set, &set, &allowed);
    cpu_set_t of_later;
    CPU_AND(&of_later, &set, &later);
    const int others = CPU_COUNT(&of_later), cores = CPU_COUNT(&set) - others;
    if (cores + others > 0) nodes.push_back({set, cores, others});
    places.cores += static_cast<unsigned>(cores);
  }
  if (nodes.size() < 2) return places;
  while (places.cpus.size() < threads) {
    for (const auto& node : nodes)
      places.cpus.insert(places.cpus.end(), static_cast<std::size_t>(node.cores), node.cpus);
    for (const auto& node : nodes)
      places.cpus.insert(places.cpus.end(), static_cast<std::size_t>(node.others), node.cpus);
  }
  places.cpus.resize(threads);
  return places;
}

}  // namespace holdfast::stream
