// The kernels and the floor's loops for portable vectors.
#define HOLDFAST_KERNEL_SET kPortableKernels
#define HOLDFAST_KERNEL_NAME "portable"
#define HOLDFAST_FLOOR_SET kPortableFloor
#include <holdfast/bench/memory/floor_loops.hpp>
#include <holdfast/bench/memory/kernels_impl.hpp>
