// packing.hpp: how fill() of a cursor puts records into a buffer. unpack() takes them out.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/base/units.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/record.hpp>

namespace holdfast::kv {

struct PackedHeader {
  std::uint32_t key_bytes;
  std::uint32_t zero;
  std::uint64_t value_bytes;
  std::uint64_t version;
};
static_assert(sizeof(PackedHeader) == kPackedHeaderBytes);

inline std::size_t packed_bytes(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  return round_up(sizeof(PackedHeader) + key_bytes + value_bytes, 8);
}

// A buffer that records are packed into.
struct Packing {
  std::span<std::byte> buffer;
  std::size_t most;  // Records.
  std::size_t used = 0, records = 0;

  bool takes(std::uint64_t key_bytes, std::uint64_t value_bytes) const {
    return records < most && packed_bytes(key_bytes, value_bytes) <= buffer.size() - used;
  }
  // takes() was asked. `Path` reads the value, which may have words that change (hot_path.hpp).
  template <class Path>
  void add(std::string_view key, Bytes value, Version version) {
    const PackedHeader header{static_cast<std::uint32_t>(key.size()), 0, value.size(), version};
    const std::size_t bytes = packed_bytes(key.size(), value.size());
    std::byte* const to = buffer.data() + used;
    std::memset(to + bytes - 8, 0, 8);  // Below what follows, but for the last zeros.
    std::memcpy(to, &header, sizeof header);
    if (key.size() == 16) [[likely]]  // A copy of constant size needs no call.
      std::memcpy(to + sizeof header, key.data(), 16);
    else
      std::memcpy(to + sizeof header, key.data(), key.size());
    Path::read(to + sizeof header + key.size(), value.data(), value.size());
    used += bytes, ++records;
  }
};

// What BasicReads::pack() came to.
struct Packed {
  enum class End : std::uint8_t {
    kAllKeys,     // Of the keys that were at hand.
    kNoRoom,      // The key at `keys` leads to a record that was not packed: it is in `next`.
    kUnreadable,  // The key at `keys` has to be looked up once more, for the error.
  };
  End end = End::kAllKeys;
  std::size_t keys = 0;  // So many are done with.
};

// A record that a cursor is at.
struct RecordAt {
  std::string value;
  Version version = 0;
};

}  // namespace holdfast::kv
