#include "worker_crew.hpp"

#include <sched.h>

#include <charconv>
#include <string>
#include <system_error>

#include <holdfast/memory/topology.hpp>

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

// Which CPUs each worker may use; empty: there is one node, or none is told.
std::vector<cpu_set_t> places_of(unsigned workers) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::vector<cpu_set_t> nodes;
  for (const auto& node : read_topology().nodes) {
    auto set = cpus_of(node.cpus);
    CPU_AND(&set, &set, &allowed);
    if (CPU_COUNT(&set) > 0) nodes.push_back(set);
  }
  if (nodes.size() < 2) return {};
  std::vector<cpu_set_t> places;
  while (places.size() < workers) {
    for (const auto& node : nodes)
      places.insert(places.end(), static_cast<std::size_t>(CPU_COUNT(&node)), node);
  }
  return places;
}

}  // namespace

Result<std::unique_ptr<WorkerCrew>> WorkerCrew::start(unsigned workers) {
  std::unique_ptr<WorkerCrew> crew(new WorkerCrew());
  const auto places = places_of(workers);
  try {
    crew->threads_.reserve(workers);
    for (unsigned i = 0; i < workers; ++i) {
      auto& thread = crew->threads_.emplace_back([raw = crew.get(), i] { raw->serve(i); });
      if (!places.empty())
        (void)::pthread_setaffinity_np(thread.native_handle(), sizeof places[i], &places[i]);
    }
  } catch (const std::system_error& error) {
    return Error{Errc::kNoSpace, "worker " + std::to_string(crew->threads_.size() + 1) + " of " +
                                     std::to_string(workers) + ": no thread: " + error.what()};
  }
  return crew;
}

WorkerCrew::~WorkerCrew() {
  {
    const Lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_)
    thread.join();
}

void WorkerCrew::run(FunctionRef<void(unsigned worker)> work) {
  UniqueLock lock(mutex_);
  work_ = &work;
  ++round_;
  busy_ = threads_.size();
  changed_.notify_all();
  while (busy_ > 0)
    changed_.wait(mutex_);
}

void WorkerCrew::serve(unsigned worker) {
  std::uint64_t done = 0;
  UniqueLock lock(mutex_);
  for (;;) {
    while (!closing_ && round_ == done)
      changed_.wait(mutex_);
    if (closing_) return;
    done = round_;
    const auto& work = *work_;
    lock.unlock();
    work(worker);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

}  // namespace holdfast::stream
