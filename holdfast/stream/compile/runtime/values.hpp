// values.hpp: SQL's values and operations in C++ types. NULL is a Maybe that is not known.
//
// BOOLEAN is bool, the integers and DATE are int8_t to int64_t, TIMESTAMP and INTERVAL int64_t,
// DECIMAL Int128 (the scale is in the query), FLOAT and DOUBLE double, STRING Text. Each operation
// gives what the interpreter gives (sql/evaluate.cpp). Those that can fail are given a Run and the
// number of their failure.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include <holdfast/sql/civil.hpp>
#include <holdfast/stream/compile/runtime/interface.hpp>
#include <holdfast/stream/compile/runtime/output.hpp>

namespace holdfast::query {

// Watermarks at the end of the input, and before there is one: no timestamp is so late or so early.
inline constexpr std::int64_t kEndOfTime = INT64_MAX, kNoTime = INT64_MIN;

// It is copied member by member. A compiler else copies all bytes of a row at once, just after it
// has written them one by one, and a CPU waits until those have left for the cache.
template <class T>
struct Maybe {
  constexpr Maybe() = default;
  constexpr Maybe(T what, bool is_known) : value(what), known(is_known) {}
  constexpr Maybe(const Maybe& other) : value(other.value), known(other.known) {}
  constexpr Maybe& operator=(const Maybe& other) {
    value = other.value;
    known = other.known;
    return *this;
  }

  T value{};
  bool known = false;
};

template <class T>
constexpr Maybe<T> some(T value) {
  return {value, true};
}

// What an operation that fails leaves behind: the first failure counts.
struct Run {
  Host& host;
  Output& output;
  bool failed = false;
  bool trying = false;  // A trial: a failure is not reported, what failed is done again.
  ZoneSpan instants = {}, walls = {};  // Those that were asked for last.
  // Where the row of a join that a pair is made of remembers the number of its group, which looks
  // there first. Null: nowhere.
  std::uint32_t* group = nullptr;

  void fail(std::uint32_t failure) {
    if (!failed && !trying) host.fail(failure);
    failed = true;
  }
  // Rows that were written before a failure go out, too.
  void flush() {
    if (!output.flush(host)) failed = true;
  }
  // Called after a row: frees the texts that were made for it and other rows. Rows that were
  // written and point to them go out before.
  void forget_texts() {
    if (!output.texts().are_many()) [[likely]]
      return;
    flush();
    output.texts().clear();
    host.forget_texts();
  }
};

// ---- In and out ----

// Which columns of a record are NULL: a bit each (stream/record.hpp).
inline std::uint64_t nulls_of(const std::byte* record) {
  std::uint64_t nulls;
  std::memcpy(&nulls, record, sizeof nulls);
  return nulls;
}

template <class T, unsigned kColumn, unsigned kOffset>
Maybe<T> column(const std::byte* record, std::uint64_t nulls) {
  T value;
  std::memcpy(&value, record + kOffset, sizeof value);
  return {value, (nulls >> kColumn & 1) == 0};
}

template <class T>
Slot slot(const Maybe<T>& value) {
  Slot slot;
  slot.null = !value.known;
  if constexpr (std::is_same_v<T, Text>)
    slot.text = value.value;
  else if constexpr (std::is_same_v<T, double>)
    slot.real = value.value;
  else
    slot.number = value.value;
  return slot;
}

template <class T>
Maybe<T> from_slot(const Slot& slot) {
  if (slot.null) return {};
  if constexpr (std::is_same_v<T, Text>)
    return some(slot.text);
  else if constexpr (std::is_same_v<T, double>)
    return some(slot.real);
  else
    return some(static_cast<T>(slot.number));
}

template <std::size_t kOffset, unsigned kColumn, class T>
void put_column(const Maybe<T>& value, std::byte* record, std::uint64_t& nulls) {
  const T known = value.known ? value.value : T{};
  std::memcpy(record + kOffset, &known, sizeof known);
  nulls |= std::uint64_t{!value.known} << kColumn;
}

// A row for the sink. Its texts stay where they are until flush().
template <class... Values>
void write(Run& run, Change change, const Maybe<Values>&... values) {
  using Record = RecordOf<Values...>;
  if (run.failed) return;
  auto* const record = run.output.next(run.host, change, Record::kBytes);
  if (record == nullptr) return static_cast<void>(run.failed = true);
  std::uint64_t nulls = 0;
  [&]<std::size_t... kNumbers>(std::index_sequence<kNumbers...>) {
    (put_column<Record::kOffsets[kNumbers], kNumbers>(values, record, nulls), ...);
  }(std::index_sequence_for<Values...>());
  std::memcpy(record, &nulls, sizeof nulls);
}

// Computed by the interpreter, from these columns.
template <class T, class... Columns>
Maybe<T> interpreted(Run& run, std::uint32_t expression, const Columns&... columns) {
  const Slot slots[sizeof...(columns) + 1] = {slot(columns)...};
  Slot out;
  if (run.failed) return {};
  if (!run.host.evaluate(expression, slots, out)) run.failed = true;
  if constexpr (std::is_same_v<T, Text>) run.output.texts().note_of_command(out.text.size);
  return run.failed ? Maybe<T>{} : from_slot<T>(out);
}

// A value that is asked for where it is first wanted, and no second time.
template <class T, class Make>
class Once {
 public:
  explicit Once(const Make& make) : make_(make) {}
  const Maybe<T>& operator()() const {
    if (!made_) value_ = make_();
    made_ = true;
    return value_;
  }

