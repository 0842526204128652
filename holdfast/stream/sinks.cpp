// The sinks: files, print, blackhole, and standard output for a plain SELECT.
#include "sinks.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/csv.hpp>
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/part_files.hpp>
#include <holdfast/stream/record.hpp>

namespace holdfast::stream {
namespace {

class FileSink final : public Sink {
 public:
  FileSink(std::string directory, WriteFormat format)
      : parts_(std::move(directory), std::move(format.suffix)), writer_(std::move(format.writer)) {}

  Status begin(std::uint64_t epoch, std::string_view state) override {
    if (epoch == 0) return parts_.begin(0, {});
    ByteReader bytes(state);
    if (state.size() == sizeof(std::uint64_t)) return parts_.begin_behind(epoch, bytes.number());
    const auto run = bytes.text();
    if (!bytes.ok() || !is_random_name(run))
      return Error{Errc::kCorrupt, "the checkpoint has no state of the file sink"};
    return parts_.begin(epoch, run);
  }
  Status begin_from(std::uint64_t epoch, std::string_view state) override {
    HF_RETURN_IF_ERROR(begin(epoch, state));
    return parts_.begin(0, {});
  }
  Status write(const sql::Row& row) override {
    record_.clear();
    HF_RETURN_IF_ERROR(writer_->append(row, record_));
    record_ += writer_->record_end();
    return parts_.write(record_);
  }
  Status prepare(std::uint64_t epoch) override {
    record_.clear();
    HF_RETURN_IF_ERROR(writer_->end_file(record_));
    HF_RETURN_IF_ERROR(parts_.write(record_));
    return parts_.prepare(epoch);
  }
  Status commit(std::uint64_t epoch) override { return parts_.commit(epoch); }
  std::string state() const override {
    ByteWriter bytes;
    bytes.text(parts_.run());
    return bytes.take();
  }
  bool transactional() const override { return true; }

 private:
  PartFiles parts_;
  std::unique_ptr<RowWriter> writer_;
  std::string record_;
};

// To a stream: rows are shown when they are written.
class StreamSink : public Sink {
 public:
  explicit StreamSink(const Output& output) : output_(output) {}

  Status begin(std::uint64_t epoch, std::string_view) override {
    return epoch == 0 ? show_head() : Status();  // A resumed run has shown it.
  }
  // A checkpoint covers these rows: they must not be in a buffer any more.
  Status prepare(std::uint64_t) override { return output_.flush(); }
  Status commit(std::uint64_t) override { return {}; }

 protected:
  Status show(const std::string& text) const { return output_(text); }

 private:
  virtual Status show_head() { return {}; }

  const Output& output_;
};

class OutputSink final : public StreamSink {
 public:
  OutputSink(const ColumnList& columns, const Output& output, std::unique_ptr<RowWriter> writer,
             bool header)
      : StreamSink(output), columns_(columns), writer_(std::move(writer)), header_(header) {}

  Status write(const sql::Row& row) override {
    line_.clear();
    HF_RETURN_IF_ERROR(writer_->append(row, line_));
    line_ += '\n';
    return show(line_);
  }

 private:
  Status show_head() override {
    if (!header_) return {};
    const CsvFieldWriter fields;
    std::string line;
    for (const auto& column : columns_) {
      if (!line.empty()) line += ',';
      fields.append(column.name, line);
    }
    return show(line + '\n');
  }

  const ColumnList& columns_;
  std::unique_ptr<RowWriter> writer_;
  bool header_;
  std::string line_;
};

// Columns under their names. A row is shown at once, so that the widths are those of names and
// types: a longer text moves what stands behind it.
class TableSink final : public StreamSink {
 public:
  TableSink(const ColumnList& columns, const Output& output)
      : StreamSink(output), columns_(columns) {
    for (const auto& column : columns)
      widths_.push_back(std::max(display_width(escape(column.name)), width_of(column.type)));
  }

  Status write(const sql::Row& row) override {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      auto text = row[i].null ? "NULL" : escape(sql::text_of(row[i], columns_[i].type), 1 << 20);
      append(i, std::move(text), columns_[i].type.is_numeric(), line);
    }
    return show(line + '\n');
  }

