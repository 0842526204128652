// One SELECT: FROM, WHERE, GROUP BY, OVER, the columns, DISTINCT, in this order.
#include <algorithm>
#include <optional>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/grouping_sets.hpp>
#include <holdfast/sql/over_planner.hpp>
#include <holdfast/sql/query_planner.hpp>

namespace holdfast::sql {
namespace {

using syntax::Form;

class SelectPlanner {
 public:
  SelectPlanner(QueryPlanner& planner, const syntax::Select& select,
                const std::vector<syntax::OrderItem>& order)
      : planner_(planner),
        graph_(planner.graph()),
        select_(select),
        order_(order),
        overs_(planner.graph()) {}

  Result<Selected> run() {
    HF_ASSIGN_OR_RETURN(relation_, planner_.from(select_));
    HF_RETURN_IF_ERROR(where());
    HF_RETURN_IF_ERROR(find_group_window());
    HF_RETURN_IF_ERROR(bind_items());
    HF_RETURN_IF_ERROR(bind_order());
    const bool grouped = !select_.group_by.empty() || !select_.grouping_sets.empty() ||
                         !aggregates_.empty() || select_.having != nullptr;
    if (grouped) {
      HF_RETURN_IF_ERROR(group());
    } else {
      HF_RETURN_IF_ERROR(planner_.assign_windows(relation_));
      for (const auto& item : items_) {
        if (const auto* call = grouping_in(*item))
          return error_at(call->at, "GROUPING wants GROUP BY");
      }
    }
    if (!overs_.empty()) HF_RETURN_IF_ERROR(over());
    HF_RETURN_IF_ERROR(join_scalars());
    for (auto& item : items_)
      item = with_scalars(std::move(item));
    HF_RETURN_IF_ERROR(project());
    Selected selected;
    selected.node = relation_.node;
    selected.keys = std::move(keys_);
    selected.shown = names_.size();
    if (!select_.distinct) return selected;
    if (items_.size() != names_.size())
      return error_at(select_.at, "with DISTINCT, ORDER BY names columns of the SELECT");
    HF_ASSIGN_OR_RETURN(selected.node, distinct_of(graph_, relation_.node));
    return selected;
  }

 private:
  Scope& scope() { return relation_.scope; }

  // The first of the three columns of the window that is not assigned yet.
  std::uint32_t first_window_column() const {
    return relation_.windowing ? static_cast<std::uint32_t>(relation_.scope.columns.size() - 3)
                               : kNoWindowColumn;
  }
  bool reads_window(const Expression& expression) const {
    const auto columns = columns_of(expression);
    return !columns.empty() && columns.back() >= first_window_column();
  }

  // Conditions that do not read the window go below it, but for sessions, which depend on all rows.
  Status where() {
    const bool sessions = relation_.windowing && relation_.windowing->function == "SESSION";
    std::vector<ExpressionPointer> below, above;
    std::vector<const syntax::Expression*> conditions, queries, scalars;
    if (select_.where != nullptr) split(*select_.where, conditions);
    for (const auto* condition : conditions) {
      if (is_query_test(*condition)) {
        queries.push_back(condition);
        continue;
      }
      if (has_scalar(*condition)) {
        scalars.push_back(condition);
        continue;
      }
      HF_ASSIGN_OR_RETURN(auto bound, bind_condition(*condition, scope()));
      bound = folded(std::move(bound));
      (sessions || reads_window(*bound) ? above : below).push_back(std::move(bound));
    }
    HF_ASSIGN_OR_RETURN(relation_.node, filtered(relation_.node, conjunction_of(std::move(below))));
    if (!above.empty() || !queries.empty() || !scalars.empty()) {
      HF_RETURN_IF_ERROR(planner_.assign_windows(relation_));
      HF_ASSIGN_OR_RETURN(relation_.node,
                          filtered(relation_.node, conjunction_of(std::move(above))));
    }
    for (const auto* query : queries)
      HF_RETURN_IF_ERROR(planner_.keep_matches(relation_, *query));
    HF_ASSIGN_OR_RETURN(relation_.node, graph_.settle(relation_.node, select_.at));
    // A join that was settled may have given its columns other roles.
    const auto& columns = graph_.columns(relation_.node);
    for (std::size_t i = 0; i < columns.size(); ++i)
      scope().columns[i].role = columns[i].role;
    return where_scalars(scalars);
  }
  // Conditions with queries that are values.
  Status where_scalars(const std::vector<const syntax::Expression*>& conditions) {
    if (conditions.empty()) return {};
    Scope inner = scope();
    inner.scalar_query = &scalar_binder_;
    std::vector<ExpressionPointer> all;
    for (const auto* condition : conditions) {
      HF_ASSIGN_OR_RETURN(auto bound, bind_condition(*condition, inner));
      all.push_back(folded(std::move(bound)));
    }
    HF_RETURN_IF_ERROR(join_scalars());
    for (auto& condition : all)
      condition = with_scalars(std::move(condition));
    HF_ASSIGN_OR_RETURN(relation_.node, filtered(relation_.node, conjunction_of(std::move(all))));
    const auto& columns = graph_.columns(relation_.node);
    for (std::size_t i = 0; i < columns.size(); ++i)
      scope().columns[i].role = columns[i].role;
    scalars_.clear();
    scalar_places_.clear();
    return {};
  }
  Result<NodeId> filtered(NodeId node, ExpressionPointer predicate) {
    if (predicate == nullptr) return node;
    return graph_.filter(node, std::move(predicate));
  }
  static void split(const syntax::Expression& e, std::vector<const syntax::Expression*>& into) {
    if (e.form != Form::kBinary || e.name != "AND") return into.push_back(&e);
    split(*e.arguments[0], into);
    split(*e.arguments[1], into);
  }
  static bool is_query_test(const syntax::Expression& e) {
    if (e.form == Form::kUnary && e.name == "NOT") return is_query_test(*e.arguments[0]);
    return e.query != nullptr && (e.form == Form::kIn || e.form == Form::kExists);
  }

