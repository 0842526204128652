#include "node_source.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/stream/compile/aggregate_source.hpp>
#include <holdfast/stream/compile/column_origin.hpp>
#include <holdfast/stream/compile/extreme_join.hpp>
#include <holdfast/stream/compile/source_text.hpp>
#include <holdfast/stream/graph/running_aggregate.hpp>

namespace holdfast::stream::compile {
namespace {

std::string number_text(std::uint64_t number) { return std::to_string(number); }

std::vector<std::string> columns_of_row(const std::string& row, std::size_t count) {
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < count; ++i)
    columns.push_back(row + ".get<" + number_text(i) + ">()");
  return columns;
}

constexpr std::size_t kMostKeys = 64;  // KeyOf: a bit each.

class NodeWriter {
 public:
  NodeWriter(const sql::Plan& plan, std::size_t node, const RunShape& shape, QueryParts& parts)
      : plan_(plan),
        number_(node),
        node_(plan.nodes[node]),
        self_(number_text(node)),
        shape_(shape),
        parts_(parts) {
    made_.take.resize(node_.inputs.size());
  }

  using Made = Result<NodeSource>;
  Made operator()(const sql::Scan&) { return std::move(made_); }
  Made operator()(const sql::Filter& filter) {
    auto expressions = of_row();
    made_.take[0] = {"if (is_true(" + expressions.of(*filter.predicate) + ")) from" + self_ +
                     "(change, row);"};
    return std::move(made_);
  }
  Made operator()(const sql::Project& project) {
    auto expressions = of_row();
    std::vector<std::string> values;
    for (const auto& expression : project.expressions)
      values.push_back(expressions.of(*expression));
    made_.take[0] = {"const Row" + self_ + " made(" + joined(values) + ");",
                     "if (!run.failed) from" + self_ + "(change, made);"};
    return std::move(made_);
  }
  Made operator()(const sql::Union&) {
    for (auto& take : made_.take)
      take = {"from" + self_ + "(change, row);"};
    return std::move(made_);
  }
  Made operator()(const sql::WallClock& wall) {
    parts_.zone = wall.zone;
    made_.walls = true;
    made_.take[0] = {"from" + self_ + "(change, row);"};
    return std::move(made_);
  }
  Made operator()(const sql::Unnest&) { return not_compiled("UNNEST"); }
  Made operator()(const sql::AssignWindows& assign) {
    const auto& window = assign.window;
    made_.counts_times = true;
    made_.take[0] = {"const auto time = row.get<" + number_text(window.time_column) + ">();",
                     "if (!time.known) return static_cast<void>(++without_time" + self_ + "_);",
                     "for_each_window<" + std::to_string(window.size_ms) + ", " +
                         std::to_string(window.slide_ms) + ", " + std::to_string(window.offset_ms) +
                         (window.cumulates ? ", true>(" : ", false>(") +
                         "time.value, [&](std::int64_t start, std::int64_t end) {",
                     "  if (!run.failed) from" + self_ + "(change, followed_by<Row" + self_ +
                         ">(row, some(start), some(end), some(end - 1)));",
                     "});"};
    return std::move(made_);
  }
  Made operator()(const sql::Group& group) {
    if (group.keys.size() > kMostKeys) return not_compiled("a group by more than 64 columns");
    const bool corrects = group.lateness_ms != 0;
    const bool of_rows = group.row_size != 0;
    const bool changes = corrects || (!group.windowed && !of_rows);  // What was shown of a group.
    const bool retracts = changes && plan_.nodes[node_.inputs[0]].updating;
    HF_ASSIGN_OR_RETURN(const auto state, state_type(group.aggregates, retracts, parts_));
    begin(input_row(0));
    alias("Out", "Row" + self_);
    alias("Key", key_type(group.keys));
    alias("State", state);
    key("key", "Row", group.keys, 0);
    gather("add", group.aggregates);
    if (retracts) gather("take_back", group.aggregates);
    if (changes) constant("bool", "kRetracts", retracts ? "true" : "false");
    if (grouped_join(plan_, number_)) constant("bool", "kIsRemembered", "true");
    if (of_rows) {
      constant("std::int64_t", "kRows", std::to_string(group.row_size));
      constant("std::int64_t", "kSlide", std::to_string(group.row_slide));
    }
    if (corrects) constant("std::int64_t", "kLatenessMs", std::to_string(group.lateness_ms));
    made_.fetches = corrects || !group.windowed || group.by_columns;
    out(group);
    group_times(group);
    made_.member = of_rows            ? "RowWindows"
                   : !group.windowed  ? "RunningGroups"
                   : corrects         ? "CorrectedGroups"
                   : group.by_columns ? "WindowGroups"
                                      : "SliceGroups";
    made_.slices = group.windowed && !group.by_columns;
    made_.texts_move = changes || of_rows;
    // Without keys there is a group at the end, also where there was no row.
    made_.passes = group.windowed || (group.keys.empty() && !of_rows);
    return end();
  }
  Made operator()(const sql::DelayChanges& delay) {
    if (delay.keys.size() > kMostKeys) return not_compiled("a group by more than 64 columns");
    begin(input_row(0));
    constant("std::int64_t", "kDelayMs", std::to_string(delay.delay_ms));
    constant("std::int64_t", "kLatenessMs", std::to_string(delay.lateness_ms));
    alias("Key", key_type(delay.keys));
    key("key", "Row", delay.keys, 0);
    column("start", "Row", delay.start_column);
    column("end", "Row", delay.end_column);
    give("const Row& row", "row");
    made_.member = "DelayedChanges";
    made_.passes = made_.ticks = made_.texts_move = made_.fetches = true;
    return end();
  }
  Made operator()(const sql::Join& join) {
    const auto left = columns_of(0).size();
    line("struct Node" + self_ + " {");
    node();
    constant("auto", "kKind", "JoinKind::" + name_of(join.kind));
    alias("Left", input_row(0));
    alias("Right", input_row(1));
    alias("Out", "Row" + self_);
    alias("Key", key_type(join.left_keys));
    remember_group();
    if (only_comes(join)) constant("bool", "kOnlyComes", "true");
    key("left_key", "Left", join.left_keys, 0);
    key("right_key", "Right", join.right_keys, 1);
    auto names = columns_of_row("left", left),
         of_right = columns_of_row("right", columns_of(1).size());
    names.insert(names.end(), of_right.begin(), of_right.end());
    auto people = sql::names_of(columns_of(0)), more = sql::names_of(columns_of(1));
    people.insert(people.end(), more.begin(), more.end());
    ExpressionSource both(names, people, parts_);
    line(
        "  static bool holds([[maybe_unused]] const Left& left, "
        "[[maybe_unused]] const Right& right, [[maybe_unused]] Run& run) {");
    line("    return " +
         (join.condition == nullptr ? "true" : "is_true(" + both.of(*join.condition) + ")") +
         ";\n  }");
    give("const Out& row", "row");
    made_.fetches = join.form != sql::JoinForm::kLookup;
    made_.passes = join.form != sql::JoinForm::kRegular && join.form != sql::JoinForm::kLookup;
    join_times(join);
    for (const std::size_t input : {0, 1}) {
      const std::string row = leave_out(join, input) ? "kept" : "row";
      made_.take[input].push_back("node" + self_ +
                                  "_.take<Side::" + (input == 0 ? "kLeft" : "kRight") +
                                  ">(*this, change, " + row + ");");
    }
    return finish();
  }
  Made operator()(const sql::Rank& rank) {
    if (!is_plain(rank.order)) return not_compiled("an order by what may fail or is a made text");
    begin(input_row(0));
    if (rank.earliest) return earliest_row(rank);
    constant("std::uint64_t", "kFirst", number_text(rank.first) + "u");
    constant("std::uint64_t", "kLast", number_text(rank.last) + "u");
    constant("bool", "kRetracts", plan_.nodes[node_.inputs[0]].updating ? "true" : "false");
    constant("bool", "kLatest", rank.latest ? "true" : "false");
    if (rank.ranking != sql::Ranking::kRowNumber) {
      constant("Ranking", "kRanking",
               rank.ranking == sql::Ranking::kRank ? "Ranking::kRank" : "Ranking::kDenseRank");
      constant("bool", "kNumbered", rank.numbered ? "true" : "false");
    }
    alias("Key", key_type(rank.partition));
    key("key", "Row", rank.partition, 0);
    compare(rank.order);
    give_numbered(rank);
    if (rank.by_columns) column("end", "Row", rank.end_column);
    made_.member = rank.by_columns ? "WindowRank" : "RunningRank";
    made_.texts_move = rank.by_columns;  // The other one sees to it where it lets a row go.
    made_.fetches = true;
    made_.passes = rank.by_columns;
    return end();
  }
  Made operator()(const sql::Literals&) { return not_compiled("VALUES"); }
  Made operator()(const sql::AssignSessions& sessions) {
    begin(input_row(0));
    constant("std::int64_t", "kGapMs", std::to_string(sessions.gap_ms));
    alias("Key", key_type(sessions.keys));
    key("key", "Row", sessions.keys, 0);
    column("time", "Row", sessions.time_column);
    give("const Row& row, std::int64_t start, std::int64_t end",
         "followed_by<Row" + self_ + ">(row, some(start), some(end), some(end - 1))");
    made_.member = "SessionRows";
    made_.fetches = true;
    made_.passes = true;
    return end();
  }
  Made operator()(const sql::ProcessingTime& time) {
    begin(input_row(0));
    auto columns = columns_of_row("row", columns_of(0).size());
    columns[time.column] = "some(time)";
    line("  static Row" + self_ + " stamped(const Row& row, std::int64_t time) {");
    line("    return " + call("Row" + self_, columns) + ";\n  }");
    give("const Row" + self_ + "& row", "row");
    line("  template <class Graph>\n  static void mark(Graph& graph, std::int64_t watermark) {");
    line("    graph.pass" + self_ + "(watermark);\n  }");
    made_.member = "ClockRows";
    made_.follows_clock = made_.ticks = true;
    return end();
  }
  Made operator()(const sql::OverAggregate& over) {
    HF_ASSIGN_OR_RETURN(const auto state, state_type(over.aggregates, false, parts_));
    begin(input_row(0));
    alias("Out", "Row" + self_);
    alias("Key", key_type(over.partition));
    alias("State", state);
    constant("bool", "kRows", over.rows ? "true" : "false");
    constant("std::int64_t", "kPreceding", std::to_string(over.preceding));
    key("key", "Row", over.partition, 0);
    if (over.as_they_come)
      constant("bool", "kAsTheyCome", "true");
    else
      column("time", "Row", over.time_column);
    gather("add", over.aggregates);
    line("  static Out out(const Row& row, const State& state, Run& run) {");
    std::string values = "row";
    made_.fetches = true;
    for (std::size_t i = 0; i < over.aggregates.size(); ++i) {  // In turn: the first error counts.
      const auto number = number_text(i);
      line("    const auto value" + number + " = state.get<" + number + ">().result(run);");
      values += ", value" + number;
      made_.texts_move = made_.texts_move || over.aggregates[i].type.is_bytes();
    }
    line("    return followed_by<Out>(" + values + ");\n  }");
    give("const Out& row", "row");
    made_.member = "OverRows";
    made_.passes = true;
    return end();
  }
  Made operator()(const sql::Sort& sort) {
    if (!is_plain(sort.keys)) return not_compiled("an order by what may fail or is a made text");
    if (!sort.at_once && columns_of(0).size() > kMostKeys)
      return not_compiled("an order of rows of more than 64 columns");
    begin(input_row(0));
    constant("std::uint64_t", "kOffset", number_text(sort.offset) + "u");
    constant("std::uint64_t", "kLimit", number_text(sort.limit) + "u");
    give("const Row& row", "row");
    if (!sort.at_once) {
      constant("bool", "kHasOrder", sort.keys.empty() ? "false" : "true");
      count_rows(sort.keys);
    }
    made_.member = sort.at_once ? "FirstRows" : "SortRows";
    made_.passes = made_.fetches = !sort.at_once;
    return end();
  }
  Made operator()(const sql::Materialize&) { return (*this)(sql::Sort{}); }

