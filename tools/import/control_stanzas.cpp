// Debian control stanzas: "Field: value" lines, continued by lines that begin with a blank, ended
// by an empty line. A record's value is the stanza's text as it stands, each line ended by one
// '\n', without byte order marks at its beginning and '\r's at the ends of its lines.
#include <fmt/format.h>

#include <cctype>

#include "../text_encoding.hpp"
#include "line_splitter.hpp"
#include "record_parser.hpp"

namespace holdfast::tools {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (a.size() != b.size()) return false;
  for (std::size_t at = 0; at < a.size(); ++at) {
    if (lower(a[at]) != lower(b[at])) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

class ControlParser final : public RecordParser {
 public:
  explicit ControlParser(const ParserOptions& options)
      : fields_(options.key_fields),
        max_bytes_(options.limits.record_bytes),
        lines_(max_bytes_),
        parts_(fields_.size()) {}

  bool feed(std::string_view chunk, RecordSink& sink) override {
    return lines_.feed(chunk, [&](auto... line) { return on_line(line..., sink); });
  }
  bool finish(RecordSink& sink) override {
    return lines_.finish([&](auto... line) { return on_line(line..., sink); }) && end_stanza(sink);
  }

 private:
  struct Part {
    bool found = false;
    std::string value;
  };

  bool on_line(std::string_view line, std::uint64_t number, bool too_long, RecordSink& sink) {
    // Files put one behind the other have byte order marks in the middle, too.
    while (first_line_ == 0 && line.substr(0, 3) == "\xEF\xBB\xBF")
      line.remove_prefix(3);
    if (!too_long && trimmed(line).empty()) return end_stanza(sink);
    if (first_line_ == 0) first_line_ = number;
    if (!reason_.empty()) return true;  // The rest of a stanza that is skipped.
    if (too_long || text_.size() + line.size() + 1 > max_bytes_) {
      return refuse(fmt::format("a stanza of more than {} bytes; raise --max-record", max_bytes_));
    }
    if (line.front() == ' ' || line.front() == '\t') {
      if (!in_field_)
        return refuse(fmt::format("line {} continues a field, but none has begun", number));
    } else if (line.front() != '#') {
      const std::size_t colon = line.find(':');
      const std::string_view name = line.substr(0, colon);
      if (colon == std::string_view::npos || name.empty() || name.front() == '-' ||
          name.find_first_of(std::string_view{" \t\0", 3}) != std::string_view::npos) {
        return refuse(fmt::format("line {} is no \"Field: value\": '{}'", number,
                                  visible(line.substr(0, 40))));
      }
      in_field_ = true;
      for (std::size_t at = 0; at < fields_.size(); ++at) {
        if (!same_name(name, fields_[at])) continue;
        if (parts_[at].found) return refuse(fmt::format("field '{}' twice", fields_[at]));
        parts_[at] = {true, std::string{trimmed(line.substr(colon + 1))}};
      }
    }
    text_.append(line);
    text_ += '\n';
    return true;
  }

  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    text_ = {};
    return true;
  }

  bool end_stanza(RecordSink& sink) {
    if (first_line_ == 0) return true;
    bool go_on = true;
    std::string key;
    for (std::size_t at = 0; at < fields_.size() && reason_.empty(); ++at) {
      if (!parts_[at].found)
        reason_ = fmt::format("no field '{}', which the key needs", fields_[at]);
      if (parts_[at].found && parts_[at].value.empty())
        reason_ = fmt::format("field '{}' is empty", fields_[at]);
      if (at != 0) key += '_';
      key += parts_[at].value;
    }
    go_on = reason_.empty() && !in_field_ ? true  // Comments only.
            : reason_.empty()             ? sink.record(key, text_, first_line_)
                                          : sink.skip(first_line_, reason_);
    text_.clear();
    reason_.clear();
    for (Part& part : parts_)
      part = {};
    first_line_ = 0;
    in_field_ = false;
    return go_on;
  }

  std::vector<std::string> fields_;
  std::uint64_t max_bytes_;
  LineSplitter lines_;
  std::vector<Part> parts_;       // The key fields of this stanza, in the order of fields_.
  std::string text_;              // This stanza so far.
  std::string reason_;            // Why it will be skipped.
  std::uint64_t first_line_ = 0;  // 0: between stanzas.
  bool in_field_ = false;
};

}  // namespace

std::unique_ptr<RecordParser> make_control_parser(const ParserOptions& options) {
  return std::make_unique<ControlParser>(options);
}

}  // namespace holdfast::tools
