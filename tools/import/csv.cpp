// CSV after RFC 4180: KEY,VALUE, each as it stands or in quotes, in which "" is a quote. A line ends
// with "\n" or "\r\n"; empty lines are no records. A field that begins with \x is bytes as hex
// digits, as PostgreSQL writes them; other bytes stand for themselves. A byte order mark before the
// first field is dropped.
#include <fmt/format.h>

#include <holdfast/base/format.hpp>

#include "../text_encoding.hpp"
#include "field_text.hpp"
#include "record_parser.hpp"

namespace holdfast::tools {
namespace {

constexpr std::string_view kBytes = "\\x";

class CsvParser final : public RecordParser {
 public:
  explicit CsvParser(const ParserOptions& options)
      : max_bytes_(options.limits.record_bytes), skip_header_(options.header) {}

  bool feed(std::string_view chunk, RecordSink& sink) override {
    for (const char c : chunk) {
      if (mark_bytes_ < kByteOrderMark.size() && c == kByteOrderMark[mark_bytes_]) {
        ++mark_bytes_;
        continue;
      }
      if (!take_back_mark(sink) || !next(c, sink)) return false;
    }
    return true;
  }

  bool finish(RecordSink& sink) override {
    if (mark_bytes_ < kByteOrderMark.size() && !take_back_mark(sink)) return false;
    if (state_ == State::kQuoted) {
      if (reason_.empty())
        reason_ = "the quote at " + where(fields_[field_]) + " is not closed before the end";
      return sink.skip(line_of_record_, reason_);
    }
    if (state_ == State::kReturn) state_ = State::kPlain;
    ++column_;
    return state_ == State::kRestOfLine || end_record(sink);
  }

 private:
  enum class State : std::uint8_t {
    kFieldBegins,
    kPlain,
    kQuoted,
    kQuoteInQuoted,  // The end of the field, or the first of two.
    kReturn,
    kRestOfLine,  // Of a record that is skipped.
  };
  struct Field {
    std::string text;
    std::uint64_t line = 1, column = 1;
  };

  // What looked like a mark is the first field's.
  bool take_back_mark(RecordSink& sink) {
    if (mark_bytes_ == kByteOrderMark.size()) return true;
    const auto taken = kByteOrderMark.substr(0, mark_bytes_);
    mark_bytes_ = kByteOrderMark.size();
    for (const char c : taken) {
      if (!next(c, sink)) return false;
    }
    return true;
  }

  bool next(char c, RecordSink& sink) {
    ++column_;
    const bool go_on = take(c, sink);
    if (c == '\n') {
      ++line_;
      column_ = 0;
    }
    if (state_ == State::kFieldBegins && c != '"') begin_field();
    return go_on;
  }

  bool take(char c, RecordSink& sink) {
    switch (state_) {
      case State::kRestOfLine:
        if (c == '\n') reset();
        return true;
      case State::kReturn:
        if (c == '\n') return end_record(sink);
        return refuse("a carriage return without a newline; in a field it needs quotes", 1, c,
                      sink);
      case State::kQuoted:
        if (c == '"')
          state_ = State::kQuoteInQuoted;
        else
          keep(c);
        return true;
      default: break;
    }
    switch (c) {
      case '\n': return end_record(sink);
      case '\r': state_ = State::kReturn; return true;
      case ',':
        if (field_ < 2 && ++field_ == 2 && reason_.empty())
          reason_ = at_column(column_, "a third field; a record is KEY,VALUE");
        state_ = State::kFieldBegins;
        return true;
      case '"':
        if (state_ == State::kPlain) {
          return refuse(
              "a quote in a field that does not begin with one; put the field in quotes "
              "and double it",
              0, c, sink);
        }
        if (state_ == State::kQuoteInQuoted) keep('"');
        state_ = State::kQuoted;
        seen_ = true;
        return true;
      default: break;
    }
    if (state_ == State::kQuoteInQuoted) {
      return refuse(fmt::format("'{}' behind a closing quote; allowed are a comma, a second quote "
                                "and the end of the line",
                                visible({&c, 1})),
                    0, c, sink);
    }
    keep(c);
    state_ = State::kPlain;
    return true;
  }

