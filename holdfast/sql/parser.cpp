#include "parser.hpp"

#include <array>
#include <utility>

#include <holdfast/sql/expression_parser.hpp>
#include <holdfast/sql/lexer.hpp>
#include <holdfast/sql/token_reader.hpp>

namespace holdfast::sql {
namespace {

using namespace syntax;

class StatementParser {
 public:
  explicit StatementParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<std::vector<Statement>> all() {
    std::vector<Statement> statements;
    for (;;) {
      while (tokens_.accept_sign(";")) {
      }
      if (tokens_.at_end()) return statements;
      HF_ASSIGN_OR_RETURN(Statement statement, one());
      statements.push_back(std::move(statement));
      if (!tokens_.at_end() && !tokens_.is_sign(";")) return beyond();
    }
  }

 private:
  Result<Statement> one() {
    const Token word = tokens_.peek();
    if (word.is("CREATE")) return create_table();
    if (word.is("INSERT")) return insert();
    if (word.is("SET")) return set();
    if (word.is("WITH")) return unsupported_at(word.at, "WITH (a common table expression)");
    if (word.is("SELECT")) {
      Query query;
      query.at = word.at;
      HF_ASSIGN_OR_RETURN(query.select, select());
      return Statement(std::move(query));
    }
    static constexpr std::array<std::string_view, 8> kKnown = {
        "DROP", "ALTER", "UPDATE", "DELETE", "EXPLAIN", "SHOW", "DESCRIBE", "USE"};
    for (const auto known : kKnown) {
      if (word.is(known)) return unsupported_at(word.at, known);
    }
    return tokens_.wrong("CREATE TABLE, INSERT INTO, SELECT or SET");
  }

  // What stands behind a statement that was understood.
  Error beyond() const {
    static constexpr std::array<std::string_view, 16> kKnown = {
        "UNION", "JOIN",  "INNER",     "LEFT",   "RIGHT",  "FULL",    "CROSS",           "ORDER",
        "LIMIT", "FETCH", "INTERSECT", "EXCEPT", "WINDOW", "QUALIFY", "MATCH_RECOGNIZE", "NATURAL"};
    for (const auto known : kKnown) {
      if (tokens_.is(known)) return unsupported_at(tokens_.peek().at, known);
    }
    if (tokens_.is_sign(","))
      return unsupported_at(tokens_.peek().at, "more than one table in FROM");
    return tokens_.wrong("';' or the end");
  }

  Result<Statement> set() {
    SetOption statement;
    statement.option.at = tokens_.take().at;
    HF_ASSIGN_OR_RETURN(statement.option.key, tokens_.expect_text("a text: SET 'key' = 'value'"));
    HF_RETURN_IF_ERROR(tokens_.expect_sign("="));
    HF_ASSIGN_OR_RETURN(statement.option.value, tokens_.expect_text("a text"));
    return Statement(std::move(statement));
  }

  // ---- CREATE TABLE ----
  Result<Statement> create_table() {
    tokens_.take();
    if (tokens_.is("TEMPORARY")) tokens_.take();
    if (!tokens_.is("TABLE"))
      return unsupported_at(tokens_.peek().at, "CREATE " + tokens_.peek().upper, "CREATE TABLE is");
    tokens_.take();
    CreateTable table;
    if (tokens_.accept("IF")) {
      HF_RETURN_IF_ERROR(tokens_.expect("NOT"));
      HF_RETURN_IF_ERROR(tokens_.expect("EXISTS"));
      table.if_not_exists = true;
    }
    table.at = tokens_.peek().at;
    HF_ASSIGN_OR_RETURN(table.name, take_name(tokens_, "the name of a table"));
    HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
    do {
      HF_RETURN_IF_ERROR(table_member(table));
    } while (tokens_.accept_sign(","));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    if (tokens_.is("PARTITIONED")) return unsupported_at(tokens_.peek().at, "PARTITIONED BY");
    HF_RETURN_IF_ERROR(tokens_.expect("WITH"));
    HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
    do {
      Option option;
      option.at = tokens_.peek().at;
      HF_ASSIGN_OR_RETURN(option.key, tokens_.expect_text("an option: 'key' = 'value'"));
      HF_RETURN_IF_ERROR(tokens_.expect_sign("="));
      HF_ASSIGN_OR_RETURN(option.value, tokens_.expect_text("a text"));
      table.options.push_back(std::move(option));
    } while (tokens_.accept_sign(","));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    return Statement(std::move(table));
  }

