#include "scalar_functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/text_functions.hpp>
#include <holdfast/sql/zone.hpp>

namespace holdfast::sql {
namespace {

using Arguments = std::span<const Value>;
using Compute = const char* (*)(Arguments, const Type&, Value&);

constexpr const char* kTooLong = "a text is longer than 16 MiB";
constexpr const char* kBeyond = "the time lies beyond the years 1 to 9999";

std::int64_t whole(const Value& value) { return static_cast<std::int64_t>(value.number); }

// ---- Numbers ----
template <double (*kOf)(double)>
const char* real(Arguments a, const Type&, Value& out) {
  out = Value::of_real(kOf(a[0].real));
  return nullptr;
}
template <double (*kOf)(double, double)>
const char* real_of_two(Arguments a, const Type&, Value& out) {
  out = Value::of_real(kOf(a[0].real, a[1].real));
  return nullptr;
}
double degrees(double radians) { return radians * 180 / std::numbers::pi; }
double radians(double degrees) { return degrees * std::numbers::pi / 180; }

const char* logarithm(Arguments a, const Type&, Value& out) {
  out = Value::of_real(a.size() == 1 ? std::log(a[0].real)
                                     : std::log(a[1].real) / std::log(a[0].real));
  return nullptr;
}
const char* pi(Arguments, const Type&, Value& out) {
  out = Value::of_real(std::numbers::pi);
  return nullptr;
}

template <bool kGreatest>
const char* extreme(Arguments a, const Type& type, Value& out) {
  const Value* best = &a[0];
  for (const auto& value : a.subspan(1)) {
    const int order = compare(value, *best, type);
    if (kGreatest ? order > 0 : order < 0) best = &value;
  }
  out = *best;
  return nullptr;
}

const char* sign(Arguments a, const Type& type, Value& out) {
  if (type.is_real()) {
    out = Value::of_real(a[0].real > 0 ? 1 : a[0].real < 0 ? -1 : a[0].real);
  } else {
    const Int128 one = type.kind == Kind::kDecimal ? power_of_ten(type.scale) : 1;
    out = Value::of(a[0].number > 0 ? one : a[0].number < 0 ? -one : 0);
  }
  return nullptr;
}

// ---- Texts ----
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    all.push_back(first_characters(text, 1));
    text.remove_prefix(all.back().size());
  }
  return all;
}

const char* replace(Arguments a, const Type&, Value& out) {
  const std::string_view text = a[0].text, from = a[1].text, to = a[2].text;
  std::string result;
  if (from.empty()) {  // It is found before each character, and at the end.
    if ((characters_of(text) + 1) * to.size() + text.size() > kMaxMadeText) return kTooLong;
    for (const char c : text) {
      if (begins_character(c)) result += to;
      result += c;
    }
    result += to;
    return out = Value::of_text(std::move(result)), nullptr;
  }
  std::size_t at = 0;
  for (;;) {
    const auto found = text.find(from, at);
    const bool last = found == std::string_view::npos;
    const auto before = text.substr(at, found - at);
    if (result.size() + before.size() + (last ? 0 : to.size()) > kMaxMadeText) return kTooLong;
    result += before;
    if (last) break;
    result += to;
    at = found + from.size();
  }
  out = Value::of_text(std::move(result));
  return nullptr;
}

const char* reverse(Arguments a, const Type&, Value& out) {
  auto all = characters(a[0].text);
  std::string result;
  for (auto one = all.rbegin(); one != all.rend(); ++one)
    result += *one;
  out = Value::of_text(std::move(result));
  return nullptr;
}

const char* repeat(Arguments a, const Type&, Value& out) {
  const auto times = std::max<std::int64_t>(0, whole(a[1]));
  const auto& text = a[0].text;
  if (!text.empty() && static_cast<std::uint64_t>(times) > kMaxMadeText / text.size())
    return kTooLong;
  std::string result;
  for (std::int64_t i = 0; i < times && !text.empty(); ++i)
    result += text;
  out = Value::of_text(std::move(result));
  return nullptr;
}

