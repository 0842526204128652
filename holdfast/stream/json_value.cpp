#include "json_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <holdfast/sql/nested.hpp>

namespace holdfast::stream {
namespace {

using sql::Kind;
using sql::Type;
using sql::Value;

// Goes through a text with a type beside it, as deep as the type is.
class NestedParser {
 public:
  NestedParser(std::string_view json, const NestedJson& options) : json_(json), options_(options) {}

  std::optional<Value> whole(const Type& type) {
    auto value = any(type);
    return at_ == json_.size() ? std::move(value) : std::nullopt;
  }

 private:
  char peek() const { return at_ < json_.size() ? json_[at_] : '\0'; }
  bool accept(char c) { return peek() == c && (++at_, true); }
  bool accept(std::string_view word) {
    if (!json_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::optional<Value> any(const Type& type) {
    if (accept("null")) return Value();
    switch (peek()) {
      case '[': return type.kind == Kind::kArray ? array(type) : as_text(type);
      case '{':
        return type.kind == Kind::kRow   ? row(type)
               : type.kind == Kind::kMap ? map(type)
                                         : as_text(type);
      case '"': {
        auto text = string();
        if (!text || type.is_nested()) return std::nullopt;
        return value_of_text(*text, type, options_.iso_times);
      }
      case 't':
      case 'f': return boolean(type);
      default: return number(type);
    }
  }

  std::optional<Value> boolean(const Type& type) {
    const bool yes = accept("true");
    if (!yes && !accept("false")) return std::nullopt;
    if (type.kind == Kind::kBoolean) return Value::of(yes ? 1 : 0);
    if (type.kind != Kind::kString) return std::nullopt;
    return sql::value_of(yes ? "true" : "false", type);
  }

  std::optional<Value> number(const Type& type) {
    const auto begin = at_;
    while (at_ < json_.size() && json_[at_] != ',' && json_[at_] != ']' && json_[at_] != '}')
      ++at_;
    if (type.is_nested() || type.is_time() || type.kind == Kind::kBoolean) return std::nullopt;
    std::string text(json_.substr(begin, at_ - begin));
    return value_of_text(text, type, options_.iso_times);
  }

  // What is nested within a STRING stays JSON.
  std::optional<Value> as_text(const Type& type) {
    const auto begin = at_;
    if (!skip() || type.kind != Kind::kString) return std::nullopt;
    return sql::value_of(json_.substr(begin, at_ - begin), type);
  }

  // One value of any depth.
  bool skip() {
    std::size_t depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        if (!string()) return false;
        continue;
      }
      if (at_ == json_.size()) return false;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
      ++at_;
      // A number or a word, to what ends it.
      if (depth == 0 && c != ']' && c != '}') {
        while (at_ < json_.size() && json_[at_] != ',' && json_[at_] != ']' && json_[at_] != '}')
          ++at_;
      }
    } while (depth > 0);
    return true;
  }

  std::optional<std::string> string() {
    if (!accept('"')) return std::nullopt;
    std::string text;
    for (;;) {
      if (at_ == json_.size()) return std::nullopt;
      const char c = json_[at_++];
      if (c == '"') return text;
      if (c != '\\') {
        text += c;
        continue;
      }
      if (at_ == json_.size()) return std::nullopt;
      switch (const char code = json_[at_++]) {
        case 'n': text += '\n'; break;
        case 'r': text += '\r'; break;
        case 't': text += '\t'; break;
        case 'u': {
          unsigned number = 0;
          const auto digits = json_.substr(at_, 4);
          const auto [stop, wrong] =
              std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
          if (wrong != std::errc() || stop != digits.data() + 4 || number > 0x7F)
            return std::nullopt;
          text += static_cast<char>(number);
          at_ += 4;
          break;
        }
        default: text += code;
      }
    }
  }

  std::optional<Value> array(const Type& type) {
    accept('[');
    sql::NestedWriter writer(type);
    if (accept(']')) return writer.take();
    do {
      auto element = any(sql::element_of(type));
      if (!element || !writer.add(*element)) return std::nullopt;
    } while (accept(','));
    return accept(']') ? std::optional(writer.take()) : std::nullopt;
  }

