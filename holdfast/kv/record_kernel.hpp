// record_kernel.hpp: a record, made in registers and stored straight to the medium, with its sum.
//
// compose_record<Lines, kWay, kPatch>() is the whole of it, a template over the instruction set
// (record_lines.hpp), how lines get to the medium (LineWay) and which words are patchable. All are
// fixed when a store is opened. It is meant to be inlined into a verb that has the target attribute
// of `Lines` and [[gnu::flatten]]:
//
//   [[gnu::flatten, gnu::target(HF_TARGET_AVX512)]] Result<bool> put(…) {
//     … compose_record<Avx512Lines, LineWay::kStream, Patchable::kFirst>(…) …
//
// Elsewhere it is right, too, but slow: nothing is inlined. compose_record_by() is the same behind
// one call, for code that is not hot.
// Stores     Exactly the lines of the padded record, each once, line 0 last. Nothing is fenced.
// Reads      Exactly key and value, which nobody changes meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <holdfast/kv/record_lines.hpp>
#include <holdfast/kv/record_sum.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::kv {

// Which instance of the kernels a store needs.
enum class Patchable : std::uint8_t { kNone = 0, kFirst = 1, kSome = 2 };
inline Patchable patchable_of(const PatchableWords& words) {
  if (words.empty()) return Patchable::kNone;
  return words.is_first() ? Patchable::kFirst : Patchable::kSome;
}

// What a record is made of: record_size_word(), record_place_word(), and the bytes they speak of.
struct RecordParts {
  std::uint64_t sequence = 0;
  std::uint64_t size_word = 0;
  std::uint64_t place = 0;
  std::uint64_t expiry = 0;  // Counts where size_word has kExpiryFlag.
  const std::byte* key = nullptr;
  const std::byte* value = nullptr;
};

// Where its bytes lie. Of constant sizes it is constant, too, and the kernels with it.
struct RecordExtent {
  std::uint64_t key_bytes;
  std::uint64_t value_bytes;
  bool has_expiry;
  unsigned key_word;  // Words before the key: 4 to 6.
  std::uint64_t value_at;

  RecordExtent(std::uint64_t size_word, std::uint64_t place, bool has_patchable_words)
      : key_bytes(place & 0xffffff),
        value_bytes(size_word & ((std::uint64_t{1} << 40) - 1)),
        has_expiry((size_word >> 40 & kExpiryFlag) != 0),
        key_word(4u + has_patchable_words + has_expiry),
        value_at(round_up(8 * key_word + key_bytes, 8)) {}
  std::uint64_t padded_bytes() const { return round_up(value_at + value_bytes, kCacheLineBytes); }
  // The key that most stores have, with enough of a value, or with none, as tombstones: instances
  // of their own, in which the place of everything is constant.
  bool is_usual() const { return key_bytes == 16 && value_bytes >= 16 && !has_expiry; }
  bool is_bare() const { return key_bytes == 16 && value_bytes == 0 && !has_expiry; }
};

namespace record_detail {

// Bytes of a part of `count` bytes that begins at `part_at` of the record which lie in the line at
// `at`: placed where they belong, all else zero.
template <class Lines>
void place_part(typename Lines::Line& line, const std::byte* part, std::uint64_t part_at,
                std::uint64_t count, std::uint64_t at) {
  if (part_at >= at) {
    const std::uint64_t room = at + kCacheLineBytes > part_at ? at + kCacheLineBytes - part_at : 0;
    Lines::place(line, part, std::min(count, room),
                 static_cast<unsigned>(std::min(part_at - at, kCacheLineBytes - 8) / 8));
  } else {
    const std::uint64_t skipped = std::min(at - part_at, count);
    Lines::place(line, part + skipped, std::min<std::uint64_t>(count - skipped, kCacheLineBytes),
                 0);
  }
}

template <class Lines, Patchable kPatch>
std::uint64_t sum_of_words(const std::byte* value, std::uint64_t value_bytes,
                           const PatchableWords& words) {
  if constexpr (kPatch == Patchable::kNone) return 0;
  if (value_bytes < 8 || (kPatch == Patchable::kSome && words.end_in(value_bytes) == 0)) return 0;
  typename Lines::Word sum;
  Lines::word_begin(sum);
  if constexpr (kPatch == Patchable::kFirst) {
    Lines::word_add(sum, load_word(value), 0);
  } else {
    for (const std::uint32_t offset : words.offsets()) {
      if (offset + 8u > value_bytes) break;
      Lines::word_add(sum, load_word(value + offset), offset);
    }
  }
  return Lines::word_end(sum);
}

// A line into the sum, without its patchable words.
template <class Lines, Patchable kPatch>
class LineSum {
 public:
  LineSum(const RecordExtent& shape, const PatchableWords& words)
      : shape_(shape),
        words_(words),
        patchable_end_(kPatch == Patchable::kNone ? 0
                       : kPatch == Patchable::kFirst
                           ? (shape.value_bytes >= 8 ? shape.value_at + 8 : 0)
                           : patchable_end(words.end_in(shape.value_bytes))) {}

