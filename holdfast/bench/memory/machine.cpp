#include <holdfast/bench/memory/machine.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <holdfast/base/format.hpp>
#include <holdfast/base/printed.hpp>
#include <holdfast/bench/engine/placement.hpp>
#include <holdfast/bench/engine/team.hpp>
#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/bench/memory/tick_clock.hpp>
#include <holdfast/memory/cpu.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/memory/topology.hpp>
#include <holdfast/results/environment.hpp>

namespace holdfast::bench::memory {
namespace {

// Best of several short tries is compared with whole runs: clocks and neighbours change by a third.
constexpr double kSlack = 1.5;

// "0-2,5", as far as this process may use them.
std::vector<int> cpus_in(const std::string& list, const std::vector<int>& usable) {
  std::vector<int> cpus;
  const char* at = list.c_str();
  while (*at != '\0') {
    char* rest = nullptr;
    const auto first = std::strtol(at, &rest, 10);
    if (rest == at) break;
    const auto last = *rest == '-' ? std::strtol(rest + 1, &rest, 10) : first;
    for (const auto cpu : usable) {
      if (cpu >= first && cpu <= last) cpus.push_back(cpu);
    }
    at = *rest == ',' ? rest + 1 : rest;
    if (rest == at && *rest != '\0' && *rest != ',') break;
  }
  return cpus;
}

// What all CPUs together reach: the sum of each one's best piece while the others work, too. Pieces
// are short, so that on a busy machine at least one runs without being interrupted: a limit that is
// too low would cry wolf.
double all_threads(const Machine& machine, std::byte* data, std::uint64_t bytes, Kernel kernel) {
  constexpr std::uint64_t kPieceBytes = 1 * MiB;
  const auto threads = std::max<std::size_t>(1, machine.cpus.size());
  const auto part = bytes / threads / kPieceBytes * kPieceBytes;
  std::vector<double> best_seconds(threads, HUGE_VAL);
  Team team(static_cast<unsigned>(threads));
  team.run([&](Seat& seat) {
    const auto t = seat.index();
    put_this_thread_on({machine.cpus[t]});
    Lanes lanes;
    Accesses block;
    block.base = data;
    block.step_bytes = 512;
    block.count = kPieceBytes / 512;
    block.lines = 8;
    block.lanes = &lanes;
    seat.begin();
    for (std::uint64_t at = 0; at < part; at += kPieceBytes) {
      block.first_byte = t * part + at;
      const auto begin = Clock::now();
      kernel(block);
      fence();
      best_seconds[t] = std::min(best_seconds[t], seconds_since(begin));
    }
  });
  double sum = 0;
  for (const auto seconds : best_seconds)
    sum += static_cast<double>(kPieceBytes) / seconds;
  return sum;
}

}  // namespace

Machine Machine::read() {
  Machine machine;
  machine.cpus = usable_cpus();
  machine.last_level_cache_bytes = results::last_level_cache_bytes();
  machine.available_bytes = results::available_memory_bytes();
  for (const auto& node : read_topology().nodes) {
    machine.nodes.push_back({node.id, cpus_in(node.cpus, machine.cpus), node.distances});
  }
  return machine;
}

const MachineNode* Machine::node(int id) const {
  for (const auto& candidate : nodes) {
    if (candidate.id == id) return &candidate;
  }
  return nullptr;
}

std::vector<int> Machine::cpus_for(int home, NumaPattern pattern) const {
  const auto* from = node(home);
  if (from == nullptr) return pattern == NumaPattern::kFar ? std::vector<int>{} : cpus;
  const auto distance_to = [&](std::size_t i) {
    return i < from->distances.size() ? from->distances[i] : (nodes[i].id == home ? 10 : 20);
  };
  // A node without CPUs (CXL) is near to whatever is nearest to it.
  constexpr int kFarDistance = 20;
  int nearest = kFarDistance - 1;
  bool found = false;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    found = found || (!nodes[i].cpus.empty() && distance_to(i) < kFarDistance);
  if (!found) {
    nearest = 1 << 20;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!nodes[i].cpus.empty()) nearest = std::min(nearest, distance_to(i));
    }
  }
  std::vector<int> near, far;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto& side = distance_to(i) <= nearest ? near : far;
    side.insert(side.end(), nodes[i].cpus.begin(), nodes[i].cpus.end());
  }
  if (pattern == NumaPattern::kNear) return near;
  if (pattern == NumaPattern::kFar) return far;
  // Of both in turn, so that any number of threads is split evenly.
  std::vector<int> both;
  for (std::size_t i = 0; i < std::max(near.size(), far.size()); ++i) {
    if (i < near.size()) both.push_back(near[i]);
    if (i < far.size()) both.push_back(far[i]);
  }
  return both;
}

bool Machine::has_far() const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const MachineNode& from) {
    return !cpus_for(from.id, NumaPattern::kFar).empty();
  });
}

