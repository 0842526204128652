// What mdb_dump of LMDB (and db_dump of Berkeley DB) prints: a header of lines NAME=VALUE up to
// HEADER=END, then for each record a line with its key and one with its value, each behind a blank,
// up to DATA=END. format=bytevalue: hex digits; format=print: text in which \NN are bytes.
// (LMDB up to 0.9.24 leaves a backslash as it is; where no hex digits follow it, the record is
// skipped.) One database: a second one would put its keys among those of the first.
#include <fmt/format.h>

#include <utility>

#include "../text_encoding.hpp"
#include "field_text.hpp"
#include "line_splitter.hpp"
#include "record_parser.hpp"

namespace holdfast::tools {
namespace {

class MdbDumpParser final : public RecordParser {
 public:
  explicit MdbDumpParser(const ParserOptions& options)
      : max_bytes_(options.limits.record_bytes), lines_(max_bytes_) {}

  bool feed(std::string_view chunk, RecordSink& sink) override {
    return lines_.feed(chunk, [&](auto... line) { return on_line(line..., sink); });
  }
  bool finish(RecordSink& sink) override {
    if (!lines_.finish([&](auto... line) { return on_line(line..., sink); })) return false;
    if (part_ == Part::kDone || part_ == Part::kIgnored || last_line_ == 0) return true;
    if (part_ == Part::kValue && !sink.skip(key_line_, "a key without a value")) return false;
    return sink.skip(last_line_ + 1,
                     fmt::format("the end; {} is missing, so the dump is cut short",
                                 part_ == Part::kHeader ? "HEADER=END" : "DATA=END"));
  }

 private:
  enum class Part : std::uint8_t { kHeader, kKey, kValue, kDone, kIgnored };

  bool on_line(std::string_view line, std::uint64_t number, bool too_long, RecordSink& sink) {
    last_line_ = number;
    switch (part_) {
      case Part::kHeader: return too_long || line.empty() || on_header(line, number, sink);
      case Part::kDone:
        if (line.empty() && !too_long) return true;
        part_ = Part::kIgnored;
        return sink.skip(number,
                         "a second database; its keys would be among those of the first: dump each "
                         "by itself, with mdb_dump -s NAME");
      case Part::kIgnored: return true;
      default: break;
    }
    if (line == "DATA=END" && !too_long) {
      const bool odd = std::exchange(part_, Part::kDone) == Part::kValue;
      return !odd || sink.skip(key_line_, "a key without a value");
    }
    return on_data(line, number, too_long, sink);
  }

  bool on_header(std::string_view line, std::uint64_t number, RecordSink& sink) {
    if (line == "HEADER=END") {
      part_ = Part::kKey;
      return true;
    }
    const auto equals = line.find('=');
    const auto name = line.substr(0, equals);
    const auto value = equals == line.npos ? std::string_view{} : line.substr(equals + 1);
    std::string_view allowed;
    if (equals == line.npos) allowed = "NAME=VALUE up to HEADER=END";
    if (name == "VERSION" && value != "3") allowed = "VERSION=3";
    if (name == "type" && value != "btree" && value != "hash") allowed = "type=btree and type=hash";
    if (name == "format" && value != "bytevalue" && value != "print")
      allowed = "format=bytevalue and format=print";
    if ((name == "duplicates" || name == "dupsort") && value != "0")
      allowed = "one value for each key, which is what a store keeps";
    if (name == "format") print_ = value == "print";
    if (allowed.empty()) return true;
    part_ = Part::kIgnored;
    return sink.skip(number, fmt::format("column 1: '{}'; allowed is {}; nothing of it is imported",
                                         visible(line.substr(0, 60)), allowed));
  }

  // A line that is none still stands for a key or a value, so that the next ones keep their parts.
  bool on_data(std::string_view line, std::uint64_t number, bool too_long, RecordSink& sink) {
    std::string bytes, reason;
    if (too_long) {
      reason = fmt::format("a line of more than {} bytes; raise --max-record", max_bytes_);
    } else if (!line.starts_with(' ')) {
      reason = at_column(
          1, fmt::format("'{}'; allowed are a blank and DATA=END", visible(line.substr(0, 1))));
    } else {
      auto decoded = print_ ? printed_field(line.substr(1), 2) : hex_field(line.substr(1), 2);
      if (decoded)
        bytes = std::move(*decoded);
      else
        reason = decoded.error().detail;
    }
    if (part_ == Part::kKey) {
      part_ = Part::kValue;
      key_line_ = number;
      key_ = std::move(bytes);
      reason_ = std::move(reason);
      return true;
    }
    part_ = Part::kKey;
    if (!reason_.empty()) return sink.skip(key_line_, reason_);
    if (!reason.empty()) return sink.skip(key_line_, fmt::format("line {}, {}", number, reason));
    return sink.record(key_, bytes, key_line_);
  }

  const std::uint64_t max_bytes_;
  LineSplitter lines_;
  Part part_ = Part::kHeader;
  bool print_ = false;
  std::uint64_t last_line_ = 0, key_line_ = 0;
  std::string key_, reason_;  // Of the record whose value comes next; why it is skipped.
};

}  // namespace

std::unique_ptr<RecordParser> make_mdb_dump_parser(const ParserOptions& options) {
  return std::make_unique<MdbDumpParser>(options);
}

}  // namespace holdfast::tools
