// The second argument of an aggregate, and its IGNORE NULLS.
#include <string>

#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/evaluate.hpp>

namespace holdfast::sql {

Status bind_parameter(const syntax::Expression& e, Aggregate& aggregate) {
  const auto arguments = e.arguments.size() - (e.has_filter ? 1 : 0);
  const auto kind = aggregate.kind;
  if (kind == AggregateKind::kLag) aggregate.parameter = Value::of(1);
  if (kind == AggregateKind::kListAgg) aggregate.parameter = Value::of_text(",");
  if (e.name == "MEDIAN") return aggregate.parameter = Value::of_real(0.5), Status();
  if (kind == AggregateKind::kPercentile && arguments != 2)
    return error_at(e.at, "PERCENTILE wants 2 arguments", "PERCENTILE(value, 0.95)");
  if (aggregate.parameter.null && kind != AggregateKind::kPercentile) return {};
  if (arguments > (kind == AggregateKind::kLag ? 3 : 2))
    return unsupported_at(e.at, e.name + " with " + std::to_string(arguments) + " arguments");
  if (arguments < 2) return {};
  const Type type = kind == AggregateKind::kListAgg      ? kStringType
                    : kind == AggregateKind::kPercentile ? kDoubleType
                                                         : kBigIntType;
  HF_ASSIGN_OR_RETURN(auto bound, bind(*e.arguments[1], Scope{}));
  HF_ASSIGN_OR_RETURN(bound, converted(std::move(bound), type, e.name));
  bound = folded(std::move(bound));
  const auto& value = bound->literal;
  const bool literal = bound->operation == Operation::kLiteral && !value.null;
  if (kind == AggregateKind::kPercentile && !(literal && value.real >= 0 && value.real <= 1))
    return error_at(bound->at, "PERCENTILE wants a literal of 0 to 1");
  if (kind == AggregateKind::kLag && !(literal && value.number >= 0 && value.number <= 10'000))
    return error_at(bound->at, "LAG wants a literal of 0 to 10000 rows");
  if (!literal) return error_at(bound->at, e.name + " wants a literal as its second argument");
  aggregate.parameter = value;
  return {};
}

ExpressionPointer with_value(const Expression& value, ExpressionPointer filter) {
  auto test = made(Operation::kNot, kBooleanType, value.at,
                   made(Operation::kIsNull, kBooleanType, value.at, clone(value)));
  if (filter == nullptr) return test;
  return made(Operation::kAnd, kBooleanType, value.at, std::move(filter), std::move(test));
}

}  // namespace holdfast::sql
