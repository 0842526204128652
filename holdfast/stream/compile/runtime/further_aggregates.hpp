// further_aggregates.hpp: variances, percentiles, and aggregates that depend on the order of rows.
// What the interpreter's Accumulator is (sql/aggregate.hpp), and the same bytes.
//
// Those that depend on the order of rows are merged with one of later rows, and take nothing back.
#pragma once

#include <bit>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <string>

#include <holdfast/stream/compile/runtime/aggregates.hpp>

namespace holdfast::query {

// VAR_POP, VAR_SAMP (kSample), and their roots. The sums have 113 bits, so that the order of rows
// does not show in the 53 of the result.
template <bool kSample, bool kRoot>
class Variance {
 public:
  void add(const Maybe<double>& value) {
    if (value.known) add_square(value.value, 1);
  }
  void take_back(const Maybe<double>& value) {
    if (value.known) add_square(value.value, -1);
  }
  void merge(const Variance& other) {
    count_ += other.count_;
    total_ += other.total_;
    squares_ += other.squares_;
  }
  Maybe<double> result(Run&) const {
    if (count_ < (kSample ? 2 : 1)) return {};
    const auto count = static_cast<Real128>(count_);
    const Real128 squares = squares_ - total_ * total_ / count;
    const double variance = static_cast<double>(squares / (kSample ? count - 1 : count));
    const double positive = variance < 0 ? 0 : variance;  // What roundings left of 0. NaN stays.
    return some(kRoot ? __builtin_sqrt(positive) : positive);
  }
  void append(std::string& bytes) const {
    append_raw(count_, bytes);
    append_raw(total_, bytes);
    append_raw(squares_, bytes);
  }
  bool take(Text& bytes) {
    return take_raw(bytes, count_) && take_raw(bytes, total_) && take_raw(bytes, squares_);
  }

 private:
  __extension__ typedef __float128 Real128;

  void add_square(double value, int sign) {
    const Real128 wide = value;
    count_ += sign;
    total_ += sign * wide;
    squares_ += sign * (wide * wide);
  }

  std::int64_t count_ = 0;
  Real128 total_ = 0, squares_ = 0;
};

// Of n values in order, the one at fraction * (n - 1), counted from 0. Between two values it
// interpolates. `kFraction`: the bits of the fraction.
//
// Costs  add() and take_back() O(log values), result() O(values).
template <std::uint64_t kFraction>
class Percentile {
 public:
  void add(const Maybe<double>& value) {
    if (!value.known) return;
    ++count_;
    ++numbers_[value.value];
  }
  void take_back(const Maybe<double>& value) {
    if (!value.known) return;
    const auto found = numbers_.find(value.value);
    if (found == numbers_.end()) return;  // It came before the group ended, and began anew.
    --count_;
    if (--found->second == 0) numbers_.erase(found);
  }
  void merge(const Percentile& other) {
    count_ += other.count_;
    for (const auto& [number, count] : other.numbers_)
      numbers_[number] += count;
  }
  Maybe<double> result(Run&) const {
    if (count_ == 0) return {};
    const double place = std::bit_cast<double>(kFraction) * static_cast<double>(count_ - 1);
    const double below = __builtin_floor(place);
    auto skip = static_cast<std::int64_t>(below);
    auto at = numbers_.begin();
    while (skip >= at->second)
      skip -= at++->second;
    const double low = at->first;
    if (place == below) return some(low);
    const double high = skip + 1 < at->second ? low : std::next(at)->first;
    return some(low == high ? low : low + (high - low) * (place - below));
  }
  void append(std::string& bytes) const {
    append_raw(count_, bytes);
    append_raw(static_cast<std::uint64_t>(numbers_.size()), bytes);
    for (const auto& [number, count] : numbers_) {
      append_raw(number, bytes);
      append_raw(count, bytes);
    }
  }
  bool take(Text& bytes) {
    std::uint64_t size = 0;
    std::int64_t all = 0;
    if (!take_raw(bytes, count_) || !take_raw(bytes, size)) return false;
    for (; size > 0; --size) {
      double number = 0;
      std::int64_t count = 0;
      if (!take_raw(bytes, number) || !take_raw(bytes, count) || count < 1 ||
          !numbers_.emplace(number, count).second || count > count_ - all)
        return false;
      all += count;
    }
    return all == count_;
  }

 private:
  struct Less {  // NaN is above all numbers.
    bool operator()(double a, double b) const { return b != b ? a == a : a < b; }
  };

  std::int64_t count_ = 0;
  std::map<double, std::int64_t, Less> numbers_;  // How often each is there.
};

// Of different values they are computed in the order of these, as the interpreter does.
template <bool kSample, bool kRoot>
inline constexpr bool depends_on_order<Variance<kSample, kRoot>> = true;
template <std::uint64_t kFraction>
inline constexpr bool depends_on_order<Percentile<kFraction>> = true;

// What the states of aggregates below begin with: how many values, and whether they are too many.
struct Counted {
  std::int64_t count = 0;
  bool overflow = false;

