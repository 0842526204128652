#include "parser.hpp"

#include <array>
#include <utility>

#include <holdfast/sql/expression_parser.hpp>
#include <holdfast/sql/lexer.hpp>
#include <holdfast/sql/query_parser.hpp>
#include <holdfast/sql/token_reader.hpp>
#include <holdfast/sql/zone.hpp>

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
      if (tokens_.at_end()) {
        if (in_set_) return tokens_.wrong("END of the STATEMENT SET");
        return statements;
      }
      if (in_set_ && tokens_.accept("END")) {
        in_set_ = false;
        continue;
      }
      HF_ASSIGN_OR_RETURN(const bool set_begins, begin_set(statements));
      if (set_begins) continue;
      if (in_set_ && !tokens_.is("INSERT")) return tokens_.wrong("INSERT INTO or END");
      HF_ASSIGN_OR_RETURN(Statement statement, one());
      statements.push_back(std::move(statement));
      if (!tokens_.at_end() && !tokens_.is_sign(";")) return beyond();
    }
  }

 private:
  // EXECUTE STATEMENT SET BEGIN … END, or BEGIN STATEMENT SET; … END: queries side by side.
  Result<bool> begin_set(std::vector<Statement>& statements) {
    const Position at = tokens_.peek().at;
    const bool executes = tokens_.is("EXECUTE") && tokens_.is("STATEMENT", 1);
    if (!executes && !(tokens_.is("BEGIN") && tokens_.is("STATEMENT", 1))) return false;
    if (in_set_) return tokens_.wrong("INSERT INTO or END");
    tokens_.take(), tokens_.take();
    HF_RETURN_IF_ERROR(tokens_.expect("SET"));
    HF_RETURN_IF_ERROR(executes ? tokens_.expect("BEGIN") : tokens_.expect_sign(";"));
    in_set_ = true;
    SetOption side_by_side;
    side_by_side.option = {"table.dml-sync", "false", at};
    statements.emplace_back(std::move(side_by_side));
    return true;
  }

  Result<Statement> one() {
    const Token word = tokens_.peek();
    if (word.is("SET")) return set();
    if (word.is("CREATE")) return create();
    if (word.is("DROP")) return drop();
    has_types_ = true;
    if (word.is("INSERT")) return insert();
    if (begins_query(tokens_)) {
      QueryStatement statement;
      statement.at = word.at;
      HF_ASSIGN_OR_RETURN(statement.query, parse_query(tokens_));
      return Statement(std::move(statement));
    }
    static constexpr std::array<std::string_view, 7> kKnown = {
        "ALTER", "UPDATE", "DELETE", "EXPLAIN", "SHOW", "DESCRIBE", "USE"};
    for (const auto known : kKnown) {
      if (word.is(known)) return unsupported_at(word.at, known);
    }
    return tokens_.wrong(
        "CREATE TABLE, CREATE VIEW, CREATE FUNCTION, INSERT INTO, SELECT, WITH, VALUES or SET");
  }

  // What stands behind a statement that was understood.
  Error beyond() const {
    static constexpr std::array<std::string_view, 4> kKnown = {"QUALIFY", "MATCH_RECOGNIZE",
                                                               "NATURAL", "LIKE"};
    for (const auto known : kKnown) {
      if (tokens_.is(known)) return unsupported_at(tokens_.peek().at, known);
    }
    return tokens_.wrong("';' or the end");
  }

  Result<Statement> set() {
    SetOption statement;
    statement.option.at = tokens_.take().at;
    HF_ASSIGN_OR_RETURN(statement.option.key, tokens_.expect_text("a text: SET 'key' = 'value'"));
    HF_RETURN_IF_ERROR(tokens_.expect_sign("="));
    HF_ASSIGN_OR_RETURN(statement.option.value, tokens_.expect_text("a text"));
    if (statement.option.key == "table.local-time-zone")
      HF_RETURN_IF_ERROR(set_zone(statement.option));
    return Statement(std::move(statement));
  }

  Status set_zone(const Option& option) {
    const auto zone = Zone::named(option.value);
    if (!zone) return error_at(option.at, option.key + ": " + zone.error().detail);
    if (*zone != tokens_.zone && has_types_)
      return error_at(option.at, "a text has one time zone",
                      "SET 'table.local-time-zone' before the first table, view and query");
    tokens_.zone = *zone;
    return {};
  }

  Result<Statement> create() {
    tokens_.take();
    const bool temporary = tokens_.accept("TEMPORARY");
    has_types_ = has_types_ || tokens_.is("VIEW") || tokens_.is("TABLE");
    if (tokens_.accept("VIEW")) return create_view();
    if (tokens_.accept("TABLE")) return create_table();
    if (temporary && tokens_.is("FUNCTION", 1)) tokens_.accept("SYSTEM");
    if (tokens_.accept("FUNCTION")) return create_function();
    return unsupported_at(tokens_.peek().at, "CREATE " + tokens_.peek().upper,
                          "CREATE TABLE, CREATE VIEW and CREATE FUNCTION are");
  }

  // ---- Functions of users ----

  Result<Statement> create_function() {
    CreateFunction function;
    HF_ASSIGN_OR_RETURN(function.if_not_exists, if_not_exists());
    function.at = tokens_.peek().at;
    HF_ASSIGN_OR_RETURN(function.name, take_table_name(tokens_, "the name of a function"));
    HF_RETURN_IF_ERROR(tokens_.expect("AS"));
    function.symbol_at = tokens_.peek().at;
    HF_ASSIGN_OR_RETURN(function.symbol, tokens_.expect_text("a text: the name of HF_FUNCTION"));
    // Where nothing is said, Flink means Java.
    if (!tokens_.is("LANGUAGE") || !tokens_.is("CPP", 1)) {
      const auto& what = tokens_.is("LANGUAGE") ? tokens_.peek(1) : tokens_.peek();
      return unsupported_at(what.at, "a function that is not in C++",
                            "AS 'symbol' LANGUAGE CPP USING LIBRARY 'path/to.so'");
    }
    tokens_.take(), tokens_.take();
    HF_RETURN_IF_ERROR(tokens_.expect("USING"));
    HF_RETURN_IF_ERROR(tokens_.expect("LIBRARY"));
    function.library_at = tokens_.peek().at;
    HF_ASSIGN_OR_RETURN(function.library, tokens_.expect_text("a text: the path of a library"));
    if (tokens_.is_sign(","))
      return unsupported_at(tokens_.peek().at, "a function of several libraries",
                            "a library can be linked to others");
    return Statement(std::move(function));
  }

  Result<Statement> drop() {
    const Position at = tokens_.take().at;
    const bool temporary = tokens_.accept("TEMPORARY");
    if (temporary && tokens_.is("FUNCTION", 1)) tokens_.accept("SYSTEM");
    if (!tokens_.accept("FUNCTION"))
      return unsupported_at(at, "DROP " + tokens_.peek().upper, "DROP FUNCTION is");
    DropFunction function;
    if (tokens_.accept("IF")) {
      HF_RETURN_IF_ERROR(tokens_.expect("EXISTS"));
      function.if_exists = true;
    }
    function.at = tokens_.peek().at;
    HF_ASSIGN_OR_RETURN(function.name, take_table_name(tokens_, "the name of a function"));
    return Statement(std::move(function));
  }

  Result<bool> if_not_exists() {
    if (!tokens_.accept("IF")) return false;
    HF_RETURN_IF_ERROR(tokens_.expect("NOT"));
    HF_RETURN_IF_ERROR(tokens_.expect("EXISTS"));
    return true;
  }

  Result<Statement> create_view() {
    CreateView view;
    HF_ASSIGN_OR_RETURN(view.if_not_exists, if_not_exists());
    view.at = tokens_.peek().at;
    HF_ASSIGN_OR_RETURN(view.name, take_table_name(tokens_, "the name of a view"));
    if (tokens_.is_sign("(")) {
      HF_ASSIGN_OR_RETURN(view.columns, take_names(tokens_, "a column"));
    }
    HF_RETURN_IF_ERROR(comment());
    HF_RETURN_IF_ERROR(tokens_.expect("AS"));
    HF_ASSIGN_OR_RETURN(view.query, parse_query(tokens_));
    return Statement(std::move(view));
  }

  // ---- CREATE TABLE ----
  Result<Statement> create_table() {
    CreateTable table;
    HF_ASSIGN_OR_RETURN(table.if_not_exists, if_not_exists());
    table.at = tokens_.peek().at;
    HF_ASSIGN_OR_RETURN(table.name, take_table_name(tokens_, "the name of a table"));
    if (tokens_.is("LIKE") || tokens_.is("AS"))
      return unsupported_at(tokens_.peek().at, "CREATE TABLE … " + tokens_.peek().upper,
                            "write its columns in parentheses");
    HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
    do {
      HF_RETURN_IF_ERROR(table_member(table));
    } while (tokens_.accept_sign(","));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    HF_RETURN_IF_ERROR(comment());
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
    if (tokens_.is("CONSTRAINT")) return unsupported_at(at, "CONSTRAINT", "PRIMARY KEY (…) is");
    if (tokens_.is("PRIMARY") && tokens_.is("KEY", 1)) {
      if (!table.primary_key.empty()) return error_at(at, "a table has one primary key");
      tokens_.take(), tokens_.take();
      table.primary_key_at = at;
      HF_ASSIGN_OR_RETURN(table.primary_key, take_names(tokens_, "a column"));
      HF_RETURN_IF_ERROR(tokens_.expect("NOT"));
      return tokens_.expect("ENFORCED");
    }
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
    HF_RETURN_IF_ERROR(comment());
    table.columns.push_back(std::move(column));
    return {};
  }
  // COMMENT 'for people'
  Status comment() {
    if (!tokens_.accept("COMMENT")) return {};
    HF_RETURN_IF_ERROR(tokens_.expect_text("a text behind COMMENT"));
    return {};
  }

  // ---- Queries ----
  Result<Statement> insert() {
    QueryStatement statement;
    statement.at = tokens_.take().at;
    if (tokens_.is("OVERWRITE"))
      return unsupported_at(tokens_.peek().at, "INSERT OVERWRITE", "INSERT INTO is");
    HF_RETURN_IF_ERROR(tokens_.expect("INTO"));
    HF_ASSIGN_OR_RETURN(statement.into, take_table_name(tokens_, "the name of a table"));
    if (tokens_.is_sign("(")) {
      HF_ASSIGN_OR_RETURN(statement.columns, take_names(tokens_, "a column"));
    }
    HF_ASSIGN_OR_RETURN(statement.query, parse_query(tokens_));
    return Statement(std::move(statement));
  }

  TokenReader tokens_;
  bool in_set_ = false;     // Within a STATEMENT SET.
  bool has_types_ = false;  // Of instants, perhaps: the zone stays as it is.
};

}  // namespace

Result<std::vector<Statement>> parse(std::string_view text) {
  HF_ASSIGN_OR_RETURN(auto tokens, tokens_of(text));
  return StatementParser(std::move(tokens)).all();
}

}  // namespace holdfast::sql
