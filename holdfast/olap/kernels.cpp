#include <holdfast/olap/kernels.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

#include <holdfast/base/prefetch.hpp>

namespace holdfast::olap {
namespace kernel_detail {
namespace {

// Eight bytes that are 0 or 1 to eight bits.
std::uint64_t pack_bits(const std::uint8_t* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return (word * 0x0102040810204080u) >> 56;
}

std::uint64_t in_ranges(const std::byte* bytes, std::span<const ByteRange> ranges) {
  std::uint8_t hits[kGroupRows] = {};
  for (const auto range : ranges) {
    const auto width = static_cast<std::uint8_t>(range.to - range.from);
    for (unsigned i = 0; i < kGroupRows; ++i) {
      const auto above =
          static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes[i]) - range.from);
      hits[i] = static_cast<std::uint8_t>(hits[i] | (above <= width ? 1 : 0));
    }
  }
  std::uint64_t mask = 0;
  for (unsigned i = 0; i < kGroupRows; i += 8)
    mask |= pack_bits(hits + i) << i;
  return mask;
}

// The one that passes over groups without candidates: a compare costs more than a wrong guess here.
std::uint32_t narrow(const ByteFilter& filter, std::uint32_t groups, std::uint64_t* masks) {
  std::uint32_t open = 0;
  for (std::uint32_t group = 0; group < groups; ++group) {
    if (masks[group] == 0) continue;
    masks[group] &= in_ranges(filter.bytes + 64 * group, filter.ranges);
    open += masks[group] != 0 ? 1 : 0;
  }
  return open;
}

std::uint32_t narrow_some(const ByteFilter& filter, std::uint32_t* list, std::uint32_t count,
                          std::uint64_t* masks) {
  for (std::uint32_t i = 0; i < count; ++i)
    prefetch_for_read(filter.bytes + 64 * list[i]);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto group = list[i];
    masks[group] &= in_ranges(filter.bytes + 64 * group, filter.ranges);
    list[kept] = group;
    kept += masks[group] != 0 ? 1 : 0;
  }
  return kept;
}

std::uint32_t expand(const std::uint64_t* masks, std::uint32_t groups, std::uint32_t first,
                     std::uint32_t* rows) {
  std::uint32_t count = 0;
  for (std::uint32_t group = 0; group < groups; ++group, first += kGroupRows) {
    for (auto mask = masks[group]; mask != 0; mask &= mask - 1)
      rows[count++] = first + static_cast<std::uint32_t>(std::countr_zero(mask));
  }
  return count;
}

std::uint64_t read(const std::byte* bytes, std::uint64_t count) {
  std::uint64_t sums[8] = {};
  for (std::uint64_t at = 0; at < count; at += sizeof sums) {
    std::uint64_t words[8];
    std::memcpy(words, bytes + at, sizeof words);
    for (unsigned i = 0; i < 8; ++i)
      sums[i] ^= words[i];
  }
  std::uint64_t sum = 0;
  for (const auto word : sums)
    sum ^= word;
  return sum;
}

}  // namespace

const Kernels kPortableKernels{VectorWidth::kPortable, narrow, narrow_some, expand, read};

}  // namespace kernel_detail

const Kernels& kernels(VectorWidth width) {
  switch (std::min(width, cpu().vectors)) {
    case VectorWidth::kAvx512: {
#if defined(__x86_64__)
      static const bool packs_bytes = __builtin_cpu_supports("avx512vbmi2") != 0;
      if (packs_bytes) return kernel_detail::kVbmi2Kernels;
#endif
      return kernel_detail::kAvx512Kernels;
    }
    case VectorWidth::kAvx2: return kernel_detail::kAvx2Kernels;
    default: return kernel_detail::kPortableKernels;
  }
}

}  // namespace holdfast::olap
