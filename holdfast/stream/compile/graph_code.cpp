#include "graph_code.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <holdfast/sql/column_pruning.hpp>
#include <holdfast/stream/compile/aggregate_source.hpp>
#include <holdfast/stream/compile/layouts.hpp>
#include <holdfast/stream/compile/node_source.hpp>
#include <holdfast/stream/compile/source_text.hpp>

namespace holdfast::stream::compile {
namespace {

std::string text(std::size_t number) { return std::to_string(number); }

class GraphWriter {
 public:
  GraphWriter(const sql::Plan& plan, const RunShape& shape)
      : plan_(plan), shape_(shape), read_(sql::read_columns(plan)), readers_(plan.nodes.size()) {
    for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
      const auto& inputs = plan.nodes[node].inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        readers_[inputs[i]].push_back({node, i});
    }
  }

  Result<QuerySource> write() {
    source_.graph = true;
    source_.shape = shape_;
    HF_ASSIGN_OR_RETURN(source_.result, layout_of_result(plan_));
    HF_RETURN_IF_ERROR(find_tables());
    std::string definitions;
    for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
      HF_ASSIGN_OR_RETURN(auto made, node_source(plan_, node, shape_, source_.parts));
      definitions += made.definition;
      nodes_.push_back(std::move(made));
    }
    find_waiting();
    for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
      take_rows(node);
      give_rows(node);
      follow(node);
    }
    for (std::size_t table = 0; table < tables_.size(); ++table)
      read_table(table);
    const auto steps = std::exchange(text_, {});
    text_ = "// Written by `holdfast stream` for this plan:\n//\n" + comment(sql::text_of(plan_)) +
            "#include <holdfast/stream/compile/runtime/graph.hpp>\n\nnamespace {\n\n"
            "using namespace holdfast::query;\n\n" +
            row_types() + definitions + "class TheGraph final : public GraphOf<TheGraph> {\n" +
            " public:\n";
    constants();
    line("  explicit TheGraph(Host& host) : GraphOf(host) {}\n");
    text_ += steps;
    inputs();
    watermarks();
    clocks();
    state();
    counters();
    members();
    line("};\n\n}  // namespace\n");
    line("extern \"C\" [[gnu::visibility(\"default\")]] Graph* HOLDFAST_GRAPH_ENTRY(Host& host) {");
    text_ += user_aggregates_of(source_.parts);
    line("  return new TheGraph(host);\n}");
    source_.text = with_short_lines(text_);
    return std::move(source_);
  }

 private:
  struct Reader {
    std::size_t node, input;
  };

  void line(const std::string& text) { text_ += text + "\n"; }
  const sql::Node& node(std::size_t number) const { return plan_.nodes[number]; }

  Status find_tables() {
    for (std::size_t number = 0; number < plan_.nodes.size(); ++number) {
      const auto* scan = std::get_if<sql::Scan>(&node(number).what);
      if (scan == nullptr) continue;
      HF_ASSIGN_OR_RETURN(auto layout, layout_of(*scan->table));
      tables_.push_back(number);
      source_.layouts.push_back(std::move(layout));
    }
    return {};
  }

  // The nodes that do something when time goes on, and those before them.
  void find_waiting() {
    waits_.resize(plan_.nodes.size());
    for (std::size_t number = plan_.nodes.size(); number-- > 0;) {
      waits_[number] = nodes_[number].passes || nodes_[number].follows_clock;
      for (const auto& reader : readers_[number])
        waits_[number] = waits_[number] || waits_[reader.node];
    }
  }

  std::string row_types() const {
    std::string all;
    for (std::size_t number = 0; number < plan_.nodes.size(); ++number) {
      std::vector<std::string> types;
      std::string names;
      for (const auto& column : node(number).columns) {
        types.emplace_back(cpp_type(column.type));
        names += (names.empty() ? "" : ", ") + column.name;
      }
      all += comment(names) + "using Row" + text(number) + " = RowOf<" + joined(types) + ">;\n";
    }
    return all + "\n";
  }

  void constants() {
    std::string marks, bytes;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const auto& table = *std::get<sql::Scan>(node(tables_[i]).what).table;
      marks += std::string(i == 0 ? "" : ", ") + (table.has_watermark ? "true" : "false");
      bytes += std::string(i == 0 ? "" : ", ") + text(source_.layouts[i].bytes);
    }
    line("  static constexpr std::size_t kInputs = " + text(tables_.size()) + ";");
    line("  static constexpr bool kHasWatermark[] = {" + marks + "};");
    line("  static constexpr std::size_t kRecordBytes[] = {" + bytes + "};");
    line(std::string("  static constexpr bool kMakesTexts = ") +
         (source_.parts.makes_texts ? "true;" : "false;"));
  }

  // ---- Rows ----

  // What a connector reads comes first: computed columns are made of it.
  void read_table(std::size_t number) {
    const auto at = tables_[number];
    const auto& table = *std::get<sql::Scan>(node(at).what).table;
    const auto& layout = source_.layouts[number];
    std::vector<std::string> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      columns.push_back(identifier('c', i, table.columns[i].name));
    ExpressionSource expressions(columns, sql::names_of(table.columns), source_.parts);
    line("  void table" + text(number) +
         "(const std::byte* record, Maybe<std::int64_t>& watermark) {");
    line("    [[maybe_unused]] Run& run = run_;\n    const auto nulls = nulls_of(record);");
    for (const bool computed : {false, true}) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if ((table.computed[i] != nullptr) != computed) continue;
        const std::string type(cpp_type(table.columns[i].type));
        const bool idle = is_idle_clock(table, i, read_[at][i]);
        line("    const Maybe<" + type + "> " + columns[i] + " = " +
             (idle       ? "{}"
              : computed ? expressions.of(*table.computed[i])
                         : "column<" + type + ", " + text(i) + ", " + text(layout.offsets[i]) +
                               ">(record, nulls)") +
             ";");
      }
    }
    line("    from" + text(at) + "(Change::kInsert, Row" + text(at) + "(" + joined(columns) +
         "));");
    if (table.has_watermark)
      line("    if (!run.failed) watermark = " + expressions.of(*table.watermark) + ";");
    line("  }");
  }

  // What comes in at each of its inputs.
  void take_rows(std::size_t number) {
    for (std::size_t input = 0; input < node(number).inputs.size(); ++input) {
      const auto row = "const Row" + text(node(number).inputs[input]) + "& row";
      line("  void to" + text(number) + "_" + text(input) + "(Change change, " + row + ") {");
      line("    [[maybe_unused]] Run& run = run_;");
      for (const auto& statement : nodes_[number].take[input])
        line("    " + statement);
      line("  }");
    }
  }
  // Others give a row for each that they take.
  bool counts_rows(std::size_t number) const {
    const auto& what = node(number).what;
    return !std::holds_alternative<sql::Scan>(what) &&
           !std::holds_alternative<sql::Project>(what) &&
           !std::holds_alternative<sql::Union>(what) &&
           !std::holds_alternative<sql::WallClock>(what);
  }
  bool has_texts(std::size_t number) const {
    const auto& columns = node(number).columns;
    return std::any_of(columns.begin(), columns.end(),
                       [](const sql::Column& column) { return column.type.is_bytes(); });
  }
  // What goes out.
  void give_rows(std::size_t number) {
    line("  void from" + text(number) + "(Change change, const Row" + text(number) + "& row) {");
    if (counts_rows(number)) line("    ++rows" + text(number) + "_;");
    bool first = true;
    for (const auto& reader : readers_[number]) {
      line(std::string("    ") + (first ? "" : "if (!run_.failed) ") + "to" + text(reader.node) +
           "_" + text(reader.input) + "(change, row);");
      first = false;
    }
    if (number + 1 == plan_.nodes.size()) {
      std::vector<std::string> values = {"run_", "change"};
      for (std::size_t i = 0; i < node(number).columns.size(); ++i)
        values.push_back("row.get<" + text(i) + ">()");
      line("    " + call("write", values) + ";");
    }
    // What was written has its texts in the state until it is flushed.
    if (nodes_[number].texts_move && has_texts(number) && has_texts(plan_.nodes.size() - 1))
      line("    run_.flush();");
    line("  }");
  }

  // ---- Time ----

  bool has_marks(std::size_t number) const {
    return waits_[number] && (nodes_[number].passes || node(number).inputs.size() > 1);
  }
  // The watermark behind a node.
  std::string forwarded(std::size_t number) const {
    const auto now = "marks" + text(number) + "_.now()";
    const auto by = nodes_[number].held_back_ms;
    return by == 0 ? now : "held_back(" + now + ", " + std::to_string(by) + ")";
  }
  std::string on_wall(std::size_t number, const std::string& watermark) const {
    return nodes_[number].walls ? "settled_wall_of(run_, " + watermark + ")" : watermark;
  }
  void follow(std::size_t number) {
    if (!waits_[number]) return;
    const auto self = text(number);
    if (!node(number).inputs.empty()) {
      line("  void mark" + self + "([[maybe_unused]] std::size_t input, std::int64_t watermark) {");
      if (nodes_[number].follows_clock) {
        line("    node" + self + "_.follow(*this, watermark);\n  }");
      } else if (has_marks(number)) {
        line("    if (!marks" + self + "_.move(input, watermark)) return;");
        if (nodes_[number].passes) {
          line("    node" + self + "_.pass(*this, marks" + self + "_.now(), marks" + self +
               "_.next());");
          line("    if (run_.failed) return;");
        }
        line("    marks" + self + "_.settle();");
        line("    pass" + self + "(" + forwarded(number) + ");\n  }");
      } else {
        line("    pass" + self + "(" + on_wall(number, "watermark") + ");\n  }");
      }
    }
    line("  void pass" + self + "([[maybe_unused]] std::int64_t watermark) {");
    for (const auto& reader : readers_[number]) {
      if (waits_[reader.node])
        line("    if (!run_.failed) mark" + text(reader.node) + "(" + text(reader.input) +
             ", watermark);");
    }
    line("  }");
  }

  void inputs() {
    line(
        "\n  void take_row(std::size_t input, const std::byte* record, "
        "Maybe<std::int64_t>& watermark) {");
    for (std::size_t i = 0; i < tables_.size(); ++i)
      line("    if (input == " + text(i) + ") return table" + text(i) + "(record, watermark);");
    line("  }");
    line(
        "  void follow([[maybe_unused]] std::size_t input, "
        "[[maybe_unused]] std::int64_t watermark) {");
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (waits_[tables_[i]])
        line("    if (input == " + text(i) + ") return pass" + text(tables_[i]) + "(watermark);");
    }
    line("  }");
  }

  void watermarks() {
    line("  void set_watermarks(const GraphInput* inputs) {");
    std::size_t table = 0;
    for (std::size_t number = 0; number < plan_.nodes.size(); ++number) {
      const auto& sources = node(number).inputs;
      const auto self = text(number);
      if (sources.empty()) {
        line("    [[maybe_unused]] const auto w" + self + " = inputs[" + text(table++) +
             "].watermark;");
      } else if (nodes_[number].follows_clock) {
        line("    [[maybe_unused]] const auto w" + self + " = node" + self + "_.mark();");
      } else if (has_marks(number)) {
        std::vector<std::string> all;
        for (const auto input : sources)
          all.push_back("w" + text(input));
        line("    marks" + self + "_.set({" + joined(all) + "});");
        line("    [[maybe_unused]] const auto w" + self + " = " + forwarded(number) + ";");
      } else {
        line("    [[maybe_unused]] const auto w" + self + " = " +
             on_wall(number, "w" + text(sources[0])) + ";");
      }
      if (nodes_[number].passes)
        line("    node" + self + "_.set_watermark(marks" + self + "_.now());");
    }
    line("  }");
  }

  // ---- The clock ----

  void clocks() {
    line("  void tick_clocks() {");
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      if (nodes_[number].ticks)
        line("    if (!run_.failed) node" + text(number) + "_.tick(*this);");
    }
    line("  }");
    line("  void adopt_clock(std::size_t node, [[maybe_unused]] std::int64_t mark) override {");
    line("    switch (node) {");
    for_each_clock([&](const std::string& self) {
      line("      case " + self + ": return node" + self + "_.set_mark(mark);");
    });
    line("      default: return;\n    }\n  }");
    line("  bool clock_watermark(std::size_t node, std::int64_t& mark) const override {");
    line("    switch (node) {");
    for_each_clock([&](const std::string& self) {
      line("      case " + self + ": return mark = node" + self + "_.mark(), true;");
    });
    line("      default: return static_cast<void>(mark), false;\n    }\n  }");
  }
  template <class Visit>
  void for_each_clock(const Visit& visit) const {
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      if (nodes_[number].follows_clock) visit(text(number));
    }
  }

  // ---- State ----

  void state() {
    line("  bool adopt_entry(const GraphEntry& entry) override {");
    line("    switch (node_of_slice(entry.slice)) {");
    for_each_member([&](const std::string& self, const NodeSource&) {
      line("      case " + self + ": return node" + self + "_.adopt(entry);");
    });
    line("      default: return false;\n    }\n  }");
    line("  void adopt_stored(std::int64_t slice) override {");
    line("    switch (node_of_slice(slice)) {");
    for_each_member([&](const std::string& self, const NodeSource& node) {
      if (shape_.stored && (node.slices || node.fetches))
        line("      case " + self + ": return node" + self + "_.adopt_stored(slice - first_slice(" +
             self + "));");
    });
    line("      default: return;\n    }\n  }");
    line("  bool put_state() override {");
    for_each_member([&](const std::string& self, const NodeSource&) {
      if (shape_.stored) line("    if (!node" + self + "_.put_state()) return false;");
    });
    line("    return true;\n  }");
  }

  void counters() {
    for (const auto* name : {"late_rows", "rows_without_time"}) {
      line(std::string("  std::uint64_t ") + name + "(std::size_t node) const override {");
      line("    switch (node) {");
      for (std::size_t number = 0; number < nodes_.size(); ++number) {
        const auto self = text(number);
        if (has_state(nodes_[number]))
          line("      case " + self + ": return node" + self + "_." + name + ";");
        else if (nodes_[number].counts_times && std::string(name) == "rows_without_time")
          line("      case " + self + ": return without_time" + self + "_;");
      }
      line("      default: return 0;\n    }\n  }");
    }
    line("  bool rows_out(std::size_t node, std::uint64_t& rows) const override {");
    line("    switch (node) {");
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      const auto self = text(number);
      if (counts_rows(number))
        line("      case " + self + ": return rows = rows" + self + "_, true;");
    }
    line("      default: return false;\n    }\n  }");
  }

  static bool has_state(const NodeSource& node) {
    return !node.member.empty() && !node.follows_clock;
  }
  template <class Visit>
  void for_each_member(const Visit& visit) const {
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      if (has_state(nodes_[number])) visit(text(number), nodes_[number]);
    }
  }
  void members() {
    line("\n private:");
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      const auto self = text(number);
      if (!nodes_[number].member.empty())
        line("  " + nodes_[number].member + " node" + self + "_{run_};");
      if (has_marks(number))
        line("  Marks<" + text(node(number).inputs.size()) + "> marks" + self + "_;");
      if (counts_rows(number)) line("  std::uint64_t rows" + self + "_ = 0;");
      if (nodes_[number].counts_times) line("  std::uint64_t without_time" + self + "_ = 0;");
    }
  }

  const sql::Plan& plan_;
  const RunShape shape_;
  const std::vector<std::vector<bool>> read_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<std::size_t> tables_;  // Their nodes.
  std::vector<NodeSource> nodes_;
  std::vector<bool> waits_;
  std::string text_;
  QuerySource source_;
};

}  // namespace

Result<QuerySource> graph_code(const sql::Plan& plan, const RunShape& shape) {
  return GraphWriter(plan, shape).write();
}

}  // namespace holdfast::stream::compile
