// What the checker asks of a medium about its program: whether bytes changed without a report, and
// whether what an operation stored is durable.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <holdfast/crash/medium.hpp>
#include <holdfast/crash/schedule.hpp>

namespace holdfast::crash {

std::optional<std::uint64_t> Medium::find_bypass() const {
  if (std::memcmp(arena_, recorded_, size_bytes_) == 0) return std::nullopt;
  const auto [at, ignored] = std::mismatch(arena_, arena_ + size_bytes_, recorded_);
  return static_cast<std::uint64_t>(at - arena_);
}

// In the middle of a run, under the lock. Threads that run freely may be between a store and its
// report.
void Medium::check_bypass_in_passing(const std::source_location& site) {
  if (parent_ != nullptr)
    return;  // Recoveries may have threads; they are looked at when they return.
  if (!scheduler_in_charge()) {
    if (threads_.size() > 1 || !find_bypass()) return;
    // Perhaps the first store of a second thread: it gets time to report it.
    mutex_.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    mutex_.lock();
    if (threads_.size() > 1) return;
  }
  check_bypass(site);
}

void Medium::check_bypass(const std::source_location& site) {
  const auto offset = find_bypass();
  if (!offset) return;
  error("the byte at offset " + std::to_string(*offset) +
        " was changed without memory/persist.hpp; found at " + to_string(site));
  std::memcpy(recorded_, arena_, size_bytes_);  // Said once.
  if (parent_ == nullptr) return;
  for (std::uint32_t line = 0; line < size_bytes_ / kCacheLineBytes; ++line) {
    touch_line(line);  // The next load() must not trust the record.
  }
}

void Medium::declare_hint(std::uint64_t offset, std::uint64_t bytes) {
  hints_.emplace_back(offset, offset + bytes);
}

std::optional<Medium::PendingByte> Medium::first_pending(std::uint32_t thread,
                                                         std::uint64_t after_sequence) const {
  const auto is_hint = [&](std::uint64_t offset) {
    return std::any_of(hints_.begin(), hints_.end(), [&](const auto& hint) {
      return offset >= hint.first && offset < hint.second;
    });
  };
  if (thread < threads_.size()) {
    for (const Unfenced& store : threads_[thread].unfenced) {
      for (std::uint64_t at = store.begin; at < store.end && store.sequence > after_sequence;
           ++at) {
        if (!is_hint(at)) return PendingByte{at, store.site};
      }
    }
  }
  for (const std::uint32_t cell : dirty_cells()) {
    const std::uint64_t base = std::uint64_t{cell} * cell_bytes();
    if (page_mode()) {
      for (const SectorVersion& version : sectors_[cell]) {
        if (version.thread != thread || version.sequence <= after_sequence) continue;
        for (std::size_t at = 0; at < kSectorBytes; ++at) {
          if (version.content[at] != durable_[base + at] && !is_hint(base + at)) {
            return PendingByte{base + at, version.site};
          }
        }
      }
      continue;
    }
    for (const PendingStore& store : lines_[cell]) {
      if (store.thread != thread || store.sequence <= after_sequence) continue;
      const std::uint64_t at = base + store.offset;
      if (std::memcmp(durable_ + at, &store.value, store.bytes) == 0 || is_hint(at)) continue;
      return PendingByte{at, store.site};
    }
  }
  return std::nullopt;
}

}  // namespace holdfast::crash
