// asymmetric_fence.hpp: a store-load fence between a frequent side and a rare one, which pays all.
//
//   frequent side               rare side
//   mine.store(…);              theirs.store(…);
//   fence.light();              fence.heavy();
//   theirs.load();              mine.load();
//
// Guarantee  At least one of the two sees what the other one stored, as with a sequentially
//            consistent fence on either side.
// Cost       light(): nothing but that the compiler keeps the order. heavy(): a membarrier(2), some
//            microseconds, which executes the fence for all running threads of the process. Where
//            the kernel refuses that, and under ThreadSanitizer, both are ordinary fences.
// Threads    Any.
#pragma once

#include <atomic>
#include <cstdint>

#include <holdfast/base/sanitizer.hpp>

namespace holdfast {

class AsymmetricFence {
 public:
  enum class Kind : std::uint8_t {
    kAuto = 0,       // Asymmetric where the kernel can.
    kSymmetric = 1,  // Ordinary fences on both sides.
  };
  explicit AsymmetricFence(Kind kind = Kind::kAuto);

  bool asymmetric() const { return asymmetric_; }
  void light() const {
    if (asymmetric_) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      ordinary();
    }
  }
  void heavy() const;

 private:
  static void ordinary() {
#ifdef HF_TSAN
    std::atomic<int> word{0};  // TSan does not know fences; the CPU takes this for one.
    word.exchange(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }
  bool asymmetric_ = false;
};

}  // namespace holdfast
