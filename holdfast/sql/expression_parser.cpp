#include "expression_parser.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/json_clauses.hpp>
#include <holdfast/sql/query_parser.hpp>

namespace holdfast::sql {
namespace {

using syntax::Expression;
using syntax::ExpressionPointer;
using syntax::Form;

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenReader& tokens) : tokens_(tokens) {}

  Result<ExpressionPointer> any() { return deeper(&ExpressionParser::disjunction); }
  Result<ExpressionPointer> bound() { return deeper(&ExpressionParser::sum); }

 private:
  using Rule = Result<ExpressionPointer> (ExpressionParser::*)();

  // Each nesting passes here: the stack holds what kMaxDepth allows.
  Result<ExpressionPointer> deeper(Rule rule) {
    if (tokens_.depth == kMaxDepth)
      return error_at(tokens_.peek().at,
                      "expressions are nested deeper than " + std::to_string(kMaxDepth));
    ++tokens_.depth;
    auto result = (this->*rule)();
    --tokens_.depth;
    return result;
  }

  // A long chain a + a + a is a deep tree, too.
  Result<ExpressionPointer> made(ExpressionPointer node) {
    for (const auto& argument : node->arguments)
      node->depth = std::max(node->depth, argument->depth + 1);
    if (node->query != nullptr) node->depth = std::max(node->depth, node->query->depth + 1);
    if (node->depth > kMaxDepth)
      return error_at(node->at, "an expression is deeper than " + std::to_string(kMaxDepth),
                      "split it, or use IN for a long list of OR");
    return node;
  }
  ExpressionPointer leaf(Form form, Position at) const {
    auto node = std::make_unique<Expression>();
    node->form = form;
    node->at = at;
    node->zone = tokens_.zone;
    return node;
  }
  template <class... Arguments>
  Result<ExpressionPointer> node(Form form, Position at, std::string name, Arguments... arguments) {
    auto made_node = leaf(form, at);
    made_node->name = std::move(name);
    (made_node->arguments.push_back(std::move(arguments)), ...);
    return made(std::move(made_node));
  }

