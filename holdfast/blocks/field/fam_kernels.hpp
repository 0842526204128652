// fam_kernels.hpp: failure-atomic memory on plain words, by vector width. Internal to FamField, and
// for tests and benchmarks, which compare them.
//
// A value of n 32-bit words (n <= 64) is kept in n + ceil(n / 31) blocks of 8 bytes. Block i holds
// the low 31 bits of word i; the top bits of words 31 g … 31 g + 30 are block n + g.
//
//   bits 62-63  version, the same in all blocks when no update is in progress
//   bits 31-61  what the block held before its last update
//   bits 0-30   what it holds
//
// Zeros are a valid field that holds zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include <holdfast/memory/cpu.hpp>

namespace holdfast::blocks::field_detail {

inline constexpr std::size_t kFamWordsMax = 64;
constexpr std::size_t fam_blocks(std::size_t words) { return words + (words + 30) / 31; }

inline constexpr std::uint64_t kFamMask = 0x7fffffff;
inline constexpr unsigned kFamVersionShift = 62;

struct FamKernels {
  // Updates all blocks, each with one store of a whole word (or a vector of whole words).
  void (*update)(std::uint64_t* blocks, const std::uint32_t* words, std::size_t count);
  void (*read)(const std::uint64_t* blocks, std::uint32_t* words, std::size_t count);
};

// Calling a kernel that is wider than cpu().vectors is an illegal instruction.
FamKernels fam_kernels(VectorWidth width);
// What FamField uses: the fastest that this CPU has, by measurement (docs/blocks_field.md).
const FamKernels& default_fam_kernels();

}  // namespace holdfast::blocks::field_detail
