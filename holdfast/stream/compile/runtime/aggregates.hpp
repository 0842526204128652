// aggregates.hpp: COUNT, SUM, MIN, MAX, AVG in the types of their arguments. What the interpreter's
// Accumulator is (sql/aggregate.hpp), and the same bytes; a sum that is read modulo 2^64 is kept
// so.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/order.hpp>
#include <holdfast/stream/compile/runtime/texts.hpp>
#include <holdfast/stream/compile/runtime/value_parts.hpp>

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
    if (__builtin_isfinite(sum))
      lost_ += __builtin_fabs(sum_) >= __builtin_fabs(value) ? (sum_ - sum) + value
                                                             : (value - sum) + sum_;
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
    count_ += value.known;
    offer(value);
  }
  void merge(const Extreme& other) {
    count_ += other.count_;
    offer(other.kept_.get());
  }
  Maybe<T> result(Run&) const { return kept_.get(); }
  // Whether it is better than this value, as it stands.
  bool surpasses(const Maybe<T>& value) const {
    return kept_.known() && value.known && is_better(kept_.get().value, value.value);
  }
  static bool is_better(const T& value, const T& than) {
    const int order = compare(value, than);
    return kMax ? order > 0 : order < 0;
  }
  void append(std::string& bytes) const {
    append_raw(count_, bytes);
    kept_.append(bytes);
  }
  bool take(Text& bytes) { return take_raw(bytes, count_) && kept_.take(bytes); }

 private:
  void offer(const Maybe<T>& value) {
    if (value.known && (!kept_.known() || is_better(value.value, kept_.get().value)))
      kept_.set(value);
  }

  std::int64_t count_ = 0;
  KeptValue<T> kept_;
};

template <class T>
inline constexpr bool is_extreme = false;
template <class T, bool kMax>
inline constexpr bool is_extreme<Extreme<T, kMax>> = true;

// Whether more than one value is an error.
template <class Aggregate>
inline constexpr bool is_single = false;

// Whether the last digit of what is made of values depends on their order. Then it is made anew of
// all of them each time, in the order of their bytes.
template <class Aggregate>
inline constexpr bool depends_on_order = false;
template <bool kSingle, bool kAverage>
inline constexpr bool depends_on_order<SumOfReals<kSingle, kAverage>> = true;

// Whether merge() of what was made of some rows with what was made of later ones is, to the last
// bit, what add() of all of them in turn makes, and costs no more than a row.
template <class Aggregate>
inline constexpr bool merges_exactly = false;
template <>
inline constexpr bool merges_exactly<Count> = true;
template <class T>
inline constexpr bool merges_exactly<SumOfIntegers<T>> = true;
template <class T>
inline constexpr bool merges_exactly<AverageOfIntegers<T>> = true;
template <class T, bool kMax>
inline constexpr bool merges_exactly<Extreme<T, kMax>> = true;

// An aggregate of different values only.
//
// Costs  add() O(1), result() O(1); of SUM and AVG of reals O(values).
template <class T, class Inner>
class Distinct : public HasParts {
 public:
  void add(const Maybe<T>& value) {
    if (value.known) insert(Key(value));
  }
  void merge(const Distinct& other) {
    for (const auto& entry : other.values_.entries())
      insert(entry.key);
  }
  auto result(Run& run) const {
    if constexpr (depends_on_order<Inner>) {
      Inner inner;
      visit_in_order(values_, [&](const auto& entry) {
        inner.add(entry.key.template get<0>());
        return true;
      });
      return inner.result(run);
    } else {
      return inner_.result(run);
    }
  }
  template <class Put, class Erase>
  bool put_values(const Put& put, const Erase& erase) {
    const auto all = [this](const auto& visit) {
      std::string value;
      for (const auto& entry : values_.entries()) {
        value.clear();
        entry.key.append(value);
        visit(Text{value.data(), value.size()}, 1);
      }
    };
    return put_parts(values_.entries().size(), all, put, erase);
  }
  void append(std::string& bytes) const {
    if (parts_ != nullptr) {
      append_raw(kInParts, bytes);
      return append_raw(parts_->count(), bytes);
    }
    append_raw(static_cast<std::uint64_t>(values_.entries().size()), bytes);
    std::string value;
    visit_in_order(values_, [&](const auto& entry) {
      value.clear();
      entry.key.append(value);
      append_raw(static_cast<std::uint32_t>(value.size()), bytes);
      bytes += value;
      return true;
    });
  }
  bool take(Text& bytes) {
    std::uint64_t count = 0;
    if (!take_raw(bytes, count)) return false;
    if (count == kInParts) return expect_parts(bytes);
    for (; count > 0; --count) {
      std::uint32_t size = 0;
      if (!take_raw(bytes, size) || bytes.size < size || !take_value_of({bytes.data, size}))
        return false;
      bytes.data += size;
      bytes.size -= size;
    }
    return true;
  }
  bool take_part(std::int64_t number, Text part, std::uint64_t version) {
    return parts_ != nullptr &&
           parts_->take(number, part, version, [this](Text value, std::int64_t by) {
             return by == 1 && take_value_of(value);
           });
  }
  // Behind take() and all parts. False: no run has written it.
  bool end_taking() { return parts_ == nullptr || parts_->end_taking(); }
  // About, in memory.
  std::uint64_t held_bytes() const {
    return values_.bytes() + values_.text_bytes() + bytes_of_parts();
  }

