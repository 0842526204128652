#include "format.hpp"

#include <map>
#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::stream {
namespace {

Result<ReadFormat> read_flat_csv(const sql::Table& table, const FormatScope& scope,
                                 TableOptions& options) {
  HF_RETURN_IF_ERROR(check_flat(table.columns, scope, options));
  return read_csv_format(table, scope, options);
}
Result<std::unique_ptr<RowWriter>> write_flat_csv(const ColumnList& columns,
                                                  const FormatScope& scope, TableOptions& options) {
  HF_RETURN_IF_ERROR(check_flat(columns, scope, options));
  return write_csv_format(columns, scope, options);
}

struct Format {
  Result<ReadFormat> (*read)(const sql::Table&, const FormatScope&, TableOptions&);
  Result<std::unique_ptr<RowWriter>> (*write)(const ColumnList&, const FormatScope&, TableOptions&);
};
using Formats = std::map<std::string, Format, std::less<>>;

const Formats& formats() {
  static const Formats all{
      {"avro", {read_avro_format, write_avro_format}},
      {"binary", {read_binary_format, write_binary_format}},
      {"csv", {read_flat_csv, write_flat_csv}},
      {"json", {read_json_format, write_json_format}},
      {"parquet", {read_parquet_format, write_parquet_format}},
      {"raw", {read_raw_format, write_raw_format}},
  };
  return all;
}

Result<const Format*> find_format(const std::string& key, TableOptions& options) {
  const auto name = options.text(key).value_or("");
  const auto& all = formats();
  if (const auto at = all.find(name); at != all.end()) return &at->second;
  std::string names;
  for (const auto& [one, format] : all) {
    const bool last = one == all.rbegin()->first;
    names += (names.empty() ? "'" : last ? " or '" : ", '") + one + "'";
  }
  return options.wrong(key, names);
}

}  // namespace

FormatScope all_physical(const sql::Table& table, Carrier carrier) {
  FormatScope scope;
  scope.carrier = carrier;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.computed[i] == nullptr) scope.columns.push_back(i);
  }
  return scope;
}

FormatScope all_of(const std::vector<sql::Column>& columns, Carrier carrier) {
  FormatScope scope;
  scope.carrier = carrier;
  for (std::size_t i = 0; i < columns.size(); ++i)
    scope.columns.push_back(i);
  return scope;
}

std::unique_ptr<RowWriter> plain_writer(bool csv, const std::vector<sql::Column>& columns) {
  // A table without options has no wrong ones.
  const sql::Table none;
  TableOptions options(none);
  const auto write = csv ? write_csv_format : write_json_format;
  return *write(columns, all_of(columns, Carrier::kStream), options);
}

std::string no_value_of(std::string_view text, const sql::Column& column) {
  return "'" + escape(text, 60) + "' is no " + sql::name_of(column.type) + " for column " +
         escape(column.name);
}

Status check_flat(const ColumnList& columns, const FormatScope& scope,
                  const TableOptions& options) {
  for (const auto i : scope.columns) {
    if (columns[i].type.is_nested())
      return options.wrong(scope.prefix + "format", "'json', 'avro' or 'parquet', since column " +
                                                        escape(columns[i].name) + " is " +
                                                        sql::name_of(columns[i].type));
  }
  return {};
}

Result<ReadFormat> read_format_of(const sql::Table& table, const FormatScope& scope,
                                  TableOptions& options) {
  HF_ASSIGN_OR_RETURN(const auto* format, find_format(scope.prefix + "format", options));
  return format->read(table, scope, options);
}

Result<WriteFormat> write_format_of(const std::vector<sql::Column>& columns,
                                    const FormatScope& scope, TableOptions& options) {
  const auto key = scope.prefix + "format";
  HF_ASSIGN_OR_RETURN(const auto* format, find_format(key, options));
  WriteFormat made;
  HF_ASSIGN_OR_RETURN(made.writer, format->write(columns, scope, options));
  made.suffix = options.text(key).value_or("");
  return made;
}

}  // namespace holdfast::stream
