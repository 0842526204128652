// aggregate.hpp: COUNT, SUM, MIN, MAX, AVG: their types, and what they have gathered so far.
//
// An Accumulator can be merged with one of other rows in any order, and be written as bytes: that
// is what state is made of. NULL is skipped; over nothing COUNT is 0 and the others NULL.
//
// Errors  add(), merge() never fail. result(): a sum of decimals beyond 38 digits; sums of
//         integers wrap in the type of the argument, as in Flink.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/expression.hpp>

namespace holdfast::sql {

enum class AggregateKind : std::uint8_t { kCountRows, kCount, kSum, kMin, kMax, kAverage };

struct Aggregate {
  AggregateKind kind = AggregateKind::kCountRows;
  bool distinct = false;
  ExpressionPointer argument;  // Null: COUNT(*).
  ExpressionPointer filter;    // Null: every row.
  Type type;                   // Of the result.
  Position at;
};

// kNull: there is no such aggregate of this argument.
Type aggregate_type(AggregateKind kind, const Type& argument);
std::string text_of(const Aggregate& aggregate, const std::vector<std::string>& names);
bool equal(const Aggregate& left, const Aggregate& right);

// Whether an Accumulator of it can take values back: it sums and counts, whatever the values were.
bool can_take_back(const Aggregate& aggregate);

class Accumulator {
 public:
  // `value` of the argument; anything of COUNT(*). The filter holds.
  void add(const Aggregate& aggregate, const Value& value);
  void merge(const Aggregate& aggregate, const Accumulator& other);
  // The reverse of add(), of a value that was added. can_take_back() holds.
  void take_back(const Aggregate& aggregate, const Value& value);
  Result<Value> result(const Aggregate& aggregate) const;

  void append_bytes(const Aggregate& aggregate, std::string& bytes) const;
  bool take_bytes(const Aggregate& aggregate, std::string_view& bytes);

 private:
  void add_once(const Aggregate& aggregate, const Value& value);
  void add_real(double value);

  std::int64_t count_ = 0;  // Values, without NULL.
  Int128 sum_ = 0;
  double real_ = 0, lost_ = 0;  // A sum of reals, and what its roundings lost.
  bool overflow_ = false;
  Value extreme_;
  std::set<std::string> distinct_;  // Bytes of the values; the rest is made of them at the end.
};

}  // namespace holdfast::sql
