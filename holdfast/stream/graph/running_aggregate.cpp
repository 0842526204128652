#include "running_aggregate.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <holdfast/base/mutant.hpp>
#include <holdfast/stream/graph/keys.hpp>

namespace holdfast::stream::graph {
namespace {

using sql::AggregateKind;

bool is_extreme(const sql::Aggregate& aggregate) {
  return aggregate.kind == AggregateKind::kMin || aggregate.kind == AggregateKind::kMax;
}

// Of values that are held, each of which counts once: the sum is kept beside them.
bool subtracts(const sql::Aggregate& aggregate) {
  return aggregate.distinct && !is_extreme(aggregate) && sql::gathers(aggregate);
}

query::Text as_text(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view as_view(query::Text text) { return {text.data, text.size}; }

template <class T>
bool take_number(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

// Where the number of values would stand.
constexpr std::int64_t kInParts = -1;

bool is_value(const sql::Aggregate& aggregate, std::string_view bytes, sql::Value& value) {
  return sql::take_bytes(bytes, aggregate.argument->type, value) && bytes.empty();
}

sql::Value value_of(const sql::Aggregate& aggregate, std::string_view bytes) {
  sql::Value value;
  sql::take_bytes(bytes, aggregate.argument->type, value);
  return value;
}

}  // namespace

bool RunningAggregate::holds_values(const sql::Aggregate& aggregate, bool retracts) {
  if (retracts) return aggregate.distinct || !sql::can_take_back(aggregate);
  return aggregate.distinct && (sql::is_basic(aggregate.kind) || sql::is_of_reals(aggregate.kind));
}

bool RunningAggregate::any_holds_values(const std::vector<sql::Aggregate>& aggregates,
                                        bool retracts) {
  return std::any_of(aggregates.begin(), aggregates.end(),
                     [&](const sql::Aggregate& one) { return holds_values(one, retracts); });
}

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
  const auto [place, fresh] = values_of(aggregate).try_emplace(std::move(bytes), 0);
  if (!fresh && !retracts) return;  // It counts once, and stays.
  if (fresh) value_bytes_ += place->first.size();
  note(place->first, 1);
  if (++place->second == 1 && subtracts(aggregate)) sum_.add_once(aggregate, value);
}

void RunningAggregate::take_back(const sql::Aggregate& aggregate, const sql::Value& value) {
  if (!holds_values(aggregate, true)) return sum_.take_back(aggregate, value);
  if (value.null) return;
  std::string bytes;
  sql::append_bytes(value, aggregate.argument->type, bytes);
  const auto found = values_.find(bytes);
  if (found == values_.end()) return;
  note(found->first, -1);
  if (--found->second != 0) return;
  erase(found);
  if (subtracts(aggregate)) sum_.take_back(aggregate, value);
}

void RunningAggregate::erase(Values::iterator place) {
  value_bytes_ -= place->first.size();
  values_.erase(place);
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

// Of values that may go, how many there are, then each with how often it is there. Of others, as
// sql::Accumulator writes DISTINCT. No number of values: they are in parts, and how many these are.
void RunningAggregate::append_bytes(const sql::Aggregate& aggregate, bool retracts, bool whole,
                                    std::string& bytes) const {
  if (!holds_values(aggregate, retracts)) return sum_.append_bytes(aggregate, bytes);
  if (parts_ != nullptr && !whole) {
    retracts ? append_ordered(kInParts, bytes) : query::append_raw(kInParts, bytes);
    return query::append_raw(parts_->count(), bytes);
  }
  std::vector<const Values::value_type*> by_bytes;
  for (const auto& value : values_)
    by_bytes.push_back(&value);
  std::sort(by_bytes.begin(), by_bytes.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  const auto count = static_cast<std::int64_t>(values_.size());
  retracts ? append_ordered(count, bytes) : query::append_raw(count, bytes);
  for (const auto* value : by_bytes) {
    if (retracts) {
      append_part(value->first, bytes);
      append_ordered(value->second, bytes);
    } else {
      query::append_raw(static_cast<std::uint32_t>(value->first.size()), bytes);
      bytes += value->first;
    }
  }
}

bool RunningAggregate::take_bytes(const sql::Aggregate& aggregate, bool retracts,
                                  std::string_view& bytes) {
  if (!holds_values(aggregate, retracts)) return sum_.take_bytes(aggregate, bytes);
  std::int64_t count = 0;
  if (bytes.size() < 8) return false;
  if (retracts)
    count = take_ordered(bytes);
  else if (!take_number(bytes, count))
    return false;
  if (count == kInParts) {
    std::uint32_t parts = 0;
    if (!take_number(bytes, parts)) return false;
    parts_ = std::make_unique<query::ValueParts>();
    parts_->expect(parts);
    return true;
  }
  for (; count > 0; --count) {
    std::string_view part;
    std::int64_t times = 1;
    if (retracts) {
      if (!graph::take_part(bytes, part) || bytes.size() < 8) return false;
      times = take_ordered(bytes);
      if (times < 1 || !sql::is_summable(times)) return false;
    } else {
      std::uint32_t size = 0;
      if (!take_number(bytes, size) || bytes.size() < size) return false;
      part = bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
    sql::Value value;
    if (!is_value(aggregate, part, value)) return false;
    const bool fresh = values_of(aggregate).insert_or_assign(std::string(part), times).second;
    if (fresh) value_bytes_ += part.size();
    if (fresh && subtracts(aggregate)) sum_.add_once(aggregate, value);
  }
  return true;
}

// ---- Parts ----

std::uint64_t RunningAggregate::held_bytes() const {
  constexpr std::uint64_t kNode = 112;  // Of a value, with what the memory for it takes.
  return kNode * values_.size() + value_bytes_ + (parts_ == nullptr ? 0 : parts_->bytes());
}

void RunningAggregate::note(const std::string& value, std::int64_t change) {
  if (parts_ != nullptr) parts_->note(as_text(value), change);
}

bool RunningAggregate::put_parts(const sql::Aggregate& aggregate, bool retracts, PutPart put,
                                 ErasePart erase) {
  if (!holds_values(aggregate, retracts)) return true;
  if (parts_ == nullptr) {
    if (values_.size() <= query::ValueParts::kMostWhole) return true;
    parts_ = std::make_unique<query::ValueParts>();
  }
  const auto all = [this](const auto& visit) {
    for (const auto& [bytes, times] : values_)
      visit(as_text(bytes), times);
  };
  const auto put_text = [&](std::int64_t number, query::Text part, query::Mark& mark) {
    return put(number, as_view(part), mark);
  };
  return parts_->put(values_.size(), all, put_text, erase);
}

void RunningAggregate::for_each_part(ErasePart visit) const {
  if (parts_ != nullptr) parts_->for_each(visit);
}

bool RunningAggregate::take_part(const sql::Aggregate& aggregate, std::int64_t number,
                                 std::string_view part, std::uint64_t version) {
  if (parts_ == nullptr) return false;
  return parts_->take(number, as_text(part), version, [&](query::Text text, std::int64_t by) {
    sql::Value value;
    if (!is_value(aggregate, as_view(text), value)) return false;
    // Below 0 until another part comes.
    const auto [place, fresh] = values_of(aggregate).try_emplace(std::string(as_view(text)), 0);
    if (fresh) value_bytes_ += text.size;
    if (__builtin_add_overflow(place->second, by, &place->second)) return false;
    if (place->second == 0) erase(place);
    return true;
  });
}

bool RunningAggregate::end_parts(const sql::Aggregate& aggregate, bool keeps) {
  if (parts_ == nullptr) return true;
  if (!HF_MUTANT("ST45", parts_->end_taking(), (parts_->end_taking(), true))) return false;
  for (const auto& [bytes, times] : values_) {
    if (HF_MUTANT("ST44", times < 0, false) || !sql::is_summable(times)) return false;
    if (subtracts(aggregate)) sum_.add_once(aggregate, value_of(aggregate, bytes));
  }
  if (!keeps) parts_.reset();
  return true;
}

}  // namespace holdfast::stream::graph
