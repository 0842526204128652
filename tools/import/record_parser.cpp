#include "record_parser.hpp"

#include <fmt/format.h>

#include "../text_encoding.hpp"

namespace holdfast::tools {
namespace {

// Does exactly this record come back?
class RoundTrip final : public RecordSink {
 public:
  RoundTrip(std::string_view key, std::string_view value) : key_(key), value_(value) {}
  std::string reason;
  int records = 0;

  bool record(std::string_view key, std::string_view value, std::uint64_t) override {
    ++records;
    if (key != key_)
      reason = fmt::format("the key in the text is '{}'", visible(key.substr(0, 60)));
    if (value != value_) reason = "the value is not one record of this format";
    return reason.empty();
  }
  bool skip(std::uint64_t, std::string_view why) override {
    reason = why;
    return false;
  }

 private:
  std::string_view key_, value_;
};

void append_member(std::string& out, std::string_view name, std::string_view bytes, bool as_bytes) {
  if (as_bytes)
    fmt::format_to(std::back_inserter(out), "\"{}64\":\"{}\"", name, to_base64(bytes));
  else
    append_json_member(out, name, bytes);
}

}  // namespace

Status ParserOptions::validate() const {
  if (format == RecordFormat::kControl && key_fields.empty()) {
    return Error{Errc::kInvalidOption,
                 "--key is empty; name one or more fields, for example --key Package,Version"};
  }
  if (format == RecordFormat::kJsonLines && key_fields.size() > 1) {
    return Error{Errc::kInvalidOption,
                 fmt::format("--key names {} members; JSON lines take one, for example --key id",
                             key_fields.size())};
  }
  const bool columns = format == RecordFormat::kCsv || format == RecordFormat::kTsv;
  const bool names_keys = format == RecordFormat::kControl || format == RecordFormat::kJsonLines;
  if (!names_keys && !key_fields.empty()) {
    return Error{
        Errc::kInvalidOption,
        fmt::format("--key is '{}'; it is for JSON lines and control stanzas, other formats "
                    "have a key and a value",
                    visible(key_fields.front()))};
  }
  if (header && !columns)
    return Error{Errc::kInvalidOption, "--header is for csv and tsv: add --format csv or tsv"};
  for (const std::string& field : key_fields) {
    if (field.empty())
      return Error{Errc::kInvalidOption,
                   "--key holds an empty name; names are parted by one comma"};
  }
  if (limits.record_bytes < 64 || limits.record_bytes > 16 * GiB) {
    return Error{Errc::kInvalidOption,
                 fmt::format("--max-record is {} bytes; allowed are 64 bytes to 16 GiB",
                             limits.record_bytes)};
  }
  return ok_status();
}

std::unique_ptr<RecordParser> make_parser(const ParserOptions& options) {
  switch (options.format) {
    case RecordFormat::kControl: return make_control_parser(options);
    case RecordFormat::kCsv: return make_csv_parser(options);
    case RecordFormat::kTsv: return make_tsv_parser(options);
    case RecordFormat::kMdbDump: return make_mdb_dump_parser(options);
    case RecordFormat::kLdbDump: return make_ldb_dump_parser(options);
    case RecordFormat::kJsonLines: break;
  }
  return make_json_lines_parser(options);
}

Status append_record(std::string& out, const ParserOptions& options, std::string_view key,
                     std::string_view value) {
  if (options.format == RecordFormat::kJsonLines && options.key_fields.empty()) {
    out += '{';
    append_member(out, "key", key, options.as_bytes);
    out += ',';
    append_member(out, "value", value, options.as_bytes);
    out += "}\n";
    return ok_status();
  }
  if (options.format == RecordFormat::kCsv) {
    append_csv(out, key, value, options.as_bytes);
    return ok_status();
  }
  if (options.format == RecordFormat::kTsv) {
    append_tsv(out, key, value, options.as_bytes);
    return ok_status();
  }
  RoundTrip check{key, value};
  ParserOptions unlimited = options;
  unlimited.limits.record_bytes = 16 * GiB;
  const auto parser = make_parser(unlimited);
  if (parser->feed(value, check)) (void)parser->finish(check);
  if (check.reason.empty() && check.records != 1)
    check.reason = "the value is not one record of this format";
  if (!check.reason.empty()) {
    return Error{Errc::kInvalidOption,
                 fmt::format("{}; export it as --format jsonl without --key", check.reason)};
  }
  out.append(value);
  out += '\n';
  return ok_status();
}

void append_header(std::string& out, const ParserOptions& options) {
  if (options.header) out += options.format == RecordFormat::kTsv ? "key\tvalue\n" : "key,value\n";
}

}  // namespace holdfast::tools
