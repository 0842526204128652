// The kernels and the floor's loops for AVX-512 vectors.
#define HF_KERNEL_SET kAvx512Kernels
#define HF_KERNEL_NAME "AVX-512"
#define HF_FLOOR_SET kAvx512Floor
#include <holdfast/bench/memory/floor_loops.hpp>
#include <holdfast/bench/memory/kernels_impl.hpp>
