#include "zone.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/civil.hpp>
#include <holdfast/sql/zone_rule.hpp>

namespace holdfast::sql {
namespace {

constexpr std::int64_t kSecondMs = 1000, kHourMs = 3'600'000;
constexpr std::int64_t kLastYear = 10'000;  // A year more than the calendar has.
constexpr std::size_t kMostBytes = 1u << 20;
constexpr auto kNever = std::numeric_limits<std::int64_t>::min();
constexpr auto kAlways = std::numeric_limits<std::int64_t>::max();

// ---- Files ----
Error damaged(const std::string& name) {
  return Error{Errc::kCorrupt, "the file of the time zone " + escape(name) +
                                   " is damaged, or has leap seconds: install tzdata again"};
}

std::int64_t big_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < width; ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  const unsigned shift = 64 - 8 * static_cast<unsigned>(width);
  return static_cast<std::int64_t>(number << shift) >> shift;
}

// The numbers of its head, and how long its body is.
struct Head {
  static constexpr std::size_t kBytes = 44;
  std::size_t in_utc, standard, leaps, times, types, letters;

  std::size_t body(std::size_t width) const {
    return times * (width + 1) + types * 6 + letters + leaps * (width + 4) + standard + in_utc;
  }
};

std::optional<Head> head_of(std::string_view bytes) {
  if (bytes.size() < Head::kBytes || !bytes.starts_with("TZif")) return std::nullopt;
  std::array<std::size_t, 6> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = big_endian(bytes, 20 + 4 * i, 4);
    if (number < 0 || number > static_cast<std::int64_t>(kMostBytes)) return std::nullopt;
    numbers[i] = static_cast<std::size_t>(number);
  }
  return Head{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}

std::string directory() {
  const char* const place = std::getenv("TZDIR");
  return place != nullptr && *place != '\0' ? place : "/usr/share/zoneinfo";
}

// No path leads out of the directory.
bool is_file_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  if (name.empty() || name.size() > kLongest || name.front() == '/') return false;
  if (name.find("..") != std::string_view::npos) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '+' || c == '/' || c == '.';
  });
}

// Nothing: there is no such file.
std::string bytes_of(std::string_view name) {
  const std::string path = directory() + "/" + std::string(name);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) return {};
  std::string bytes(kMostBytes, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));  // None of a directory.
  return bytes;
}

// ---- Distances ----
// [GMT|UTC]+5, +05:30.
std::optional<std::int64_t> offset_of(std::string_view text) {
  if (text.starts_with("GMT") || text.starts_with("UTC")) text.remove_prefix(3);
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const bool west = text[0] == '-';
  text.remove_prefix(1);
  const auto number = [&text]() -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
      value = value * 10 + (text[digits] - '0');
    text.remove_prefix(digits);
    return digits == 1 || digits == 2 ? std::optional(value) : std::nullopt;
  };
  const auto hours = text.size() < 10 ? number() : std::nullopt;
  if (!hours) return std::nullopt;
  std::optional<std::int64_t> minutes = 0;
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    minutes = text.size() == 2 ? number() : std::nullopt;
  }
  constexpr std::int64_t kMost = 18 * 60;
  if (!minutes || !text.empty() || *minutes > 59 || *hours * 60 + *minutes > kMost)
    return std::nullopt;
  const auto ms = *hours * kHourMs + *minutes * 60'000;
  return west ? -ms : ms;
}