// To a length of characters; a longer text is cut. NULL: the length is below 0, or there is nothing
// to fill with.
template <bool kLeft>
const char* pad(Arguments a, const Type&, Value& out) {
  const auto length = whole(a[1]);
  const auto has = static_cast<std::int64_t>(characters_of(a[0].text));
  if (length < 0 || (length > has && a[2].text.empty())) return out = Value(), nullptr;
  if (length > static_cast<std::int64_t>(kMaxMadeText / 4)) return kTooLong;
  if (length <= has) {
    const auto count = static_cast<std::size_t>(length);
    return out = Value::of_text(std::string(first_characters(a[0].text, count))), nullptr;
  }
  const auto fill = characters(a[2].text);
  std::string filling;
  for (std::int64_t i = 0; i < length - has; ++i)
    filling += fill[static_cast<std::size_t>(i) % fill.size()];
  out = Value::of_text(kLeft ? filling + a[0].text : a[0].text + filling);
  return nullptr;
}

// Takes the characters of the second text, or blanks, off the ends.
template <bool kFront, bool kBack>
const char* trim(Arguments a, const Type&, Value& out) {
  const auto all = characters(a[0].text);
  const auto set = characters(a.size() > 1 ? std::string_view(a[1].text) : " ");
  const auto goes = [&](std::string_view one) {
    return std::find(set.begin(), set.end(), one) != set.end();
  };
  std::size_t first = 0, last = all.size();
  while (kFront && first < last && goes(all[first]))
    ++first;
  while (kBack && last > first && goes(all[last - 1]))
    --last;
  std::string result;
  for (std::size_t i = first; i < last; ++i)
    result += all[i];
  out = Value::of_text(std::move(result));
  return nullptr;
}

const char* left(Arguments a, const Type&, Value& out) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(0, whole(a[1])));
  out = Value::of_text(std::string(first_characters(a[0].text, count)));
  return nullptr;
}
const char* right(Arguments a, const Type&, Value& out) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(0, whole(a[1])));
  const auto has = characters_of(a[0].text);
  const auto skipped = first_characters(a[0].text, has > count ? has - count : 0);
  out = Value::of_text(a[0].text.substr(skipped.size()));
  return nullptr;
}

// As in Flink, words are of the letters and digits of ASCII: any other letter is between two words.
const char* initcap(Arguments a, const Type&, Value& out) {
  std::string result;
  bool begins = true;
  for (char c : a[0].text) {
    const bool small = c >= 'a' && c <= 'z', capital = c >= 'A' && c <= 'Z';
    if (begins ? small : capital) c ^= 0x20;
    result += c;
    begins = !small && !capital && !(c >= '0' && c <= '9');
  }
  out = Value::of_text(std::move(result));
  return nullptr;
}

// From the character `from` on; counted from 1, 0: it is not there.
std::int64_t place_of(std::string_view part, std::string_view text, std::int64_t from) {
  if (from < 1) return 0;
  const auto has = static_cast<std::int64_t>(characters_of(text));
  if (from > has + 1) return 0;
  const auto skipped = first_characters(text, static_cast<std::size_t>(from - 1)).size();
  const auto found = text.find(part, skipped);
  if (found == std::string_view::npos) return 0;
  return static_cast<std::int64_t>(characters_of(text.substr(0, found))) + 1;
}
const char* locate(Arguments a, const Type&, Value& out) {
  out = Value::of(place_of(a[0].text, a[1].text, a.size() > 2 ? whole(a[2]) : 1));
  return nullptr;
}
const char* instr(Arguments a, const Type&, Value& out) {
  out = Value::of(place_of(a[1].text, a[0].text, 1));
  return nullptr;
}

const char* ascii(Arguments a, const Type&, Value& out) {
  out = Value::of(a[0].text.empty() ? 0 : static_cast<unsigned char>(a[0].text[0]));
  return nullptr;
}
const char* starts_with(Arguments a, const Type&, Value& out) {
  out = Value::of(a[0].text.starts_with(a[1].text) ? 1 : 0);
  return nullptr;
}
const char* ends_with(Arguments a, const Type&, Value& out) {
  out = Value::of(a[0].text.ends_with(a[1].text) ? 1 : 0);
  return nullptr;
}

