// The kernels and the floor's loops for AVX-512 vectors.
#define HOLDFAST_KERNEL_SET kAvx512Kernels
#define HOLDFAST_KERNEL_NAME "AVX-512"
#define HOLDFAST_FLOOR_SET kAvx512Floor
#include <holdfast/bench/memory/floor_loops.hpp>
#include <holdfast/bench/memory/kernels_impl.hpp>