 private:
  using Key = KeyOf<T>;
  struct Nothing {};
  static constexpr std::uint64_t kInParts = ~std::uint64_t{0};

  void insert(const Key& key) {
    if (!is_fresh(key) || parts_ == nullptr) [[likely]]
      return;
    std::string bytes;
    key.append(bytes);
    note(bytes, 1);
  }
  bool is_fresh(const Key& key) {
    const auto before = values_.entries().size();
    values_.at(key, key.hash());
    if (values_.entries().size() == before) return false;
    if constexpr (!depends_on_order<Inner>) inner_.add(key.template get<0>());
    return true;
  }
  bool take_value_of(Text bytes) {
    Key key;
    return key.take(bytes) && !key.has_null() && is_fresh(key);
  }

  Table<Key, Nothing, 2> values_;
  [[no_unique_address]] std::conditional_t<depends_on_order<Inner>, Nothing, Inner> inner_;
};

// An aggregate of values that may be taken back, where a sum is not enough. It holds how often each
// value is there, by its bytes, as graph/running_aggregate.cpp does. `kOnce`: a value counts once.
//
// Costs  add() and take_back() O(log values), result() O(1); of SUM and AVG of different reals
//        O(values).
template <class T, class Inner, bool kOnce>
class OfValues : public HasParts {
  static constexpr bool kExtreme = is_extreme<Inner>, kSingle = is_single<Inner>;
  static_assert(kOnce || kExtreme || kSingle);  // Others subtract.

