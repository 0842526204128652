// aggregate_state.hpp: one aggregate of all groups, as one worker has gathered it.
//
// Sums of exact numbers have 128 bits, whatever the type; where the sum does not fit its type, the
// result is an error. Sums of reals keep what roundings lose.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/vector.hpp>
#include <holdfast/sql/aggregate.hpp>

namespace holdfast::olap::mart {

class AggregateState {
 public:
  // The aggregate must outlive this.
  explicit AggregateState(const sql::Aggregate& aggregate);

  // Groups up to `count`, which only grows.
  void grow(std::size_t count);
  // A row of each of these groups; `values` of the argument, null for COUNT(*).
  void add(std::span<const std::uint32_t> groups, const Vector* values);
  // Group i of the other is group to[i] here.
  void merge(const AggregateState& other, std::span<const std::uint32_t> to);
  // Errors: kInvalidOption: it does not fit its type.
  Result<sql::Value> result(std::size_t group) const;

 private:
  enum class Kind : std::uint8_t { kCount, kExact, kReal, kExtreme, kAny };
  static Kind kind_of(const sql::Aggregate& aggregate);
  bool better(std::int64_t value, std::int64_t than) const {
    return aggregate_->kind == sql::AggregateKind::kMin ? value < than : value > than;
  }
  void add_real(std::size_t group, double value);
  void add_extreme(std::size_t group, std::int64_t value);
  void add_values(std::span<const std::uint32_t> groups, const Vector& values);
  Result<sql::Value> exact_result(std::size_t group) const;

  const sql::Aggregate* aggregate_;
  Kind kind_;
  Form form_ = Form::kNumbers;  // Of the argument.
  std::vector<std::int64_t> counts_;
  std::vector<sql::Int128> sums_;
  std::vector<double> reals_, lost_;
  std::vector<std::int64_t> extremes_;  // Words.
  std::vector<sql::Accumulator> any_;
  bool overflow_ = false;
};

}  // namespace holdfast::olap::mart
