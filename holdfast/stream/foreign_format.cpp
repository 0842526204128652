// 'format' = 'avro' and 'format' = 'parquet', by a process of Python.
#include <algorithm>
#include <cctype>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/foreign/columns.hpp>
#include <holdfast/stream/foreign/files.hpp>
#include <holdfast/stream/foreign/messages.hpp>
#include <holdfast/stream/format.hpp>

namespace holdfast::stream {
namespace {

using foreign::ColumnWriter;
using foreign::Host;

// What is sent to be written at once.
constexpr std::uint64_t kBatchRows = 8192;
constexpr std::size_t kBatchBytes = 1 << 20;

// Of both all is the same but this. The first codec is that of files that do not name one.
struct Foreign {
  std::string name, codec_key;
  std::vector<std::string> codecs;
  bool has_messages;
};

const Foreign kAvro{
    "avro", "avro.codec", {"snappy", "deflate", "null", "bzip2", "xz", "zstandard"}, true};
const Foreign kParquet{"parquet",
                       "parquet.compression",
                       {"SNAPPY", "GZIP", "ZSTD", "LZ4", "BROTLI", "UNCOMPRESSED"},
                       false};

class ForeignWriter final : public RowWriter {
 public:
  // `batch_rows`: how many rows are sent at once; of messages each is a batch.
  ForeignWriter(const ColumnList& columns, FormatScope scope, std::unique_ptr<Host> host)
      : scope_(std::move(scope)),
        host_(std::move(host)),
        batch_rows_(scope_.carrier == Carrier::kFile ? kBatchRows : 1) {
    for (const auto i : scope_.columns)
      writers_.emplace_back(columns[i].type);
  }

  Status append(const sql::Row& row, std::string& bytes) override {
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      const auto& value = row[scope_.columns[i]];
      writers_[i].add(value);
      waiting_bytes_ += sizeof(sql::Int128) + value.text.size();
    }
    begun_ = true;
    ++waiting_;
    return waiting_ < batch_rows_ && waiting_bytes_ < kBatchBytes ? Status() : send(bytes);
  }
  std::string_view record_end() const override { return ""; }
  Status end_file(std::string& bytes) override {
    if (!std::exchange(begun_, false)) return {};
    HF_RETURN_IF_ERROR(send(bytes));
    return ask('F', {}, bytes);
  }

 private:
  Status ask(char kind, std::string_view request, std::string& bytes) {
    const auto asked = host_->ask(kind, request, answer_);
    if (!asked) return asked.error();
    bytes += answer_;
    return {};
  }
  Status send(std::string& bytes) {
    if (waiting_ == 0) return {};
    std::string batch(reinterpret_cast<const char*>(&waiting_), sizeof waiting_);
    for (auto& writer : writers_)
      writer.end(batch);
    waiting_ = waiting_bytes_ = 0;
    return ask('W', batch, bytes);
  }

