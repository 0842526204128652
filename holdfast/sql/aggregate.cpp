#include "aggregate.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

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

}  // namespace

Type aggregate_type(AggregateKind kind, const Type& argument) {
  switch (kind) {
    case AggregateKind::kCountRows:
    case AggregateKind::kCount: return kBigIntType;
    case AggregateKind::kMin:
    case AggregateKind::kMax: return argument.kind == Kind::kInterval ? Type{} : argument;
    case AggregateKind::kSum:
      if (argument.kind == Kind::kDecimal) return decimal_type(kMaxDigits, argument.scale);
      return argument.is_numeric() ? argument : Type{};
    case AggregateKind::kAverage:
      if (argument.kind == Kind::kDecimal) {
        return *arithmetic_type(Arithmetic::kDivide, decimal_type(kMaxDigits, argument.scale),
                                decimal_type(20, 0));
      }
      return argument.is_numeric() ? argument : Type{};
  }
  return {};
}

std::string text_of(const Aggregate& aggregate, const std::vector<std::string>& names) {
  static constexpr std::array<std::string_view, 6> kNames = {"COUNT", "COUNT", "SUM",
                                                             "MIN",   "MAX",   "AVG"};
  std::string text(kNames[static_cast<std::size_t>(aggregate.kind)]);
  text += aggregate.distinct ? "(DISTINCT " : "(";
  text += aggregate.argument == nullptr ? "*" : text_of(*aggregate.argument, names);
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
  return left.kind == right.kind && left.distinct == right.distinct &&
         same_tree(left.argument, right.argument) && same_tree(left.filter, right.filter);
}

bool can_take_back(const Aggregate& aggregate) {
  return !aggregate.distinct && !has_extreme(aggregate.kind);
}

void Accumulator::take_back(const Aggregate& aggregate, const Value& value) {
  if (aggregate.argument != nullptr && value.null) return;
  --count_;
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
  if (aggregate.argument != nullptr && value.null) return;
  if (!aggregate.distinct) return add_once(aggregate, value);
  std::string bytes;
  sql::append_bytes(value, aggregate.argument->type, bytes);
  distinct_.insert(std::move(bytes));
}

void Accumulator::add_once(const Aggregate& aggregate, const Value& value) {
  ++count_;
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
    distinct_.insert(other.distinct_.begin(), other.distinct_.end());
    return;
  }
  count_ += other.count_;
  overflow_ = overflow_ || other.overflow_;
  if (sums(aggregate.kind)) {
    const bool decimal = aggregate.argument->type.kind == Kind::kDecimal;
    const auto sum = decimal ? added(sum_, other.sum_) : sum_ + other.sum_;
    if (sum) sum_ = *sum;
    overflow_ = overflow_ || !sum;
    add_real(other.real_);
    lost_ += other.lost_;
  } else if (has_extreme(aggregate.kind) && !other.extreme_.null) {
    const int order =
        extreme_.null ? 0 : compare(other.extreme_, extreme_, aggregate.argument->type);
    const bool better = aggregate.kind == AggregateKind::kMin ? order < 0 : order > 0;
    if (extreme_.null || better) extreme_ = other.extreme_;
  }
}

Result<Value> Accumulator::result(const Aggregate& aggregate) const {
  if (aggregate.distinct) {
    Aggregate plain;
    plain.kind = aggregate.kind;
    plain.argument = clone(*aggregate.argument);
    plain.type = aggregate.type;
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
  append(count_, bytes);
  if (sums(aggregate.kind)) {
    if (aggregate.argument->type.is_real()) {
      append(real_, bytes);
      append(lost_, bytes);
    } else {
      append(sum_, bytes);
      append(static_cast<std::uint8_t>(overflow_), bytes);
    }
  } else if (has_extreme(aggregate.kind)) {
    sql::append_bytes(extreme_, aggregate.argument->type, bytes);
  }
}

bool Accumulator::take_bytes(const Aggregate& aggregate, std::string_view& bytes) {
  *this = Accumulator();
  if (aggregate.distinct) {
    std::uint64_t count = 0;
    if (!take(bytes, count)) return false;
    for (; count > 0; --count) {
      std::uint32_t size = 0;
      if (!take(bytes, size) || bytes.size() < size) return false;
      distinct_.emplace(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    return true;
  }
  if (!take(bytes, count_)) return false;
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
