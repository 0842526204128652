// record.hpp: composing a record, and looking at one.
#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include <holdfast/kv/format.hpp>

namespace holdfast::kv {

// Keys are short and mostly of one length: no call for what a few loads decide.
inline bool equal_bytes(const std::byte* a, const std::byte* b, std::size_t count) {
  const auto word = [](const std::byte* at) {
    std::uint64_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
  };
  if (count == 16) return ((word(a) ^ word(b)) | (word(a + 8) ^ word(b + 8))) == 0;
  if (count < 8 || count > 64) return std::memcmp(a, b, count) == 0;
  std::uint64_t differences =
      word(a + count - 8) ^ word(b + count - 8);  // Overlaps the last whole word.
  for (std::size_t at = 0; at + 8 < count; at += 8)
    differences |= word(a + at) ^ word(b + at);
  return differences == 0;
}

// XXH3 of key, padding and value, which need not lie together, with the patchable words as zero.
std::uint64_t body_hash(std::span<const std::byte> key_and_padding,
                        std::span<const std::byte> value, std::span<const std::uint32_t> patchable);

inline std::uint64_t with_word(std::uint64_t sum, std::uint64_t word, std::uint32_t at) {
  return mix64(sum + mix64(word + at));
}
// The checksum of the whole record: its sum, and where words are patchable, they too.
inline std::uint64_t whole_checksum(std::uint64_t sum, std::span<const std::byte> value,
                                    std::span<const std::uint32_t> patchable) {
  if (patchable.empty()) return sum;
  for (const std::uint32_t at : patchable) {
    if (at + sizeof(std::uint64_t) > value.size()) break;
    std::uint64_t word;
    std::memcpy(&word, value.data() + at, sizeof word);
    sum = with_word(sum, word, at);
  }
  return sum;
}

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
  // Only puts have a value; a batch frame's members are no part of it.
  std::uint64_t record_bytes() const {
    return kind() == RecordKind::kPut ? value_at() + value_bytes()
                                      : header_bytes_ + header().key_bytes();
  }
  std::uint64_t padded_bytes() const { return Geometry::padded(record_bytes()); }
  std::uint64_t value_bytes() const {
    return kind() == RecordKind::kPut ? header().value_bytes : 0;
  }

  // Whether its lengths stay within `room` bytes and within what a record may be.
  bool fits(std::uint64_t room) const {
    const RecordHeader& own = header();
    return own.kind() >= RecordKind::kPut && own.kind() <= RecordKind::kBatch &&
           own.key_bytes() <= 64 * KiB && own.value_bytes <= room && record_bytes() <= room;
  }
  // After fits().
  std::string_view key() const {
    return {reinterpret_cast<const char*>(at_ + header_bytes_), header().key_bytes()};
  }
  std::byte* value_data() const { return const_cast<std::byte*>(at_) + value_at(); }
  std::string_view value() const {
    return {reinterpret_cast<const char*>(value_data()), value_bytes()};
  }
  // As it was appended, patchable words included: asked of records of open runs.
  bool is_whole(std::uint64_t seed, std::span<const std::uint32_t> patchable) const {
    const std::uint64_t fixed = sum(seed, patchable);
    // The field with the fixed checksum is in no sum, so it is compared: a crash may have lost just
    // it.
    return whole_checksum(fixed, value_span(), patchable) == header().checksum &&
           (patchable.empty() || stored_fixed() == fixed);
  }
  // Whatever in-place updates it has had: asked of records of sealed runs.
  bool is_sound(std::uint64_t seed, std::span<const std::uint32_t> patchable) const {
    return patchable.empty() ? is_whole(seed, patchable) : sum(seed, patchable) == stored_fixed();
  }

 private:
  std::uint64_t stored_fixed() const {
    std::uint64_t fixed;
    std::memcpy(&fixed, at_ + sizeof(RecordHeader), sizeof fixed);
    return fixed;
  }
  std::span<const std::byte> value_span() const { return {value_data(), value_bytes()}; }
  std::uint64_t sum(std::uint64_t seed, std::span<const std::uint32_t> patchable) const;

  const std::byte* at_;
  std::uint32_t header_bytes_;
};

// Key and value are spans, of static extent where the store is typed, so that the copies become
// moves.
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

template <class Key>
void copy_key(std::byte* to, const Key& key) {
  if (key.size() == 16)
    std::memcpy(to, key.data(), 16);  // The usual one: no call.
  else
    std::memcpy(to, key.data(), key.size());
}

// Writes the record to `to` (padded_bytes long, line-aligned, private memory), zeros behind it.
template <class Key, class Value>
void compose_record(std::byte* to, const Geometry& geometry, const NewRecord<Key, Value>& record,
                    std::uint64_t sequence, std::uint32_t ordinal, std::uint64_t seed,
                    std::span<const std::uint32_t> patchable) {
  const std::uint64_t bytes = record.bytes(geometry);
  auto* header = reinterpret_cast<RecordHeader*>(to);
  // The last line first: its zeros are overwritten by what belongs there.
  std::memset(to + Geometry::padded(bytes) - kCacheLineBytes, 0, kCacheLineBytes);
  copy_key(to + geometry.record_header_bytes, record.key);
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
  header->key_bytes_and_kind = static_cast<std::uint32_t>(record.key.size()) |
                               std::uint32_t{static_cast<std::uint8_t>(record.kind)} << 24;
  header->ordinal = ordinal;
  std::byte* const body = to + geometry.record_header_bytes;
  if (patchable.empty()) {
    header->checksum =
        record_sum(*header, hash64({body, bytes - geometry.record_header_bytes}), seed);
    return;
  }
  // Summed with the words as zero, which then take their places.
  std::byte* const value = to + bytes - value_bytes;
  const auto each_word = [&](auto&& visit) {
    for (const std::uint32_t at : patchable) {
      if (at + sizeof(std::uint64_t) > value_bytes) break;
      visit(at);
    }
  };
  each_word([&](std::uint32_t at) { std::memset(value + at, 0, sizeof(std::uint64_t)); });
  const std::uint64_t sum =
      record_sum(*header, hash64({body, bytes - geometry.record_header_bytes}), seed);
  std::memcpy(to + sizeof(RecordHeader), &sum, sizeof sum);
  std::uint64_t whole = sum;
  each_word([&](std::uint32_t at) {
    std::uint64_t word;
    std::memcpy(&word, record.value.data() + at, sizeof word);
    std::memcpy(value + at, &word, sizeof word);
    whole = with_word(whole, word, at);
  });
  header->checksum = whole;
}

}  // namespace holdfast::kv
