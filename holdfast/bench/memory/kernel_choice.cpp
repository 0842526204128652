// What this CPU gets: asked at run time, apart from the kernels, which know nothing but themselves.
#include <holdfast/bench/memory/floor_set.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/memory/cpu.hpp>

namespace holdfast::bench::memory {

namespace {

template <class Set>
const Set& widest(const Set& avx512, const Set& avx2, const Set& portable) {
  if (cpu().vectors == VectorWidth::kAvx512) return avx512;
  return cpu().vectors == VectorWidth::kAvx2 ? avx2 : portable;
}

}  // namespace

const KernelSet& best_kernels() { return widest(kAvx512Kernels, kAvx2Kernels, kPortableKernels); }
const FloorSet& best_floor() { return widest(kAvx512Floor, kAvx2Floor, kPortableFloor); }

}  // namespace holdfast::bench::memory