  void keep(char c) {
    seen_ = true;
    if (field_ >= 2 || !reason_.empty()) return;
    if (fields_[0].text.size() + fields_[1].text.size() == max_bytes_) {
      reason_ = fmt::format("a record of more than {} bytes; raise --max-record", max_bytes_);
      fields_[0].text = fields_[1].text = {};  // Gives the memory back.
      return;
    }
    fields_[field_].text += c;
  }
  void begin_field() {
    if (field_ >= 2) return;
    fields_[field_].line = line_;
    fields_[field_].column = column_ + 1;
    if (field_ == 0) line_of_record_ = line_;
  }
  void reset() {
    state_ = State::kFieldBegins;
    field_ = 0;
    seen_ = false;
    reason_.clear();
    fields_[0].text.clear();
    fields_[1].text.clear();
  }

  // Nothing more of this line is read. `back`: so many columns before this one.
  bool refuse(std::string_view what, std::uint64_t back, char c, RecordSink& sink) {
    const auto line = line_of_record_;
    const auto reason = where({{}, line_, column_ - back}) + ": " + std::string{what};
    state_ = State::kRestOfLine;
    if (c == '\n') reset();
    skip_header_ = false;  // That was the header.
    return sink.skip(line, reason);
  }

  bool end_record(RecordSink& sink) {
    const auto line = line_of_record_;
    const bool empty = field_ == 0 && !seen_;
    std::string key, value, reason = reason_;
    if (reason.empty() && !empty && field_ == 0)
      reason = at_column(column_, "the end of the line; a record is KEY,VALUE");
    if (reason.empty()) reason = bytes_of(fields_[0], key);
    if (reason.empty()) reason = bytes_of(fields_[1], value);
    reset();
    if (empty) return true;
    if (std::exchange(skip_header_, false)) return true;  // However many columns it names.
    if (!reason.empty()) return sink.skip(line, reason);
    return sink.record(key, value, line);
  }

  std::string bytes_of(Field& field, std::string& bytes) const {
    if (!field.text.starts_with(kBytes)) {
      bytes = std::move(field.text);
      return {};
    }
    auto decoded = hex_field(std::string_view{field.text}.substr(kBytes.size()), kBytes.size() + 1);
    if (!decoded)
      return "the field at " + where(field) + " is bytes in hex, and at its " +
             decoded.error().detail;
    bytes = std::move(*decoded);
    return {};
  }
  // Relative to the line at which the record begins, which the reader is told already.
  std::string where(const Field& place) const {
    if (place.line == line_of_record_) return fmt::format("column {}", place.column);
    return fmt::format("line {}, column {}", place.line, place.column);
  }

  const std::uint64_t max_bytes_;
  bool skip_header_;
  State state_ = State::kFieldBegins;
  std::size_t mark_bytes_ = 0;  // Of a mark at the beginning; all of them once that is passed.
  std::uint64_t line_ = 1, column_ = 0, line_of_record_ = 1;
  Field fields_[2];
  unsigned field_ = 0;
  bool seen_ = false;   // The record has a byte or a quote.
  std::string reason_;  // Why the record is skipped, once its end is reached.
};

void append_csv_field(std::string& out, std::string_view bytes, bool as_hex) {
  if (as_hex || !is_valid_utf8(bytes) || bytes.starts_with(kBytes) ||
      bytes.find('\0') != std::string_view::npos) {
    out.append(kBytes).append(to_hex(bytes));
    return;
  }
  if (bytes.find_first_of(",\"\r\n") == std::string_view::npos &&
      !bytes.starts_with(kByteOrderMark)) {
    out.append(bytes);
    return;
  }
  out += '"';
  for (const char c : bytes) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace

std::unique_ptr<RecordParser> make_csv_parser(const ParserOptions& options) {
  return std::make_unique<CsvParser>(options);
}

void append_csv(std::string& out, std::string_view key, std::string_view value, bool as_hex) {
  append_csv_field(out, key, as_hex);
  out += ',';
  append_csv_field(out, value, as_hex);
  out += '\n';
}

}  // namespace holdfast::tools
