// The kernels and the floor's loops for AVX2 vectors.
#define HOLDFAST_KERNEL_SET kAvx2Kernels
#define HOLDFAST_KERNEL_NAME "AVX2"
#define HOLDFAST_FLOOR_SET kAvx2Floor
#include <holdfast/bench/memory/floor_loops.hpp>
#include <holdfast/bench/memory/kernels_impl.hpp>
