#include <holdfast/olap/mart/star_plan.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/program.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/parser.hpp>

namespace holdfast::olap::mart {
namespace {

using sql::error_at;
using sql::unsupported_at;
using sql::syntax::Form;
using sql::syntax::JoinKind;

// Whole numbers have room in a query.
sql::Type queried(const sql::Type& type) { return type.is_integer() ? sql::kBigIntType : type; }

// What is computed of whole numbers is BIGINT, too, also of literals. Only a CAST keeps its type,
// and an array, a row or a map that of its parts: what does not fit there is an error.
sql::ExpressionPointer with_room(sql::ExpressionPointer expression) {
  using sql::Operation;
  if (expression == nullptr) return expression;
  const bool nested = expression->operation == Operation::kNestedCall;
  for (auto& argument : expression->arguments) {
    const auto type = argument->type;
    argument = with_room(std::move(argument));
    if (nested)
      argument = HF_MUTANT("O64", sql::cast_to(std::move(argument), type), std::move(argument));
  }
  const auto operation = expression->operation;
  if (operation != Operation::kCast && operation != Operation::kTryCast &&
      operation != Operation::kLiteral)
    expression->type = HF_MUTANT("O57", queried(expression->type), expression->type);
  return expression;
}
sql::ExpressionPointer finished(sql::ExpressionPointer bound) {
  return folded_exactly(with_room(std::move(bound)));
}

Result<const sql::syntax::Query*> only_query(const std::vector<sql::syntax::Statement>& all) {
  if (all.size() != 1) return error_at({}, "one SELECT is wanted");
  const auto* statement = std::get_if<sql::syntax::QueryStatement>(&all[0]);
  if (statement == nullptr) return error_at({}, "a SELECT is wanted");
  if (!statement->into.empty()) return unsupported_at(statement->at, "INSERT INTO a star");
  const auto* query = statement->query.get();
  if (!query->with.empty()) return unsupported_at(query->at, "WITH in a query to a star");
  if (query->terms.size() != 1) return unsupported_at(query->at, "UNION in a query to a star");
  return query;
}

bool has(const sql::Expression& expression, sql::Operation operation) {
  return expression.operation == operation ||
         std::any_of(expression.arguments.begin(), expression.arguments.end(),
                     [&](const auto& argument) { return has(*argument, operation); });
}

// Conditions that AND joins.
void split(sql::ExpressionPointer expression, std::vector<sql::ExpressionPointer>& to) {
  if (expression->operation != sql::Operation::kAnd) return to.push_back(std::move(expression));
  for (auto& argument : expression->arguments)
    split(std::move(argument), to);
}

class Planner {
 public:
  Planner(const sql::syntax::Query& query, const sql::syntax::Select& select, const Schema& schema)
      : query_(query), select_(select), schema_(schema) {}

  Result<StarPlan> run() {
    if (!select_.grouping_sets.empty())
      return unsupported_at(select_.group_by.empty() ? select_.at : select_.group_by[0]->at,
                            "GROUPING SETS, ROLLUP or CUBE in a query to a star",
                            "ask once for each set");
    HF_RETURN_IF_ERROR(read_tables());
    HF_RETURN_IF_ERROR(read_conditions());
    HF_RETURN_IF_ERROR(link_tables());
    HF_RETURN_IF_ERROR(bind_items());
    HF_RETURN_IF_ERROR(bind_keys());
    HF_RETURN_IF_ERROR(bind_order());
    for (auto& aggregate : plan_.aggregates) {
      if (!sql::is_basic(aggregate.kind))
        return unsupported_at(aggregate.at, "an aggregate of a star but COUNT, SUM, MIN, MAX, AVG");
      aggregate.argument = with_room(std::move(aggregate.argument));
      aggregate.filter = with_room(std::move(aggregate.filter));
      aggregate.type = queried(aggregate.type);
    }
    plan_.grouped = !plan_.keys.empty() || !plan_.aggregates.empty() || select_.having != nullptr;
    if (plan_.grouped) HF_RETURN_IF_ERROR(place());
    plan_.offset = query_.offset.value_or(0);
    if (query_.limit) plan_.limit = *query_.limit;
    HF_RETURN_IF_ERROR(stop_clock());
    return std::move(plan_);
  }

