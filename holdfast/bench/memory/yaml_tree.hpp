// yaml_tree.hpp: a YAML text as a tree in which every node knows its place. The one file that knows
// the YAML library is yaml_tree.cpp.
//
// Guarantee  No text crashes or hangs: at most kYamlBytesMax bytes, kYamlNodesMax nodes and
//            kYamlDepthMax levels, and an alias shares its node instead of copying it
//            (tests/fuzz/workload_fuzz.cpp).
// Errors     Syntax errors, duplicate keys, keys that are no texts and more than one document are
//            added to the diagnostics with their places. The library stops at the first syntax
//            error; what it read until then is returned all the same.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/bench/memory/diagnostics.hpp>

namespace holdfast::bench::memory {

inline constexpr std::size_t kYamlBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kYamlNodesMax = 200'000;
inline constexpr int kYamlDepthMax = 32;

struct YamlNode;
using YamlPointer = std::shared_ptr<const YamlNode>;

struct YamlEntry {
  std::string key;
  Position key_position;
  YamlPointer value;  // Never null.
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  Position position;
  std::string text;                // Of a scalar.
  std::vector<YamlPointer> items;  // Of a list.
  std::vector<YamlEntry> entries;  // Of a map, in the order of the file, keys unique.
  bool incomplete = false;         // Of a map: an entry was a mistake and is left out.

  const YamlEntry* find(std::string_view key) const;
};

// "a text", "a list", "a map", "nothing": for messages.
std::string_view name(YamlNode::Kind kind);

// The first document of `text`; a node of nothing for an empty one.
YamlPointer parse_yaml(const std::string& text, const std::string& file, Diagnostics& diagnostics);

}  // namespace holdfast::bench::memory
