#include <holdfast/blocks/page/page_kernels.hpp>

#include <cstring>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/base/thread_kept.hpp>

namespace holdfast::blocks::page_detail {

void write_page(const Persist& persist, std::byte* slot, const std::byte* content,
                std::uint32_t page_bytes) {
  persist.stream(slot, content, page_bytes);
}

void write_header(const Persist& persist, SlotHeader* header, std::uint64_t page_word,
                  std::uint64_t version_word) {
  HF_MUTANT("P14", void(), persist.store(&header->version, version_word));
  persist.store(&header->page, page_word);
  HF_MUTANT("P14", persist.store(&header->version, version_word), void());
  persist.write_back(header, 2 * sizeof(std::uint64_t));
}

namespace {

// Records and merged pages are put together here: one pass of the checksum and one copy to the
// medium, whatever the pattern of dirty lines; what was written is never read.
std::byte* staging() {
  struct alignas(kCacheLineBytes) Staging {
    std::byte bytes[record_bytes(LineSet::kMaxLines)];
  };
  return ThreadKept<Staging>::get().bytes;
}

constexpr std::size_t kChecked = sizeof(std::uint64_t);  // Behind the checksum.

}  // namespace

void write_page_with_old_lines(const Persist& persist, std::byte* slot, const std::byte* old_slot,
                               const std::byte* content, const LineSet& dirty,
                               std::uint32_t page_bytes) {
  auto* const merged = staging();
  std::memcpy(merged, old_slot, page_bytes);
  dirty.for_each_run([&](std::uint32_t first, std::uint32_t lines) {
    const auto at = first * kCacheLineBytes;
    std::memcpy(merged + at, content + at, lines * kCacheLineBytes);
  });
  persist.stream(slot, merged, page_bytes);
}

std::uint64_t write_record(const Persist& persist, std::byte* log, RecordHeader header,
                           std::uint64_t seed, const std::byte* content, const LineSet& dirty) {
  auto* const record = staging();
  header.lines = dirty.count();
  header.reserved = 0;
  const auto data_at = record_data_at(header.lines);
  // The line numbers and the zeros behind them.
  auto* numbers = record + sizeof header;
  auto* data = record + data_at;
  dirty.for_each_run([&](std::uint32_t first, std::uint32_t lines) {
    for (auto line = first; line < first + lines; ++line, numbers += sizeof(std::uint16_t)) {
      const auto number = static_cast<std::uint16_t>(line);
      std::memcpy(numbers, &number, sizeof number);
    }
    std::memcpy(data, content + first * kCacheLineBytes, lines * kCacheLineBytes);
    data += lines * kCacheLineBytes;
  });
  std::memset(numbers, 0, static_cast<std::size_t>(record + data_at - numbers));
  std::memcpy(record, &header, sizeof header);
  const auto bytes = data_at + header.lines * kCacheLineBytes;
  header.checksum = checksum64({record + kChecked, bytes - kChecked}, seed);
  std::memcpy(record, &header.checksum, sizeof header.checksum);
  persist.stream(log, record,
                 HF_MUTANT("P13", bytes, header.lines > 16 ? bytes - kCacheLineBytes : bytes));
  return bytes;
}

void zero_lines(const Persist& persist, std::byte* begin, std::uint64_t bytes) {
  static constexpr std::byte kZeros[kCacheLineBytes] = {};
  for (auto* line = begin; line < begin + bytes; line += kCacheLineBytes) {
    // A line that is zero here may not be so on the medium, if a process that was killed stored it.
    if (std::memcmp(line, kZeros, kCacheLineBytes) != 0)
      persist.copy(line, kZeros, kCacheLineBytes);
    persist.write_back(line, kCacheLineBytes);
  }
}

void prefetch_lines(const std::byte* slot, const LineSet& dirty) {
  dirty.for_each_run([&](std::uint32_t first, std::uint32_t lines) {
    for (auto line = first; line < first + lines; ++line)
      prefetch_for_write(slot + line * kCacheLineBytes);
  });
}

void write_lines(const Persist& persist, std::byte* slot, const std::byte* content,
                 const LineSet& dirty) {
  dirty.for_each_run([&](std::uint32_t first, std::uint32_t lines) {
    const auto at = first * kCacheLineBytes;
    persist.stream(slot + at, content + at, lines * kCacheLineBytes);
  });
}

RecordHeader record_header(const std::byte* log) {
  RecordHeader header;
  std::memcpy(&header, log, sizeof header);
  return header;
}

bool record_is_valid(const std::byte* log, std::uint64_t seed, const Geometry& geometry) {
  const auto header = record_header(log);
  if (header.lines == 0 || header.lines > geometry.lines_per_page()) return false;
  if (header.checksum != checksum64({log + kChecked, record_bytes(header.lines) - kChecked}, seed))
    return false;
  // What follows no crash can leave; a checksum can be forged, memory must not be harmed by it.
  if (header.version == 0 || header.version > kMaxSealed || header.slot >= geometry.slots ||
      header.page >= geometry.pages || header.reserved != 0)
    return false;
  for (std::uint32_t i = 0; i < header.lines; ++i) {
    if (record_line(log, i) >= geometry.lines_per_page()) return false;
  }
  return true;
}

}  // namespace holdfast::blocks::page_detail
