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

template <class Use>
void AggregateState::with_states(Use use) {
  switch (kind_) {
    case Kind::kCount: return use(counts_);
    case Kind::kExact:
    case Kind::kWideExtreme: return use(wide_);
    case Kind::kReal: return use(reals_);
    case Kind::kExtreme: return use(words_);
    case Kind::kText: return use(texts_);
  }
}

void AggregateState::grow(std::size_t count) {
  with_states([&](auto& states) { states.resize(count); });
}
void AggregateState::reserve(std::size_t count) {
  with_states([&](auto& states) { reserve_large(states, count); });
}

// What a rounding drops is kept, so that the order of the rows does not show in the printed digits.
void AggregateState::Real::add(double value) {
  const double more = sum + value;
  if (std::isfinite(more))
    lost += std::fabs(sum) >= std::fabs(value) ? (sum - more) + value : (value - more) + sum;
  sum = more;
}

// `count` values, of which this is the best.
template <class T, class Value>
void AggregateState::take_extreme(Counted<T>& state, const Value& value, std::int64_t count) const {
  const Value known = state.value;
  const bool better = aggregate_->kind == AggregateKind::kMin ? value < known : value > known;
  if (HF_MUTANT("O36", state.count == 0, false) || better) state.value = value;
  state.count += count;
}

template <class Row>
void AggregateState::add_rows(std::span<const std::uint32_t> groups, const Vector& values,
                              std::size_t count, Row row_at) {
  const auto each = [&](auto& states, const auto& add) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = row_at(i);
      add(states[groups[row]], row);
    }
  };
  switch (kind_) {
    case Kind::kCount: return each(counts_, [](auto& state, std::size_t) { ++state; });
    case Kind::kExact:
      if (form_ == Form::kNumbers)
        return each(wide_, [&](auto& state, std::size_t row) {
          state.value += values.numbers[row];
          ++state.count;
        });
      return each(wide_, [&](auto& state, std::size_t row) {
        overflow_ |= __builtin_add_overflow(state.value, values.wide[row], &state.value);
        ++state.count;
      });
    case Kind::kReal:
      return each(reals_, [&](auto& state, std::size_t row) {
        state.add(values.reals[row]);
        ++state.count;
      });
    case Kind::kExtreme:
      if (form_ == Form::kReals)
        return each(words_, [&](auto& state, std::size_t row) {
          take_extreme(state, word_of(values.reals[row]), 1);
        });
      return each(words_, [&](auto& state, std::size_t row) {
        take_extreme(state, values.numbers[row], 1);
      });
    case Kind::kWideExtreme:
      return each(wide_,
                  [&](auto& state, std::size_t row) { take_extreme(state, values.wide[row], 1); });
    case Kind::kText:
      return each(texts_,
                  [&](auto& state, std::size_t row) { take_extreme(state, values.texts[row], 1); });
  }
}

void AggregateState::add(std::span<const std::uint32_t> groups, const Vector* values) {
  if (values == nullptr) {
    for (const auto group : groups)
      ++counts_[group];
    return;
  }
  if (values->null.empty() && !distinct_)
    return add_rows(groups, *values, groups.size(), [](std::size_t row) { return row; });
  rows_.clear();
  for (std::uint32_t row = 0; row < groups.size(); ++row) {
    if (!values->is_null(row)) rows_.push_back(row);
  }
  if (distinct_) distinct_->keep_new(groups, *values, rows_);
  add_rows(groups, *values, rows_.size(), [&](std::size_t i) { return rows_[i]; });
}

void AggregateState::merge_group(const AggregateState& other, std::size_t from, std::size_t to) {
  switch (kind_) {
    case Kind::kCount: counts_[to] += other.counts_[from]; break;
    case Kind::kExact:
      overflow_ |=
          __builtin_add_overflow(wide_[to].value, other.wide_[from].value, &wide_[to].value);
      wide_[to].count += other.wide_[from].count;
      break;
    case Kind::kReal:
      reals_[to].add(other.reals_[from].sum);
      reals_[to].lost += HF_MUTANT("O37", other.reals_[from].lost, 0);
      reals_[to].count += other.reals_[from].count;
      break;
    case Kind::kExtreme: {
      const auto& theirs = other.words_[from];
      if (theirs.count != 0) take_extreme(words_[to], theirs.value, theirs.count);
      break;
    }
    case Kind::kWideExtreme: {
      const auto& theirs = other.wide_[from];
      if (theirs.count != 0) take_extreme(wide_[to], theirs.value, theirs.count);
      break;
    }
    case Kind::kText: {
      const auto& theirs = other.texts_[from];
      if (theirs.count != 0) take_extreme(texts_[to], std::string_view(theirs.value), theirs.count);
      break;
    }
  }
}

