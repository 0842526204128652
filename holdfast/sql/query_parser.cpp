#include "query_parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <holdfast/sql/expression_parser.hpp>
#include <holdfast/sql/group_by_parser.hpp>

namespace holdfast::sql {
namespace {

using namespace syntax;

// How deep the trees of a query are: each expression's, and those of queries within.
class Depth {
 public:
  void add(const ExpressionPointer& expression) {
    if (expression != nullptr) most = std::max(most, expression->depth);
  }
  void add(const std::vector<ExpressionPointer>& expressions) {
    for (const auto& expression : expressions)
      add(expression);
  }
  void add(const std::shared_ptr<const Query>& query) {
    if (query != nullptr) most = std::max(most, query->depth);
  }
  void add(const std::vector<OrderItem>& items) {
    for (const auto& item : items)
      add(item.expression);
  }
  void add(const TableReference& table) {
    add(table.query);
    add(table.as_of);
    add(table.unnest);
    if (table.window) add(table.window->sizes);
  }
  void add(const Select& select) {
    for (const auto& item : select.items)
      add(item.expression);
    if (select.from) add(*select.from);
    for (const auto& join : select.joins) {
      add(join.table);
      add(join.on);
    }
    add(select.where);
    add(select.group_by);
    add(select.having);
    for (const auto& window : select.windows) {
      add(window.over->partition_by);
      add(window.over->order_by);
    }
  }
  void add(const Values& values) {
    for (const auto& row : values.rows)
      add(row);
  }
  std::uint32_t most = 0;
};

class QueryParser {
 public:
  explicit QueryParser(TokenReader& tokens) : tokens_(tokens) {}

  Result<std::shared_ptr<const Query>> query() {
    const Position at = tokens_.peek().at;
    if (tokens_.depth == kMaxDepth)
      return error_at(at, "queries are nested deeper than " + std::to_string(kMaxDepth));
    ++tokens_.depth;
    auto query = std::make_shared<Query>();
    query->at = at;
    const Status read = parts(*query);
    --tokens_.depth;
    HF_RETURN_IF_ERROR(read);
    Depth depth;
    for (const auto& table : query->with)
      depth.add(table.query);
    for (const auto& term : query->terms)
      std::visit([&](const auto& one) { depth.add(one); }, term);
    depth.add(query->order_by);
    query->depth = depth.most + 1;
    if (query->depth > kMaxDepth)
      return error_at(at, "a query is deeper than " + std::to_string(kMaxDepth));
    return std::shared_ptr<const Query>(std::move(query));
  }

  Result<std::shared_ptr<const Over>> over() {
    auto over = std::make_shared<Over>();
    over->at = tokens_.take().at;
    if (!tokens_.is_sign("(")) {
      HF_ASSIGN_OR_RETURN(over->name, take_name(tokens_, "( or the name of a WINDOW"));
    } else {
      HF_RETURN_IF_ERROR(over_parts(*over));
    }
    return std::shared_ptr<const Over>(std::move(over));
  }

 private:
  Status parts(Query& query) {
    if (tokens_.accept("WITH")) HF_RETURN_IF_ERROR(common_tables(query));
    HF_RETURN_IF_ERROR(intersection(query));
    while (tokens_.is("UNION") || tokens_.is("EXCEPT")) {
      HF_ASSIGN_OR_RETURN(const auto operation, set_operation());
      query.between.push_back(operation);
      HF_RETURN_IF_ERROR(intersection(query));
    }
    if (tokens_.accept("ORDER")) {
      HF_RETURN_IF_ERROR(tokens_.expect("BY"));
      HF_ASSIGN_OR_RETURN(query.order_by, order_items());
    }
    if (tokens_.accept("LIMIT") && !tokens_.accept("ALL")) {
      HF_ASSIGN_OR_RETURN(query.limit, whole_number());
    }
    if (tokens_.accept("OFFSET")) {
      HF_ASSIGN_OR_RETURN(query.offset, whole_number());
      if (!tokens_.accept("ROWS")) tokens_.accept("ROW");
    }
    return tokens_.is("FETCH") ? fetch(query) : Status();
  }