  void append(std::string& bytes) const {
    append_raw(count, bytes);
    append_raw(static_cast<std::uint8_t>(overflow), bytes);
  }
  bool take(Text& bytes) {
    std::uint8_t over = 0;
    if (!take_raw(bytes, count) || !take_raw(bytes, over)) return false;
    overflow = over != 0;
    return true;
  }
};

// FIRST_VALUE, LAST_VALUE (kLast): of values that are not NULL.
template <class T, bool kLast>
class EndValue {
 public:
  void add(const Maybe<T>& value) {
    if (!value.known) return;
    ++counted_.count;
    if (kLast || !kept_.known()) kept_.set(value);
  }
  void merge(const EndValue& other) {
    counted_.count += other.counted_.count;
    if (other.kept_.known() && (kLast || !kept_.known())) kept_ = other.kept_;
  }
  std::int64_t count() const { return counted_.count; }
  Maybe<T> result(Run&) const { return kept_.get(); }
  void append(std::string& bytes) const { counted_.append(bytes), kept_.append(bytes); }
  bool take(Text& bytes) { return counted_.take(bytes) && kept_.take(bytes); }

 private:
  Counted counted_;
  KeptValue<T> kept_;
};

// The value of the only row; more are an error.
template <class T, std::uint32_t kMoreThanOne>
class SingleValue : public EndValue<T, true> {
 public:
  Maybe<T> result(Run& run) const {
    return this->count() > 1 ? refuse(run) : EndValue<T, true>::result(run);
  }
  static Maybe<T> refuse(Run& run) { return run.fail(kMoreThanOne), Maybe<T>{}; }
};
template <class T, std::uint32_t kMoreThanOne>
inline constexpr bool is_single<SingleValue<T, kMoreThanOne>> = true;

// LISTAGG: texts, the separator between them.
template <std::uint32_t kTooLong, signed char... kSeparator>
class ListOfTexts {
 public:
  void add(const Maybe<Text>& value) {
    if (!value.known) return;
    ++counted_.count;
    append_text(value.value);
  }
  void merge(const ListOfTexts& other) {
    counted_.count += other.counted_.count;
    counted_.overflow = counted_.overflow || other.counted_.overflow;
    if (other.known_) append_text({other.text_.data(), other.text_.size()});
  }
  Maybe<Text> result(Run& run) const {
    if (counted_.overflow) return run.fail(kTooLong), Maybe<Text>{};
    return get();
  }
  void append(std::string& bytes) const {
    counted_.append(bytes);
    append_exact_value(get(), bytes);
  }
  bool take(Text& bytes) {
    Maybe<Text> text;
    if (!counted_.take(bytes) || !take_value(bytes, text)) return false;
    known_ = text.known;
    if (known_) text_.assign(text.value.data, text.value.size);
    return true;
  }

 private:
  static constexpr std::size_t kMostBytes = 16u << 20;

  Maybe<Text> get() const { return {Text{text_.data(), text_.size()}, known_}; }
  void append_text(const Text& text) {
    counted_.overflow = counted_.overflow || text_.size() + text.size > kMostBytes;
    if (counted_.overflow) return;
    if (known_) ((text_ += static_cast<char>(kSeparator)), ...);
    text_.append(text.data, text.size);
    known_ = true;
  }

  Counted counted_;
  std::string text_;
  bool known_ = false;
};

// LAG: the value so many rows before the newest one, NULL or not. Of OVER, which merges none.
template <class T, std::uint64_t kBack>
class LaggedValue {
 public:
  void add(const Maybe<T>& value) {
    recent_.emplace_back().set(value);
    if (recent_.size() > kBack + 1) recent_.pop_front();
  }
  Maybe<T> result(Run&) const {
    return recent_.size() > kBack ? recent_[recent_.size() - 1 - kBack].get() : Maybe<T>{};
  }
  void append(std::string& bytes) const {
    append_raw(std::int64_t{0}, bytes);  // It counts nothing.
    append_raw(static_cast<std::uint64_t>(recent_.size()), bytes);
    for (const auto& value : recent_)
      value.append(bytes);
  }
  bool take(Text& bytes) {
    std::int64_t count = 0;
    std::uint64_t size = 0;
    if (!take_raw(bytes, count) || !take_raw(bytes, size)) return false;
    for (; size > 0; --size) {
      if (!recent_.emplace_back().take(bytes)) return false;
    }
    return true;
  }

 private:
  std::deque<KeptValue<T>> recent_;
};

}  // namespace holdfast::query
