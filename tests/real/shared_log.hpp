// shared_log.hpp: what the threads of a process did, in memory that survives its death.
//
// A memfd that parent and child map. Each thread of the child appends to its own row: invoked
// before the call, acknowledged after it. What SIGKILL leaves is exactly what had been executed: an
// entry with an invocation and no acknowledgement was in flight.
//
// Threads  One writer per row. The parent reads when the child is dead (the header at any time).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::real {

enum class Phase : std::uint32_t { kStarting, kOpening, kWriting, kClosing, kClosed, kFailed };

struct LogEntry {
  std::atomic<std::uint64_t> invoked_ns;       // CLOCK_MONOTONIC; 0: not begun.
  std::atomic<std::uint64_t> acknowledged_ns;  // 0: not acknowledged.
  std::atomic<std::uint64_t> previous;  // The word that update_word() saw; 0: it was not asked yet.
  std::atomic<std::uint64_t> found_nothing;  // Acknowledged, but there was no record to work on.
};

struct LogHeader {
  std::atomic<Phase> phase;
  std::atomic<std::uint32_t> stop;  // Set by the parent: finish the current operations and close.
  std::atomic<std::uint64_t> reclaimed_blocks;
  std::atomic<std::uint64_t> open_ns;  // How long the store's open() took.
  char error[1024];                    // Valid in kFailed.
};

class SharedLog {
 public:
  static SharedLog create(unsigned threads, std::size_t entries_per_thread);
  // In the child: the same memory, by the inherited descriptor.
  static SharedLog attach(int descriptor, unsigned threads, std::size_t entries_per_thread);
  SharedLog(SharedLog&& other) noexcept;
  SharedLog& operator=(SharedLog&&) = delete;
  ~SharedLog();

  LogHeader& header() const { return *static_cast<LogHeader*>(memory_); }
  LogEntry& entry(unsigned thread, std::size_t number) const;
  std::size_t entries_per_thread() const { return entries_per_thread_; }
  int descriptor() const { return descriptor_; }

 private:
  SharedLog(int descriptor, unsigned threads, std::size_t entries_per_thread);
  int descriptor_;
  std::size_t entries_per_thread_, bytes_;
  void* memory_;
};

std::uint64_t now_ns();

}  // namespace holdfast::real
