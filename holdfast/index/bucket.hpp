// bucket.hpp: the cache line of the offset map: eight entries and eight bits of state.
//
//   entry   63        62 .. 38      37 .. 0
//           control   hash tag      line of the medium      tag and line 0: the entry is free
//                                                           line 0 only: claimed, not yet published
//   control bits of a bucket, by entry
//     0      latch: its holder alone changes entries whose home is this bucket
//     1      a word of a record of this bucket is being patched in place
//     2..6   there are entries with this home in the bucket 1..5 places behind
//     7      there are entries with this home 6 or more places behind (up to the table's reach)
//
// Why unary    A reader loads the eight words one after the other. Each distance is one bit in one
//              word, so no mix of older and newer words hides a distance that is occupied
//              throughout; a count or maximum spread over several words could be read torn.
// Writers      Entries 0 and 1 and all entries of keys at home: the latch holder, by plain stores.
//              Free entries 2..7 are also claimed by keys of earlier buckets ("guests"), so
//              claiming one is a compare-and-swap, and guests, and the control bits of 2..7, change
//              by read-modify-write only. Guests never take entries 0 and 1.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/base/units.hpp>

#if defined(__SSE2__) && !defined(HF_TSAN)
#define HF_INDEX_SSE2 1
#include <immintrin.h>
#endif

namespace holdfast::index {

inline constexpr unsigned kLineBits = 38;  // 16 TiB in lines of 64 bytes.
inline constexpr unsigned kTagBits = 25;
inline constexpr std::uint64_t kLineMask = (std::uint64_t{1} << kLineBits) - 1;
inline constexpr std::uint64_t kTagMask = (std::uint64_t{1} << kTagBits) - 1;
inline constexpr std::uint64_t kControl = std::uint64_t{1} << 63;
static_assert(kLineBits + kTagBits + 1 == 64);

inline constexpr unsigned kEntriesPerBucket = 8;
inline constexpr unsigned kLatchEntry = 0;
inline constexpr unsigned kPatchEntry = 1;
inline constexpr unsigned kFirstDistanceEntry = 2;  // Also the first entry that guests take.
inline constexpr unsigned kLastDistance = kEntriesPerBucket - kFirstDistanceEntry;  // And beyond.

constexpr std::uint64_t payload_of(std::uint64_t word) { return word & ~kControl; }
constexpr std::uint64_t line_of(std::uint64_t word) { return word & kLineMask; }
constexpr std::uint64_t tag_of(std::uint64_t word) { return (word >> kLineBits) & kTagMask; }
constexpr std::uint64_t payload(std::uint64_t tag, std::uint64_t line) {
  return tag << kLineBits | line;
}

struct alignas(kCacheLineBytes) Bucket {
  std::atomic<std::uint64_t> words[kEntriesPerBucket];
};
static_assert(sizeof(Bucket) == kCacheLineBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// One bit per entry.
struct Probe {
  unsigned candidates;  // Entries with the tag.
  unsigned controls;
};

// The same, and the entries that are free: of tag 0, which no hash has.
struct Vacancy {
  unsigned candidates;
  unsigned controls;
  unsigned free;
};

// Looks at each entry once. Acquire order, no order among the entries.
inline Probe probe(const Bucket& bucket, std::uint64_t tag) {
#ifdef HF_INDEX_SSE2
  // The upper halves of the words hold the control bit (their sign), the tag, and six bits of line.
  const auto* lines = reinterpret_cast<const __m128i*>(&bucket);
  const auto upper = [&](int pair) {
    const __m128 low = _mm_castsi128_ps(_mm_load_si128(lines + pair));
    const __m128 high = _mm_castsi128_ps(_mm_load_si128(lines + pair + 1));
    return _mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1));
  };
  const __m128 first = upper(0), second = upper(2);
  const __m128i mask = _mm_set1_epi32(static_cast<int>(kTagMask << (kLineBits - 32)));
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag << (kLineBits - 32)));
  const __m128i equal_first = _mm_cmpeq_epi32(_mm_and_si128(_mm_castps_si128(first), mask), wanted);
  const __m128i equal_second =
      _mm_cmpeq_epi32(_mm_and_si128(_mm_castps_si128(second), mask), wanted);
  std::atomic_signal_fence(std::memory_order_acquire);
  return {static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(equal_first)) |
                                _mm_movemask_ps(_mm_castsi128_ps(equal_second)) << 4),
          static_cast<unsigned>(_mm_movemask_ps(first) | _mm_movemask_ps(second) << 4)};
#else
  Probe result{0, 0};
  for (unsigned i = 0; i < kEntriesPerBucket; ++i) {
    const std::uint64_t word = bucket.words[i].load(std::memory_order_acquire);
    result.candidates |= static_cast<unsigned>(tag_of(word) == tag) << i;
    result.controls |= static_cast<unsigned>(word >> 63) << i;
  }
  return result;
