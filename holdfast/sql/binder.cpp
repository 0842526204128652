#include "binder.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/cast.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/grouping_sets.hpp>
#include <holdfast/sql/json_functions.hpp>
#include <holdfast/sql/nested_functions.hpp>
#include <holdfast/sql/text_functions.hpp>
#include <holdfast/sql/time_arithmetic.hpp>
#include <holdfast/sql/twice.hpp>
#include <holdfast/sql/user_functions.hpp>
#include <holdfast/sql/zone_functions.hpp>

namespace holdfast::sql {
namespace {

using syntax::Form;

class Binder {
 public:
  explicit Binder(const Scope& scope) : scope_(scope) {}

  Result<ExpressionPointer> bind(const syntax::Expression& e) {
    switch (e.form) {
      case Form::kName: return name(e);
      case Form::kNumber: return number_literal(e);
      case Form::kText: return literal_of(Value::of_text(e.text), kStringType, e.at);
      case Form::kTrue: return literal_of(Value::of(1), kBooleanType, e.at);
      case Form::kFalse: return literal_of(Value::of(0), kBooleanType, e.at);
      case Form::kNull: return literal_of(Value(), Type{}, e.at);
      case Form::kInterval: return bind_interval(e);
      case Form::kDate: return time_literal(e, Type{Kind::kDate});
      case Form::kTimestamp: return time_literal(e, kTimestampType);
      case Form::kUnary: return unary(e);
      case Form::kBinary: return binary(e);
      case Form::kIs: return is_test(e);
      case Form::kDistinct: return distinct_test(e);
      case Form::kIn: return membership(e);
      case Form::kExists: return misplaced_query(e, "EXISTS with a sub-query here");
      case Form::kScalar:
        if (scope_.scalar_query != nullptr) return (*scope_.scalar_query)(e);
        return unsupported_at(e.at, "a sub-query as a value here",
                              "over streams it can stand in SELECT, WHERE and HAVING, outside of "
                              "aggregates");
      case Form::kBetween: return between(e);
      case Form::kLike: return like(e);
      case Form::kCase: return choice(e);
      case Form::kCast: return cast(e);
      case Form::kNested: return nested(e);
      case Form::kField: return field(e);
      case Form::kCall: return call(e);
    }
    return error_at(e.at, "this expression is not known");
  }

  Result<ExpressionPointer> condition(const syntax::Expression& e) {
    HF_ASSIGN_OR_RETURN(auto bound, bind(e));
    if (bound->type.kind == Kind::kNull) bound->type = kBooleanType;
    if (bound->type.kind != Kind::kBoolean)
      return error_at(e.at, "a BOOLEAN is wanted, this is " + name_of(bound->type));
    return bound;
  }

  static Result<ExpressionPointer> comparison(const std::string& sign, Position at,
                                              ExpressionPointer left, ExpressionPointer right) {
    static constexpr std::array<std::string_view, 6> kSigns = {"=", "<>", "<", "<=", ">", ">="};
    const auto found = std::find(kSigns.begin(), kSigns.end(), sign) - kSigns.begin();
    if (found > 1 && (left->type.is_nested() || right->type.is_nested()))
      return unsupported_at(at, name_of(left->type) + " " + sign + " " + name_of(right->type),
                            "arrays, rows and maps are equal or not; = and <> are there");
    HF_RETURN_IF_ERROR(make_comparable(at, left, right));
    const auto operation =
        static_cast<Operation>(static_cast<std::ptrdiff_t>(Operation::kEqual) + found);
    return made(operation, kBooleanType, at, std::move(left), std::move(right));
  }

 private:
  Result<ExpressionPointer> name(const syntax::Expression& e) {
    const auto index = find_column(scope_, e.name, e.at, e.qualifier);
    if (!index && e.qualifier.empty()) {
      // CURRENT_TIMESTAMP and so on have no parentheses.
      const auto word = in_upper_case(e.name);
      if (word == "CURRENT_TIMESTAMP" || word == "LOCALTIMESTAMP" || word == "CURRENT_DATE")
        return clock_word(word, e);
      if (word == "CURRENT_TIME" || word == "LOCALTIME")
        return unsupported_at(e.at, word, "CURRENT_TIMESTAMP is a date and a time");
    }
    if (!index && !e.qualifier.empty()) {
      // r.f, where r is no table but a column.
      const auto row = find_column(scope_, e.qualifier, e.at);
      if (row && scope_.columns[*row].type.kind == Kind::kRow)
        return bind_field(column_of(*row, scope_.columns[*row].type, e.at), e.name, e.at);
    }
    HF_RETURN_IF_ERROR(index);
    return column_of(*index, scope_.columns[*index].type, e.at);
  }

