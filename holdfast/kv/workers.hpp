// workers.hpp: one piece of work on several threads, the caller's among them.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

namespace holdfast::kv {

// As asked for, or one per CPU.
inline unsigned worker_count(unsigned asked) {
  return asked != 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

// Returns when work() has returned in `threads` threads.
template <class Work>
void side_by_side(unsigned threads, Work&& work) {
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread& other : others)
    other.join();
}

}  // namespace holdfast::kv
