#include <holdfast/base/spin.hpp>

namespace holdfast {
namespace {
std::atomic<SpinHook> spin_hook{nullptr};
}

SpinHook set_spin_hook(SpinHook hook) {
  return spin_hook.exchange(hook, std::memory_order_acq_rel);
}

void call_spin_hook() {
  if (const SpinHook hook = spin_hook.load(std::memory_order_acquire)) hook();
}

}  // namespace holdfast
