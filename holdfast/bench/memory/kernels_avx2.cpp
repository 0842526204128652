// The kernels and the floor's loops for AVX2 vectors.
#define HF_KERNEL_SET kAvx2Kernels
#define HF_KERNEL_NAME "AVX2"
#define HF_FLOOR_SET kAvx2Floor
#include <holdfast/bench/memory/floor_loops.hpp>
#include <holdfast/bench/memory/kernels_impl.hpp>
