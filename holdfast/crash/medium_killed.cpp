// What a kill leaves of a medium: the bytes in the caches, and what is pending as it was.
#include <algorithm>
#include <cstring>
#include <limits>

#include <holdfast/crash/image_hash.hpp>
#include <holdfast/crash/medium.hpp>

namespace holdfast::crash {
namespace {

// Of what is pending since before the kill: none of the threads that there will be.
constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void Medium::load_killed(std::uint64_t sequence) {
  restore();
  sequence_ = std::max(sequence_, parent_->sequence_);
  for (const std::uint32_t cell : parent_->dirty_) {
    keep_pending(cell, sequence);
  }
}

// Of one cell of the parent, for load_killed().
void Medium::keep_pending(std::uint32_t cell, std::uint64_t sequence) {
  if (page_mode()) {
    for (SectorVersion version : parent_->sectors_[cell]) {
      version.thread = kNobody;
      if (version.sequence <= sequence) sectors_[cell].push_back(version);
    }
    if (sectors_[cell].empty()) return;
  } else {
    for (PendingStore store : parent_->lines_[cell]) {
      store.thread = kNobody;
      store.marked_by = 0;
      if (store.sequence <= sequence) lines_[cell].push_back(store);
    }
    if (lines_[cell].empty()) return;
  }
  set_dirty(cell);
  const std::uint64_t offset = std::uint64_t{cell} * cell_bytes();
  render(cell, newest(cell), arena_ + offset);
  std::memcpy(recorded_ + offset, arena_ + offset, cell_bytes());
  for (std::uint64_t at = offset; at < offset + cell_bytes(); at += kCacheLineBytes) {
    touch_line(static_cast<std::uint32_t>(at / kCacheLineBytes));
  }
}

std::optional<std::uint64_t> Medium::killed_hash(std::uint64_t sequence) const {
  std::uint64_t sum = 0;  // Over cells, which have no order; within a cell the order counts.
  for (const std::uint32_t cell : dirty_) {
    std::uint64_t hash = 0;
    const auto add = [&](std::uint64_t part) { hash = mix(hash + part + 0x9e3779b97f4a7c15ULL); };
    if (page_mode()) {
      for (const SectorVersion& version : sectors_[cell]) {
        if (version.sequence > sequence) continue;
        for (std::size_t at = 0; at < kSectorBytes; at += kWordBytes) {
          add(load_word(version.content.data() + at));
        }
      }
    } else {
      for (const PendingStore& store : lines_[cell]) {
        if (store.sequence > sequence) continue;
        add(std::uint64_t{store.offset} << 16 | std::uint64_t{store.bytes} << 8 | store.streamed);
        add(store.value);
      }
    }
    if (hash != 0) sum += mix(hash ^ mix(cell + 1));
  }
  if (sum == 0) return std::nullopt;
  return mix(durable_hash() + sum);
}

}  // namespace holdfast::crash