  Status table_member(CreateTable& table) {
    const Position at = tokens_.peek().at;
    if (tokens_.is("WATERMARK") && tokens_.is("FOR", 1)) {
      if (table.watermark) return error_at(at, "a table has one watermark");
      tokens_.take(), tokens_.take();
      table.watermark_at = at;
      HF_ASSIGN_OR_RETURN(table.watermark_column, take_name(tokens_, "a column"));
      HF_RETURN_IF_ERROR(tokens_.expect("AS"));
      HF_ASSIGN_OR_RETURN(table.watermark, parse_expression(tokens_));
      return {};
    }
    if (tokens_.is("PRIMARY") || tokens_.is("CONSTRAINT")) return unsupported_at(at, "PRIMARY KEY");
    if (table.columns.size() == kMaxColumns)
      return error_at(at, "a table has more than " + std::to_string(kMaxColumns) + " columns");
    ColumnDefinition column;
    column.at = at;
    HF_ASSIGN_OR_RETURN(column.name, take_name(tokens_, "the name of a column"));
    if (tokens_.accept("AS")) {
      HF_ASSIGN_OR_RETURN(column.computed, parse_expression(tokens_));
    } else {
      HF_ASSIGN_OR_RETURN(column.type, parse_type(tokens_));
      if (tokens_.is("NOT")) return unsupported_at(tokens_.peek().at, "NOT NULL", "leave it away");
      if (tokens_.is("METADATA")) return unsupported_at(tokens_.peek().at, "METADATA");
    }
    table.columns.push_back(std::move(column));
    return {};
  }

  // ---- Queries ----
  Result<Statement> insert() {
    Query query;
    query.at = tokens_.take().at;
    HF_RETURN_IF_ERROR(tokens_.expect("INTO"));
    HF_ASSIGN_OR_RETURN(query.into, take_name(tokens_, "the name of a table"));
    if (tokens_.accept_sign("(")) {
      do {
        HF_ASSIGN_OR_RETURN(auto column, take_name(tokens_, "a column"));
        query.columns.push_back(std::move(column));
      } while (tokens_.accept_sign(","));
      HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    }
    if (tokens_.is("VALUES")) return unsupported_at(tokens_.peek().at, "VALUES");
    HF_ASSIGN_OR_RETURN(query.select, select());
    return Statement(std::move(query));
  }

  Result<Select> select() {
    Select select;
    select.at = tokens_.peek().at;
    HF_RETURN_IF_ERROR(tokens_.expect("SELECT"));
    if (tokens_.is("DISTINCT")) return unsupported_at(tokens_.peek().at, "SELECT DISTINCT");
    do {
      HF_ASSIGN_OR_RETURN(auto item, select_item());
      select.items.push_back(std::move(item));
      if (select.items.size() > kMaxColumns)
        return error_at(select.at, "more than " + std::to_string(kMaxColumns) + " columns");
    } while (tokens_.accept_sign(","));
    HF_RETURN_IF_ERROR(tokens_.expect("FROM"));
    HF_ASSIGN_OR_RETURN(select.from, table_reference());
    if (tokens_.accept("WHERE")) {
      HF_ASSIGN_OR_RETURN(select.where, parse_expression(tokens_));
    }
    if (tokens_.accept("GROUP")) {
      HF_RETURN_IF_ERROR(tokens_.expect("BY"));
      do {
        HF_ASSIGN_OR_RETURN(auto key, parse_expression(tokens_));
        select.group_by.push_back(std::move(key));
      } while (tokens_.accept_sign(","));
    }
    if (tokens_.accept("HAVING")) {
      HF_ASSIGN_OR_RETURN(select.having, parse_expression(tokens_));
    }
    return select;
  }

