// mutex.hpp: mutual exclusion that is held over steps which may take long: fences, syncs, growth.
//
// In the normal build std::mutex. In the build for the crash checker a latch that waits through the
// spin hook (spin.hpp), so that the deterministic scheduler may switch threads at a step inside.
#pragma once

#include <mutex>

#include <holdfast/base/spin.hpp>

namespace holdfast {

#ifdef HOLDFAST_TRACED
using Mutex = SpinLatch;
#else
using Mutex = std::mutex;
#endif

}  // namespace holdfast
