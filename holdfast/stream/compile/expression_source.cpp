#include "expression_source.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <holdfast/sql/prepared_function.hpp>
#include <holdfast/sql/scalar_functions.hpp>
#include <holdfast/sql/text_functions.hpp>
#include <holdfast/sql/user_calls.hpp>
#include <holdfast/stream/compile/source_text.hpp>

namespace holdfast::stream::compile {
namespace {

using sql::Kind;
using sql::Operation;

std::uint32_t scale_of(const sql::Type& type) {
  return type.kind == Kind::kDecimal ? type.scale : 0;
}

// One C++ type and one scale.
bool alike(const sql::Type& a, const sql::Type& b) {
  return a.kind == b.kind ? scale_of(a) == scale_of(b) : a.is_real() && b.is_real();
}

// In which both can be compared exactly; none: the interpreter has to.
std::optional<sql::Type> comparison_type(const sql::Type& a, const sql::Type& b) {
  if (alike(a, b)) return a;
  if (a.is_integer() && b.is_integer()) return sql::kBigIntType;
  if (!a.is_exact() || !b.is_exact()) return std::nullopt;
  const auto x = sql::as_decimal(a), y = sql::as_decimal(b);
  const auto scale = std::max(x.scale, y.scale);
  const auto precision = std::max(x.precision - x.scale, y.precision - y.scale) + scale;
  if (precision > sql::kMaxDigits) return std::nullopt;
  return sql::decimal_type(precision, scale);
}

// Of the first operand and all others.
std::optional<sql::Type> comparison_type(const sql::Expression& e) {
  std::optional<sql::Type> common = e.arguments[0]->type;
  for (std::size_t i = 1; i < e.arguments.size() && common; ++i)
    common = comparison_type(*common, e.arguments[i]->type);
  return common;
}

bool has_arithmetic(const sql::Expression& e) {
  if (e.type.kind != Kind::kDecimal) return e.type.is_numeric();
  const auto& a = e.arguments[0]->type;
  const auto& b = e.arguments[1]->type;
  if (!a.is_exact() || !b.is_exact()) return false;
  if (e.operation == Operation::kMultiply) return scale_of(a) + scale_of(b) == e.type.scale;
  const bool adds = e.operation == Operation::kAdd || e.operation == Operation::kSubtract;
  return adds && scale_of(a) == e.type.scale && scale_of(b) == e.type.scale;
}

bool has_cast(const sql::Type& from, const sql::Type& to) {
  if (from == to || (from.is_integer() && to.is_integer())) return true;
  if (to.kind == Kind::kString) return from.is_integer() && to.precision == 0;
  if (from.kind == Kind::kBoolean || to.kind == Kind::kBoolean)
    return from.is_integer() || to.is_integer();
  if (to.is_real()) return from.is_integer() || from.is_real();
  if (to.kind == Kind::kDecimal && from.is_exact()) {
    const auto decimal = sql::as_decimal(from);
    return to.scale >= decimal.scale &&
           to.precision - to.scale >= decimal.precision - decimal.scale;
  }
  return from.is_time() && to.is_time();
}

// Of LIKE with a pattern that is known, and right; none: the interpreter has to look at each.
std::optional<sql::LikePattern> pattern_of(const sql::Expression& like) {
  const auto is_literal = [&](std::size_t i) {
    return like.arguments[i]->operation == Operation::kLiteral;
  };
  const bool escapes = like.arguments.size() > 2;
  if (!is_literal(1) || (escapes && !is_literal(2)) || like.arguments[1]->literal.null)
    return std::nullopt;
  const auto escape = escapes ? like.arguments[2]->literal.text : std::string();
  auto pattern =
      sql::like_pattern(like.arguments[1]->literal.text, escape.empty() ? '\0' : escape.front());
  if (pattern.wrong != nullptr) return std::nullopt;
  return pattern;
}

bool is_compiled_text(const sql::Expression& e) {
  if (e.arguments.empty()) return false;  // PROCTIME() comes here, too.
  const auto is_text = [&](std::size_t i) { return e.arguments[i]->type.kind == Kind::kString; };
  const bool of_text = is_text(0);
  // What stands behind the first operand is not asked for where that is NULL.
  const bool rest_is_sound =
      std::none_of(e.arguments.begin() + 1, e.arguments.end(),
                   [](const auto& argument) { return ExpressionSource::can_fail(*argument); });
  switch (e.operation) {
    case Operation::kCharLength:
    case Operation::kTrim:
    case Operation::kUpper:
    case Operation::kLower: return of_text;
    case Operation::kSubstring:
    case Operation::kSplitIndex: return of_text && rest_is_sound;
    case Operation::kConcat: return of_text && is_text(1) && rest_is_sound;
    case Operation::kLike: return of_text && pattern_of(e).has_value();
    default: return false;
  }
}

bool is_user_call(const sql::Expression& e) {
  return dynamic_cast<const sql::UserCall*>(e.prepared.get()) != nullptr;
}

constexpr std::size_t kMostParts = 2'000;  // Of conditions that stand together.

// The operation itself, whatever its operands are.
bool is_compiled(const sql::Expression& e) {
  const auto type_of = [&](std::size_t i) -> const sql::Type& { return e.arguments[i]->type; };
  switch (e.operation) {
    case Operation::kColumn:
    case Operation::kLiteral:
    case Operation::kIsNull: return true;
    case Operation::kAnd:
    case Operation::kOr:
      // A compiler takes 10 ms for each part, and gives a processor back when the query ends only.
      if (sql::size_of(e) > kMostParts) return false;
      [[fallthrough]];
    case Operation::kNot:
    case Operation::kIsTrue:
    case Operation::kIsFalse:
      return std::all_of(e.arguments.begin(), e.arguments.end(), [](const auto& argument) {
        return argument->type.kind == Kind::kBoolean;
      });
    case Operation::kAdd:
    case Operation::kSubtract:
    case Operation::kMultiply:
    case Operation::kDivide:
    case Operation::kModulo: return has_arithmetic(e);
    case Operation::kShiftTime:
      return type_of(0).kind == Kind::kTimestamp && type_of(1).kind == Kind::kInterval;
    case Operation::kNegate:
    case Operation::kAbsolute: return e.type.is_numeric() && e.type.kind == type_of(0).kind;
    case Operation::kEqual:
    case Operation::kNotEqual:
    case Operation::kLess:
    case Operation::kLessEqual:
    case Operation::kGreater:
    case Operation::kGreaterEqual: return comparison_type(e).has_value();
    case Operation::kIn:
      return comparison_type(e) &&
             std::none_of(e.arguments.begin() + 1, e.arguments.end(),
                          [](const auto& member) { return ExpressionSource::can_fail(*member); });
    case Operation::kCase:
      for (std::size_t i = 0; i < e.arguments.size(); ++i) {
        const bool condition = i % 2 == 0 && i + 1 < e.arguments.size();
        if (!condition && !alike(type_of(i), e.type)) return false;
      }
      return true;
    case Operation::kCast:
    case Operation::kTryCast: return has_cast(type_of(0), e.type);
    case Operation::kTimestampOfMs: return type_of(0).is_integer();
    case Operation::kExtract:
    case Operation::kDateFormat: return type_of(0).is_time();
    case Operation::kPrepared: return is_user_call(e);
    default: return is_compiled_text(e);
  }
}

bool fails_itself(const sql::Expression& e) {
  switch (e.operation) {
    case Operation::kDivide:
    case Operation::kModulo: return !e.type.is_real();
    case Operation::kAdd:
    case Operation::kSubtract:
    case Operation::kMultiply: return e.type.kind == Kind::kDecimal;
    case Operation::kShiftTime:
    case Operation::kTimestampOfMs:
    case Operation::kConcat:
    case Operation::kPrepared: return true;
    default: return false;
  }
}

// No row ends the query with an error, though the interpreter may be called.
bool is_total(const sql::Expression& e) {
  if (is_compiled(e) ? fails_itself(e)
                     : e.operation != Operation::kPrepared || e.prepared->can_fail())
    return false;
  return std::all_of(e.arguments.begin(), e.arguments.end(),
                     [](const auto& argument) { return is_total(*argument); });
}

// In which operands of AND or OR are asked for: the interpreter is called last where no operand
// before it can fail, since then nobody can tell.
std::vector<const sql::Expression*> in_turn(const sql::Expression& junction) {
  std::vector<const sql::Expression*> operands;
  for (const auto& argument : junction.arguments)
    operands.push_back(argument.get());
  const auto end = std::find_if(operands.begin(), operands.end(),
                                [](const auto* operand) { return !is_total(*operand); });
  std::stable_partition(operands.begin(), end,
                        [](const auto* operand) { return !ExpressionSource::can_fail(*operand); });
  return operands;
}

// It takes long, and nobody can tell how often it is computed.
bool is_worth_sharing(const sql::Expression& e) {
  switch (e.operation) {
    case Operation::kUpper:
    case Operation::kLower:
    case Operation::kDateFormat:
    case Operation::kPrepared: return is_total(e);
    default: return false;
  }
}

struct Counted {
  const sql::Expression* expression;
  int count;
};

// Parts that are worth sharing, those of which others are made first.
void count_parts(const sql::Expression& e, std::vector<Counted>& parts) {
  constexpr std::size_t kMost = 100;  // Different ones.
  if (is_compiled(e)) {
    for (const auto& argument : e.arguments)
      count_parts(*argument, parts);
  }
  if (!is_worth_sharing(e)) return;
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const Counted& part) {
    return sql::equal(*part.expression, e);
  });
  if (found != parts.end())
    ++found->count;
  else if (parts.size() < kMost)
    parts.push_back({&e, 1});
}

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::kAdd: return "plus";
    case Operation::kSubtract: return "subtract";
    case Operation::kMultiply: return "multiply";
    case Operation::kDivide: return "divide";
    case Operation::kModulo: return "modulo";
    case Operation::kNegate: return "negate";
    case Operation::kAbsolute: return "absolute";
    case Operation::kEqual: return "equal";
    case Operation::kNotEqual: return "not_equal";
    case Operation::kLess: return "less";
    case Operation::kLessEqual: return "less_equal";
    case Operation::kGreater: return "greater";
    case Operation::kGreaterEqual: return "greater_equal";
    case Operation::kNot: return "negation";
    case Operation::kIsNull: return "is_null";
    case Operation::kIsTrue: return "is_yes";
    case Operation::kIsFalse: return "is_no";
    case Operation::kIn: return "is_in";
    case Operation::kTrim: return "trimmed";
    case Operation::kSubstring: return "substring";
    case Operation::kSplitIndex: return "split_index";
    default: return "characters";
  }
}