  Result<SetOperation> set_operation() {
    const Token word = tokens_.take();
    const bool all = tokens_.accept("ALL");
    if (!all) tokens_.accept("DISTINCT");
    if (word.is("UNION")) return all ? SetOperation::kUnionAll : SetOperation::kUnion;
    if (all) return unsupported_at(word.at, word.upper + " ALL", word.upper + " is");
    return word.is("EXCEPT") ? SetOperation::kExcept : SetOperation::kIntersect;
  }

  // INTERSECT binds more than UNION and EXCEPT: what it joins is a query of its own.
  Status intersection(Query& query) {
    if (query.terms.size() == kMaxTables)
      return error_at(tokens_.peek().at, "a query has more than " + std::to_string(kMaxTables) +
                                             " branches of UNION, INTERSECT and EXCEPT");
    HF_RETURN_IF_ERROR(term(query));
    if (!tokens_.is("INTERSECT")) return {};
    auto both = std::make_shared<Query>();
    both->at = tokens_.peek().at;
    both->terms.push_back(std::move(query.terms.back()));
    while (tokens_.is("INTERSECT")) {
      if (both->terms.size() == kMaxTables)
        return error_at(tokens_.peek().at, "more than " + std::to_string(kMaxTables) + " branches");
      HF_ASSIGN_OR_RETURN(const auto operation, set_operation());
      both->between.push_back(operation);
      HF_RETURN_IF_ERROR(term(*both));
    }
    Depth depth;
    for (const auto& one : both->terms)
      std::visit([&](const auto& of) { depth.add(of); }, one);
    both->depth = depth.most + 1;
    query.terms.back() = std::shared_ptr<const Query>(std::move(both));
    return {};
  }

  // FETCH FIRST n ROWS ONLY
  Status fetch(Query& query) {
    const Position at = tokens_.take().at;
    if (query.limit) return error_at(at, "a query has one LIMIT or FETCH");
    if (!tokens_.accept("FIRST") && !tokens_.accept("NEXT")) return tokens_.wrong("FIRST or NEXT");
    query.limit = 1;
    if (tokens_.peek().kind == TokenKind::kNumber) {
      HF_ASSIGN_OR_RETURN(query.limit, whole_number());
    }
    if (!tokens_.accept("ROWS") && !tokens_.accept("ROW")) return tokens_.wrong("ROWS");
    return tokens_.expect("ONLY");
  }

  Result<std::uint64_t> whole_number() {
    const Token& token = tokens_.peek();
    std::uint64_t number = 0;
    const auto end = token.text.data() + token.text.size();
    const auto [stop, code] = std::from_chars(token.text.data(), end, number);
    if (token.kind != TokenKind::kNumber || code != std::errc() || stop != end)
      return tokens_.wrong("a whole number");
    tokens_.take();
    return number;
  }

  Status common_tables(Query& query) {
    if (tokens_.is("RECURSIVE")) return unsupported_at(tokens_.peek().at, "WITH RECURSIVE");
    do {
      CommonTable table;
      table.at = tokens_.peek().at;
      HF_ASSIGN_OR_RETURN(table.name, take_name(tokens_, "the name of a common table"));
      if (tokens_.is_sign("(")) {
        HF_ASSIGN_OR_RETURN(table.columns, take_names(tokens_, "a column"));
      }
      HF_RETURN_IF_ERROR(tokens_.expect("AS"));
      HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
      HF_ASSIGN_OR_RETURN(table.query, this->query());
      HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
      query.with.push_back(std::move(table));
      if (query.with.size() > kMaxTables)
        return error_at(query.at, "more than " + std::to_string(kMaxTables) + " common tables");
    } while (tokens_.accept_sign(","));
    return {};
  }

