#include <holdfast/bench/kv/rest.hpp>

#include <chrono>
#include <thread>

#include <holdfast/bench/kv/thread_times.hpp>
#include <holdfast/bench/runner.hpp>

namespace holdfast::bench::kv {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(10);
constexpr auto kQuiet = std::chrono::milliseconds(30), kLongQuiet = std::chrono::milliseconds(200);
constexpr double kIdleShare = 0.1;  // Of one CPU: less is the kernel's own accounting.

// Two clocks, read one after the other: what this thread did between them is missing, and so a
// later value may be the smaller one.
std::int64_t cpu_of_others_ns() {
  return static_cast<std::int64_t>(process_cpu_ns()) - static_cast<std::int64_t>(thread_cpu_ns());
}

}  // namespace

Status wait_until_at_rest(const AtRest& store) {
  const auto begin = Clock::now();
  auto quiet_since = begin;
  auto counters = store.counters();
  auto cpu_ns = cpu_of_others_ns();
  while (!interrupted()) {
    std::this_thread::sleep_for(kPoll);
    const auto now = Clock::now();
    const auto quiet_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - quiet_since).count();
    const auto used_ns = static_cast<double>(cpu_of_others_ns() - cpu_ns);
    auto seen = store.counters();
    if (seen != counters || used_ns > kIdleShare * static_cast<double>(quiet_ns)) {
      counters = std::move(seen);
      cpu_ns = cpu_of_others_ns();
      quiet_since = now;
    } else if (now - quiet_since >= (store.nothing_left() ? kQuiet : kLongQuiet)) {
      return {};
    }
    if (seconds_between(begin, now) > store.seconds_max) {
      return Error{Errc::kIo, "the store's background work did not come to rest within " +
                                  std::to_string(static_cast<unsigned>(store.seconds_max)) + " s"};
    }
  }
  return {};
}

}  // namespace holdfast::bench::kv
