#include "plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/nested.hpp>
#include <holdfast/sql/secrets.hpp>
#include <holdfast/sql/zone.hpp>

namespace holdfast::sql {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : ", ") + parts[i];
  return text;
}

// The type of a literal of this text, where it is one of an exact number.
std::optional<Type> type_of_number(std::string_view text) {
  const auto digits = text.substr(text.starts_with('-') ? 1 : 0);
  const auto point = digits.find('.');
  const auto scale = point == std::string_view::npos ? 0 : digits.size() - point - 1;
  if (digits.find_first_not_of(".0123456789") != std::string_view::npos || scale > kMaxDigits)
    return std::nullopt;
  const auto number = decimal_of(text, static_cast<std::uint32_t>(scale));
  if (!number) return std::nullopt;
  return written_type(*number, static_cast<std::uint32_t>(scale));
}

std::string ms(std::int64_t number) { return std::to_string(number) + " ms"; }

std::string text_of(const Window& window, const std::vector<std::string>& names) {
  std::string text = window.cumulates
                         ? "CUMULATE(" + names[window.time_column] + ", step " + ms(window.slide_ms)
                     : window.size_ms == window.slide_ms
                         ? "TUMBLE(" + names[window.time_column]
                         : "HOP(" + names[window.time_column] + ", slide " + ms(window.slide_ms);
  text += ", size " + ms(window.size_ms);
  if (window.offset_ms != 0) text += ", offset " + ms(window.offset_ms);
  return text + ")";
}

std::string text_of(const Table& table) {
  std::vector<std::string> columns, options;
  const auto names = names_of(table.columns);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    columns.push_back(names[i] + " " + name_of(table.columns[i].type));
    if (table.computed[i]) columns.back() += " AS " + text_of(*table.computed[i], names, true);
  }
  if (table.has_watermark)
    columns.push_back("WATERMARK FOR " + names[table.time_column] + " AS " +
                      text_of(*table.watermark, names));
  for (const auto& option : table.options) {
    const auto value = is_secret(option.key) ? std::string(kSecret) : escape(option.value, 4096);
    options.push_back("'" + escape(option.key, 4096) + "' = '" + value + "'");
  }
  return table.name + "(" + joined(columns) + ") WITH (" + joined(options) + ")";
}

// What each operator says of itself. `names` are those of the columns its expressions read.
class Describe {
 public:
  // `left`: how many of the names are those of the first input.
  Describe(const Node& node, const std::vector<std::string>& names, std::size_t left)
      : node_(node), names_(names), left_width_(left) {}