 private:
  const Make make_;
  mutable Maybe<T> value_{};
  mutable bool made_ = false;
};
template <class T, class Make>
Once<T, Make> once(const Make& make) {
  return Once<T, Make>(make);
}

// ---- NULL, and what is evaluated at all ----

template <class T>
constexpr bool is_true(const Maybe<T>& value) {
  return value.known && value.value;
}

// rest(first), where first is not NULL.
template <class T, class Rest>
auto lazily(const Maybe<T>& first, const Rest& rest) -> decltype(rest(first)) {
  if (!first.known) return {};
  return rest(first);
}

template <class T, class Operation>
auto of_one(const Maybe<T>& a, const Operation& operation) -> Maybe<decltype(operation(a.value))> {
  return {operation(a.value), a.known};
}

template <class T, class Operation>
auto of_two(const Maybe<T>& a, const Maybe<T>& b, const Operation& operation)
    -> Maybe<decltype(operation(a.value, b.value))> {
  return {operation(a.value, b.value), a.known && b.known};
}

inline Maybe<bool> both(Maybe<bool> a, Maybe<bool> b) {
  const bool no = (a.known && !a.value) || (b.known && !b.value);
  return {!no, no || (a.known && b.known)};
}
inline Maybe<bool> either(Maybe<bool> a, Maybe<bool> b) {
  const bool yes = is_true(a) || is_true(b);
  return {yes, yes || (a.known && b.known)};
}
// `b` is asked for where `a` does not decide.
template <class Second>
Maybe<bool> both_lazily(Maybe<bool> a, const Second& b) {
  return a.known && !a.value ? a : both(a, b());
}
template <class Second>
Maybe<bool> either_lazily(Maybe<bool> a, const Second& b) {
  return is_true(a) ? a : either(a, b());
}
inline Maybe<bool> negation(Maybe<bool> a) { return {!a.value, a.known}; }
template <class T>
Maybe<bool> is_null(const Maybe<T>& a) {
  return some(!a.known);
}
inline Maybe<bool> is_yes(Maybe<bool> a) { return some(a.known && a.value); }
inline Maybe<bool> is_no(Maybe<bool> a) { return some(a.known && !a.value); }

// ---- Order ----

template <class T>
int compare(T a, T b) {
  if constexpr (std::is_same_v<T, Text>) {
    const auto shorter = a.size < b.size ? a.size : b.size;
    const int order = shorter == 0 ? 0 : std::memcmp(a.data, b.data, shorter);
    return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
  } else if constexpr (std::is_same_v<T, double>) {
    // NaN is above all numbers and equals itself.
    const bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan) return static_cast<int>(a_nan) - static_cast<int>(b_nan);
    return a < b ? -1 : a > b;
  } else {
    return a < b ? -1 : a > b;
  }
}

