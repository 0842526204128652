#include "json_clauses.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <holdfast/sql/expression_parser.hpp>

namespace holdfast::sql {
namespace {

using syntax::JsonAnswer;

class ClauseParser {
 public:
  ClauseParser(std::string_view function, TokenReader& tokens)
      : query_(function == "JSON_QUERY"), exists_(function == "JSON_EXISTS"), tokens_(tokens) {}

  Status run() {
    if (!exists_ && tokens_.accept("RETURNING")) {
      clauses.returning_at = tokens_.peek().at;
      HF_ASSIGN_OR_RETURN(clauses.returning, parse_type(tokens_));
      clauses.has_returning = true;
    }
    if (query_) HF_RETURN_IF_ERROR(wrapper());
    while (!tokens_.is_sign(")"))
      HF_RETURN_IF_ERROR(on_case());
    return {};
  }

  syntax::JsonClauses clauses;

 private:
  Status wrapper() {
    const bool with = tokens_.is("WITH");
    if (!with && !tokens_.is("WITHOUT")) return {};
    tokens_.take();
    if (with) {
      const bool conditional = tokens_.accept("CONDITIONAL");
      if (!conditional) tokens_.accept("UNCONDITIONAL");
      clauses.wrapper =
          conditional ? syntax::JsonWrapper::kConditional : syntax::JsonWrapper::kAlways;
    }
    tokens_.accept("ARRAY");
    return tokens_.expect("WRAPPER");
  }

  Status on_case() {
    syntax::JsonCase found;
    found.at = tokens_.peek().at;
    HF_ASSIGN_OR_RETURN(found.answer, answer(found));
    HF_RETURN_IF_ERROR(tokens_.expect("ON"));
    const bool empty = !exists_ && tokens_.accept("EMPTY");
    if (!empty && !tokens_.accept("ERROR"))
      return tokens_.wrong(exists_ ? "ERROR" : "EMPTY or ERROR");
    auto& place = empty ? clauses.on_empty : clauses.on_error;
    if (place.answer != JsonAnswer::kUnsaid)
      return error_at(found.at, empty ? "ON EMPTY is said twice" : "ON ERROR is said twice");
    place = std::move(found);
    return {};
  }

  Result<JsonAnswer> answer(syntax::JsonCase& found) {
    if (tokens_.accept("ERROR")) return JsonAnswer::kError;
    if (exists_) {
      if (tokens_.accept("TRUE")) return JsonAnswer::kTrue;
      if (tokens_.accept("FALSE")) return JsonAnswer::kFalse;
      if (tokens_.accept("UNKNOWN")) return JsonAnswer::kNull;
      return tokens_.wrong("TRUE, FALSE, UNKNOWN or ERROR");
    }
    if (tokens_.accept("NULL")) return JsonAnswer::kNull;
    if (query_) {
      if (!tokens_.accept("EMPTY")) return tokens_.wrong("NULL, EMPTY or ERROR");
      if (tokens_.accept("OBJECT")) return JsonAnswer::kEmptyObject;
      HF_RETURN_IF_ERROR(tokens_.expect("ARRAY"));
      return JsonAnswer::kEmptyArray;
    }
    if (!tokens_.accept("DEFAULT")) return tokens_.wrong("NULL, DEFAULT or ERROR");
    HF_ASSIGN_OR_RETURN(found.value, parse_bound(tokens_));
    return JsonAnswer::kDefault;
  }

  const bool query_, exists_;
  TokenReader& tokens_;
};

}  // namespace

Status parse_json_clauses(syntax::Expression& call, TokenReader& tokens) {
  ClauseParser parser(call.name, tokens);
  HF_RETURN_IF_ERROR(parser.run());
  for (const auto* one : {&parser.clauses.on_empty, &parser.clauses.on_error})
    if (one->value != nullptr) call.depth = std::max(call.depth, one->value->depth + 1);
  call.json = std::make_shared<syntax::JsonClauses>(std::move(parser.clauses));
  return {};
}

}  // namespace holdfast::sql
