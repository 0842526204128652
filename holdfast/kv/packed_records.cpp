// Many records per call, for bindings: Cursor::fill() and unpack().
#include <cstring>

#include <holdfast/base/units.hpp>
#include <holdfast/kv/cursor.hpp>

namespace holdfast::kv {
namespace {

struct PackedHeader {
  std::uint32_t key_bytes;
  std::uint32_t zero;
  std::uint64_t value_bytes;
  std::uint64_t version;
};
static_assert(sizeof(PackedHeader) == kPackedHeaderBytes);

std::size_t packed_bytes(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  return round_up(sizeof(PackedHeader) + key_bytes + value_bytes, 8);
}

void pack(const Cursor& cursor, std::span<std::byte> to) {
  const std::string_view key = cursor.key(), value = cursor.value();
  const PackedHeader header{static_cast<std::uint32_t>(key.size()), 0, value.size(),
                            cursor.version()};
  std::memcpy(to.data(), &header, sizeof header);
  std::memcpy(to.data() + sizeof header, key.data(), key.size());
  std::memcpy(to.data() + sizeof header + key.size(), value.data(), value.size());
  const std::size_t used = sizeof header + key.size() + value.size();
  std::memset(to.data() + used, 0, to.size() - used);
}

}  // namespace

Result<std::size_t> Cursor::fill(std::span<std::byte> buffer) {
  std::size_t used = 0;
  for (; *this; next()) {
    const std::size_t bytes = packed_bytes(key().size(), value().size());
    if (bytes > buffer.size() - used) {
      if (used > 0) return used;
      return Error{Errc::kTooLarge, "fill: the next record needs " + std::to_string(bytes) +
                                        " bytes, the buffer has " + std::to_string(buffer.size())};
    }
    pack(*this, buffer.subspan(used, bytes));
    used += bytes;
  }
  if (used == 0 && !status()) return status().error();
  return used;
}

std::optional<PackedRecord> unpack(std::span<const std::byte>& packed) {
  PackedHeader header;
  if (packed.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, packed.data(), sizeof header);
  const std::uint64_t room = packed.size() - sizeof header;
  if (header.key_bytes > room || header.value_bytes > room - header.key_bytes) return std::nullopt;
  const std::size_t bytes = packed_bytes(header.key_bytes, header.value_bytes);
  if (bytes > packed.size()) return std::nullopt;
  const auto* const key = reinterpret_cast<const char*>(packed.data() + sizeof header);
  packed = packed.subspan(bytes);
  return PackedRecord{
      {key, header.key_bytes}, {key + header.key_bytes, header.value_bytes}, header.version};
}

}  // namespace holdfast::kv