  std::string operator()(const Scan& scan) const {
    return (scan.looked_up ? "Lookup " : "Scan ") + text_of(*scan.table);
  }
  std::string operator()(const Literals& literals) const {
    std::vector<std::string> rows;
    for (const auto& row : literals.rows) {
      std::vector<std::string> values;
      for (std::size_t i = 0; i < row.size(); ++i)
        values.push_back(value(row, i));
      rows.push_back("(" + joined(values) + ")");
    }
    return "Values " + joined(rows) + types_of(literals);
  }
  std::string operator()(const Filter& filter) const { return "Filter " + text(filter.predicate); }
  std::string operator()(const Project& project) const {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < project.expressions.size(); ++i)
      parts.push_back(sql::text_of(*project.expressions[i], names_, true) + " AS " +
                      node_.columns[i].name + " " + name_of(node_.columns[i].type));
    return "Project " + joined(parts);
  }
  std::string operator()(const AssignWindows& windows) const {
    return "AssignWindows " + text_of(windows.window, names_);
  }
  std::string operator()(const AssignSessions& sessions) const {
    return "AssignSessions SESSION(" + names_[sessions.time_column] + ", gap " +
           ms(sessions.gap_ms) + ") by (" + all(sessions.keys) + ")";
  }
  std::string operator()(const ProcessingTime& time) const {
    return "ProcessingTime " + names_[time.column];
  }
  std::string operator()(const WallClock& wall) const {
    return "WallClock of " + wall.zone->name();
  }
  std::string operator()(const Group& group) const {
    std::string text = "Group by (" + all(group.keys) + ") of (" + all(group.aggregates) + ")";
    if (group.by_columns) {
      text +=
          " in the windows [" + names_[group.start_column] + ", " + names_[group.end_column] + ")";
      return group.lateness_ms == 0 ? text : text + ", changed for " + ms(group.lateness_ms);
    }
    if (group.row_size != 0)
      return text + " in windows of " + std::to_string(group.row_size) + " rows, one each " +
             std::to_string(group.row_slide);
    return group.windowed ? text + " in " + text_of(group.window, names_) : text;
  }
  std::string operator()(const DelayChanges& delay) const {
    return "DelayChanges of (" + all(delay.keys) + ") in the windows [" +
           names_[delay.start_column] + ", " + names_[delay.end_column] + ") by " +
           ms(delay.delay_ms) + ", at most for " + ms(delay.lateness_ms);
  }
  std::string operator()(const Join& join) const {
    static constexpr std::array<const char*, 5> kForms = {"", "Window", "Interval", "Temporal",
                                                          "Lookup"};
    static constexpr std::array<const char*, 6> kKinds = {"inner",      "left outer", "right outer",
                                                          "full outer", "semi",       "anti"};
    std::vector<std::string> parts;
    // The keys of the right side read its columns, whose names are behind those of the left.
    const std::vector<std::string> right(names_.begin() + static_cast<std::ptrdiff_t>(left_width_),
                                         names_.end());
    for (std::size_t i = 0; i < join.left_keys.size(); ++i)
      parts.push_back(text(join.left_keys[i]) + " = " + sql::text_of(*join.right_keys[i], right));
    std::string what = std::string(kForms[static_cast<std::size_t>(join.form)]) + "Join " +
                       kKinds[static_cast<std::size_t>(join.kind)] + " on (" + joined(parts) + ")";
    if (join.condition != nullptr) what += " and " + text(join.condition);
    if (join.form == JoinForm::kInterval)
      what += " within " + ms(join.low_ms) + " to " + ms(join.high_ms);
    if (join.form != JoinForm::kRegular && join.form != JoinForm::kLookup)
      what += " of " + names_[join.left_time] + ", " + right[join.right_time];
    return what;
  }
  std::string operator()(const Unnest& unnest) const {
    return "Unnest " + text(unnest.array) + (unnest.keeps_all ? ", all rows" : "") +
           (unnest.numbered ? ", numbered" : "");
  }
  std::string operator()(const Union&) const { return "Union"; }
  std::string operator()(const Rank& rank) const {
    std::string text = "Rank by (" + all(rank.partition) + ") order (" + all(rank.order) + ") " +
                       std::to_string(rank.first) + " to " +
                       (rank.last == Rank::kAll ? "all" : std::to_string(rank.last));
    if (rank.ranking == Ranking::kRank) text += " by RANK";
    if (rank.ranking == Ranking::kDenseRank) text += " by DENSE_RANK";
    if (rank.numbered) text += ", numbered";
    if (rank.earliest) text += ", once";
    return rank.by_columns ? text + ", in windows to " + names_[rank.end_column] : text;
  }
  std::string operator()(const OverAggregate& over) const {
    std::string frame = "all";
    if (over.preceding != OverAggregate::kUnbounded)
      frame = over.rows ? std::to_string(over.preceding) + " rows" : ms(over.preceding);
    const std::string order =
        over.as_they_come ? "as they come " : "order " + names_[over.time_column] + " ";
    return "Over (" + all(over.partition) + ") " + order + frame + (over.rows ? " by rows" : "") +
           " of (" + all(over.aggregates) + ")";
  }
  std::string operator()(const Sort& sort) const {
    std::string text = "Sort (" + all(sort.keys) + ")";
    if (sort.limit != Sort::kAll) text += " limit " + std::to_string(sort.limit);
    return sort.offset == 0 ? text : text + " offset " + std::to_string(sort.offset);
  }
  std::string operator()(const Materialize&) const { return "Materialize"; }

 private:
  // Of VALUES, in quotes whatever it is.
  std::string value(const Row& row, std::size_t i) const {
    const auto& type = node_.columns[i].type;
    const bool quoted = row[i].null || type.is_nested() || type.zone != nullptr;
    return quoted ? literal_text(row[i], type, true) : quoted_text(sql::text_of(row[i], type));
  }
  // Of its columns, unless all are of the types that the values seem to have.
  std::string types_of(const Literals& literals) const {
    std::vector<std::string> types;
    bool told = true;
    for (std::size_t i = 0; i < node_.columns.size(); ++i) {
      types.push_back(name_of(node_.columns[i].type));
      told = told && node_.columns[i].type == seen_type(literals, i);
    }
    return told ? "" : " of (" + joined(types) + ")";
  }
  // That of numbers without an exponent, else STRING.
  Type seen_type(const Literals& literals, std::size_t column) const {
    const auto& type = node_.columns[column].type;
    Type seen;
    for (const auto& row : literals.rows) {
      if (row[column].null) continue;
      const auto number = type_of_number(sql::text_of(row[column], type));
      if (!number) return kStringType;
      seen = *common_type(seen, *number);
    }
    return seen.kind == Kind::kNull ? kStringType : seen;
  }
  std::string text(const ExpressionPointer& expression) const {
    return sql::text_of(*expression, names_);
  }
  std::string text(const Aggregate& aggregate) const { return sql::text_of(aggregate, names_); }
  std::string text(const OrderKey& key) const {
    return text(key.value) + (key.descending ? " DESC" : "") +
           (key.nulls_first == key.descending ? key.nulls_first ? " NULLS FIRST" : " NULLS LAST"
                                              : "");
  }
  template <class Parts>
  std::string all(const Parts& parts) const {
    std::vector<std::string> texts;
    for (const auto& part : parts)
      texts.push_back(text(part));
    return joined(texts);
  }

  const Node& node_;
  const std::vector<std::string>& names_;
  const std::size_t left_width_;
};