  Status term(Query& query) {
    if (tokens_.is("SELECT")) {
      HF_ASSIGN_OR_RETURN(auto one, select());
      query.terms.emplace_back(std::move(one));
    } else if (tokens_.is("VALUES")) {
      HF_ASSIGN_OR_RETURN(auto one, values());
      query.terms.emplace_back(std::move(one));
    } else if (tokens_.accept_sign("(")) {
      HF_ASSIGN_OR_RETURN(auto one, this->query());
      HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
      query.terms.emplace_back(std::move(one));
    } else {
      return tokens_.wrong("SELECT, VALUES or a query in parentheses");
    }
    return {};
  }

  Result<Values> values() {
    Values values;
    values.at = tokens_.take().at;
    do {
      std::vector<ExpressionPointer> row;
      const bool wrapped = tokens_.accept_sign("(");
      do {
        HF_ASSIGN_OR_RETURN(auto value, parse_expression(tokens_));
        row.push_back(std::move(value));
      } while (wrapped && tokens_.accept_sign(","));
      if (wrapped) HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
      if (row.size() > kMaxColumns)
        return error_at(values.at, "more than " + std::to_string(kMaxColumns) + " columns");
      values.rows.push_back(std::move(row));
    } while (tokens_.accept_sign(","));
    return values;
  }

  Result<std::vector<OrderItem>> order_items() {
    std::vector<OrderItem> items;
    do {
      OrderItem item;
      HF_ASSIGN_OR_RETURN(item.expression, parse_expression(tokens_));
      item.descending = tokens_.accept("DESC");
      if (!item.descending) tokens_.accept("ASC");
      item.nulls_first = !item.descending;
      if (tokens_.accept("NULLS")) {
        item.nulls_first = tokens_.is("FIRST");
        if (!item.nulls_first && !tokens_.is("LAST")) return tokens_.wrong("FIRST or LAST");
        tokens_.take();
      }
      items.push_back(std::move(item));
      if (items.size() > kMaxColumns)
        return error_at(tokens_.peek().at, "ORDER BY has more keys than a table may have columns");
    } while (tokens_.accept_sign(","));
    return items;
  }

  Result<std::vector<ExpressionPointer>> expressions() {
    std::vector<ExpressionPointer> list;
    do {
      HF_ASSIGN_OR_RETURN(auto one, parse_expression(tokens_));
      list.push_back(std::move(one));
    } while (tokens_.accept_sign(","));
    return list;
  }

  Result<Select> select() {
    Select select;
    select.at = tokens_.take().at;
    select.distinct = tokens_.accept("DISTINCT");
    if (!select.distinct) tokens_.accept("ALL");
    do {
      HF_ASSIGN_OR_RETURN(auto item, select_item());
      select.items.push_back(std::move(item));
      if (select.items.size() > kMaxColumns)
        return error_at(select.at, "more than " + std::to_string(kMaxColumns) + " columns");
    } while (tokens_.accept_sign(","));
    if (tokens_.accept("FROM")) HF_RETURN_IF_ERROR(from(select));
    if (tokens_.accept("WHERE")) {
      HF_ASSIGN_OR_RETURN(select.where, parse_expression(tokens_));
    }
    if (tokens_.accept("GROUP")) {
      HF_RETURN_IF_ERROR(tokens_.expect("BY"));
      HF_RETURN_IF_ERROR(parse_group_by(tokens_, select));
    }
    if (tokens_.accept("HAVING")) {
      HF_ASSIGN_OR_RETURN(select.having, parse_expression(tokens_));
    }
    if (tokens_.accept("WINDOW")) HF_RETURN_IF_ERROR(named_windows(select));
    return select;
  }

  Status named_windows(Select& select) {
    do {
      NamedOver named;
      HF_ASSIGN_OR_RETURN(named.name, take_name(tokens_, "the name of a window"));
      auto over = std::make_shared<Over>();
      over->at = tokens_.peek().at;
      HF_RETURN_IF_ERROR(tokens_.expect("AS"));
      HF_RETURN_IF_ERROR(over_parts(*over));
      named.over = std::move(over);
      select.windows.push_back(std::move(named));
    } while (tokens_.accept_sign(","));
    return {};
  }

