#include "json_functions.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/json_path.hpp>
#include <holdfast/sql/prepared_function.hpp>

namespace holdfast::sql {
namespace {

using syntax::JsonAnswer;
using NodeKind = JsonNode::Kind;

std::string json_text(const JsonNode& node) {
  std::string text;
  append_json(node, text);
  return text;
}

// What ON EMPTY or ON ERROR answers.
struct Answer {
  JsonAnswer kind = JsonAnswer::kNull;
  Value value;  // Of DEFAULT.

  Status give(const char* function, const std::string& wrong, Value& out) const {
    switch (kind) {
      case JsonAnswer::kError:
        return Error{Errc::kInvalidOption, std::string(function) + ": " + wrong};
      case JsonAnswer::kDefault: return out = value, Status();
      case JsonAnswer::kEmptyArray: return out = Value::of_text("[]"), Status();
      case JsonAnswer::kEmptyObject: return out = Value::of_text("{}"), Status();
      case JsonAnswer::kTrue: return out = Value::of(1), Status();
      case JsonAnswer::kFalse: return out = Value::of(0), Status();
      case JsonAnswer::kUnsaid:
      case JsonAnswer::kNull: break;
    }
    return out = Value(), Status();
  }
  std::string text(const Type& type) const {
    switch (kind) {
      case JsonAnswer::kError: return "ERROR";
      case JsonAnswer::kDefault:
        return "DEFAULT " + (value.null ? "NULL" : quoted_text(text_of(value, type)));
      case JsonAnswer::kEmptyArray: return "EMPTY ARRAY";
      case JsonAnswer::kEmptyObject: return "EMPTY OBJECT";
      case JsonAnswer::kTrue: return "TRUE";
      case JsonAnswer::kFalse: return "FALSE";
      case JsonAnswer::kUnsaid:
      case JsonAnswer::kNull: break;
    }
    return "NULL";
  }
};

constexpr const char* kNoJson = "the text is no JSON";
constexpr const char* kNothing = "the path finds nothing";

// The functions that have a path.
class PathFunction : public PreparedFunction {
 public:
  PathFunction(JsonPath path, Type type, Answer on_empty, Answer on_error)
      : type_(type),
        on_empty_(std::move(on_empty)),
        on_error_(std::move(on_error)),
        path_(std::move(path)) {}

  Status compute(std::span<const Value> arguments, Value& out) const final {
    if (arguments[0].null) return out = Value(), Status();
    const auto root = parse_json(arguments[0].text);
    if (!root) return on_error_.give(name(), kNoJson, out);
    const auto found = path_.find(*root);
    if (found.missing && !path_.is_lax()) return on_error_.give(name(), kNothing, out);
    return of(found, out);
  }
  std::string text() const override {
    return std::string(name()) + " " + quoted_text(path_.written()) + " RETURNING " +
           name_of(type_) + " " + on_empty_.text(type_) + " ON EMPTY " + on_error_.text(type_) +
           " ON ERROR ";
  }

 protected:
  virtual const char* name() const = 0;
  // Of what the path found in a text that is JSON.
  virtual Status of(const JsonPath::Found& found, Value& out) const = 0;

  bool is_lax() const { return path_.is_lax(); }
  static bool is_nothing(const JsonPath::Found& found) {
    return found.missing ||
           (!found.many && (found.nodes.empty() || found.nodes[0]->kind == NodeKind::kNull));
  }

  const Type type_;
  const Answer on_empty_, on_error_;

 private:
  const JsonPath path_;
};

class ValueFunction final : public PathFunction {
 public:
  using PathFunction::PathFunction;