  Result<ExpressionPointer> nested(const syntax::Expression& e) {
    std::vector<ExpressionPointer> arguments;
    for (const auto& argument : e.arguments) {
      HF_ASSIGN_OR_RETURN(auto bound, bind(*argument));
      arguments.push_back(std::move(bound));
    }
    return bind_nested(e.name, e.at, std::move(arguments));
  }

  Result<ExpressionPointer> field(const syntax::Expression& e) {
    HF_ASSIGN_OR_RETURN(auto row, bind(*e.arguments[0]));
    return bind_field(std::move(row), e.name, e.at);
  }

  Result<ExpressionPointer> unary(const syntax::Expression& e) {
    if (e.name == "NOT") {
      HF_ASSIGN_OR_RETURN(auto operand, condition(*e.arguments[0]));
      return made(Operation::kNot, kBooleanType, e.at, std::move(operand));
    }
    HF_ASSIGN_OR_RETURN(auto operand, bind(*e.arguments[0]));
    if (!operand->type.is_numeric() && operand->type.kind != Kind::kInterval)
      return error_at(e.at, "a number is wanted, this is " + name_of(operand->type));
    if (e.name == "+") return operand;
    const Type type = operand->type;
    return made(Operation::kNegate, type, e.at, std::move(operand));
  }

  Result<ExpressionPointer> binary(const syntax::Expression& e) {
    if (e.name == "AND" || e.name == "OR") {
      HF_ASSIGN_OR_RETURN(auto left, condition(*e.arguments[0]));
      HF_ASSIGN_OR_RETURN(auto right, condition(*e.arguments[1]));
      return made(e.name == "AND" ? Operation::kAnd : Operation::kOr, kBooleanType, e.at,
                  std::move(left), std::move(right));
    }
    if (e.name == "+" || e.name == "-") {
      HF_ASSIGN_OR_RETURN(
          auto moved, moved_by_months(e, [this](const auto& operand) { return bind(operand); }));
      if (moved != nullptr) return moved;
    }
    HF_ASSIGN_OR_RETURN(auto left, bind(*e.arguments[0]));
    HF_ASSIGN_OR_RETURN(auto right, bind(*e.arguments[1]));
    if (e.name == "||") {
      HF_ASSIGN_OR_RETURN(left, converted(std::move(left), kStringType, "||"));
      HF_ASSIGN_OR_RETURN(right, converted(std::move(right), kStringType, "||"));
      return made(Operation::kConcat, kStringType, e.at, std::move(left), std::move(right));
    }
    static constexpr std::string_view kArithmetic = "+-*/%";
    const auto sign = kArithmetic.find(e.name[0]);
    if (sign != std::string_view::npos)
      return arithmetic(sign, e, std::move(left), std::move(right));
    return comparison(e.name, e.at, std::move(left), std::move(right));
  }

  Result<ExpressionPointer> arithmetic(std::size_t sign, const syntax::Expression& e,
                                       ExpressionPointer left, ExpressionPointer right) {
    if (sign < 2) {
      HF_ASSIGN_OR_RETURN(auto moved, moved_time(e.name[0], e.at, left, right));
      if (moved != nullptr) return moved;
    }
    const auto type = arithmetic_type(static_cast<Arithmetic>(sign), left->type, right->type);
    if (!type) {
      return error_at(
          e.at, "there is no " + name_of(left->type) + " " + e.name + " " + name_of(right->type));
    }
    const auto operand = [&](ExpressionPointer side) {
      if (type->kind != Kind::kDecimal || side->type.kind == Kind::kNull)
        return cast_to(std::move(side), *type);
      return side;  // An exact number, of its own scale.
    };
    const auto operation = static_cast<Operation>(static_cast<std::size_t>(Operation::kAdd) + sign);
    return made(operation, *type, e.at, operand(std::move(left)), operand(std::move(right)));
  }

