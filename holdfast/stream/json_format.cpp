// 'format' = 'json': a record is an object, its members the columns.
#include <utility>

#include <nlohmann/json.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/json_value.hpp>

namespace holdfast::stream {
namespace {

using sql::append_json_text;
using NodeKind = sql::JsonNode::Kind;

struct JsonOptions {
  bool iso_times = false;
  bool fail_on_missing = false;
  bool leave_out_nulls = false;
};

// Takes the tokens of one object, as nlohmann::json::sax_parse gives them. Members that are objects
// or arrays become the text of a STRING column, or the value of an ARRAY, ROW or MAP.
class ObjectTaker {
 public:
  ObjectTaker(const sql::Table& table, const FormatScope& scope, const JsonOptions& options)
      : table_(table), scope_(scope), options_(options), seen_(scope.columns.size()) {}

  void begin(sql::Row& row) {
    row_ = &row;
    wrong_.clear();
    builder_.clear();
    depth_ = 0;
    parts_ = 0;
    column_ = kNone;
    next_ = 0;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      seen_[i] = false;
      row[scope_.columns[i]].null = true;
    }
  }
  // What was malformed; empty: nothing.
  std::string end() {
    for (std::size_t i = 0; options_.fail_on_missing && i < seen_.size(); ++i) {
      if (!seen_[i] && wrong_.empty())
        wrong_ = "it has no member " + escape(table_.columns[scope_.columns[i]].name);
    }
    return wrong_;
  }
  const std::string& why() const { return wrong_; }

  bool null() {
    if (nested()) return part(NodeKind::kNull);
    if (depth_ == 0) return not_an_object();
    if (column_ != kNone) (*row_)[column_].null = true;
    return true;
  }
  bool boolean(bool value) {
    if (nested()) return part(value ? NodeKind::kTrue : NodeKind::kFalse);
    if (depth_ == 0) return not_an_object();
    if (column_ == kNone) return true;
    const auto kind = type().kind;
    if (kind == sql::Kind::kBoolean) return set(sql::Value::of(value ? 1 : 0));
    return set_text(value ? "true" : "false", kind == sql::Kind::kString);
  }
  bool number_integer(std::int64_t value) { return integer(value, std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) {
    return integer(static_cast<sql::Int128>(value), std::to_string(value));
  }
  bool number_float(double value, const std::string& text) {
    if (nested()) return part(NodeKind::kNumber, text);
    if (depth_ == 0) return not_an_object();
    if (column_ == kNone) return true;
    if (type().kind == sql::Kind::kDouble) return set(sql::Value::of_real(value));
    return set_text(text, !type().is_time() && type().kind != sql::Kind::kBoolean);
  }
  bool string(std::string& value) {
    if (nested()) return part(NodeKind::kText, std::move(value));
    if (depth_ == 0) return not_an_object();
    if (column_ == kNone) return true;
    if (type().kind == sql::Kind::kString && type().precision == 0)
      return set(sql::Value::of_text(std::move(value)));
    return set_text(value, true);
  }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return start(NodeKind::kObject); }
  bool end_object() { return finish(); }
  bool start_array(std::size_t) { return depth_ == 0 ? not_an_object() : start(NodeKind::kArray); }
  bool end_array() { return finish(); }
  bool key(std::string& name) {
    if (nested()) {
      if (column_ != kNone) builder_.key(std::move(name));
      return true;
    }
    column_ = kNone;
    // Most records have the table's order.
    for (std::size_t tried = 0; tried < seen_.size(); ++tried) {
      const std::size_t i = next_;
      next_ = next_ + 1 == seen_.size() ? 0 : next_ + 1;
      if (table_.columns[scope_.columns[i]].name != name) continue;
      column_ = scope_.columns[i];
      seen_[i] = true;
      break;
    }
    return true;
  }
  template <class Exception>
  bool parse_error(std::size_t at, const std::string&, const Exception&) {
    wrong_ = "it is no JSON, at byte " + std::to_string(at);
    return false;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr std::size_t kMostParts = 1'000'000;  // Of a record, in columns that are read.

  bool nested() const { return depth_ > 1; }
  const sql::Type& type() const { return table_.columns[column_].type; }
  bool not_an_object() { return wrong_ = "it is no JSON object", false; }
  // Of what is within a member. It is only gone through if no column wants it.
  bool part(NodeKind kind, std::string text = {}) {
    if (column_ == kNone) return true;
    if (!has_room()) return false;
    builder_.add(kind, std::move(text));
    return true;
  }
  // Each part of a tree takes a hundred bytes.
  bool has_room() {
    if (++parts_ <= kMostParts) return true;
    wrong_ = "its arrays and objects have more than " + std::to_string(kMostParts) + " values";
    return false;
  }
  bool start(NodeKind kind) {
    if (depth_++ == 0 || column_ == kNone) return true;
    if (!has_room()) return false;
    if (builder_.open(kind)) return true;
    wrong_ = "it is nested deeper than " + std::to_string(sql::kMaxJsonDepth) + " levels";
    return false;
  }
  bool finish() {
    if (--depth_ == 0 || column_ == kNone) return true;
    builder_.close();
    return depth_ > 1 || set_nested(builder_.take());
  }
  bool integer(sql::Int128 value, const std::string& text) {
    if (nested()) return part(NodeKind::kNumber, text);
    if (depth_ == 0) return not_an_object();
    if (column_ == kNone) return true;
    if (type().is_integer() && sql::in_range(value, type().kind)) return set(sql::Value::of(value));
    if (type().kind == sql::Kind::kDouble)
      return set(sql::Value::of_real(static_cast<double>(value)));
    return set_text(text, !type().is_time() && type().kind != sql::Kind::kBoolean);
  }
  bool set(sql::Value value) { return (*row_)[column_] = std::move(value), true; }
  bool set_nested(const sql::JsonNode& json) {
    const NestedJson options{options_.iso_times, options_.fail_on_missing};
    if (auto value = nested_value_of(json, type(), options)) return set(*std::move(value));
    std::string text;
    sql::append_json(json, text);
    return set_text(std::move(text), false);
  }
  bool set_text(std::string text, bool possible) {
    std::optional<sql::Value> value;
    std::string shown = text;
    if (possible) value = value_of_text(text, type(), options_.iso_times);
    if (value) return set(*std::move(value));
    (*row_)[column_].null = true;
    if (wrong_.empty()) wrong_ = no_value_of(shown, table_.columns[column_]);
    return true;
  }

  const sql::Table& table_;
  const FormatScope& scope_;
  JsonOptions options_;
  std::vector<bool> seen_;  // By column of the scope.
  sql::Row* row_ = nullptr;
  std::string wrong_;
  sql::JsonBuilder builder_;  // Of the member that is an array or an object.
  std::size_t depth_ = 0, parts_ = 0, column_ = kNone, next_ = 0;
};

class JsonRowReader final : public RowReader {
 public:
  JsonRowReader(const sql::Table& table, FormatScope scope, JsonOptions options)
      : scope_(std::move(scope)), taker_(table, scope_, options) {}