 private:
  // A table of FROM, and where its columns begin in the scope.
  struct Instance {
    std::uint32_t table;
    std::uint32_t first;
    std::string name;
    sql::Position at;
    bool left = false;
    std::optional<std::uint32_t> joined_by;
  };

  Status add_table(const sql::syntax::TableReference& reference, bool left) {
    if (reference.query != nullptr || reference.window || reference.as_of != nullptr ||
        reference.unnest != nullptr)
      return unsupported_at(reference.at, "anything but a table in FROM");
    if (!reference.columns.empty())
      return unsupported_at(reference.at, "an alias with names of columns", "write AS in SELECT");
    const auto table = schema_.find(reference.name);
    if (!table) {
      std::string names;
      for (const auto& known : schema_.tables)
        names += (names.empty() ? "" : ", ") + escape(known.name);
      return error_at(reference.at, "there is no table " + escape(reference.name),
                      "the star has " + names);
    }
    const auto name = reference.alias.empty() ? reference.name : reference.alias;
    for (const auto& other : instances_) {
      if (other.name == name)
        return error_at(reference.at, "the name " + escape(name) + " stands twice in FROM",
                        "give one an alias");
    }
    instances_.push_back({*table, static_cast<std::uint32_t>(scope_.columns.size()), name,
                          reference.at, left, std::nullopt});
    for (std::uint32_t i = 0; i < schema_.tables[*table].columns.size(); ++i) {
      const auto& column = schema_.tables[*table].columns[i];
      scope_.add({column.name, queried(column.type)}, name);
      plan_.sources.push_back({*table, i, std::nullopt});
    }
    return {};
  }

  Status read_tables() {
    if (!select_.from) return error_at(select_.at, "FROM is wanted");
    HF_RETURN_IF_ERROR(add_table(*select_.from, false));
    for (const auto& join : select_.joins) {
      if (join.kind != JoinKind::kInner && join.kind != JoinKind::kLeft)
        return unsupported_at(join.at, "a join that is neither inner nor LEFT");
      if (!join.using_columns.empty()) return unsupported_at(join.at, "USING", "write ON a = b");
      HF_RETURN_IF_ERROR(add_table(join.table, join.kind == JoinKind::kLeft));
    }
    // The table that is read: the fact, wherever it stands, or else the only one.
    bool fact = false;
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      if (instances_[i].table != 0) continue;
      if (std::exchange(fact, true))
        return unsupported_at(instances_[i].at,
                              escape(schema_.tables[0].name) + ", the fact, twice in FROM");
      read_ = i;
    }
    plan_.table = instances_[read_].table;
    if (!instances_[read_].left) return {};
    // It would keep rows of dimensions that no row of the fact leads to.
    return unsupported_at(instances_[read_].at,
                          "a LEFT JOIN of " + escape(instances_[read_].name) + ", the fact,",
                          "write FROM " + escape(instances_[read_].name) +
                              " LEFT JOIN …, which keeps the rows of the fact");
  }

  Status read_conditions() {
    for (const auto& join : select_.joins) {
      if (join.on == nullptr) continue;
      HF_ASSIGN_OR_RETURN(auto on, sql::bind_condition(*join.on, scope_));
      const bool left = join.kind == JoinKind::kLeft;
      const auto first = plan_.filters.size();
      split(finished(std::move(on)), plan_.filters);
      if (left && (plan_.filters.size() != first + 1 || !key_of(*plan_.filters.back())))
        return unsupported_at(join.at, "a condition of a LEFT JOIN beside its key",
                              "write CASE WHEN … THEN … END where its columns are read; "
                              "WHERE drops rows of the fact");
      if (left) HF_RETURN_IF_ERROR(take_key(plan_.filters.size() - 1));
    }
    if (select_.where == nullptr) return {};
    HF_ASSIGN_OR_RETURN(auto where, sql::bind_condition(*select_.where, scope_));
    split(finished(std::move(where)), plan_.filters);
    return {};
  }

