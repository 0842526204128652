#include <holdfast/kv/key_index.hpp>

namespace holdfast::kv {

std::unique_lock<Mutex> KeyIndex::begin_batch(std::unique_ptr<LineMap> previous) {
  std::unique_lock lock(batch_mutex_);
  previous_.store(previous.release(), std::memory_order_seq_cst);
  return lock;
}

void KeyIndex::end_batch() {
  LineMap* const previous = previous_.exchange(nullptr, std::memory_order_seq_cst);
  // Readers that were sent there may still look at it.
  epochs_.retire(previous, [](void* map) { delete static_cast<LineMap*>(map); });
}

}  // namespace holdfast::kv
