// in_order.hpp: pieces that are made by several threads and taken by one, in their order.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast::olap {

// make(i) -> Result<Piece> for i from 0 to count - 1 on up to `threads` threads; take(Piece) ->
// Status on the caller's, one after the other. Ends at the first error in the order of pieces. At
// most 2 * threads pieces wait. With one thread, or where none can be started, the caller makes
// them. Errors: of make and take; kNoSpace (a piece found no memory).
template <class Piece, class Make, class Take>
Status in_order(std::uint64_t count, unsigned threads, const Make& make, const Take& take) {
  KernelMutex mutex;
  Condition changed;
  std::map<std::uint64_t, Result<Piece>> made;
  std::uint64_t next = 0, taken = 0;
  bool stop = false;
  const std::uint64_t window = 2 * std::uint64_t{threads};
  const auto attempt = [&](std::uint64_t number) -> Result<Piece> {
    try {
      return make(number);
    } catch (const std::bad_alloc&) {
      return Error{Errc::kNoSpace, "out of memory; fewer threads need less"};
    }
  };
  const auto work = [&] {
    for (;;) {
      std::uint64_t mine = 0;
      {
        const Lock lock(mutex);
        while (!stop && next < count && next >= taken + window)
          changed.wait(mutex);
        if (stop || next >= count) return;
        mine = next++;
      }
      auto piece = attempt(mine);
      const Lock lock(mutex);
      made.emplace(mine, std::move(piece));
      changed.notify_all();
    }
  };
  std::vector<std::thread> team;
  for (unsigned i = 0; threads > 1 && i < threads && i < count; ++i) {
    try {
      team.emplace_back(work);
    } catch (const std::system_error&) {
      break;
    }
  }
  Status status;
  for (std::uint64_t i = 0; i < count && status; ++i) {
    std::optional<Result<Piece>> piece;
    if (team.empty()) {
      piece = attempt(i);
    } else {
      const Lock lock(mutex);
      while (made.find(i) == made.end())
        changed.wait(mutex);
      piece = std::move(made.find(i)->second);
      made.erase(i);
      taken = i + 1;
      changed.notify_all();
    }
    status = *piece ? take(**std::move(piece)) : Status(std::move(*piece).pass_on());
  }
  {
    const Lock lock(mutex);
    stop = true;
    changed.notify_all();
  }
  for (auto& thread : team)
    thread.join();
  return status;
}

}  // namespace holdfast::olap