  Result<SelectItem> select_item() {
    SelectItem item;
    item.at = tokens_.peek().at;
    if (tokens_.accept_sign("*")) return item;
    if (tokens_.is_sign(".", 1) && tokens_.is_sign("*", 2)) {
      HF_ASSIGN_OR_RETURN(item.qualifier, take_name(tokens_, "the name of a table"));
      tokens_.take(), tokens_.take();
      return item;
    }
    HF_ASSIGN_OR_RETURN(item.expression, parse_expression(tokens_));
    HF_ASSIGN_OR_RETURN(item.alias, take_alias(tokens_));
    return item;
  }

  Status from(Select& select) {
    HF_ASSIGN_OR_RETURN(select.from, table_reference());
    for (;;) {
      Join join;
      join.at = tokens_.peek().at;
      const bool comma = tokens_.accept_sign(",");
      if (!comma) {
        HF_ASSIGN_OR_RETURN(const bool found, join_words(join));
        if (!found) return {};
      }
      const bool cross = comma || crossed_;
      if (select.joins.size() + 1 == kMaxTables)
        return error_at(join.at, "FROM has more than " + std::to_string(kMaxTables) + " tables");
      HF_ASSIGN_OR_RETURN(join.table, table_reference());
      if (!cross) HF_RETURN_IF_ERROR(condition_of(join));
      select.joins.push_back(std::move(join));
    }
  }

  // INNER JOIN, LEFT OUTER JOIN, … False: no join comes next.
  Result<bool> join_words(Join& join) {
    crossed_ = false;
    if (tokens_.accept("JOIN")) return true;
    if (tokens_.is("NATURAL")) return unsupported_at(tokens_.peek().at, "NATURAL JOIN");
    if (tokens_.accept("CROSS")) {
      crossed_ = true;
    } else if (tokens_.accept("LEFT")) {
      join.kind = JoinKind::kLeft;
    } else if (tokens_.accept("RIGHT")) {
      join.kind = JoinKind::kRight;
    } else if (tokens_.accept("FULL")) {
      join.kind = JoinKind::kFull;
    } else if (!tokens_.accept("INNER")) {
      return false;
    }
    if (join.kind != JoinKind::kInner) tokens_.accept("OUTER");
    HF_RETURN_IF_ERROR(tokens_.expect("JOIN"));
    return true;
  }

  Status condition_of(Join& join) {
    if (tokens_.accept("USING")) {
      HF_ASSIGN_OR_RETURN(join.using_columns, take_names(tokens_, "a column"));
      return {};
    }
    if (!tokens_.accept("ON")) return tokens_.wrong("ON or USING");
    HF_ASSIGN_OR_RETURN(join.on, parse_expression(tokens_));
    return {};
  }

  Result<TableReference> table_reference() {
    TableReference table;
    table.at = tokens_.peek().at;
    if (tokens_.is("LATERAL")) return unsupported_at(table.at, "LATERAL");
    const bool wrapped = tokens_.is("TABLE") && tokens_.is_sign("(", 1);
    if (wrapped) tokens_.take(), tokens_.take();
    if (tokens_.is("UNNEST") && tokens_.is_sign("(", 1)) {
      HF_RETURN_IF_ERROR(unnest(table));
    } else if (tokens_.peek().kind == TokenKind::kWord && tokens_.is_sign("(", 1)) {
      HF_RETURN_IF_ERROR(window_call(table));
    } else {
      HF_RETURN_IF_ERROR(plain_table(table));
    }
    if (wrapped) HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    if (tokens_.is("FOR") && tokens_.is("SYSTEM_TIME", 1)) {
      tokens_.take(), tokens_.take();
      HF_RETURN_IF_ERROR(tokens_.expect("AS"));
      HF_RETURN_IF_ERROR(tokens_.expect("OF"));
      HF_ASSIGN_OR_RETURN(table.as_of, parse_expression(tokens_));
    }
    if (tokens_.is("TABLESAMPLE")) return unsupported_at(tokens_.peek().at, "TABLESAMPLE");
    HF_ASSIGN_OR_RETURN(table.alias, take_alias(tokens_));
    if (!table.alias.empty() && tokens_.is_sign("(")) {
      HF_ASSIGN_OR_RETURN(table.columns, take_names(tokens_, "a column"));
    }
    return table;
  }

