#include <holdfast/bench/index/record_sizes.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace holdfast::bench::index {
namespace {

std::optional<unsigned> bytes_in(std::string_view text, unsigned most) {
  unsigned bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (bytes < RecordSizes::kLeast || bytes > most) return std::nullopt;
  return bytes;
}

}  // namespace

Result<std::vector<RecordSizes>> RecordSizes::parse(std::string_view text) {
  const auto wrong = [&](std::string_view part, std::string_view what) {
    const auto range = [](unsigned most) {
      return std::to_string(kLeast) + " to " + std::to_string(most) + " bytes";
    };
    return Error{Errc::kInvalidOption, "--sizes '" + std::string(text) + "': '" +
                                           std::string(part) + "' " + std::string(what) +
                                           "; a key has " + range(kMostOfKey) + " and a value " +
                                           range(kMostOfValue) + ": 16+100,32+1000"};
  };
  std::vector<RecordSizes> all;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    const auto part = rest.substr(0, comma);
    const auto plus = part.find('+');
    if (plus == part.npos) return wrong(part, "is no key + value");
    const auto key = bytes_in(part.substr(0, plus), kMostOfKey);
    const auto value = bytes_in(part.substr(plus + 1), kMostOfValue);
    if (!key || !value) return wrong(part, "has lengths that are none or out of range");
    const RecordSizes sizes{*key, *value};
    if (std::find(all.begin(), all.end(), sizes) != all.end()) return wrong(part, "is given twice");
    all.push_back(sizes);
    if (comma == rest.npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace holdfast::bench::index
