// floor.hpp: the best loops written by hand for the traffic of the raw benchmarks, as rows to
// compare with.
//
// Nothing of the benchmark's machinery is in them: no queue, no packages, no kernels by size. Each
// thread has its own part of the range and runs one loop with fixed sizes; random ones follow
// pointers that are made a thousand at a time from a short list (access_list.hpp), so that no list
// takes part in the traffic. They use the same vectors and the
// same persist instruction as the benchmark, and check what they read.
#pragma once

#include <cstdint>
#include <memory>

#include <holdfast/bench/memory/execution.hpp>

namespace holdfast::bench::memory {

class Floor {
 public:
  // Null where there is none: for sequential reads, sequential writes with nocache and a fence
  // each, random reads of 64 and 256 bytes, and the chains r_64; r_512; r_512,r_512,r_512 and
  // r_256,w_64_cache_128,w_64_cache_-128; all in one region, without sampling or delay.
  static std::unique_ptr<Floor> make(const Load& load);
  virtual ~Floor() = default;
  virtual LoadResult run(const Load& load, std::uint64_t repetition) = 0;
};

}  // namespace holdfast::bench::memory
