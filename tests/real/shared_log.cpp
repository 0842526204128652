#include "shared_log.hpp"

#include <ctime>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <holdfast/base/check.hpp>

namespace holdfast::real {
namespace {

constexpr std::size_t kHeaderBytes = 4096;
static_assert(sizeof(LogHeader) <= kHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

std::size_t bytes_for(unsigned threads, std::size_t entries_per_thread) {
  return kHeaderBytes + threads * entries_per_thread * sizeof(LogEntry);
}

}  // namespace

SharedLog SharedLog::create(unsigned threads, std::size_t entries_per_thread) {
  const int descriptor = memfd_create("holdfast-crash-log", 0);  // Inherited over exec.
  HF_CHECK(descriptor >= 0);
  HF_CHECK(ftruncate(descriptor, static_cast<off_t>(bytes_for(threads, entries_per_thread))) == 0);
  return {descriptor, threads, entries_per_thread};
}

SharedLog SharedLog::attach(int descriptor, unsigned threads, std::size_t entries_per_thread) {
  return {descriptor, threads, entries_per_thread};
}

SharedLog::SharedLog(int descriptor, unsigned threads, std::size_t entries_per_thread)
    : descriptor_(descriptor),
      entries_per_thread_(entries_per_thread),
      bytes_(bytes_for(threads, entries_per_thread)),
      memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)) {
  HF_CHECK(memory_ != MAP_FAILED);
}

SharedLog::SharedLog(SharedLog&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      entries_per_thread_(other.entries_per_thread_),
      bytes_(other.bytes_),
      memory_(std::exchange(other.memory_, nullptr)) {}

SharedLog::~SharedLog() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

LogEntry& SharedLog::entry(unsigned thread, std::size_t number) const {
  HF_CHECK(number < entries_per_thread_);
  auto* entries = reinterpret_cast<LogEntry*>(static_cast<std::byte*>(memory_) + kHeaderBytes);
  return entries[thread * entries_per_thread_ + number];
}

std::uint64_t now_ns() {
  timespec now{};
  HF_CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace holdfast::real
