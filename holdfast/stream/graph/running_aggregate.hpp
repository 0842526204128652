// running_aggregate.hpp: an aggregate from which values can be taken back.
//
// COUNT, SUM and AVG subtract. What keeps one of its values (MIN, MAX), and what counts each value
// once (DISTINCT), holds its values and how often each is there; where no value is ever taken back
// it holds what sql::Accumulator does.
//
// Many values go into parts of the state (compile/runtime/value_parts.hpp), which are written and
// taken beside the bytes of the aggregate.
//
// Costs  add() and take_back() O(log values), result() O(1). Where the result depends on the order
//        of the values (sql::gathers), and of variances of different values, result() is O(values).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/sql/aggregate.hpp>
#include <holdfast/stream/compile/runtime/value_parts.hpp>

namespace holdfast::stream::graph {

class RunningAggregate {
 public:
  // Whether each value is held: then these are in parts, where they are many.
  static bool holds_values(const sql::Aggregate& aggregate, bool retracts);
  // The same of any of these.
  static bool any_holds_values(const std::vector<sql::Aggregate>& aggregates, bool retracts);

  // Values may be taken back if `retracts`.
  void add(const sql::Aggregate& aggregate, bool retracts, const sql::Value& value);
  void take_back(const sql::Aggregate& aggregate, const sql::Value& value);
  Result<sql::Value> result(const sql::Aggregate& aggregate, bool retracts) const;
  // As that of sql::Accumulator.
  Status failure(const sql::Aggregate& aggregate) const { return sum_.failure(aggregate); }

  // `whole`: with the values that parts have.
  void append_bytes(const sql::Aggregate& aggregate, bool retracts, bool whole,
                    std::string& bytes) const;
  // False: the bytes are none of this aggregate. A value may be there more often than its group has
  // rows: where state ends when it is idle, a row may go that the group never saw.
  bool take_bytes(const sql::Aggregate& aggregate, bool retracts, std::string_view& bytes);

  // ---- Parts ----

  using PutPart = FunctionRef<bool(std::int64_t number, std::string_view part, query::Mark&)>;
  using ErasePart = FunctionRef<void(std::int64_t number, const query::Mark&)>;

  bool has_parts() const { return parts_ != nullptr; }
  // About, in memory, of values.
  std::uint64_t held_bytes() const;
  // A checkpoint, before append_bytes(). False: put() said so.
  bool put_parts(const sql::Aggregate& aggregate, bool retracts, PutPart put, ErasePart erase);
  void for_each_part(ErasePart visit) const;
  // Called after take_bytes(). False: it is no part of this aggregate.
  bool take_part(const sql::Aggregate& aggregate, std::int64_t number, std::string_view part,
                 std::uint64_t version);
  // Called after the last part. `keeps`: parts are written on. False: some are missing.
  bool end_parts(const sql::Aggregate& aggregate, bool keeps);

 private:
  // Of MIN and MAX the value that is the result comes first.
  struct Order {
    const sql::Aggregate* aggregate = nullptr;
    bool operator()(const std::string& a, const std::string& b) const;
  };
  using Values = std::map<std::string, std::int64_t, Order>;

  Values& values_of(const sql::Aggregate& aggregate);
  void erase(Values::iterator place);
  void note(const std::string& value, std::int64_t change);

  sql::Accumulator sum_;
  Values values_;                  // By their bytes.
  std::uint64_t value_bytes_ = 0;  // Of these.
  std::unique_ptr<query::ValueParts> parts_;
};

}  // namespace holdfast::stream::graph