  // Casts both to what they have in common. Exact numbers stay: they are compared exactly. A text
  // beside a time is read as a time.
  static Status make_comparable(Position at, ExpressionPointer& left, ExpressionPointer& right) {
    if (left->type.is_exact() && right->type.is_exact()) return {};
    if (left->type.is_time() && right->type.kind == Kind::kString)
      return right = folded(cast_to(std::move(right), left->type)), Status();
    if (right->type.is_time() && left->type.kind == Kind::kString)
      return left = folded(cast_to(std::move(left), right->type)), Status();
    const auto type = common_type(left->type, right->type);
    if (!type) {
      return error_at(at,
                      name_of(left->type) + " and " + name_of(right->type) + " cannot be compared",
                      "write a CAST");
    }
    left = cast_to(std::move(left), *type);
    right = cast_to(std::move(right), *type);
    return {};
  }

  static ExpressionPointer negated_if(bool negated, ExpressionPointer test) {
    const Position at = test->at;
    return negated ? made(Operation::kNot, kBooleanType, at, std::move(test)) : std::move(test);
  }

  Result<ExpressionPointer> is_test(const syntax::Expression& e) {
    if (e.name == "NULL" || e.name == "UNKNOWN") {
      HF_ASSIGN_OR_RETURN(auto operand, bind(*e.arguments[0]));
      return negated_if(e.negated,
                        made(Operation::kIsNull, kBooleanType, e.at, std::move(operand)));
    }
    HF_ASSIGN_OR_RETURN(auto operand, condition(*e.arguments[0]));
    const auto operation = e.name == "TRUE" ? Operation::kIsTrue : Operation::kIsFalse;
    return negated_if(e.negated, made(operation, kBooleanType, e.at, std::move(operand)));
  }

  static Error misplaced_query(const syntax::Expression& e, const char* what) {
    return unsupported_at(e.at, what,
                          "over streams it can be a condition of WHERE, joined to others by AND");
  }

  // Never NULL: NULL is not distinct from NULL.
  Result<ExpressionPointer> distinct_test(const syntax::Expression& e) {
    HF_ASSIGN_OR_RETURN(auto left, bind(*e.arguments[0]));
    HF_ASSIGN_OR_RETURN(auto right, bind(*e.arguments[1]));
    HF_ASSIGN_OR_RETURN(auto left_again, again(*left));
    HF_ASSIGN_OR_RETURN(auto right_again, again(*right));
    auto one = made(Operation::kIsNull, kBooleanType, e.at, std::move(left_again));
    auto other = made(Operation::kIsNull, kBooleanType, e.at, std::move(right_again));
    HF_ASSIGN_OR_RETURN(auto equal, comparison("=", e.at, std::move(left), std::move(right)));
    auto both = made(Operation::kAnd, kBooleanType, e.at, std::move(one), std::move(other));
    auto same = made(Operation::kOr, kBooleanType, e.at, std::move(both),
                     made(Operation::kIsTrue, kBooleanType, e.at, std::move(equal)));
    return negated_if(!e.negated, std::move(same));
  }

  Result<ExpressionPointer> membership(const syntax::Expression& e) {
    if (e.query != nullptr) return misplaced_query(e, "IN with a sub-query here");
    HF_ASSIGN_OR_RETURN(auto value, bind(*e.arguments[0]));
    std::vector<ExpressionPointer> members;
    for (std::size_t i = 1; i < e.arguments.size(); ++i) {
      HF_ASSIGN_OR_RETURN(auto member, bind(*e.arguments[i]));
      HF_RETURN_IF_ERROR(make_comparable(e.arguments[i]->at, value, member));
      members.push_back(std::move(member));
    }
    // A later member may have widened the value: the earlier ones follow.
    for (auto& member : members)
      HF_RETURN_IF_ERROR(make_comparable(e.at, value, member));
    auto test = made(Operation::kIn, kBooleanType, e.at, std::move(value));
    for (auto& member : members)
      test->arguments.push_back(std::move(member));
    return negated_if(e.negated, std::move(test));
  }

