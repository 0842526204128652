// in_order.hpp: pieces that are made by several threads and taken by one, in their order.
#pragma once

#include <atomic>
#include <cstdint>
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

// What `step` returns, or kNoSpace where it finds no memory.
template <class Step>
auto or_no_memory(const Step& step) -> decltype(step()) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return Error{Errc::kNoSpace, "out of memory; fewer threads need less"};
  }
}

// make(i) -> Result<Piece> for i from 0 to count - 1 on up to `threads` threads; take(Piece) ->
// Status on the caller's, one after the other. Ends at the first error in the order of pieces. At
// most 2 * threads pieces wait. With one thread, or where none can be started, the caller makes
// them. Errors: of make and take; kNoSpace (one of them found no memory).
template <class Piece, class Make, class Take>
Status in_order(std::uint64_t count, unsigned threads, const Make& make, const Take& take) {
  KernelMutex mutex;
  Condition changed;
  std::uint64_t next = 0, taken = 0;
  bool stop = false;
  const std::uint64_t window = 2 * std::uint64_t{threads};
  std::vector<std::optional<Result<Piece>>> made(window);  // Piece i at i % window.
  const auto attempt = [&](std::uint64_t number) {
    return or_no_memory([&]() -> Result<Piece> { return make(number); });
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
      made[mine % window].emplace(std::move(piece));
      changed.notify_all();
    }
  };
  const auto taken_over = [&](Result<Piece> piece) {
    return or_no_memory([&]() -> Status {
      return piece ? take(*std::move(piece)) : Status(std::move(piece).pass_on());
    });
  };
  std::vector<std::thread> team;
  if (threads > 1) team.reserve(threads);
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
      auto& place = made[i % window];
      while (!place)
        changed.wait(mutex);
      piece = std::exchange(place, std::nullopt);
      taken = i + 1;
      changed.notify_all();
    }
    status = taken_over(*std::move(piece));
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