#endif
}

// probe() by what the CPU has. Those of Avx2Probing and Avx512Probing are inlined only into
// functions with the target attributes avx2, or avx512f and avx512dq.
struct AnyProbing {
  static Probe look(const Bucket& bucket, std::uint64_t tag) { return probe(bucket, tag); }
  // The latch of the bucket is held: nobody else takes entries for its keys.
  static Vacancy vacancy(const Bucket& bucket, std::uint64_t tag) {
    const Probe here = probe(bucket, tag);
    return {here.candidates, here.controls, probe(bucket, 0).candidates};
  }
};
struct Avx2Probing {
#ifdef HF_INDEX_SSE2
  [[gnu::target("avx2")]] static Probe look(const Bucket& bucket, std::uint64_t tag) {
    const __m256i here = upper(bucket);
    return {equal(here, tag), controls(here)};
  }
  [[gnu::target("avx2")]] static Vacancy vacancy(const Bucket& bucket, std::uint64_t tag) {
    const __m256i here = upper(bucket);
    return {equal(here, tag), controls(here), equal(here, 0)};
  }

 private:
  // The upper halves of the words, as in probe().
  [[gnu::target("avx2")]] static __m256i upper(const Bucket& bucket) {
    const auto* lines = reinterpret_cast<const __m256i*>(&bucket);
    const __m256 low = _mm256_castsi256_ps(_mm256_load_si256(lines));
    const __m256 high = _mm256_castsi256_ps(_mm256_load_si256(lines + 1));
    // Of the words 0, 1, 4, 5, 2, 3, 6, 7.
    const __m256 mixed = _mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1));
    std::atomic_signal_fence(std::memory_order_acquire);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), _MM_SHUFFLE(3, 1, 2, 0));
  }
  [[gnu::target("avx2")]] static unsigned equal(__m256i here, std::uint64_t tag) {
    const __m256i mask = _mm256_set1_epi32(static_cast<int>(kTagMask << (kLineBits - 32)));
    const __m256i wanted = _mm256_set1_epi32(static_cast<int>(tag << (kLineBits - 32)));
    return controls(_mm256_cmpeq_epi32(_mm256_and_si256(here, mask), wanted));
  }
  [[gnu::target("avx2")]] static unsigned controls(__m256i here) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(here)));
  }
#else
  static Probe look(const Bucket& bucket, std::uint64_t tag) { return probe(bucket, tag); }
  static Vacancy vacancy(const Bucket& bucket, std::uint64_t tag) {
    return AnyProbing::vacancy(bucket, tag);
  }
#endif
};
struct Avx512Probing {
#ifdef HF_INDEX_SSE2
  [[gnu::target("avx512f,avx512dq")]] static Probe look(const Bucket& bucket, std::uint64_t tag) {
    const __m512i words = _mm512_load_si512(&bucket);
    const __m512i tags =
        _mm512_and_si512(words, _mm512_set1_epi64(static_cast<long long>(kTagMask << kLineBits)));
    const unsigned equal =
        _mm512_cmpeq_epi64_mask(tags, _mm512_set1_epi64(static_cast<long long>(tag << kLineBits)));
    std::atomic_signal_fence(std::memory_order_acquire);
    return {equal, _mm512_movepi64_mask(words)};
  }
  [[gnu::target("avx512f,avx512dq")]] static Vacancy vacancy(const Bucket& bucket,
                                                             std::uint64_t tag) {
    const __m512i words = _mm512_load_si512(&bucket);
    const __m512i mask = _mm512_set1_epi64(static_cast<long long>(kTagMask << kLineBits));
    const __m512i tags = _mm512_and_si512(words, mask);
    const unsigned equal =
        _mm512_cmpeq_epi64_mask(tags, _mm512_set1_epi64(static_cast<long long>(tag << kLineBits)));
    const unsigned free = _mm512_testn_epi64_mask(words, mask);
    std::atomic_signal_fence(std::memory_order_acquire);
    return {equal, _mm512_movepi64_mask(words), free};
  }
#else
  static Probe look(const Bucket& bucket, std::uint64_t tag) { return probe(bucket, tag); }
  static Vacancy vacancy(const Bucket& bucket, std::uint64_t tag) {
    return AnyProbing::vacancy(bucket, tag);
  }
#endif
};

// The entry of a key. Valid while the latch of its home is held.
struct Entry {
  std::atomic<std::uint64_t>* word = nullptr;
  std::uint32_t distance = 0;  // Buckets behind its home.

  explicit operator bool() const { return word != nullptr; }
};

}  // namespace holdfast::index