 private:
  static std::size_t width_of(const sql::Type& type) {
    switch (type.kind) {
      case sql::Kind::kBoolean: return 5;
      case sql::Kind::kTinyInt: return 4;
      case sql::Kind::kSmallInt: return 6;
      case sql::Kind::kInt: return 11;
      case sql::Kind::kDate: return 10;
      case sql::Kind::kTimestamp: return 23;
      case sql::Kind::kDecimal: return std::min<std::size_t>(type.precision + 2, 20);
      default: return 16;
    }
  }
  void append(std::size_t column, std::string text, bool number, std::string& line) const {
    line += column == 0 ? "" : "  ";
    if (number)
      line += pad_left(std::move(text), widths_[column]);
    else if (column + 1 == columns_.size())
      line += text;
    else
      line += pad_right(std::move(text), widths_[column]);
  }
  Status show_head() override {
    std::string names, rule;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      append(i, escape(columns_[i].name), columns_[i].type.is_numeric(), names);
      rule += (i == 0 ? "" : "  ") + std::string(widths_[i], '-');
    }
    return show(names + '\n' + rule + '\n');
  }

  const ColumnList& columns_;
  std::vector<std::size_t> widths_;
};

// As Flink's: +I[1, text]
class PrintSink final : public StreamSink {
 public:
  PrintSink(const ColumnList& columns, const Output& output, std::string name)
      : StreamSink(output), columns_(columns), name_(std::move(name)) {}

  Status write(const sql::Row& row) override { return write_change(RowKind::kInsert, row); }
  bool takes_changes() const override { return true; }
  Status write_change(RowKind kind, const sql::Row& row) override {
    std::string line = name_.empty() ? "" : name_ + "> ";
    line += text_of(kind);
    line += '[';
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      line += i == 0 ? "" : ", ";
      line += row[i].null ? "NULL" : escape(sql::text_of(row[i], columns_[i].type), 1 << 20);
    }
    return show(line + "]\n");
  }

 private:
  const ColumnList& columns_;
  std::string name_;
};

class BlackholeSink final : public RecordSink {
 public:
  Status begin(std::uint64_t, std::string_view) override { return {}; }
  Status write(const sql::Row&) override { return {}; }
  bool takes_changes() const override { return true; }
  Status write_change(RowKind, const sql::Row&) override { return {}; }
  Status write_records(std::span<const RowKind>, std::span<const std::byte>) override { return {}; }
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override { return {}; }
};

}  // namespace

Result<std::unique_ptr<Sink>> open_file_sink(const sql::Table&, const ColumnList& columns,
                                             TableOptions& options, const Output&) {
  HF_ASSIGN_OR_RETURN(auto format,
                      write_format_of(columns, all_of(columns, Carrier::kFile), options));
  auto path = options.text("path");
  if (!path || path->empty()) return options.wrong("path", "a directory");
  if (path->starts_with("file://")) path->erase(0, 7);
  if (!options.split().empty()) *path += "/" + options.split();
  // Of the same table as a source.
  for (const auto* key : {"source.monitor-interval", "malformed-records.path"})
    options.text(key);
  HF_RETURN_IF_ERROR(options.all_known());
  return std::unique_ptr<Sink>(std::make_unique<FileSink>(*path, std::move(format)));
}

Result<std::unique_ptr<Sink>> open_print_sink(const sql::Table&, const ColumnList& columns,
                                              TableOptions& options, const Output& output) {
  auto name = options.text("print-identifier").value_or("");
  HF_RETURN_IF_ERROR(options.all_known());
  return std::unique_ptr<Sink>(std::make_unique<PrintSink>(columns, output, std::move(name)));
}

Result<std::unique_ptr<Sink>> open_blackhole_sink(const sql::Table&, const ColumnList&,
                                                  TableOptions& options, const Output&) {
  HF_RETURN_IF_ERROR(options.all_known());
  return std::unique_ptr<Sink>(std::make_unique<BlackholeSink>());
}

std::unique_ptr<Sink> open_output_sink(const ColumnList& columns, const Output& output,
                                       OutputFormat format) {
  if (format == OutputFormat::kTable) return std::make_unique<TableSink>(columns, output);
  const bool csv = format == OutputFormat::kCsv;
  return std::make_unique<OutputSink>(columns, output, plain_writer(csv, columns), csv);
}

}  // namespace holdfast::stream