  Result<SelectItem> select_item() {
    SelectItem item;
    item.at = tokens_.peek().at;
    if (tokens_.accept_sign("*")) return item;
    HF_ASSIGN_OR_RETURN(item.expression, parse_expression(tokens_));
    const bool named = tokens_.accept("AS");
    const Token& next = tokens_.peek();
    const bool word = next.kind == TokenKind::kWord && !is_reserved(next.upper);
    if (named || word || next.kind == TokenKind::kQuoted) {
      HF_ASSIGN_OR_RETURN(item.alias, take_name(tokens_, "a name"));
    }
    return item;
  }

  Result<TableReference> table_reference() {
    TableReference table;
    table.at = tokens_.peek().at;
    if (tokens_.is_sign("(")) return unsupported_at(table.at, "a sub-query in FROM");
    const bool wrapped = tokens_.is("TABLE") && tokens_.is_sign("(", 1);
    if (wrapped) tokens_.take(), tokens_.take();
    if (tokens_.peek().kind == TokenKind::kWord && tokens_.is_sign("(", 1)) {
      HF_RETURN_IF_ERROR(window_call(table));
    } else {
      HF_ASSIGN_OR_RETURN(table.name, take_name(tokens_, "the name of a table"));
    }
    if (wrapped) HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    const bool named = tokens_.accept("AS");
    const Token& next = tokens_.peek();
    static constexpr std::array<std::string_view, 3> kNoAlias = {"WINDOW", "QUALIFY",
                                                                 "MATCH_RECOGNIZE"};
    bool word = next.kind == TokenKind::kWord && !is_reserved(next.upper);
    for (const auto other : kNoAlias)
      word = word && !next.is(other);
    if (named || word || next.kind == TokenKind::kQuoted) {
      HF_ASSIGN_OR_RETURN(table.alias, take_name(tokens_, "a name"));
    }
    return table;
  }

  // Skips `NAME =>`, by which arguments may be named; their order is the same.
  void skip_argument_name() {
    if (tokens_.peek().kind == TokenKind::kWord && tokens_.is_sign("=>", 1))
      tokens_.take(), tokens_.take();
  }

  Status window_call(TableReference& table) {
    WindowCall call;
    const Token word = tokens_.take();
    call.function = word.upper;
    call.at = word.at;
    if (word.is("CUMULATE") || word.is("SESSION"))
      return unsupported_at(word.at, word.upper, "TUMBLE and HOP are");
    if (!word.is("TUMBLE") && !word.is("HOP"))
      return unsupported_at(word.at, "the table function " + quoted(word), "TUMBLE and HOP are");
    tokens_.take();
    skip_argument_name();
    HF_RETURN_IF_ERROR(tokens_.expect("TABLE"));
    HF_ASSIGN_OR_RETURN(table.name, take_name(tokens_, "the name of a table"));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(","));
    skip_argument_name();
    HF_RETURN_IF_ERROR(tokens_.expect("DESCRIPTOR"));
    HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
    HF_ASSIGN_OR_RETURN(call.time_column, take_name(tokens_, "a column"));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    while (tokens_.accept_sign(",")) {
      skip_argument_name();
      HF_ASSIGN_OR_RETURN(auto size, parse_expression(tokens_));
      call.sizes.push_back(std::move(size));
    }
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    table.window = std::move(call);
    return {};
  }

  TokenReader tokens_;
};

}  // namespace

Result<std::vector<Statement>> parse(std::string_view text) {
  HF_ASSIGN_OR_RETURN(auto tokens, tokens_of(text));
  return StatementParser(std::move(tokens)).all();
}

}  // namespace holdfast::sql
