#include "olap_schema.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <holdfast/results/output.hpp>
#include <holdfast/sql/expression_parser.hpp>
#include <holdfast/sql/lexer.hpp>
#include <holdfast/yaml/tree.hpp>

namespace holdfast::tools {

using yaml::in_quotes;
using yaml::Node;
using Kind = yaml::Node::Kind;

namespace {

std::optional<sql::Type> type_of(const std::string& text) {
  auto tokens = sql::tokens_of(text);
  if (!tokens) return std::nullopt;
  sql::TokenReader reader(*std::move(tokens));
  auto type = sql::parse_type(reader);
  if (!type || !reader.at_end()) return std::nullopt;
  return *type;
}

class SchemaReader {
 public:
  explicit SchemaReader(std::string path) : path_(std::move(path)) {}

  Result<OlapSchema> run() {
    const auto text = results::read_file(path_, yaml::kBytesMax);
    if (!text) return Error{text.code(), "--schema " + text.error().detail};
    const auto root = yaml::parse(*text, path_, wrong_);
    if (wrong_.empty()) read(*root);
    if (!wrong_.empty()) return mistakes();
    HF_RETURN_IF_ERROR(out_.csv.validate());
    HF_RETURN_IF_ERROR(out_.schema.validate());
    return std::move(out_);
  }

 private:
  // A line each; the printer of an error ends the last one.
  Error mistakes() const {
    auto lines = wrong_.text();
    if (lines.ends_with('\n')) lines.pop_back();
    return {Errc::kInvalidOption, std::move(lines)};
  }

  void add(yaml::Position at, std::string what) { wrong_.add(path_, at, std::move(what)); }

  bool is_map(const Node& node, const char* what) {
    if (node.kind == Kind::kMap) return true;
    add(node.position, fmt::format("{}: a map is wanted, this is {}", what, name(node.kind)));
    return false;
  }

  // Entries with other keys are mistakes.
  void only(const Node& map, std::initializer_list<std::string_view> keys) {
    for (const auto& entry : map.entries) {
      if (std::find(keys.begin(), keys.end(), entry.key) == keys.end())
        add(entry.key_position, in_quotes(entry.key) + " is not known here" +
                                    yaml::suggestion(entry.key, {keys.begin(), keys.size()}));
    }
  }

  std::string text(const Node& map, const char* key, bool wanted) {
    const auto* entry = map.find(key);
    if (entry == nullptr) {
      if (wanted) add(map.position, fmt::format("\"{}\" is missing", key));
      return "";
    }
    if (entry->value->kind == Kind::kScalar) return entry->value->text;
    if (entry->value->kind != Kind::kNull || wanted)
      add(entry->value->position, fmt::format("{}: a text is wanted", key));
    return "";
  }

  bool truth(const Node& map, const char* key, bool otherwise) {
    const auto given = text(map, key, false);
    if (given.empty()) return otherwise;
    if (given != "true" && given != "false")
      add(map.find(key)->value->position, fmt::format("{}: true or false is wanted", key));
    return given == "true";
  }

  void read(const Node& root) {
    if (!is_map(root, "the description")) return;
    only(root, {"fact", "dimensions", "csv", "unknown_keys"});
    const auto* fact = root.find("fact");
    if (fact == nullptr) return add(root.position, "\"fact\" is missing");
    if (!is_map(*fact->value, "fact")) return;
    only(*fact->value, {"name", "file", "columns", "keys"});
    add_table(text(*fact->value, "name", true), *fact->value);
    if (const auto* dimensions = root.find("dimensions");
        dimensions != nullptr && is_map(*dimensions->value, "dimensions")) {
      for (const auto& entry : dimensions->value->entries) {
        if (is_map(*entry.value, "a dimension")) add_dimension(entry.key, *entry.value);
      }
    }
    if (const auto* keys = fact->value->find("keys");
        keys != nullptr && is_map(*keys->value, "keys"))
      add_keys(*keys->value);
    if (const auto* csv = root.find("csv"); csv != nullptr && is_map(*csv->value, "csv"))
      read_csv(*csv->value);
    const auto unknown = text(root, "unknown_keys", false);
    if (!unknown.empty() && unknown != "refuse" && unknown != "null")
      add(root.find("unknown_keys")->value->position, "unknown_keys: refuse or \"null\" is wanted");
    if (const auto* entry = root.find("unknown_keys");
        entry != nullptr && (unknown == "null" || entry->value->kind == Kind::kNull))
      out_.unknown = olap::mart::UnknownKeys::kNull;
  }

