// Any bytes as a file of records: of CSV with each of its options, of lines of JSON, of raw and of
// binary records. What must hold:
//
//   in pieces     the bytes come in pieces of any length, or not at all for a while: the same rows
//   place         behind any row the rest can be read again from the position that a checkpoint has
//   whole         each byte is part of a record; of CSV each record ends where a dull reader ends it,
//                 and has the fields that it finds
//   row or not    a record is a row, or there is a reason why not; a row has values of its types
//   written       what was read as a row is written, and reads back as the same row
//
// Input: byte 0 chooses the table, byte 1 the pieces; then the file.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/record_rows.hpp>

namespace {

using namespace holdfast;          // NOLINT: a fuzz target of one file.
using namespace holdfast::stream;  // NOLINT

constexpr const char* kColumns =
    "(s STRING, v VARCHAR(3), i INT, n BIGINT, t TINYINT, b BOOLEAN, f FLOAT, d DOUBLE, m "
    "DECIMAL(20, 4), at_ TIMESTAMP(3), day_ DATE)";

constexpr const char* kNested =
    "(s STRING, i INT, d DOUBLE, f FLOAT, m DECIMAL(38, 10), at_ TIMESTAMP(3), day_ DATE, b "
    "BOOLEAN, p MAP<TIMESTAMP(3), DOUBLE>, r ROW<x DATE, y ARRAY<TIMESTAMP(3)>>)";

struct Form {
  std::string columns, options;
  // Of csv.
  char delimiter = '\0';
  std::string null_literal = "\\N";
};

const Form kForms[] = {
    {kColumns, "'format' = 'csv'", ','},
    {kColumns,
     "'format' = 'csv', 'csv.field-delimiter' = ';', 'csv.null-literal' = '', 'csv.header' = "
     "'true', 'csv.ignore-parse-errors' = 'true'",
     ';', ""},
    {"(s STRING)", "'format' = 'csv', 'csv.field-delimiter' = '\\t', 'csv.null-literal' = ''", '\t',
     ""},
    {"(s STRING, n BIGINT)",
     "'format' = 'csv', 'csv.field-delimiter' = 'x', 'csv.null-literal' = "
     "'0'",
     'x', "0"},
    {"(n BIGINT, d DOUBLE, s STRING)",
     "'format' = 'csv', 'csv.field-delimiter' = '1', 'csv.null-literal' = ' '", '1', " "},
    {"(s STRING, d DOUBLE)", "'format' = 'csv', 'csv.null-literal' = 'a\xEF\xBB\xBF'", ',',
     "a\xEF\xBB\xBF"},
    {"(s STRING, n INT, v ARRAY<ROW<f INT, g STRING>>)", "'format' = 'json'"},
    {"(n INT, t TINYINT, b BOOLEAN, f FLOAT, d DOUBLE, at_ TIMESTAMP(3), day_ DATE)",
     "'format' = 'binary'"},
    {"(s SMALLINT)", "'format' = 'raw'"},
    {"(s STRING)", "'format' = 'raw'"},
    {kNested,
     "'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601', "
     "'json.fail-on-missing-field' = 'true'"},
    {kNested,
     "'format' = 'json', 'json.ignore-parse-errors' = 'true', 'json.encode.ignore-null-fields' = "
     "'true'"},
};

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "record_rows_fuzz: %s\n", what);
  std::abort();
}

struct Table {
  sql::Catalog catalog;
  const sql::Table* table = nullptr;
  ReadFormat reads;
  std::unique_ptr<RowWriter> writer;

  explicit Table(const Form& form) {
    const auto statements = sql::parse("CREATE TABLE t " + form.columns +
                                       " WITH ('connector' = 'none', " + form.options + ")")
                                .value();
    catalog.add(std::get<sql::syntax::CreateTable>(statements.front())).value();
    table = catalog.find("t", {}).value();
    const auto scope = all_physical(*table, Carrier::kFile);
    TableOptions options(*table);
    reads = read_format_of(*table, scope, options).value();
    TableOptions again(*table);
    writer = std::move(write_format_of(table->columns, scope, again)->writer);
  }
};

