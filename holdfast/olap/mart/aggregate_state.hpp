// aggregate_state.hpp: one aggregate of all groups, as one worker has gathered it.
//
// Sums of exact numbers have 128 bits, whatever the type; where the sum does not fit its type, the
// result is an error. Sums of reals keep what roundings lose. A DISTINCT aggregate is the plain one
// of the values that a group sees for the first time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/distinct_values.hpp>
#include <holdfast/olap/mart/vector.hpp>
#include <holdfast/sql/aggregate.hpp>

namespace holdfast::olap::mart {

class AggregateState {
 public:
  // Values come in this form. The aggregate must outlive this.
  AggregateState(const sql::Aggregate& aggregate, Form form);

  // Groups up to `count`, which only grows.
  void grow(std::size_t count);
  // A row of each of these groups; `values` of the argument, null for COUNT(*).
  void add(std::span<const std::uint32_t> groups, const Vector* values);
  // Group i of the other is group to[i] here.
  void merge(const AggregateState& other, std::span<const std::uint32_t> to);
  // Errors: kInvalidOption: it does not fit its type.
  Result<sql::Value> result(std::size_t group) const;

 private:
  enum class Kind : std::uint8_t { kCount, kExact, kReal, kExtreme, kWideExtreme, kText };
  static Kind kind_of(const sql::Aggregate& aggregate);
  // Of MIN and MAX.
  template <class T>
  bool better(const T& value, const T& than) const {
    return aggregate_->kind == sql::AggregateKind::kMin ? value < than : value > than;
  }
  void add_real(std::size_t group, double value);
  void add_extreme(std::size_t group, std::int64_t value);
  void add_wide_extreme(std::size_t group, sql::Int128 value);
  void add_text(std::size_t group, std::string_view value);
  void add_value(std::size_t group, const Vector& values, std::size_t row);
  Result<sql::Value> exact_result(std::size_t group) const;

  const sql::Aggregate* aggregate_;
  Kind kind_;
  Form form_;  // Of the argument.
  std::vector<std::int64_t> counts_;
  std::vector<sql::Int128> sums_;  // Of wide extremes: these.
  std::vector<double> reals_, lost_;
  std::vector<std::int64_t> extremes_;  // Words.
  std::vector<std::string> texts_;
  std::optional<DistinctValues> distinct_;
  bool overflow_ = false;
};

}  // namespace holdfast::olap::mart