  // The caller has set words 0, 3, and 4 where it is a checksum, to zero.
  void begin(const typename Lines::Line& line) {
    if (0 < patchable_end_) {
      typename Lines::Line fixed;
      Lines::keep(fixed, line, ~patchable_in(0) & 0xff);
      Lines::begin(state_, fixed);
    } else {
      Lines::begin(state_, line);
    }
  }
  void add(const typename Lines::Line& line, std::uint64_t at) {
    if (at < patchable_end_) [[unlikely]] {
      typename Lines::Line fixed;
      Lines::keep(fixed, line, ~patchable_in(at) & 0xff);
      Lines::add(state_, fixed);
    } else {
      Lines::add(state_, line);
    }
  }
  std::uint64_t end(std::uint64_t place, std::uint64_t seed) const {
    return Lines::fold(state_) + Lines::place_sum(place) + seed;
  }

 private:
  std::uint64_t patchable_end(std::uint64_t in_value) const {
    return in_value == 0 ? 0 : shape_.value_at + in_value;
  }
  unsigned patchable_in(std::uint64_t at) const {
    if constexpr (kPatch == Patchable::kFirst) {
      if (shape_.value_at - at >= kCacheLineBytes) return 0;  // Also where it lies before.
      return 1u << ((shape_.value_at - at) / 8);
    }
    return words_.in_line(at, shape_.value_at, shape_.value_bytes);
  }

  const RecordExtent& shape_;
  const PatchableWords& words_;
  std::uint64_t patchable_end_;  // In the record. 0: no patchable word in this value.
  typename Lines::State state_;
};

// Line 0 without checksums and place, of a usual record, of a bare one, and of any. By words where
// that is possible: a wide load would wait for narrow stores that made key and value just now.
template <class Lines, bool kHasWords>
void usual_first_line(typename Lines::Line& line, const RecordParts& parts) {
  const std::uint64_t k0 = load_word(parts.key), k1 = load_word(parts.key + 8);
  const std::uint64_t v0 = load_word(parts.value);
  if constexpr (kHasWords) {
    Lines::from_words(line, {0, parts.sequence, parts.size_word, 0, 0, k0, k1, v0});
  } else {
    Lines::from_words(
        line, {0, parts.sequence, parts.size_word, 0, k0, k1, v0, load_word(parts.value + 8)});
  }
}
template <class Lines, bool kHasWords>
void bare_first_line(typename Lines::Line& line, const RecordParts& parts) {
  const std::uint64_t k0 = load_word(parts.key), k1 = load_word(parts.key + 8);
  if constexpr (kHasWords)
    Lines::from_words(line, {0, parts.sequence, parts.size_word, 0, 0, k0, k1, 0});
  else
    Lines::from_words(line, {0, parts.sequence, parts.size_word, 0, k0, k1, 0, 0});
}

// place_part() of the value. One of no bytes may be null, and is taken from where the key is: QEMU
// 7.2, which emulates AVX2, faults at a masked load of nothing from an address that cannot be read.
template <class Lines>
void place_value(typename Lines::Line& line, const RecordParts& parts, const RecordExtent& shape,
                 std::uint64_t at) {
  const std::byte* const value = shape.value_bytes != 0 ? parts.value : parts.key;
  place_part<Lines>(line, value, shape.value_at, shape.value_bytes, at);
}

template <class Lines, bool kHasWords>
void any_first_line(typename Lines::Line& line, const RecordParts& parts,
                    const RecordExtent& shape) {
  typename Lines::Line part;
  place_part<Lines>(line, parts.key, 8 * shape.key_word, shape.key_bytes, 0);
  place_value<Lines>(part, parts, shape, 0);
  Lines::merge(line, part);
  Lines::template set_word<1>(line, parts.sequence);
  Lines::template set_word<2>(line, parts.size_word);
  if (shape.has_expiry) Lines::template set_word<kHasWords ? 5 : 4>(line, parts.expiry);
}

template <class Lines, LineWay kWay, Patchable kPatch>
RecordSums store_lines(std::byte* to, typename Lines::Line& first, const RecordParts& parts,
                       const RecordExtent& shape, std::uint64_t seed, const PatchableWords& words) {
  constexpr bool kHasWords = kPatch != Patchable::kNone;
  LineSum<Lines, kPatch> sum(shape, words);
  typename Lines::Line line;
  sum.begin(first);

  // Lines that hold something of the key.
  std::uint64_t at = kCacheLineBytes;
  for (; at < shape.value_at; at += kCacheLineBytes) {
    typename Lines::Line part;
    place_part<Lines>(line, parts.key, 8 * shape.key_word, shape.key_bytes, at);
    place_value<Lines>(part, parts, shape, at);
    Lines::merge(line, part);
    sum.add(line, at);
    Lines::template put<kWay>(to + at, line);
  }
  // Lines of the value alone, then its end.
  const std::uint64_t end = shape.value_at + shape.value_bytes;
  const std::uint64_t whole = at < end ? (end - at) / kCacheLineBytes : 0;
  for_few(whole, [&](std::uint64_t i) {
    const std::uint64_t line_at = at + i * kCacheLineBytes;
    Lines::load(line, parts.value + (line_at - shape.value_at));
    sum.add(line, line_at);
    Lines::template put<kWay>(to + line_at, line);
  });
  at += whole * kCacheLineBytes;
  if (at < end) {
    Lines::load_part(line, parts.value + (at - shape.value_at), end - at);
    sum.add(line, at);
    Lines::template put<kWay>(to + at, line);
  }

  RecordSums sums;
  sums.fixed = sum.end(parts.place, seed);
  sums.whole = sums.fixed + sum_of_words<Lines, kPatch>(parts.value, shape.value_bytes, words);
  Lines::template set_word<0>(first, sums.whole);
  Lines::template set_word<3>(first, parts.place);
  if constexpr (kHasWords) Lines::template set_word<4>(first, sums.fixed);
  Lines::template put<kWay>(to, first);
  return sums;
}

}  // namespace record_detail

