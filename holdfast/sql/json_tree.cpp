#include "json_tree.hpp"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

namespace holdfast::sql {
namespace {

using Kind = JsonNode::Kind;

// Of members of one name the last one stays.
void drop_repeated(JsonNode& object) {
  auto& names = object.names;
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return names[a] < names[b]; });
  std::vector<bool> later(names.size());
  bool any = false;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const bool again = names[order[i - 1]] == names[order[i]];
    later[order[i - 1]] = again;
    any = any || again;
  }
  if (!any) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < later.size(); ++i) {
    if (later[i]) continue;
    if (kept != i) {
      names[kept] = std::move(names[i]);
      object.parts[kept] = std::move(object.parts[i]);
    }
    ++kept;
  }
  names.resize(kept);
  object.parts.resize(kept);
}

// Takes the tokens that nlohmann::json::sax_parse gives.
class Tokens {
 public:
  explicit Tokens(JsonBuilder& builder) : builder_(builder) {}

  bool null() { return add(Kind::kNull, {}); }
  bool boolean(bool value) { return add(value ? Kind::kTrue : Kind::kFalse, {}); }
  bool number_integer(std::int64_t value) { return add(Kind::kNumber, std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { return add(Kind::kNumber, std::to_string(value)); }
  bool number_float(double, const std::string& written) { return add(Kind::kNumber, written); }
  bool string(std::string& value) { return add(Kind::kText, std::move(value)); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return builder_.open(Kind::kObject); }
  bool start_array(std::size_t) { return builder_.open(Kind::kArray); }
  bool key(std::string& name) { return builder_.key(std::move(name)), true; }
  bool end_object() { return builder_.close(), true; }
  bool end_array() { return builder_.close(), true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    return false;
  }

 private:
  bool add(Kind kind, std::string text) { return builder_.add(kind, std::move(text)), true; }

  JsonBuilder& builder_;
};

}  // namespace

void JsonBuilder::clear() {
  root_ = {};
  open_.clear();
}

JsonNode& JsonBuilder::place() {
  return open_.empty() ? root_ : open_.back()->parts.emplace_back();
}

void JsonBuilder::add(Kind kind, std::string text) {
  auto& node = place();
  node.kind = kind;
  node.text = std::move(text);
}

void JsonBuilder::key(std::string name) { open_.back()->names.push_back(std::move(name)); }

bool JsonBuilder::open(Kind kind) {
  if (open_.size() == kMaxJsonDepth) return false;
  auto& node = place();
  node.kind = kind;
  open_.push_back(&node);
  return true;
}

void JsonBuilder::close() {
  if (open_.back()->kind == Kind::kObject) drop_repeated(*open_.back());
  open_.pop_back();
}

const JsonNode* JsonNode::member(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : &parts[static_cast<std::size_t>(found - names.begin())];
}

std::optional<JsonNode> parse_json(std::string_view text) {
  // The parser takes a zero byte for the end, whatever stands behind it.
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  JsonBuilder builder;
  Tokens tokens(builder);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &tokens)) return std::nullopt;
  return builder.take();
}

void append_json(const JsonNode& node, std::string& text) {
  switch (node.kind) {
    case Kind::kNull: text += "null"; return;
    case Kind::kFalse: text += "false"; return;
    case Kind::kTrue: text += "true"; return;
    case Kind::kNumber: text += node.text; return;
    case Kind::kText: append_json_text(node.text, text); return;
    case Kind::kArray:
    case Kind::kObject: break;
  }
  const bool object = node.kind == Kind::kObject;
  text += object ? '{' : '[';
  for (std::size_t i = 0; i < node.parts.size(); ++i) {
    if (i > 0) text += ',';
    if (object) {
      append_json_text(node.names[i], text);
      text += ':';
    }
    append_json(node.parts[i], text);
  }
  text += object ? '}' : ']';
}

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

}  // namespace holdfast::sql
