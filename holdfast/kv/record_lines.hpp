// record_lines.hpp: one line of a record in registers, and the sum over lines, by instruction set.
//
// Internal to record_sum and record_kernel, which are written once, over a class of this file:
//
//   PortableLines  words and tables; every x86-64
//   Avx2Lines      two vectors of 256 bits and AES-NI
//   Avx512Lines    one vector of 512 bits, masked loads and VAES
//
// All give the same values. Their functions have target attributes, so they are inlined only into
// functions that have them, too: HF_TARGET_AVX2 or HF_TARGET_AVX512 with
// [[gnu::flatten]]. Vectors go through references, since the callers between have no attribute.
// Reads      Exactly the bytes named: masked loads touch nothing else.
#pragma once

#include <immintrin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <holdfast/base/aes.hpp>
#include <holdfast/base/few_steps.hpp>
#include <holdfast/index/bucket.hpp>
#include <holdfast/memory/line_store.hpp>

#define HF_TARGET_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,bmi2"
#define HF_TARGET_AVX2 "avx2,aes,bmi2"

namespace holdfast::kv {

// The binary digits of pi behind the point, in their order. Written to media: frozen.
struct RecordSumConstants {
  std::uint64_t first[8] = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                            0x082efa98ec4e6c89, 0x452821e638d01377, 0xbe5466cf34e90c6c,
                            0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917};  // Added to line 0.
  std::uint64_t round[8] = {0x9216d5d98979fb1b, 0xd1310ba698dfb5ac, 0x2ffd72dbd01adfb7,
                            0xb8e1afed6a267e96, 0xba7c9045f12c7f99, 0x24a19947b3916cf7,
                            0x0801f2e2858efc16, 0x636920d871574e69};  // Second round of a line.
  AesBlock fold[2] = {{{0xa458fea3f4933d7e, 0x0d95748f728eb658}},
                      {{0x718bcd5882154aee, 0x7b54a41dc25a59b5}}};
  AesBlock place[4] = {{{0x9c30d5392af26013, 0xc5d1b023286085f0}},
                       {{0xca417918b8db38ef, 0x8e79dcb0603a180e}},
                       {{0x6c9e0e8bb01e8a3e, 0xd71577c1bd314b27}},
                       {{0x78af2fda55605c60, 0xe65525f3aa55ab94}}};
  AesBlock word[4] = {{{0x5748986263e81440, 0x55ca396a2aab10b6}},
                      {{0xb4cc5c341141e8ce, 0xa15486af7c72e993}},
                      {{0xb3ee1411636fbc2a, 0x2ba9c55d741831f6}},
                      {{0xce5c3e169b87931e, 0xafd6ba336c24cf5c}}};
};
alignas(kCacheLineBytes) inline constexpr RecordSumConstants kSumConstants;

enum class RecordIsa : std::uint8_t { kPortable = 0, kAvx2 = 1, kAvx512 = 2 };

namespace record_detail {

inline std::uint64_t load_word(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
// Beside writers, aligned: never torn.
inline std::uint64_t load_word_whole(const std::byte* at) {
  return std::atomic_ref<std::uint64_t>(
             *reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(at)))
      .load(std::memory_order_relaxed);
}
// The last `count` % 8 of `count` bytes, zeros above them.
inline std::uint64_t last_part_of(const std::byte* bytes, std::size_t count) {
  const std::size_t rest = count % 8;
  if (rest == 0) return 0;
  if (count >= 8) return load_word(bytes + count - 8) >> (8 * (8 - rest));
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, rest);
  return word;
}
// For masked loads that begin before or end behind what they read.
inline const void* address(const std::byte* at, std::ptrdiff_t offset) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(at) +
                                       static_cast<std::uintptr_t>(offset));
}

}  // namespace record_detail

// What a class of lines offers (`Line` a line, `State` the four lanes of a sum):
//   load            64 bytes, any alignment
//   load_whole      64 aligned bytes beside writers of words; no word torn
//   load_part       `count` bytes, at most 64, then zeros
//   place           the same at word `word` of a line, which they must not leave
//   merge           line |= other, of lines that have no word in common
//   keep            only the words whose bit in `words` is set
//   from_words      a line of 8 words
//   set_word        one word of it
//   put             to the medium
//   read            from `from`, aligned to 8, beside writers of words; no word torn (vectors only)
//   begin, add      the first line into the sum, the next one
//   fold            the 64 bits that `State` comes to
//   place_sum       of the word that names a record's place
//   word_*          the sum of patchable words: begin, add a word at its offset, end
class PortableLines {
 public:
  static constexpr RecordIsa kIsa = RecordIsa::kPortable;
  struct Line {
    std::uint64_t words[8];
  };
  struct State {
    AesBlock lanes[4];
  };
  using Word = AesBlock;

