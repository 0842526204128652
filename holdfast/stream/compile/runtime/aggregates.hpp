// aggregates.hpp: COUNT, SUM, MIN, MAX, AVG in the types of their arguments. What the interpreter's
// Accumulator is (sql/aggregate.hpp), and the same bytes; a sum that is read modulo 2^64 is kept
// so.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <holdfast/stream/compile/runtime/bytes.hpp>

namespace holdfast::query {

// COUNT(*), COUNT(x).
class Count {
 public:
  void add() { ++count_; }
  template <class T>
  void add(const Maybe<T>& value) {
    count_ += value.known;
  }
  void take_back() { --count_; }
  template <class T>
  void take_back(const Maybe<T>& value) {
    count_ -= value.known;
  }
  void merge(const Count& other) { count_ += other.count_; }
  Maybe<std::int64_t> result(Run&) const { return some(count_); }
  void append(std::string& bytes) const { append_raw(count_, bytes); }
  bool take(Text& bytes) { return take_raw(bytes, count_); }

 private:
  std::int64_t count_ = 0;
};

// SUM of TINYINT to BIGINT: it wraps, so 64 bits are enough.
template <class T>
class SumOfIntegers {
 public:
  void add(const Maybe<T>& value) {
    count_ += value.known;
    sum_ += value.known ? static_cast<std::uint64_t>(value.value) : 0;
  }
  void take_back(const Maybe<T>& value) {
    count_ -= value.known;
    sum_ -= value.known ? static_cast<std::uint64_t>(value.value) : 0;
  }
  void merge(const SumOfIntegers& other) {
    count_ += other.count_;
    sum_ += other.sum_;
  }
  Maybe<T> result(Run&) const { return {wrapped<T>(sum_), count_ != 0}; }
  void append(std::string& bytes) const {
    append_raw(count_, bytes);
    append_raw(static_cast<Int128>(static_cast<std::int64_t>(sum_)), bytes);
    append_raw(std::uint8_t{0}, bytes);
  }
  bool take(Text& bytes) {
    Int128 sum = 0;
    std::uint8_t overflow = 0;
    if (!take_raw(bytes, count_) || !take_raw(bytes, sum)) return false;
    sum_ = static_cast<std::uint64_t>(sum);
    return take_raw(bytes, overflow);
  }

 private:
  std::int64_t count_ = 0;
  std::uint64_t sum_ = 0;
};

// AVG of TINYINT to BIGINT: the quotient of the exact sum, which 128 bits hold.
template <class T>
class AverageOfIntegers {
 public:
  void add(const Maybe<T>& value) {
    count_ += value.known;
    sum_ += value.known ? static_cast<Int128>(value.value) : 0;
  }
  void take_back(const Maybe<T>& value) {
    count_ -= value.known;
    sum_ -= value.known ? static_cast<Int128>(value.value) : 0;
  }
  void merge(const AverageOfIntegers& other) {
    count_ += other.count_;
    sum_ += other.sum_;
  }
  Maybe<T> result(Run&) const {
    if (count_ == 0) return {};
    return some(static_cast<T>(sum_ / count_));
  }
  void append(std::string& bytes) const {
    append_raw(count_, bytes);
    append_raw(sum_, bytes);
    append_raw(std::uint8_t{0}, bytes);
  }
  bool take(Text& bytes) {
    std::uint8_t overflow = 0;
    return take_raw(bytes, count_) && take_raw(bytes, sum_) && take_raw(bytes, overflow);
  }

 private:
  std::int64_t count_ = 0;
  Int128 sum_ = 0;
};

// SUM of decimals, to 38 digits.
template <std::uint32_t kTooLong>
class SumOfDecimals {
 public:
  void add(const Maybe<Int128>& value) {
    if (!value.known) return;
    ++count_;
    add_number(value.value);
  }
  void take_back(const Maybe<Int128>& value) {
    if (!value.known) return;
    --count_;
    add_number(-value.value);
  }
  void merge(const SumOfDecimals& other) {
    count_ += other.count_;
    overflow_ = overflow_ || other.overflow_;
    add_number(other.sum_);
  }
  Maybe<Int128> result(Run& run) const {
    if (count_ == 0) return {};
    if (overflow_) return run.fail(kTooLong), Maybe<Int128>{};
    return some(sum_);
  }
  void append(std::string& bytes) const {
    append_raw(count_, bytes);
    append_raw(sum_, bytes);
    append_raw(static_cast<std::uint8_t>(overflow_), bytes);
  }
  bool take(Text& bytes) {
    std::uint8_t overflow = 0;
    if (!take_raw(bytes, count_) || !take_raw(bytes, sum_) || !take_raw(bytes, overflow))
      return false;
    overflow_ = overflow != 0;
    return true;
  }

