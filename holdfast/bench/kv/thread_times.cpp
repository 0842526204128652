#include <holdfast/bench/kv/thread_times.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace holdfast::bench::kv {

StallWatch::StallWatch()
    : file_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)), waited_ns_(waited_ns()) {}

StallWatch::~StallWatch() {
  if (file_ >= 0) ::close(file_);
}

void StallWatch::slow(std::chrono::nanoseconds time) {
  const auto waited = waited_ns();
  const auto wall = static_cast<std::uint64_t>(time.count());
  longest_ns_ = std::max(longest_ns_, wall - std::min(wall, waited - waited_ns_));
  waited_ns_ = waited;
}

// "time on a CPU, time waiting for one, time slices", in ns.
std::uint64_t StallWatch::waited_ns() const {
  char text[96] = {};
  unsigned long long running = 0, waiting = 0;
  if (file_ < 0 || ::pread(file_, text, sizeof text - 1, 0) <= 0) return 0;
  return std::sscanf(text, "%llu %llu", &running, &waiting) == 2 ? waiting : 0;
}

}  // namespace holdfast::bench::kv
