#include "plan.hpp"

#include <holdfast/base/format.hpp>

namespace holdfast::sql {
namespace {

std::vector<std::string> names_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const auto& column : columns)
    names.push_back(column.name);
  return names;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : ", ") + parts[i];
  return text;
}

std::string text_of(const Window& window, const std::vector<std::string>& names) {
  std::string text = window.size_ms == window.slide_ms
                         ? "TUMBLE(" + names[window.time_column]
                         : "HOP(" + names[window.time_column] + ", slide " +
                               std::to_string(window.slide_ms) + " ms";
  text += ", size " + std::to_string(window.size_ms) + " ms";
  if (window.offset_ms != 0) text += ", offset " + std::to_string(window.offset_ms) + " ms";
  return text + ")";
}

std::string text_of(const Table& table) {
  std::vector<std::string> columns, options;
  const auto names = names_of(table.columns);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    columns.push_back(names[i] + " " + name_of(table.columns[i].type));
    if (table.computed[i]) columns.back() += " AS " + text_of(*table.computed[i], names);
  }
  if (table.has_watermark)
    columns.push_back("WATERMARK FOR " + names[table.time_column] + " AS " +
                      text_of(*table.watermark, names));
  for (const auto& option : table.options)
    options.push_back("'" + escape(option.key, 4096) + "' = '" + escape(option.value, 4096) + "'");
  return table.name + "(" + joined(columns) + ") WITH (" + joined(options) + ")";
}

std::string text_of(const Node& node, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  if (const auto* scan = std::get_if<Scan>(&node.what)) return "Scan " + text_of(*scan->table);
  if (const auto* filter = std::get_if<Filter>(&node.what))
    return "Filter " + text_of(*filter->predicate, names);
  if (const auto* windows = std::get_if<AssignWindows>(&node.what))
    return "AssignWindows " + text_of(windows->window, names);
  if (const auto* project = std::get_if<Project>(&node.what)) {
    for (std::size_t i = 0; i < project->expressions.size(); ++i)
      parts.push_back(text_of(*project->expressions[i], names) + " AS " + node.columns[i].name +
                      " " + name_of(node.columns[i].type));
    return "Project " + joined(parts);
  }
  const auto& group = std::get<Group>(node.what);
  for (const auto& key : group.keys)
    parts.push_back(text_of(*key, names));
  std::string text = "Group by (" + joined(parts) + ")";
  parts.clear();
  for (const auto& aggregate : group.aggregates)
    parts.push_back(text_of(aggregate, names));
  text += " of (" + joined(parts) + ")";
  if (group.windowed) text += " in " + text_of(group.window, names);
  return text;
}

}  // namespace

std::string text_of(const Plan& plan) {
  std::string text = "Sink " + (plan.sink == nullptr ? "standard output" : text_of(*plan.sink));
  std::string indent;
  for (std::size_t i = plan.nodes.size(); i-- > 0;) {
    indent += "  ";
    const auto names = i == 0 ? std::vector<std::string>() : names_of(plan.nodes[i - 1].columns);
    text += "\n" + indent + text_of(plan.nodes[i], names);
  }
  return text + "\n";
}

}  // namespace holdfast::sql
