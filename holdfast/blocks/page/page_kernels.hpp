// page_kernels.hpp: the write steps that a page store's flush is made of, without its fences.
//
// Plain functions on addresses, so that the cost model measures the very code that flushes.
// Each starts the write-back of everything it stored; durable after the caller's next fence.
#pragma once

#include <holdfast/blocks/page/line_set.hpp>
#include <holdfast/blocks/page/page_format.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::blocks::page_detail {

// Makes [begin, begin + bytes) zeros, whole lines: other media than new files hold leftovers.
void zero_lines(const Persist& persist, std::byte* begin, std::uint64_t bytes);

// All of a page to a slot.
void write_page(const Persist& persist, std::byte* slot, const std::byte* content,
                std::uint32_t page_bytes);

// A page of which only the dirty lines are in `content`: the others come from its present slot.
void write_page_with_old_lines(const Persist& persist, std::byte* slot, const std::byte* old_slot,
                               const std::byte* content, const LineSet& dirty,
                               std::uint32_t page_bytes);

// The two commit stores of a slot's header, in this order in one line (page_format.hpp).
void write_header(const Persist& persist, SlotHeader* header, std::uint64_t page_word,
                  std::uint64_t version_word);

// A record with the dirty lines of `content`; `header` needs version, slot and page. Returns the
// bytes written.
std::uint64_t write_record(const Persist& persist, std::byte* log, RecordHeader header,
                           std::uint64_t seed, const std::byte* content, const LineSet& dirty);

// Asks for the lines that write_lines() will store to, so that they arrive during the fence that
// comes before.
void prefetch_lines(const std::byte* slot, const LineSet& dirty);
// The dirty lines to where they belong.
void write_lines(const Persist& persist, std::byte* slot, const std::byte* content,
                 const LineSet& dirty);

// A record as found on a medium: nothing in it may be trusted before this said yes.
bool record_is_valid(const std::byte* log, std::uint64_t seed, const Geometry& geometry);
RecordHeader record_header(const std::byte* log);
// f(line number, 64 bytes) for each line of a valid record.
template <class F>
void for_each_line(const std::byte* log, F&& f);

// ---- Implementation ----

inline std::uint16_t record_line(const std::byte* log, std::uint32_t index) {
  std::uint16_t line;
  __builtin_memcpy(&line, log + sizeof(RecordHeader) + index * sizeof line, sizeof line);
  return line;
}

template <class F>
void for_each_line(const std::byte* log, F&& f) {
  const auto lines = record_header(log).lines;
  const auto* data = log + record_data_at(lines);
  for (std::uint32_t i = 0; i < lines; ++i, data += kCacheLineBytes)
    f(record_line(log, i), data);
}

}  // namespace holdfast::blocks::page_detail