// Gives pieces of up to `piece` bytes; with `quiet` nothing every other time.
class Pieces final : public Input {
 public:
  Pieces(std::string_view bytes, std::size_t piece, bool quiet)
      : bytes_(bytes), piece_(piece), quiet_(quiet) {}
  Result<std::size_t> read(char* to, std::size_t size) override {
    require(size > 0, "nothing is asked for");
    if (quiet_ && (gave_nothing_ = !gave_nothing_)) return std::size_t{0};
    const auto got = std::min({piece_, size, bytes_.size() - at_});
    std::memcpy(to, bytes_.data() + at_, got);
    at_ += got;
    return got;
  }
  bool at_end() const override { return at_ == bytes_.size(); }
  Status seek(std::uint64_t offset) override {
    require(offset <= bytes_.size(), "a place behind the end");
    return at_ = offset, Status();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string_view bytes_;
  std::string name_ = "pieces";
  std::size_t piece_, at_ = 0;
  bool quiet_, gave_nothing_ = false;
};

struct Read {
  bool made = false;
  std::string wrong, bytes;
  std::string row;  // Its values as bytes.
  sql::Row values;
  FileRows::Position behind;
  bool operator==(const Read& other) const {
    return made == other.made && wrong == other.wrong && bytes == other.bytes && row == other.row &&
           behind.offset == other.behind.offset && behind.records == other.behind.records;
  }
};

std::string bytes_of(const sql::Row& row, const sql::Table& table) {
  std::string bytes;
  for (std::size_t i = 0; i < row.size(); ++i)
    sql::append_bytes(row[i], table.columns[i].type, bytes);
  std::string_view rest = bytes;
  for (const auto& column : table.columns) {
    sql::Value value;
    require(sql::take_bytes(rest, column.type, value), "a value is none of its type");
  }
  require(rest.empty(), "a row has more than its columns");
  return bytes;
}

std::vector<Read> rows_of(Table& of, std::string_view bytes, std::size_t piece, bool quiet,
                          FileRows::Position from = {}) {
  auto input = std::make_unique<Pieces>(bytes, piece, quiet);
  const auto& ends = *input;
  RecordRows rows(std::move(input), of.reads);
  if (from.offset != 0 || from.records != 0) rows.seek(from).value();
  std::vector<Read> all;
  Misread misread;
  for (int without = 0; without < 3;) {
    sql::Row row(of.table->columns.size());
    const bool got = rows.next(row, misread).value();
    if (!got) {
      without += ends.at_end() ? 1 : 0;  // It is told so once it asks again.
      continue;
    }
    without = 0;
    all.push_back(
        {misread.made, misread.wrong, std::string(misread.bytes), {}, {}, rows.position()});
    require(misread.made || !misread.wrong.empty(), "a record that is no row has no reason");
    if (!misread.made) continue;
    all.back().row = bytes_of(row, *of.table);
    all.back().values = std::move(row);
  }
  require(rows.position().offset == bytes.size(), "some bytes are part of no record");
  return all;
}

// ---- CSV, read dully ----

// Records, each with the fields that it has; none: it is malformed.
struct Dull {
  std::string bytes;
  std::vector<std::pair<std::string, bool>> fields;  // And whether it stood in quotes.
  bool wrong = false;
};

std::vector<std::string> dull_records(std::string_view text, char delimiter) {
  std::vector<std::string> all;
  const bool mark = text.starts_with(kByteOrderMark);
  for (std::size_t at = 0, begin = 0; begin < text.size(); begin = at) {
    if (begin == 0 && mark) at += kByteOrderMark.size();
    const std::size_t from = at;
    bool in_quotes = false, field_begins = true, ended = false;
    while (at < text.size() && !ended) {
      const char c = text[at++];
      if (in_quotes) {
        if (c != '"') continue;
        if (at < text.size() && text[at] == '"')
          ++at;
        else
          in_quotes = false;
      } else {
        ended = c == '\n';
        in_quotes = c == '"' && field_begins;
        field_begins = c == delimiter;
      }
    }
    auto record = std::string(text.substr(from, at - from - (ended ? 1 : 0)));
    if (record.ends_with('\r')) record.pop_back();
    all.push_back(std::move(record));
  }
  return all;
}

Dull dull_fields(const std::string& record, char delimiter) {
  Dull dull;
  std::size_t at = 0;
  for (;;) {
    std::string field;
    const bool quoted = at < record.size() && record[at] == '"';
    if (quoted) ++at;
    bool open = quoted;
    while (at < record.size() && (open || record[at] != delimiter)) {
      const char c = record[at++];
      const bool doubled = open && c == '"' && at < record.size() && record[at] == '"';
      if (open && c == '"' && !doubled) {
        open = false;
        continue;
      }
      dull.wrong = dull.wrong || (!open && (quoted || c == '"'));
      at += doubled ? 1 : 0;
      field += c;
    }
    dull.wrong = dull.wrong || open;
    dull.fields.emplace_back(std::move(field), quoted);
    if (at >= record.size()) return dull;
    ++at;
  }
}

void compare_dully(const Form& form, const Table& of, std::string_view file,
                   const std::vector<Read>& all) {
  auto records = dull_records(file, form.delimiter);
  if (of.reads.header && !records.empty()) records.erase(records.begin());
  require(records.size() == all.size(), "CSV: so many records there are not");
  for (std::size_t i = 0; i < all.size(); ++i) {
    require(records[i] == all[i].bytes, "CSV: a record ends elsewhere");
    const auto dull = dull_fields(records[i], form.delimiter);
    const bool is_row = !dull.wrong && dull.fields.size() == of.table->columns.size();
    require(is_row == all[i].made, "CSV: a record is a row, or is none");
    for (std::size_t column = 0; is_row && column < dull.fields.size(); ++column) {
      if (of.table->columns[column].type.kind != sql::Kind::kString) continue;
      const auto& [text, quoted] = dull.fields[column];
      const auto& value = all[i].values[column];
      const bool null = !quoted && text == form.null_literal;
      if (null) require(value.null, "CSV: no NULL");
      if (!value.null && of.table->columns[column].name == "s")
        require(value.text == text, "CSV: another text");
      if (value.null && !null) require(!all[i].wrong.empty(), "CSV: a NULL without a reason");
    }
  }
}

// ---- Written again ----

void write_again(Table& of, const Form& form, const std::vector<Read>& all) {
  // Lines of raw text have neither NULL nor line ends.
  if (form.options.find("'raw'") != std::string::npos) return;
  std::string file;
  std::vector<std::string> rows;
  if (of.reads.header) file = "header\n";
  const bool has_nulls = form.options.find("'binary'") == std::string::npos;
  for (const auto& read : all) {
    if (!read.made || (!has_nulls && !read.wrong.empty())) continue;
    require(of.writer->append(read.values, file).has_value(), "a row cannot be written");
    file += of.writer->record_end();
    rows.push_back(read.row);
  }
  const auto again = rows_of(of, file, file.size() + 1, false);
  require(again.size() == rows.size(), "rows were written, and others are there");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require(again[i].made && again[i].wrong.empty(), "what was written is malformed");
    require(again[i].row == rows[i], "what was written reads differently");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto tables = [] {
    std::vector<std::unique_ptr<Table>> all;
    for (const auto& form : kForms)
      all.push_back(std::make_unique<Table>(form));
    return all;
  }();
  if (size < 2) return 0;
  const std::size_t which = data[0] % std::size(kForms);
  const auto& form = kForms[which];
  Table& of = *tables[which];
  const std::string file(reinterpret_cast<const char*>(data + 2), size - 2);
  const auto all = rows_of(of, file, file.size() + 1, false);
  require(rows_of(of, file, data[1] / 2 % 16 + 1, data[1] % 2 != 0) == all,
          "in pieces there are other rows");
  for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 2) {
    const auto rest = rows_of(of, file, 7, false, all[i].behind);
    require(std::equal(rest.begin(), rest.end(), all.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                       all.end()),
            "from a position on there are other rows");
  }
  if (form.delimiter != '\0') compare_dully(form, of, file, all);
  write_again(of, form, all);
  return 0;
}
