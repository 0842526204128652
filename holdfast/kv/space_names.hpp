// space_names.hpp: the record that the system space holds for each keyspace that was ever created.
//
//   key     the space's id, two bytes, little-endian
//   value   1 (live) or 2 (dropped), then the name
//
// Creating and dropping a space are one put each. What was dropped keeps its record, so that no id
// is handed out twice: records of the old space may lie in runs of several spaces still.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/kv/format.hpp>

namespace holdfast::kv {

inline constexpr std::size_t kMaxSpaceNameBytes = 255;

struct SpaceName {
  std::string text;
  bool live = true;
};

inline std::string encode_space_id(std::uint16_t id) {
  return {static_cast<char>(id & 0xff), static_cast<char>(id >> 8)};
}
inline std::string encode_space_name(const SpaceName& name) {
  return std::string(1, name.live ? '\1' : '\2') + name.text;
}
// False: no such record is ever written.
inline bool decode_space_name(std::string_view key, std::string_view value, std::uint16_t& id,
                              SpaceName& name) {
  if (key.size() != 2 || value.size() < 2 || value.size() > 1 + kMaxSpaceNameBytes) return false;
  if (value[0] != '\1' && value[0] != '\2') return false;
  id = static_cast<std::uint16_t>(static_cast<unsigned char>(key[0]) |
                                  static_cast<unsigned char>(key[1]) << 8);
  name = {std::string(value.substr(1)), value[0] == '\1'};
  return id >= kFirstSpace && id <= kLastSpace;
}

}  // namespace holdfast::kv
