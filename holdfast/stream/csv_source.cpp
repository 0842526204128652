// The source 'connector' = 'filesystem', 'format' = 'csv': one file, from its beginning to its end.
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/csv_format.hpp>
#include <holdfast/stream/sources.hpp>

namespace holdfast::stream {
namespace {

class CsvSource : public Source {
 public:
  CsvSource(const sql::Table& table, CsvReader reader, bool header, bool ignore_errors)
      : table_(table), reader_(std::move(reader)), header_(header), ignore_errors_(ignore_errors) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.computed[i] == nullptr) columns_.push_back(i);
    }
  }

  Result<bool> next(sql::Row& row) override {
    for (;;) {
      auto got = reader_.next(fields_);
      if (!got && got.code() == Errc::kCorrupt && ignore_errors_) {
        if (reader_.records() == last_record_) return false;  // It cannot be stepped over.
        last_record_ = reader_.records();
        ++malformed_;
        continue;
      }
      if (!got) return std::move(got).pass_on();
      if (!*got) return false;
      if (header_ && reader_.records() == 1) continue;
      if (fields_.size() != columns_.size()) {
        if (!ignore_errors_) {
          return broken("it has " + std::to_string(fields_.size()) + " fields, the table has " +
                        std::to_string(columns_.size()) + " columns");
        }
        ++malformed_;
        continue;
      }
      HF_RETURN_IF_ERROR(convert(row));
      return true;
    }
  }

  std::string position() const override {
    ByteWriter bytes;
    bytes.number(reader_.offset());
    bytes.number(reader_.records());
    bytes.number(malformed_);
    return bytes.take();
  }
  Status seek(std::string_view position) override {
    ByteReader bytes(position);
    const auto offset = bytes.number(), records = bytes.number();
    malformed_ = bytes.number();
    if (!bytes.ok()) return Error{Errc::kCorrupt, "the checkpoint has no place in a file"};
    return reader_.seek(offset, records);
  }
  std::string place() const override {
    return "record " + std::to_string(reader_.records()) + ", byte " +
           std::to_string(reader_.offset());
  }
  std::uint64_t malformed() const override { return malformed_; }

 private:
  Error broken(const std::string& what) const {
    return Error{Errc::kCorrupt, "table " + escape(table_.name) + ", record " +
                                     std::to_string(reader_.records()) + ": " + what +
                                     "; 'csv.ignore-parse-errors' = 'true' goes on without it"};
  }

  Status convert(sql::Row& row) {
    bool whole = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto& column = table_.columns[columns_[i]];
      sql::Value& value = row[columns_[i]];
      value.null = true;
      if (reader_.is_null(fields_[i])) continue;
      std::optional<sql::Value> read;
      if (column.type.kind != sql::Kind::kString || is_valid_utf8(fields_[i].text))
        read = sql::value_of(fields_[i].text, column.type);
      if (read) {
        value = *std::move(read);
      } else if (ignore_errors_) {
        whole = false;
      } else {
        return broken("'" + escape(fields_[i].text, 60) + "' is no " + sql::name_of(column.type) +
                      " for column " + escape(column.name));
      }
    }
    malformed_ += whole ? 0 : 1;
    return {};
  }

  const sql::Table& table_;
  CsvReader reader_;
  bool header_, ignore_errors_;
  std::vector<std::size_t> columns_;  // Those that are read.
  std::vector<CsvField> fields_;
  std::uint64_t malformed_ = 0, last_record_ = ~std::uint64_t{0};
};

}  // namespace

Result<std::unique_ptr<Source>> open_csv_source(const sql::Table& table, TableOptions& options) {
  HF_ASSIGN_OR_RETURN(auto format, csv_format_of(options));
  const auto path = options.text("path");
  if (!path) return options.wrong("path", "a file");
  HF_ASSIGN_OR_RETURN(const bool header, options.flag("csv.header", false));
  HF_ASSIGN_OR_RETURN(const bool ignore, options.flag("csv.ignore-parse-errors", false));
  HF_RETURN_IF_ERROR(options.all_known());
  const std::string file = path->starts_with("file://") ? path->substr(7) : *path;
  HF_ASSIGN_OR_RETURN(auto reader, CsvReader::open(file, std::move(format)));
  return std::unique_ptr<Source>(
      std::make_unique<CsvSource>(table, std::move(reader), header, ignore));
}

}  // namespace holdfast::stream