  // value BETWEEN low AND high; SYMMETRIC: or between `high` and `low`.
  Result<ExpressionPointer> between(const syntax::Expression& e) {
    HF_ASSIGN_OR_RETURN(auto value, bind(*e.arguments[0]));
    HF_ASSIGN_OR_RETURN(auto low, bind(*e.arguments[1]));
    HF_ASSIGN_OR_RETURN(auto high, bind(*e.arguments[2]));
    ExpressionPointer reverse;
    if (e.name == "SYMMETRIC") {
      HF_ASSIGN_OR_RETURN(auto same_value, again(*value));
      HF_ASSIGN_OR_RETURN(auto same_low, again(*low));
      HF_ASSIGN_OR_RETURN(auto same_high, again(*high));
      HF_ASSIGN_OR_RETURN(
          reverse, within(e.at, std::move(same_value), std::move(same_high), std::move(same_low)));
    }
    HF_ASSIGN_OR_RETURN(auto test, within(e.at, std::move(value), std::move(low), std::move(high)));
    if (reverse != nullptr)
      test = made(Operation::kOr, kBooleanType, e.at, std::move(test), std::move(reverse));
    return negated_if(e.negated, std::move(test));
  }
  static Result<ExpressionPointer> within(Position at, ExpressionPointer value,
                                          ExpressionPointer low, ExpressionPointer high) {
    HF_ASSIGN_OR_RETURN(auto same_value, again(*value));
    HF_ASSIGN_OR_RETURN(auto above, comparison(">=", at, std::move(same_value), std::move(low)));
    HF_ASSIGN_OR_RETURN(auto below, comparison("<=", at, std::move(value), std::move(high)));
    return made(Operation::kAnd, kBooleanType, at, std::move(above), std::move(below));
  }

  Result<ExpressionPointer> like(const syntax::Expression& e) {
    auto test = made(Operation::kLike, kBooleanType, e.at);
    for (const auto& argument : e.arguments) {
      HF_ASSIGN_OR_RETURN(auto text, bind(*argument));
      HF_ASSIGN_OR_RETURN(text, converted(std::move(text), kStringType, "LIKE"));
      test->arguments.push_back(std::move(text));
    }
    if (test->arguments.size() < 3) {
      test->arguments.push_back(literal_of(Value(), kStringType, e.at));
    } else if (const auto& escape_text = test->arguments[2];
               escape_text->operation != Operation::kLiteral ||
               escape_text->literal.text.size() != 1) {
      return error_at(escape_text->at, "ESCAPE wants a text of one ASCII character");
    }
    return negated_if(e.negated, std::move(test));
  }

  Result<ExpressionPointer> choice(const syntax::Expression& e) {
    auto bound = made(Operation::kCase, Type{}, e.at);
    const std::size_t pairs = e.arguments.size() / 2;
    std::optional<Position> varying;  // CASE value WHEN: the value stands in each condition.
    for (std::size_t i = 0; i < pairs; ++i) {
      HF_ASSIGN_OR_RETURN(auto condition_of_pair, condition(*e.arguments[2 * i]));
      if (const auto* call = varying_call(*condition_of_pair)) {
        if (varying == call->at) return read_twice(call->at);
        varying = call->at;
      }
      HF_ASSIGN_OR_RETURN(auto answer, bind(*e.arguments[2 * i + 1]));
      bound->arguments.push_back(std::move(condition_of_pair));
      bound->arguments.push_back(std::move(answer));
    }
    auto otherwise = literal_of(Value(), Type{}, e.at);
    if (e.has_else) {
      HF_ASSIGN_OR_RETURN(otherwise, bind(*e.arguments.back()));
    }
    bound->arguments.push_back(std::move(otherwise));
    return with_common_answers(std::move(bound));
  }

  static Result<ExpressionPointer> with_common_answers(ExpressionPointer choice) {
    const auto is_answer = [&](std::size_t i) {
      return i % 2 == 1 || i + 1 == choice->arguments.size();
    };
    for (std::size_t i = 0; i < choice->arguments.size(); ++i) {
      if (!is_answer(i)) continue;
      const auto type = common_type(choice->type, choice->arguments[i]->type);
      if (!type) {
        return error_at(choice->arguments[i]->at,
                        "an answer is " + name_of(choice->arguments[i]->type) +
                            ", the others are " + name_of(choice->type),
                        "write a CAST");
      }
      choice->type = *type;
    }
    for (std::size_t i = 0; i < choice->arguments.size(); ++i) {
      if (is_answer(i))
        choice->arguments[i] = cast_to(std::move(choice->arguments[i]), choice->type);
    }
    return choice;
  }