// Columns of one name get their numbers behind it.
void tell_apart(std::vector<std::string>& names) {
  std::map<std::string, std::size_t> counts;
  for (const auto& name : names)
    ++counts[name];
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (counts[names[i]] > 1) names[i] += "#" + std::to_string(i);
  }
}

// The tree below a node; one that was shown is named by its number.
class Tree {
 public:
  explicit Tree(const Plan& plan) : plan_(plan), uses_(plan.nodes.size()) {
    for (const auto& node : plan.nodes) {
      for (const auto input : node.inputs)
        ++uses_[input];
    }
    shown_.resize(plan.nodes.size());
  }

  std::string show(std::uint32_t number, const std::string& indent) {
    const auto& node = plan_.nodes[number];
    std::string text = "\n" + indent;
    if (uses_[number] > 1) text += "[" + std::to_string(number) + "] ";
    if (shown_[number]) return text + "as above";
    shown_[number] = true;
    text += text_of(node, plan_.nodes);
    for (const auto input : node.inputs)
      text += show(input, indent + "  ");
    return text;
  }

 private:
  const Plan& plan_;
  std::vector<std::size_t> uses_;
  std::vector<bool> shown_;
};

// Whether keys or states of an operator are made of values of ARRAY, ROW or MAP.
class HoldsNested {
 public:
  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
  bool operator()(const AssignSessions& sessions) const { return any(sessions.keys); }
  bool operator()(const Group& group) const { return any(group.aggregates); }
  bool operator()(const Join& join) const { return any(join.left_keys); }
  bool operator()(const Rank& rank) const { return any(rank.partition); }
  bool operator()(const OverAggregate& over) const {
    return any(over.partition) || any(over.aggregates);
  }

 private:
  static bool is_nested(const ExpressionPointer& e) { return e != nullptr && e->type.is_nested(); }
  static bool is_nested(const Aggregate& aggregate) { return is_nested(aggregate.argument); }
  template <class Parts>
  static bool any(const Parts& parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [](const auto& part) { return is_nested(part); });
  }
};

bool holds_nested(const Node& node) {
  return std::visit(HoldsNested(), node.what) ||
         std::any_of(node.columns.begin(), node.columns.end(),
                     [](const Column& column) { return column.type.is_nested(); });
}

}  // namespace

std::vector<std::string> names_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const auto& column : columns)
    names.push_back(column.name);
  return names;
}

std::string text_of(const Node& node, const std::vector<Node>& nodes) {
  std::vector<std::string> names;
  for (const auto input : node.inputs) {
    for (const auto& column : nodes[input].columns)
      names.push_back(column.name);
  }
  tell_apart(names);
  return text_of(node, nodes, names);
}

std::string text_of(const Node& node, const std::vector<Node>& nodes,
                    const std::vector<std::string>& names) {
  const std::size_t left = node.inputs.empty() ? 0 : nodes[node.inputs.front()].columns.size();
  return std::visit(Describe(node, names, left), node.what);
}

bool depends_on_order(const Group& group) {
  return std::any_of(group.aggregates.begin(), group.aggregates.end(),
                     [](const Aggregate& one) { return depends_on_order(one); });
}

bool Plan::is_chain() const {
  if (nodes.empty() || !std::holds_alternative<Scan>(nodes.front().what)) return false;
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].inputs != std::vector<std::uint32_t>{i - 1}) return false;
  }
  return true;
}

std::string text_of(const Plan& plan) {
  const auto root = static_cast<std::uint32_t>(plan.nodes.size() - 1);
  std::string text = "Sink " + (plan.sink == nullptr ? "standard output" : text_of(*plan.sink)) +
                     Tree(plan).show(root, "  ") + "\n";
  // A build that writes such values in another way takes no state with these.
  if (std::any_of(plan.nodes.begin(), plan.nodes.end(), holds_nested))
    text += "ARRAY, ROW and MAP in layout " + std::to_string(kNestedLayout) + "\n";
  if (plan.late_rows != nullptr) text += "Late rows to " + text_of(*plan.late_rows) + "\n";
  // Its operators keep other state than those that show each change.
  if (plan.nodes.back().updating && !plan.updating) text += "Shown when the input has ended\n";
  return text;
}

}  // namespace holdfast::sql