 protected:
  void add_number(Int128 value) {
    Int128 sum;
    const bool beyond = __builtin_add_overflow(sum_, value, &sum) || sum >= power_of_ten(38) ||
                        sum <= -power_of_ten(38);
    if (beyond)
      overflow_ = true;
    else
      sum_ = sum;
  }

  std::int64_t count_ = 0;
  Int128 sum_ = 0;
  bool overflow_ = false;
};

// AVG of decimals, with kShift digits more than its argument.
template <std::uint32_t kTooLong, std::uint32_t kAverageTooLong, std::uint32_t kShift>
class AverageOfDecimals : public SumOfDecimals<kTooLong> {
 public:
  Maybe<Int128> result(Run& run) const {
    const auto sum = SumOfDecimals<kTooLong>::result(run);
    Int128 average = 0;
    if (!sum.known) return {};
    if (!run.host.average(kAverageTooLong, sum.value, this->count_, kShift, average)) {
      run.failed = true;
      return {};
    }
    return some(average);
  }
};

// SUM and AVG of FLOAT (kSingle) and DOUBLE. What a rounding drops is kept beside the sum.
template <bool kSingle, bool kAverage>
class SumOfReals {
 public:
  void add(const Maybe<double>& value) {
    if (!value.known) return;
    ++count_;
    add_number(value.value);
  }
  void take_back(const Maybe<double>& value) {
    if (!value.known) return;
    --count_;
    add_number(-value.value);
  }
  void merge(const SumOfReals& other) {
    count_ += other.count_;
    add_number(other.sum_);
    lost_ += other.lost_;
  }
  Maybe<double> result(Run&) const {
    if (count_ == 0) return {};
    const double sum = sum_ + lost_;
    const double real = kAverage ? sum / static_cast<double>(count_) : sum;
    return kSingle ? single(some(real)) : some(real);
  }
  void append(std::string& bytes) const {
    append_raw(count_, bytes);
    append_raw(sum_, bytes);
    append_raw(lost_, bytes);
  }
  bool take(Text& bytes) {
    return take_raw(bytes, count_) && take_raw(bytes, sum_) && take_raw(bytes, lost_);
  }

 private:
  void add_number(double value) {
    const double sum = sum_ + value;
    if (std::isfinite(sum))
      lost_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }

  std::int64_t count_ = 0;
  double sum_ = 0, lost_ = 0;
};

// MIN, MAX. The first of equal values stays.
template <class T, bool kMax>
class Extreme {
 public:
  void add(const Maybe<T>& value) {
    if (!value.known) return;
    ++count_;
    offer(value.value);
  }
  void merge(const Extreme& other) {
    count_ += other.count_;
    const auto value = other.get();
    if (value.known) offer(value.value);
  }
  Maybe<T> result(Run&) const { return get(); }
  static bool is_better(const T& value, const T& than) {
    const int order = compare(value, than);
    return kMax ? order > 0 : order < 0;
  }
  void append(std::string& bytes) const {
    append_raw(count_, bytes);
    append_value(get(), bytes);
  }
  bool take(Text& bytes) {
    Maybe<T> value;
    if (!take_raw(bytes, count_) || !take_value(bytes, value)) return false;
    known_ = value.known;
    if (known_) keep(value.value);
    return true;
  }

 private:
  static constexpr bool kText = std::is_same_v<T, Text>;

  Maybe<T> get() const {
    if constexpr (kText)
      return {Text{kept_.data(), kept_.size()}, known_};
    else
      return {kept_, known_};
  }
  void offer(const T& value) {
    if (known_ && !is_better(value, get().value)) return;
    known_ = true;
    keep(value);
  }
  void keep(const T& value) {
    if constexpr (kText)
      kept_.assign(value.data, value.size);
    else
      kept_ = value;
  }