  Result<ExpressionPointer> cast(const syntax::Expression& e) {
    HF_ASSIGN_OR_RETURN(auto operand, bind(*e.arguments[0]));
    if (!can_cast(operand->type, e.type)) {
      return error_at(e.at,
                      "there is no cast of " + name_of(operand->type) + " to " + name_of(e.type));
    }
    const auto operation = e.name == "CAST" ? Operation::kCast : Operation::kTryCast;
    return made(operation, e.type, e.at, std::move(operand));
  }

  Result<ExpressionPointer> call(const syntax::Expression& e) {
    if (e.over != nullptr) return over_call(e);
    if (const auto kind = aggregate_called(e.name)) return aggregate(e, *kind);
    if (e.has_filter || e.distinct || e.star)
      return error_at(e.at, e.name + " is no aggregate: DISTINCT, * and FILTER do not belong here");
    if (const auto* function = user_function(e.name)) {
      HF_ASSIGN_OR_RETURN(auto arguments, all_bound(e.arguments, e.arguments.size()));
      return bind_user_function(*function, e.at, std::move(arguments));
    }
    for (const auto* window : {"TUMBLE_", "HOP_", "SESSION_"})
      if (e.name.starts_with(window)) return window_property(e, scope_);
    if (e.name == "COALESCE" || e.name == "IFNULL") return coalesce(e);
    if (e.name == "IF") return branch(e);
    if (e.json != nullptr || e.name.starts_with("IS JSON")) return bind_json(e, scope_);
    if (e.name == "GROUPING" || e.name == "GROUPING_ID") return bind_grouping(e, scope_);
    std::vector<ExpressionPointer> arguments;
    for (const auto& argument : e.arguments) {
      const auto place = arguments.size();
      if (argument->form == Form::kName && argument->qualifier.empty() &&
          takes_unit(e.name, place)) {
        arguments.push_back(
            literal_of(Value::of_text(in_upper_case(argument->name)), kStringType, argument->at));
        continue;
      }
      HF_ASSIGN_OR_RETURN(auto bound, bind(*argument));
      arguments.push_back(std::move(bound));
    }
    if (e.name == "NULLIF" && arguments.size() == 2) {
      HF_ASSIGN_OR_RETURN(auto value, again(*arguments[0]));
      HF_ASSIGN_OR_RETURN(auto test,
                          comparison("=", e.at, std::move(arguments[0]), std::move(arguments[1])));
      const Type type = value->type;
      return made(Operation::kCase, type, e.at, std::move(test), literal_of(Value(), type, e.at),
                  std::move(value));
    }
    return bind_in_zone(e, std::move(arguments), scope_.functions);
  }

  Result<std::vector<ExpressionPointer>> all_bound(
      const std::vector<syntax::ExpressionPointer>& some, std::size_t count) {
    std::vector<ExpressionPointer> all;
    for (std::size_t i = 0; i < count; ++i) {
      HF_ASSIGN_OR_RETURN(auto bound, bind(*some[i]));
      all.push_back(std::move(bound));
    }
    return all;
  }

  const UserFunction* user_function(std::string_view name) const {
    return scope_.functions == nullptr ? nullptr : scope_.functions->find(name);
  }
  std::optional<AggregateKind> aggregate_called(std::string_view name) const {
    const auto* function = user_function(name);
    if (function == nullptr) return aggregate_named(name);
    if (!function->is_aggregate()) return std::nullopt;
    return AggregateKind::kUser;
  }

  // SECOND and so on are no columns there.
  static bool takes_unit(std::string_view function, std::size_t place) {
    if (function == "TIMESTAMPADD" || function == "TIMESTAMPDIFF") return place == 0;
    return (function == "FLOOR TO" || function == "CEIL TO") && place == 1;
  }

  // IF(condition, answer, otherwise)
  Result<ExpressionPointer> branch(const syntax::Expression& e) {
    if (e.arguments.size() != 3) return error_at(e.at, "IF wants 3 arguments");
    auto choice = made(Operation::kCase, Type{}, e.at);
    HF_ASSIGN_OR_RETURN(auto test, condition(*e.arguments[0]));
    choice->arguments.push_back(std::move(test));
    for (std::size_t i = 1; i < 3; ++i) {
      HF_ASSIGN_OR_RETURN(auto answer, bind(*e.arguments[i]));
      choice->arguments.push_back(std::move(answer));
    }
    return with_common_answers(std::move(choice));
  }

