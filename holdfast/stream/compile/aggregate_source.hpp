// aggregate_source.hpp: aggregates as C++ over runtime/aggregates.hpp and further_aggregates.hpp.
#pragma once

#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/compile/expression_source.hpp>

namespace holdfast::stream::compile {

// "StateOf<Count, SumOfIntegers<std::int64_t>>". `retracts`: values may be taken back. Errors:
// kUnsupported.
Result<std::string> state_type(const std::vector<sql::Aggregate>& aggregates, bool retracts,
                               QueryParts& parts);
// Statements that give a row's values to `state`, by add() or take_back(), a line each.
std::vector<std::string> gathering(const std::vector<sql::Aggregate>& aggregates,
                                   std::string_view verb, ExpressionSource& expressions);
// Lines that tell the source which aggregates of users it calls.
std::string user_aggregates_of(const QueryParts& parts);
// "KeyOf<std::int64_t, Text>".
std::string key_type(const std::vector<sql::ExpressionPointer>& keys);

Error not_compiled(const std::string& what);

}  // namespace holdfast::stream::compile