  // GROUP BY TUMBLE(ts, …): its bounds become columns whose names nobody can write.
  Status find_group_window() {
    for (const auto& key : select_.group_by) {
      if (is_row_window(*key)) HF_RETURN_IF_ERROR(bind_row_window(*key, row_window_));
      if (!is_group_window(*key)) continue;
      if (relation_.windowing) return error_at(key->at, "a query has one window");
      if (key->arguments.empty() || key->arguments[0]->form != Form::kName)
        return error_at(key->at, key->name + " wants the time column first");
      const auto& name = *key->arguments[0];
      HF_ASSIGN_OR_RETURN(const auto column,
                          planner_.time_of_window(relation_, name.name, name.at, name.qualifier));
      std::vector<const syntax::Expression*> sizes;
      for (std::size_t i = 1; i < key->arguments.size(); ++i)
        sizes.push_back(key->arguments[i].get());
      Windowing windowing{key->name, {}, {}, key->at};
      HF_ASSIGN_OR_RETURN(windowing.window, bind_window(key->name, key->at, column, sizes));
      scope().window_column = static_cast<std::uint32_t>(scope().columns.size());
      scope().add({"$window_start", kTimestampType, Role::kWindowStart}, "");
      scope().add({"$window_end", kTimestampType, Role::kWindowEnd}, "");
      scope().add({"$window_time", kTimestampType, Role::kWindowTime}, "");
      relation_.windowing = std::move(windowing);
      group_window_ = relation_.windowing->window;
      // TUMBLE_START(…) names the column that is written.
      HF_ASSIGN_OR_RETURN(group_window_.time_column,
                          find_column(scope(), name.name, name.at, name.qualifier));
      group_function_ = key->name;
      scope().group_window = &group_window_;
      scope().group_function = group_function_.c_str();
      by_call_ = true;
    }
    return {};
  }

  Scope gathering() {
    Scope inner = scope();
    inner.aggregates = &aggregates_;
    inner.overs = &overs_.calls();
    inner.scalar_query = &scalar_binder_;
    inner.named_overs = &select_.windows;
    return inner;
  }

  Status bind_items() {
    const Scope inner = gathering();
    for (const auto& item : select_.items) {
      if (item.expression == nullptr) {
        HF_RETURN_IF_ERROR(all_columns(item));
        continue;
      }
      HF_ASSIGN_OR_RETURN(auto bound, bind(*item.expression, inner));
      const bool named = item.alias.empty() && item.expression->form == Form::kName;
      names_.push_back(!item.alias.empty() ? item.alias
                       : named             ? item.expression->name
                                           : "EXPR$" + std::to_string(items_.size()));
      items_.push_back(folded(std::move(bound)));
    }
    if (select_.having != nullptr) {
      Scope of_groups = inner;
      of_groups.overs = nullptr;
      HF_ASSIGN_OR_RETURN(having_, bind_condition(*select_.having, of_groups));
      having_ = folded(std::move(having_));
    }
    return {};
  }

