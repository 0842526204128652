// Many records per call, for bindings: Cursor::fill() and unpack().
#include <algorithm>
#include <array>
#include <cstring>

#include <holdfast/base/units.hpp>
#include <holdfast/kv/cursor_state.hpp>

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

// `to` has packed_bytes().
void pack(std::string_view key, Bytes value, Version version, std::span<std::byte> to) {
  const PackedHeader header{static_cast<std::uint32_t>(key.size()), 0, value.size(), version};
  std::memset(to.data() + to.size() - 8, 0, 8);  // Below what follows, but for the last zeros.
  std::memcpy(to.data(), &header, sizeof header);
  std::memcpy(to.data() + sizeof header, key.data(), key.size());
  read_words(to.data() + sizeof header + key.size(), value.data(), value.size());
}

// A buffer that records are packed into.
struct Packing {
  std::span<std::byte> buffer;
  std::size_t most;
  std::size_t used = 0, records = 0;

  bool takes(std::size_t bytes) const { return records < most && bytes <= buffer.size() - used; }
  void add(std::string_view key, Bytes value, Version version) {
    const std::size_t bytes = packed_bytes(key.size(), value.size());
    pack(key, value, version, buffer.subspan(used, bytes));
    used += bytes, ++records;
  }
};

constexpr std::size_t kGroup = 16;  // As in get_many().

// Packs what the next keys lead to. Returns how many of them are done with: those behind are for
// the next group, or beyond the buffer (`full`), or the first of them is damaged (`full`, too).
std::size_t pack_group(StoreCore& open, const index::ordered::Cursor& keys, Packing& packing,
                       bool& full) {
  std::array<std::string_view, kGroup> group;
  std::size_t size = 0;
  for (; size < std::min(kGroup, packing.most - packing.records); ++size) {
    const auto key = keys.ahead(true, size);
    if (!key || !keys.is_within(*key)) break;
    group[size] = *key;
  }
  std::array<Errc, kGroup> outcomes;
  outcomes.fill(Errc::kClosed);  // Of those that were not looked up.
  std::size_t beyond = size;     // The first that is there and was not packed.
  const auto add = [&](std::size_t i, const RecordView& record, Bytes value) {
    if (i > beyond) return;
    if (packing.takes(packed_bytes(group[i].size(), value.size())))
      packing.add(group[i], value, record.sequence());
    else
      beyond = i;
  };
  const auto read = open.visit_many(open, ByteSpans(std::span(group).first(size)), outcomes, add);
  if (!read) {
    const auto looked_up = std::find(outcomes.begin(), outcomes.end(), Errc::kClosed);
    beyond = std::min(beyond, static_cast<std::size_t>(looked_up - outcomes.begin()) - 1);
  }
  full = beyond != size;
  return beyond;
}

}  // namespace

Result<std::size_t> Cursor::fill(std::span<std::byte> buffer, std::size_t most) {
  Packing packing{buffer, most};
  if (*this && state_->reads_groups()) {
    bool full = false, at_key = true;
    while (at_key && !full && packing.records < most)
      at_key = state_->pass(pack_group(*state_->core(), *state_->keys, packing, full));
    state_->settle();
  }
  for (; *this && packing.takes(packed_bytes(key().size(), value().size())); next())
    packing.add(key(), std::as_bytes(std::span(value())), version());
  if (packing.used != 0 || most == 0) return packing.used;
  if (!status()) return status().error();
  if (!*this) return std::size_t{0};
  return Error{Errc::kTooLarge, "fill: the next record needs " +
                                    std::to_string(packed_bytes(key().size(), value().size())) +
                                    " bytes, the buffer has " + std::to_string(buffer.size())};
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
