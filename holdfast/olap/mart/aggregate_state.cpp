#include <holdfast/olap/mart/aggregate_state.hpp>

#include <cmath>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/schema.hpp>
#include <holdfast/olap/mart/word_text.hpp>

namespace holdfast::olap::mart {

using sql::AggregateKind;

AggregateState::Kind AggregateState::kind_of(const sql::Aggregate& aggregate) {
  if (aggregate.kind == AggregateKind::kCountRows || aggregate.kind == AggregateKind::kCount)
    return Kind::kCount;
  const auto form = form_of(aggregate.argument->type);
  if (aggregate.kind == AggregateKind::kSum || aggregate.kind == AggregateKind::kAverage)
    return form == Form::kReals ? Kind::kReal : Kind::kExact;
  if (form == Form::kTexts) return Kind::kText;
  return form == Form::kWide ? Kind::kWideExtreme : Kind::kExtreme;
}

AggregateState::AggregateState(const sql::Aggregate& aggregate, Form form)
    : aggregate_(&aggregate), kind_(kind_of(aggregate)), form_(form) {
  if (aggregate.distinct) distinct_.emplace(form_);
}

void AggregateState::grow(std::size_t count) {
  counts_.resize(count);
  if (kind_ == Kind::kExact || kind_ == Kind::kWideExtreme) sums_.resize(count);
  if (kind_ == Kind::kReal) reals_.resize(count), lost_.resize(count);
  if (kind_ == Kind::kExtreme) extremes_.resize(count);
  if (kind_ == Kind::kText) texts_.resize(count);
}

// What a rounding drops is kept, so that the order of the rows does not show in the printed digits.
void AggregateState::add_real(std::size_t group, double value) {
  auto& real = reals_[group];
  const double sum = real + value;
  if (std::isfinite(sum))
    lost_[group] +=
        std::fabs(real) >= std::fabs(value) ? (real - sum) + value : (value - sum) + real;
  real = sum;
}

void AggregateState::add_extreme(std::size_t group, std::int64_t value) {
  if (counts_[group]++ == 0 || better(value, extremes_[group])) extremes_[group] = value;
}

void AggregateState::add_wide_extreme(std::size_t group, sql::Int128 value) {
  if (counts_[group]++ == 0 || better(value, sums_[group])) sums_[group] = value;
}

void AggregateState::add_text(std::size_t group, std::string_view value) {
  auto& text = texts_[group];
  if (counts_[group]++ == 0 || better(value, std::string_view(text))) text = value;
}

void AggregateState::add_value(std::size_t group, const Vector& values, std::size_t row) {
  switch (kind_) {
    case Kind::kExact:
      if (form_ == Form::kNumbers)
        sums_[group] += values.numbers[row];
      else
        overflow_ |= __builtin_add_overflow(sums_[group], values.wide[row], &sums_[group]);
      ++counts_[group];
      break;
    case Kind::kReal:
      add_real(group, values.reals[row]);
      ++counts_[group];
      break;
    case Kind::kExtreme:
      add_extreme(group, form_ == Form::kReals ? word_of(values.reals[row]) : values.numbers[row]);
      break;
    case Kind::kWideExtreme: add_wide_extreme(group, values.wide[row]); break;
    case Kind::kText: add_text(group, values.texts[row]); break;
    case Kind::kCount: ++counts_[group]; break;
  }
}

void AggregateState::add(std::span<const std::uint32_t> groups, const Vector* values) {
  if (values == nullptr) {
    for (const auto group : groups)
      ++counts_[group];
    return;
  }
  const bool nulls = !values->null.empty();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (nulls && values->null[i] != 0) continue;
    if (distinct_ && !HF_MUTANT("O32", distinct_->add(groups[i], *values, i), true)) continue;
    add_value(groups[i], *values, i);
  }
}

void AggregateState::merge(const AggregateState& other, std::span<const std::uint32_t> to) {
  overflow_ |= other.overflow_;
  if (other.distinct_) {
    std::vector<std::uint32_t> groups;
    Vector values;
    other.distinct_->list(groups, values);
    for (auto& group : groups)
      group = HF_MUTANT("O35", to[group], group);
    return add(groups, &values);
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto group = to[i];
    if (other.counts_[i] == 0) continue;
    const bool first = HF_MUTANT("O36", counts_[group] == 0, false);
    switch (kind_) {
      case Kind::kExtreme:
        if (first || better(other.extremes_[i], extremes_[group]))
          extremes_[group] = other.extremes_[i];
        break;
      case Kind::kWideExtreme:
        if (first || better(other.sums_[i], sums_[group])) sums_[group] = other.sums_[i];
        break;
      case Kind::kText:
        if (first || better(other.texts_[i], texts_[group])) texts_[group] = other.texts_[i];
        break;
      case Kind::kExact:
        overflow_ |= __builtin_add_overflow(sums_[group], other.sums_[i], &sums_[group]);
        break;
      case Kind::kReal:
        add_real(group, other.reals_[i]);
        lost_[group] += HF_MUTANT("O37", other.lost_[i], 0);
        break;
      case Kind::kCount: break;
    }
    counts_[group] += other.counts_[i];
  }
}

Result<sql::Value> AggregateState::exact_result(std::size_t group) const {
  const auto& type = aggregate_->type;
  const auto sum = sums_[group];
  const bool average = aggregate_->kind == AggregateKind::kAverage;
  const auto too_large = [&] {
    return sql::error_at(aggregate_->at, "the sum does not fit " + sql::name_of(type),
                         "SUM(CAST(… AS DECIMAL(38, 0))) holds more");
  };
  if (overflow_ || !sql::fits(sum, sql::kMaxDigits)) return too_large();
  if (type.is_integer()) {
    const auto value = average ? sum / counts_[group] : sum;
    if (HF_MUTANT("O26", sql::in_range(value, type.kind), true)) return sql::Value::of(value);
    return too_large();
  }
  if (!average) return sql::Value::of(sum);
  const auto quotient =
      sql::divided(sum, counts_[group], type.scale - aggregate_->argument->type.scale);
  if (!quotient) return too_large();
  return sql::Value::of(*quotient);
}

Result<sql::Value> AggregateState::result(std::size_t group) const {
  if (kind_ == Kind::kCount) return sql::Value::of(counts_[group]);
  if (counts_[group] == 0) return sql::Value();
  if (kind_ == Kind::kExtreme) return value_of_word(extremes_[group], aggregate_->argument->type);
  if (kind_ == Kind::kWideExtreme) return sql::Value::of(sums_[group]);
  if (kind_ == Kind::kText) return sql::Value::of_text(texts_[group]);
  if (kind_ == Kind::kExact) return exact_result(group);
  double real = reals_[group] + lost_[group];
  if (aggregate_->kind == AggregateKind::kAverage) real /= static_cast<double>(counts_[group]);
  const bool single = aggregate_->type.kind == sql::Kind::kFloat;
  return sql::Value::of_real(single ? static_cast<double>(static_cast<float>(real)) : real);
}

}  // namespace holdfast::olap::mart