  // * and t.*
  Status all_columns(const syntax::SelectItem& item) {
    bool found = false;
    for (std::uint32_t i = 0; i < scope().columns.size(); ++i) {
      const auto& column = scope().columns[i];
      if (column.name.starts_with('$')) continue;
      if (item.qualifier.empty() ? scope().shadowed[i] : scope().qualifiers[i] != item.qualifier)
        continue;
      found = true;
      items_.push_back(column_of(i, column.type, item.at));
      names_.push_back(column.name);
    }
    if (found) return {};
    if (item.qualifier.empty()) return error_at(item.at, "* wants a table in FROM");
    return find_column(scope(), "*", item.at, item.qualifier).error();
  }

  // A number or a name of ORDER BY is a column of the SELECT, anything else an expression, which
  // becomes a column that is not shown.
  Status bind_order() {
    const Scope inner = gathering();
    for (const auto& item : order_) {
      std::optional<std::size_t> place;
      const auto& e = *item.expression;
      if (e.form == Form::kNumber) {
        const auto number = value_of(e.text, kIntType);
        if (!number || number->number < 1 || number->number > static_cast<Int128>(names_.size()))
          return error_at(e.at, "there is no column " + escape(e.text) + " to order by");
        place = static_cast<std::size_t>(number->number) - 1;
      } else if (e.form == Form::kName && e.qualifier.empty()) {
        const auto found = std::find(names_.begin(), names_.end(), e.name);
        if (found != names_.end()) place = static_cast<std::size_t>(found - names_.begin());
      }
      if (!place) {
        HF_ASSIGN_OR_RETURN(auto bound, bind(e, inner));
        bound = folded(std::move(bound));
        const auto same = std::find_if(items_.begin(), items_.end(),
                                       [&](const auto& known) { return equal(*known, *bound); });
        place = static_cast<std::size_t>(same - items_.begin());
        if (same == items_.end()) items_.push_back(std::move(bound));
      }
      order_places_.push_back(*place);
    }
    return {};
  }

  // ---- GROUP BY ----
  Result<GroupKeys> bind_keys() {
    GroupKeys keys;
    if (!select_.grouping_sets.empty()) {
      if (row_window_.row_size != 0)
        return unsupported_at(select_.at, "a window of rows with grouping sets");
      HF_ASSIGN_OR_RETURN(
          keys, bind_grouping_sets(select_, scope(), first_window_column(), group_function_));
      // GROUP BY () alone is what a SELECT of aggregates is without it: one row, also of no rows.
      if (keys.sets.size() == 1 && keys.all.empty()) keys.sets.clear();
      return keys;
    }
    if (by_call_) {
      keys.start = scope().window_column;
      keys.end = scope().window_column + 1;
    }
    for (const auto& key : select_.group_by) {
      if (is_group_window(*key) || is_row_window(*key)) continue;
      HF_ASSIGN_OR_RETURN(auto bound, bind(*key, scope()));
      bound = folded(std::move(bound));  // As the columns of the SELECT are.
      if (key->form == syntax::Form::kNumber) return group_by_number(key->at);
      const bool column = bound->operation == Operation::kColumn;
      const Role role = column ? scope().columns[bound->column].role : Role::kPlain;
      if (role == Role::kWindowStart && keys.start == kNoWindowColumn) {
        keys.start = bound->column;
      } else if (role == Role::kWindowEnd && keys.end == kNoWindowColumn) {
        keys.end = bound->column;
      } else if (column && relation_.windowing && bound->column == first_window_column() + 2) {
        continue;  // window_time is given by window_end.
      } else {
        keys.computes_window = keys.computes_window || reads_window(*bound);
        keys.all.push_back(std::move(bound));
      }
    }
    return keys;
  }

  bool aggregates_read_window() const {
    return std::any_of(aggregates_.begin(), aggregates_.end(), [&](const Aggregate& aggregate) {
      return (aggregate.argument && reads_window(*aggregate.argument)) ||
             (aggregate.filter && reads_window(*aggregate.filter));
    });
  }