MachineLimits find_limits(const Machine& machine, std::vector<std::string> specs) {
  const auto start = Clock::now();
  MachineLimits limits;
  // The cheapest way to make a line durable that a benchmark can ask for.
  limits.one_thread = calibrate(Persist(cpu().write_back, true));
  RegionOptions options;
  options.access = RegionAccess::kCreate;
  options.unit_bytes = 2 * MiB;
  options.size_bytes = calibration_bytes();
  options.prefault = true;
  specs.emplace_back("dram");
  const auto& kernels = best_kernels();
  for (const auto& spec : specs) {
    const auto region = Region::open(spec, options);
    if (!region) continue;
    const auto measure = [&](Kernel kernel) {
      return all_threads(machine, region->data(), region->size_bytes(), kernel);
    };
    constexpr auto kStreamed = static_cast<std::size_t>(Flush::kNonTemporal);
    constexpr auto kStored = static_cast<std::size_t>(Flush::kNone);
    const auto raise = [&](double& limit, Kernel kernel) {
      limit = std::max(limit, measure(kernel));
    };
    raise(limits.write_bytes_per_s, kernels.write[0][3][kStreamed][0]);
    raise(limits.store_bytes_per_s, kernels.write[0][3][kStored][0]);
    raise(limits.read_bytes_per_s, kernels.read[0][3]);
  }
  limits.clock_overhead_ns = TickClock::get().overhead_ns();
  limits.seconds = seconds_since(start);
  return limits;
}

unsigned MachineLimits::merge(const results::Fields& fields, bool stricter) {
  unsigned known = 0;
  const auto take = [&](double& limit, const char* name, bool a_rate) {
    const auto other = fields.number(name);
    if (!(other > 0)) return;  // A limit of 0 is one that was not found, here as there.
    ++known;
    if (limit <= 0)
      limit = other;
    else
      limit = a_rate == stricter ? std::min(limit, other) : std::max(limit, other);
  };
  take(one_thread.cache_read_bytes_per_s, "cache_read_bytes_per_s_per_thread", true);
  take(one_thread.memory_read_bytes_per_s, "memory_read_bytes_per_s_per_thread", true);
  take(one_thread.memory_write_bytes_per_s, "memory_write_bytes_per_s_per_thread", true);
  take(read_bytes_per_s, "memory_read_bytes_per_s", true);
  take(write_bytes_per_s, "memory_stream_bytes_per_s", true);
  take(store_bytes_per_s, "memory_store_bytes_per_s", true);
  take(one_thread.dependent_read_ns, "dependent_read_ns", false);
  take(one_thread.persist_line_ns, "persist_line_ns", false);
  return known;
}

results::Fields MachineLimits::fields() const {
  auto fields = one_thread.fields();
  fields.set("memory_read_bytes_per_s", read_bytes_per_s);
  fields.set("memory_stream_bytes_per_s", write_bytes_per_s);
  fields.set("memory_store_bytes_per_s", store_bytes_per_s);
  fields.set("clock_overhead_ns", clock_overhead_ns);
  fields.set("seconds", seconds);
  return fields;
}

void judge(results::Row& row, const MachineLimits& limits, const Machine& machine, double reads,
           double writes, bool beyond_cache) {
  const auto threads = static_cast<double>(row.threads());
  const auto claim = [&](double rate, double limit, const char* what) {
    if (!(rate > limit * kSlack) || limit <= 0) return;
    row.invalidate("beyond this machine: " + format_bytes(static_cast<std::uint64_t>(rate)) +
                   "/s, and " + what + " gives " + format_bytes(static_cast<std::uint64_t>(limit)) +
                   "/s");
  };
  const auto& one = limits.one_thread;
  claim(reads + writes, threads * one.cache_read_bytes_per_s, "the first-level cache");
  if (!beyond_cache) return;
  claim(reads, threads * one.memory_read_bytes_per_s, "reading memory with one thread each");
  const auto best_write =
      std::max({one.memory_write_bytes_per_s, limits.write_bytes_per_s, limits.store_bytes_per_s});
  claim(writes, threads * best_write, "writing memory");
  if (row.threads() <= machine.cpus.size()) {
    claim(reads, limits.read_bytes_per_s, "reading memory with all CPUs");
    claim(writes, std::max(best_write, limits.write_bytes_per_s), "writing memory with all CPUs");
  }
  const auto ns = row.number("ns_per_op_median");
  if (row.text("exec_mode") == "chase" && !(row.number("chase_window_bytes") > 0) &&
      ns * kSlack * 2 < one.dependent_read_ns)
    row.invalidate(printed("beyond this machine: %.3g ns, and a dependent read takes %.3g ns", ns,
                           one.dependent_read_ns));
  check_fences(row, one);
}

}  // namespace holdfast::bench::memory