  void add_table(const std::string& name, const Node& node) {
    olap::mart::Table table;
    table.name = name;
    const auto* columns = node.find("columns");
    if (columns == nullptr) {
      add(node.position, "\"columns\" is missing: the names and types, as in {id: BIGINT}");
    } else if (is_map(*columns->value, "columns")) {
      for (const auto& entry : columns->value->entries) {
        const auto type = entry.value->kind == Kind::kScalar ? type_of(entry.value->text)
                                                             : std::optional<sql::Type>();
        if (!type)
          add(entry.value->position,
              fmt::format("{}: a type is wanted: BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, "
                          "\"DECIMAL(p, s)\", FLOAT, DOUBLE, STRING, \"VARCHAR(n)\", DATE, "
                          "TIMESTAMP(3)",
                          in_quotes(entry.key)));
        table.columns.push_back({entry.key, type.value_or(sql::kStringType), 0});
      }
    }
    const auto file = text(node, "file", false);
    out_.files.push_back(
        file.empty() ? "" : (std::filesystem::path(path_).parent_path() / file).lexically_normal());
    out_.schema.tables.push_back(std::move(table));
  }

  std::optional<std::uint32_t> column(const olap::mart::Table& table, const Node& node) {
    const auto found = node.kind == Kind::kScalar ? table.find(node.text) : std::nullopt;
    if (!found)
      add(node.position, fmt::format("{} has no column {}", in_quotes(table.name),
                                     in_quotes(node.kind == Kind::kScalar ? node.text : "")));
    return found;
  }

  void add_dimension(const std::string& name, const Node& node) {
    only(node, {"file", "key", "columns", "order"});
    add_table(name, node);
    auto& table = out_.schema.tables.back();
    const auto* key = node.find("key");
    if (key == nullptr)
      add(node.position, "\"key\" is missing: the column that the fact's keys name");
    else if (key->value->kind == Kind::kList)
      add(key->value->position,
          "key: a key of several columns is not supported; make one column of them in the files, "
          "as "
          "\"a-b\"");
    else
      table.key = column(table, *key->value).value_or(0);
    const auto* order = node.find("order");
    if (order == nullptr) return;
    if (order->value->kind != Kind::kList)
      return add(order->value->position, "order: a list of columns is wanted");
    for (const auto& item : order->value->items) {
      if (const auto found = column(table, *item)) table.order.push_back(*found);
    }
  }

  void add_keys(const Node& keys) {
    auto& fact = out_.schema.tables[0];
    for (const auto& entry : keys.entries) {
      const auto found = fact.find(entry.key);
      if (!found) {
        add(entry.key_position,
            fmt::format("{} has no column {}", in_quotes(fact.name), in_quotes(entry.key)));
        continue;
      }
      const auto table =
          entry.value->kind == Kind::kScalar ? out_.schema.find(entry.value->text) : std::nullopt;
      if (!table || *table == 0)
        add(entry.value->position,
            fmt::format("{}: the name of a dimension is wanted", in_quotes(entry.key)));
      else
        fact.columns[*found].references = *table;
    }
  }

  void read_csv(const Node& node) {
    only(node, {"delimiter", "header", "trailing_delimiter", "null_text"});
    if (const auto* entry = node.find("delimiter"); entry != nullptr) {
      const auto& delimiter = entry->value->text;
      if (delimiter == "\\t")
        out_.csv.delimiter = '\t';
      else if (delimiter.size() == 1)
        out_.csv.delimiter = delimiter[0];
      else
        add(entry->value->position, "delimiter: one character is wanted, or \\t");
    }
    out_.csv.header = truth(node, "header", true);
    out_.csv.trailing_delimiter = truth(node, "trailing_delimiter", false);
    out_.csv.null = text(node, "null_text", false);
  }

  std::string path_;
  yaml::Diagnostics wrong_;
  OlapSchema out_;
};

}  // namespace

Result<OlapSchema> read_olap_schema(const std::string& path) { return SchemaReader(path).run(); }

}  // namespace holdfast::tools