const char* concat(Arguments a, const Type&, Value& out) {
  std::string result;
  for (const auto& value : a) {
    result += value.text;
    if (result.size() > kMaxMadeText) return kTooLong;
  }
  out = Value::of_text(std::move(result));
  return nullptr;
}
// NULLs are left out, with their separator.
const char* concat_ws(Arguments a, const Type&, Value& out) {
  if (a[0].null) return out = Value(), nullptr;
  std::string result;
  bool first = true;
  for (const auto& value : a.subspan(1)) {
    if (value.null) continue;
    if (!first) result += a[0].text;
    result += value.text;
    first = false;
    if (result.size() > kMaxMadeText) return kTooLong;
  }
  out = Value::of_text(std::move(result));
  return nullptr;
}

// ---- Times ----
constexpr std::array<std::string_view, 8> kUnits = {"SECOND", "MINUTE", "HOUR",    "DAY",
                                                    "WEEK",   "MONTH",  "QUARTER", "YEAR"};

// 0: a unit of months.
std::int64_t ms_of(std::string_view unit) {
  if (unit == "SECOND") return 1000;
  if (unit == "MINUTE") return 60'000;
  if (unit == "HOUR") return 3'600'000;
  if (unit == "DAY") return kDayMs;
  return unit == "WEEK" ? 7 * kDayMs : 0;
}
std::int64_t months_of(std::string_view unit) {
  return unit == "YEAR" ? 12 : unit == "QUARTER" ? 3 : 1;
}

bool in_calendar(Int128 ms) { return ms >= kMinTimestampMs && ms <= kMaxTimestampMs; }

