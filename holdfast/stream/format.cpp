#include "format.hpp"

#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::stream {
namespace {

constexpr std::string_view kWanted = "'csv', 'json', 'raw' or 'binary'";

}  // namespace

FormatScope all_physical(const sql::Table& table) {
  FormatScope scope;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.computed[i] == nullptr) scope.columns.push_back(i);
  }
  return scope;
}

FormatScope all_of(const std::vector<sql::Column>& columns) {
  FormatScope scope;
  for (std::size_t i = 0; i < columns.size(); ++i)
    scope.columns.push_back(i);
  return scope;
}

std::unique_ptr<RowWriter> plain_writer(bool csv, const std::vector<sql::Column>& columns) {
  // A table without options has no wrong ones.
  const sql::Table none;
  TableOptions options(none);
  const auto write = csv ? write_csv_format : write_json_format;
  return *write(columns, all_of(columns), options);
}

std::string no_value_of(std::string_view text, const sql::Column& column) {
  return "'" + escape(text, 60) + "' is no " + sql::name_of(column.type) + " for column " +
         escape(column.name);
}

Status check_flat(const ColumnList& columns, const FormatScope& scope,
                  const TableOptions& options) {
  for (const auto i : scope.columns) {
    if (columns[i].type.is_nested())
      return options.wrong(scope.prefix + "format", "'json', since column " +
                                                        escape(columns[i].name) + " is " +
                                                        sql::name_of(columns[i].type));
  }
  return {};
}

Result<ReadFormat> read_format_of(const sql::Table& table, const FormatScope& scope,
                                  TableOptions& options) {
  const auto key = scope.prefix + "format";
  const auto name = options.text(key);
  if (name && *name == "csv") {
    HF_RETURN_IF_ERROR(check_flat(table.columns, scope, options));
    return read_csv_format(table, scope, options);
  }
  if (name && *name == "json") return read_json_format(table, scope, options);
  if (name && *name == "raw") return read_raw_format(table, scope, options);
  if (name && *name == "binary") return read_binary_format(table, scope, options);
  return options.wrong(key, kWanted);
}

Result<WriteFormat> write_format_of(const std::vector<sql::Column>& columns,
                                    const FormatScope& scope, TableOptions& options) {
  const auto key = scope.prefix + "format";
  const auto name = options.text(key);
  WriteFormat format;
  if (name && *name == "csv") {
    HF_RETURN_IF_ERROR(check_flat(columns, scope, options));
    HF_ASSIGN_OR_RETURN(format.writer, write_csv_format(columns, scope, options));
  } else if (name && *name == "json") {
    HF_ASSIGN_OR_RETURN(format.writer, write_json_format(columns, scope, options));
  } else if (name && *name == "raw") {
    HF_ASSIGN_OR_RETURN(format.writer, write_raw_format(columns, scope, options));
  } else if (name && *name == "binary") {
    HF_ASSIGN_OR_RETURN(format.writer, write_binary_format(columns, scope, options));
  } else {
    return options.wrong(key, kWanted);
  }
  format.suffix = *name;
  return format;
}

}  // namespace holdfast::stream
