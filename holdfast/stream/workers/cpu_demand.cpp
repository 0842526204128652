#include "cpu_demand.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace holdfast::stream {
namespace {

// "1195933 4124114 2": nanoseconds on a CPU, in the queue; how often.
double queued_seconds() {
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[96];
  const auto length = ::read(file, text, sizeof text);
  ::close(file);
  const char* const end = text + (length > 0 ? length : 0);
  const char* const space = std::find(static_cast<const char*>(text), end, ' ');
  std::uint64_t queued = 0;
  if (space == end || std::from_chars(space + 1, end, queued).ec != std::errc()) return 0;
  return static_cast<double>(queued) * 1e-9;
}

}  // namespace

double cpu_demand() {
  timespec used{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9 +
         queued_seconds();
}

}  // namespace holdfast::stream
