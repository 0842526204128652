// aggregate_state.hpp: one aggregate of all groups, as one worker has gathered it.
//
// Sums of exact numbers have 128 bits, whatever the type; where the sum does not fit its type, the
// result is an error. Sums of reals keep what roundings lose. A DISTINCT aggregate is the plain one
// of the values that a group sees for the first time.
//
// What a group has gathered lies together, so that a row costs one miss for each aggregate.
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
  static constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

  // Values come in this form. The aggregate must outlive this.
  AggregateState(const sql::Aggregate& aggregate, Form form);

  // Groups up to `count`, which only grows.
  void grow(std::size_t count);
  // Addresses for so many, without memory, so that they need not move.
  void reserve(std::size_t count);
  // A row of each of these groups; `values` of the argument, null for COUNT(*).
  void add(std::span<const std::uint32_t> groups, const Vector* values);
  // Group i of the other is group to[i] here; kNoGroup: it is left out.
  void merge(const AggregateState& other, std::span<const std::uint32_t> to);
  // Errors: kInvalidOption: the value of one of these groups does not fit its type.
  Status check(std::span<const std::uint32_t> groups) const;
  // The values of these groups, as values `at` and on of `to`. Texts lie here. Errors: as check().
  Status results(std::span<const std::uint32_t> groups, Vector& to, std::size_t at) const;

 private:
  enum class Kind : std::uint8_t { kCount, kExact, kReal, kExtreme, kWideExtreme, kText };
  // What is gathered of a group; `count`: of values that are not NULL.
  struct Real {
    double sum = 0, lost = 0;
    std::int64_t count = 0;
    void add(double value);
  };
  template <class T>
  struct Counted {
    T value{};  // A sum, or an extreme.
    std::int64_t count = 0;
  };

  static Kind kind_of(const sql::Aggregate& aggregate);
  // use(states), the vector that has the groups.
  template <class Use>
  void with_states(Use use);
  template <class T, class Value>
  void take_extreme(Counted<T>& state, const Value& value, std::int64_t count) const;
  template <class Row>
  void add_rows(std::span<const std::uint32_t> groups, const Vector& values, std::size_t count,
                Row row_at);
  void merge_group(const AggregateState& other, std::size_t from, std::size_t to);
  Result<sql::Value> exact_result(const Counted<sql::Int128>& state) const;
  Result<sql::Value> result(std::size_t group) const;

  const sql::Aggregate* aggregate_;
  Kind kind_;
  Form form_;  // Of the argument.
  // One of these has the groups.
  std::vector<std::int64_t> counts_;
  std::vector<Counted<sql::Int128>> wide_;
  std::vector<Real> reals_;
  std::vector<Counted<std::int64_t>> words_;
  std::vector<Counted<std::string>> texts_;
  std::optional<DistinctValues> distinct_;
  std::vector<std::uint32_t> rows_;  // To be added; of the call at hand.
  bool overflow_ = false;
};

}  // namespace holdfast::olap::mart
