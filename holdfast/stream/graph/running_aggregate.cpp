#include "running_aggregate.hpp"

#include <algorithm>
#include <vector>

#include <holdfast/stream/graph/keys.hpp>

namespace holdfast::stream::graph {
namespace {

using sql::AggregateKind;

bool holds_values(const sql::Aggregate& aggregate, bool retracts) {
  return retracts && (aggregate.distinct || !sql::can_take_back(aggregate));
}

bool is_extreme(const sql::Aggregate& aggregate) {
  return aggregate.kind == AggregateKind::kMin || aggregate.kind == AggregateKind::kMax;
}

// Of values that are held, each of which counts once: the sum is kept beside them.
bool subtracts(const sql::Aggregate& aggregate) {
  return aggregate.distinct && !is_extreme(aggregate) && sql::gathers(aggregate);
}

sql::Value value_of(const sql::Aggregate& aggregate, std::string_view bytes) {
  sql::Value value;
  sql::take_bytes(bytes, aggregate.argument->type, value);
  return value;
}

}  // namespace

bool RunningAggregate::Order::operator()(const std::string& a, const std::string& b) const {
  if (aggregate == nullptr || !is_extreme(*aggregate)) return a < b;
  const int order =
      compare(value_of(*aggregate, a), value_of(*aggregate, b), aggregate->argument->type);
  if (order == 0) return a < b;
  return aggregate->kind == AggregateKind::kMin ? order < 0 : order > 0;
}

RunningAggregate::Values& RunningAggregate::values_of(const sql::Aggregate& aggregate) {
  if (values_.empty()) values_ = Values(Order{&aggregate});
  return values_;
}

void RunningAggregate::add(const sql::Aggregate& aggregate, bool retracts,
                           const sql::Value& value) {
  if (!holds_values(aggregate, retracts)) return sum_.add(aggregate, value);
  if (value.null) return;
  std::string bytes;
  sql::append_bytes(value, aggregate.argument->type, bytes);
  if (++values_of(aggregate)[std::move(bytes)] == 1 && subtracts(aggregate))
    sum_.add_once(aggregate, value);
}

void RunningAggregate::take_back(const sql::Aggregate& aggregate, const sql::Value& value) {
  if (!holds_values(aggregate, true)) return sum_.take_back(aggregate, value);
  if (value.null) return;
  std::string bytes;
  sql::append_bytes(value, aggregate.argument->type, bytes);
  const auto found = values_.find(bytes);
  if (found == values_.end() || --found->second != 0) return;
  values_.erase(found);
  if (subtracts(aggregate)) sum_.take_back(aggregate, value);
}

Result<sql::Value> RunningAggregate::result(const sql::Aggregate& aggregate, bool retracts) const {
  if (!holds_values(aggregate, retracts) || subtracts(aggregate)) return sum_.result(aggregate);
  if (is_extreme(aggregate))
    return values_.empty() ? sql::Value() : value_of(aggregate, values_.begin()->first);
  sql::Accumulator all;
  for (const auto& [bytes, count] : values_) {
    const auto value = value_of(aggregate, bytes);
    for (std::int64_t i = 0; i < (aggregate.distinct ? 1 : count); ++i)
      all.add(aggregate, value);
  }
  return all.result(aggregate);
}

void RunningAggregate::append_bytes(const sql::Aggregate& aggregate, bool retracts,
                                    std::string& bytes) const {
  if (!holds_values(aggregate, retracts)) return sum_.append_bytes(aggregate, bytes);
  std::vector<const Values::value_type*> by_bytes;
  for (const auto& value : values_)
    by_bytes.push_back(&value);
  std::sort(by_bytes.begin(), by_bytes.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  append_ordered(static_cast<std::int64_t>(values_.size()), bytes);
  for (const auto* value : by_bytes) {
    append_part(value->first, bytes);
    append_ordered(value->second, bytes);
  }
}

bool RunningAggregate::take_bytes(const sql::Aggregate& aggregate, bool retracts,
                                  std::string_view& bytes) {
  if (!holds_values(aggregate, retracts)) return sum_.take_bytes(aggregate, bytes);
  if (bytes.size() < 8) return false;
  for (auto count = take_ordered(bytes); count > 0; --count) {
    std::string_view part;
    if (!take_part(bytes, part) || bytes.size() < 8) return false;
    std::string_view rest = part;
    sql::Value value;
    if (!sql::take_bytes(rest, aggregate.argument->type, value) || !rest.empty()) return false;
    values_of(aggregate)[std::string(part)] = take_ordered(bytes);
    if (subtracts(aggregate)) sum_.add_once(aggregate, value);
  }
  return true;
}

}  // namespace holdfast::stream::graph