  Status group() {
    HF_ASSIGN_OR_RETURN(GroupKeys keys, bind_keys());
    // Before anything counts the aggregates: OVER may be by some that are nowhere else.
    HF_RETURN_IF_ERROR(overs_.bind_windows(scope(), aggregates_, true));
    const bool windowed = keys.start != kNoWindowColumn && keys.end != kNoWindowColumn;
    if (relation_.windowing && !windowed)
      return unsupported_at(select_.at, "grouping a window's rows without the window",
                            "GROUP BY window_start, window_end, …");
    if (windowed && graph_.updating(relation_.node) && planner_.lateness().allowed_ms == 0)
      return unsupported_at(select_.at, "a window of rows that change");
    HF_RETURN_IF_ERROR(check_row_window(windowed));
    Group group = std::move(row_window_);
    group.windowed = windowed;
    group.start_column = keys.start;
    group.end_column = keys.end;
    if (relation_.windowing) HF_RETURN_IF_ERROR(apply_windows(keys, group));
    group.by_columns = windowed && group.window.size_ms == 0;
    if (windowed && !graph_.follows_clock(relation_.node))
      group.lateness_ms = planner_.lateness().allowed_ms;
    if (!windowed) {  // One bound alone is a key as others are.
      for (const auto bound : {keys.start, keys.end}) {
        if (bound == kNoWindowColumn) continue;
        keys.all.push_back(column_of(bound, scope().columns[bound].type, select_.at));
        for (auto& set : keys.sets)
          set.push_back(true);
      }
    }
    group.keys = std::move(keys.all);
    sets_ = std::move(keys.sets);
    if (!sets_.empty()) {
      group.keys.push_back(number_of_set(select_.at));
    }
    return place_group(std::move(group));
  }

  // Of the groups that are there now, with so many keys.
  Status delay_changes(DelayChanges delay, std::uint32_t keys) {
    const auto& columns = graph_.columns(relation_.node);
    for (std::uint32_t key = 0; key < keys; ++key)
      delay.keys.push_back(column_of(key, columns[key].type, select_.at));
    delay.start_column = static_cast<std::uint32_t>(columns.size() - 3);
    delay.end_column = delay.start_column + 1;
    HF_ASSIGN_OR_RETURN(relation_.node, graph_.add_like(std::move(delay), relation_.node));
    return {};
  }

  // Windows of rows count what comes, in its order.
  Status check_row_window(bool windowed) const {
    if (row_window_.row_size == 0) return {};
    if (windowed || relation_.windowing) return error_at(select_.at, "a query has one window");
    if (graph_.updating(relation_.node))
      return unsupported_at(select_.at, "a window of rows that change");
    return {};
  }

  // By slices where nothing but the group sees the windows, else row by row.
  Status apply_windows(GroupKeys& keys, Group& group) {
    auto& windowing = *relation_.windowing;
    if (windowing.function == "SESSION" && by_call_) {
      std::vector<ExpressionPointer> sessions;
      for (const auto& key : keys.all)
        sessions.push_back(clone(*key));
      return planner_.assign_sessions(relation_, std::move(sessions));
    }
    const bool ordered = std::any_of(aggregates_.begin(), aggregates_.end(),
                                     [](const Aggregate& one) { return depends_on_order(one); });
    if (windowing.function == "SESSION" || keys.computes_window || aggregates_read_window() ||
        ordered || planner_.lateness().allowed_ms != 0)
      return planner_.assign_windows(relation_);
    group.window = windowing.window;
    relation_.windowing.reset();
    return {};
  }

