#include <holdfast/bench/engine/placement.hpp>

#include <sched.h>

#include <fstream>

namespace holdfast::bench {

std::set<int> Placement::of_thread(unsigned index) const {
  if (cpus.empty()) return {};
  if (pin_each) return {cpus[index % cpus.size()]};
  return {cpus.begin(), cpus.end()};
}

void Placement::apply(unsigned index) const {
  const auto wanted = of_thread(index);
  if (!wanted.empty()) put_this_thread_on(wanted);
}

std::vector<int> usable_cpus() {
  const auto cpus = cpus_of_this_thread();
  return {cpus.begin(), cpus.end()};
}

std::set<int> cpus_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::set<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.insert(cpu);
  }
  return cpus;
}

void put_this_thread_on(const std::set<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const auto cpu : cpus)
    CPU_SET(cpu, &set);
  (void)sched_setaffinity(0, sizeof set, &set);
}

std::string list_of(const std::set<int>& cpus) {
  std::string text;
  for (auto at = cpus.begin(); at != cpus.end();) {
    const auto first = *at;
    auto last = first;
    for (++at; at != cpus.end() && *at == last + 1; ++at)
      last = *at;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  }
  return text;
}

double StolenTime::ratio() const {
  std::uint64_t stolen = 0, all = 0;
  read(stolen, all);
  if (all <= all_ || stolen <= stolen_) return 0;
  return static_cast<double>(stolen - stolen_) / static_cast<double>(all - all_);
}

void StolenTime::read(std::uint64_t& stolen, std::uint64_t& all) {
  // cpu user nice system idle iowait irq softirq steal; guests are part of user and nice.
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  std::uint64_t ticks = 0;
  for (int column = 0; column < 8 && file >> ticks; ++column) {
    all += ticks;
    if (column == 7) stolen = ticks;
  }
}

}  // namespace holdfast::bench