std::string name_of_offset(std::int64_t ms) {
  const auto minutes = (ms < 0 ? -ms : ms) / 60'000;
  const auto two = [](std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  return (ms < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60);
}

Result<Zone> zone_of(std::string_view name) {
  if (name == "UTC") return Zone::fixed("UTC", 0);
  if (const auto offset = offset_of(name)) return Zone::fixed(name_of_offset(*offset), *offset);
  const auto bytes = is_file_name(name) ? bytes_of(name) : std::string();
  if (bytes.starts_with("TZif")) return Zone::of_file(std::string(name), bytes);
  std::string text = "there is no time zone '" + escape(name) +
                     "': allowed are 'UTC', a distance as '+05:30', and names of the tz database "
                     "as 'Europe/Berlin'";
  if (bytes_of("Etc/UTC").empty())
    text += "; it is not at " + directory() + ": install tzdata, or name its place by TZDIR";
  return Error{Errc::kInvalidOption, std::move(text)};
}

class ZonesOfProcess {
 public:
  Result<const Zone*> named(std::string_view name) {
    const std::lock_guard lock(mutex_);
    auto found = known_.find(name);
    if (found == known_.end()) {
      HF_ASSIGN_OR_RETURN(auto zone, zone_of(name));
      // Distances have several ways to be written.
      std::string own = zone.name();
      found = known_.try_emplace(std::move(own), std::move(zone)).first;
    }
    return found->second.is_utc() ? static_cast<const Zone*>(nullptr) : &found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Zone, std::less<>> known_;  // Under the mutex. Never moves them.
};

}  // namespace

Result<const Zone*> Zone::named(std::string_view name) {
  static ZonesOfProcess zones;
  return zones.named(name);
}

Zone Zone::fixed(std::string name, std::int64_t offset_ms) {
  return Zone(std::move(name), offset_ms);
}

Result<Zone> Zone::of_file(std::string name, std::string_view bytes) {
  const Error wrong = damaged(name);
  // The first part is for readers of 32 bits.
  auto head = head_of(bytes);
  if (!head || bytes[4] < '2' || bytes.size() < Head::kBytes + head->body(4)) return wrong;
  bytes.remove_prefix(Head::kBytes + head->body(4));
  head = head_of(bytes);
  if (!head || head->leaps != 0 || head->types == 0 ||
      bytes.size() < Head::kBytes + head->body(8) + 2)
    return wrong;
  const std::size_t times = Head::kBytes, kinds = times + 8 * head->times,
                    types = kinds + head->times;
  const auto offset = [&](std::size_t type) { return big_endian(bytes, types + 6 * type, 4); };
  Zone zone(std::move(name), offset(0) * kSecondMs);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // Seconds.
  std::int64_t last = -kMost;
  for (std::size_t i = 0; i < head->times; ++i) {
    const auto at = big_endian(bytes, times + 8 * i, 8);
    const auto type = static_cast<unsigned char>(bytes[kinds + i]);
    if (type >= head->types || at > kMost) return wrong;
    zone.add(std::max(at, -kMost) * kSecondMs, offset(type) * kSecondMs);
    last = std::max(last, at);
  }
  auto footer = bytes.substr(Head::kBytes + head->body(8));
  if (!footer.starts_with('\n') || !footer.ends_with('\n')) return wrong;
  footer = footer.substr(1, footer.size() - 2);
  if (!footer.empty()) {
    const auto rule = zone_rule_of(footer);
    if (!rule) return wrong;
    if (head->times == 0) zone.first_ms_ = rule->standard_ms;
    const auto begin = head->times == 0 ? 1 : date_of(floor_divide(last, 86'400)).year;
    for (auto year = begin; rule->has_summer && year <= kLastYear; ++year) {
      for (const auto& [at, after] : changes_of(*rule, year))
        if (head->times == 0 || at > last * kSecondMs) zone.add(at, after);
    }
  }
  zone.finish();
  return zone;
}

void Zone::add(std::int64_t at, std::int64_t after_ms) {
  const auto before = changes_.empty() ? first_ms_ : changes_.back().after_ms;
  if (before != after_ms) changes_.push_back({at, before, after_ms, 0, 0});
}

void Zone::finish() {
  auto until = kNever;
  for (auto& change : changes_) {
    until = std::max(until, change.at + std::max(change.before_ms, change.after_ms));
    change.wall_until = until;
  }
  auto least = kAlways;
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    least = std::min(least, change->at + change->after_ms);
    change->least_wall = least;
  }
}

ZoneSpan Zone::span_at(std::int64_t instant) const {
  const auto next =
      std::upper_bound(changes_.begin(), changes_.end(), instant,
                       [](std::int64_t time, const Change& change) { return time < change.at; });
  const bool first = next == changes_.begin(), last = next == changes_.end();
  return {first ? kNever : std::prev(next)->at, last ? kAlways : next->at,
          first ? first_ms_ : std::prev(next)->after_ms, last ? kAlways : next->least_wall};
}

ZoneSpan Zone::span_of_wall(std::int64_t wall) const {
  const auto next = std::upper_bound(
      changes_.begin(), changes_.end(), wall,
      [](std::int64_t time, const Change& change) { return time < change.wall_until; });
  const bool first = next == changes_.begin(), last = next == changes_.end();
  return {first ? kNever : std::prev(next)->wall_until, last ? kAlways : next->wall_until,
          first ? -first_ms_ : -std::prev(next)->after_ms, kAlways};
}

}  // namespace holdfast::sql