  Status place_group(Group group) {
    std::vector<Column> columns;
    const auto names = names_of(scope().columns);
    for (const auto& key : group.keys) {
      const bool time = group.by_columns && key->operation == Operation::kColumn &&
                        scope().columns[key->column].role == Role::kWindowTime;
      columns.push_back(
          {key->operation == Operation::kColumn ? names[key->column] : text_of(*key, names),
           key->type, time ? Role::kWindowTime : Role::kPlain});
    }
    for (const auto& aggregate : aggregates_)
      columns.push_back({text_of(aggregate, names), aggregate.type});
    if (group.windowed) {
      columns.push_back({"window_start", kTimestampType, Role::kWindowStart});
      columns.push_back({"window_end", kTimestampType, Role::kWindowEnd});
      columns.push_back({"window_time", kTimestampType, Role::kWindowTime});
    }
    for (auto& item : items_) {
      HF_ASSIGN_OR_RETURN(item, placed(std::move(item), group));
    }
    for (auto* expression : overs_.expressions()) {
      HF_ASSIGN_OR_RETURN(*expression, placed(std::move(*expression), group));
    }
    if (having_) {
      HF_ASSIGN_OR_RETURN(having_, placed(std::move(having_), group));
    }
    for (const auto& aggregate : aggregates_) {
      if (!depends_on_order(aggregate) || can_take_back(aggregate) ||
          !graph_.updating(relation_.node))
        continue;
      if (aggregate.user == nullptr)
        return unsupported_at(aggregate.at,
                              "FIRST_VALUE, LAST_VALUE or LISTAGG of rows that change");
      return unsupported_at(aggregate.at, aggregate.user->name + " of rows that change",
                            "the aggregate wants take_back(), or merge() if the order of rows "
                            "does not count");
    }
    const bool alone = aggregates_.empty() && !group.keys.empty();  // DISTINCT: a row stays.
    const bool changes = graph_.updating(relation_.node) ||
                         (group.windowed ? group.lateness_ms != 0 && !aggregates_.empty()
                                         : !alone && group.row_size == 0);
    group.aggregates = std::move(aggregates_);
    if (!sets_.empty()) {
      HF_ASSIGN_OR_RETURN(relation_.node, expanded(graph_, relation_.node, sets_, group));
    }
    Scope grouped;
    grouped.functions = scope().functions;
    for (const auto& column : columns)
      grouped.add(column, "");
    DelayChanges delay{{}, 0, 0, planner_.lateness().delay_ms, group.lateness_ms};
    const auto keys = static_cast<std::uint32_t>(group.keys.size());
    HF_ASSIGN_OR_RETURN(relation_.node,
                        graph_.add(std::move(group), {relation_.node}, columns, changes));
    if (changes && delay.lateness_ms != 0 && delay.delay_ms != 0)
      HF_RETURN_IF_ERROR(delay_changes(std::move(delay), keys));
    relation_.scope = std::move(grouped);
    if (having_) {
      HF_RETURN_IF_ERROR(join_scalars());
      having_ = with_scalars(std::move(having_));
      HF_ASSIGN_OR_RETURN(relation_.node, graph_.filter(relation_.node, std::move(having_)));
    }
    return {};
  }

  // The same of the group's row: keys, aggregates and the window's bounds become its columns.
  Result<ExpressionPointer> placed(ExpressionPointer expression, const Group& group) {
    const auto aggregates = static_cast<std::uint32_t>(aggregates_.size());
    const auto keys = static_cast<std::uint32_t>(group.keys.size());
    const auto at = expression->at;
    for (std::uint32_t i = 0; i < keys; ++i) {
      if (equal(*group.keys[i], *expression)) return column_of(i, expression->type, at);
    }
    if (expression->operation == Operation::kGrouping)
      return grouping_of(*expression, group, sets_);
    if (expression->operation == Operation::kAggregate)
      return column_of(keys + expression->column, expression->type, at);
    if (expression->operation == Operation::kColumn) {
      const auto column = expression->column;
      if (group.windowed && column == group.start_column)
        return column_of(keys + aggregates, expression->type, at);
      if (group.windowed && column == group.end_column)
        return column_of(keys + aggregates + 1, expression->type, at);
      if (group.windowed && scope().columns[column].role == Role::kWindowTime)
        return column_of(keys + aggregates + 2, expression->type, at);
      return error_at(
          at, escape(scope().columns[column].name) + " is neither in GROUP BY nor in an aggregate");
    }
    for (auto& argument : expression->arguments) {
      HF_ASSIGN_OR_RETURN(argument, placed(std::move(argument), group));
    }
    return expression;
  }

  Status over() {
    HF_RETURN_IF_ERROR(overs_.bind_windows(scope(), aggregates_, false));
    HF_ASSIGN_OR_RETURN(relation_.node, overs_.add_to(relation_.node));
    for (auto& item : items_)
      item = overs_.placed(std::move(item));
    return {};
  }

  // ---- Queries that are values ----
  // Each becomes a column of the rows: a join with the one row that it has.
  Result<ExpressionPointer> scalar_query(const syntax::Expression& e) {
    HF_ASSIGN_OR_RETURN(const NodeId node, planner_.single_value(e));
    const auto known = std::find(scalars_.begin(), scalars_.end(), node);
    auto reference = made(Operation::kScalarQuery, graph_.columns(node)[0].type, e.at);
    reference->column = static_cast<std::uint32_t>(known - scalars_.begin());
    if (known == scalars_.end()) scalars_.push_back(node);
    return reference;
  }

