// workers.hpp: how many threads, and one where there is room for it. Several: base/crew.hpp.
#pragma once

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include <holdfast/base/crew.hpp>

namespace holdfast::kv {

// As asked for, or one per CPU.
inline unsigned worker_count(unsigned asked) {
  return asked != 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

// A thread that does `work`; none where the system has no room for another one.
template <class Work>
std::thread thread_if_possible(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace holdfast::kv
