// texts.hpp: operations on texts, and the fields of a time. What they give points into their
// operands, or to a text that was made (Run::forget_texts()).
#pragma once

#include <string_view>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/values.hpp>

#ifndef HOLDFAST_APART
#include <charconv>

#include <holdfast/sql/text_parts.hpp>
#endif

namespace holdfast::query {

using sql::TimeField;

inline std::string_view view_of(Text text) { return {text.data, text.size}; }
inline Text text_of(std::string_view text) { return {text.data(), text.size()}; }

// ---- Parts of texts ----

// Code points.
Maybe<std::int32_t> characters(const Maybe<Text>& text);
Maybe<Text> trimmed(const Maybe<Text>& text);
Maybe<Text> substring(const Maybe<Text>& text, Maybe<std::int64_t> from,
                      Maybe<std::int64_t> count = some(INT64_MAX));
Maybe<Text> split_index(const Maybe<Text>& text, const Maybe<Text>& separator,
                        Maybe<std::int64_t> number);
// The pattern: sql/text_functions.hpp.
Maybe<bool> like(const Maybe<Text>& text, const Maybe<Text>& steps, const Maybe<Text>& kinds);

// ---- Texts that are made ----

Maybe<Text> in_case(Run& run, const Maybe<Text>& text, bool upper);
template <bool kUpper>
Maybe<Text> in_case(Run& run, const Maybe<Text>& text) {
  return in_case(run, text, kUpper);
}
template <std::uint64_t kMost>
Maybe<Text> concatenated(Run& run, std::uint32_t too_long, const Maybe<Text>& a,
                         const Maybe<Text>& b) {
  if (!a.known || !b.known) return {};
  const auto size = a.value.size + b.value.size;
  if (size > kMost) return run.fail(too_long), Maybe<Text>{};
  char* const made = run.output.texts().take(size);
  view_of(a.value).copy(made, a.value.size);
  view_of(b.value).copy(made + a.value.size, b.value.size);
  return some(Text{made, size});
}
Maybe<Text> number_text(Run& run, Maybe<std::int64_t> number);

// ---- Times ----

template <TimeField kField>
Maybe<std::int64_t> extract(Maybe<std::int64_t> ms) {
  return {ms.known ? sql::extracted(kField, ms.value) : 0, ms.known};
}

// Parts of a pattern of DATE_FORMAT. A number below these is a sign.
enum DatePart : int { kYear = 256, kMonth, kDay, kHour, kMinute, kSecond, kMillisecond };

constexpr std::uint64_t digits_of(int part) {
  return part < kYear ? 0 : part == kYear ? 4 : part == kMillisecond ? 3 : 2;
}
constexpr TimeField field_of(int part) {
  switch (part) {
    case kYear: return TimeField::kYear;
    case kMonth: return TimeField::kMonth;
    case kDay: return TimeField::kDay;
    case kHour: return TimeField::kHour;
    case kMinute: return TimeField::kMinute;
    case kSecond: return TimeField::kSecond;
    default: return TimeField::kMillisecond;
  }
}

// Windows may begin before year 1 and end behind year 9999.
constexpr bool has_usual_year(std::int64_t ms) {
  return sql::kMinTimestampMs <= ms && ms <= sql::kMaxTimestampMs;
}

template <int kPart>
void write_part(std::int64_t ms, char*& at) {
  constexpr auto kDigits = digits_of(kPart);
  if constexpr (kDigits == 0) {
    *at++ = static_cast<char>(kPart);
  } else {
    auto rest = sql::extracted(field_of(kPart), ms);
    if (kPart == kYear && !has_usual_year(ms)) {
      at = sql::write_padded(rest, kDigits, at);
      return;
    }
    for (auto i = kDigits; i-- > 0; rest /= 10)
      at[i] = static_cast<char>('0' + rest % 10);
    at += kDigits;
  }
}
template <int... kParts>
Maybe<Text> date_format(Run& run, Maybe<std::int64_t> ms) {
  if (!ms.known) return {};
  constexpr auto kSize = (std::uint64_t{0} + ... + (kParts < kYear ? 1 : digits_of(kParts)));
  constexpr auto kYears = (std::uint64_t{0} + ... + (kParts == kYear ? 1 : 0));
  const auto more = has_usual_year(ms.value) ? 0 : kYears * sql::kMostSigns;
  char* const made = run.output.texts().take(kSize + more);
  [[maybe_unused]] char* at = made;
  (write_part<kParts>(ms.value, at), ...);
  return some(Text{made, static_cast<std::uint64_t>(at - made)});
}

#ifndef HOLDFAST_APART

HF_APART Maybe<std::int32_t> characters(const Maybe<Text>& text) {
  return {static_cast<std::int32_t>(sql::characters_of(view_of(text.value))), text.known};
}
HF_APART Maybe<Text> trimmed(const Maybe<Text>& text) {
  return {text_of(sql::without_blanks(view_of(text.value))), text.known};
}
HF_APART Maybe<Text> substring(const Maybe<Text>& text, Maybe<std::int64_t> from,
                               Maybe<std::int64_t> count) {
  if (!text.known || !from.known || !count.known || count.value < 0) return {};
  return some(text_of(sql::substring(view_of(text.value), from.value, count.value)));
}
HF_APART Maybe<Text> split_index(const Maybe<Text>& text, const Maybe<Text>& separator,
                                 Maybe<std::int64_t> number) {
  if (!text.known || !separator.known || !number.known) return {};
  const auto part = sql::part_of(view_of(text.value), view_of(separator.value), number.value);
  return part ? some(text_of(*part)) : Maybe<Text>{};
}
HF_APART Maybe<bool> like(const Maybe<Text>& text, const Maybe<Text>& steps,
                          const Maybe<Text>& kinds) {
  return {sql::is_like(view_of(text.value), view_of(steps.value), view_of(kinds.value)),
          text.known};
}
HF_APART Maybe<Text> in_case(Run& run, const Maybe<Text>& text, bool upper) {
  if (!text.known) return {};
  const auto size = sql::size_in_case(view_of(text.value), upper);
  char* const made = run.output.texts().take(size);
  sql::write_in_case(view_of(text.value), upper, made);
  return some(Text{made, size});
}
HF_APART Maybe<Text> number_text(Run& run, Maybe<std::int64_t> number) {
  if (!number.known) return {};
  constexpr std::size_t kMost = 20;
  char* const made = run.output.texts().take(kMost);
  const auto end = std::to_chars(made, made + kMost, number.value).ptr;
  return some(Text{made, static_cast<std::uint64_t>(end - made)});
}

#endif

}  // namespace holdfast::query
