#include <holdfast/base/asymmetric_fence.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <holdfast/base/check.hpp>

namespace holdfast {
namespace {

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

bool register_for_membarrier() {
#ifdef HF_TSAN
  return false;
#else
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
         membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
#endif
}

}  // namespace

AsymmetricFence::AsymmetricFence(Kind kind)
    : asymmetric_(kind == Kind::kAuto && register_for_membarrier()) {}

void AsymmetricFence::heavy() const {
  ordinary();
  if (!asymmetric_) return;
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  // A forked child has to register anew.
  HF_CHECK(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
           membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

}  // namespace holdfast