  Result<ExpressionPointer> coalesce(const syntax::Expression& e) {
    if (e.arguments.empty()) return error_at(e.at, e.name + " wants an argument");
    auto choice = made(Operation::kCase, Type{}, e.at);
    for (std::size_t i = 0; i < e.arguments.size(); ++i) {
      HF_ASSIGN_OR_RETURN(auto value, bind(*e.arguments[i]));
      if (i + 1 < e.arguments.size()) {
        HF_ASSIGN_OR_RETURN(auto tested, again(*value));
        auto null = made(Operation::kIsNull, kBooleanType, e.at, std::move(tested));
        choice->arguments.push_back(made(Operation::kNot, kBooleanType, e.at, std::move(null)));
      }
      choice->arguments.push_back(std::move(value));
    }
    return with_common_answers(std::move(choice));
  }

  Result<ExpressionPointer> over_call(const syntax::Expression& e) {
    if (scope_.overs == nullptr) return error_at(e.at, "OVER belongs to the columns of a SELECT");
    OverCall call;
    call.at = e.at;
    call.over = e.over.get();
    if (!call.over->name.empty()) {
      call.over = nullptr;
      for (const auto& named : *scope_.named_overs) {
        if (named.name == e.over->name) call.over = named.over.get();
      }
      if (call.over == nullptr)
        return error_at(e.over->at, "there is no WINDOW " + escape(e.over->name));
    }
    if (e.name == "ROW_NUMBER" || e.name == "RANK" || e.name == "DENSE_RANK") {
      if (!e.arguments.empty()) return error_at(e.at, e.name + " has no argument");
      call.numbers_rows = true;
      call.ranking = e.name == "RANK"         ? Ranking::kRank
                     : e.name == "DENSE_RANK" ? Ranking::kDenseRank
                                              : Ranking::kRowNumber;
    } else {
      const auto kind = aggregate_called(e.name);
      if (!kind) return unsupported_at(e.at, e.name + " with OVER");
      call.lags = *kind == AggregateKind::kLag;
      HF_ASSIGN_OR_RETURN(call.aggregate, aggregate_of(e, *kind, e.distinct));
      if (call.lags && e.arguments.size() - (e.has_filter ? 1 : 0) == 3)
        return lag_or_default(e, std::move(call));
    }
    return gathered(std::move(call));
  }

  // LAG(value, rows, otherwise): the window counts its rows, too.
  Result<ExpressionPointer> lag_or_default(const syntax::Expression& e, OverCall lag) {
    if (lag.aggregate.filter) return unsupported_at(e.at, "LAG with FILTER and a third argument");
    HF_ASSIGN_OR_RETURN(auto otherwise, bind(*e.arguments[2]));
    OverCall count{.aggregate = {}, .lags = true, .over = lag.over, .at = e.at};
    count.aggregate.type = kBigIntType;
    auto few = made(Operation::kLessEqual, kBooleanType, e.at, gathered(std::move(count)),
                    literal_of(lag.aggregate.parameter, kBigIntType, e.at));
    return with_common_answers(made(Operation::kCase, Type{}, e.at, std::move(few),
                                    std::move(otherwise), gathered(std::move(lag))));
  }

  ExpressionPointer gathered(OverCall call) {
    const Type type = call.numbers_rows ? kBigIntType : call.aggregate.type;
    auto reference = made(Operation::kOver, type, call.at);
    reference->column = static_cast<std::uint32_t>(scope_.overs->size());
    scope_.overs->push_back(std::move(call));
    return reference;
  }

  Result<ExpressionPointer> aggregate(const syntax::Expression& e, AggregateKind kind) {
    if (scope_.aggregates == nullptr)
      return error_at(e.at, "an aggregate cannot stand here",
                      "a condition on aggregates stands in HAVING");
    if (kind == AggregateKind::kLag) return error_at(e.at, "LAG wants OVER");
    if (kind == AggregateKind::kArrayAgg && e.distinct) return distinct_array(e);
    HF_ASSIGN_OR_RETURN(auto made_of, aggregate_of(e, kind, e.distinct));
    return gathered(std::move(made_of));
  }

