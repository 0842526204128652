// running_aggregate.hpp: an aggregate from which values can be taken back.
//
// COUNT, SUM and AVG subtract. What keeps one of its values (MIN, MAX), and what counts each value
// once (DISTINCT), holds its values and how often each is there; where no value is ever taken back
// it holds what sql::Accumulator does.
//
// Costs  add() and take_back() O(log values), result() O(1). Where the result depends on the order
//        of the values (sql::gathers), and of variances of different values, result() is O(values).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/aggregate.hpp>

namespace holdfast::stream::graph {

class RunningAggregate {
 public:
  // Values may be taken back if `retracts`.
  void add(const sql::Aggregate& aggregate, bool retracts, const sql::Value& value);
  void take_back(const sql::Aggregate& aggregate, const sql::Value& value);
  Result<sql::Value> result(const sql::Aggregate& aggregate, bool retracts) const;

  void append_bytes(const sql::Aggregate& aggregate, bool retracts, std::string& bytes) const;
  bool take_bytes(const sql::Aggregate& aggregate, bool retracts, std::string_view& bytes);

 private:
  // Of MIN and MAX the value that is the result comes first.
  struct Order {
    const sql::Aggregate* aggregate = nullptr;
    bool operator()(const std::string& a, const std::string& b) const;
  };
  using Values = std::map<std::string, std::int64_t, Order>;

  Values& values_of(const sql::Aggregate& aggregate);

  sql::Accumulator sum_;
  Values values_;  // By their bytes.
};

}  // namespace holdfast::stream::graph