 private:
  void line(const std::string& text) { made_.definition += text + "\n"; }
  void alias(const std::string& name, const std::string& type) {
    line("  using " + name + " = " + type + ";");
  }
  void constant(const std::string& type, const std::string& name, const std::string& value) {
    line("  static constexpr " + type + " " + name + " = " + value + ";");
  }
  std::string input_row(std::size_t input) const {
    return "Row" + number_text(node_.inputs[input]);
  }
  const std::vector<sql::Column>& columns_of(std::size_t input) const {
    return plan_.nodes[node_.inputs[input]].columns;
  }
  ExpressionSource of_row(std::size_t input = 0) {
    return {columns_of_row("row", columns_of(input).size()), sql::names_of(columns_of(input)),
            parts_};
  }

  void begin(const std::string& row) {
    line("struct Node" + self_ + " {");
    node();
    alias("Row", row);
  }
  void node() {
    constant("std::int64_t", "kNode", self_);
    constant("bool", "kStored", shape_.stored ? "true" : "false");
    constant("bool", "kForgets", shape_.forgets ? "true" : "false");
    if (plan_.late_rows != nullptr) constant("bool", "kTellsLate", "true");
    if (follows_clock()) constant("bool", "kFollowsClock", "true");
  }
  // A clock moves the watermark while a row is on its way: then its texts must stay.
  bool follows_clock() const {
    return std::any_of(plan_.nodes.begin(), plan_.nodes.end(), [](const sql::Node& node) {
      return std::holds_alternative<sql::ProcessingTime>(node.what);
    });
  }
  static bool is_plain(const std::vector<sql::OrderKey>& order) {
    return std::all_of(order.begin(), order.end(), [](const sql::OrderKey& key) {
      return ExpressionSource::is_plain(*key.value);
    });
  }
  // What stands in an order is computed each time that two rows are compared.
  void compare(const std::vector<sql::OrderKey>& keys) {
    const auto& columns = columns_of(0);
    ExpressionSource of_a(columns_of_row("a", columns.size()), sql::names_of(columns), parts_);
    ExpressionSource of_b(columns_of_row("b", columns.size()), sql::names_of(columns), parts_);
    line("  static int compare([[maybe_unused]] const Row& a, [[maybe_unused]] const Row& b) {");
    line("    int order = 0;");
    for (const auto& key : keys) {
      const std::string how =
          std::string(key.descending ? "true, " : "false, ") + (key.nulls_first ? "true" : "false");
      line("    if (order == 0) order = " +
           call("compare_in_order<" + how + ">", {of_a.of(*key.value), of_b.of(*key.value)}) + ";");
    }
    line("    return order;\n  }");
  }
  Made earliest_row(const sql::Rank& rank) {
    alias("Key", key_type(rank.partition));
    key("key", "Row", rank.partition, 0);
    column("time", "Row", rank.order.front().value->column);
    give_numbered(rank);
    made_.member = "EarliestRow";
    made_.fetches = true;
    made_.passes = true;
    return end();
  }
  void give_numbered(const sql::Rank& rank) {
    give("const Row& row, [[maybe_unused]] std::int64_t number",
         rank.numbered ? "followed_by<Row" + self_ + ">(row, some(number))" : "row");
  }
  // Equal rows once, in this order.
  void count_rows(const std::vector<sql::OrderKey>& keys) {
    std::vector<std::string> types;
    for (const auto& column : columns_of(0))
      types.emplace_back(cpp_type(column.type));
    alias("Key", "KeyOf<" + joined(types) + ">");
    line("  static Key key(const Row& row) {");
    line("    return " + call("Key", columns_of_row("row", columns_of(0).size())) + ";\n  }");
    compare(keys);
  }
  Made end() {
    made_.take[0] = {"node" + self_ + "_.take(*this, change, row);"};
    return finish();
  }
  Made finish() {
    line("};\n");
    made_.member += "<Node" + self_ + ">";
    return std::move(made_);
  }
  void give(const std::string& parameters, const std::string& row) {
    line("  template <class Graph>\n  static void give(Graph& graph, Change change, " + parameters +
         ") {");
    line("    graph.from" + self_ + "(change, " + row + ");\n  }");
  }
  void key(const std::string& name, const std::string& row,
           const std::vector<sql::ExpressionPointer>& keys, std::size_t input) {
    auto expressions = of_row(input);
    std::vector<std::string> values;
    for (const auto& key : keys)
      values.push_back(expressions.of(*key));
    line("  static Key " + name + "([[maybe_unused]] const " + row +
         "& row, [[maybe_unused]] Run& run) {");
    line("    return " + call("Key", values) + ";\n  }");
  }
  void join_times(const sql::Join& join) {
    made_.member = name_of(join.form);
    if (!made_.passes) return;
    const std::string name = join.form == sql::JoinForm::kWindow ? "end" : "time";
    column("left_" + name, "Left", join.left_time);
    column("right_" + name, "Right", join.right_time);
    if (join.form != sql::JoinForm::kInterval) return;
    constant("std::int64_t", "kLowMs", std::to_string(join.low_ms));
    constant("std::int64_t", "kHighMs", std::to_string(join.high_ms));
    made_.held_back_ms = std::max<std::int64_t>({0, -join.low_ms, join.high_ms});
  }
  bool only_comes(const sql::Join& join) const {
    const bool goes =
        plan_.nodes[node_.inputs[0]].updating || plan_.nodes[node_.inputs[1]].updating;
    return join.form == sql::JoinForm::kRegular && join.kind == sql::JoinKind::kInner && !goes &&
           (join.condition == nullptr || !ExpressionSource::can_fail(*join.condition));
  }
  // A join's rows remember the group that their pairs are in.
  void remember_group() {
    for (std::size_t node = number_; node < plan_.nodes.size(); ++node) {
      const auto grouped = grouped_join(plan_, node);
      if (!grouped || grouped->join != number_) continue;
      return constant("auto", "kGroupOf", grouped->side == 0 ? "Side::kLeft" : "Side::kRight");
    }
  }
  // Rows of a join that can have no partner. The others are copied: only the copy has a place in
  // memory, so no column of a row that is left out is written there. False: none is left out.
  bool leave_out(const sql::Join& join, std::size_t input) {
    if (join.form != sql::JoinForm::kRegular && join.form != sql::JoinForm::kWindow) return false;
    const auto partner = extreme_partner(plan_, number_, input);
    if (!partner) return false;
    const auto get = [](std::uint32_t column) { return "row.get<" + number_text(column) + ">()"; };
    const auto group = "ode" + number_text(partner->group);
    std::vector<std::string> keys;
    for (const auto column : partner->keys)
      keys.push_back(get(column));
    const bool regular = join.form == sql::JoinForm::kRegular;
    made_.take[input] = {
        "if (n" + group + "_.surpasses_" + (regular ? "at<" : "in<") +
            number_text(partner->aggregate) + ">(",
        "        " +
            (regular ? get(partner->time) : get(partner->start) + ", " + get(partner->end)) + ", " +
            call("N" + group + "::Key", keys) + ", " + get(partner->value) + "))",
        "  return;", "const auto kept = row;"};
    return true;
  }
  void gather(const std::string& verb, const std::vector<sql::Aggregate>& aggregates) {
    auto expressions = of_row();
    line("  static void " + verb +
         "([[maybe_unused]] State& state, [[maybe_unused]] const Row& row, "
         "[[maybe_unused]] Run& run) {");
    for (const auto& statement : gathering(aggregates, verb, expressions))
      line("    " + statement);
    line("  }");
  }
  // [keys, aggregates, window_start, window_end, window_time]
  void out(const sql::Group& group) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < group.keys.size(); ++i)
      values.push_back("key.get<" + number_text(i) + ">()");
    for (std::size_t i = 0; i < group.aggregates.size(); ++i)
      values.push_back("state.get<" + number_text(i) + ">().result(run)");
    std::string times;
    if (group.windowed) {
      times = "std::int64_t start, std::int64_t end, ";
      for (const auto* bound : {"some(start)", "some(end)", "some(end - 1)"})
        values.emplace_back(bound);
    }
    line("  static Out out([[maybe_unused]] const Key& key, [[maybe_unused]] const State& state, " +
         times + "[[maybe_unused]] Run& run) {");
    line("    return " + call("Out", values) + ";\n  }");
    give("const Out& row", "row");
  }
  void group_times(const sql::Group& group) {
    if (!group.windowed) return;
    if (group.by_columns) {
      column("start", "Row", group.start_column);
      column("end", "Row", group.end_column);
      return;
    }
    column("time", "Row", group.window.time_column);
    constant("bool", "kWindowed", "true");
    constant("std::int64_t", "kSizeMs", std::to_string(group.window.size_ms));
    constant("std::int64_t", "kSlideMs", std::to_string(group.window.slide_ms));
    constant("std::int64_t", "kOffsetMs", std::to_string(group.window.offset_ms));
    if (group.window.cumulates) constant("bool", "kCumulates", "true");
  }
  void column(const std::string& name, const std::string& row, std::uint32_t number) {
    line("  static Maybe<std::int64_t> " + name + "(const " + row + "& row) {");
    line("    return row.get<" + number_text(number) + ">();\n  }");
  }
  static std::string name_of(sql::JoinForm form) {
    switch (form) {
      case sql::JoinForm::kRegular: return "RegularJoin";
      case sql::JoinForm::kWindow: return "WindowJoin";
      case sql::JoinForm::kInterval: return "IntervalJoin";
      case sql::JoinForm::kTemporal: return "TemporalJoin";
      default: return "LookupJoin";
    }
  }
  static std::string name_of(sql::JoinKind kind) {
    switch (kind) {
      case sql::JoinKind::kInner: return "kInner";
      case sql::JoinKind::kLeft: return "kLeft";
      case sql::JoinKind::kRight: return "kRight";
      case sql::JoinKind::kFull: return "kFull";
      case sql::JoinKind::kSemi: return "kSemi";
      default: return "kAnti";
    }
  }

  const sql::Plan& plan_;
  const std::size_t number_;
  const sql::Node& node_;
  const std::string self_;
  const RunShape shape_;
  QueryParts& parts_;
  NodeSource made_;
};

}  // namespace

Result<NodeSource> node_source(const sql::Plan& plan, std::size_t node, const RunShape& shape,
                               QueryParts& parts) {
  return std::visit(NodeWriter(plan, node, shape, parts), plan.nodes[node].what);
}

}  // namespace holdfast::stream::compile
