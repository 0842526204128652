// copy.hpp: the copy kernels behind copy_words() and stream_lines() of persist.hpp, by vector
// width. Internal: for tests and benchmarks, which compare them.
#pragma once

#include <cstddef>

#include <holdfast/memory/cpu.hpp>

namespace holdfast::memory_detail {

using CopyKernel = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

struct CopyKernels {
  CopyKernel copy;    // Contract of copy_words().
  CopyKernel stream;  // Contract of stream_lines().
  CopyKernel read;    // Contract of read_words().
};

// Calling a kernel that is wider than cpu().vectors is an illegal instruction.
CopyKernels kernels(VectorWidth width);

}  // namespace holdfast::memory_detail