// The expression that reads this column; null: none does.
const sql::Expression* reader_of(const sql::Expression& e, std::uint32_t column) {
  if (e.operation == Operation::kColumn && e.column == column) return &e;
  for (const auto& argument : e.arguments) {
    if (const auto* found = reader_of(*argument, column)) return found;
  }
  return nullptr;
}

std::string_view name_of(sql::TimeField field) {
  using sql::TimeField;
  switch (field) {
    case TimeField::kYear: return "kYear";
    case TimeField::kQuarter: return "kQuarter";
    case TimeField::kMonth: return "kMonth";
    case TimeField::kWeek: return "kWeek";
    case TimeField::kDay: return "kDay";
    case TimeField::kDayOfYear: return "kDayOfYear";
    case TimeField::kDayOfWeek: return "kDayOfWeek";
    case TimeField::kHour: return "kHour";
    case TimeField::kMinute: return "kMinute";
    case TimeField::kSecond: return "kSecond";
    case TimeField::kMillisecond: return "kMillisecond";
    default: return "kEpoch";
  }
}

std::string of_type(std::string_view name, std::string_view type) {
  return std::string(name) + "<" + std::string(type) + ">";
}

}  // namespace

bool is_idle_clock(const sql::Table& table, std::size_t column, bool read) {
  const auto* computed = table.computed[column].get();
  if (computed == nullptr || computed->operation != Operation::kProcessingTime || read)
    return false;
  if (!table.has_watermark) return true;
  const auto reads = sql::columns_of(*table.watermark);
  return std::find(reads.begin(), reads.end(), column) == reads.end();
}

