#include <holdfast/kv/record_copy.hpp>

namespace holdfast::kv {
namespace {

struct CopyJob {
  const Persist& persist;
  const RecordMove& move;
  const PatchableWords& words;
  Site site;
};

template <class Lines, LineWay kWay, Patchable kPatch>
bool copy_lines(const RecordMove& move, const RecordExtent& shape, const PatchableWords& words) {
  constexpr bool kHasWords = kPatch != Patchable::kNone;
  using record_detail::load_word;
  const std::byte* const from = move.from;
  const std::uint64_t stored = load_word(from + (kHasWords ? 32 : 0));
  record_detail::LineSum<Lines, kPatch> sum(shape, words);
  typename Lines::Line first, line;
  Lines::load(first, from);
  Lines::template set_word<0>(first, 0);
  Lines::template set_word<3>(first, 0);
  if constexpr (kHasWords) Lines::template set_word<4>(first, 0);
  sum.begin(first);
  for_few(shape.padded_bytes() / kCacheLineBytes - 1, [&](std::uint64_t i) {
    const std::uint64_t at = (i + 1) * kCacheLineBytes;
    Lines::load(line, from + at);
    sum.add(line, at);
    Lines::template put<kWay>(move.to + at, line);
  });
  const std::uint64_t found = sum.end(load_word(from + 24), move.from_seed);
  const std::uint64_t fixed = sum.end(move.place, move.seed) + (stored - found);
  Lines::template set_word<0>(first, fixed + record_detail::sum_of_words<Lines, kPatch>(
                                                 from + shape.value_at, shape.value_bytes, words));
  Lines::template set_word<3>(first, move.place);
  if constexpr (kHasWords) Lines::template set_word<4>(first, fixed);
  Lines::template put<kWay>(move.to, first);
  return stored == found;
}

template <class Lines, LineWay kWay, Patchable kPatch>
bool copy(const CopyJob& job) {
  using record_detail::load_word;
  const RecordExtent shape(load_word(job.move.from + 16), load_word(job.move.from + 24),
                           kPatch != Patchable::kNone);
  bool sound = false;
  job.persist.fill_lines<kWay>(
      job.move.to, shape.padded_bytes(),
      [&](void*) { sound = copy_lines<Lines, kWay, kPatch>(job.move, shape, job.words); },
      job.site);
  return sound;
}

template <class Lines, LineWay kWay>
bool copy_on(const CopyJob& job) {
  switch (patchable_of(job.words)) {
    case Patchable::kNone: return copy<Lines, kWay, Patchable::kNone>(job);
    case Patchable::kFirst: return copy<Lines, kWay, Patchable::kFirst>(job);
    case Patchable::kSome: break;
  }
  return copy<Lines, kWay, Patchable::kSome>(job);
}

template <class Lines>
bool copy_with(const CopyJob& job) {
  switch (job.persist.line_way()) {
    case LineWay::kStore: return copy_on<Lines, LineWay::kStore>(job);
    case LineWay::kWriteBack: return copy_on<Lines, LineWay::kWriteBack>(job);
    case LineWay::kStream: break;
  }
  return copy_on<Lines, LineWay::kStream>(job);
}

[[gnu::flatten]] bool copy_portable(const CopyJob& job) { return copy_with<PortableLines>(job); }
[[gnu::flatten, gnu::target(HF_TARGET_AVX2)]] bool copy_avx2(const CopyJob& job) {
  return copy_with<Avx2Lines>(job);
}
[[gnu::flatten, gnu::target(HF_TARGET_AVX512)]] bool copy_avx512(const CopyJob& job) {
  return copy_with<Avx512Lines>(job);
}

}  // namespace

bool copy_record_by(RecordIsa isa, const Persist& persist, const RecordMove& move,
                    const PatchableWords& words, Site site) {
  switch (isa) {
    case RecordIsa::kAvx512: return copy_avx512({persist, move, words, site});
    case RecordIsa::kAvx2: return copy_avx2({persist, move, words, site});
    case RecordIsa::kPortable: break;
  }
  return copy_portable({persist, move, words, site});
}

}  // namespace holdfast::kv
