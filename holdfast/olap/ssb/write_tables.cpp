#include <holdfast/olap/ssb/write_tables.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include <holdfast/olap/in_order.hpp>
#include <holdfast/olap/ssb/fact_line.hpp>

namespace holdfast::olap::ssb {
namespace {

constexpr std::uint64_t kRowsAtOnce = 16'384;
constexpr std::uint64_t kOrdersOfPiece = 8'192;

Error write_error(const std::string& path) {
  const int code = errno;
  const Errc kind = code == ENOSPC ? Errc::kNoSpace : code == ENOENT ? Errc::kNotFound : Errc::kIo;
  return {kind, path + ": " + std::strerror(code)};
}

struct Text {
  std::string bytes;
  std::uint64_t lines = 0;
};

class FileSink : public TableSink {
 public:
  FileSink(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {
    std::setvbuf(file, nullptr, _IONBF, 0);  // Texts are large.
  }
  Status append(std::string_view text) override {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size())
      return write_error(path_);
    return {};
  }
  Status close() override {
    if (std::fclose(file_.release()) != 0) return write_error(path_);
    return {};
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
};

// Lines of a .tbl file as lines of CSV.
std::string csv_of(std::string_view lines, std::span<const TableColumn> columns) {
  std::string csv;
  csv.reserve(lines.size() + lines.size() / 4);
  std::size_t column = 0;
  for (std::size_t at = 0; at < lines.size();) {
    const auto end = lines.find('|', at);
    const auto field = lines.substr(at, end - at);
    if (columns[column].text) {
      csv += '"';
      for (const char letter : field)
        csv.append(letter == '"' ? 2 : 1, letter);
      csv += '"';
    } else {
      csv += field;
    }
    const bool last = ++column == columns.size();
    csv += last ? '\n' : ',';
    at = end + (last ? 2 : 1);  // The line's end stands behind the last |.
    if (last) column = 0;
  }
  return csv;
}

// Pieces of `at_once` items each, by append(item, text) as lines of a .tbl file; as CSV where there
// are `csv_columns`.
template <class Append>
Status write_table(TableSink& sink, std::span<const TableColumn> csv_columns, std::uint64_t items,
                   std::uint64_t at_once, unsigned threads, WrittenTables& written,
                   const Append& append) {
  const auto make = [&](std::uint64_t piece) -> Result<Text> {
    Text text;
    const auto end = std::min((piece + 1) * at_once, items);
    for (auto item = piece * at_once; item < end; ++item)
      text.lines += append(item, text.bytes);
    if (!csv_columns.empty()) text.bytes = csv_of(text.bytes, csv_columns);
    return text;
  };
  const auto take = [&](const Text& text) -> Status {
    written.lines += text.lines;
    written.bytes += text.bytes.size();
    return sink.append(text.bytes);
  };
  HF_RETURN_IF_ERROR(in_order<Text>((items + at_once - 1) / at_once, threads, make, take));
  return sink.close();
}

}  // namespace

Result<std::unique_ptr<TableSink>> file_sink(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return write_error(path);
  return std::unique_ptr<TableSink>(std::make_unique<FileSink>(file, path));
}

Result<WrittenTables> write_tables(const Generator& generator, TableText form,
                                   const OpenTable& open, unsigned threads) {
  WrittenTables written;
  const auto write = [&](const TableColumns& table, std::uint64_t items, std::uint64_t at_once,
                         const auto& append) -> Status {
    HF_ASSIGN_OR_RETURN(const auto sink, open(table));
    const auto csv_columns =
        form == TableText::kCsv ? table.columns : std::span<const TableColumn>();
    return write_table(*sink, csv_columns, items, at_once, threads, written, append);
  };
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    HF_RETURN_IF_ERROR(write(columns_of(dimension), generator.rows(dimension), kRowsAtOnce,
                             [&](std::uint64_t row, std::string& text) {
                               generator.append_text(dimension, static_cast<std::uint32_t>(row),
                                                     text);
                               return 0u;
                             }));
  }
  HF_RETURN_IF_ERROR(write(columns_of_lineorder(), generator.orders(), kOrdersOfPiece,
                           [&](std::uint64_t number, std::string& text) {
                             const Order order = generator.order(number);
                             generator.append_text(order, text);
                             return order.lines;
                           }));
  return written;
}

Result<WrittenTables> write_tables(const Generator& generator, const std::string& directory,
                                   unsigned threads) {
  const auto open = [&](const TableColumns& table) {
    return file_sink(directory + "/" + std::string(table.table) + ".tbl");
  };
  return write_tables(generator, TableText::kTbl, open, threads);
}

Result<WrittenTables> export_lines(const StoredRows& rows, const std::string& path,
                                   unsigned threads) {
  // Checked here once; then reading cannot fail.
  for (std::size_t run = 0; run < rows.runs(); ++run)
    HF_RETURN_IF_ERROR(rows.facts(run));
  WrittenTables written;
  HF_ASSIGN_OR_RETURN(const auto sink, file_sink(path));
  HF_RETURN_IF_ERROR(write_table(*sink, {}, rows.runs(), 1, threads, written,
                                 [&](std::uint64_t run, std::string& text) {
                                   const auto facts = rows.facts(run).value();
                                   for (const FactRow& row : facts)
                                     append_line(row, text);
                                   return facts.size();
                                 }));
  return written;
}

}  // namespace holdfast::olap::ssb
