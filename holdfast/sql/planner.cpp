#include "planner.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/evaluate.hpp>

namespace holdfast::sql {
namespace {

using syntax::Form;

bool is_group_window(const syntax::Expression& e) {
  return e.form == Form::kCall && (e.name == "TUMBLE" || e.name == "HOP");
}

// Plans one SELECT. `scope_` is what its names mean: the table's columns, and behind them the
// three of the window if there is one.
class SelectPlanner {
 public:
  SelectPlanner(const syntax::Select& select, const Catalog& catalog)
      : select_(select), catalog_(catalog) {}

  Result<Plan> run() {
    HF_RETURN_IF_ERROR(read_table());
    HF_RETURN_IF_ERROR(find_window());
    HF_RETURN_IF_ERROR(filter_rows());
    HF_RETURN_IF_ERROR(bind_items());
    const bool grouped =
        !select_.group_by.empty() || !aggregates_.empty() || select_.having != nullptr;
    HF_RETURN_IF_ERROR(grouped ? group() : assign_windows());
    HF_RETURN_IF_ERROR(project());
    return std::move(plan_);
  }

 private:
  Status read_table() {
    HF_ASSIGN_OR_RETURN(table_, catalog_.find(select_.from.name, select_.from.at));
    scope_.columns = table_->columns;
    scope_.qualifier = select_.from.alias.empty() ? table_->name : select_.from.alias;
    plan_.nodes.push_back({Scan{table_}, table_->columns});
    first_window_column_ = static_cast<std::uint32_t>(table_->columns.size());
    return {};
  }

  Status check_time_column(std::uint32_t column, Position at) {
    if (table_->has_watermark && column == table_->time_column) return {};
    return error_at(at, escape(table_->columns[column].name) + " is no time attribute",
                    "a window wants the column of WATERMARK FOR");
  }

  // Of the table function, or of GROUP BY TUMBLE(…).
  Status find_window() {
    std::vector<const syntax::Expression*> sizes;
    if (select_.from.window) {
      const auto& call = *select_.from.window;
      HF_ASSIGN_OR_RETURN(const auto column, find_column(scope_, call.time_column, call.at));
      HF_RETURN_IF_ERROR(check_time_column(column, call.at));
      for (const auto& size : call.sizes)
        sizes.push_back(size.get());
      HF_ASSIGN_OR_RETURN(window_, bind_window(call.function, call.at, column, sizes));
      add_window_columns("");
    }
    for (const auto& key : select_.group_by) {
      if (!is_group_window(*key)) continue;
      if (has_window_) return error_at(key->at, "a query has one window");
      if (key->arguments.empty() || key->arguments[0]->form != Form::kName)
        return error_at(key->at, key->name + " wants the time column first");
      const auto& name = *key->arguments[0];
      HF_ASSIGN_OR_RETURN(const auto column, find_column(scope_, name.name, name.at));
      HF_RETURN_IF_ERROR(check_time_column(column, name.at));
      for (std::size_t i = 1; i < key->arguments.size(); ++i)
        sizes.push_back(key->arguments[i].get());
      HF_ASSIGN_OR_RETURN(window_, bind_window(key->name, key->at, column, sizes));
      add_window_columns("$");
      scope_.group_window = &window_;
    }
    return {};
  }

  void add_window_columns(const std::string& prefix) {
    has_window_ = true;
    scope_.window_column = first_window_column_;
    for (const char* name : {"window_start", "window_end", "window_time"})
      scope_.columns.push_back({prefix + name, kTimestampType});
  }

  bool reads_window(const Expression& expression) const {
    const auto columns = columns_of(expression);
    return !columns.empty() && columns.back() >= first_window_column_;
  }

  // A condition that does not read the window goes below it.
  Status filter_rows() {
    if (select_.where == nullptr) return {};
    HF_ASSIGN_OR_RETURN(auto predicate, bind_condition(*select_.where, scope_));
    predicate = folded(std::move(predicate));
    if (reads_window(*predicate)) {
      window_filter_ = std::move(predicate);
      return {};
    }
    plan_.nodes.push_back({Filter{std::move(predicate)}, table_->columns});
    return {};
  }

