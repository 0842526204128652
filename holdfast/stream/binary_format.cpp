// 'format' = 'raw': a record is one value, a text or a number. 'format' = 'binary': a record is the
// columns' values one behind the other, little-endian, without NULLs.
#include <bit>
#include <cstring>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/stream/format.hpp>

namespace holdfast::stream {
namespace {

// Bytes of a value; 0: it has no fixed width.
std::size_t width_of(const sql::Type& type) {
  switch (type.kind) {
    case sql::Kind::kBoolean:
    case sql::Kind::kTinyInt: return 1;
    case sql::Kind::kSmallInt: return 2;
    case sql::Kind::kInt:
    case sql::Kind::kFloat:
    case sql::Kind::kDate: return 4;
    case sql::Kind::kBigInt:
    case sql::Kind::kDouble:
    case sql::Kind::kTimestamp: return 8;
    default: return 0;
  }
}

std::uint64_t load(std::string_view bytes, bool big_endian) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bits =
        bits << 8 | static_cast<unsigned char>(big_endian ? bytes[i] : bytes[bytes.size() - 1 - i]);
  return bits;
}

// False: the bytes are none of the type.
bool decode(std::string_view bytes, const sql::Type& type, bool big_endian, sql::Value& value) {
  const auto bits = load(bytes, big_endian);
  if (type.kind == sql::Kind::kFloat) {
    value = sql::Value::of_real(
        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  } else if (type.kind == sql::Kind::kDouble) {
    value = sql::Value::of_real(std::bit_cast<double>(bits));
  } else if (type.kind == sql::Kind::kBoolean) {
    if (bits > 1) return false;
    value = sql::Value::of(static_cast<std::int64_t>(bits));
  } else {
    const auto unused = 64 - 8 * bytes.size();
    value = sql::Value::of(static_cast<std::int64_t>(bits << unused) >> unused);
    // Years 1 to 9999: a query computes with others, but no checkpoint may have them.
    const auto ms = type.kind == sql::Kind::kDate ? value.number * sql::kDayMs : value.number;
    if (type.is_time() && (ms < sql::kMinTimestampMs || ms > sql::kMaxTimestampMs)) return false;
  }
  return true;
}

void encode(const sql::Value& value, const sql::Type& type, bool big_endian, std::string& bytes) {
  const std::size_t width = width_of(type);
  std::uint64_t bits = 0;
  if (type.kind == sql::Kind::kFloat)
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(value.real));
  else if (type.kind == sql::Kind::kDouble)
    bits = std::bit_cast<std::uint64_t>(value.real);
  else
    bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value.number));
  for (std::size_t i = 0; i < width; ++i)
    bytes += static_cast<char>(bits >> 8 * (big_endian ? width - 1 - i : i));
}

class FixedReader final : public RowReader {
 public:
  FixedReader(const sql::Table& table, FormatScope scope, bool big_endian)
      : table_(table), scope_(std::move(scope)), big_endian_(big_endian) {
    for (const auto i : scope_.columns)
      bytes_ += width_of(table.columns[i].type);
  }

  std::size_t bytes() const { return bytes_; }
  bool read(std::string_view record, sql::Row& row, std::string& wrong) override {
    wrong.clear();
    if (record.size() != bytes_) {
      wrong = "it has " + std::to_string(record.size()) + " bytes, the columns have " +
              std::to_string(bytes_);
      return false;
    }
    for (const auto i : scope_.columns) {
      const auto& column = table_.columns[i];
      const auto bytes = record.substr(0, width_of(column.type));
      record.remove_prefix(bytes.size());
      if (decode(bytes, column.type, big_endian_, row[i])) continue;
      row[i].null = true;
      if (wrong.empty()) wrong = no_value_of(bytes, column);
    }
    return true;
  }

 private:
  const sql::Table& table_;
  FormatScope scope_;
  bool big_endian_;
  std::size_t bytes_ = 0;
};

class TextReader final : public RowReader {
 public:
  TextReader(const sql::Table& table, std::size_t column) : table_(table), column_(column) {}
  bool read(std::string_view record, sql::Row& row, std::string& wrong) override {
    wrong.clear();
    row[column_].null = true;
    if (is_valid_utf8(record))
      row[column_] = sql::Value::of_text(std::string(record));
    else
      wrong = no_value_of(record, table_.columns[column_]);
    return true;
  }

 private:
  const sql::Table& table_;
  std::size_t column_;
};