  std::int64_t count_ = 0;
  std::conditional_t<kText, std::string, T> kept_{};
  bool known_ = false;
};

template <class T>
inline constexpr bool is_extreme = false;
template <class T, bool kMax>
inline constexpr bool is_extreme<Extreme<T, kMax>> = true;

// Of different values only: their bytes, of which the rest is made at the end.
template <class T, class Inner>
class Distinct {
 public:
  void add(const Maybe<T>& value) {
    if (!value.known) return;
    std::string bytes;
    append_value(value, bytes);
    values_.insert(std::move(bytes));
  }
  void merge(const Distinct& other) { values_.insert(other.values_.begin(), other.values_.end()); }
  auto result(Run& run) const {
    Inner inner;
    for (const auto& bytes : values_) {
      Text rest{bytes.data(), bytes.size()};
      Maybe<T> value;
      take_value(rest, value);
      inner.add(value);
    }
    return inner.result(run);
  }
  void append(std::string& bytes) const {
    append_raw(static_cast<std::uint64_t>(values_.size()), bytes);
    for (const auto& value : values_) {
      append_raw(static_cast<std::uint32_t>(value.size()), bytes);
      bytes += value;
    }
  }
  bool take(Text& bytes) {
    std::uint64_t count = 0;
    if (!take_raw(bytes, count)) return false;
    for (; count > 0; --count) {
      std::uint32_t size = 0;
      if (!take_raw(bytes, size) || bytes.size < size) return false;
      values_.emplace(bytes.data, size);
      bytes.data += size;
      bytes.size -= size;
    }
    return true;
  }

 private:
  std::set<std::string> values_;
};

// Of values that may be taken back, where a sum is not enough: how often each is there, by its
// bytes. What graph/running_aggregate.cpp holds. `kOnce`: a value counts once.
template <class T, class Inner, bool kOnce>
class OfValues {
 public:
  void add(const Maybe<T>& value) {
    if (value.known) ++values_[bytes_of(value)];
  }
  void take_back(const Maybe<T>& value) {
    if (!value.known) return;
    const auto found = values_.find(bytes_of(value));
    if (found != values_.end() && --found->second == 0) values_.erase(found);
  }
  auto result(Run& run) const {
    if constexpr (is_extreme<Inner>) {
      Maybe<T> best;  // A text is one of the bytes here.
      for_each([&](const Maybe<T>& value, std::int64_t) {
        if (!best.known || Inner::is_better(value.value, best.value)) best = value;
      });
      return best;
    } else {
      Inner inner;
      for_each([&](const Maybe<T>& value, std::int64_t count) {
        for (std::int64_t i = 0; i < (kOnce ? 1 : count); ++i)
          inner.add(value);
      });
      return inner.result(run);
    }
  }
  void append(std::string& bytes) const {
    append_ordered(static_cast<std::int64_t>(values_.size()), bytes);
    for (const auto& [value, count] : values_) {
      append_size(value.size(), bytes);
      bytes += value;
      append_ordered(count, bytes);
    }
  }
  bool take(Text& bytes) {
    std::int64_t count = 0, times = 0;
    if (!take_ordered(bytes, count)) return false;
    for (; count > 0; --count) {
      Text value;
      if (!take_part(bytes, value) || !take_ordered(bytes, times)) return false;
      values_[std::string(value.data, value.size)] = times;
    }
    return true;
  }

 private:
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [bytes, count] : values_) {
      Text rest{bytes.data(), bytes.size()};
      Maybe<T> value;
      take_value(rest, value);
      visit(value, count);
    }
  }
  static std::string bytes_of(const Maybe<T>& value) {
    std::string bytes;
    append_value(value, bytes);
    return bytes;
  }

  std::map<std::string, std::int64_t> values_;
};

// All aggregates of a group.
template <class... Aggregates>
struct StateOf {
  std::tuple<Aggregates...> all;

  template <std::size_t kNumber>
  auto& get() {
    return std::get<kNumber>(all);
  }
  template <std::size_t kNumber>
  const auto& get() const {
    return std::get<kNumber>(all);
  }
  void merge(const StateOf& other) { merge(other, std::index_sequence_for<Aggregates...>()); }
  void append(std::string& bytes) const {
    std::apply([&](const auto&... each) { (each.append(bytes), ...); }, all);
  }
  // False: the bytes are no such state, or there are more of them.
  bool take(Text bytes) {
    const bool taken = std::apply([&](auto&... each) { return (each.take(bytes) && ...); }, all);
    return taken && bytes.size == 0;
  }

 private:
  template <std::size_t... kNumbers>
  void merge(const StateOf& other, std::index_sequence<kNumbers...>) {
    (get<kNumbers>().merge(other.get<kNumbers>()), ...);
  }
};

}  // namespace holdfast::query