  // A name, or a query in parentheses.
  Status plain_table(TableReference& table) {
    if (!tokens_.accept_sign("(")) {
      HF_ASSIGN_OR_RETURN(table.name, take_table_name(tokens_, "the name of a table"));
      return {};
    }
    if (!begins_query(tokens_))
      return unsupported_at(table.at, "a join in parentheses", "write SELECT * FROM before it");
    HF_ASSIGN_OR_RETURN(table.query, query());
    return tokens_.expect_sign(")");
  }

  // UNNEST(array) [WITH ORDINALITY]
  Status unnest(TableReference& table) {
    tokens_.take(), tokens_.take();
    HF_ASSIGN_OR_RETURN(table.unnest, parse_expression(tokens_));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    if (!tokens_.accept("WITH")) return {};
    table.with_ordinality = true;
    return tokens_.expect("ORDINALITY");
  }

  // Takes `NAME =>`, by which arguments may be named. Without one: "".
  std::string argument_name() {
    if (tokens_.peek().kind != TokenKind::kWord || !tokens_.is_sign("=>", 1)) return {};
    const auto name = tokens_.take().upper;
    tokens_.take();
    return name;
  }

  // Behind DATA and TIMECOL, in their order.
  static std::vector<std::string_view> sizes_of(std::string_view function) {
    if (function == "HOP") return {"SLIDE", "SIZE", "OFFSET"};
    if (function == "CUMULATE") return {"STEP", "SIZE", "OFFSET"};
    if (function == "SESSION") return {"GAP"};
    return {"SIZE", "OFFSET"};
  }

