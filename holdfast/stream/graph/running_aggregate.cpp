#include "running_aggregate.hpp"

#include <holdfast/stream/graph/keys.hpp>

namespace holdfast::stream::graph {
namespace {

using sql::AggregateKind;

bool holds_values(const sql::Aggregate& aggregate, bool retracts) {
  return retracts && (aggregate.distinct || !sql::can_take_back(aggregate));
}

}  // namespace

void RunningAggregate::add(const sql::Aggregate& aggregate, bool retracts,
                           const sql::Value& value) {
  if (!holds_values(aggregate, retracts)) return sum_.add(aggregate, value);
  if (value.null) return;
  std::string bytes;
  sql::append_bytes(value, aggregate.argument->type, bytes);
  ++values_[std::move(bytes)];
}

void RunningAggregate::take_back(const sql::Aggregate& aggregate, const sql::Value& value) {
  if (!holds_values(aggregate, true)) return sum_.take_back(aggregate, value);
  if (value.null) return;
  std::string bytes;
  sql::append_bytes(value, aggregate.argument->type, bytes);
  const auto found = values_.find(bytes);
  if (found != values_.end() && --found->second == 0) values_.erase(found);
}

Result<sql::Value> RunningAggregate::result(const sql::Aggregate& aggregate, bool retracts) const {
  if (!holds_values(aggregate, retracts)) return sum_.result(aggregate);
  sql::Accumulator all;
  sql::Value value;
  for (const auto& [bytes, count] : values_) {
    std::string_view rest = bytes;
    sql::take_bytes(rest, aggregate.argument->type, value);
    for (std::int64_t i = 0; i < (aggregate.distinct ? 1 : count); ++i)
      all.add(aggregate, value);
  }
  return all.result(aggregate);
}

void RunningAggregate::append_bytes(const sql::Aggregate& aggregate, bool retracts,
                                    std::string& bytes) const {
  if (!holds_values(aggregate, retracts)) return sum_.append_bytes(aggregate, bytes);
  append_ordered(static_cast<std::int64_t>(values_.size()), bytes);
  for (const auto& [value, count] : values_) {
    append_part(value, bytes);
    append_ordered(count, bytes);
  }
}

bool RunningAggregate::take_bytes(const sql::Aggregate& aggregate, bool retracts,
                                  std::string_view& bytes) {
  if (!holds_values(aggregate, retracts)) return sum_.take_bytes(aggregate, bytes);
  if (bytes.size() < 8) return false;
  for (auto count = take_ordered(bytes); count > 0; --count) {
    std::string_view part;
    if (!take_part(bytes, part) || bytes.size() < 8) return false;
    values_[std::string(part)] = take_ordered(bytes);
  }
  return true;
}

}  // namespace holdfast::stream::graph
