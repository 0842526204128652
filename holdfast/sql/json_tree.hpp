// json_tree.hpp: a text of JSON as a tree.
//
// Bounds  Texts that are nested deeper than kMaxJsonDepth are taken for no JSON, so that what walks
//         a tree may call itself. Of members of one name the last one stays.
// Cost    O(n log n) of the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sql {

inline constexpr std::size_t kMaxJsonDepth = 1000;

struct JsonNode {
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kText, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string text;                // Of a number as it was written, where it is no whole one.
  std::vector<JsonNode> parts;     // Of arrays and objects.
  std::vector<std::string> names;  // Of an object's parts.

  bool is_container() const { return kind == Kind::kArray || kind == Kind::kObject; }
  // A member of an object; null: it has no such member.
  const JsonNode* member(std::string_view name) const;
};

// Puts a tree together, token by token: members are a key and a value each.
class JsonBuilder {
 public:
  void clear();
  JsonNode take() { return std::exchange(root_, {}); }  // What was begun has ended.

  void add(JsonNode::Kind kind, std::string text);  // No container.
  void key(std::string name);
  // False: it is nested deeper than kMaxJsonDepth.
  bool open(JsonNode::Kind kind);
  void close();

 private:
  JsonNode& place();

  JsonNode root_;
  std::vector<JsonNode*> open_;  // They stay where they are: only the innermost one gets parts.
};

// nullopt: the text is no JSON (RFC 8259), or has characters that are no UTF-8.
std::optional<JsonNode> parse_json(std::string_view text);
// Without blanks.
void append_json(const JsonNode& node, std::string& text);
void append_json_text(std::string_view text, std::string& out);

}  // namespace holdfast::sql