// Stores the record to `to`, on a line of the medium, padded_bytes() long; not fenced.
// `kWay` is persist.line_way() and `kPatch` is patchable_of(words). The first is for records whose
// shape.is_usual(), the second for those whose shape.is_bare().
template <class Lines, LineWay kWay, Patchable kPatch>
RecordSums compose_usual_record(const Persist& persist, std::byte* to, const RecordParts& parts,
                                const RecordExtent& shape, std::uint64_t seed,
                                const PatchableWords& words, HF_SITE) {
  using namespace record_detail;
  constexpr bool kHasWords = kPatch != Patchable::kNone;
  const RecordExtent usual(shape.value_bytes, 16, kHasWords);
  RecordSums sums;
  persist.fill_lines<kWay>(
      to, usual.padded_bytes(),
      [&](void*) {
        typename Lines::Line first;
        usual_first_line<Lines, kHasWords>(first, parts);
        sums = store_lines<Lines, kWay, kPatch>(to, first, parts, usual, seed, words);
      },
      site);
  return sums;
}
template <class Lines, LineWay kWay, Patchable kPatch>
RecordSums compose_bare_record(const Persist& persist, std::byte* to, const RecordParts& parts,
                               std::uint64_t seed, const PatchableWords& words, HF_SITE) {
  using namespace record_detail;
  constexpr bool kHasWords = kPatch != Patchable::kNone;
  const RecordExtent bare(0, 16, kHasWords);
  RecordSums sums;
  persist.fill_lines<kWay>(
      to, kCacheLineBytes,
      [&](void*) {
        typename Lines::Line first;
        bare_first_line<Lines, kHasWords>(first, parts);
        sums = store_lines<Lines, kWay, kPatch>(to, first, parts, bare, seed, words);
      },
      site);
  return sums;
}
template <class Lines, LineWay kWay, Patchable kPatch>
RecordSums compose_record(const Persist& persist, std::byte* to, const RecordParts& parts,
                          std::uint64_t seed, const PatchableWords& words, HF_SITE) {
  using namespace record_detail;
  constexpr bool kHasWords = kPatch != Patchable::kNone;
  const RecordExtent shape(parts.size_word, parts.place, kHasWords);
  if (shape.is_usual()) [[likely]]
    return compose_usual_record<Lines, kWay, kPatch>(persist, to, parts, shape, seed, words, site);
  if (shape.is_bare())
    return compose_bare_record<Lines, kWay, kPatch>(persist, to, parts, seed, words, site);
  RecordSums sums;
  persist.fill_lines<kWay>(
      to, shape.padded_bytes(),
      [&](void*) {
        typename Lines::Line first;
        any_first_line<Lines, kHasWords>(first, parts, shape);
        sums = store_lines<Lines, kWay, kPatch>(to, first, parts, shape, seed, words);
      },
      site);
  return sums;
}

// The best that this CPU has; asked once.
RecordIsa record_isa();

// Any instance, behind a call. `isa` is at most record_isa().
RecordSums compose_record_by(RecordIsa isa, const Persist& persist, std::byte* to,
                             RecordParts parts, std::uint64_t seed, const PatchableWords& words,
                             HF_SITE);
// record_sum_of() and its kin by one instruction set, for tests and benchmarks.
RecordSums record_sum_by(RecordIsa isa, const std::byte* record, std::uint64_t padded_bytes,
                         std::uint64_t seed, const PatchableWords& words);

}  // namespace holdfast::kv
