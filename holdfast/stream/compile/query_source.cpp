#include "query_source.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <holdfast/sql/column_pruning.hpp>
#include <holdfast/stream/compile/aggregate_source.hpp>
#include <holdfast/stream/compile/graph_code.hpp>
#include <holdfast/stream/compile/layouts.hpp>
#include <holdfast/stream/compile/source_text.hpp>
#include <holdfast/stream/interpreted_operators.hpp>

namespace holdfast::stream::compile {
namespace {

using sql::names_of;

std::vector<std::string> identifiers(std::string_view before,
                                     const std::vector<sql::Column>& columns) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < columns.size(); ++i)
    texts.push_back(std::string(before) + identifier('c', i, columns[i].name));
  return texts;
}

std::string maybe(const sql::Type& type) { return "Maybe<" + std::string(cpp_type(type)) + ">"; }

// The parts of one source, in its order.
class Writer {
 public:
  Writer(const sql::Plan& plan, const RunShape& shape)
      : plan_(plan), shape_(shape), table_(plan.source()) {}

  Result<QuerySource> write() {
    HF_RETURN_IF_ERROR(sort_nodes());
    HF_ASSIGN_OR_RETURN(auto layout, layout_of(table_));
    source_.layouts = {std::move(layout)};
    source_.shape = shape_;
    HF_ASSIGN_OR_RETURN(source_.result, layout_of_result(plan_));
    head();
    line("namespace {\n\nusing namespace holdfast::query;\n");
    row();
    line("struct TheQuery {");
    line("  using Row = ::Row;");
    if (group_ != nullptr) {
      HF_RETURN_IF_ERROR(group());
    } else {
      rows();
    }
    watermark();
    one_by_one_ = !source_.parts.interpreted.empty() || !source_.parts.calls.empty() ||
                  source_.parts.makes_texts;
    if (group_ != nullptr) emit();
    constants();
    line("};\n\n}  // namespace\n");
    line("extern \"C\" [[gnu::visibility(\"default\")]] Query* HOLDFAST_QUERY_ENTRY(Host& host) {");
    text_ += user_aggregates_of(source_.parts);
    line(std::string("  return new ") + (group_ != nullptr ? "Groups" : "Rows") +
         "<TheQuery>(host);\n}");
    source_.text = with_short_lines(text_);
    return std::move(source_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  Status sort_nodes() {
    for (std::size_t i = 1; i < plan_.nodes.size(); ++i) {
      const auto& what = plan_.nodes[i].what;
      if (const auto* filter = std::get_if<sql::Filter>(&what)) {
        (group_ == nullptr ? where_ : having_).push_back(filter->predicate.get());
      } else if (const auto* group = std::get_if<sql::Group>(&what)) {
        group_ = group;
        group_columns_ = &plan_.nodes[i].columns;
      } else if (const auto* project = std::get_if<sql::Project>(&what)) {
        project_ = project;
      } else {
        return not_compiled("a window without a GROUP BY of its windows");
      }
    }
    return project_ == nullptr ? Status(not_compiled("a query without a projection")) : Status();
  }

  void head() {
    text_ = "// Written by `holdfast stream` for this plan:\n//\n";
    text_ += comment(sql::text_of(plan_));
    line(std::string("#include <holdfast/stream/compile/runtime/") +
         (group_ != nullptr ? "groups.hpp>\n" : "rows.hpp>\n"));
  }

  // What the connector reads comes first: computed columns are made of it.
  void row() {
    const auto columns = identifiers("", table_.columns);
    ExpressionSource expressions(columns, names_of(table_.columns), source_.parts);
    line("// A row of " + identifier('t', 0, table_.name) + ", of a record of " +
         std::to_string(source_.layouts[0].bytes) + " bytes.");
    line("struct Row {");
    std::vector<std::string> made;
    const auto read = sql::read_columns(plan_).front();
    for (const bool computed : {false, true}) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if ((table_.computed[i] != nullptr) != computed) continue;
        const auto& type = table_.columns[i].type;
        line("  " + maybe(type) + " " + columns[i] + ";");
        const auto bytes = "column<" + std::string(cpp_type(type)) + ", " + std::to_string(i) +
                           ", " + std::to_string(source_.layouts[0].offsets[i]) +
                           ">(record, nulls)";
        const bool idle = is_idle_clock(table_, i, read[i]);
        const auto value = !computed ? bytes : idle ? "" : expressions.of(*table_.computed[i]);
        made.push_back(columns[i] + "(" + value + ")");
      }
    }
    line("\n  Row(const std::byte* record, std::uint64_t nulls, Run& run)");
    for (std::size_t i = 0; i < made.size(); ++i)
      line((i == 0 ? "      : " : "        ") + made[i] + (i + 1 == made.size() ? " {}" : ","));
    line("};\n");
  }

  ExpressionSource of_row() {
    return {identifiers("row.", table_.columns), names_of(table_.columns), source_.parts};
  }

  void conditions(ExpressionSource& expressions, const std::vector<const sql::Expression*>& all,
                  const std::string& otherwise) {
    for (const auto* condition : all)
      line("    if (!is_true(" + expressions.of(*condition) + ")) return" + otherwise + ";");
  }