  // The time column and the sizes, named or in their order.
  Status window_arguments(WindowCall& call) {
    const auto names = sizes_of(call.function);
    std::vector<ExpressionPointer> sizes(names.size());
    std::size_t next = 0;
    while (tokens_.accept_sign(",")) {
      const auto at = tokens_.peek().at;
      const auto name = argument_name();
      if (name == "TIMECOL" || (name.empty() && call.time_column.empty())) {
        HF_RETURN_IF_ERROR(tokens_.expect("DESCRIPTOR"));
        HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
        HF_ASSIGN_OR_RETURN(call.time_column, take_name(tokens_, "a column"));
        HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
        continue;
      }
      const auto place = name.empty() ? names.begin() + static_cast<std::ptrdiff_t>(next++)
                                      : std::find(names.begin(), names.end(), name);
      if (name.empty() ? next > names.size() : place == names.end())
        return error_at(at, name.empty() ? call.function + " has too many arguments"
                                         : call.function + " has no argument " + name);
      auto& size = sizes[static_cast<std::size_t>(place - names.begin())];
      if (size != nullptr) return error_at(at, std::string(*place) + " is there twice");
      HF_ASSIGN_OR_RETURN(size, parse_expression(tokens_));
    }
    if (call.time_column.empty())
      return error_at(call.at, call.function + " wants a time column", "DESCRIPTOR(ts)");
    // Only the offset may be left out.
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] != nullptr)
        call.sizes.push_back(std::move(sizes[i]));
      else if (names[i] != "OFFSET")
        return error_at(call.at, call.function + " wants " + std::string(names[i]));
    }
    return {};
  }

  Status window_call(TableReference& table) {
    WindowCall call;
    const Token word = tokens_.take();
    call.function = word.upper;
    call.at = word.at;
    static constexpr std::array<std::string_view, 4> kFunctions = {"TUMBLE", "HOP", "CUMULATE",
                                                                   "SESSION"};
    if (std::find(kFunctions.begin(), kFunctions.end(), word.upper) == kFunctions.end())
      return unsupported_at(word.at, "the table function " + quoted(word),
                            "TUMBLE, HOP, CUMULATE and SESSION are");
    tokens_.take();
    const auto first_at = tokens_.peek().at;
    if (const auto name = argument_name(); !name.empty() && name != "DATA")
      return error_at(first_at, "the first argument of " + call.function + " is DATA");
    if (tokens_.accept("TABLE")) {
      HF_ASSIGN_OR_RETURN(table.name, take_table_name(tokens_, "the name of a table"));
    } else {
      HF_RETURN_IF_ERROR(plain_table(table));
    }
    if (tokens_.accept("PARTITION")) {
      HF_RETURN_IF_ERROR(tokens_.expect("BY"));
      do {
        HF_ASSIGN_OR_RETURN(auto key, take_name(tokens_, "a column"));
        call.partition_by.push_back(std::move(key));
        // DESCRIPTOR or NAME => follow the last key.
      } while (tokens_.is_sign(",") && !tokens_.is("DESCRIPTOR", 1) && !tokens_.is_sign("=>", 2) &&
               tokens_.accept_sign(","));
      if (call.function != "SESSION")
        return error_at(word.at, "PARTITION BY belongs to SESSION alone");
    }
    HF_RETURN_IF_ERROR(window_arguments(call));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    table.window = std::move(call);
    return {};
  }

  // (PARTITION BY … ORDER BY … RANGE BETWEEN INTERVAL … PRECEDING AND CURRENT ROW)
  Status over_parts(Over& over) {
    HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
    if (tokens_.accept("PARTITION")) {
      HF_RETURN_IF_ERROR(tokens_.expect("BY"));
      HF_ASSIGN_OR_RETURN(over.partition_by, expressions());
    }
    if (tokens_.accept("ORDER")) {
      HF_RETURN_IF_ERROR(tokens_.expect("BY"));
      HF_ASSIGN_OR_RETURN(over.order_by, order_items());
    }
    if (tokens_.is("ROWS") || tokens_.is("RANGE")) {
      over.has_frame = true;
      over.rows = tokens_.take().upper == "ROWS";
      const bool between = tokens_.accept("BETWEEN");
      if (!tokens_.accept("UNBOUNDED")) {
        HF_ASSIGN_OR_RETURN(over.preceding, parse_bound(tokens_));
      }
      HF_RETURN_IF_ERROR(tokens_.expect("PRECEDING"));
      if (between) {
        HF_RETURN_IF_ERROR(tokens_.expect("AND"));
        if (!tokens_.is("CURRENT"))
          return unsupported_at(tokens_.peek().at, "a frame that ends elsewhere than CURRENT ROW");
        tokens_.take();
        HF_RETURN_IF_ERROR(tokens_.expect("ROW"));
      }
    }
    return tokens_.expect_sign(")");
  }

  TokenReader& tokens_;
  bool crossed_ = false;  // join_words() found CROSS JOIN.
};

}  // namespace

bool begins_query(const TokenReader& tokens) {
  std::size_t ahead = 0;
  while (ahead < kMaxDepth && tokens.is_sign("(", ahead))
    ++ahead;
  return tokens.is("SELECT", ahead) || tokens.is("VALUES", ahead) ||
         (tokens.is("WITH", ahead) && ahead == 0);
}

Result<std::shared_ptr<const Query>> parse_query(TokenReader& tokens) {
  return QueryParser(tokens).query();
}

Result<std::shared_ptr<const Over>> parse_over(TokenReader& tokens) {
  return QueryParser(tokens).over();
}

}  // namespace holdfast::sql
