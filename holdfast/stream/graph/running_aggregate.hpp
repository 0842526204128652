// running_aggregate.hpp: an aggregate from which values can be taken back.
//
// COUNT, SUM and AVG subtract. What keeps one of its values (MIN, MAX), and what counts each value
// once (DISTINCT), holds its values and how often each is there; where no value is ever taken back
// it holds what sql::Accumulator does.
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
  sql::Accumulator sum_;
  std::map<std::string, std::int64_t> values_;  // By their bytes.
};

}  // namespace holdfast::stream::graph
