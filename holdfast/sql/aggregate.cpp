#include "aggregate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/nested.hpp>

namespace holdfast::sql {
namespace {

template <class T>
void append(const T& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

bool sums(AggregateKind kind) {
  return kind == AggregateKind::kSum || kind == AggregateKind::kAverage;
}

bool has_extreme(AggregateKind kind) {
  return kind == AggregateKind::kMin || kind == AggregateKind::kMax;
}

bool is_variance(AggregateKind kind) {
  return kind >= AggregateKind::kVarPop && kind <= AggregateKind::kStddevSamp;
}

constexpr std::array<std::string_view, 18> kAggregateNames = {
    "COUNT",      "COUNT",    "SUM",        "MIN",         "MAX",          "AVG",
    "VAR_POP",    "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP", "PERCENTILE",   "FIRST_VALUE",
    "LAST_VALUE", "LISTAGG",  "ARRAY_AGG",  "LAG",         "SINGLE_VALUE", ""};  // Of a user.

}  // namespace

std::optional<AggregateKind> aggregate_named(std::string_view name) {
  if (name == "MEDIAN") return AggregateKind::kPercentile;
  if (name == "STDDEV") return AggregateKind::kStddevSamp;
  if (name == "VARIANCE") return AggregateKind::kVarSamp;
  if (name == "SINGLE_VALUE" || name.empty()) return std::nullopt;
  const auto found = std::find(kAggregateNames.begin() + 1, kAggregateNames.end(), name);
  if (found == kAggregateNames.end()) return std::nullopt;
  return static_cast<AggregateKind>(found - kAggregateNames.begin());
}

bool depends_on_order(AggregateKind kind) {
  return kind >= AggregateKind::kFirst && kind <= AggregateKind::kLag;
}

bool depends_on_order(const Aggregate& aggregate) {
  if (aggregate.kind == AggregateKind::kUser) return !aggregate.user->merges();
  return depends_on_order(aggregate.kind);
}

bool is_of_reals(AggregateKind kind) {
  return is_variance(kind) || kind == AggregateKind::kPercentile;
}

bool Accumulator::Less::operator()(double a, double b) const {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

Type aggregate_type(AggregateKind kind, const Type& argument) {
  switch (kind) {
    case AggregateKind::kCountRows:
    case AggregateKind::kCount: return kBigIntType;
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      return argument.kind == Kind::kInterval || argument.is_nested() ? Type{} : argument;
    case AggregateKind::kSum:
      if (argument.kind == Kind::kDecimal) return decimal_type(kMaxDigits, argument.scale);
      return argument.is_numeric() ? argument : Type{};
    case AggregateKind::kAverage:
      if (argument.kind == Kind::kDecimal) {
        return *arithmetic_type(Arithmetic::kDivide, decimal_type(kMaxDigits, argument.scale),
                                decimal_type(20, 0));
      }
      return argument.is_numeric() ? argument : Type{};
    case AggregateKind::kArrayAgg:
      if (argument.kind == Kind::kInterval) return Type{};
      return array_of(argument).value_or(Type{});
    case AggregateKind::kListAgg: return argument.kind == Kind::kString ? kStringType : Type{};
    case AggregateKind::kFirst:
    case AggregateKind::kLast:
    case AggregateKind::kLag:
    case AggregateKind::kSingle: return argument.kind == Kind::kInterval ? Type{} : argument;
    default: return argument.is_real() ? kDoubleType : Type{};
  }
}

std::string text_of(const Aggregate& aggregate, const std::vector<std::string>& names) {
  std::string text(kAggregateNames[static_cast<std::size_t>(aggregate.kind)]);
  if (aggregate.user != nullptr) text = aggregate.user->name;
  text += aggregate.distinct ? "(DISTINCT " : "(";
  text += aggregate.argument == nullptr ? "*" : text_of(*aggregate.argument, names);
  const auto& parameter = aggregate.parameter;
  if (!parameter.null) {
    text += aggregate.kind == AggregateKind::kListAgg ? ", " + quoted_text(parameter.text)
            : aggregate.kind == AggregateKind::kLag   ? ", " + text_of(parameter, kBigIntType)
                                                      : ", " + text_of(parameter, kDoubleType);
  }
  text += ")";
  if (aggregate.filter != nullptr)
    text += " FILTER (WHERE " + text_of(*aggregate.filter, names) + ")";
  return text;
}

bool equal(const Aggregate& left, const Aggregate& right) {
  const auto same_tree = [](const ExpressionPointer& a, const ExpressionPointer& b) {
    if (a == nullptr || b == nullptr) return a == b;
    return equal(*a, *b);
  };
  const bool texts = left.kind == AggregateKind::kListAgg;
  const auto& parameter_type = texts                                     ? kStringType
                               : left.kind == AggregateKind::kPercentile ? kDoubleType
                                                                         : kBigIntType;
  const auto overload_of = [](const Aggregate& one) {
    return one.user == nullptr ? nullptr : one.user->overload;
  };
  return left.kind == right.kind && left.distinct == right.distinct &&
         overload_of(left) == overload_of(right) &&
         same(left.parameter, right.parameter, parameter_type) &&
         same_tree(left.argument, right.argument) && same_tree(left.filter, right.filter);
}

// Whether a DISTINCT one is made as its values come. The others, whose last digit depends on their
// order, are made of all values when the result is asked for, in the order of their bytes.
bool gathers(const Aggregate& aggregate) {
  return is_basic(aggregate.kind) && !(sums(aggregate.kind) && aggregate.argument->type.is_real());
}

bool can_take_back(const Aggregate& aggregate) {
  if (aggregate.kind == AggregateKind::kArrayAgg) return true;
  if (aggregate.kind == AggregateKind::kUser)
    return !aggregate.distinct && aggregate.user->takes_back();
  return !aggregate.distinct && !has_extreme(aggregate.kind) && !depends_on_order(aggregate.kind) &&
         aggregate.kind != AggregateKind::kSingle;
}

void Accumulator::take_back(const Aggregate& aggregate, const Value& value) {
  if (aggregate.kind == AggregateKind::kArrayAgg) return take_back_element(aggregate, value);
  if (aggregate.argument != nullptr && value.null) return;
  if (aggregate.kind == AggregateKind::kUser) return user_.take_back(*aggregate.user, value);
  if (aggregate.kind == AggregateKind::kPercentile) {
    const auto found = numbers_.find(value.real);
    if (found == numbers_.end()) return;  // It came before the group ended, and began anew.
    --count_;
    if (--found->second == 0) numbers_.erase(found);
    return;
  }
  --count_;
  if (is_variance(aggregate.kind)) return add_square(value.real, -1);
  if (!sums(aggregate.kind)) return;
  if (aggregate.argument->type.is_real()) return add_real(-value.real);
  if (aggregate.argument->type.is_integer()) {
    sum_ -= value.number;
  } else if (const auto sum = added(sum_, -value.number)) {
    sum_ = *sum;
  } else {
    overflow_ = true;
  }
}

void Accumulator::add(const Aggregate& aggregate, const Value& value) {
  if (aggregate.kind == AggregateKind::kLag) return add_ordered(aggregate, value);
  if (aggregate.kind == AggregateKind::kArrayAgg) return add_element(aggregate, value);
  if (aggregate.argument != nullptr && value.null) return;
  if (!aggregate.distinct) return add_once(aggregate, value);
  std::string bytes;
  sql::append_bytes(value, aggregate.argument->type, bytes);
  if (distinct_.insert(std::move(bytes)).second && gathers(aggregate)) add_once(aggregate, value);
}

void Accumulator::add_ordered(const Aggregate& aggregate, const Value& value) {
  switch (aggregate.kind) {
    case AggregateKind::kFirst:
      if (extreme_.null) extreme_ = value;
      return;
    case AggregateKind::kListAgg:
      overflow_ = overflow_ || extreme_.text.size() + value.text.size() > kMaxListBytes;
      if (overflow_) return;
      if (!extreme_.null) extreme_.text += aggregate.parameter.text;
      extreme_.text += value.text;
      extreme_.null = false;
      return;
    case AggregateKind::kLag: {
      recent_.push_back(value);
      const auto most = static_cast<std::size_t>(aggregate.parameter.number) + 1;
      if (recent_.size() > most) recent_.erase(recent_.begin());
      return;
    }
    default: extreme_ = value; return;
  }
}

void Accumulator::add_element(const Aggregate& aggregate, const Value& value) {
  overflow_ = overflow_ || extreme_.text.size() + value.text.size() > kMaxListBytes;
  if (overflow_) return;
  ++count_;
  extreme_.null = false;
  sql::append_bytes(value, aggregate.argument->type, extreme_.text);
}

void Accumulator::take_back_element(const Aggregate& aggregate, const Value& value) {
  std::string wanted;
  sql::append_bytes(value, aggregate.argument->type, wanted);
  std::string_view rest = extreme_.text;
  Value element;
  while (!rest.empty()) {
    const auto at = extreme_.text.size() - rest.size();
    if (!sql::take_bytes(rest, aggregate.argument->type, element)) return;
    const auto bytes = extreme_.text.size() - rest.size() - at;
    if (std::string_view(extreme_.text).substr(at, bytes) != wanted) continue;
    extreme_.text.erase(at, bytes);
    --count_;
    return;
  }
}

void Accumulator::add_square(double value, int sign) {
  const Real128 wide = value;
  total_ += sign * wide;
  squares_ += sign * (wide * wide);
}

void Accumulator::add_once(const Aggregate& aggregate, const Value& value) {
  if (aggregate.kind == AggregateKind::kUser) return user_.add(*aggregate.user, value);
  ++count_;
  if (is_variance(aggregate.kind)) return add_square(value.real, 1);
  if (aggregate.kind == AggregateKind::kPercentile) return void(++numbers_[value.real]);
  if (aggregate.kind >= AggregateKind::kFirst) return add_ordered(aggregate, value);
  if (sums(aggregate.kind)) {
    const Type& type = aggregate.argument->type;
    if (type.is_real()) return add_real(value.real);
    if (type.is_integer()) {
      sum_ += value.number;
    } else if (const auto sum = added(sum_, value.number)) {
      sum_ = *sum;
    } else {
      overflow_ = true;
    }
  } else if (has_extreme(aggregate.kind)) {
    const int order = extreme_.null ? 0 : compare(value, extreme_, aggregate.argument->type);
    const bool better = aggregate.kind == AggregateKind::kMin ? order < 0 : order > 0;
    if (extreme_.null || better) extreme_ = value;
  }
}

// Keeps what a rounding drops, so that the order of the rows, and whether a checkpoint cut them,
// does not show in the sum's printed digits.
void Accumulator::add_real(double value) {
  const double sum = real_ + value;
  if (std::isfinite(sum))
    lost_ += std::fabs(real_) >= std::fabs(value) ? (real_ - sum) + value : (value - sum) + real_;
  real_ = sum;
}

void Accumulator::merge(const Aggregate& aggregate, const Accumulator& other) {
  if (aggregate.distinct) {
    for (const auto& bytes : other.distinct_) {
      if (!distinct_.insert(bytes).second || !gathers(aggregate)) continue;
      std::string_view rest = bytes;
      Value value;
      sql::take_bytes(rest, aggregate.argument->type, value);
      add_once(aggregate, value);
    }
    return;
  }
  if (aggregate.kind == AggregateKind::kUser) return user_.merge(other.user_);
  count_ += other.count_;
  overflow_ = overflow_ || other.overflow_;
  if (sums(aggregate.kind)) {
    const bool decimal = aggregate.argument->type.kind == Kind::kDecimal;
    const auto sum = decimal ? added(sum_, other.sum_) : sum_ + other.sum_;
    if (sum) sum_ = *sum;
    overflow_ = overflow_ || !sum;
    add_real(other.real_);
    lost_ += other.lost_;
  } else if (is_of_reals(aggregate.kind)) {
    total_ += other.total_;
    squares_ += other.squares_;
    for (const auto& [number, count] : other.numbers_)
      numbers_[number] += count;
  } else if (aggregate.kind == AggregateKind::kArrayAgg) {
    extreme_.text += other.extreme_.text;
    extreme_.null = extreme_.null && other.extreme_.null;
    overflow_ = overflow_ || extreme_.text.size() > kMaxListBytes;
  } else if (aggregate.kind >= AggregateKind::kFirst) {
    if (!other.extreme_.null) add_ordered(aggregate, other.extreme_);
  } else if (has_extreme(aggregate.kind) && !other.extreme_.null) {
    const int order =
        extreme_.null ? 0 : compare(other.extreme_, extreme_, aggregate.argument->type);
    const bool better = aggregate.kind == AggregateKind::kMin ? order < 0 : order > 0;
    if (extreme_.null || better) extreme_ = other.extreme_;
  }
}

Value Accumulator::variance(AggregateKind kind) const {
  const bool sample = kind == AggregateKind::kVarSamp || kind == AggregateKind::kStddevSamp;
  if (count_ < (sample ? 2 : 1)) return {};
  const Real128 count = static_cast<Real128>(count_);
  const Real128 squares = squares_ - total_ * total_ / count;
  const double variance = static_cast<double>(squares / (sample ? count - 1 : count));
  const double positive = variance < 0 ? 0 : variance;  // What roundings left of 0. NaN stays.
  const bool root = kind == AggregateKind::kStddevPop || kind == AggregateKind::kStddevSamp;
  return Value::of_real(root ? std::sqrt(positive) : positive);
}

// Of n values in their order the one at fraction * (n - 1), counted from 0; between two of them
// what lies between, in proportion.
Value Accumulator::percentile(double fraction) const {
  if (count_ == 0) return {};
  const double place = fraction * static_cast<double>(count_ - 1);
  const double below = std::floor(place);
  auto skip = static_cast<std::int64_t>(below);
  auto at = numbers_.begin();
  while (skip >= at->second)
    skip -= at++->second;
  const double low = at->first;
  if (place == below) return Value::of_real(low);
  const double high = skip + 1 < at->second ? low : std::next(at)->first;
  return Value::of_real(low == high ? low : low + (high - low) * (place - below));
}

Result<Value> Accumulator::further_result(const Aggregate& aggregate) const {
  switch (aggregate.kind) {
    case AggregateKind::kPercentile: return percentile(aggregate.parameter.real);
    case AggregateKind::kListAgg:
      if (overflow_) return error_at(aggregate.at, kListTooLong);
      return extreme_;
    case AggregateKind::kArrayAgg: {
      if (overflow_) return error_at(aggregate.at, "an array of ARRAY_AGG is longer than 16 MiB");
      if (count_ == 0) return Value();
      NestedWriter writer(aggregate.type);
      std::string_view rest = extreme_.text;
      Value element;
      while (!rest.empty() && sql::take_bytes(rest, aggregate.argument->type, element))
        writer.add(element);
      return writer.take();
    }
    case AggregateKind::kLag: {
      const auto back = static_cast<std::size_t>(aggregate.parameter.number);
      return recent_.size() > back ? recent_[recent_.size() - 1 - back] : Value();
    }
    case AggregateKind::kUser: {
      auto value = user_.result(*aggregate.user);
      if (!value) return error_at(aggregate.at, value.error().detail);
      return value;
    }
    case AggregateKind::kSingle:
      if (count_ > 1) return error_at(aggregate.at, kMoreThanOneRow);
      return extreme_;
    case AggregateKind::kFirst:
    case AggregateKind::kLast: return extreme_;
    default: return variance(aggregate.kind);
  }
}

Result<Value> Accumulator::result(const Aggregate& aggregate) const {
  if (aggregate.distinct && !gathers(aggregate)) {
    Aggregate plain;
    plain.kind = aggregate.kind;
    plain.argument = clone(*aggregate.argument);
    plain.type = aggregate.type;
    plain.parameter = aggregate.parameter;
    plain.user = aggregate.user;
    plain.at = aggregate.at;
    Accumulator gathered;
    for (const auto& bytes : distinct_) {
      std::string_view rest = bytes;
      Value value;
      sql::take_bytes(rest, plain.argument->type, value);
      gathered.add_once(plain, value);
    }
    return gathered.result(plain);
  }
  if (!is_basic(aggregate.kind)) return further_result(aggregate);
  switch (aggregate.kind) {
    case AggregateKind::kCountRows:
    case AggregateKind::kCount: return Value::of(count_);
    case AggregateKind::kMin:
    case AggregateKind::kMax: return extreme_;
    default: break;
  }
  if (count_ == 0) return Value();
  if (overflow_) return error_at(aggregate.at, "the sum has more than 38 digits");
  const bool average = aggregate.kind == AggregateKind::kAverage;
  if (aggregate.type.is_real()) {
    const double sum = real_ + lost_;
    const double real = average ? sum / static_cast<double>(count_) : sum;
    const bool single = aggregate.type.kind == Kind::kFloat;
    return Value::of_real(single ? static_cast<double>(static_cast<float>(real)) : real);
  }
  if (aggregate.type.is_integer())
    return Value::of(wrapped(average ? sum_ / count_ : sum_, aggregate.type.kind));
  if (!average) return Value::of(sum_);
  const auto quotient =
      divided(sum_, count_, aggregate.type.scale - aggregate.argument->type.scale);
  if (!quotient) return error_at(aggregate.at, "the average has more than 38 digits");
  return Value::of(*quotient);
}

void Accumulator::append_bytes(const Aggregate& aggregate, std::string& bytes) const {
  if (aggregate.distinct) {
    append(static_cast<std::uint64_t>(distinct_.size()), bytes);
    for (const auto& value : distinct_) {
      append(static_cast<std::uint32_t>(value.size()), bytes);
      bytes += value;
    }
    return;
  }
  if (aggregate.kind == AggregateKind::kUser) return user_.append_bytes(bytes);
  append(count_, bytes);
  if (!is_basic(aggregate.kind)) return append_further(aggregate, bytes);
  if (sums(aggregate.kind)) {
    if (aggregate.argument->type.is_real()) {
      append(real_, bytes);
      append(lost_, bytes);
    } else {
      append(sum_, bytes);
      append(static_cast<std::uint8_t>(overflow_), bytes);
    }
  } else if (has_extreme(aggregate.kind)) {
    append_exact_bytes(extreme_, aggregate.argument->type, bytes);
  }
}

void Accumulator::append_further(const Aggregate& aggregate, std::string& bytes) const {
  if (is_variance(aggregate.kind)) {
    append(total_, bytes);
    append(squares_, bytes);
  } else if (aggregate.kind == AggregateKind::kPercentile) {
    append(static_cast<std::uint64_t>(numbers_.size()), bytes);
    for (const auto& [number, count] : numbers_) {
      append(number, bytes);
      append(count, bytes);
    }
  } else if (aggregate.kind == AggregateKind::kLag) {
    append(static_cast<std::uint64_t>(recent_.size()), bytes);
    for (const auto& value : recent_)
      append_exact_bytes(value, aggregate.type, bytes);
  } else {
    const bool array = aggregate.kind == AggregateKind::kArrayAgg;
    append(static_cast<std::uint8_t>(overflow_), bytes);
    append_exact_bytes(extreme_, array ? kStringType : aggregate.argument->type, bytes);
  }
}

bool Accumulator::take_further(const Aggregate& aggregate, std::string_view& bytes) {
  if (is_variance(aggregate.kind)) return take(bytes, total_) && take(bytes, squares_);
  std::uint64_t size = 0;
  if (aggregate.kind == AggregateKind::kPercentile) {
    if (!take(bytes, size)) return false;
    std::int64_t all = 0;
    for (; size > 0; --size) {
      double number = 0;
      std::int64_t count = 0;
      if (!take(bytes, number) || !take(bytes, count) || count < 1) return false;
      if (!numbers_.emplace(number, count).second || count > count_ - all) return false;
      all += count;
    }
    return all == count_;
  }
  if (aggregate.kind == AggregateKind::kLag) {
    if (!take(bytes, size) || size > bytes.size()) return false;
    recent_.resize(size);
    for (auto& value : recent_)
      if (!sql::take_bytes(bytes, aggregate.type, value)) return false;
    return true;
  }
  std::uint8_t overflow = 0;
  if (!take(bytes, overflow)) return false;
  overflow_ = overflow != 0;
  if (aggregate.kind == AggregateKind::kArrayAgg)
    return sql::take_bytes(bytes, kStringType, extreme_) && are_elements(aggregate);
  return sql::take_bytes(bytes, aggregate.argument->type, extreme_);
}

// Of ARRAY_AGG: the bytes are `count_` values.
bool Accumulator::are_elements(const Aggregate& aggregate) const {
  std::string_view rest = extreme_.text;
  Value element;
  std::int64_t count = 0;
  for (; !rest.empty(); ++count) {
    if (!sql::take_bytes(rest, aggregate.argument->type, element)) return false;
  }
  return count == count_;
}

bool Accumulator::take_bytes(const Aggregate& aggregate, std::string_view& bytes) {
  *this = Accumulator();
  if (aggregate.distinct) {
    std::uint64_t count = 0;
    if (!take(bytes, count)) return false;
    for (; count > 0; --count) {
      std::uint32_t size = 0;
      if (!take(bytes, size) || bytes.size() < size) return false;
      std::string_view rest = bytes.substr(0, size);
      const bool fresh = distinct_.emplace(rest).second;
      Value value;
      if (!sql::take_bytes(rest, aggregate.argument->type, value) || !rest.empty()) return false;
      if (fresh && gathers(aggregate)) add_once(aggregate, value);
      bytes.remove_prefix(size);
    }
    return true;
  }
  if (aggregate.kind == AggregateKind::kUser) return user_.take_bytes(*aggregate.user, bytes);
  if (!take(bytes, count_)) return false;
  if (!is_basic(aggregate.kind)) return take_further(aggregate, bytes);
  if (sums(aggregate.kind)) {
    if (aggregate.argument->type.is_real()) return take(bytes, real_) && take(bytes, lost_);
    std::uint8_t overflow = 0;
    if (!take(bytes, sum_) || !take(bytes, overflow)) return false;
    overflow_ = overflow != 0;
  } else if (has_extreme(aggregate.kind)) {
    return sql::take_bytes(bytes, aggregate.argument->type, extreme_);
  }
  return true;
}

}  // namespace holdfast::sql