  std::size_t instance_of(std::uint32_t column) const {
    std::size_t instance = 0;
    while (instance + 1 < instances_.size() && instances_[instance + 1].first <= column)
      ++instance;
    return instance;
  }

  struct Link {
    std::uint32_t key_column;  // Of the table that is read.
    std::size_t instance;      // Whose key it is.
  };
  // column = column, where one is a key of the table that is read and the other its dimension's.
  std::optional<Link> key_of(const sql::Expression& e) const {
    if (e.operation != sql::Operation::kEqual) return std::nullopt;
    const auto& a = *e.arguments[0];
    const auto& b = *e.arguments[1];
    if (a.operation != sql::Operation::kColumn || b.operation != sql::Operation::kColumn)
      return std::nullopt;
    for (const auto& [fact, key] : {std::pair(a.column, b.column), std::pair(b.column, a.column)}) {
      const auto instance = instance_of(key);
      if (instance_of(fact) != read_ || instance == read_) continue;
      const auto place = fact - instances_[read_].first;
      const auto table = instances_[instance].table;
      if (schema_.tables[plan_.table].columns[place].references == table &&
          key - instances_[instance].first == schema_.tables[table].key)
        return Link{place, instance};
    }
    return std::nullopt;
  }

  // `d` is joined by `a` already: what ON a = d.k AND b = d.k may mean.
  Status second_key(const sql::Expression& e, const Link& link) const {
    const auto& instance = instances_[link.instance];
    const auto& keys = schema_.tables[plan_.table].columns;
    const auto& table = schema_.tables[instance.table];
    const auto first = escape(keys[*instance.joined_by].name);
    const auto second = escape(keys[link.key_column].name);
    const auto other = escape(instance.name) + "_" + second;
    return unsupported_at(e.at,
                          "a second key, " + second + ", of " + escape(instance.name) +
                              ", which is joined by " + first + ",",
                          "write JOIN " + escape(table.name) + " AS " + other + " ON " + second +
                              " = " + other + "." + escape(table.columns[table.key].name) +
                              "; or AND " + first + " = " + second + " where both lead to one row");
  }

  Status take_key(std::size_t filter) {
    const auto link = key_of(*plan_.filters[filter]);
    auto& instance = instances_[link->instance];
    if (instance.joined_by) return second_key(*plan_.filters[filter], *link);
    instance.joined_by = link->key_column;
    for (std::size_t i = 0; i < schema_.tables[instance.table].columns.size(); ++i)
      plan_.sources[instance.first + i].joined_by = link->key_column;
    if (!instance.left) plan_.inner.push_back(link->key_column);
    plan_.filters.erase(plan_.filters.begin() + static_cast<std::ptrdiff_t>(filter));
    return {};
  }

  Status link_tables() {
    for (std::size_t i = 0; i < plan_.filters.size();) {
      if (key_of(*plan_.filters[i]))
        HF_RETURN_IF_ERROR(take_key(i));
      else
        ++i;
    }
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      if (i == read_ || instances_[i].joined_by) continue;
      const auto& table = schema_.tables[instances_[i].table];
      std::string hint = "dimensions are joined by keys of the fact, " +
                         escape(schema_.tables[0].name) + ": name it in FROM, too";
      for (const auto& column : schema_.tables[plan_.table].columns) {
        if (column.references == instances_[i].table)
          hint = "write ON " + escape(instances_[read_].name) + "." + escape(column.name) + " = " +
                 escape(instances_[i].name) + "." + escape(table.columns[table.key].name);
      }
      return unsupported_at(instances_[i].at,
                            escape(instances_[i].name) + " without a join by its key", hint);
    }
    return {};
  }

  Status bind_items() {
    for (const auto& item : select_.items) {
      if (item.expression == nullptr) {
        HF_RETURN_IF_ERROR(bind_star(item));
        continue;
      }
      HF_ASSIGN_OR_RETURN(auto bound, bind_value(*item.expression));
      plan_.items.push_back(std::move(bound));
      const bool named = item.alias.empty() && item.expression->form == Form::kName;
      plan_.names.push_back(!item.alias.empty() ? item.alias
                            : named             ? item.expression->name
                                                : "EXPR$" + std::to_string(plan_.items.size() - 1));
    }
    if (select_.having == nullptr) return {};
    auto scope = scope_;
    scope.aggregates = &plan_.aggregates;
    HF_ASSIGN_OR_RETURN(plan_.having, sql::bind_condition(*select_.having, scope));
    plan_.having = finished(std::move(plan_.having));
    return {};
  }

