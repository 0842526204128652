// What `ldb dump --hex` of RocksDB prints: lines 0xKEY ==> 0xVALUE in hex digits, then
// "Keys in range: N".
#include <fmt/format.h>

#include "../text_encoding.hpp"
#include "field_text.hpp"
#include "line_splitter.hpp"
#include "record_parser.hpp"

namespace holdfast::tools {
namespace {

constexpr std::string_view kHex = "0x", kArrow = " ==> ", kEnd = "Keys in range: ";

class LdbDumpParser final : public RecordParser {
 public:
  explicit LdbDumpParser(const ParserOptions& options)
      : max_bytes_(options.limits.record_bytes), lines_(max_bytes_) {}

  bool feed(std::string_view chunk, RecordSink& sink) override {
    return lines_.feed(chunk, [&](auto... line) { return on_line(line..., sink); });
  }
  bool finish(RecordSink& sink) override {
    if (!lines_.finish([&](auto... line) { return on_line(line..., sink); })) return false;
    if (ended_ || last_line_ == 0) return true;
    return sink.skip(
        last_line_ + 1,
        fmt::format("the end; '{}{}' is missing, so the dump may be cut short", kEnd, keys_));
  }

 private:
  bool on_line(std::string_view line, std::uint64_t number, bool too_long, RecordSink& sink) {
    last_line_ = number;
    if (line.empty() && !too_long) return true;
    if (line.starts_with(kEnd)) {
      ended_ = true;
      if (line.substr(kEnd.size()) == std::to_string(keys_)) return true;
      return sink.skip(number,
                       fmt::format("column {}: '{}', but {} lines with keys came before it",
                                   kEnd.size() + 1, visible(line.substr(kEnd.size(), 60)), keys_));
    }
    ++keys_;
    if (too_long) {
      return sink.skip(number,
                       fmt::format("a line of more than {} bytes; raise --max-record", max_bytes_));
    }
    const auto arrow = line.find(kArrow);
    if (!line.starts_with(kHex)) return sink.skip(number, not_hex(line, 0));
    if (arrow == std::string_view::npos) {
      return sink.skip(number, at_column(line.size() + 1,
                                         "the end of the line; a record is "
                                         "0xKEY ==> 0xVALUE"));
    }
    const auto value_at = arrow + kArrow.size();
    if (!line.substr(value_at).starts_with(kHex)) return sink.skip(number, not_hex(line, value_at));
    const auto key = hex_field(line.substr(kHex.size(), arrow - kHex.size()), kHex.size() + 1);
    if (!key) return sink.skip(number, key.error().detail);
    const auto value = hex_field(line.substr(value_at + kHex.size()), value_at + kHex.size() + 1);
    if (!value) return sink.skip(number, value.error().detail);
    return sink.record(*key, *value, number);
  }

  static std::string not_hex(std::string_view line, std::size_t at) {
    return at_column(at + 1, fmt::format("'{}'; allowed is 0x and hex digits (ldb dump --hex)",
                                         visible(line.substr(at, 20))));
  }

  const std::uint64_t max_bytes_;
  LineSplitter lines_;
  std::uint64_t last_line_ = 0, keys_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<RecordParser> make_ldb_dump_parser(const ParserOptions& options) {
  return std::make_unique<LdbDumpParser>(options);
}

}  // namespace holdfast::tools
