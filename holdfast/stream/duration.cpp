#include "duration.hpp"

#include <charconv>
#include <cstdint>
#include <string>

#include <holdfast/base/format.hpp>

namespace holdfast::stream {
namespace {

// A hundred years: added to a time, clocks of nanoseconds hold it.
constexpr std::int64_t kLongestMs = 36'500 * std::int64_t{86'400'000};

Result<std::chrono::milliseconds> parsed_duration(std::string_view text, std::string_view what,
                                                  bool may_be_none) {
  std::int64_t number = 0;
  const auto end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  while (unit.starts_with(' '))
    unit.remove_prefix(1);
  may_be_none = may_be_none && code == std::errc() && number == 0;
  if (may_be_none && unit.empty()) return std::chrono::milliseconds(0);
  const std::int64_t ms = unit == "ms"    ? 1
                          : unit == "s"   ? 1000
                          : unit == "min" ? 60'000
                          : unit == "h"   ? 3'600'000
                          : unit == "d"   ? 86'400'000
                                          : 0;
  if (code != std::errc() || ms == 0 || number < (may_be_none ? 0 : 1) || number > kLongestMs / ms)
    return Error{Errc::kInvalidOption,
                 std::string(what) + " = '" + escape(text) +
                     "'; a time such as 500ms, 1s, 2min, 3h or 4d is wanted, of at most 36500d"};
  return std::chrono::milliseconds(number * ms);
}

}  // namespace

Result<std::chrono::milliseconds> duration_of(std::string_view text, std::string_view what) {
  return parsed_duration(text, what, false);
}

Result<std::chrono::milliseconds> duration_or_none(std::string_view text, std::string_view what) {
  return parsed_duration(text, what, true);
}

}  // namespace holdfast::stream