  void output(ExpressionSource& expressions) {
    std::vector<std::string> types, values = {"run", "Change::kInsert"};
    for (const auto& column : plan_.columns())
      types.emplace_back(cpp_type(column.type));
    for (const auto& expression : project_->expressions)
      values.push_back(expressions.of(*expression));
    line("    " + call("write<" + joined(types) + ">", values) + ";");
  }

  void rows() {
    auto expressions = of_row();
    line("\n  static void take(const Row& row, Run& run) {");
    auto all = where_;
    for (const auto& expression : project_->expressions)
      all.push_back(expression.get());
    for (const auto& shared : expressions.share(all))
      line("    " + shared);
    conditions(expressions, where_, "");
    output(expressions);
    line("  }");
  }

  Status group() {
    HF_ASSIGN_OR_RETURN(const auto state, state_type(group_->aggregates, false, source_.parts));
    line("  using Key = " + key_type(group_->keys) + ";");
    line("  using State = " + state + ";");
    take_row();
    return {};
  }

  void take_row() {
    auto expressions = of_row();
    line("\n  static bool passes(const Row& row, Run& run) {");
    conditions(expressions, where_, " false");
    line("    return true;\n  }");
    if (group_->windowed) {
      line("  static Maybe<std::int64_t> time(const Row& row) {");
      line("    return " + identifiers("row.", table_.columns)[group_->window.time_column] +
           ";\n  }");
    }
    line("  static Key key(const Row& row, Run& run) {");
    std::vector<std::string> keys;
    for (const auto& key : group_->keys)
      keys.push_back(expressions.of(*key));
    line("    return " + call("Key", keys) + ";\n  }");
    line(
        "  static void gather(State& state, const Row& row, Run& "
        "run) {");
    for (const auto& statement : gathering(group_->aggregates, "add", expressions))
      line("    " + statement);
    line("  }");
  }

  void emit() {
    const auto columns = identifiers("", *group_columns_);
    line(
        "\n  static void emit(const Key& key, const State& state, std::int64_t "
        "end, Run& run) {");
    std::size_t column = 0;
    for (std::size_t i = 0; i < group_->keys.size(); ++i)
      line("    const auto " + columns[column++] + " = key.get<" + std::to_string(i) + ">();");
    for (std::size_t i = 0; i < group_->aggregates.size(); ++i)
      line("    const auto " + columns[column++] + " = state.get<" + std::to_string(i) +
           ">().result(run);");
    if (group_->windowed) {
      for (const auto* bound : {"end - kSizeMs", "end", "end - 1"})
        line("    const auto " + columns[column++] + " = some(" + bound + ");");
    }
    ExpressionSource expressions(columns, names_of(*group_columns_), source_.parts);
    conditions(expressions, having_, "");
    output(expressions);
    line("  }");
  }

  void watermark() {
    if (!table_.has_watermark) return;
    auto expressions = of_row();
    line("\n  static Maybe<std::int64_t> watermark(const Row& row, Run& run) {");
    line("    return " + expressions.of(*table_.watermark) + ";\n  }");
  }

  bool gather_fails() const {
    const auto can_fail = [](const auto& expression) {
      return expression != nullptr && ExpressionSource::can_fail(*expression);
    };
    return std::any_of(group_->aggregates.begin(), group_->aggregates.end(),
                       [&](const auto& aggregate) {
                         return aggregate.user != nullptr || can_fail(aggregate.argument) ||
                                can_fail(aggregate.filter);
                       });
  }

  // Two rows of one time have one watermark.
  bool time_decides() const {
    return table_.has_watermark && group_->windowed &&
           sql::columns_of(*table_.watermark) == std::vector{group_->window.time_column};
  }

  void constants() {
    const auto boolean = [&](const char* name, bool value) {
      line(std::string("  static constexpr bool ") + name + (value ? " = true;" : " = false;"));
    };
    const auto number = [&](const char* name, std::int64_t value) {
      line(std::string("  static constexpr std::int64_t ") + name + " = " + std::to_string(value) +
           ";");
    };
    line("");
    number("kRecordBytes", source_.layouts[0].bytes);
    boolean("kHasWatermark", table_.has_watermark);
    boolean("kMakesTexts", source_.parts.makes_texts);
    if (group_ == nullptr) return;
    boolean("kOneByOne", one_by_one_);
    boolean("kFilters", !where_.empty());
    boolean("kGatherFails", gather_fails());
    boolean("kTimeDecides", time_decides());
    boolean("kStored", shape_.stored);
    boolean("kWindowed", group_->windowed);
    number("kSizeMs", group_->window.size_ms);
    number("kSlideMs", group_->window.slide_ms);
    number("kOffsetMs", group_->window.offset_ms);
  }

  const sql::Plan& plan_;
  const RunShape shape_;
  const sql::Table& table_;
  std::vector<const sql::Expression*> where_, having_;
  bool one_by_one_ = false;
  const sql::Group* group_ = nullptr;
  const std::vector<sql::Column>* group_columns_ = nullptr;
  const sql::Project* project_ = nullptr;
  std::string text_;
  QuerySource source_;
};

}  // namespace

Result<QuerySource> query_source(const sql::Plan& plan, const RunShape& shape) {
  // Groups of a chain that change are a graph's, but for those that are shown at the end.
  if (InterpretedOperators::can_run(plan, !plan.updating)) return Writer(plan, shape).write();
  return graph_code(plan, shape);
}

}  // namespace holdfast::stream::compile
