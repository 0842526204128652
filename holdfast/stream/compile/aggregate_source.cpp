#include "aggregate_source.hpp"

#include <bit>
#include <optional>
#include <utility>

#include <holdfast/sql/nested_functions.hpp>
#include <holdfast/stream/compile/source_text.hpp>
#include <holdfast/stream/compile/user_aggregates.hpp>

namespace holdfast::stream::compile {
namespace {

using sql::AggregateKind;
using sql::Kind;

// The number of an error of its result.
std::string failure(const sql::Aggregate& aggregate, const char* what, QueryParts& parts) {
  parts.failures.push_back(sql::error_at(aggregate.at, what));
  return std::to_string(parts.failures.size() - 1);
}

std::string decimal_state(const sql::Aggregate& aggregate, QueryParts& parts) {
  const auto sum = failure(aggregate, "the sum has more than 38 digits", parts);
  if (aggregate.kind == AggregateKind::kSum) return "SumOfDecimals<" + sum + ">";
  const auto average = failure(aggregate, "the average has more than 38 digits", parts);
  const auto shift = aggregate.type.scale - aggregate.argument->type.scale;
  return "AverageOfDecimals<" + sum + ", " + average + ", " + std::to_string(shift) + ">";
}

// As the numbers of their bytes.
std::string bytes_of(std::string_view text) {
  std::string numbers;
  for (const char byte : text)
    numbers += ", " + std::to_string(static_cast<signed char>(byte));
  return numbers;
}

// Of other aggregates than COUNT, SUM, MIN, MAX and AVG.
Result<std::string> further_state(const sql::Aggregate& aggregate, QueryParts& parts) {
  constexpr std::size_t kMostSeparator = 256;
  const std::string cpp(cpp_type(aggregate.argument->type));
  switch (aggregate.kind) {
    case AggregateKind::kVarPop: return std::string("Variance<false, false>");
    case AggregateKind::kVarSamp: return std::string("Variance<true, false>");
    case AggregateKind::kStddevPop: return std::string("Variance<false, true>");
    case AggregateKind::kStddevSamp: return std::string("Variance<true, true>");
    case AggregateKind::kPercentile:
      return "Percentile<" +
             std::to_string(std::bit_cast<std::uint64_t>(aggregate.parameter.real)) + "u>";
    case AggregateKind::kFirst: return "EndValue<" + cpp + ", false>";
    case AggregateKind::kLast: return "EndValue<" + cpp + ", true>";
    case AggregateKind::kSingle:
      return "SingleValue<" + cpp + ", " + failure(aggregate, sql::kMoreThanOneRow, parts) + ">";
    case AggregateKind::kLag:
      return "LaggedValue<" + cpp + ", " +
             std::to_string(static_cast<std::int64_t>(aggregate.parameter.number)) + ">";
    case AggregateKind::kListAgg:
      if (aggregate.parameter.text.size() > kMostSeparator) break;
      return "ListOfTexts<" + failure(aggregate, sql::kListTooLong, parts) +
             bytes_of(aggregate.parameter.text) + ">";
    default: break;
  }
  return not_compiled(aggregate.kind == AggregateKind::kArrayAgg ? "ARRAY_AGG"
                                                                 : "such a long separator");
}

// Of values that stay, each as often as it comes.
std::string plain_state(const sql::Aggregate& aggregate, QueryParts& parts) {
  if (aggregate.kind == AggregateKind::kCount) return "Count";
  const auto& type = aggregate.argument->type;
  const std::string cpp(cpp_type(type));
  const bool average = aggregate.kind == AggregateKind::kAverage;
  if (aggregate.kind == AggregateKind::kMin || aggregate.kind == AggregateKind::kMax)
    return "Extreme<" + cpp + (aggregate.kind == AggregateKind::kMax ? ", true>" : ", false>");
  if (type.is_real()) {
    const bool single = aggregate.type.kind == Kind::kFloat;
    return std::string("SumOfReals<") + (single ? "true, " : "false, ") +
           (average ? "true>" : "false>");
  }
  if (type.is_integer()) return (average ? "AverageOfIntegers<" : "SumOfIntegers<") + cpp + ">";
  return decimal_state(aggregate, parts);
}

// Of an aggregate of a user. Null: its arguments are not there one by one.
std::optional<std::vector<const sql::Expression*>> user_arguments(const sql::Aggregate& aggregate) {
  const auto& argument = *aggregate.argument;
  if (!aggregate.user->is_row) return std::vector{&argument};
  if (argument.operation != sql::Operation::kNestedCall ||
      sql::nested_functions()[argument.column].name != "ROW")
    return std::nullopt;
  std::vector<const sql::Expression*> all;
  for (const auto& one : argument.arguments)
    all.push_back(one.get());
  return all;
}

Result<std::string> user_state(const sql::Aggregate& aggregate, bool retracts, QueryParts& parts) {
  if (aggregate.distinct || (retracts && !aggregate.user->takes_back()) ||
      !user_arguments(aggregate))
    return not_compiled(
        "an aggregate of a user of DISTINCT values, or without take_back() of rows "
        "that change,");
  parts.makes_texts = parts.makes_texts || aggregate.type.is_bytes();
  parts.user_aggregates.push_back(&aggregate);
  return "OfUser<" + std::to_string(number_of(*aggregate.user)) + ", " +
         std::to_string(parts.user_aggregates.size() - 1) + ", " +
         std::string(cpp_type(aggregate.type)) + ">";
}

Result<std::string> state_of(const sql::Aggregate& aggregate, bool retracts, QueryParts& parts) {
  if (aggregate.argument == nullptr) return std::string("Count");
  if (aggregate.kind == AggregateKind::kUser) return user_state(aggregate, retracts, parts);
  const bool basic = sql::is_basic(aggregate.kind);
  if (!basic && aggregate.distinct && !sql::is_of_reals(aggregate.kind))
    return not_compiled("an aggregate of DISTINCT that depends on the order of rows");
  HF_ASSIGN_OR_RETURN(const auto plain,
                      basic ? plain_state(aggregate, parts) : further_state(aggregate, parts));
  const std::string cpp(cpp_type(aggregate.argument->type));
  if (retracts && !sql::can_take_back(aggregate))
    return "OfValues<" + cpp + ", " + plain + (aggregate.distinct ? ", true>" : ", false>");
  if (!aggregate.distinct) return plain;
  return "Distinct<" + cpp + ", " + plain + ">";
}

}  // namespace

Error not_compiled(const std::string& what) {
  return {Errc::kUnsupported, what + " is not compiled; the interpreter does it"};
}

Result<std::string> state_type(const std::vector<sql::Aggregate>& aggregates, bool retracts,
                               QueryParts& parts) {
  std::vector<std::string> states;
  for (const auto& aggregate : aggregates) {
    HF_ASSIGN_OR_RETURN(auto state, state_of(aggregate, retracts, parts));
    states.push_back(std::move(state));
  }
  return "StateOf<" + joined(states) + ">";
}

std::vector<std::string> gathering(const std::vector<sql::Aggregate>& aggregates,
                                   std::string_view verb, ExpressionSource& expressions) {
  std::vector<std::string> statements;
  for (std::size_t i = 0; i < aggregates.size(); ++i) {
    const auto& aggregate = aggregates[i];
    std::string text;
    if (aggregate.filter != nullptr)
      text += "if (is_true(" + expressions.of(*aggregate.filter) + ")) ";
    text += "state.get<" + std::to_string(i) + ">()." + std::string(verb) + "(";
    if (aggregate.user != nullptr)
      text += "run, " + expressions.slots(*user_arguments(aggregate));
    else if (aggregate.argument != nullptr)
      text += expressions.of(*aggregate.argument);
    statements.push_back(text + ");");
  }
  return statements;
}

std::string user_aggregates_of(const QueryParts& parts) {
  std::string lines;
  for (std::size_t i = 0; i < parts.user_aggregates.size(); ++i)
    lines += "  user_aggregate<" + std::to_string(number_of(*parts.user_aggregates[i]->user)) +
             "> = host.user_aggregate(" + std::to_string(i) + ");\n";
  return lines;
}

std::string key_type(const std::vector<sql::ExpressionPointer>& keys) {
  std::vector<std::string> types;
  for (const auto& key : keys)
    types.emplace_back(cpp_type(key->type));
  return "KeyOf<" + joined(types) + ">";
}

}  // namespace holdfast::stream::compile
