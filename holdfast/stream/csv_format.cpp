// 'format' = 'csv'.
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/csv.hpp>
#include <holdfast/stream/format.hpp>

namespace holdfast::stream {
namespace {

// One character, which may be written as `\t`. `taken`: what it cannot be, too.
Result<char> sign_of(const std::string& key, char otherwise, const std::string& taken,
                     TableOptions& options) {
  const auto text = options.text(key);
  if (!text) return otherwise;
  if (*text == "\\t" && taken.find('\t') == std::string::npos) return '\t';
  if (text->size() != 1 || (taken + "\n\r").find(text->front()) != std::string::npos)
    return options.wrong(key, "one character that has no other meaning");
  return text->front();
}

Result<CsvOptions> csv_options(const std::string& prefix, TableOptions& options) {
  CsvOptions csv;
  auto& quoting = csv.quoting;
  const std::string key = prefix + "csv.";
  HF_ASSIGN_OR_RETURN(const bool none, options.flag(key + "disable-quote-character", false));
  HF_ASSIGN_OR_RETURN(quoting.quote, sign_of(key + "quote-character", '"', "", options));
  if (none && options.text(key + "quote-character"))
    return options.wrong(key + "disable-quote-character", "no 'quote-character', or 'false'");
  if (none) quoting.quote = '\0';
  const std::string quote = none ? "" : std::string{quoting.quote};
  HF_ASSIGN_OR_RETURN(quoting.delimiter, sign_of(key + "field-delimiter", ',', quote, options));
  std::string signs = quote + quoting.delimiter;
  HF_ASSIGN_OR_RETURN(quoting.escape, sign_of(key + "escape-character", '\0', signs, options));
  HF_ASSIGN_OR_RETURN(quoting.comments, options.flag(key + "allow-comments", false));
  if (const auto literal = options.text(key + "null-literal")) csv.null_literal = *literal;
  signs += "\n\r";
  // At the beginning of a file a byte order mark is no part of it.
  if (csv.null_literal.find_first_of(signs) != std::string::npos ||
      csv.null_literal.starts_with(kByteOrderMark))
    return options.wrong(
        key + "null-literal",
        "a text without quotes, line ends, the delimiter and a byte order mark at its beginning");
  return csv;
}

class CsvRowReader final : public RowReader {
 public:
  CsvRowReader(const sql::Table& table, FormatScope scope, CsvOptions csv)
      : table_(table), scope_(std::move(scope)), split_(std::move(csv)) {}

  bool read(std::string_view record, sql::Row& row, std::string& wrong) override {
    wrong = split_.split(record);
    if (!wrong.empty()) return false;
    const auto& fields = split_.fields();
    if (fields.size() != scope_.columns.size()) {
      wrong = "it has " + std::to_string(fields.size()) + " fields, the table has " +
              std::to_string(scope_.columns.size()) + " columns";
      return false;
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto& column = table_.columns[scope_.columns[i]];
      sql::Value& value = row[scope_.columns[i]];
      value.null = true;
      if (fields[i].null) continue;
      std::optional<sql::Value> read;
      if (column.type.kind != sql::Kind::kString || is_valid_utf8(fields[i].text))
        read = sql::value_of(fields[i].text, column.type);
      if (read)
        value = *std::move(read);
      else if (wrong.empty())
        wrong = no_value_of(fields[i].text, column);
    }
    return true;
  }

 private:
  const sql::Table& table_;
  FormatScope scope_;
  CsvFields split_;
};

class CsvRowWriter final : public RowWriter {
 public:
  CsvRowWriter(const ColumnList& columns, FormatScope scope, CsvOptions csv)
      : columns_(columns), scope_(std::move(scope)), fields_(std::move(csv)) {}

  Status append(const sql::Row& row, std::string& bytes) override {
    bool first = true;
    for (const auto i : scope_.columns) {
      if (!std::exchange(first, false)) bytes += fields_.options().quoting.delimiter;
      if (row[i].null) {
        bytes += fields_.options().null_literal;
        continue;
      }
      const std::size_t begin = bytes.size();
      sql::append_text(row[i], columns_[i].type, bytes);
      if (!fields_.end_field(begin, bytes))
        return Error{Errc::kInvalidOption,
                     "column " + escape(columns_[i].name) +
                         ": this text cannot be written without quotes; it is the null literal, or "
                         "has the delimiter, a line end or the like"};
    }
    return {};
  }

 private:
  const ColumnList& columns_;
  FormatScope scope_;
  CsvFieldWriter fields_;
};

}  // namespace

Result<ReadFormat> read_csv_format(const sql::Table& table, const FormatScope& scope,
                                   TableOptions& options) {
  HF_ASSIGN_OR_RETURN(auto csv, csv_options(scope.prefix, options));
  ReadFormat format;
  format.framing = Framing::kQuoted;
  format.quoting = csv.quoting;
  HF_ASSIGN_OR_RETURN(format.header, options.flag(scope.prefix + "csv.header", false));
  HF_ASSIGN_OR_RETURN(format.ignore_errors,
                      options.flag(scope.prefix + "csv.ignore-parse-errors", false));
  format.reader = std::make_unique<CsvRowReader>(table, scope, std::move(csv));
  return format;
}

Result<std::unique_ptr<RowWriter>> write_csv_format(const ColumnList& columns,
                                                    const FormatScope& scope,
                                                    TableOptions& options) {
  HF_ASSIGN_OR_RETURN(auto csv, csv_options(scope.prefix, options));
  for (const auto* of_reading : {"csv.header", "csv.ignore-parse-errors"})
    options.text(scope.prefix + of_reading);
  return std::unique_ptr<RowWriter>(std::make_unique<CsvRowWriter>(columns, scope, std::move(csv)));
}

}  // namespace holdfast::stream
