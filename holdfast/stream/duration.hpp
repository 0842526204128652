// duration.hpp: times as options say them.
#pragma once

#include <chrono>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::stream {

// "1s", "500ms", "2 min". Errors: kInvalidOption, naming `what`.
Result<std::chrono::milliseconds> duration_of(std::string_view text, std::string_view what);
// The same, or "0", with a unit or without.
Result<std::chrono::milliseconds> duration_or_none(std::string_view text, std::string_view what);

}  // namespace holdfast::stream