 private:
  const char* name() const override { return "JSON_VALUE"; }
  Status of(const JsonPath::Found& found, Value& out) const override {
    if (is_nothing(found)) return on_empty_.give(name(), kNothing, out);
    if (found.many || found.nodes[0]->is_container()) {
      constexpr const char* kContainer = "the path finds an array or an object";
      return (is_lax() ? on_empty_ : on_error_).give(name(), kContainer, out);
    }
    auto value = converted_node(*found.nodes[0]);
    if (!value) return on_error_.give(name(), "the value is no " + name_of(type_), out);
    return out = *std::move(value), Status();
  }
  std::optional<Value> converted_node(const JsonNode& node) const {
    const bool is_truth = node.kind == NodeKind::kTrue || node.kind == NodeKind::kFalse;
    if (type_.kind == Kind::kString)
      return Value::of_text(node.kind == NodeKind::kText ? node.text : json_text(node));
    if (type_.kind == Kind::kBoolean) {
      if (is_truth) return Value::of(node.kind == NodeKind::kTrue ? 1 : 0);
      if (node.text != "true" && node.text != "false") return std::nullopt;
      return Value::of(node.text == "true" ? 1 : 0);
    }
    return is_truth ? std::nullopt : value_of(node.text, type_);
  }
};

class QueryFunction final : public PathFunction {
 public:
  QueryFunction(JsonPath path, Type type, Answer on_empty, Answer on_error,
                syntax::JsonWrapper wrapper)
      : PathFunction(std::move(path), type, std::move(on_empty), std::move(on_error)),
        wrapper_(wrapper) {}

  std::string text() const override {
    const bool conditional = wrapper_ == syntax::JsonWrapper::kConditional;
    return PathFunction::text() + (wrapper_ == syntax::JsonWrapper::kNone ? "WITHOUT WRAPPER "
                                   : conditional ? "WITH CONDITIONAL WRAPPER "
                                                 : "WITH WRAPPER ");
  }

 private:
  const char* name() const override { return "JSON_QUERY"; }
  Status of(const JsonPath::Found& found, Value& out) const override {
    if (is_nothing(found)) return on_empty_.give(name(), kNothing, out);
    const bool array = found.many || found.nodes[0]->kind == NodeKind::kArray;
    const bool wraps = wrapper_ == syntax::JsonWrapper::kAlways ||
                       (wrapper_ == syntax::JsonWrapper::kConditional && !array);
    if (!wraps && !found.many && !found.nodes[0]->is_container()) {
      constexpr const char* kScalar = "the path finds neither an array nor an object";
      return (is_lax() ? on_empty_ : on_error_).give(name(), kScalar, out);
    }
    std::string text(wraps ? "[" : "");
    if (found.many) text += '[';
    for (std::size_t i = 0; i < found.nodes.size(); ++i) {
      if (i > 0) text += ',';
      append_json(*found.nodes[i], text);
    }
    if (found.many) text += ']';
    if (wraps) text += ']';
    return out = Value::of_text(std::move(text)), Status();
  }

  const syntax::JsonWrapper wrapper_;
};

class ExistsFunction final : public PathFunction {
 public:
  using PathFunction::PathFunction;

 private:
  const char* name() const override { return "JSON_EXISTS"; }
  Status of(const JsonPath::Found& found, Value& out) const override {
    return out = Value::of(is_nothing(found) || found.nodes.empty() ? 0 : 1), Status();
  }
};

class IsJson final : public PreparedFunction {
 public:
  explicit IsJson(std::string name) : name_(std::move(name)) {}

  Status compute(std::span<const Value> arguments, Value& out) const override {
    const auto root = arguments[0].null ? std::nullopt : parse_json(arguments[0].text);
    return out = Value::of(root && is(*root) ? 1 : 0), Status();
  }
  std::string text() const override { return name_; }

 private:
  bool is(const JsonNode& root) const {
    if (name_.ends_with("ARRAY")) return root.kind == NodeKind::kArray;
    if (name_.ends_with("OBJECT")) return root.kind == NodeKind::kObject;
    return !name_.ends_with("SCALAR") || !root.is_container();
  }