  // *, or qualifier.*
  Status bind_star(const sql::syntax::SelectItem& item) {
    const auto before = plan_.items.size();
    for (std::uint32_t i = 0; i < scope_.columns.size(); ++i) {
      if (!item.qualifier.empty() && scope_.qualifiers[i] != item.qualifier) continue;
      plan_.items.push_back(sql::column_of(i, scope_.columns[i].type, item.at));
      plan_.names.push_back(scope_.columns[i].name);
    }
    if (plan_.items.size() > before) return {};
    return error_at(item.at, "there is no table " + escape(item.qualifier) + " in this query");
  }

  // A value that may have aggregates in it.
  Result<sql::ExpressionPointer> bind_value(const sql::syntax::Expression& expression) {
    auto scope = scope_;
    scope.aggregates = &plan_.aggregates;
    std::vector<sql::OverCall> overs;
    scope.overs = &overs;
    scope.named_overs = &select_.windows;
    HF_ASSIGN_OR_RETURN(auto bound, sql::bind(expression, scope));
    if (!overs.empty())
      return unsupported_at(overs[0].at, "OVER in a query to a star",
                            "ORDER BY and LIMIT rank the rows of an answer");
    if (bound->type.kind == sql::Kind::kNull) bound->type = sql::kStringType;
    if (bound->type.kind == sql::Kind::kInterval)
      return unsupported_at(expression.at, "an INTERVAL as a value of a query");
    if (has(*bound, sql::Operation::kGrouping))
      return unsupported_at(expression.at, "GROUPING in a query to a star");
    return finished(std::move(bound));
  }

  // The item that a word or a number of GROUP BY or ORDER BY stands for.
  std::optional<std::size_t> item_of(const sql::syntax::Expression& expression) const {
    if (expression.form == Form::kNumber) {
      std::size_t number = 0;
      const auto* end = expression.text.data() + expression.text.size();
      const auto [stop, code] = std::from_chars(expression.text.data(), end, number);
      if (code == std::errc() && stop == end && number >= 1 && number <= plan_.items.size())
        return number - 1;
    }
    if (expression.form != Form::kName || !expression.qualifier.empty()) return std::nullopt;
    for (std::size_t i = 0; i < select_.items.size(); ++i) {
      if (select_.items[i].alias == expression.name && plan_.items.size() == select_.items.size())
        return i;
    }
    return std::nullopt;
  }

  Status bind_keys() {
    for (const auto& key : select_.group_by) {
      const bool column =
          key->form == Form::kName && key->qualifier.empty() && has_column(key->name);
      const auto item = column ? std::nullopt : item_of(*key);
      if (item) {
        plan_.keys.push_back(sql::clone(*plan_.items[*item]));
      } else {
        HF_ASSIGN_OR_RETURN(auto bound, sql::bind(*key, scope_));
        plan_.keys.push_back(finished(std::move(bound)));
      }
      if (has(*plan_.keys.back(), sql::Operation::kAggregate))
        return error_at(key->at, "an aggregate cannot stand in GROUP BY");
      if (!item && key->form == Form::kNumber)
        return error_at(key->at, "there is no column " + escape(key->text) + " to group by");
    }
    if (!select_.distinct) return {};
    if (!plan_.keys.empty() || !plan_.aggregates.empty())
      return unsupported_at(select_.at, "DISTINCT beside GROUP BY or aggregates");
    for (const auto& item : plan_.items)
      plan_.keys.push_back(sql::clone(*item));
    return {};
  }

  bool has_column(const std::string& name) const {
    return std::any_of(scope_.columns.begin(), scope_.columns.end(),
                       [&](const sql::Column& column) { return column.name == name; });
  }