bool ExpressionSource::can_fail(const sql::Expression& e) {
  return !is_compiled(e) || fails_itself(e) ||
         std::any_of(e.arguments.begin(), e.arguments.end(),
                     [](const auto& argument) { return can_fail(*argument); });
}

bool ExpressionSource::is_plain(const sql::Expression& e) {
  switch (e.operation) {
    case Operation::kUpper:
    case Operation::kLower:
    case Operation::kConcat:
    case Operation::kDateFormat: return false;
    case Operation::kCast:
    case Operation::kTryCast:
      if (e.type.kind == Kind::kString && e.arguments[0]->type != e.type) return false;
      if (e.type.zone != e.arguments[0]->type.zone) return false;  // It asks for the zone.
      break;
    default: break;
  }
  return is_compiled(e) && !fails_itself(e) &&
         std::all_of(e.arguments.begin(), e.arguments.end(),
                     [](const auto& argument) { return is_plain(*argument); });
}

std::string ExpressionSource::failure(Error error) {
  parts_.failures.push_back(std::move(error));
  return std::to_string(parts_.failures.size() - 1);
}

std::vector<std::string> ExpressionSource::all(const sql::Expression& e) {
  std::vector<std::string> texts;
  for (const auto& argument : e.arguments)
    texts.push_back(of(*argument));
  return texts;
}

