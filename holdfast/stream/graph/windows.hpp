// windows.hpp: the windows that a time is in, the earliest end first.
#pragma once

#include <cstdint>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/plan.hpp>

namespace holdfast::stream::graph {

// visit(start, end) -> Status
template <class Visit>
Status for_each_window(const sql::Window& window, std::int64_t time, Visit visit) {
  const std::int64_t ms = time - window.offset_ms;
  const std::int64_t slice = sql::floor_divide(ms, window.slide_ms) * window.slide_ms;
  if (window.cumulates) {
    const std::int64_t start = sql::floor_divide(ms, window.size_ms) * window.size_ms;
    for (auto end = slice + window.slide_ms; end <= start + window.size_ms; end += window.slide_ms)
      HF_RETURN_IF_ERROR(visit(start + window.offset_ms, end + window.offset_ms));
    return {};
  }
  for (auto start = slice - window.size_ms + window.slide_ms; start <= slice;
       start += window.slide_ms)
    HF_RETURN_IF_ERROR(visit(start + window.offset_ms, start + window.offset_ms + window.size_ms));
  return {};
}

}  // namespace holdfast::stream::graph