  Status bind_order() {
    for (const auto& item : query_.order_by) {
      StarPlan::Key key;
      key.descending = item.descending;
      key.nulls_first = item.nulls_first;
      if (const auto place = item_of(*item.expression)) {
        key.value = sql::clone(*plan_.items[*place]);
      } else if (item.expression->form == Form::kNumber) {
        return error_at(item.expression->at,
                        "there is no column " + escape(item.expression->text) + " to order by");
      } else {
        HF_ASSIGN_OR_RETURN(key.value, bind_value(*item.expression));
      }
      HF_RETURN_IF_ERROR(sql::check_order(key.value->type, item.expression->at));
      plan_.order.push_back(std::move(key));
    }
    return {};
  }

  // Items, HAVING and ORDER BY of the row of a group: keys and aggregates become its columns.
  Status place() {
    for (auto& item : plan_.items) {
      HF_ASSIGN_OR_RETURN(item, placed(std::move(item)));
    }
    for (auto& key : plan_.order) {
      HF_ASSIGN_OR_RETURN(key.value, placed(std::move(key.value)));
    }
    if (plan_.having == nullptr) return {};
    HF_ASSIGN_OR_RETURN(plan_.having, placed(std::move(plan_.having)));
    return {};
  }

  Result<sql::ExpressionPointer> placed(sql::ExpressionPointer expression) {
    const auto keys = static_cast<std::uint32_t>(plan_.keys.size());
    for (std::uint32_t i = 0; i < keys; ++i) {
      if (sql::equal(*plan_.keys[i], *expression))
        return sql::column_of(i, expression->type, expression->at);
    }
    if (expression->operation == sql::Operation::kAggregate)
      return sql::column_of(keys + expression->column, expression->type, expression->at);
    if (expression->operation == sql::Operation::kColumn)
      return error_at(expression->at, escape(scope_.columns[expression->column].name) +
                                          " is neither in GROUP BY nor in an aggregate");
    for (auto& argument : expression->arguments) {
      HF_ASSIGN_OR_RETURN(argument, placed(std::move(argument)));
    }
    return expression;
  }

  // One time for all rows of the query.
  Status stop_clock() {
    sql::Value now;
    HF_RETURN_IF_ERROR(sql::evaluate(
        *sql::made(sql::Operation::kProcessingTime, sql::kTimestampType, {}), {}, now));
    for (auto* expressions : {&plan_.filters, &plan_.keys, &plan_.items}) {
      for (auto& expression : *expressions)
        expression = at_time(now, std::move(expression));
    }
    for (auto& key : plan_.order)
      key.value = at_time(now, std::move(key.value));
    for (auto& aggregate : plan_.aggregates) {
      aggregate.argument = at_time(now, std::move(aggregate.argument));
      aggregate.filter = at_time(now, std::move(aggregate.filter));
    }
    plan_.having = at_time(now, std::move(plan_.having));
    return {};
  }

  static sql::ExpressionPointer at_time(const sql::Value& now, sql::ExpressionPointer expression) {
    if (expression == nullptr) return expression;
    if (expression->operation == sql::Operation::kProcessingTime)
      return sql::literal_of(now, expression->type, expression->at);
    for (auto& argument : expression->arguments)
      argument = at_time(now, std::move(argument));
    return expression;
  }

  const sql::syntax::Query& query_;
  const sql::syntax::Select& select_;
  const Schema& schema_;
  StarPlan plan_;
  sql::Scope scope_;
  std::vector<Instance> instances_;
  std::size_t read_ = 0;
};

}  // namespace

Result<StarPlan> plan_star(std::string_view text, const Schema& schema) {
  HF_ASSIGN_OR_RETURN(const auto statements, sql::parse(text));
  HF_ASSIGN_OR_RETURN(const auto* query, only_query(statements));
  const auto* select = std::get_if<sql::syntax::Select>(&query->terms[0]);
  if (select == nullptr) return unsupported_at(query->at, "VALUES as a query to a star");
  if (!select->windows.empty()) return unsupported_at(select->at, "WINDOW in a query to a star");
  return Planner(*query, *select, schema).run();
}

}  // namespace holdfast::olap::mart