std::vector<std::string> ExpressionSource::share(const std::vector<const sql::Expression*>& all) {
  std::vector<Counted> parts;
  for (const auto* expression : all)
    count_parts(*expression, parts);
  std::vector<std::string> lines;
  for (const auto& part : parts) {
    if (part.count == 1) continue;
    const auto name = "shared" + std::to_string(shared_.size());
    lines.push_back("const auto " + name + " = " +
                    of_type("once", cpp_type(part.expression->type)) + "([&] { return " +
                    of_itself(*part.expression) + "; });");
    shared_.push_back({part.expression, name});
  }
  return lines;
}

std::string ExpressionSource::of(const sql::Expression& e) {
  for (const auto& shared : shared_) {
    if (sql::equal(*shared.expression, e)) return shared.name + "()";
  }
  return of_itself(e);
}

std::string ExpressionSource::of_itself(const sql::Expression& e) {
  if (!is_compiled(e)) return interpreted(e);
  switch (e.operation) {
    case Operation::kColumn: return columns_[e.column];
    case Operation::kLiteral: return literal(e.literal, e.type);
    case Operation::kAdd:
    case Operation::kSubtract:
    case Operation::kMultiply:
    case Operation::kDivide:
    case Operation::kModulo: return arithmetic(e);
    case Operation::kShiftTime:
    case Operation::kTimestampOfMs: {
      const auto beyond = failure(sql::error_at(e.at, "the time lies beyond the years 1 to 9999"));
      if (e.operation == Operation::kShiftTime) return of_two("shift_time", {"run", beyond}, e);
      return call("timestamp", {"run", beyond, call(of_type("convert", "std::int64_t"), all(e))});
    }
    case Operation::kAnd:
    case Operation::kOr: return junction(e);
    case Operation::kCase: return choice(e, 0);
    case Operation::kCast:
    case Operation::kTryCast: return converted(*e.arguments[0], e.type);
    case Operation::kEqual:
    case Operation::kNotEqual:
    case Operation::kLess:
    case Operation::kLessEqual:
    case Operation::kGreater:
    case Operation::kGreaterEqual: return of_two(std::string(name_of(e.operation)), {}, e);
    case Operation::kIn: {
      std::vector<std::string> operands;
      for (const auto& argument : e.arguments)
        operands.push_back(converted(*argument, *comparison_type(e)));
      return call("is_in", operands);
    }
    case Operation::kLike: {
      const auto pattern = *pattern_of(e);
      const auto text = [](const std::string& value) {
        return literal(sql::Value::of_text(value), sql::kStringType);
      };
      return call("like", {of(*e.arguments[0]), text(pattern.steps), text(pattern.kinds)});
    }
    case Operation::kUpper:
    case Operation::kLower:
    case Operation::kConcat:
    case Operation::kDateFormat: return made_text(e);
    case Operation::kPrepared: return called(e);
    case Operation::kExtract: {
      const auto field = "TimeField::" + std::string(name_of(*sql::time_field(e.literal.text)));
      return call(of_type("extract", field), {converted(*e.arguments[0], sql::kTimestampType)});
    }
    default: return call(name_of(e.operation), all(e));
  }
}