class RawWriter final : public RowWriter {
 public:
  RawWriter(const ColumnList& columns, FormatScope scope, bool big_endian)
      : columns_(columns), scope_(std::move(scope)), big_endian_(big_endian) {
    for (const auto i : scope_.columns)
      text_ = text_ || columns[i].type.kind == sql::Kind::kString;
  }
  Status append(const sql::Row& row, std::string& bytes) override {
    for (const auto i : scope_.columns) {
      if (row[i].null) {
        return Error{Errc::kInvalidOption,
                     "column " + escape(columns_[i].name) +
                         " is NULL, which 'raw' and 'binary' cannot write; use COALESCE"};
      }
      if (text_)
        bytes += row[i].text;
      else
        encode(row[i], columns_[i].type, big_endian_, bytes);
    }
    return {};
  }
  std::string_view record_end() const override { return text_ ? "\n" : ""; }

 private:
  const ColumnList& columns_;
  FormatScope scope_;
  bool big_endian_, text_ = false;
};

Error no_width(const TableOptions& options, const FormatScope& scope, const sql::Column& column) {
  return options.wrong(scope.prefix + "format", "a format that has " + sql::name_of(column.type) +
                                                    " (column " + escape(column.name) + ")");
}

// Of 'raw': the one column, and whether its bytes begin with the greatest.
Result<bool> raw_endianness(const ColumnList& columns, const FormatScope& scope,
                            TableOptions& options) {
  if (scope.columns.size() != 1)
    return options.wrong(scope.prefix + "format", "another format: 'raw' has one column alone");
  const auto& column = columns[scope.columns.front()];
  if (width_of(column.type) == 0 && column.type.kind != sql::Kind::kString)
    return no_width(options, scope, column);
  const auto key = scope.prefix + "raw.endianness";
  const auto order = options.text(key).value_or("big-endian");
  if (order != "big-endian" && order != "little-endian")
    return options.wrong(key, "'big-endian' or 'little-endian'");
  return order == "big-endian";
}

Status check_binary(const ColumnList& columns, const FormatScope& scope,
                    const TableOptions& options) {
  for (const auto i : scope.columns) {
    if (width_of(columns[i].type) == 0) return no_width(options, scope, columns[i]);
  }
  return {};
}

}  // namespace

Result<ReadFormat> read_raw_format(const sql::Table& table, const FormatScope& scope,
                                   TableOptions& options) {
  HF_ASSIGN_OR_RETURN(const bool big, raw_endianness(table.columns, scope, options));
  ReadFormat format;
  const auto column = scope.columns.front();
  if (table.columns[column].type.kind == sql::Kind::kString) {
    format.reader = std::make_unique<TextReader>(table, column);
    format.framing = Framing::kPlainLines;
    return format;
  }
  format.reader = std::make_unique<FixedReader>(table, scope, big);
  format.framing = Framing::kFixed;
  format.record_bytes = width_of(table.columns[column].type);
  return format;
}

Result<ReadFormat> read_binary_format(const sql::Table& table, const FormatScope& scope,
                                      TableOptions& options) {
  HF_RETURN_IF_ERROR(check_binary(table.columns, scope, options));
  auto reader = std::make_unique<FixedReader>(table, scope, false);
  ReadFormat format;
  format.framing = Framing::kFixed;
  format.record_bytes = reader->bytes();
  if (format.record_bytes == 0) return options.wrong(scope.prefix + "format", "a column to read");
  HF_ASSIGN_OR_RETURN(format.ignore_errors,
                      options.flag(scope.prefix + "binary.ignore-parse-errors", false));
  format.reader = std::move(reader);
  return format;
}

Result<std::unique_ptr<RowWriter>> write_raw_format(const ColumnList& columns,
                                                    const FormatScope& scope,
                                                    TableOptions& options) {
  HF_ASSIGN_OR_RETURN(const bool big, raw_endianness(columns, scope, options));
  return std::unique_ptr<RowWriter>(std::make_unique<RawWriter>(columns, scope, big));
}

Result<std::unique_ptr<RowWriter>> write_binary_format(const ColumnList& columns,
                                                       const FormatScope& scope,
                                                       TableOptions& options) {
  HF_RETURN_IF_ERROR(check_binary(columns, scope, options));
  return std::unique_ptr<RowWriter>(std::make_unique<RawWriter>(columns, scope, false));
}

}  // namespace holdfast::stream
