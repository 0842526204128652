// Many records per call, for bindings: Cursor::fill() and unpack().
#include <cstring>

#include <holdfast/kv/cursor_state.hpp>
#include <holdfast/kv/pack_verbs.hpp>

namespace holdfast::kv {

[[gnu::flatten]] Packed Cursor::State::pack_keys(SpaceCore& core, index::ordered::Cursor& keys,
                                                 Packing& packing, RecordAt& next) {
  return core.reads.pack<AnyPath>(keys, packing, next);
}

Result<std::size_t> Cursor::fill(std::span<std::byte> buffer, std::size_t most) {
  Packing packing{buffer, most};
  if (*this && most != 0) state_->pack(packing);
  return fill_on(packing);
}

Result<std::size_t> Cursor::fill_from(std::string_view key, std::span<std::byte> buffer,
                                      std::size_t most) {
  Packing packing{buffer, most};
  if (most == 0 || !state_->pack_from(key, packing)) seek(key);
  return fill_on(packing);
}

// What was not packed at once, record by record.
Result<std::size_t> Cursor::fill_on(Packing& packing) {
  for (; *this && packing.takes(key().size(), value().size()); next())
    packing.add<AnyPath>(key(), std::as_bytes(std::span(value())), version());
  if (packing.used != 0 || packing.most == 0) return packing.used;
  if (!status()) return status().error();
  if (!*this) return std::size_t{0};
  return Error{Errc::kTooLarge, "fill: the next record needs " +
                                    std::to_string(packed_bytes(key().size(), value().size())) +
                                    " bytes, the buffer has " +
                                    std::to_string(packing.buffer.size())};
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
