#include <holdfast/base/format.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

namespace holdfast {
namespace {

// `value` with three significant digits in the first unit that keeps it below `step`.
std::string scaled(double value, double step, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size())
    value /= step, ++unit;
  char text[64];
  const bool whole = unit == 0 || value == std::floor(value);
  const int decimals = whole || std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  std::string result(text);
  if (*units[unit] != '\0') result.append(" ").append(units[unit]);
  return result;
}

// What a number counts, and how to say one.
struct Counted {
  std::string_view kind, example;
};

// `why`: "is not a", "is not a whole", "is too large a".
Error not_a(std::string_view why, const Counted& counted, std::string_view text,
            std::string_view what) {
  std::string detail{what};
  detail.append("=\"").append(escape(text)).append("\" ").append(why).append(" ");
  detail.append(counted.kind).append("; give for example ").append(counted.example);
  return {Errc::kInvalidOption, std::move(detail)};
}

Result<std::uint64_t> parse_scaled(std::string_view text, std::string_view what, double base,
                                   bool binary, const Counted& counted) {
  const auto error = not_a("is not a", counted, text, what);
  const auto too_large = not_a("is too large a", counted, text, what);
  const auto not_whole = not_a("is not a whole", counted, text, what);
  double number = 0;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (code != std::errc{} || !(number >= 0)) return error;
  auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ')
    unit.remove_prefix(1);
  double factor = 1;
  if (!unit.empty() && !(binary && unit == "B")) {
    constexpr std::string_view kUnits = "kmgt";
    const auto power = kUnits.find(static_cast<char>(unit.front() | 0x20));
    if (power == std::string_view::npos) return error;
    const auto rest = unit.substr(1);
    if (!rest.empty() && !(binary && (rest == "iB" || rest == "B" || rest == "i"))) return error;
    factor = std::pow(base, static_cast<double>(power + 1));
  }
  const double value = number * factor;
  // 2^63: doubles above are no exact counts of anything that fits a machine.
  if (value >= 9223372036854775808.0) return too_large;
  if (factor == 1) {  // Exactly, since a double holds 53 bits only.
    std::uint64_t exact = 0;
    const auto [stop, exact_code] = std::from_chars(text.data(), end, exact);
    if (exact_code != std::errc{} || stop != end) return not_whole;
    return exact;
  }
  if (value != std::floor(value)) return not_whole;
  return static_cast<std::uint64_t>(value);
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return scaled(static_cast<double>(bytes), 1024, kUnits);
}

std::string format_count(double count) {
  constexpr std::array<const char*, 5> kUnits{"", "k", "M", "G", "T"};
  return scaled(count, 1000, kUnits);
}

std::string format_rate(double per_second) {
  constexpr std::array<const char*, 5> kUnits{"/s", "k/s", "M/s", "G/s", "T/s"};
  return scaled(per_second, 1000, kUnits);
}

std::string format_nanoseconds(double nanoseconds) {
  constexpr std::array<const char*, 4> kUnits{"ns", "µs", "ms", "s"};
  return scaled(nanoseconds, 1000, kUnits);
}

Result<std::uint64_t> parse_bytes(std::string_view text, std::string_view what) {
  return parse_scaled(text, what, 1024, true, {"number of bytes", "4096, 64M or 1.5GiB"});
}

Result<std::uint64_t> parse_count(std::string_view text, std::string_view what) {
  return parse_scaled(text, what, 1000, false, {"number", "1000, 2k or 10M"});
}

std::string_view closest(std::string_view word, std::span<const std::string_view> candidates) {
  // Edit distance with transpositions ("gte" is one step from "get").
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<std::size_t> two_ago(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
      last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= b.size(); ++j) {
        row[j] =
            std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
        const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
        if (swapped) row[j] = std::min(row[j], two_ago[j - 2] + 1);
      }
      two_ago.swap(last);
      last.swap(row);
    }
    return last[b.size()];
  };
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto candidate : candidates) {
    const std::size_t steps = distance(word, candidate);
    if (steps < best_distance) best_distance = steps, best = candidate;
  }
  return best;
}

std::size_t utf8_sequence(std::string_view text) {
  const auto at = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const auto lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  const auto second_low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const auto second_high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (at(1) < second_low || at(1) > second_high) return 0;
  for (std::size_t index = 2; index < length; ++index) {
    if ((at(index) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string escape(std::string_view text, std::size_t max_bytes) {
  std::string result;
  std::size_t used = 0;
  while (!text.empty()) {
    const auto length = utf8_sequence(text);
    const auto taken = length == 0 ? 1 : length;
    if (used + taken > max_bytes) {
      result.append("…");
      break;
    }
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte == '\n') {
      result.append("\\n");
    } else if (byte == '\t') {
      result.append("\\t");
    } else if (byte == '\\') {
      result.append("\\\\");
    } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", byte);
      result.append(code);
    } else {
      result.append(text.substr(0, length));
    }
    used += taken;
    text.remove_prefix(taken);
  }
  return result;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char byte : text)
    width += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  return width;
}

std::string pad_left(std::string text, std::size_t width) {
  const auto now = display_width(text);
  if (now < width) text.insert(0, width - now, ' ');
  return text;
}

std::string pad_right(std::string text, std::size_t width) {
  const auto now = display_width(text);
  if (now < width) text.append(width - now, ' ');
  return text;
}

}  // namespace holdfast