  static void load(Line& line, const std::byte* at) { std::memcpy(&line, at, sizeof line); }
  static void load_whole(Line& line, const std::byte* at) {
    for (std::size_t i = 0; i < 8; ++i)
      line.words[i] = record_detail::load_word_whole(at + i * 8);
  }
  static void load_part(Line& line, const std::byte* at, std::size_t count) {
    place(line, at, count, 0);
  }
  static void place(Line& line, const std::byte* at, std::size_t count, unsigned word) {
    std::memset(&line, 0, sizeof line);
    if (count != 0) std::memcpy(line.words + word, at, count);
  }
  static void merge(Line& line, const Line& other) {
    for (std::size_t i = 0; i < 8; ++i)
      line.words[i] |= other.words[i];
  }
  static void keep(Line& kept, const Line& line, unsigned words) {
    for (std::size_t i = 0; i < 8; ++i)
      kept.words[i] = words >> i & 1 ? line.words[i] : 0;
  }
  static void from_words(Line& line, const std::uint64_t (&words)[8]) {
    std::memcpy(&line, words, sizeof line);
  }
  template <unsigned kWord>
  static void set_word(Line& line, std::uint64_t value) {
    line.words[kWord] = value;
  }
  template <LineWay kWay>
  static void put(std::byte* to, const Line& line) {
    LineStore<kWay>::put(to, line.words);
  }

  static void begin(State& state, const Line& line) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      const AesBlock first{{line.words[2 * lane] ^ kSumConstants.first[2 * lane],
                            line.words[2 * lane + 1] ^ kSumConstants.first[2 * lane + 1]}};
      state.lanes[lane] = aes_round_portable(first, round_key(lane));
    }
  }
  static void add(State& state, const Line& line) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      AesBlock& own = state.lanes[lane];
      own = aes_round_portable(own, {{line.words[2 * lane], line.words[2 * lane + 1]}});
      own = aes_round_portable(own, round_key(lane));
    }
  }
  static std::uint64_t fold(const State& state) {
    const auto& lanes = state.lanes;
    AesBlock all = aes_round_portable(aes_round_portable(lanes[0], lanes[2]),
                                      aes_round_portable(lanes[1], lanes[3]));
    for (const AesBlock& key : kSumConstants.fold)
      all = aes_round_portable(all, key);
    return all.words[0];
  }
  static std::uint64_t place_sum(std::uint64_t place) {
    AesBlock sum = AesBlock{{place, 0}} ^ kSumConstants.place[0];
    for (std::size_t round = 1; round < 4; ++round)
      sum = aes_round_portable(sum, kSumConstants.place[round]);
    return sum.words[0];
  }
  static void word_begin(Word& sum) { sum = kSumConstants.word[0]; }
  static void word_add(Word& sum, std::uint64_t word, std::uint64_t offset) {
    sum = aes_round_portable(sum ^ AesBlock{{word, offset}}, kSumConstants.word[1]);
    sum = aes_round_portable(sum, kSumConstants.word[2]);
  }
  static std::uint64_t word_end(const Word& sum) {
    return aes_round_portable(sum, kSumConstants.word[3]).words[0];
  }

 private:
  static AesBlock round_key(std::size_t lane) {
    return {{kSumConstants.round[2 * lane], kSumConstants.round[2 * lane + 1]}};
  }
};

// What AVX2 and AVX-512 share: sums of single words in 128 bits.
class AesWords {
 public:
  using Word = __m128i;