  FormatScope scope_;
  std::unique_ptr<Host> host_;
  std::vector<ColumnWriter> writers_;
  std::string answer_;
  std::uint64_t batch_rows_;
  std::uint64_t waiting_ = 0;  // Rows.
  std::size_t waiting_bytes_ = 0;
  bool begun_ = false;
};

// As it stands in the list, whatever its case is.
Result<std::string> codec_of(const Foreign& format, TableOptions& options) {
  const auto name = options.text(format.codec_key);
  if (!name) return format.codecs.front();
  std::string names;
  for (const auto& codec : format.codecs) {
    const bool same = std::equal(
        codec.begin(), codec.end(), name->begin(), name->end(),
        [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
    if (same) return codec;
    const bool last = &codec == &format.codecs.back();
    names += (names.empty() ? "'" : last ? " or '" : ", '") + codec + "'";
  }
  return options.wrong(format.codec_key, names);
}

bool is_avro_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

Status check_avro_type(const std::string& name, const sql::Type& type) {
  if (!is_avro_name(name)) {
    return Error{Errc::kUnsupported,
                 "column " + escape(name) +
                     " has a name that Avro has not: letters a-z and A-Z, digits and _ are "
                     "allowed, no digit first; give it another name"};
  }
  if (!type.is_nested()) return {};
  const auto& fields = type.nested->fields;
  if (type.kind == sql::Kind::kMap && fields[0].type.kind != sql::Kind::kString) {
    return Error{Errc::kUnsupported, "column " + escape(name) + " is " + sql::name_of(type) +
                                         ", which Avro has not: keys of its maps are STRING"};
  }
  for (const auto& field : fields)
    HF_RETURN_IF_ERROR(
        check_avro_type(type.kind == sql::Kind::kRow ? field.name : name, field.type));
  return {};
}

// What Avro has no names and no types for; and its other encoding.
Status check_avro(const ColumnList& columns, const FormatScope& scope, TableOptions& options) {
  const auto key = scope.prefix + "avro.encoding";
  if (options.text(key).value_or("binary") != "binary")
    return options.wrong(key, "'binary': Avro in JSON is neither read nor written");
  for (const auto i : scope.columns) {
    const auto checked = check_avro_type(columns[i].name, columns[i].type);
    if (!checked) return options.about(scope.prefix + "format", checked.error());
  }
  return {};
}

Status check(const Foreign& format, const ColumnList& columns, const FormatScope& scope,
             TableOptions& options) {
  const bool carried = scope.carrier == Carrier::kFile ||
                       (scope.carrier == Carrier::kMessage && format.has_messages);
  if (!carried) {
    return options.wrong(scope.prefix + "format", "another one: '" + format.name +
                                                      "' is for files" +
                                                      (format.has_messages ? " and messages" : ""));
  }
  return &format == &kAvro ? check_avro(columns, scope, options) : Status();
}

Result<ReadFormat> read_foreign(const Foreign& kind, const sql::Table& table,
                                const FormatScope& scope, TableOptions& options) {
  HF_RETURN_IF_ERROR(check(kind, table.columns, scope, options));
  ReadFormat format;
  HF_ASSIGN_OR_RETURN(format.ignore_errors,
                      options.flag(scope.prefix + kind.name + ".ignore-parse-errors", false));
  if (scope.carrier == Carrier::kMessage) {
    auto reader = std::make_unique<foreign::MessageReader>(kind.name, table, scope.columns);
    HF_RETURN_IF_ERROR(reader->start());
    format.reader = std::move(reader);
    return format;
  }
  HF_RETURN_IF_ERROR(codec_of(kind, options));
  format.open_file = [&table, columns = scope.columns, name = kind.name,
                      host = std::make_shared<foreign::SharedHost>()](
                         const std::string& path) -> Result<std::unique_ptr<FileRows>> {
    // Says what is wrong with the path as the other formats do.
    HF_RETURN_IF_ERROR(open_file_input(path));
    auto rows = std::make_unique<foreign::ForeignRows>(host, name, path, table, columns);
    HF_RETURN_IF_ERROR(rows->open({}));
    return std::unique_ptr<FileRows>(std::move(rows));
  };
  return format;
}

Result<std::unique_ptr<RowWriter>> write_foreign(const Foreign& kind, const ColumnList& columns,
                                                 const FormatScope& scope, TableOptions& options) {
  HF_RETURN_IF_ERROR(check(kind, columns, scope, options));
  options.text(scope.prefix + kind.name + ".ignore-parse-errors");
  std::string request = R"({"format":")" + kind.name + R"(","columns":)" +
                        foreign::columns_text(columns, scope.columns);
  if (scope.carrier == Carrier::kFile) {
    HF_ASSIGN_OR_RETURN(const auto codec, codec_of(kind, options));
    request += R"(,"codec":")" + codec + "\"";
  }
  HF_ASSIGN_OR_RETURN(auto host, Host::start());
  std::string answer;
  HF_RETURN_IF_ERROR(host->ask('C', request + "}", answer));
  return std::unique_ptr<RowWriter>(
      std::make_unique<ForeignWriter>(columns, scope, std::move(host)));
}

}  // namespace

Result<ReadFormat> read_avro_format(const sql::Table& table, const FormatScope& scope,
                                    TableOptions& options) {
  return read_foreign(kAvro, table, scope, options);
}
Result<ReadFormat> read_parquet_format(const sql::Table& table, const FormatScope& scope,
                                       TableOptions& options) {
  return read_foreign(kParquet, table, scope, options);
}
Result<std::unique_ptr<RowWriter>> write_avro_format(const ColumnList& columns,
                                                     const FormatScope& scope,
                                                     TableOptions& options) {
  return write_foreign(kAvro, columns, scope, options);
}
Result<std::unique_ptr<RowWriter>> write_parquet_format(const ColumnList& columns,
                                                        const FormatScope& scope,
                                                        TableOptions& options) {
  return write_foreign(kParquet, columns, scope, options);
}

}  // namespace holdfast::stream