  // Behind the columns of the node, with those of OVER.
  Status join_scalars() {
    for (std::size_t i = scalar_places_.size(); i < scalars_.size(); ++i) {
      const auto width = static_cast<std::uint32_t>(graph_.columns(relation_.node).size());
      HF_ASSIGN_OR_RETURN(relation_.node, graph_.join(syntax::JoinKind::kLeft, relation_.node,
                                                      scalars_[i], nullptr));
      HF_ASSIGN_OR_RETURN(relation_.node, graph_.settle(relation_.node, select_.at));
      scalar_places_.push_back(width);
      while (scope().columns.size() <= width)
        scope().add({"$scalar" + std::to_string(i), graph_.columns(scalars_[i])[0].type}, "");
    }
    return {};
  }
  ExpressionPointer with_scalars(ExpressionPointer expression) const {
    if (expression->operation == Operation::kScalarQuery)
      return column_of(scalar_places_[expression->column], expression->type, expression->at);
    for (auto& argument : expression->arguments)
      argument = with_scalars(std::move(argument));
    return expression;
  }
  static bool has_scalar(const syntax::Expression& e) {
    return e.form == Form::kScalar ||
           std::any_of(e.arguments.begin(), e.arguments.end(),
                       [](const auto& argument) { return has_scalar(*argument); });
  }

  // ---- The columns ----
  Status project() {
    std::vector<Column> columns;
    const auto& below = graph_.columns(relation_.node);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      auto& item = *items_[i];
      if (item.type.kind == Kind::kNull) item.type = kStringType;
      if (item.type.kind == Kind::kInterval)
        return unsupported_at(item.at, "an INTERVAL as a column");
      Role role = Role::kPlain;
      if (item.operation == Operation::kColumn) role = below[item.column].role;
      if (item.operation == Operation::kProcessingTime) role = Role::kProcessing;
      columns.push_back(
          {i < names_.size() ? names_[i] : "$order" + std::to_string(i), item.type, role});
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto place = static_cast<std::uint32_t>(order_places_[i]);
      HF_RETURN_IF_ERROR(check_order(columns[place].type, order_[i].expression->at));
      keys_.push_back({column_of(place, columns[place].type, order_[i].expression->at),
                       order_[i].descending, order_[i].nulls_first});
    }
    std::vector<ExpressionPointer> expressions;
    for (const auto& item : items_)
      expressions.push_back(clone(*item));
    HF_ASSIGN_OR_RETURN(relation_.node,
                        graph_.project(relation_.node, std::move(expressions), std::move(columns)));
    return {};
  }

  QueryPlanner& planner_;
  PlanGraph& graph_;
  const syntax::Select& select_;
  const std::vector<syntax::OrderItem>& order_;
  Relation relation_;
  bool by_call_ = false;  // GROUP BY TUMBLE(…)
  Group row_window_;      // TUMBLE_ROWS(…): the size and slide of it.
  Window group_window_;
  std::string group_function_;
  ExpressionPointer having_;
  std::vector<Aggregate> aggregates_;
  GroupingSets sets_;  // Empty: one, of all keys.
  OverPlanner overs_;
  const ScalarQueryBinder scalar_binder_ = [this](const syntax::Expression& e) {
    return scalar_query(e);
  };
  std::vector<NodeId> scalars_;               // Queries that are values, as nodes of one column.
  std::vector<std::uint32_t> scalar_places_;  // Their columns, of those that are joined.
  std::vector<ExpressionPointer> items_;      // Those of the SELECT, then those of ORDER BY alone.
  std::vector<std::string> names_;            // Of the SELECT's.
  std::vector<std::size_t> order_places_;
  std::vector<OrderKey> keys_;
};

}  // namespace

Result<Selected> plan_select(QueryPlanner& planner, const syntax::Select& select,
                             const std::vector<syntax::OrderItem>& order) {
  return SelectPlanner(planner, select, order).run();
}

Result<NodeId> distinct_of(PlanGraph& graph, NodeId node) {
  Group group;
  auto columns = graph.columns(node);
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    group.keys.push_back(column_of(i, columns[i].type, {}));
    columns[i].role = Role::kPlain;
  }
  const bool changes = graph.updating(node);
  return graph.add(std::move(group), {node}, std::move(columns), changes);
}

}  // namespace holdfast::sql
