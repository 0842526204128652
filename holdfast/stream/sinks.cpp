// The sinks: files of CSV, print, blackhole, and standard output for a plain SELECT.
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/csv_format.hpp>
#include <holdfast/stream/part_files.hpp>
#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/table_options.hpp>

namespace holdfast::stream {
namespace {

void append_csv(const sql::Row& row, const std::vector<sql::Column>& columns,
                const CsvFormat& format, std::string& line) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line += format.delimiter;
    if (row[i].null)
      line += format.null_literal;
    else
      append_csv_field(sql::text_of(row[i], columns[i].type), format, line);
  }
  line += '\n';
}

class CsvFileSink : public Sink {
 public:
  CsvFileSink(std::string directory, const std::vector<sql::Column>& columns, CsvFormat format)
      : parts_(std::move(directory)), columns_(columns), format_(std::move(format)) {}

  Status begin(std::uint64_t epoch, std::string_view state) override {
    ByteReader bytes(state);
    const auto base = epoch == 0 ? 0 : bytes.number();
    if (!bytes.ok()) return Error{Errc::kCorrupt, "the checkpoint has no state of the file sink"};
    return parts_.begin(epoch, base);
  }
  Status write(const sql::Row& row) override {
    line_.clear();
    append_csv(row, columns_, format_, line_);
    return parts_.write(line_);
  }
  Status prepare(std::uint64_t epoch) override { return parts_.prepare(epoch); }
  Status commit(std::uint64_t epoch) override { return parts_.commit(epoch); }
  std::string state() const override {
    ByteWriter bytes;
    bytes.number(parts_.base());
    return bytes.take();
  }
  bool transactional() const override { return true; }

 private:
  PartFiles parts_;
  const std::vector<sql::Column>& columns_;
  CsvFormat format_;
  std::string line_;
};

// To a stream: rows are shown when they are written.
class StreamSink : public Sink {
 public:
  Status begin(std::uint64_t epoch, std::string_view) override {
    return show_head(epoch), Status();
  }
  Status write(const sql::Row& row) override { return show(row), Status(); }
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override { return {}; }

 private:
  virtual void show_head(std::uint64_t) {}
  virtual void show(const sql::Row& row) = 0;
};

class OutputSink : public StreamSink {
 public:
  OutputSink(const std::vector<sql::Column>& columns, const Output& output)
      : columns_(columns), output_(output) {}

 private:
  void show_head(std::uint64_t epoch) override {
    if (epoch != 0) return;  // A resumed run has shown it.
    std::string line;
    for (const auto& column : columns_) {
      if (!line.empty()) line += ',';
      append_csv_field(column.name, {}, line);
    }
    output_(line + '\n');
  }
  void show(const sql::Row& row) override {
    std::string line;
    append_csv(row, columns_, {}, line);
    output_(line);
  }

  const std::vector<sql::Column>& columns_;
  const Output& output_;
};

// As Flink's: +I[1, text]
class PrintSink : public StreamSink {
 public:
  PrintSink(const std::vector<sql::Column>& columns, const Output& output, std::string name)
      : columns_(columns), output_(output), name_(std::move(name)) {}

 private:
  void show(const sql::Row& row) override {
    std::string line = (name_.empty() ? "" : name_ + "> ") + "+I[";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      line += i == 0 ? "" : ", ";
      line += row[i].null ? "NULL" : escape(sql::text_of(row[i], columns_[i].type), 1 << 20);
    }
    output_(line + "]\n");
  }

  const std::vector<sql::Column>& columns_;
  const Output& output_;
  std::string name_;
};

class BlackholeSink : public StreamSink {
  void show(const sql::Row&) override {}
};

}  // namespace

Result<std::unique_ptr<Sink>> open_sink(const sql::Table* table,
                                        const std::vector<sql::Column>& columns,
                                        const Output& output) {
  if (table == nullptr) return std::unique_ptr<Sink>(std::make_unique<OutputSink>(columns, output));
  TableOptions options(*table);
  const auto connector = options.text("connector");
  std::unique_ptr<Sink> sink;
  if (connector && *connector == "filesystem") {
    HF_ASSIGN_OR_RETURN(auto format, csv_format_of(options));
    auto path = options.text("path");
    if (!path || path->empty()) return options.wrong("path", "a directory");
    if (path->starts_with("file://")) path->erase(0, 7);
    sink = std::make_unique<CsvFileSink>(*path, columns, std::move(format));
  } else if (connector && *connector == "print") {
    sink =
        std::make_unique<PrintSink>(columns, output, options.text("print-identifier").value_or(""));
  } else if (connector && *connector == "blackhole") {
    sink = std::make_unique<BlackholeSink>();
  } else {
    return options.wrong("connector",
                         "'filesystem', 'print' or 'blackhole' for a table that is "
                         "written");
  }
  HF_RETURN_IF_ERROR(options.all_known());
  return sink;
}

}  // namespace holdfast::stream