  [[gnu::target("aes")]] static std::uint64_t place_sum(std::uint64_t place) {
    __m128i sum = _mm_xor_si128(_mm_cvtsi64_si128(static_cast<long long>(place)),
                                kSumConstants.place[0].vector());
    sum = aes_round(sum, kSumConstants.place[1].vector());
    sum = aes_round(sum, kSumConstants.place[2].vector());
    sum = aes_round(sum, kSumConstants.place[3].vector());
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum));
  }
  [[gnu::target("aes")]] static void word_begin(Word& sum) { sum = kSumConstants.word[0].vector(); }
  [[gnu::target("aes")]] static void word_add(Word& sum, std::uint64_t word, std::uint64_t offset) {
    sum = _mm_xor_si128(
        sum, _mm_set_epi64x(static_cast<long long>(offset), static_cast<long long>(word)));
    sum = aes_round(aes_round(sum, kSumConstants.word[1].vector()), kSumConstants.word[2].vector());
  }
  [[gnu::target("aes")]] static std::uint64_t word_end(const Word& sum) {
    return static_cast<std::uint64_t>(
        _mm_cvtsi128_si64(aes_round(sum, kSumConstants.word[3].vector())));
  }

 protected:
  // Two lanes that are the first two with the last two in them.
  [[gnu::target("aes")]] static std::uint64_t fold_pair(__m128i first, __m128i second) {
    __m128i all = aes_round(first, second);
    all = aes_round(all, kSumConstants.fold[0].vector());
    all = aes_round(all, kSumConstants.fold[1].vector());
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(all));
  }
};

#define HF_AVX2 [[gnu::target(HF_TARGET_AVX2)]]
namespace record_detail {

// Copies of less than a line for read(). Also inlined into functions for AVX-512, which has AVX2.
HF_AVX2 inline void read_half(std::byte* to, const std::byte* from) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
HF_AVX2 inline void read_quarter(std::byte* to, const std::byte* from) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
HF_AVX2 inline void read_word(std::byte* to, const std::byte* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  std::memcpy(to, &word, sizeof word);
}
HF_AVX2 inline void read_below_line(std::byte* to, const std::byte* from, std::size_t count) {
  if (count >= 32) {
    read_half(to + count - 32, from + count - 32);
    read_half(to, from);
  } else if (count >= 16) {
    read_quarter(to + count - 16, from + count - 16);
    read_quarter(to, from);
  } else if (count >= 8) {
    read_word(to + count - 8, from + count - 8);
    read_word(to, from);
  } else {
    for (std::size_t at = 0; at < count; ++at)  // In no order.
      to[at] = from[at];
  }
}

}  // namespace record_detail

class Avx2Lines : public AesWords {
 public:
  static constexpr RecordIsa kIsa = RecordIsa::kAvx2;
  using Probing = index::Avx2Probing;
  // For verbs that else use no wide registers, which would have to be cleared.
  using NarrowProbing = index::AnyProbing;
  struct Line {
    __m256i low, high;
  };
  struct State {
    __m128i lanes[4];
  };