std::string ExpressionSource::of_two(const std::string& operation,
                                     const std::vector<std::string>& head,
                                     const sql::Expression& e) {
  const bool compares = e.operation >= Operation::kEqual && e.operation <= Operation::kGreaterEqual;
  const auto operand = [&](std::size_t i) {
    const auto& argument = *e.arguments[i];
    if (compares) return converted(argument, *comparison_type(e));
    // An integer beside a decimal is one of scale 0.
    return e.type.kind == Kind::kDecimal ? converted(argument, sql::as_decimal(argument.type))
                                         : of(argument);
  };
  auto arguments = head;
  const auto first = operand(0), second = operand(1);
  const bool lazy = can_fail(*e.arguments[1]);
  arguments.insert(arguments.end(), {lazy ? "first" : first, second});
  const auto text = call(operation, arguments);
  return lazy ? call("lazily", {first, "[&](const auto& first) { return " + text + "; }"}) : text;
}

std::string ExpressionSource::arithmetic(const sql::Expression& e) {
  const std::string name(name_of(e.operation));
  if (e.type.is_real()) {
    const bool divides = e.operation == Operation::kDivide || e.operation == Operation::kModulo;
    const auto text = of_two(divides ? name + "_reals" : name, {}, e);
    return e.type.kind == Kind::kFloat ? call("single", {text}) : text;
  }
  if (e.type.kind == Kind::kDecimal) {
    const auto too_long =
        failure(sql::error_at(e.at, "the result does not fit " + sql::name_of(e.type)));
    return of_two(of_type(name + "_decimals", std::to_string(e.type.precision)), {"run", too_long},
                  e);
  }
  if (e.operation != Operation::kDivide && e.operation != Operation::kModulo)
    return of_two(name, {}, e);
  return of_two(name, {"run", failure(sql::error_at(e.at, "division by zero"))}, e);
}

std::string ExpressionSource::made_text(const sql::Expression& e) {
  parts_.makes_texts = true;
  if (e.operation == Operation::kConcat) {
    const auto too_long = failure(sql::error_at(e.at, "||: a text is longer than 16 MiB"));
    return call(of_type("concatenated", std::to_string(sql::kMaxMadeText)),
                {"run", too_long, of(*e.arguments[0]), of(*e.arguments[1])});
  }
  if (e.operation != Operation::kDateFormat) {
    const bool upper = e.operation == Operation::kUpper;
    return call(of_type("in_case", upper ? "true" : "false"), {"run", of(*e.arguments[0])});
  }
  std::vector<std::string> parts;
  const auto pattern = sql::date_parts(e.arguments[1]->literal.text);
  for (const auto& part : *pattern)
    parts.push_back(part.digits == 0 ? std::to_string(static_cast<unsigned char>(part.sign))
                                     : "DatePart::" + std::string(name_of(part.field)));
  return call(of_type("date_format", joined(parts)),
              {"run", converted(*e.arguments[0], sql::kTimestampType)});
}

