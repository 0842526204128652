// record.hpp: a record that is to be written, and a look at one that lies on the medium.
#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include <holdfast/kv/format.hpp>
#include <holdfast/kv/record_sum.hpp>

namespace holdfast::kv {

using Bytes = std::span<const std::byte>;

// Keys are short and mostly of one length: no call for what a few loads decide.
inline bool equal_bytes(const std::byte* a, const std::byte* b, std::size_t count) {
  const auto word = [](const std::byte* at) {
    std::uint64_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
  };
  if (count == 16) [[likely]]
    return ((word(a) ^ word(b)) | (word(a + 8) ^ word(b + 8))) == 0;
  if (count < 8 || count > 64) return count == 0 || std::memcmp(a, b, count) == 0;
  // The last word overlaps the last whole word.
  std::uint64_t differences = word(a + count - 8) ^ word(b + count - 8);
  for (std::size_t at = 0; at + 8 < count; at += 8)
    differences |= word(a + at) ^ word(b + at);
  return differences == 0;
}

// Whether it has 8 to 16 bytes, as most keys: two words, which may overlap.
inline bool is_of_two_words(std::size_t count) { return count - 8 <= 8; }
inline bool equal_two_words(const std::byte* a, const std::byte* b, std::size_t count) {
  const auto word = [](const std::byte* at) {
    std::uint64_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
  };
  return ((word(a) ^ word(b)) | (word(a + count - 8) ^ word(b + count - 8))) == 0;
}

// How the records of one run are summed.
struct SumRule {
  std::uint64_t seed;  // Geometry::seed of the run's generation.
  const PatchableWords& words;
  bool version1;
};

// A record on the medium. Nothing of it is trusted before fits() was asked.
class RecordView {
 public:
  RecordView(const std::byte* at, const Geometry& geometry)
      : RecordView(at, geometry.record_header_bytes) {}
  RecordView(const std::byte* at, std::uint32_t header_bytes)
      : at_(at), header_bytes_(header_bytes) {}

  const RecordHeader& header() const { return *reinterpret_cast<const RecordHeader*>(at_); }
  RecordKind kind() const { return header().kind(); }
  std::uint64_t sequence() const { return header().sequence; }
  const std::byte* bytes() const { return at_; }
  std::uint64_t value_at() const { return round_up(header_bytes_ + header().key_bytes(), 8); }
  // Only puts have a value; a batch frame's members are no part of it.
  std::uint64_t record_bytes() const {
    return is_put(kind()) ? value_at() + value_bytes() : header_bytes_ + header().key_bytes();
  }
  std::uint64_t padded_bytes() const { return Geometry::padded(record_bytes()); }
  // The same of a record that is known to be a put.
  std::uint64_t padded_bytes_of_put() const {
    return Geometry::padded(value_at() + header().value_bytes());
  }
  std::uint64_t value_bytes() const { return is_put(kind()) ? header().value_bytes() : 0; }
  // Whether value() is an InPieces and what is here of the value itself.
  bool is_in_pieces() const { return kind() == RecordKind::kInPieces; }

  // Whether its lengths stay within `room` bytes and within what a record may be.
  bool fits(std::uint64_t room) const {
    const RecordHeader& own = header();
    return own.kind() >= RecordKind::kPut && own.kind() <= RecordKind::kInPieces &&
           own.key_bytes() <= 64 * KiB && own.value_bytes() <= room && record_bytes() <= room;
  }
  // After fits().
  std::string_view key() const {
    return {reinterpret_cast<const char*>(at_ + header_bytes_), header().key_bytes()};
  }
  Bytes key_bytes() const { return {at_ + header_bytes_, header().key_bytes()}; }
  std::byte* value_data() const { return const_cast<std::byte*>(at_) + value_at(); }
  std::string_view value() const {
    return {reinterpret_cast<const char*>(value_data()), value_bytes()};
  }
  Bytes value_span() const { return {value_data(), value_bytes()}; }
  // As it was appended, patchable words included: asked of records of open runs.
  bool is_whole(const SumRule& rule) const;
  // Whatever in-place updates it has had: asked of records of sealed runs.
  bool is_sound(const SumRule& rule) const;
  // True if everything before it in its run was durable when it was written.
  bool fenced_before() const { return (header().key_bytes_and_kind >> kFencedBeforeBit & 1) != 0; }

 private:
  std::uint64_t stored_fixed() const {
    std::uint64_t fixed;
    std::memcpy(&fixed, at_ + sizeof(RecordHeader), sizeof fixed);
    return fixed;
  }

  const std::byte* at_;
  std::uint32_t header_bytes_;
};

struct NewRecord {
  RecordKind kind = RecordKind::kPut;
  std::uint64_t hash = 0;
  Bytes key, value;

  std::uint64_t bytes(const Geometry& geometry) const {
    return bytes(geometry.record_header_bytes);
  }
  std::uint64_t bytes(std::uint32_t header_bytes) const {
    return is_put(kind) ? round_up(header_bytes + key.size(), 8) + value.size()
                        : header_bytes + key.size();
  }
};

// What a record's header says beside its sizes and its kind.
struct RecordHead {
  std::uint64_t sequence = 0;
  std::uint32_t ordinal = 0;
  bool fenced_before = false;    // All before it in its run is durable.
  std::uint64_t size_flags = 0;  // The keyspace.
};

}  // namespace holdfast::kv