  Status bind_items() {
    Scope scope = scope_;
    scope.aggregates = &aggregates_;
    for (const auto& item : select_.items) {
      if (item.expression == nullptr) {
        for (std::uint32_t i = 0; i < scope_.columns.size(); ++i) {
          if (scope_.columns[i].name.starts_with('$')) continue;
          items_.push_back(column_of(i, scope_.columns[i].type, item.at));
          names_.push_back(scope_.columns[i].name);
        }
        continue;
      }
      HF_ASSIGN_OR_RETURN(auto bound, bind(*item.expression, scope));
      const bool named = item.alias.empty() && item.expression->form == Form::kName;
      names_.push_back(!item.alias.empty() ? item.alias
                       : named             ? item.expression->name
                                           : "EXPR$" + std::to_string(items_.size()));
      items_.push_back(folded(std::move(bound)));
    }
    if (select_.having != nullptr) {
      HF_ASSIGN_OR_RETURN(having_, bind_condition(*select_.having, scope));
      having_ = folded(std::move(having_));
    }
    return {};
  }

  Status assign_windows() {
    if (!has_window_) return {};
    plan_.nodes.push_back({AssignWindows{window_}, scope_.columns});
    if (window_filter_) plan_.nodes.push_back({Filter{std::move(window_filter_)}, scope_.columns});
    return {};
  }

  Status group() {
    Group group;
    group.windowed = has_window_;
    group.window = window_;
    bool by_start = false, by_end = false;
    for (const auto& key : select_.group_by) {
      if (is_group_window(*key)) {
        by_start = by_end = true;
        continue;
      }
      HF_ASSIGN_OR_RETURN(auto bound, bind(*key, scope_));
      if (bound->operation == Operation::kLiteral)
        return error_at(key->at, "GROUP BY a literal", "name the column or the expression");
      if (bound->operation == Operation::kColumn && bound->column >= first_window_column_) {
        by_start = by_start || bound->column == first_window_column_;
        by_end = by_end || bound->column == first_window_column_ + 1;
        continue;
      }
      if (reads_window(*bound))
        return unsupported_at(key->at, "an expression of the window in GROUP BY");
      group.keys.push_back(std::move(bound));
    }
    if (has_window_ && (!by_start || !by_end))
      return unsupported_at(select_.at, "grouping a window's rows without the window",
                            "GROUP BY window_start, window_end, …");
    if (window_filter_)
      return unsupported_at(select_.where->at, "a condition on the window before it is grouped",
                            "use HAVING");
    for (const auto& aggregate : aggregates_) {
      const bool reads = (aggregate.argument && reads_window(*aggregate.argument)) ||
                         (aggregate.filter && reads_window(*aggregate.filter));
      if (reads) return unsupported_at(aggregate.at, "an aggregate of the window's bounds");
    }
    plan_.updating = !has_window_;
    return place_group(std::move(group));
  }

  Status place_group(Group group) {
    for (auto& item : items_) {
      HF_ASSIGN_OR_RETURN(item, placed(std::move(item), group));
    }
    if (having_) {
      HF_ASSIGN_OR_RETURN(having_, placed(std::move(having_), group));
    }
    std::vector<Column> columns;
    std::vector<std::string> names;
    for (const auto& column : scope_.columns)
      names.push_back(column.name);
    for (const auto& key : group.keys)
      columns.push_back({text_of(*key, names), key->type});
    for (const auto& aggregate : aggregates_)
      columns.push_back({text_of(aggregate, names), aggregate.type});
    if (has_window_) {
      for (const char* name : {"window_start", "window_end", "window_time"})
        columns.push_back({name, kTimestampType});
    }
    group.aggregates = std::move(aggregates_);
    plan_.nodes.push_back({std::move(group), columns});
    if (having_) plan_.nodes.push_back({Filter{std::move(having_)}, columns});
    return {};
  }