  // Visits the members of an object: visit(name) -> bool takes the value. False: one did not.
  template <class Visit>
  bool object(Visit visit) {
    accept('{');
    if (accept('}')) return true;
    do {
      auto name = string();
      if (!name || !accept(':') || !visit(*name)) return false;
    } while (accept(','));
    return accept('}');
  }

  std::optional<Value> row(const Type& type) {
    const auto& fields = type.nested->fields;
    std::vector<Value> values(fields.size());
    std::vector<bool> seen(fields.size());
    const bool done = object([&](const std::string& name) {
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const auto& one) { return one.name == name; });
      if (field == fields.end()) return skip();
      const auto place = static_cast<std::size_t>(field - fields.begin());
      auto value = any(field->type);
      if (!value) return false;
      values[place] = *std::move(value);
      seen[place] = true;
      return true;
    });
    if (!done) return std::nullopt;
    sql::NestedWriter writer(type);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (options_.fail_on_missing && !seen[i]) return std::nullopt;
      if (!writer.add(values[i])) return std::nullopt;
    }
    return writer.take();
  }

  std::optional<Value> map(const Type& type) {
    const auto& fields = type.nested->fields;
    std::vector<Value> entries;
    const bool done = object([&](std::string& name) {
      auto key = fields[0].type.is_nested()
                     ? std::nullopt
                     : value_of_text(name, fields[0].type, options_.iso_times);
      if (!key) return false;
      auto value = any(fields[1].type);
      if (!value) return false;
      entries.push_back(*std::move(key));
      entries.push_back(*std::move(value));
      return true;
    });
    return done ? sql::map_of(entries, type) : std::nullopt;
  }

  const std::string_view json_;
  const NestedJson& options_;
  std::size_t at_ = 0;
};

void append_parts(const Value& value, const Type& type, bool iso_times, std::string& out) {
  sql::NestedReader reader(value.text, type);
  out += type.kind == Kind::kArray ? '[' : '{';
  Value part;
  for (std::size_t i = 0; !reader.is_done(); ++i) {
    const Type& part_type = reader.part_type();
    if (!reader.next(part)) break;
    const bool is_value = type.kind == Kind::kMap && i % 2 == 1;
    if (i != 0 && !is_value) out += ',';
    if (type.kind == Kind::kRow) {
      append_json_text(type.nested->fields[i].name, out);
      out += ':';
    }
    if (type.kind == Kind::kMap && !is_value) {
      append_json_text(sql::text_of(part, part_type), out);
      out += ':';
    } else {
      append_json_value(part, part_type, iso_times, out);
    }
  }
  out += type.kind == Kind::kArray ? ']' : '}';
}

}  // namespace

void append_json_text(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          std::array<char, 8> code{};
          std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
          out += code.data();
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append_json_value(const Value& value, const Type& type, bool iso_times, std::string& out) {
  if (value.null) {
    out += "null";
  } else if (type.is_nested()) {
    append_parts(value, type, iso_times, out);
  } else if (type.kind == Kind::kBoolean || type.is_exact() ||
             (type.is_real() && std::isfinite(value.real))) {
    out += sql::text_of(value, type);
  } else {
    auto text = sql::text_of(value, type);
    if (type.kind == Kind::kTimestamp && iso_times && text.size() > 10) text[text.find(' ')] = 'T';
    append_json_text(text, out);
  }
}

std::optional<Value> value_of_text(std::string& text, const Type& type, bool iso_times) {
  if (type.kind != Kind::kTimestamp) return sql::value_of(text, type);
  const auto t = text.find('T');
  if (iso_times != (t != std::string::npos)) return std::nullopt;
  if (iso_times) text[t] = ' ';
  if (text.ends_with('Z')) text.pop_back();
  return sql::value_of(text, type);
}

std::optional<Value> nested_value_of(std::string_view json, const Type& type,
                                     const NestedJson& options) {
  return NestedParser(json, options).whole(type);
}

}  // namespace holdfast::stream
