#include <holdfast/kv/key_index.hpp>

namespace holdfast::kv {

std::unique_lock<Mutex> KeyIndex::begin_batch(BatchUnderWay& batch) {
  std::unique_lock lock(batch_mutex_);
  batch_.store(&batch, std::memory_order_seq_cst);
  return lock;
}

void KeyIndex::end_batch() { batch_.store(nullptr, std::memory_order_seq_cst); }

void retire(EpochDomain& epochs, std::unique_ptr<BatchUnderWay> batch) {
  epochs.retire(batch.release(), [](void* gone) { delete static_cast<BatchUnderWay*>(gone); });
}

}  // namespace holdfast::kv