  HF_AVX2 static void load(Line& line, const std::byte* at) {
    line.low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    line.high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32));
  }
  HF_AVX2 static void load_whole(Line& line, const std::byte* at) { load(line, at); }
  HF_AVX2 static void load_part(Line& line, const std::byte* at, std::size_t count) {
    place(line, at, count, 0);
  }
  HF_AVX2 static void place(Line& line, const std::byte* at, std::size_t count, unsigned word) {
    const auto begin = _mm256_set1_epi64x(static_cast<long long>(word) - 1);
    const auto end = _mm256_set1_epi64x(static_cast<long long>(word + count / 8));
    const auto rest =
        _mm256_set1_epi64x(static_cast<long long>(record_detail::last_part_of(at, count)));
    const auto half = [&](__m256i numbers,
                          std::ptrdiff_t offset) __attribute__((target(HF_TARGET_AVX2))) {
      const __m256i mask =
          _mm256_and_si256(_mm256_cmpgt_epi64(numbers, begin), _mm256_cmpgt_epi64(end, numbers));
      const __m256i whole =
          _mm256_maskload_epi64(static_cast<const long long*>(record_detail::address(
                                    at, offset - 8 * static_cast<std::ptrdiff_t>(word))),
                                mask);
      return _mm256_or_si256(whole, _mm256_and_si256(rest, _mm256_cmpeq_epi64(end, numbers)));
    };
    line.low = half(_mm256_setr_epi64x(0, 1, 2, 3), 0);
    line.high = half(_mm256_setr_epi64x(4, 5, 6, 7), 32);
  }
  HF_AVX2 static void merge(Line& line, const Line& other) {
    line.low = _mm256_or_si256(line.low, other.low);
    line.high = _mm256_or_si256(line.high, other.high);
  }
  HF_AVX2 static void keep(Line& kept, const Line& line, unsigned words) {
    const auto bits = _mm256_set1_epi64x(words);
    const auto low = _mm256_setr_epi64x(1, 2, 4, 8);
    const auto high = _mm256_setr_epi64x(16, 32, 64, 128);
    kept.low = _mm256_and_si256(line.low, _mm256_cmpeq_epi64(_mm256_and_si256(bits, low), low));
    kept.high = _mm256_and_si256(line.high, _mm256_cmpeq_epi64(_mm256_and_si256(bits, high), high));
  }
  HF_AVX2 static void from_words(Line& line, const std::uint64_t (&words)[8]) {
    const auto word = [&](std::size_t i) { return static_cast<long long>(words[i]); };
    line.low = _mm256_setr_epi64x(word(0), word(1), word(2), word(3));
    line.high = _mm256_setr_epi64x(word(4), word(5), word(6), word(7));
  }
  template <unsigned kWord>
  HF_AVX2 static void set_word(Line& line, std::uint64_t value) {
    __m256i& half = kWord < 4 ? line.low : line.high;
    half = _mm256_insert_epi64(half, static_cast<long long>(value), kWord % 4);
  }
  template <LineWay kWay>
  HF_AVX2 static void put(std::byte* to, const Line& line) {
    LineStore<kWay>::put(to, line.low, line.high);
  }

  // Ends overlap what lies before them: fewer instructions. The end goes first, since it may begin
  // in a word, whose two parts may be of two moments.
  HF_AVX2 static void read(std::byte* to, const std::byte* from, std::size_t count) {
    if (count < 64) return record_detail::read_below_line(to, from, count);
    read_line(to + count - 64, from + count - 64);
    // Written out as in few_steps.hpp, which a target attribute does not reach.
    const std::size_t whole = count & ~std::size_t{63};
    if (whole > 256) [[unlikely]] {
      for (std::size_t at = 0; at != whole; at += 64)
        read_line(to + at, from + at);
      return;
    }
    read_line(to, from);
    if (whole > 64) read_line(to + 64, from + 64);
    if (whole > 128) read_line(to + 128, from + 128);
    if (whole > 192) read_line(to + 192, from + 192);
  }

  HF_AVX2 static void begin(State& state, const Line& line) {
    const auto* const first = reinterpret_cast<const __m256i*>(kSumConstants.first);
    const __m256i low = _mm256_xor_si256(line.low, _mm256_load_si256(first));
    const __m256i high = _mm256_xor_si256(line.high, _mm256_load_si256(first + 1));
    state.lanes[0] = aes_round(_mm256_castsi256_si128(low), round_key(0));
    state.lanes[1] = aes_round(_mm256_extracti128_si256(low, 1), round_key(1));
    state.lanes[2] = aes_round(_mm256_castsi256_si128(high), round_key(2));
    state.lanes[3] = aes_round(_mm256_extracti128_si256(high, 1), round_key(3));
  }
  HF_AVX2 static void add(State& state, const Line& line) {
    auto& lanes = state.lanes;
    lanes[0] = aes_round(lanes[0], _mm256_castsi256_si128(line.low));
    lanes[1] = aes_round(lanes[1], _mm256_extracti128_si256(line.low, 1));
    lanes[2] = aes_round(lanes[2], _mm256_castsi256_si128(line.high));
    lanes[3] = aes_round(lanes[3], _mm256_extracti128_si256(line.high, 1));
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < 4; ++lane)
      lanes[lane] = aes_round(lanes[lane], round_key(lane));
  }
  HF_AVX2 static std::uint64_t fold(const State& state) {
    return fold_pair(aes_round(state.lanes[0], state.lanes[2]),
                     aes_round(state.lanes[1], state.lanes[3]));
  }

 private:
  HF_AVX2 static void read_line(std::byte* to, const std::byte* from) {
    record_detail::read_half(to, from);
    record_detail::read_half(to + 32, from + 32);
  }
  HF_AVX2 static __m128i round_key(std::size_t lane) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(kSumConstants.round) + lane);
  }
};
#undef HF_AVX2

