// blocks.hpp: many entries of the state as one text, so that a checkpoint writes them at memory's
// bandwidth and not one by one.
//
//   of each entry   size of the key, key, size of the state, state
//   a size          a byte; 255: four more have it, in the machine's order
//
// Entries of a block have a generation. Within one, a later entry of a key takes the place of an
// earlier one; what several generations have of a key is merged.
#pragma once

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/bytes.hpp>

namespace holdfast::query {

inline constexpr std::size_t kBlockBytes = 60 * 1024;  // Then it is full: four fit what kv fills.

// The size of what stands behind this place: it takes the place of a byte.
void put_large_size(std::uint32_t size, std::size_t place, std::string& bytes);

// `write(bytes)` appends to them; before it, its size.
template <class Write>
void append_sized(std::string& bytes, const Write& write) {
  const auto place = bytes.size();
  append_raw('\0', bytes);
  write(bytes);
  const auto size = static_cast<std::uint32_t>(bytes.size() - place - 1);
  if (size >= 255) [[unlikely]]
    return put_large_size(size, place, bytes);
  bytes[place] = static_cast<char>(size);
}

// The next entry of a block; false: it is none.
bool take_block_entry(Text& block, Text& key, Text& state);

#ifndef HOLDFAST_APART

HF_APART void put_large_size(std::uint32_t size, std::size_t place, std::string& bytes) {
  char longer[1 + sizeof size] = {'\xFF'};
  std::memcpy(longer + 1, &size, sizeof size);
  bytes.replace(place, 1, longer, sizeof longer);
}
inline bool take_sized(Text& bytes, Text& part) {
  std::uint8_t byte = 0;
  if (!take_raw(bytes, byte)) return false;
  std::uint32_t size = byte;
  if (byte == 255 && !take_raw(bytes, size)) return false;
  if (bytes.size < size) return false;
  part = {bytes.data, size};
  bytes.data += size;
  bytes.size -= size;
  return true;
}
HF_APART bool take_block_entry(Text& block, Text& key, Text& state) {
  return take_sized(block, key) && take_sized(block, state);
}

#endif

}  // namespace holdfast::query
