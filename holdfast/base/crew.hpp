// crew.hpp: one piece of work on several threads, the caller's among them.
//
// Errors     None: a thread that cannot be started (limits of the system, no memory) is done
//            without. work() takes its parts from a place that all share, so the threads that did
//            start do all of them.
#pragma once

#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace holdfast {

// Returns when work() has returned in up to `threads` threads, in the caller's for certain. Returns
// how many there were. Thread: for tests.
template <class Thread = std::thread, class Work>
unsigned side_by_side(unsigned threads, Work&& work) {
  std::vector<Thread> others;
  try {
    others.reserve(threads);
    for (unsigned i = 1; i < threads; ++i)
      others.emplace_back([&work] { work(); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  work();
  for (auto& other : others)
    other.join();
  return static_cast<unsigned>(others.size()) + 1;
}

}  // namespace holdfast
