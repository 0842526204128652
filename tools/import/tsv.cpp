// TSV: KEY, a tab, VALUE, one record per line, as `holdfast kv STORE list` prints them: \\ \t \n \r
// \0 and \xNN stand for the bytes that a line cannot hold; other bytes stand for themselves. Empty
// lines are no records. A byte order mark before the first key is dropped.
#include <fmt/format.h>

#include <algorithm>

#include <holdfast/base/format.hpp>

#include "../text_encoding.hpp"
#include "field_text.hpp"
#include "line_splitter.hpp"
#include "record_parser.hpp"

namespace holdfast::tools {
namespace {

class TsvParser final : public RecordParser {
 public:
  explicit TsvParser(const ParserOptions& options)
      : max_bytes_(options.limits.record_bytes), lines_(max_bytes_), skip_header_(options.header) {}

  bool feed(std::string_view chunk, RecordSink& sink) override {
    return lines_.feed(chunk, [&](auto... line) { return on_line(line..., sink); });
  }
  bool finish(RecordSink& sink) override {
    return lines_.finish([&](auto... line) { return on_line(line..., sink); });
  }

 private:
  bool on_line(std::string_view line, std::uint64_t number, bool too_long, RecordSink& sink) {
    if (number == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.empty() && !too_long) return true;
    if (std::exchange(skip_header_, false)) return true;  // However many columns it names.
    if (too_long) {
      return sink.skip(number,
                       fmt::format("a line of more than {} bytes; raise --max-record", max_bytes_));
    }
    const auto tab = line.find('\t');
    if (tab == std::string_view::npos) {
      return sink.skip(
          number, at_column(line.size() + 1, "the end of the line; a record is KEY, a tab, VALUE"));
    }
    if (const auto second = line.find('\t', tab + 1); second != std::string_view::npos) {
      return sink.skip(number, at_column(second + 1, "a second tab; in a value it is written \\t"));
    }
    const auto key = escaped_field(line.substr(0, tab), 1);
    if (!key) return sink.skip(number, key.error().detail);
    const auto value = escaped_field(line.substr(tab + 1), tab + 2);
    if (!value) return sink.skip(number, value.error().detail);
    return sink.record(*key, *value, number);
  }

  const std::uint64_t max_bytes_;
  LineSplitter lines_;
  bool skip_header_;
};

void append_tsv_field(std::string& out, std::string_view bytes, bool as_hex) {
  if (!as_hex) {
    out += visible(bytes);
    return;
  }
  for (const char c : bytes)
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
}

}  // namespace

std::unique_ptr<RecordParser> make_tsv_parser(const ParserOptions& options) {
  return std::make_unique<TsvParser>(options);
}

void append_tsv(std::string& out, std::string_view key, std::string_view value, bool as_hex) {
  append_tsv_field(out, key, as_hex);
  out += '\t';
  append_tsv_field(out, value, as_hex);
  out += '\n';
}

}  // namespace holdfast::tools
