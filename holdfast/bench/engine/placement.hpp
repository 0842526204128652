// placement.hpp: on which CPUs the threads of a measurement are, as the kernel says, and how much
// of all CPUs' time the host of a virtual machine took meanwhile.
//
// Near and far memory differ by a factor of two: a thread that is not where pinning wanted it makes
// a number wrong. So every thread asks the kernel where it may run after its work, and the row says
// it (`thread_cpus`); what differs from what was wanted becomes a warning.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace holdfast::bench {

struct Placement {
  std::vector<int> cpus;  // For the threads in turn; empty: anywhere.
  bool pin_each = false;  // One CPU for each thread; else all threads may use all of them.

  // Where thread `index` belongs; empty: anywhere.
  std::set<int> of_thread(unsigned index) const;
  // Puts the calling thread there. A refusal is not an error: cpus_of_this_thread() tells.
  void apply(unsigned index) const;
};

// The CPUs that this process may use.
std::vector<int> usable_cpus();
// Where the kernel lets the calling thread run.
std::set<int> cpus_of_this_thread();
// Puts it there. A refusal (a cpuset changed under us) is not an error: the call above tells.
void put_this_thread_on(const std::set<int>& cpus);
// "0-2,5"
std::string list_of(const std::set<int>& cpus);

// Time that the host of a virtual machine gave to others (steal time of /proc/stat, which counts
// hundredths of a second). 0 where there is none, or the kernel does not know.
class StolenTime {
 public:
  StolenTime() { read(stolen_, all_); }
  // Of all CPUs' time since this was made.
  double ratio() const;

 private:
  static void read(std::uint64_t& stolen, std::uint64_t& all);
  std::uint64_t stolen_ = 0, all_ = 0;
};

}  // namespace holdfast::bench