std::string ExpressionSource::junction(const sql::Expression& e) {
  const std::string name = e.operation == Operation::kAnd ? "both" : "either";
  const auto operands = in_turn(e);
  std::string text = of(*operands[0]);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const auto next = of(*operands[i]);
    text = can_fail(*operands[i]) ? call(name + "_lazily", {text, "[&] { return " + next + "; }"})
                                  : call(name, {text, next});
  }
  return text;
}

std::string ExpressionSource::choice(const sql::Expression& e, std::size_t from) {
  if (from + 1 >= e.arguments.size()) return of(*e.arguments.back());
  const auto condition = of(*e.arguments[from]), answer = of(*e.arguments[from + 1]);
  return "(is_true(" + condition + ") ? " + answer + " : " + choice(e, from + 2) + ")";
}

std::string ExpressionSource::converted(const sql::Expression& e, const sql::Type& to) {
  const auto& from = e.type;
  const bool integers = from.is_integer() && to.is_integer();
  if (integers && e.operation == Operation::kLiteral && !e.literal.null)
    return literal(sql::Value::of(sql::wrapped(e.literal.number, to.kind)), to);
  const auto text = of(e);
  if (from == to) return text;
  if (to.kind == Kind::kDecimal) {
    if (from.kind == Kind::kDecimal && from.scale == to.scale) return text;
    const auto digits = std::to_string(to.scale - scale_of(from));
    return call(of_type("to_decimal", digits), {text});
  }
  if (to.is_time()) return time_of(text, from, to);
  if (to.is_real()) {
    const auto real = from.is_real() ? text : call("convert<double>", {text});
    return to.kind == Kind::kFloat ? call("single", {real}) : real;
  }
  if (to.kind == Kind::kString && from.is_integer()) {
    parts_.makes_texts = true;
    return call("number_text", {"run", call("convert<std::int64_t>", {text})});
  }
  return to.kind == from.kind ? text : call(of_type("convert", cpp_type(to)), {text});
}

std::string ExpressionSource::slots(const std::vector<const sql::Expression*>& arguments) {
  std::vector<std::string> texts;
  for (const auto* argument : arguments)
    texts.push_back(call("slot", {of(*argument)}));
  return of_type("Arguments", std::to_string(texts.size())) + "{{" + joined(texts) + "}}";
}

std::string ExpressionSource::called(const sql::Expression& e) {
  std::vector<const sql::Expression*> arguments;
  for (const auto& argument : e.arguments)
    arguments.push_back(argument.get());
  const auto texts = slots(arguments);
  parts_.calls.push_back(&e);
  parts_.makes_texts = parts_.makes_texts || e.type.is_bytes();
  return call(of_type("called", cpp_type(e.type)),
              {"run", std::to_string(parts_.calls.size() - 1), texts});
}

// The same wall clock.
std::string ExpressionSource::time_of(std::string text, const sql::Type& from,
                                      const sql::Type& to) {
  if (to.kind == from.kind && to.zone == from.zone) return text;
  if (from.zone != nullptr) {
    parts_.zone = from.zone;
    text = call("wall_of", {"run", text});
  }
  if (to.kind != from.kind)
    text = call(to.kind == Kind::kDate ? "date_of_timestamp" : "timestamp_of_date", {text});
  if (to.zone == nullptr) return text;
  parts_.zone = to.zone;
  return call("instant_of", {"run", text});
}

std::string ExpressionSource::interpreted(const sql::Expression& e) {
  QueryParts::Interpreted part{
      &e, sql::columns_of(e), {}, columns_.size(), sql::text_of(e, names_)};
  std::vector<std::string> arguments = {"run", std::to_string(parts_.interpreted.size())};
  for (const auto column : part.columns) {
    arguments.push_back(columns_[column]);
    part.types.push_back(reader_of(e, column)->type);
  }
  parts_.interpreted.push_back(std::move(part));
  parts_.makes_texts = parts_.makes_texts || e.type.is_bytes();
  return call(of_type("interpreted", cpp_type(e.type)), arguments);
}

}  // namespace holdfast::stream::compile