 public:
  void add(const Maybe<T>& value) {
    if (!value.known) return;
    auto bytes = bytes_of(value);
    note(bytes, 1);
    const auto place = values_.try_emplace(std::move(bytes), 0).first;
    if (++place->second != 1) return;
    take_room(place->first.size());
    if constexpr (kSubtracts) inner_.add(value);
  }
  void take_back(const Maybe<T>& value) {
    if (!value.known) return;
    const auto found = values_.find(bytes_of(value));
    if (found == values_.end()) return;
    note(found->first, -1);
    if (--found->second != 0) return;
    erase(found);
    if constexpr (kSubtracts) inner_.take_back(value);
  }
  auto result(Run& run) const {
    if constexpr (kExtreme) {  // A text is one of the bytes here.
      return values_.empty() ? Maybe<T>{} : value_of(values_.begin()->first);
    } else if constexpr (kSingle) {
      if (values_.size() > 1 || (!values_.empty() && values_.begin()->second > 1))
        return Inner::refuse(run);
      return values_.empty() ? Maybe<T>{} : value_of(values_.begin()->first);
    } else if constexpr (kSubtracts) {
      return inner_.result(run);
    } else {
      Inner inner;
      for (const auto& [bytes, count] : values_)
        inner.add(value_of(bytes));
      return inner.result(run);
    }
  }
  template <class Put, class Erase>
  bool put_values(const Put& put, const Erase& erase) {
    const auto all = [this](const auto& visit) {
      for (const auto& [bytes, times] : values_)
        visit(Text{bytes.data(), bytes.size()}, times);
    };
    return put_parts(values_.size(), all, put, erase);
  }
  void append(std::string& bytes) const {
    if (parts_ != nullptr) {
      append_ordered(kInParts, bytes);
      return append_raw(parts_->count(), bytes);
    }
    std::vector<const typename Values::value_type*> by_bytes;
    for (const auto& value : values_)
      by_bytes.push_back(&value);
    std::sort(by_bytes.begin(), by_bytes.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
    append_ordered(static_cast<std::int64_t>(values_.size()), bytes);
    for (const auto* value : by_bytes) {
      append_size(value->first.size(), bytes);
      bytes += value->first;
      append_ordered(value->second, bytes);
    }
  }
  bool take(Text& bytes) {
    std::int64_t count = 0, times = 0;
    if (!take_ordered(bytes, count)) return false;
    if (count == kInParts) return expect_parts(bytes);
    for (; count > 0; --count) {
      Text value;
      if (!query::take_part(bytes, value) || !take_ordered(bytes, times) || !is_value(value))
        return false;
      const auto [place, fresh] = values_.emplace(std::string(value.data, value.size), times);
      if (!fresh || times < 1) return false;
      take_room(value.size);
      if constexpr (kSubtracts) inner_.add(value_of(place->first));
    }
    return true;
  }
  // Values may be there less than never until another part comes.
  bool take_part(std::int64_t number, Text part, std::uint64_t version) {
    return parts_ != nullptr &&
           parts_->take(number, part, version, [this](Text value, std::int64_t by) {
             if (!is_value(value)) return false;
             const auto [place, fresh] =
                 values_.try_emplace(std::string(value.data, value.size), 0);
             if (fresh) take_room(value.size);
             if (__builtin_add_overflow(place->second, by, &place->second)) return false;
             if (place->second == 0) erase(place);
             return true;
           });
  }
  // Behind take() and all parts. False: no run has written it. A value may be there more often than
  // its group has rows: where state ends when it is idle, a row may go that the group never saw.
  bool end_taking() {
    if (parts_ != nullptr && !parts_->end_taking()) return false;
    for (const auto& [bytes, times] : values_) {
      if (times < 1 || !sql::is_summable(times)) return false;
      if constexpr (kSubtracts) {
        if (parts_ != nullptr) inner_.add(value_of(bytes));
      }
    }
    return true;
  }
  // About, in memory.
  std::uint64_t held_bytes() const {
    constexpr std::uint64_t kNode = 48;  // Of a tree, with what the memory for it takes.
    return values_.size() * (kNode + sizeof(typename Values::value_type)) + long_bytes_ +
           bytes_of_parts();
  }

 private:
  static constexpr bool kSubtracts = !kExtreme && !kSingle && !depends_on_order<Inner>;
  static constexpr std::int64_t kInParts = -1;

  static bool is_value(Text bytes) {
    Maybe<T> value;
    return take_value(bytes, value) && value.known && bytes.size == 0;
  }
  static Maybe<T> value_of(const std::string& bytes) {
    Text rest{bytes.data(), bytes.size()};
    Maybe<T> value;
    take_value(rest, value);
    return value;
  }
  static std::string bytes_of(const Maybe<T>& value) {
    std::string bytes;
    append_value(value, bytes);
    return bytes;
  }
  struct Order {  // MIN, MAX: the result first.
    bool operator()(const std::string& a, const std::string& b) const {
      if constexpr (kExtreme) {
        const auto x = value_of(a), y = value_of(b);
        if (Inner::is_better(x.value, y.value)) return true;
        if (Inner::is_better(y.value, x.value)) return false;
      }
      return a < b;
    }
  };
  using Values = std::map<std::string, std::int64_t, Order>;
  struct Nothing {};

  // Of a value's bytes, beyond what stands in its node.
  static std::uint64_t long_bytes(std::uint64_t size) {
    constexpr std::uint64_t kShort = 15, kBlock = 16;
    return size <= kShort ? 0 : size + kBlock;
  }
  void take_room(std::uint64_t size) { long_bytes_ += long_bytes(size); }
  void erase(typename Values::iterator place) {
    long_bytes_ -= long_bytes(place->first.size());
    values_.erase(place);
  }

  Values values_;
  std::uint64_t long_bytes_ = 0;
  [[no_unique_address]] std::conditional_t<kSubtracts, Inner, Nothing> inner_;
};

}  // namespace holdfast::query