template <class T>
Maybe<bool> equal(const Maybe<T>& a, const Maybe<T>& b) {
  return of_two(a, b, [](T x, T y) { return compare(x, y) == 0; });
}
template <class T>
Maybe<bool> not_equal(const Maybe<T>& a, const Maybe<T>& b) {
  return of_two(a, b, [](T x, T y) { return compare(x, y) != 0; });
}
template <class T>
Maybe<bool> less(const Maybe<T>& a, const Maybe<T>& b) {
  return of_two(a, b, [](T x, T y) { return compare(x, y) < 0; });
}
template <class T>
Maybe<bool> less_equal(const Maybe<T>& a, const Maybe<T>& b) {
  return of_two(a, b, [](T x, T y) { return compare(x, y) <= 0; });
}
template <class T>
Maybe<bool> greater(const Maybe<T>& a, const Maybe<T>& b) {
  return less(b, a);
}
template <class T>
Maybe<bool> greater_equal(const Maybe<T>& a, const Maybe<T>& b) {
  return less_equal(b, a);
}
template <class T, class... Members>
Maybe<bool> is_in(const Maybe<T>& value, const Members&... members) {
  Maybe<bool> found = some(false);
  ((found = either(found, equal(value, members))), ...);
  return found;
}

// ---- Numbers ----

// Integers wrap. They are computed in 64 bits without a sign, so that C++ has a word for it.
template <class T>
T wrapped(std::uint64_t value) {
  return static_cast<T>(value);
}

template <class T>
Maybe<T> plus(const Maybe<T>& a, const Maybe<T>& b) {
  return of_two(a, b, [](T x, T y) {
    if constexpr (std::is_same_v<T, double>)
      return x + y;
    else
      return wrapped<T>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
  });
}
template <class T>
Maybe<T> subtract(const Maybe<T>& a, const Maybe<T>& b) {
  return of_two(a, b, [](T x, T y) {
    if constexpr (std::is_same_v<T, double>)
      return x - y;
    else
      return wrapped<T>(static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y));
  });
}
template <class T>
Maybe<T> multiply(const Maybe<T>& a, const Maybe<T>& b) {
  return of_two(a, b, [](T x, T y) {
    if constexpr (std::is_same_v<T, double>)
      return x * y;
    else
      return wrapped<T>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
  });
}
template <class T>
Maybe<T> negate(const Maybe<T>& a) {
  return of_one(a, [](T x) {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Int128>)
      return static_cast<T>(-x);
    else
      return wrapped<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
  });
}
template <class T>
Maybe<T> absolute(const Maybe<T>& a) {
  if constexpr (std::is_same_v<T, double>)
    return of_one(a, [](double x) { return __builtin_fabs(x); });
  else
    return a.value < 0 ? negate(a) : a;
}

inline Maybe<double> divide_reals(Maybe<double> a, Maybe<double> b) {
  return {a.value / b.value, a.known && b.known};
}
inline Maybe<double> modulo_reals(Maybe<double> a, Maybe<double> b) {
  return {__builtin_fmod(a.value, b.value), a.known && b.known};
}
// What a FLOAT keeps.
inline Maybe<double> single(Maybe<double> a) {
  return {static_cast<double>(static_cast<float>(a.value)), a.known};
}

template <class T>
Maybe<T> divide(Run& run, std::uint32_t by_zero, const Maybe<T>& a, const Maybe<T>& b) {
  if (!a.known || !b.known) return {};
  if (b.value == 0) return run.fail(by_zero), Maybe<T>{};
  if (b.value == -1) return negate(a);  // The least number has no opposite: it wraps.
  return some(static_cast<T>(a.value / b.value));
}
template <class T>
Maybe<T> modulo(Run& run, std::uint32_t by_zero, const Maybe<T>& a, const Maybe<T>& b) {
  if (!a.known || !b.known) return {};
  if (b.value == 0) return run.fail(by_zero), Maybe<T>{};
  return some(b.value == -1 ? T{0} : static_cast<T>(a.value % b.value));
}

// ---- Decimals of one scale ----

