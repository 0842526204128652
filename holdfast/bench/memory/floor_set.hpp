// floor_set.hpp: the table of the hand-written loops, one for each kind of vectors. Light, like
// kernels.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <holdfast/bench/memory/kernels.hpp>

namespace holdfast::bench::memory {

struct FloorJob {
  std::byte* base = nullptr;   // Of the range.
  std::byte* begin = nullptr;  // Sequential: [begin, begin + bytes), a multiple of 256.
  std::uint64_t bytes = 0;
  std::uint64_t access_bytes = 0;
  std::byte* const* pointers = nullptr;  // Random: `count` of them.
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // Number of the first operation.
  std::uint64_t slots = 0;  // Nodes of the range.
  std::uint64_t tag = 0;
  std::uint64_t zero = 0;  // Always 0: what is written waits for what was read through it.
  Lanes* lanes = nullptr;
};
using FloorLoop = void (*)(const FloorJob&);

struct FloorSet {
  FloorLoop read_sequential;
  FloorLoop write_sequential;
  FloorLoop read_64;
  FloorLoop read_256;
  FloorLoop read_512;
  FloorLoop lookup_in_tree;
  FloorLoop update_in_hash;
};

extern const FloorSet kPortableFloor;
extern const FloorSet kAvx2Floor;
extern const FloorSet kAvx512Floor;
// The widest that this CPU has.
const FloorSet& best_floor();

}  // namespace holdfast::bench::memory