  bool read(std::string_view record, sql::Row& row, std::string& wrong) override {
    taker_.begin(row);
    // The parser takes a zero byte for the end, whatever stands behind it.
    if (record.find('\0') != std::string_view::npos) return wrong = "it has a zero byte", false;
    const bool whole = nlohmann::json::sax_parse(record.begin(), record.end(), &taker_);
    wrong = whole ? taker_.end() : taker_.why();
    return whole;
  }

 private:
  const FormatScope scope_;
  ObjectTaker taker_;
};

class JsonRowWriter final : public RowWriter {
 public:
  JsonRowWriter(const ColumnList& columns, const FormatScope& scope, JsonOptions options)
      : columns_(columns), scope_(scope), options_(options) {
    for (const auto i : scope.columns) {
      heads_.emplace_back();
      append_json_text(columns[i].name, heads_.back());
      heads_.back() += ':';
    }
  }

  Status append(const sql::Row& row, std::string& bytes) override {
    bytes += '{';
    bool first = true;
    for (std::size_t n = 0; n < heads_.size(); ++n) {
      const auto i = scope_.columns[n];
      if (row[i].null && options_.leave_out_nulls) continue;
      if (!std::exchange(first, false)) bytes += ',';
      bytes += heads_[n];
      append_json_value(row[i], columns_[i].type, options_.iso_times, bytes);
    }
    bytes += '}';
    return {};
  }

 private:
  const ColumnList& columns_;
  const FormatScope scope_;
  JsonOptions options_;
  std::vector<std::string> heads_;  // "name":
};

Result<JsonOptions> json_options(const std::string& prefix, TableOptions& options) {
  JsonOptions json;
  const auto key = prefix + "json.timestamp-format.standard";
  const auto standard = options.text(key).value_or("SQL");
  if (standard != "SQL" && standard != "ISO-8601") return options.wrong(key, "'SQL' or 'ISO-8601'");
  json.iso_times = standard == "ISO-8601";
  return json;
}

}  // namespace

Result<ReadFormat> read_json_format(const sql::Table& table, const FormatScope& scope,
                                    TableOptions& options) {
  HF_ASSIGN_OR_RETURN(auto json, json_options(scope.prefix, options));
  const auto missing = scope.prefix + "json.fail-on-missing-field";
  HF_ASSIGN_OR_RETURN(json.fail_on_missing, options.flag(missing, false));
  ReadFormat format;
  HF_ASSIGN_OR_RETURN(format.ignore_errors,
                      options.flag(scope.prefix + "json.ignore-parse-errors", false));
  if (json.fail_on_missing && format.ignore_errors)
    return options.wrong(missing, "'false' beside 'json.ignore-parse-errors' = 'true'");
  for (const auto* of_writing :
       {"json.encode.ignore-null-fields", "json.encode.decimal-as-plain-number"})
    options.text(scope.prefix + of_writing);
  format.reader = std::make_unique<JsonRowReader>(table, scope, json);
  return format;
}

Result<std::unique_ptr<RowWriter>> write_json_format(const ColumnList& columns,
                                                     const FormatScope& scope,
                                                     TableOptions& options) {
  HF_ASSIGN_OR_RETURN(auto json, json_options(scope.prefix, options));
  HF_ASSIGN_OR_RETURN(json.leave_out_nulls,
                      options.flag(scope.prefix + "json.encode.ignore-null-fields", false));
  for (const auto* of_reading : {"json.ignore-parse-errors", "json.fail-on-missing-field"})
    options.text(scope.prefix + of_reading);
  // Decimals are plain in any case.
  HF_RETURN_IF_ERROR(options.flag(scope.prefix + "json.encode.decimal-as-plain-number", false));
  return std::unique_ptr<RowWriter>(std::make_unique<JsonRowWriter>(columns, scope, json));
}

}  // namespace holdfast::stream
