// The kernels and the floor's loops for portable vectors.
#define HF_KERNEL_SET kPortableKernels
#define HF_KERNEL_NAME "portable"
#define HF_FLOOR_SET kPortableFloor
#include <holdfast/bench/memory/floor_loops.hpp>
#include <holdfast/bench/memory/kernels_impl.hpp>
