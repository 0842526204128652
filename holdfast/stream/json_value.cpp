#include "json_value.hpp"

#include <cmath>
#include <vector>

#include <holdfast/sql/nested.hpp>

namespace holdfast::stream {
namespace {

using sql::append_json_text;
using sql::JsonNode;
using sql::Kind;
using sql::Type;
using sql::Value;
using NodeKind = JsonNode::Kind;

// Goes through a tree with a type beside it, as deep as the type is.
class NestedTaker {
 public:
  explicit NestedTaker(const NestedJson& options) : options_(options) {}

  std::optional<Value> any(const JsonNode& node, const Type& type) const {
    switch (node.kind) {
      case NodeKind::kNull: return Value();
      case NodeKind::kFalse:
      case NodeKind::kTrue: return boolean(node.kind == NodeKind::kTrue, type);
      case NodeKind::kNumber:
        if (type.is_time() || type.kind == Kind::kBoolean) return std::nullopt;
        return text(node.text, type);
      case NodeKind::kText: return text(node.text, type);
      case NodeKind::kArray:
        return type.kind == Kind::kArray ? array(node, type) : json(node, type);
      case NodeKind::kObject: break;
    }
    if (type.kind == Kind::kRow) return row(node, type);
    return type.kind == Kind::kMap ? map(node, type) : json(node, type);
  }

 private:
  std::optional<Value> text(std::string text, const Type& type) const {
    if (type.is_nested()) return std::nullopt;
    return value_of_text(text, type, options_.iso_times);
  }

  static std::optional<Value> boolean(bool yes, const Type& type) {
    if (type.kind == Kind::kBoolean) return Value::of(yes ? 1 : 0);
    if (type.kind != Kind::kString) return std::nullopt;
    return sql::value_of(yes ? "true" : "false", type);
  }

  // What is nested within a STRING stays JSON.
  static std::optional<Value> json(const JsonNode& node, const Type& type) {
    if (type.kind != Kind::kString) return std::nullopt;
    std::string text;
    sql::append_json(node, text);
    return sql::value_of(text, type);
  }

  std::optional<Value> array(const JsonNode& node, const Type& type) const {
    sql::NestedWriter writer(type);
    for (const auto& part : node.parts) {
      const auto element = any(part, sql::element_of(type));
      if (!element || !writer.add(*element)) return std::nullopt;
    }
    return writer.take();
  }

  std::optional<Value> row(const JsonNode& node, const Type& type) const {
    sql::NestedWriter writer(type);
    for (const auto& field : type.nested->fields) {
      const auto* const member = node.member(field.name);
      if (member == nullptr && options_.fail_on_missing) return std::nullopt;
      const auto value = member != nullptr ? any(*member, field.type) : Value();
      if (!value || !writer.add(*value)) return std::nullopt;
    }
    return writer.take();
  }

  std::optional<Value> map(const JsonNode& node, const Type& type) const {
    const auto& fields = type.nested->fields;
    std::vector<Value> entries;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      auto key = text(node.names[i], fields[0].type);
      auto value = any(node.parts[i], fields[1].type);
      if (!key || !value) return std::nullopt;
      entries.push_back(*std::move(key));
      entries.push_back(*std::move(value));
    }
    return sql::map_of(entries, type);
  }

  const NestedJson& options_;
};

std::string text_in_json(const Value& value, const Type& type, bool iso_times) {
  auto text = sql::text_of(value, type);
  if (type.kind == Kind::kTimestamp && iso_times && text.size() > 10) text[text.find(' ')] = 'T';
  return text;
}

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
      append_json_text(text_in_json(part, part_type, iso_times), out);
      out += ':';
    } else {
      append_json_value(part, part_type, iso_times, out);
    }
  }
  out += type.kind == Kind::kArray ? ']' : '}';
}

}  // namespace

void append_json_value(const Value& value, const Type& type, bool iso_times, std::string& out) {
  if (value.null) {
    out += "null";
  } else if (type.is_nested()) {
    append_parts(value, type, iso_times, out);
  } else if (type.kind == Kind::kBoolean || type.is_exact() ||
             (type.is_real() && std::isfinite(value.real))) {
    sql::append_text(value, type, out);
  } else {
    append_json_text(text_in_json(value, type, iso_times), out);
  }
}

std::optional<Value> value_of_text(std::string& text, const Type& type, bool iso_times) {
  if (type.kind != Kind::kTimestamp) return sql::value_of(text, type);
  const auto t = text.find('T');
  if (iso_times != (t != std::string::npos)) return std::nullopt;
  if (iso_times) text[t] = ' ';
  // Of an instant it says that the text is UTC.
  if (type.zone == nullptr && text.ends_with('Z')) text.pop_back();
  return sql::value_of(text, type);
}

std::optional<Value> nested_value_of(const sql::JsonNode& json, const Type& type,
                                     const NestedJson& options) {
  return NestedTaker(options).any(json, type);
}

}  // namespace holdfast::stream