  // Its values once each, in the order of the first of them.
  Result<ExpressionPointer> distinct_array(const syntax::Expression& e) {
    HF_ASSIGN_OR_RETURN(auto all, aggregate_of(e, AggregateKind::kArrayAgg, false));
    std::vector<ExpressionPointer> arguments;
    arguments.push_back(gathered(std::move(all)));
    return bind_nested("ARRAY_DISTINCT", e.at, std::move(arguments));
  }

  // A reference to the aggregate, which is computed once.
  ExpressionPointer gathered(Aggregate made_of) {
    auto& all = *scope_.aggregates;
    const auto known = std::find_if(all.begin(), all.end(),
                                    [&](const Aggregate& one) { return equal(one, made_of); });
    auto reference = made(Operation::kAggregate, made_of.type, made_of.at);
    reference->column = static_cast<std::uint32_t>(known - all.begin());
    if (known == all.end()) all.push_back(std::move(made_of));
    return reference;
  }

  // Of arguments of aggregates.
  Scope of_rows() const {
    Scope inner = scope_;
    inner.aggregates = nullptr;
    inner.overs = nullptr;
    inner.scalar_query = nullptr;
    return inner;
  }

  Result<Aggregate> user_aggregate(const syntax::Expression& e, bool distinct) {
    const Scope inner = of_rows();
    HF_ASSIGN_OR_RETURN(
        auto arguments,
        Binder(inner).all_bound(e.arguments, e.arguments.size() - (e.has_filter ? 1 : 0)));
    HF_ASSIGN_OR_RETURN(auto made_of,
                        bind_user_aggregate(*user_function(e.name), e.at, std::move(arguments)));
    made_of.distinct = distinct;
    if (e.has_filter) {
      HF_ASSIGN_OR_RETURN(made_of.filter, Binder(inner).condition(*e.arguments.back()));
    }
    return made_of;
  }

  Result<Aggregate> aggregate_of(const syntax::Expression& e, AggregateKind kind, bool distinct) {
    if (kind == AggregateKind::kUser) return user_aggregate(e, distinct);
    const Scope inner = of_rows();
    Aggregate made_of;
    made_of.kind = e.star ? AggregateKind::kCountRows : kind;
    made_of.distinct = distinct;
    made_of.at = e.at;
    HF_RETURN_IF_ERROR(bind_parameter(e, made_of));
    const auto wanted = made_of.parameter.null || e.name == "MEDIAN"
                            ? 1u
                            : e.arguments.size() - (e.has_filter ? 1 : 0);
    if (e.arguments.size() != (e.star ? 0u : wanted) + (e.has_filter ? 1u : 0u) ||
        (e.star && (kind != AggregateKind::kCount || e.distinct)))
      return error_at(e.at, e.name + " wants one argument");
    if (distinct && depends_on_order(kind))
      return unsupported_at(e.at, e.name + " of DISTINCT values");
    Type argument = kBigIntType;
    if (!e.star) {
      HF_ASSIGN_OR_RETURN(made_of.argument, Binder(inner).bind(*e.arguments[0]));
      if (is_of_reals(kind) && made_of.argument->type.is_numeric())
        made_of.argument = cast_to(std::move(made_of.argument), kDoubleType);
      if (kind == AggregateKind::kArrayAgg && made_of.argument->type.kind == Kind::kNull)
        made_of.argument = cast_to(std::move(made_of.argument), kStringType);
      argument = made_of.argument->type;
    }
    if (e.has_filter) {
      HF_ASSIGN_OR_RETURN(made_of.filter, Binder(inner).condition(*e.arguments.back()));
    }
    if (e.ignores_nulls) made_of.filter = with_value(*made_of.argument, std::move(made_of.filter));
    made_of.type = aggregate_type(made_of.kind, argument);
    if (made_of.type.kind == Kind::kNull)
      return error_at(e.at, "there is no " + e.name + " of " + name_of(argument));
    return made_of;
  }

  const Scope& scope_;
};

}  // namespace

Result<ExpressionPointer> bind(const syntax::Expression& expression, const Scope& scope) {
  return Binder(scope).bind(expression);
}

Result<ExpressionPointer> bind_condition(const syntax::Expression& expression, const Scope& scope) {
  return Binder(scope).condition(expression);
}

Result<ExpressionPointer> equal_of(ExpressionPointer one, ExpressionPointer other, Position at) {
  return Binder::comparison("=", at, std::move(one), std::move(other));
}

}  // namespace holdfast::sql
