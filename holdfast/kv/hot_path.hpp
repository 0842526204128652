// hot_path.hpp: what a verb is compiled for. Every verb on a hot path is a template over one:
//
//   HotPath<Lines, kWay, kPatch>   an instruction set, a way of lines to the medium, and which
//                                  words are patchable: all fixed, so that the kernel of records
//                                  and the hash of keys are inlined into the verb
//   AnyPath                        asks at run time: right on every CPU and medium
//
// Which one a store takes is decided when it opens: verbs.hpp. Both write the same bytes.
// Where       HotPath needs a KeyHash that has_instruction(), a medium without pages, and a caller
//             with the target attribute of `Lines` and [[gnu::flatten]].
#pragma once

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/index/bucket.hpp>
#include <holdfast/kv/key_hash.hpp>
#include <holdfast/kv/record_kernel.hpp>

namespace holdfast::kv {

struct AnyPath {
  static constexpr bool kFixed = false;
  using Probing = index::AnyProbing;

  static std::uint32_t header_bytes(const Geometry& geometry) {
    return geometry.record_header_bytes;
  }
  static std::uint64_t hash(const KeyHash& hash, Bytes key) { return hash(key); }
  static bool compose(const Persist&, std::byte*, const RecordParts&, std::uint64_t,
                      const PatchableWords&, Site) {
    return false;
  }
  static void fence(const Persist& persist, HF_SITE) { persist.fence(site); }
  static bool is_patchable(const PatchableWords& words, std::uint32_t offset_bytes) {
    return words.contains(offset_bytes);
  }
  // Beside writers of words; `from` is 8-byte aligned.
  static void read(void* to, const std::byte* from, std::size_t bytes) {
    if (bytes != 0) read_words(to, from, bytes);  // Else there may be no address.
  }
};

template <class Lines, LineWay kWay, Patchable kPatch>
struct HotPath {
  static constexpr bool kFixed = true;
  static constexpr bool kHasWords = kPatch != Patchable::kNone;
  using Probing = typename Lines::Probing;
  using NarrowProbing = typename Lines::NarrowProbing;

  static constexpr std::uint32_t kHeaderBytes = sizeof(RecordHeader) + (kHasWords ? 8 : 0);

  static constexpr std::uint32_t header_bytes(const Geometry&) { return kHeaderBytes; }
  static std::uint64_t hash(const KeyHash& hash, Bytes key) { return hash.by_instruction(key); }
  // False, and nothing done, of records of unusual shape: they take the way behind a call, which
  // keeps verbs small.
  static bool compose(const Persist& persist, std::byte* to, const RecordParts& parts,
                      std::uint64_t seed, const PatchableWords& words, Site site) {
    const RecordExtent shape(parts.size_word, parts.place, kPatch != Patchable::kNone);
    if (shape.is_usual()) [[likely]] {
      compose_usual_record<Lines, kWay, kPatch>(persist, to, parts, shape, seed, words, site);
      return true;
    }
    if (!shape.is_bare()) return false;
    compose_bare_record<Lines, kWay, kPatch>(persist, to, parts, seed, words, site);
    return true;
  }
  // Whether compose() takes a record with this key and value in its usual shape.
  static bool is_usual(std::size_t key_bytes, std::size_t value_bytes) {
    return key_bytes == 16 && value_bytes - 16 < (std::uint64_t{1} << 32) - 16;
  }
  static void fence(const Persist& persist, HF_SITE) {
    if constexpr (kWay == LineWay::kStore)
      persist.fence(site);
    else
      persist.fence_lines(site);
  }
  static bool is_patchable(const PatchableWords&, std::uint32_t offset_bytes) {
    return kPatch == Patchable::kFirst && offset_bytes == 0;
  }
  static void read(void* to, const std::byte* from, std::size_t bytes) {
#ifdef HF_TSAN
    if (bytes != 0)
      read_words(to, from, bytes);  // It takes a vector that is loaded beside writers for a race.
#else
    Lines::read(static_cast<std::byte*>(to), from, bytes);
#endif
  }
};

}  // namespace holdfast::kv
