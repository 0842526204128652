// JSON lines: one object per line; blank lines, and byte order marks before an object, are ignored.
//
//   {"key": "ada", "value": "lovelace"}      text
//   {"key64": "AP8=", "value64": "…"}        bytes in base64, where they are not UTF-8
//   {"id": 17, "name": "ada"}                with key_fields {"id"}: key "17", value the whole
//   object
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include <holdfast/base/format.hpp>

#include "../text_encoding.hpp"
#include "line_splitter.hpp"
#include "record_parser.hpp"

namespace holdfast::tools {
namespace {

constexpr int kOutOfRange = 406;  // nlohmann's id of "number overflow".

// What one line says of the members we want. Everything else is checked for being JSON and dropped.
class LineHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit LineHandler(const std::string* key_member) : key_member_(key_member) {}

  std::optional<std::string> key_text, key_base64, value_text, value_base64;
  std::string reason;  // Not empty: the line cannot be a record.

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("a boolean"); }
  bool number_integer(number_integer_t number) override {
    return scalar("a number", std::to_string(number));
  }
  bool number_unsigned(number_unsigned_t number) override {
    return scalar("a number", std::to_string(number));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return scalar("a number", text);
  }
  bool binary(binary_t&) override { return scalar("binary"); }
  bool string(string_t& text) override {
    if (depth_ == 0) return not_an_object("a string");
    if (depth_ == 1 && wanted_ != nullptr) {
      if (wanted_->has_value()) return fail(fmt::format("member \"{}\" twice", visible(member_)));
      *wanted_ = std::move(text);
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == 1 && wanted_ != nullptr) return wrong_type("an object");
    ++depth_;
    return true;
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return not_an_object("an array");
    if (depth_ == 1 && wanted_ != nullptr) return wrong_type("an array");
    ++depth_;
    return true;
  }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    member_ = name;
    wanted_ = nullptr;
    if (key_member_ != nullptr) {
      if (name == *key_member_) wanted_ = &key_text;
      return true;
    }
    if (name == "key") wanted_ = &key_text;
    if (name == "key64") wanted_ = &key_base64;
    if (name == "value") wanted_ = &value_text;
    if (name == "value64") wanted_ = &value_base64;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    std::string_view text =
        error.what();  // "[json.exception…] parse error at line 1, column 5: syntax error …"
    if (const auto at = text.find("syntax error "); at != std::string_view::npos)
      text.remove_prefix(at + 13);
    reason = fmt::format("not JSON at byte {}: {}", position, visible(text.substr(0, 160)));
    if (error.id == kOutOfRange) {
      reason = fmt::format("a number beyond 64-bit floating point at byte {}; write it as a string",
                           position);
    }
    // What was read follows, and may say anything.
    if (text.substr(0, text.find("; last read")).find("UTF-8") != std::string_view::npos) {
      reason = fmt::format(
          "invalid UTF-8 at byte {}; write bytes that are no text in base64, as \"key64\" and "
          "\"value64\"",
          position);
    }
    return false;
  }

 private:
  bool scalar(std::string_view type, std::string text = {}) {
    if (depth_ == 0) return not_an_object(type);
    if (depth_ != 1 || wanted_ == nullptr) return true;
    if (key_member_ == nullptr || text.empty()) return wrong_type(type);
    if (wanted_->has_value()) return fail(fmt::format("member \"{}\" twice", visible(member_)));
    *wanted_ = std::move(text);
    return true;
  }
  bool not_an_object(std::string_view type) {
    return fail(fmt::format(
        "the line is {}; a record is an object like {{\"key\": \"…\", \"value\": \"…\"}}", type));
  }
  bool wrong_type(std::string_view type) {
    if (key_member_ != nullptr) {
      return fail(fmt::format("member \"{}\", the key, is {}; it must be a string or a number",
                              visible(member_), type));
    }
    return fail(
        fmt::format("member \"{}\" is {}; it must be a string (whole objects: --key MEMBER)",
                    visible(member_), type));
  }
  bool fail(std::string why) {
    reason = std::move(why);
    return false;
  }

  const std::string* key_member_;
  std::uint64_t depth_ = 0;
  std::string member_;
  std::optional<std::string>* wanted_ = nullptr;
};

class JsonLinesParser final : public RecordParser {
 public:
  explicit JsonLinesParser(const ParserOptions& options)
      : key_member_(options.key_fields.empty() ? std::string{} : options.key_fields.front()),
        whole_objects_(!options.key_fields.empty()),
        max_bytes_(options.limits.record_bytes),
        lines_(options.limits.record_bytes) {}

  bool feed(std::string_view chunk, RecordSink& sink) override {
    return lines_.feed(chunk, [&](auto... line) { return on_line(line..., sink); });
  }
  bool finish(RecordSink& sink) override {
    return lines_.finish([&](auto... line) { return on_line(line..., sink); });
  }

 private:
  // Without the blanks around it and the byte order marks before it: files put one behind the other
  // have them in the middle, too, and an object with them would be another one when read back.
  static std::string_view object_of(std::string_view line) {
    for (;;) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
      if (!line.starts_with(kByteOrderMark)) break;
      line.remove_prefix(kByteOrderMark.size());
    }
    return line.substr(0, line.find_last_not_of(" \t\r") + 1);
  }

  bool on_line(std::string_view line, std::uint64_t number, bool too_long, RecordSink& sink) {
    if (too_long) {
      return sink.skip(number,
                       fmt::format("a line of more than {} bytes; raise --max-record", max_bytes_));
    }
    line = object_of(line);
    if (line.empty()) return true;
    // To the JSON library a NUL is the end of the text, whatever comes behind it.
    if (const std::size_t nul = line.find('\0'); nul != std::string_view::npos) {
      return sink.skip(
          number, fmt::format("not JSON at byte {}: a NUL; in a string it is \\u0000", nul + 1));
    }
    LineHandler found{whole_objects_ ? &key_member_ : nullptr};
    const bool parsed = nlohmann::json::sax_parse(line.begin(), line.end(), &found);
    if (!parsed) return sink.skip(number, found.reason);
    if (whole_objects_) {
      if (!found.key_text)
        return sink.skip(number, fmt::format("no member \"{}\", the key", visible(key_member_)));
      return sink.record(*found.key_text, line, number);
    }
    std::string key, value;
    std::string reason = pick("key", found.key_text, found.key_base64, key);
    if (reason.empty()) reason = pick("value", found.value_text, found.value_base64, value);
    if (!reason.empty()) return sink.skip(number, reason);
    return sink.record(key, value, number);
  }

  // The member's bytes into `out`, or why there are none.
  static std::string pick(std::string_view name, std::optional<std::string>& text,
                          const std::optional<std::string>& base64, std::string& out) {
    if (text && base64)
      return fmt::format("both \"{0}\" and \"{0}64\"; one of them is the {0}", name);
    if (!text && !base64) return fmt::format("no member \"{0}\" (or \"{0}64\")", name);
    if (text) {
      out = std::move(*text);
      return {};
    }
    auto bytes = from_base64(*base64);
    if (!bytes) return fmt::format("member \"{}64\": {}", name, bytes.error().detail);
    out = std::move(*bytes);
    return {};
  }

  std::string key_member_;
  bool whole_objects_;
  std::uint64_t max_bytes_;
  LineSplitter lines_;
};

}  // namespace

std::unique_ptr<RecordParser> make_json_lines_parser(const ParserOptions& options) {
  return std::make_unique<JsonLinesParser>(options);
}

}  // namespace holdfast::tools