constexpr Int128 power_of_ten(unsigned exponent) {
  Int128 power = 1;
  while (exponent-- > 0)
    power *= 10;
  return power;
}
template <unsigned kPrecision>
Maybe<Int128> fitting(Run& run, std::uint32_t too_long, bool overflow, Int128 value) {
  if (overflow || value >= power_of_ten(kPrecision) || value <= -power_of_ten(kPrecision))
    return run.fail(too_long), Maybe<Int128>{};
  return some(value);
}
template <unsigned kPrecision>
Maybe<Int128> plus_decimals(Run& run, std::uint32_t too_long, const Maybe<Int128>& a,
                            const Maybe<Int128>& b) {
  if (!a.known || !b.known) return {};
  Int128 sum;
  const bool overflow = __builtin_add_overflow(a.value, b.value, &sum);
  return fitting<kPrecision>(run, too_long, overflow, sum);
}
template <unsigned kPrecision>
Maybe<Int128> subtract_decimals(Run& run, std::uint32_t too_long, const Maybe<Int128>& a,
                                const Maybe<Int128>& b) {
  return plus_decimals<kPrecision>(run, too_long, a, negate(b));
}
template <unsigned kPrecision>
Maybe<Int128> multiply_decimals(Run& run, std::uint32_t too_long, const Maybe<Int128>& a,
                                const Maybe<Int128>& b) {
  if (!a.known || !b.known) return {};
  Int128 product;
  const bool overflow = __builtin_mul_overflow(a.value, b.value, &product);
  return fitting<kPrecision>(run, too_long, overflow, product);
}
// Converts to a decimal with `kDigits` more behind the point, which has room for it.
template <unsigned kDigits, class T>
Maybe<Int128> to_decimal(const Maybe<T>& a) {
  return {static_cast<Int128>(a.value) * power_of_ten(kDigits), a.known};
}

// ---- Conversions that cannot fail ----

template <class To, class From>
Maybe<To> convert(const Maybe<From>& a) {
  if constexpr (std::is_same_v<To, bool>)
    return {a.value != 0, a.known};
  else
    return {static_cast<To>(a.value), a.known};
}

// ---- Times: milliseconds and days since 1970 ----

using sql::floor_divide, sql::kDayMs;

// A time of the years 1 to 9999; an error beyond.
inline Maybe<std::int64_t> timestamp(Run& run, std::uint32_t beyond, Maybe<std::int64_t> ms) {
  if (!ms.known) return {};
  if (ms.value < sql::kMinTimestampMs || ms.value > sql::kMaxTimestampMs)
    return run.fail(beyond), Maybe<std::int64_t>{};
  return ms;
}
inline Maybe<std::int64_t> shift_time(Run& run, std::uint32_t beyond, Maybe<std::int64_t> time,
                                      Maybe<std::int64_t> interval) {
  if (!time.known || !interval.known) return {};
  std::int64_t ms;
  if (__builtin_add_overflow(time.value, interval.value, &ms))
    return run.fail(beyond), Maybe<std::int64_t>{};
  return timestamp(run, beyond, some(ms));
}
inline Maybe<std::int64_t> timestamp_of_date(Maybe<std::int32_t> days) {
  return {days.value * kDayMs, days.known};
}
inline Maybe<std::int32_t> date_of_timestamp(Maybe<std::int64_t> ms) {
  return {static_cast<std::int32_t>(floor_divide(ms.value, kDayMs)), ms.known};
}

// ---- Instants, and what the clocks of the query's zone show ----

inline const ZoneSpan& span_at(Run& run, std::int64_t instant) {
  auto& span = run.instants;
  if (instant < span.from || instant >= span.until) run.host.find_span(false, instant, span);
  return span;
}
inline Maybe<std::int64_t> wall_of(Run& run, Maybe<std::int64_t> instant) {
  if (!instant.known) return {};
  return some(instant.value + span_at(run, instant.value).shift_ms);
}
inline Maybe<std::int64_t> instant_of(Run& run, Maybe<std::int64_t> wall) {
  if (!wall.known) return {};
  auto& span = run.walls;
  if (wall.value < span.from || wall.value >= span.until)
    run.host.find_span(true, wall.value, span);
  return some(wall.value + span.shift_ms);
}
// A watermark of instants as one of wall clocks.
inline std::int64_t settled_wall_of(Run& run, std::int64_t watermark) {
  if (watermark == kEndOfTime || watermark == kNoTime) return watermark;
  const auto& span = span_at(run, watermark);
  return std::min(watermark + span.shift_ms, span.least_wall);
}

}  // namespace holdfast::query