  Result<ExpressionPointer> chain(Rule operand, std::initializer_list<std::string_view> words) {
    HF_ASSIGN_OR_RETURN(auto left, (this->*operand)());
    for (;;) {
      const Token token = tokens_.peek();
      const bool found = std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        return token.is(word) || token.is_sign(word);
      });
      if (!found) return left;
      tokens_.take();
      HF_ASSIGN_OR_RETURN(auto right, (this->*operand)());
      const std::string name = token.kind == TokenKind::kWord ? token.upper : token.text;
      HF_ASSIGN_OR_RETURN(left,
                          node(Form::kBinary, token.at, name, std::move(left), std::move(right)));
    }
  }

  // a AND b AND c: the first two first, as other chains, where kMaxDepth allows. A longer one in
  // halves: any grouping has the same value. So it may have as many parts as a text has room for.
  Result<ExpressionPointer> junction(Rule operand, std::string_view word) {
    std::vector<ExpressionPointer> parts;
    std::vector<Position> words = {tokens_.peek().at};
    std::uint32_t depth = 0;
    for (;;) {
      HF_ASSIGN_OR_RETURN(auto part, (this->*operand)());
      depth = parts.empty() ? part->depth : std::max(depth, part->depth) + 1;
      parts.push_back(std::move(part));
      const Token token = tokens_.peek();
      if (!token.is(word)) break;
      words.push_back(tokens_.take().at);
    }
    const std::string name(word);
    while (parts.size() > 1) {
      std::vector<ExpressionPointer> joined;
      std::vector<Position> between;
      const std::size_t most = depth > kMaxDepth ? parts.size() : 2;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        between.push_back(words[i]);
        if (i + 1 < most) {
          HF_ASSIGN_OR_RETURN(parts[i], node(Form::kBinary, words[i + 1], name, std::move(parts[i]),
                                             std::move(parts[i + 1])));
          joined.push_back(std::move(parts[i++]));
        } else {
          joined.push_back(std::move(parts[i]));
        }
      }
      parts = std::move(joined);
      words = std::move(between);
    }
    return std::move(parts.front());
  }

  Result<ExpressionPointer> disjunction() { return junction(&ExpressionParser::conjunction, "OR"); }
  Result<ExpressionPointer> conjunction() { return junction(&ExpressionParser::negation, "AND"); }
  Result<ExpressionPointer> negation() {
    const Position at = tokens_.peek().at;
    if (!tokens_.accept("NOT")) return comparison();
    HF_ASSIGN_OR_RETURN(auto operand, deeper(&ExpressionParser::negation));
    return node(Form::kUnary, at, "NOT", std::move(operand));
  }

  Result<ExpressionPointer> comparison() {
    HF_ASSIGN_OR_RETURN(auto left, sum());
    for (;;) {
      const Token token = tokens_.peek();
      static constexpr std::array<std::string_view, 6> kSigns = {"=", "<>", "<", "<=", ">", ">="};
      if (token.kind == TokenKind::kSign &&
          std::find(kSigns.begin(), kSigns.end(), token.text) != kSigns.end()) {
        tokens_.take();
        HF_ASSIGN_OR_RETURN(auto right, sum());
        HF_ASSIGN_OR_RETURN(
            left, node(Form::kBinary, token.at, token.text, std::move(left), std::move(right)));
      } else if (token.is("IS")) {
        HF_ASSIGN_OR_RETURN(left, is_test(std::move(left)));
      } else if (token.is("IN") || token.is("BETWEEN") || token.is("LIKE") ||
                 (token.is("SIMILAR") && tokens_.is("TO", 1)) || token.is("NOT")) {
        HF_ASSIGN_OR_RETURN(left, membership(std::move(left)));
      } else {
        return left;
      }
    }
  }

  Result<ExpressionPointer> is_test(ExpressionPointer left) {
    const Position at = tokens_.take().at;
    const bool negated = tokens_.accept("NOT");
    const Token what = tokens_.peek();
    if (tokens_.accept("DISTINCT")) {
      HF_RETURN_IF_ERROR(tokens_.expect("FROM"));
      HF_ASSIGN_OR_RETURN(auto right, sum());
      HF_ASSIGN_OR_RETURN(auto test,
                          node(Form::kDistinct, at, "", std::move(left), std::move(right)));
      test->negated = negated;
      return test;
    }
    if (what.is("JSON")) return json_test(std::move(left), negated, at);
    if (!what.is("NULL") && !what.is("TRUE") && !what.is("FALSE") && !what.is("UNKNOWN"))
      return tokens_.wrong("NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT");
    tokens_.take();
    HF_ASSIGN_OR_RETURN(auto test, node(Form::kIs, at, what.upper, std::move(left)));
    test->negated = negated;
    return test;
  }

  // text IS [NOT] JSON [VALUE | ARRAY | OBJECT | SCALAR]
  Result<ExpressionPointer> json_test(ExpressionPointer left, bool negated, Position at) {
    tokens_.take();
    const Token kind = tokens_.peek();
    const bool said =
        kind.is("VALUE") || kind.is("ARRAY") || kind.is("OBJECT") || kind.is("SCALAR");
    if (said) tokens_.take();
    HF_ASSIGN_OR_RETURN(auto test, node(Form::kCall, at, "", std::move(left)));
    test->name = said ? "IS JSON " + kind.upper : "IS JSON";
    if (!negated) return test;
    return node(Form::kUnary, at, "NOT", std::move(test));
  }

  Result<ExpressionPointer> membership(ExpressionPointer left) {
    const Position at = tokens_.peek().at;
    const bool negated = tokens_.accept("NOT");
    auto test = leaf(Form::kIn, at);
    test->negated = negated;
    test->arguments.push_back(std::move(left));
    if (tokens_.accept("IN")) {
      HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
      if (at_query()) {
        HF_ASSIGN_OR_RETURN(test->query, parse_query(tokens_));
      } else {
        do {
          HF_ASSIGN_OR_RETURN(auto member, any());
          test->arguments.push_back(std::move(member));
        } while (tokens_.accept_sign(","));
      }
      HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    } else if (tokens_.accept("BETWEEN")) {
      test->form = Form::kBetween;
      if (tokens_.accept("SYMMETRIC"))
        test->name = "SYMMETRIC";
      else
        tokens_.accept("ASYMMETRIC");
      HF_ASSIGN_OR_RETURN(auto low, sum());
      HF_RETURN_IF_ERROR(tokens_.expect("AND"));
      HF_ASSIGN_OR_RETURN(auto high, sum());
      test->arguments.push_back(std::move(low));
      test->arguments.push_back(std::move(high));
    } else if (tokens_.is("LIKE") || tokens_.is("SIMILAR")) {
      test->form = Form::kLike;
      if (tokens_.take().is("SIMILAR")) {
        HF_RETURN_IF_ERROR(tokens_.expect("TO"));
        test->form = Form::kCall;
        test->name = "SIMILAR TO";
      }
      HF_ASSIGN_OR_RETURN(auto pattern, sum());
      test->arguments.push_back(std::move(pattern));
      if (tokens_.accept("ESCAPE")) {
        HF_ASSIGN_OR_RETURN(auto escape, sum());
        test->arguments.push_back(std::move(escape));
      }
    } else {
      return tokens_.wrong("IN, BETWEEN, LIKE or SIMILAR TO");
    }
    if (test->form != Form::kCall || !negated) return made(std::move(test));
    test->negated = false;
    HF_ASSIGN_OR_RETURN(test, made(std::move(test)));
    return node(Form::kUnary, at, "NOT", std::move(test));
  }

  Result<ExpressionPointer> sum() { return chain(&ExpressionParser::product, {"+", "-", "||"}); }
  Result<ExpressionPointer> product() { return chain(&ExpressionParser::sign, {"*", "/", "%"}); }
  Result<ExpressionPointer> sign() {
    const Token token = tokens_.peek();
    if (!token.is_sign("-") && !token.is_sign("+")) return parts();
    tokens_.take();
    HF_ASSIGN_OR_RETURN(auto operand, deeper(&ExpressionParser::sign));
    return node(Form::kUnary, token.at, token.text, std::move(operand));
  }

  // value[index].field
  Result<ExpressionPointer> parts() {
    HF_ASSIGN_OR_RETURN(auto value, primary());
    for (;;) {
      const Position at = tokens_.peek().at;
      if (tokens_.accept_sign("[")) {
        HF_ASSIGN_OR_RETURN(auto index, any());
        HF_RETURN_IF_ERROR(tokens_.expect_sign("]"));
        HF_ASSIGN_OR_RETURN(value,
                            node(Form::kNested, at, "ITEM", std::move(value), std::move(index)));
      } else if (tokens_.accept_sign(".")) {
        HF_ASSIGN_OR_RETURN(auto field, take_name(tokens_, "a field"));
        HF_ASSIGN_OR_RETURN(value, node(Form::kField, at, std::move(field), std::move(value)));
      } else {
        return value;
      }
    }
  }

  // ARRAY[…] and MAP[…]
  Result<ExpressionPointer> list() {
    const Token word = tokens_.take();
    auto result = leaf(Form::kNested, word.at);
    result->name = word.upper;
    tokens_.take();
    if (tokens_.is_sign("]"))
      return unsupported_at(word.at, "an empty " + word.upper + "[]", "its type is not known");
    do {
      HF_ASSIGN_OR_RETURN(auto part, any());
      result->arguments.push_back(std::move(part));
      if (result->arguments.size() > kMaxColumns)
        return error_at(word.at,
                        word.upper + "[…] has more than " + std::to_string(kMaxColumns) + " parts");
    } while (tokens_.accept_sign(","));
    HF_RETURN_IF_ERROR(tokens_.expect_sign("]"));
    return made(std::move(result));
  }

  Result<ExpressionPointer> primary() {
    const Token token = tokens_.peek();
    if (token.kind == TokenKind::kNumber || token.kind == TokenKind::kText) {
      auto literal = leaf(token.kind == TokenKind::kText ? Form::kText : Form::kNumber, token.at);
      literal->text = tokens_.take().text;
      return literal;
    }
    if (tokens_.accept_sign("(")) {
      if (at_query()) return query_of(Form::kScalar, token.at);
      HF_ASSIGN_OR_RETURN(auto inner, any());
      if (tokens_.is_sign(","))
        return unsupported_at(token.at, "(a, b) as a value", "ROW(a, b) is one");
      HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
      return inner;
    }
    if (token.kind == TokenKind::kWord) {
      if (token.is("CASE")) return deeper(&ExpressionParser::case_of);
      if (token.is("CAST") || token.is("TRY_CAST")) return deeper(&ExpressionParser::cast);
      if (token.is("EXISTS")) {
        tokens_.take();
        HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
        return query_of(Form::kExists, token.at);
      }
      if (token.is("NULL")) return tokens_.take(), leaf(Form::kNull, token.at);
      if (token.is("TRUE")) return tokens_.take(), leaf(Form::kTrue, token.at);
      if (token.is("FALSE")) return tokens_.take(), leaf(Form::kFalse, token.at);
      if (token.is("INTERVAL")) return interval();
      if (tokens_.peek(1).kind == TokenKind::kText && (token.is("DATE") || token.is("TIMESTAMP"))) {
        tokens_.take();
        auto literal = leaf(token.is("DATE") ? Form::kDate : Form::kTimestamp, token.at);
        literal->text = tokens_.take().text;
        return literal;
      }
      if (tokens_.is_sign("[", 1) && (token.is("ARRAY") || token.is("MAP")))
        return deeper(&ExpressionParser::list);
      const bool of_all = token.is("ALL") || token.is("ANY") || token.is("SOME");
      if (of_all && tokens_.is_sign("(", 1) && tokens_.peek(2).is("SELECT"))
        return unsupported_at(token.at, token.upper + " (query)",
                              "IN (query), or a comparison with (SELECT MAX(…) …)");
      if (tokens_.is_sign("(", 1)) return deeper(&ExpressionParser::call);
    }
    return name();
  }

  bool at_query() const {
    return tokens_.is("SELECT") || tokens_.is("WITH") || tokens_.is("VALUES");
  }

  // Behind the opening parenthesis.
  Result<ExpressionPointer> query_of(Form form, Position at) {
    auto of = leaf(form, at);
    HF_ASSIGN_OR_RETURN(of->query, parse_query(tokens_));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    return made(std::move(of));
  }

  Result<ExpressionPointer> name() {
    auto column = leaf(Form::kName, tokens_.peek().at);
    HF_ASSIGN_OR_RETURN(column->name, take_name(tokens_, "an expression"));
    if (tokens_.accept_sign(".")) {
      column->qualifier = std::move(column->name);
      HF_ASSIGN_OR_RETURN(column->name, take_name(tokens_, "a column"));
    }
    return column;
  }

  Result<ExpressionPointer> interval() {
    auto literal = leaf(Form::kInterval, tokens_.take().at);
    const bool negative = tokens_.accept_sign("-");
    HF_ASSIGN_OR_RETURN(literal->text, tokens_.expect_text("a text such as '10'"));
    if (negative)
      literal->text =
          literal->text.starts_with('-') ? literal->text.substr(1) : "-" + literal->text;
    literal->name = tokens_.peek().upper;
    static constexpr std::array<std::string_view, 12> kUnits = {
        "SECOND",  "MINUTE",  "HOUR",  "DAY",  "MONTH",  "YEAR",
        "SECONDS", "MINUTES", "HOURS", "DAYS", "MONTHS", "YEARS"};
    if (std::find(kUnits.begin(), kUnits.end(), literal->name) == kUnits.end())
      return tokens_.wrong("SECOND, MINUTE, HOUR, DAY, MONTH or YEAR");
    tokens_.take();
    if (literal->name.ends_with('S')) literal->name.pop_back();
    if (tokens_.is("TO"))
      return unsupported_at(tokens_.peek().at, "INTERVAL … TO",
                            "write one after the other: + INTERVAL '1' DAY + INTERVAL '2' HOUR");
    return literal;
  }

  Result<ExpressionPointer> case_of() {
    auto choice = leaf(Form::kCase, tokens_.take().at);
    // CASE value WHEN 1 is CASE WHEN value = 1: the text of the value is read again for each.
    std::optional<std::size_t> value_at;
    if (!tokens_.is("WHEN")) {
      value_at = tokens_.place();
      HF_RETURN_IF_ERROR(any());
    }
    while (tokens_.accept("WHEN")) {
      HF_ASSIGN_OR_RETURN(auto condition, any());
      if (value_at) {
        const auto behind = tokens_.place();
        tokens_.go_to(*value_at);
        HF_ASSIGN_OR_RETURN(auto value, any());
        // A CASE as the value of a CASE, and so on, would be read more often than there is time.
        constexpr std::size_t kMostReadAgain = 1u << 18;
        tokens_.read_again += tokens_.place() - *value_at;
        if (tokens_.read_again > kMostReadAgain)
          return error_at(value->at, "the values of CASE value WHEN are too long",
                          "write CASE WHEN value = …");
        tokens_.go_to(behind);
        const Position at = condition->at;
        HF_ASSIGN_OR_RETURN(condition,
                            node(Form::kBinary, at, "=", std::move(value), std::move(condition)));
      }
      HF_RETURN_IF_ERROR(tokens_.expect("THEN"));
      HF_ASSIGN_OR_RETURN(auto answer, any());
      choice->arguments.push_back(std::move(condition));
      choice->arguments.push_back(std::move(answer));
    }
    if (tokens_.accept("ELSE")) {
      HF_ASSIGN_OR_RETURN(auto answer, any());
      choice->arguments.push_back(std::move(answer));
      choice->has_else = true;
    }
    HF_RETURN_IF_ERROR(tokens_.expect("END"));
    return made(std::move(choice));
  }

  Result<ExpressionPointer> cast() {
    const Token word = tokens_.take();
    HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
    HF_ASSIGN_OR_RETURN(auto operand, any());
    HF_RETURN_IF_ERROR(tokens_.expect("AS"));
    HF_ASSIGN_OR_RETURN(const Type type, parse_type(tokens_));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    HF_ASSIGN_OR_RETURN(auto result, node(Form::kCast, word.at, word.upper, std::move(operand)));
    result->type = type;
    return result;
  }

  Result<ExpressionPointer> call() {
    const Token word = tokens_.take();
    auto result = leaf(Form::kCall, word.at);
    result->name = word.upper;
    tokens_.take();
    if (word.is("EXTRACT")) {
      auto unit = leaf(Form::kText, tokens_.peek().at);
      unit->text = tokens_.take().upper;
      HF_RETURN_IF_ERROR(tokens_.expect("FROM"));
      HF_ASSIGN_OR_RETURN(auto operand, any());
      result->arguments.push_back(std::move(unit));
      result->arguments.push_back(std::move(operand));
      HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
      return made(std::move(result));
    }
    if (word.is("TRIM") || word.is("POSITION")) {
      HF_ASSIGN_OR_RETURN(const bool done, special_form(*result));
      if (done) return made(std::move(result));
    }
    HF_RETURN_IF_ERROR(refuse_json_makers(word));
    result->distinct = tokens_.accept("DISTINCT");
    if (tokens_.accept_sign("*")) {
      result->star = true;
    } else if (!tokens_.is_sign(")")) {
      do {
        HF_ASSIGN_OR_RETURN(auto argument, any());
        result->arguments.push_back(std::move(argument));
      } while (tokens_.accept_sign(",") || accept_word_of(*result));
      HF_RETURN_IF_ERROR(nulls_of(*result));
    }
    if (has_json_clauses(result->name)) HF_RETURN_IF_ERROR(parse_json_clauses(*result, tokens_));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    if (tokens_.is("WITHIN") && tokens_.peek(1).is("GROUP"))
      return unsupported_at(tokens_.peek().at, "WITHIN GROUP", "the order is that of the rows");
    if (tokens_.is("FILTER") && tokens_.is_sign("(", 1)) {
      tokens_.take(), tokens_.take();
      HF_RETURN_IF_ERROR(tokens_.expect("WHERE"));
      HF_ASSIGN_OR_RETURN(auto filter, any());
      HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
      result->arguments.push_back(std::move(filter));
      result->has_filter = true;
    }
    if (tokens_.is("OVER")) {
      HF_ASSIGN_OR_RETURN(result->over, parse_over(tokens_));
      if (result->over->preceding) result->depth = result->over->preceding->depth + 1;
      for (const auto& key : result->over->partition_by)
        result->depth = std::max(result->depth, key->depth + 1);
      for (const auto& item : result->over->order_by)
        result->depth = std::max(result->depth, item.expression->depth + 1);
    }
    return made(std::move(result));
  }

  // Before their arguments, which have a syntax of their own: KEY 'a' VALUE b.
  static Status refuse_json_makers(const Token& word) {
    static constexpr std::array<std::string_view, 6> kMakers = {"JSON_OBJECT",    "JSON_ARRAY",
                                                                "JSON_OBJECTAGG", "JSON_ARRAYAGG",
                                                                "JSON_STRING",    "JSON_QUOTE"};
    if (std::find(kMakers.begin(), kMakers.end(), word.upper) == kMakers.end()) return {};
    return unsupported_at(word.at, word.upper,
                          "JSON_VALUE, JSON_QUERY and JSON_EXISTS read JSON; a sink of 'format' = "
                          "'json' writes ROW(…), ARRAY[…] and MAP[…] as JSON");
  }

  // ARRAY_AGG(value [IGNORE NULLS | RESPECT NULLS])
  Status nulls_of(Expression& call) {
    if (call.name != "ARRAY_AGG" || (!tokens_.is("IGNORE") && !tokens_.is("RESPECT"))) return {};
    call.ignores_nulls = tokens_.take().is("IGNORE");
    return tokens_.expect("NULLS");
  }

  // What stands for a comma: SUBSTRING(text FROM 2 FOR 3), FLOOR(time TO HOUR).
  bool accept_word_of(Expression& call) {
    const auto count = call.arguments.size();
    if (call.name == "SUBSTRING")
      return (count == 1 && tokens_.accept("FROM")) || (count == 2 && tokens_.accept("FOR"));
    const bool rounds = call.name == "FLOOR" || call.name == "CEIL" || call.name == "CEILING";
    if (!rounds || count != 1 || !tokens_.accept("TO")) return false;
    call.name = call.name == "FLOOR" ? "FLOOR TO" : "CEIL TO";
    return true;
  }

  // TRIM([BOTH | LEADING | TRAILING] [characters] FROM text), POSITION(text IN text), behind the
  // opening parenthesis. False: it is a call as others are, or TRIM(text).
  Result<bool> special_form(Expression& call) {
    if (call.name == "POSITION") {
      for (const char* behind : {"IN", ")"}) {
        HF_ASSIGN_OR_RETURN(auto text, sum());
        call.arguments.push_back(std::move(text));
        HF_RETURN_IF_ERROR(*behind == ')' ? tokens_.expect_sign(")") : tokens_.expect(behind));
      }
      return true;
    }
    const Token side = tokens_.peek();
    const bool sided = side.is("BOTH") || side.is("LEADING") || side.is("TRAILING");
    if (!sided) return false;
    tokens_.take();
    call.name = side.is("BOTH") ? "BTRIM" : side.is("LEADING") ? "LTRIM" : "RTRIM";
    ExpressionPointer characters;
    if (!tokens_.is("FROM")) {
      HF_ASSIGN_OR_RETURN(characters, any());
    }
    HF_RETURN_IF_ERROR(tokens_.expect("FROM"));
    HF_ASSIGN_OR_RETURN(auto text, any());
    call.arguments.push_back(std::move(text));
    if (characters != nullptr) call.arguments.push_back(std::move(characters));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    return true;
  }

  TokenReader& tokens_;
};

}  // namespace

Result<syntax::ExpressionPointer> parse_expression(TokenReader& tokens) {
  return ExpressionParser(tokens).any();
}

Result<syntax::ExpressionPointer> parse_bound(TokenReader& tokens) {
  return ExpressionParser(tokens).bound();
}

}  // namespace holdfast::sql
