// record.hpp: composing a record, and looking at one.
#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include <holdfast/kv/format.hpp>

namespace holdfast::kv {

// Over what an in-place update leaves alone: header, key, and the value without its patchable words.
std::uint64_t fixed_checksum(const RecordHeader& header, std::span<const std::byte> key, const std::byte* value,
                             std::span<const std::uint32_t> patchable, std::uint64_t seed);

// A record on the medium. Nothing of it is trusted before fits() was asked.
class RecordView {
 public:
  RecordView(const std::byte* at, const Geometry& geometry)
      : at_(at), header_bytes_(geometry.record_header_bytes) {}

  const RecordHeader& header() const { return *reinterpret_cast<const RecordHeader*>(at_); }
  RecordKind kind() const { return header().kind(); }
  std::uint64_t sequence() const { return header().sequence; }
  const std::byte* bytes() const { return at_; }
  std::uint64_t value_at() const { return round_up(header_bytes_ + header().key_bytes(), 8); }
  // A tombstone or a frame ends where its key does: only a value begins on a multiple of 8.
  std::uint64_t record_bytes() const {
    return kind() == RecordKind::kPut ? value_at() + value_bytes() : header_bytes_ + header().key_bytes();
  }
  std::uint64_t padded_bytes() const { return Geometry::padded(record_bytes()); }
  // A batch frame has no value of its own: its members follow it.
  std::uint64_t value_bytes() const { return kind() == RecordKind::kBatch ? 0 : header().value_bytes; }

  // Whether its lengths stay within `room` bytes and within what a record may be.
  bool fits(std::uint64_t room) const {
    const RecordHeader& own = header();
    return own.kind() >= RecordKind::kPut && own.kind() <= RecordKind::kBatch && own.key_bytes() <= 64 * KiB &&
           own.value_bytes <= room && record_bytes() <= room;
  }
  // After fits().
  std::string_view key() const {
    return {reinterpret_cast<const char*>(at_ + header_bytes_), header().key_bytes()};
  }
  std::byte* value_data() const { return const_cast<std::byte*>(at_) + value_at(); }
  std::string_view value() const {
    return {reinterpret_cast<const char*>(value_data()), value_bytes()};
  }
  bool checksum_holds(std::uint64_t seed) const {
    return seeded_checksum(at_ + sizeof(std::uint64_t), record_bytes() - sizeof(std::uint64_t), seed) ==
           header().checksum;
  }
  bool fixed_checksum_holds(std::uint64_t seed, std::span<const std::uint32_t> patchable) const {
    std::uint64_t stored;
    std::memcpy(&stored, at_ + sizeof(RecordHeader), sizeof stored);
    return fixed_checksum(header(), std::as_bytes(std::span(key())), value_data(), patchable, seed) == stored;
  }

 private:
  const std::byte* at_;
  std::uint32_t header_bytes_;
};

// Key and value are spans, of static extent where the store is typed, so that the copies become moves.
template <class Key, class Value>
struct NewRecord {
  RecordKind kind;
  std::uint64_t hash;
  Key key;
  Value value;

  std::uint64_t bytes(const Geometry& geometry) const {
    return kind == RecordKind::kPut ? geometry.record_bytes(key.size(), value.size())
                                    : geometry.record_header_bytes + key.size();
  }
};

// Writes the record to `to` (padded_bytes long, line-aligned, private memory), zeros behind it.
template <class Key, class Value>
void compose_record(std::byte* to, const Geometry& geometry, const NewRecord<Key, Value>& record,
                    std::uint64_t sequence, std::uint32_t ordinal, std::uint64_t seed,
                    std::span<const std::uint32_t> patchable) {
  const std::uint64_t bytes = record.bytes(geometry);
  auto* header = reinterpret_cast<RecordHeader*>(to);
  // The last line first: its zeros are overwritten by what belongs there.
  std::memset(to + Geometry::padded(bytes) - kCacheLineBytes, 0, kCacheLineBytes);
  std::memcpy(to + geometry.record_header_bytes, record.key.data(), record.key.size());
  std::uint64_t value_bytes = 0;
  if (record.kind == RecordKind::kPut) {
    const std::uint64_t key_end = geometry.record_header_bytes + record.key.size();
    const std::uint64_t value_at = geometry.value_at(record.key.size());
    if (value_at != key_end) std::memset(to + key_end, 0, value_at - key_end);
    std::memcpy(to + value_at, record.value.data(), record.value.size());
    value_bytes = record.value.size();
  }
  header->sequence = sequence;
  header->value_bytes = value_bytes;
  header->key_bytes_and_kind =
      static_cast<std::uint32_t>(record.key.size()) | std::uint32_t{static_cast<std::uint8_t>(record.kind)} << 24;
  header->ordinal = ordinal;
  if (geometry.record_header_bytes > sizeof(RecordHeader)) {
    const std::uint64_t fixed = fixed_checksum(*header, std::as_bytes(std::span(record.key)),
                                               reinterpret_cast<const std::byte*>(record.value.data()), patchable, seed);
    std::memcpy(to + sizeof(RecordHeader), &fixed, sizeof fixed);
  }
  header->checksum = seeded_checksum(to + sizeof(std::uint64_t), bytes - sizeof(std::uint64_t), seed);
}

}  // namespace holdfast::kv