  const std::string name_;
};

ExpressionPointer call_of(std::shared_ptr<const PreparedFunction> function, const Type& type,
                          Position at, ExpressionPointer text) {
  auto call = made(Operation::kPrepared, type, at, std::move(text));
  call->prepared = std::move(function);
  return call;
}

// STRING, and what Flink returns of JSON_VALUE.
Result<Type> returned_type(const syntax::Expression& e) {
  const auto& clauses = *e.json;
  if (e.name == "JSON_EXISTS") return kBooleanType;
  if (!clauses.has_returning) return kStringType;
  const auto kind = clauses.returning.kind;
  const bool number = kind == Kind::kInt || kind == Kind::kBigInt || kind == Kind::kDouble;
  const bool other = e.name == "JSON_VALUE" && (number || kind == Kind::kBoolean);
  if (kind == Kind::kString || other) return clauses.returning;
  return unsupported_at(clauses.returning_at, e.name + " RETURNING " + name_of(clauses.returning),
                        "write a CAST around it");
}

Result<Answer> answer_of(const syntax::JsonCase& said, JsonAnswer otherwise, const Type& type,
                         const Scope& scope) {
  Answer answer;
  answer.kind = said.answer == JsonAnswer::kUnsaid ? otherwise : said.answer;
  if (said.value == nullptr) return answer;
  HF_ASSIGN_OR_RETURN(auto bound, bind(*said.value, scope));
  auto value = converted(folded(std::move(bound)), type, "DEFAULT");
  if (value) value = folded(*std::move(value));
  if (!value || (*value)->operation != Operation::kLiteral)
    return error_at(said.value->at, "DEFAULT wants a literal that is " + name_of(type));
  answer.value = (*value)->literal;
  return answer;
}

std::shared_ptr<const PreparedFunction> prepared(const syntax::Expression& e, JsonPath path,
                                                 const Type& type, Answer on_empty,
                                                 Answer on_error) {
  if (e.name == "JSON_VALUE")
    return std::make_shared<ValueFunction>(std::move(path), type, std::move(on_empty),
                                           std::move(on_error));
  if (e.name == "JSON_QUERY")
    return std::make_shared<QueryFunction>(std::move(path), type, std::move(on_empty),
                                           std::move(on_error), e.json->wrapper);
  return std::make_shared<ExistsFunction>(std::move(path), type, std::move(on_empty),
                                          std::move(on_error));
}

}  // namespace

Result<ExpressionPointer> bind_json(const syntax::Expression& e, const Scope& scope) {
  if (e.json != nullptr && e.arguments.size() != 2)
    return error_at(e.at, e.name + " wants a text and a path");
  HF_ASSIGN_OR_RETURN(auto text, bind(*e.arguments[0], scope));
  HF_ASSIGN_OR_RETURN(text, converted(std::move(text), kStringType, e.name));
  if (e.json == nullptr)
    return call_of(std::make_shared<IsJson>(e.name), kBooleanType, e.at, std::move(text));
  HF_ASSIGN_OR_RETURN(auto written, bind(*e.arguments[1], scope));
  HF_ASSIGN_OR_RETURN(written, converted(folded(std::move(written)), kStringType, e.name));
  if (written->operation != Operation::kLiteral)
    return unsupported_at(written->at, e.name + " with a path that is no literal");
  HF_ASSIGN_OR_RETURN(const auto type, returned_type(e));
  if (written->literal.null) return literal_of(Value(), type, e.at);
  auto path = JsonPath::parse(written->literal.text);
  if (!path) {
    Error error = error_at(written->at, path.error().detail);
    error.code = path.error().code;
    return error;
  }
  const auto on_error = e.name == "JSON_EXISTS" ? JsonAnswer::kFalse : JsonAnswer::kNull;
  HF_ASSIGN_OR_RETURN(auto if_empty, answer_of(e.json->on_empty, JsonAnswer::kNull, type, scope));
  HF_ASSIGN_OR_RETURN(auto if_error, answer_of(e.json->on_error, on_error, type, scope));
  return call_of(prepared(e, *std::move(path), type, std::move(if_empty), std::move(if_error)),
                 type, e.at, std::move(text));
}

}  // namespace holdfast::sql
