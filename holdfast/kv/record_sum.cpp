#include <holdfast/kv/record_sum.hpp>

#include <algorithm>

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/kv/record_kernel.hpp>

namespace holdfast::kv {
namespace {

using record_detail::load_word_whole;

template <class Lines>
std::uint64_t sum_words(const std::byte* value, std::uint64_t value_bytes,
                        const PatchableWords& words) {
  if (words.end_in(value_bytes) == 0) return 0;
  typename Lines::Word sum;
  Lines::word_begin(sum);
  for (const std::uint32_t offset : words.offsets()) {
    if (offset + 8u > value_bytes) break;
    Lines::word_add(sum, load_word_whole(value + offset), offset);
  }
  return Lines::word_end(sum);
}

template <class Lines>
RecordSums sum_record(const std::byte* record, std::uint64_t padded_bytes, std::uint64_t seed,
                      const PatchableWords& words) {
  const bool has_words = !words.empty();
  const std::uint64_t place = load_word_whole(record + 24);
  const RecordExtent shape(load_word_whole(record + 16), place, has_words);
  // By a damaged header the value may lie beyond the end, wholly or in part.
  const std::uint64_t value_bytes =
      shape.value_at >= padded_bytes ? 0
                                     : std::min(shape.value_bytes, padded_bytes - shape.value_at);
  const std::uint64_t words_end = words.end_in(value_bytes);
  const std::uint64_t patchable_end = words_end == 0 ? 0 : shape.value_at + words_end;

  typename Lines::Line line;
  typename Lines::State state;
  const unsigned not_summed = has_words ? 0x19 : 0x09;  // Checksums and place.
  Lines::load_whole(line, record);
  Lines::keep(line, line, ~(not_summed | words.in_line(0, shape.value_at, value_bytes)) & 0xff);
  Lines::begin(state, line);
  for (std::uint64_t at = kCacheLineBytes; at < padded_bytes; at += kCacheLineBytes) {
    Lines::load_whole(line, record + at);
    if (at < patchable_end)
      Lines::keep(line, line, ~words.in_line(at, shape.value_at, value_bytes) & 0xff);
    Lines::add(state, line);
  }
  RecordSums sums;
  sums.fixed = Lines::fold(state) + Lines::place_sum(place) + seed;
  sums.whole = sums.fixed + sum_words<Lines>(record + shape.value_at, value_bytes, words);
  return sums;
}

// One function per instruction set, into which everything is inlined.
[[gnu::flatten]] RecordSums sum_portable(const std::byte* record, std::uint64_t padded_bytes,
                                         std::uint64_t seed, const PatchableWords& words) {
  return sum_record<PortableLines>(record, padded_bytes, seed, words);
}
[[gnu::flatten, gnu::target(HF_TARGET_AVX2)]] RecordSums sum_avx2(const std::byte* record,
                                                                  std::uint64_t padded_bytes,
                                                                  std::uint64_t seed,
                                                                  const PatchableWords& words) {
  return sum_record<Avx2Lines>(record, padded_bytes, seed, words);
}
[[gnu::flatten, gnu::target(HF_TARGET_AVX512)]] RecordSums sum_avx512(const std::byte* record,
                                                                      std::uint64_t padded_bytes,
                                                                      std::uint64_t seed,
                                                                      const PatchableWords& words) {
  return sum_record<Avx512Lines>(record, padded_bytes, seed, words);
}
[[gnu::flatten, gnu::target("aes")]] std::uint64_t sum_words_by_aes(const std::byte* value,
                                                                    std::uint64_t value_bytes,
                                                                    const PatchableWords& words) {
  return sum_words<AesWords>(value, value_bytes, words);
}

// ThreadSanitizer takes a vector that is loaded beside writers of words for a race.
RecordIsa isa_beside_writers() {
#ifdef HF_TSAN
  return RecordIsa::kPortable;
#else
  return record_isa();
#endif
}

std::uint64_t place_sum(std::uint64_t place) {
  return cpu_has_aes() ? AesWords::place_sum(place) : PortableLines::place_sum(place);
}

}  // namespace

PatchableWords::PatchableWords(std::span<const std::uint32_t> offsets)
    : count_(static_cast<std::uint32_t>(offsets.size())) {
  HF_CHECK(offsets.size() <= kMost && std::is_sorted(offsets.begin(), offsets.end()));
  std::copy(offsets.begin(), offsets.end(), offsets_.begin());
  for (const std::uint32_t offset : offsets) {
    HF_CHECK(offset % 8 == 0);
    if (offset / 8 < 64)
      first_64_ |= std::uint64_t{1} << (offset / 8);
    else
      offsets_beyond_ = true;
  }
}

unsigned PatchableWords::in_line_beyond(std::uint64_t at, std::uint64_t value_at,
                                        std::uint64_t value_bytes) const {
  unsigned words = 0;
  for (const std::uint32_t offset : offsets()) {
    if (offset + 8u > value_bytes) break;
    const std::uint64_t in_record = value_at + offset;
    if (in_record >= at && in_record < at + kCacheLineBytes) words |= 1u << ((in_record - at) / 8);
  }
  return words;
}

RecordSums record_sum_by(RecordIsa isa, const std::byte* record, std::uint64_t padded_bytes,
                         std::uint64_t seed, const PatchableWords& words) {
  HF_CHECK(padded_bytes >= kCacheLineBytes && padded_bytes % kCacheLineBytes == 0);
  switch (isa) {
    case RecordIsa::kAvx512: return sum_avx512(record, padded_bytes, seed, words);
    case RecordIsa::kAvx2: return sum_avx2(record, padded_bytes, seed, words);
    case RecordIsa::kPortable: break;
  }
  return sum_portable(record, padded_bytes, seed, words);
}

RecordSums record_sum_of(const std::byte* record, std::uint64_t padded_bytes, std::uint64_t seed,
                         const PatchableWords& words) {
  return record_sum_by(isa_beside_writers(), record, padded_bytes, seed, words);
}

bool is_record_fixed(const std::byte* record, std::uint64_t padded_bytes, std::uint64_t seed,
                     const PatchableWords& words) {
  const RecordSums sums = record_sum_of(record, padded_bytes, seed, words);
  return load_word_whole(record + (words.empty() ? 0 : 32)) == sums.fixed;
}

bool is_record_whole(const std::byte* record, std::uint64_t padded_bytes, std::uint64_t seed,
                     const PatchableWords& words) {
  const RecordSums sums = record_sum_of(record, padded_bytes, seed, words);
  return load_word_whole(record) == sums.whole &&
         (words.empty() || load_word_whole(record + 32) == sums.fixed);
}

std::uint64_t carry_sum(std::uint64_t fixed, std::uint64_t place, std::uint64_t seed,
                        std::uint64_t new_place, std::uint64_t new_seed) {
  return fixed - place_sum(place) - seed + place_sum(new_place) + new_seed;
}

std::uint64_t patchable_sum(const std::byte* value, std::uint64_t value_bytes,
                            const PatchableWords& words) {
  return cpu_has_aes() ? sum_words_by_aes(value, value_bytes, words)
                       : sum_words<PortableLines>(value, value_bytes, words);
}

}  // namespace holdfast::kv
