// What this CPU gets: asked at run time, apart from the kernels, which know nothing but themselves.
#include <holdfast/bench/memory/floor_set.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/memory/cpu.hpp>

namespace holdfast::bench::memory {

const KernelSet& best_kernels() {
  switch (cpu().vectors) {
    case VectorWidth::kAvx512: return kAvx512Kernels;
    case VectorWidth::kAvx2: return kAvx2Kernels;
    case VectorWidth::kPortable: break;
  }
  return kPortableKernels;
}

const FloorSet& best_floor() {
  switch (cpu().vectors) {
    case VectorWidth::kAvx512: return kAvx512Floor;
    case VectorWidth::kAvx2: return kAvx2Floor;
    case VectorWidth::kPortable: break;
  }
  return kPortableFloor;
}

}  // namespace holdfast::bench::memory