// The same day and hour that many months on, or the last day of that month.
bool with_months(std::int64_t ms, Int128 months, std::int64_t& result) {
  const auto days = floor_divide(ms, kDayMs);
  auto date = date_of(days);
  const Int128 all = Int128{date.year} * 12 + (date.month - 1) + months;
  if (all < 12 || all >= 120'000) return false;
  date.year = static_cast<std::int64_t>(all / 12);
  date.month = static_cast<unsigned>(all % 12) + 1;
  const CivilDate next =
      date.month == 12 ? CivilDate{date.year + 1, 1, 1} : CivilDate{date.year, date.month + 1, 1};
  const auto length = days_of(next) - days_of({date.year, date.month, 1});
  date.day = std::min(date.day, static_cast<unsigned>(length));
  result = days_of(date) * kDayMs + (ms - days * kDayMs);
  return in_calendar(result);
}

const char* timestamp_add(Arguments a, const Type&, Value& out) {
  const auto unit = ms_of(a[0].text);
  const Int128 count = a[1].number;
  if (unit != 0) {
    const Int128 ms = a[2].number + count * unit;
    if (!in_calendar(ms)) return kBeyond;
    return out = Value::of(ms), nullptr;
  }
  std::int64_t ms = 0;
  constexpr Int128 kMost = 200'000;
  if (count > kMost || count < -kMost ||
      !with_months(whole(a[2]), count * months_of(a[0].text), ms))
    return kBeyond;
  out = Value::of(ms);
  return nullptr;
}

// Whole units from the second to the third, toward zero.
const char* timestamp_diff(Arguments a, const Type& type, Value& out) {
  const auto from = whole(a[1]), to = whole(a[2]);
  if (const auto unit = ms_of(a[0].text); unit != 0)
    return out = Value::of(wrapped((to - from) / unit, type.kind)), nullptr;
  const auto low = std::min(from, to), high = std::max(from, to);
  const auto first = date_of(floor_divide(low, kDayMs)), last = date_of(floor_divide(high, kDayMs));
  auto months = (last.year - first.year) * 12 + static_cast<std::int64_t>(last.month) -
                static_cast<std::int64_t>(first.month);
  std::int64_t shifted = 0;
  if (with_months(low, months, shifted) && shifted > high) --months;
  months /= months_of(a[0].text);
  out = Value::of(to < from ? -months : months);
  return nullptr;
}

// The instant of this wall clock: of an hour that comes twice the one that `near` is in, but of a
// day and what is longer the first midnight.
std::int64_t instant_near(const Zone& zone, std::int64_t wall, std::int64_t near, bool of_day) {
  const auto instant = near + (wall - zone.wall_of(near));
  return !of_day && zone.wall_of(instant) == wall ? instant : zone.instant_of(wall);
}

template <bool kUp>
const char* to_unit(Arguments a, const Type& type, Value& out) {
  const auto* const zone = type.zone;
  const auto ms = zone == nullptr ? whole(a[0]) : zone->wall_of(whole(a[0]));
  const std::string_view unit = a[1].text;
  std::int64_t floor = 0, next = 0;
  const auto length = ms_of(unit);
  if (unit == "WEEK") {  // They begin on Sunday, as in Flink.
    constexpr std::int64_t kFirstSunday = 3 * kDayMs;
    floor = floor_divide(ms - kFirstSunday, length) * length + kFirstSunday;
    next = floor + length;
  } else if (length != 0) {
    floor = floor_divide(ms, length) * length;
    next = floor + length;
  } else {
    auto date = date_of(floor_divide(ms, kDayMs));
    const auto months = static_cast<unsigned>(months_of(unit));
    date.month -= (date.month - 1) % months;
    date.day = 1;
    floor = days_of(date) * kDayMs;
    if (kUp && floor != ms && !with_months(floor, months, next)) return kBeyond;
  }
  auto result = kUp && floor != ms ? next : floor;
  if (zone != nullptr)
    result = instant_near(*zone, result, whole(a[0]), length == 0 || length >= kDayMs);
  if (!in_calendar(result)) return kBeyond;
  out = Value::of(result);
  return nullptr;
}

// Of an argument; null: there is none.
const Zone* zone_of(Arguments a, std::size_t place) {
  const auto zone = a.size() > place ? Zone::named(a[place].text) : Result<const Zone*>(nullptr);
  return zone ? *zone : nullptr;
}

// NULL: the text is no time.
const char* unix_timestamp(Arguments a, const Type&, Value& out) {
  const auto wall = timestamp_of(a[0].text);
  if (!wall) return out = Value(), nullptr;
  const auto* const zone = zone_of(a, 1);
  out = Value::of(floor_divide(zone == nullptr ? *wall : zone->instant_of(*wall), 1000));
  return nullptr;
}
const char* from_unixtime(Arguments a, const Type&, Value& out) {
  std::string_view pattern = "yyyy-MM-dd HH:mm:ss";
  if (a.size() > 1) pattern = a[1].text;
  if (!in_calendar(a[0].number * 1000)) return kBeyond;
  if (!date_parts(pattern)) return "a pattern is made of yyyy, MM, dd, HH, mm, ss, SSS and signs";
  const auto* const zone = zone_of(a, 2);
  const auto ms = whole(a[0]) * 1000;
  out = Value::of_text(formatted_time(zone == nullptr ? ms : zone->wall_of(ms), pattern));
  return nullptr;
}

constexpr Type kOfArguments{};

constexpr auto kFunctions = std::to_array<ScalarFunction>({
    {"ACOS", "d", 1, kDoubleType, real<std::acos>},
    {"ASCII", "s", 1, kIntType, ascii},
    {"ASIN", "d", 1, kDoubleType, real<std::asin>},
    {"ATAN", "d", 1, kDoubleType, real<std::atan>},
    {"ATAN2", "dd", 2, kDoubleType, real_of_two<std::atan2>},
    {"BTRIM", "ss", 1, kStringType, trim<true, true>},
    {"CEIL TO", "tu", 2, kTimestampType, to_unit<true>},
    {"CONCAT", "*", 1, kStringType, concat},
    {"CONCAT_WS", "*", 2, kStringType, concat_ws, true},
    {"COS", "d", 1, kDoubleType, real<std::cos>},
    {"DEGREES", "d", 1, kDoubleType, real<degrees>},
    {"ENDSWITH", "ss", 2, kBooleanType, ends_with},
    {"EXP", "d", 1, kDoubleType, real<std::exp>},
    {"FLOOR TO", "tu", 2, kTimestampType, to_unit<false>},
    {"FROM_UNIXTIME", "is", 1, kStringType, from_unixtime},
    {"FROM_UNIXTIME IN", "iss", 3, kStringType, from_unixtime},
    {"GREATEST", "*", 1, kOfArguments, extreme<true>},
    {"INITCAP", "s", 1, kStringType, initcap},
    {"INSTR", "ss", 2, kIntType, instr},
    {"LEAST", "*", 1, kOfArguments, extreme<false>},
    {"LEFT", "si", 2, kStringType, left},
    {"LN", "d", 1, kDoubleType, real<std::log>},
    {"LOCATE", "ssi", 2, kIntType, locate},
    {"LOG", "dd", 1, kDoubleType, logarithm},
    {"LOG10", "d", 1, kDoubleType, real<std::log10>},
    {"LOG2", "d", 1, kDoubleType, real<std::log2>},
    {"LPAD", "sis", 3, kStringType, pad<true>},
    {"LTRIM", "ss", 1, kStringType, trim<true, false>},
    {"PI", "", 0, kDoubleType, pi},
    {"POSITION", "ss", 2, kIntType, locate},
    {"POWER", "dd", 2, kDoubleType, real_of_two<std::pow>},
    {"RADIANS", "d", 1, kDoubleType, real<radians>},
    {"REPEAT", "si", 2, kStringType, repeat},
    {"REPLACE", "sss", 3, kStringType, replace},
    {"REVERSE", "s", 1, kStringType, reverse},
    {"RIGHT", "si", 2, kStringType, right},
    {"RPAD", "sis", 3, kStringType, pad<false>},
    {"RTRIM", "ss", 1, kStringType, trim<false, true>},
    {"SIGN", "n", 1, kOfArguments, sign},
    {"SIN", "d", 1, kDoubleType, real<std::sin>},
    {"SQRT", "d", 1, kDoubleType, real<std::sqrt>},
    {"STARTSWITH", "ss", 2, kBooleanType, starts_with},
    {"TAN", "d", 1, kDoubleType, real<std::tan>},
    {"TIMESTAMPADD", "uit", 3, kTimestampType, timestamp_add},
    {"TIMESTAMPDIFF", "utt", 3, kIntType, timestamp_diff},
    {"UNIX_TIMESTAMP", "s", 1, kBigIntType, unix_timestamp},
    {"UNIX_TIMESTAMP IN", "ss", 2, kBigIntType, unix_timestamp},
});

struct Extracted {
  std::string_view unit;
  TimeField field;
};
constexpr std::array<Extracted, 12> kExtracted = {{{"YEAR", TimeField::kYear},
                                                   {"QUARTER", TimeField::kQuarter},
                                                   {"MONTH", TimeField::kMonth},
                                                   {"WEEK", TimeField::kWeek},
                                                   {"DAY", TimeField::kDay},
                                                   {"DOY", TimeField::kDayOfYear},
                                                   {"DOW", TimeField::kDayOfWeek},
                                                   {"HOUR", TimeField::kHour},
                                                   {"MINUTE", TimeField::kMinute},
                                                   {"SECOND", TimeField::kSecond},
                                                   {"MILLISECOND", TimeField::kMillisecond},
                                                   {"EPOCH", TimeField::kEpoch}}};

}  // namespace

std::span<const ScalarFunction> scalar_functions() { return kFunctions; }

std::uint32_t scalar_function_named(std::string_view name) {
  const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                  [&](const auto& function) { return function.name == name; });
  return static_cast<std::uint32_t>(found - kFunctions.begin());
}

bool is_time_unit(std::string_view unit) {
  return std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end();
}

std::optional<TimeField> time_field(std::string_view unit) {
  for (const auto& one : kExtracted) {
    if (one.unit == unit) return one.field;
  }
  return std::nullopt;
}

}  // namespace holdfast::sql
