// tree.hpp: a YAML text as a tree in which every node knows its place. Only
// tree.cpp knows the library that reads YAML.
//
// Guarantee  No text crashes or hangs: at most kBytesMax bytes, kNodesMax nodes and
//            kDepthMax levels, and an alias shares its node instead of copying it
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

#include <holdfast/yaml/diagnostics.hpp>

namespace holdfast::yaml {

inline constexpr std::size_t kBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kNodesMax = 200'000;
inline constexpr int kDepthMax = 32;

struct Node;
using Pointer = std::shared_ptr<const Node>;

struct Entry {
  std::string key;
  Position key_position;
  Pointer value;  // Never null.
};

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  Position position;
  std::string text;            // Of a scalar.
  std::vector<Pointer> items;  // Of a list.
  std::vector<Entry> entries;  // Of a map, in the order of the file, keys unique.
  bool incomplete = false;     // Of a map: an entry was a mistake and is left out.

  const Entry* find(std::string_view key) const;
};

// "a text", "a list", "a map", "nothing": for messages.
std::string_view name(Node::Kind kind);

// The first document of `text`; a node of nothing for an empty one.
Pointer parse(const std::string& text, const std::string& file, Diagnostics& diagnostics);

}  // namespace holdfast::yaml