void AggregateState::merge(const AggregateState& other, std::span<const std::uint32_t> to) {
  overflow_ |= other.overflow_;
  if (!other.distinct_) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] != kNoGroup) merge_group(other, i, to[i]);
    }
    return;
  }
  std::vector<std::uint32_t> groups;
  Vector values;
  other.distinct_->list(groups, values);
  rows_.clear();
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    groups[i] = HF_MUTANT("O35", to[groups[i]], groups[i]);
    if (groups[i] != kNoGroup) rows_.push_back(i);
  }
  distinct_->keep_new(groups, values, rows_);
  add_rows(groups, values, rows_.size(), [&](std::size_t i) { return rows_[i]; });
}

Result<sql::Value> AggregateState::exact_result(const Counted<sql::Int128>& state) const {
  const auto& type = aggregate_->type;
  const auto sum = state.value;
  const bool average = aggregate_->kind == AggregateKind::kAverage;
  const auto too_large = [&] {
    return sql::error_at(aggregate_->at, "the sum does not fit " + sql::name_of(type),
                         "SUM(CAST(… AS DECIMAL(38, 0))) holds more");
  };
  if (overflow_ || !sql::fits(sum, sql::kMaxDigits)) return too_large();
  if (type.is_integer()) {
    const auto value = average ? sum / state.count : sum;
    if (HF_MUTANT("O26", sql::in_range(value, type.kind), true)) return sql::Value::of(value);
    return too_large();
  }
  if (!average) return sql::Value::of(sum);
  const auto quotient =
      sql::divided(sum, state.count, type.scale - aggregate_->argument->type.scale);
  if (!quotient) return too_large();
  return sql::Value::of(*quotient);
}

// Of any kind but texts.
Result<sql::Value> AggregateState::result(std::size_t group) const {
  if (kind_ == Kind::kCount) return sql::Value::of(counts_[group]);
  if (kind_ == Kind::kExtreme) {
    const auto& [word, count] = words_[group];
    return count == 0 ? sql::Value() : value_of_word(word, aggregate_->argument->type);
  }
  if (kind_ == Kind::kReal) {
    const auto& [sum, lost, count] = reals_[group];
    if (count == 0) return sql::Value();
    double real = sum + lost;
    if (aggregate_->kind == AggregateKind::kAverage) real /= static_cast<double>(count);
    const bool single = aggregate_->type.kind == sql::Kind::kFloat;
    return sql::Value::of_real(single ? static_cast<double>(static_cast<float>(real)) : real);
  }
  const auto& state = wide_[group];
  if (state.count == 0) return sql::Value();
  if (kind_ == Kind::kWideExtreme) return sql::Value::of(state.value);
  return exact_result(state);
}

Status AggregateState::check(std::span<const std::uint32_t> groups) const {
  if (kind_ != Kind::kExact) return {};
  for (const auto group : groups) {
    if (wide_[group].count != 0) HF_RETURN_IF_ERROR(exact_result(wide_[group]));
  }
  return {};
}

Status AggregateState::results(std::span<const std::uint32_t> groups, Vector& to,
                               std::size_t at) const {
  const auto form = form_of(aggregate_->type);
  for (const auto group : groups) {
    const auto row = at++;
    if (kind_ == Kind::kText) {
      to.texts[row] = texts_[group].value;
      if (texts_[group].count == 0) to.set_null(row);
      continue;
    }
    HF_ASSIGN_OR_RETURN(const auto value, result(group));
    to.set(form, row, value);
  }
  return {};
}

}  // namespace holdfast::olap::mart
