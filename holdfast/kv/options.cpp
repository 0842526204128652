#include <holdfast/kv/options.hpp>

#include <bit>
#include <string>

#include <holdfast/kv/format.hpp>

namespace holdfast::kv {
namespace {

Error bad(const char* field, const std::string& seen, const char* allowed) {
  return Error{Errc::kInvalidOption, std::string(field) + "=" + seen + "; " + allowed};
}

}  // namespace

Status StoreOptions::validate() const {
  if (access > RegionAccess::kOpenOrCreate) {
    return bad("access", std::to_string(static_cast<unsigned>(access)),
               "0 (kOpen) to 3 (kOpenOrCreate) is allowed");
  }
  if (at_mark && access == RegionAccess::kCreate)
    return bad("at_mark", "true", "a store that is created has no mark; open one that has");
  if (durability > Durability::kPower) {
    return bad("durability", std::to_string(static_cast<unsigned>(durability)),
               "0 (kDefault) to 2 (kPower) is allowed");
  }
  if (!std::has_single_bit(block_bytes) || block_bytes < 8 * KiB || block_bytes > 16 * MiB) {
    return bad("block_bytes", std::to_string(block_bytes),
               "a power of two from 8 KiB to 16 MiB is allowed");
  }
  if (segment_bytes < 8ull * block_bytes || segment_bytes % block_bytes != 0 ||
      segment_bytes > 1 * TiB) {
    return bad("segment_bytes", std::to_string(segment_bytes),
               "a multiple of block_bytes, of 8 blocks or more and at most 1 TiB, is allowed");
  }
  if (file_bytes > 1 * TiB)
    return bad("file_bytes", std::to_string(file_bytes), "at most 1 TiB is allowed");
  // The superblock of an existing store says what it has.
  const bool may_create = access == RegionAccess::kCreate || access == RegionAccess::kOpenOrCreate;
  if (may_create && initial_bytes > max_bytes)
    return Error{Errc::kInvalidOption,
                 "initial_bytes=" + std::to_string(initial_bytes) +
                     ", max_bytes=" + std::to_string(max_bytes) +
                     "; the first may be at most the second, unless access is kOpen"};
  if (max_bytes < (may_create ? segment_bytes : kPageBytes)) {
    return bad("max_bytes", std::to_string(max_bytes),
               may_create ? "at least segment_bytes is allowed" : "at least 4096 is allowed");
  }
  if (max_bytes > 16 * TiB)
    return bad("max_bytes", std::to_string(max_bytes), "at most 16 TiB is allowed");
  if (patchable_words.size() > kMaxPatchableWords) {
    return bad("patchable_words", std::to_string(patchable_words.size()) + " words",
               "at most 64 are allowed");
  }
  for (std::size_t i = 0; i < patchable_words.size(); ++i) {
    if (patchable_words[i] % 8 != 0 || (i > 0 && patchable_words[i] <= patchable_words[i - 1])) {
      return bad("patchable_words", std::to_string(patchable_words[i]),
                 "ascending multiples of 8 are allowed");
    }
  }
  if (recovery_threads > 1024)
    return bad("recovery_threads", std::to_string(recovery_threads),
               "0 (one per CPU) to 1024 is allowed");
  if (!(reclaim.space_amplification >= 1.05 && reclaim.space_amplification <= 10)) {
    return bad("reclaim.space_amplification", std::to_string(reclaim.space_amplification),
               "1.05 to 10 is allowed");
  }
  return {};
}

}  // namespace holdfast::kv
