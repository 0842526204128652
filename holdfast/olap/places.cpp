#include <holdfast/olap/places.hpp>

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace holdfast::olap {
namespace {

// "0-2,5" as 0, 1, 2, 5.
std::vector<int> numbers_of(std::string_view list) {
  std::vector<int> numbers;
  while (!list.empty()) {
    const auto part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    int first = 0, last = 0;
    const auto* end = part.data() + part.size();
    const auto [stop, code] = std::from_chars(part.data(), end, first);
    if (code != std::errc()) continue;
    last = first;
    if (stop != end && *stop == '-') std::from_chars(stop + 1, end, last);
    for (int number = first; number <= last; ++number)
      numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::vector<WorkerPlace> places_for(unsigned workers, Pinning pinning, const Topology& topology,
                                    std::span<const int> usable) {
  std::vector<WorkerPlace> nodes;
  for (const auto& node : topology.nodes) {
    auto cpus = numbers_of(node.cpus);
    std::erase_if(cpus, [&](int cpu) {
      return std::find(usable.begin(), usable.end(), cpu) == usable.end();
    });
    if (!cpus.empty()) nodes.push_back({std::move(cpus), node.id});
  }
  if (pinning == Pinning::kAuto) pinning = nodes.size() > 1 ? Pinning::kCore : Pinning::kNone;
  std::vector<WorkerPlace> places;
  if (pinning == Pinning::kNone || nodes.empty()) return places;
  for (unsigned worker = 0; worker < workers; ++worker) {
    auto place = nodes[worker % nodes.size()];
    if (pinning == Pinning::kCore) {
      const auto cpu = place.cpus[worker / nodes.size() % place.cpus.size()];
      place.cpus = {cpu};
    }
    places.push_back(std::move(place));
  }
  return places;
}

std::vector<WorkerPlace> places_for(unsigned workers, Pinning pinning) {
  if (pinning == Pinning::kNone) return {};
  return places_for(workers, pinning, read_topology(), cpus_of_this_thread());
}

std::vector<int> cpus_of_this_thread() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void put_this_thread_on(std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  if (CPU_COUNT(&set) > 0) (void)::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace holdfast::olap