#define HF_AVX512 [[gnu::target(HF_TARGET_AVX512)]]
class Avx512Lines : public AesWords {
 public:
  static constexpr RecordIsa kIsa = RecordIsa::kAvx512;
  using Probing = index::Avx512Probing;
  using NarrowProbing = Probing;
  struct Line {
    __m512i words;
  };
  struct State {
    __m512i lanes;
  };

  HF_AVX512 static void load(Line& line, const std::byte* at) {
    line.words = _mm512_loadu_si512(at);
  }
  HF_AVX512 static void load_whole(Line& line, const std::byte* at) { load(line, at); }
  // The instruction takes a count up to 255 and leaves all bits from 64 on.
  HF_AVX512 static void load_part(Line& line, const std::byte* at, std::size_t count) {
    line.words = _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, static_cast<unsigned>(count)), at);
  }
  HF_AVX512 static void place(Line& line, const std::byte* at, std::size_t count, unsigned word) {
    load_part(line, at, count);
    line.words = _mm512_maskz_expand_epi64(static_cast<__mmask8>(0xff << word), line.words);
  }
  HF_AVX512 static void merge(Line& line, const Line& other) {
    line.words = _mm512_or_si512(line.words, other.words);
  }
  HF_AVX512 static void keep(Line& kept, const Line& line, unsigned words) {
    kept.words = _mm512_maskz_mov_epi64(static_cast<__mmask8>(words), line.words);
  }
  HF_AVX512 static void from_words(Line& line, const std::uint64_t (&words)[8]) {
    const auto word = [&](std::size_t i) { return static_cast<long long>(words[i]); };
    line.words =
        _mm512_setr_epi64(word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7));
  }
  template <unsigned kWord>
  HF_AVX512 static void set_word(Line& line, std::uint64_t value) {
    line.words =
        _mm512_mask_set1_epi64(line.words, __mmask8{1u << kWord}, static_cast<long long>(value));
  }
  template <LineWay kWay>
  HF_AVX512 static void put(std::byte* to, const Line& line) {
    LineStore<kWay>::put(to, line.words);
  }

  // Ends overlap what lies before them. The CPU forwards nothing from a masked store: a load of
  // what it wrote or left out waits until it has left, and so until the record has come. The
  // end goes first, since it may begin in a word, whose two parts may be of two moments.
  HF_AVX512 static void read(std::byte* to, const std::byte* from, std::size_t count) {
    if (count < 64) return record_detail::read_below_line(to, from, count);
    read_line(to + count - 64, from + count - 64);
    // Written out as in few_steps.hpp, which a target attribute does not reach.
    const std::size_t whole = count & ~std::size_t{63};
    if (whole > 256) [[unlikely]] {
      for (std::size_t at = 0; at != whole; at += 64)
        read_line(to + at, from + at);
      return;
    }
    read_line(to, from);
    if (whole > 64) read_line(to + 64, from + 64);
    if (whole > 128) read_line(to + 128, from + 128);
    if (whole > 192) read_line(to + 192, from + 192);
  }

  HF_AVX512 static void begin(State& state, const Line& line) {
    state.lanes = _mm512_aesenc_epi128(
        _mm512_xor_si512(line.words, _mm512_load_si512(kSumConstants.first)), round_keys());
  }
  HF_AVX512 static void add(State& state, const Line& line) {
    state.lanes = _mm512_aesenc_epi128(_mm512_aesenc_epi128(state.lanes, line.words), round_keys());
  }
  HF_AVX512 static std::uint64_t fold(const State& state) {
    // By masks of all words: without them gcc 12 warns of its own header.
    const __m256i pair =
        _mm256_aesenc_epi128(_mm512_maskz_extracti64x4_epi64(0xff, state.lanes, 0),
                             _mm512_maskz_extracti64x4_epi64(0xff, state.lanes, 1));
    return fold_pair(_mm256_castsi256_si128(pair), _mm256_extracti128_si256(pair, 1));
  }

 private:
  HF_AVX512 static void read_line(std::byte* to, const std::byte* from) {
    _mm512_storeu_si512(to, _mm512_loadu_si512(from));
  }
  HF_AVX512 static __m512i round_keys() { return _mm512_load_si512(kSumConstants.round); }
};
#undef HF_AVX512

}  // namespace holdfast::kv
