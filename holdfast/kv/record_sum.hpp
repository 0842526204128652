// record_sum.hpp: the checksum of a record (format version 2).
//
// A record begins on a line and is padded with zeros to whole lines:
//
//   word 0    checksum         1  sequence         2  value bytes (40), flags (8), keyspace (16)
//        3    key bytes (24), kind (8), ordinal (32): its place
//        4    fixed checksum, only in stores with patchable words
//        next expiry, only where flag bit 0 is set
//   then the key, zeros to the next word, the value, zeros to the end of the line.
//
// Fixed sum  lines(record) + place(word 3) + seed, modulo 2^64.
//            lines() takes all bytes, except that both checksums, the place and the patchable words
//            count as zero. Lines enter one after another: each is added (xor) to four lanes of 128
//            bits, and the lanes pass two rounds of AES with constant keys. At the end the lanes
//            are folded into one by three more rounds, then two follow; the lower half is the sum.
//            place() is three rounds.
// Checksum   The fixed sum; with patchable words in the value, plus the sum of these words, which
//            pass two rounds each, one after another, and one more at the end.
//
// Finds      A record under another seed always, since the seed is added. All else passes with a
//            probability of 2^-64: flipped bits, a torn word, a line of old content, lines or words
//            that changed places. A round is a bijection of a lane and two of them spread one byte
//            over all 16, so a difference within one line and lane is never lost before half of the
//            128 bits are dropped. Differences of two neighbouring lines cancel only if the second
//            equals in all 128 bits what two rounds made of the first; those of two lanes likewise.
//            Not against readers of the medium: the constants are public, and one record gives the
//            seed of its run away. All others do not know the seed (Geometry::secret).
// Moving     A record that is copied to another place and generation has its sum without a look at
//            its bytes: carry_sum(). A damaged one stays damaged under it, by the same difference.
// Frozen     tests/kv/record_sum_test.cpp pins the values. The same on every CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <holdfast/base/check.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::kv {

inline constexpr std::uint64_t kExpiryFlag = 1;

// Words 2 and 3 of a record.
constexpr std::uint64_t record_size_word(std::uint64_t value_bytes, std::uint64_t flags,
                                         std::uint64_t keyspace) {
  return value_bytes | flags << 40 | keyspace << 48;
}
constexpr std::uint64_t record_place_word(std::uint64_t key_bytes, std::uint64_t kind,
                                          std::uint32_t ordinal) {
  return key_bytes | kind << 24 | static_cast<std::uint64_t>(ordinal) << 32;
}

// The words of a value that may change in place, as a store names them at creation.
class PatchableWords {
 public:
  static constexpr std::size_t kMost = 64;

  PatchableWords() = default;
  // Ascending multiples of 8, at most kMost: validated with the options, or with the superblock.
  explicit PatchableWords(std::span<const std::uint32_t> offsets);

  bool empty() const { return count_ == 0; }
  // Exactly the first word of the value: it has an instance of the kernels.
  bool is_first() const { return count_ == 1 && offsets_[0] == 0; }
  std::span<const std::uint32_t> offsets() const { return {offsets_.data(), count_}; }
  bool contains(std::uint32_t offset_bytes) const {
    for (const std::uint32_t at : offsets()) {
      if (at >= offset_bytes) return at == offset_bytes;
    }
    return false;
  }

  // End of the last one that lies in a value of that size; 0: none does.
  std::uint64_t end_in(std::uint64_t value_bytes) const {
    for (std::size_t i = count_; i > 0; --i) {
      if (offsets_[i - 1] + 8u <= value_bytes) return offsets_[i - 1] + 8u;
    }
    return 0;
  }
  // Those of the line at byte `at` of the record, a bit for each of its 8 words.
  unsigned in_line(std::uint64_t at, std::uint64_t value_at, std::uint64_t value_bytes) const {
    if (at + kCacheLineBytes <= value_at) return 0;
    const std::int64_t word =
        (static_cast<std::int64_t>(at) - static_cast<std::int64_t>(value_at)) / 8;
    if (word >= 64 || offsets_beyond_) return in_line_beyond(at, value_at, value_bytes);
    const std::uint64_t words = value_bytes / 8;
    const std::uint64_t here =
        words >= 64 ? first_64_ : first_64_ & ((std::uint64_t{1} << words) - 1);
    return static_cast<unsigned>((word >= 0 ? here >> word : here << -word) & 0xff);
  }

 private:
  unsigned in_line_beyond(std::uint64_t at, std::uint64_t value_at,
                          std::uint64_t value_bytes) const;

  std::uint64_t first_64_ = 0;  // A bit per patchable word of the value's first 64.
  bool offsets_beyond_ = false;
  std::uint32_t count_ = 0;
  std::array<std::uint32_t, kMost> offsets_{};
};

struct RecordSums {
  std::uint64_t fixed = 0;  // Without the patchable words.
  std::uint64_t whole = 0;  // What the checksum is.

  friend bool operator==(const RecordSums&, const RecordSums&) = default;
};

// The sums of a record as it lies on the medium: padded_bytes from `record` on, both multiples of a
// line. Its lengths are read from its header and not trusted: nothing outside of padded_bytes is
// read. The patchable words may be changing; each is loaded whole.
RecordSums record_sum_of(const std::byte* record, std::uint64_t padded_bytes, std::uint64_t seed,
                         const PatchableWords& words);
// Whether both checksums of a record are what they should be; after a patch only the fixed one is.
bool is_record_whole(const std::byte* record, std::uint64_t padded_bytes, std::uint64_t seed,
                     const PatchableWords& words);
bool is_record_fixed(const std::byte* record, std::uint64_t padded_bytes, std::uint64_t seed,
                     const PatchableWords& words);

// The fixed sum of a record that moves: from the one that it has, by what changes. `place` is its
// word 3 as it lies on the medium.
std::uint64_t carry_sum(std::uint64_t fixed, std::uint64_t place, std::uint64_t seed,
                        std::uint64_t new_place, std::uint64_t new_seed);
// What the patchable words of a value add to its fixed sum. Each is loaded whole.
std::uint64_t patchable_sum(const std::byte* value, std::uint64_t value_bytes,
                            const PatchableWords& words);

}  // namespace holdfast::kv
