// kernels.hpp: the loops that are measured. One source (kernels_impl.hpp), compiled for three kinds
// of vectors, chosen at run time; by size, persist instruction and fence as templates.
//
// Guarantee  Every line of every access is loaded or stored exactly once, and every loaded word is
//            in the sums that come out, so no compiler can leave a load away. Both is tested, for
//            g++ and clang at -O2 and -O3, by counting the accesses that the CPU makes
//            (tests/bench/memory_kernel_lines.py).
// Kept light: kernels_avx512.cpp is compiled for CPUs that others are not, so nothing that it
// includes may define functions that the linker merges with theirs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::bench::memory {

// What follows a store. The published words are cache, cacheinv, nocache and none; what this CPU
// executes for the first two is chosen by flush_of().
// kFenceOnly flushes nothing, but a chain's write is followed by a fence.
enum class Flush : std::uint8_t { kNone, kClwb, kClflushopt, kClflush, kNonTemporal, kFenceOnly };
inline constexpr std::size_t kFlushCount = 6;

struct alignas(64) Lanes {
  std::uint64_t sum[8] = {};
};

// A block of accesses. Access i of a block with slots is at slots[i] * step_bytes, of one without
// at first_byte + i * step_bytes (step_bytes may be negative), from `base`.
struct Accesses {
  std::byte* base = nullptr;  // Of the range; content.hpp counts from here.
  const std::uint32_t* slots = nullptr;
  std::uint64_t first_byte = 0;
  std::int64_t step_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t lines = 1;  // Per access; the word kernels: words.
  std::uint64_t tag = 0;    // Of writes.
  Lanes* lanes = nullptr;   // What was read is added here.
};
using Kernel = void (*)(const Accesses&);

// Accesses of 1, 2, 4, 8 lines have a kernel each, the others share one.
inline constexpr std::size_t kSizeClasses = 5;
constexpr std::size_t size_class(std::uint64_t lines) {
  return lines == 1 ? 0 : lines == 2 ? 1 : lines == 4 ? 2 : lines == 8 ? 3 : 4;
}

// One operation of a chain, ready to run. `number` counts the runs of the chain, `value` is what
// the operation before returned.
struct ChainStep {
  using Run = void (*)(const ChainStep& step, struct ChainState& state);
  Run run = nullptr;
  std::byte* base = nullptr;
  std::uint64_t slots = 0;  // Of a read: so many places,
  std::uint64_t slot_bytes = 0;
  std::uint64_t margin_bytes = 0;  // the first one here.
  std::uint64_t lines = 1;
  std::int64_t offset = 0;  // Of a write.
  std::uint64_t salt = 0;   // Another one for each operation of the chain.
  std::uint64_t tag = 0;
  Lanes* lanes = nullptr;
};

struct ChainState {
  std::uint64_t value = 0;
  std::uint64_t at_byte = 0;
  std::uint64_t number = 0;
  std::uint64_t zero = 0;  // Always 0, which the compiler must not know: it makes dependencies.
};

// The slot that a read goes to, from what the read before it returned. Also used to compute, after
// the run, what must have been read.
constexpr std::uint64_t chain_slot(std::uint64_t value, std::uint64_t number, std::uint64_t salt,
                                   std::uint64_t slots) {
  const auto mixed = (value ^ (number * 0xd6e8feb86659fd93u) ^ salt) * 0x9e3779b97f4a7c15u;
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(mixed) * slots) >> 64);
}

struct KernelSet {
  const char* name;
  // [with slots][size class]
  Kernel read[2][kSizeClasses];
  Kernel stream_read[2][kSizeClasses];
  // [with slots][size class][flush][with a fence after each access]
  Kernel write[2][kSizeClasses][kFlushCount][2];
  ChainStep::Run chain_first_read[kSizeClasses];  // state.value is the slot.
  ChainStep::Run chain_read[kSizeClasses];
  ChainStep::Run chain_write[kSizeClasses][kFlushCount];
  // Runs the whole chain once for each slot, slots[0] first.
  void (*run_chain)(const ChainStep* steps, std::size_t count, const std::uint32_t* slots,
                    std::uint64_t runs, ChainState& state);
  // The same for chains of `reads` reads of one size class and then writes of single lines, all in
  // one range and with one flush, as most models of indexes are: without a call for each step,
  // whose instructions would leave the CPU less room to overlap one chain with the next. [size
  // class of the reads][flush of the writes]
  using RunSame = void (*)(const ChainStep* steps, std::size_t reads, std::size_t count,
                           const std::uint32_t* slots, std::uint64_t runs, ChainState& state);
  RunSame run_same[kSizeClasses][kFlushCount];
  // to[i] = shifted(from[i], first, range, shift) for `count` slots, and up to 15 more.
  void (*shift_slots)(std::uint32_t* to, const std::uint32_t* from, std::uint64_t count,
                      std::uint32_t first, std::uint32_t range, std::uint32_t shift);
};

extern const KernelSet kPortableKernels;
extern const KernelSet kAvx2Kernels;    // Only where cpu().vectors says so.
extern const KernelSet kAvx512Kernels;  // The same.
// The widest that this CPU has.
const KernelSet& best_kernels();

// Parts of a line: `Accesses::lines` counts words (1, 2 or 4) and what was read is added to
// sum[0]. [with slots], [flush], [with a fence].
extern const Kernel kReadWords[2];
extern const Kernel kWriteWords[2][kFlushCount][2];
// Of the last word of each access of `lines` words. The content of that word is lost.
extern const Kernel kCompareAndSwap[2];
extern const Kernel kFetchAndAdd[2];

// `hops` reads, each at the byte that the one before returned. Returns the last byte.
std::uint64_t chase(const std::byte* base, std::uint64_t at_byte, std::uint64_t hops);

void fence();

}  // namespace holdfast::bench::memory