  // The same of the group's row: keys, aggregates and the window's bounds become its columns.
  Result<ExpressionPointer> placed(ExpressionPointer expression, const Group& group) {
    const auto aggregates = static_cast<std::uint32_t>(aggregates_.size());
    const auto keys = static_cast<std::uint32_t>(group.keys.size());
    for (std::uint32_t i = 0; i < keys; ++i) {
      if (equal(*group.keys[i], *expression)) return column_of(i, expression->type, expression->at);
    }
    if (expression->operation == Operation::kAggregate)
      return column_of(keys + expression->column, expression->type, expression->at);
    if (expression->operation == Operation::kColumn) {
      if (expression->column >= first_window_column_)
        return column_of(keys + aggregates + expression->column - first_window_column_,
                         expression->type, expression->at);
      return error_at(expression->at, escape(scope_.columns[expression->column].name) +
                                          " is neither in GROUP BY nor in an aggregate");
    }
    for (auto& argument : expression->arguments) {
      HF_ASSIGN_OR_RETURN(argument, placed(std::move(argument), group));
    }
    return expression;
  }

  Status project() {
    std::vector<Column> columns;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i]->type.kind == Kind::kNull) items_[i]->type = kStringType;
      if (items_[i]->type.kind == Kind::kInterval)
        return unsupported_at(items_[i]->at, "an INTERVAL as a column");
      columns.push_back({names_[i], items_[i]->type});
    }
    plan_.nodes.push_back({Project{std::move(items_)}, std::move(columns)});
    return {};
  }

  const syntax::Select& select_;
  const Catalog& catalog_;
  Plan plan_;
  Scope scope_;
  const Table* table_ = nullptr;
  std::uint32_t first_window_column_ = 0;
  bool has_window_ = false;
  Window window_;
  ExpressionPointer window_filter_, having_;
  std::vector<Aggregate> aggregates_;
  std::vector<ExpressionPointer> items_;
  std::vector<std::string> names_;
};

// The last projection gets the columns and types of the sink.
Status fit_to_sink(const syntax::Query& query, const Table& sink, Plan& plan) {
  auto& node = plan.nodes.back();
  auto& given = std::get<Project>(node.what).expressions;
  const std::size_t wanted = query.columns.empty() ? sink.columns.size() : query.columns.size();
  if (given.size() != wanted) {
    return error_at(query.at, "the query has " + std::to_string(given.size()) + " columns, " +
                                  escape(sink.name) + " wants " + std::to_string(wanted));
  }
  Scope scope;
  scope.columns = sink.columns;
  std::vector<ExpressionPointer> placed(sink.columns.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto column = static_cast<std::uint32_t>(i);
    if (!query.columns.empty()) {
      HF_ASSIGN_OR_RETURN(column, find_column(scope, query.columns[i], query.at));
    }
    if (placed[column] != nullptr)
      return error_at(query.at,
                      "the column " + escape(sink.columns[column].name) + " is there twice");
    HF_ASSIGN_OR_RETURN(placed[column],
                        converted(std::move(given[i]), sink.columns[column].type,
                                  "the column " + escape(sink.columns[column].name)));
  }
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (sink.computed[i] != nullptr)
      return unsupported_at(query.at, "a sink with a computed column");
    if (placed[i] == nullptr) placed[i] = literal_of(Value(), sink.columns[i].type, query.at);
  }
  given = std::move(placed);
  node.columns = sink.columns;
  plan.sink = &sink;
  return {};
}

}  // namespace

Result<Plan> plan_of(const syntax::Query& query, const Catalog& catalog) {
  HF_ASSIGN_OR_RETURN(Plan plan, SelectPlanner(query.select, catalog).run());
  if (query.into.empty()) return plan;
  HF_ASSIGN_OR_RETURN(const Table* sink, catalog.find(query.into, query.at));
  HF_RETURN_IF_ERROR(fit_to_sink(query, *sink, plan));
  return plan;
}

}  // namespace holdfast::sql
