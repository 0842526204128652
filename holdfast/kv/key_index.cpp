#include <holdfast/kv/key_index.hpp>

#include <array>

namespace holdfast::kv {

std::unique_lock<Mutex> KeyIndex::begin_batch(BatchUnderWay& batch) {
  std::unique_lock lock(batch_mutex_);
  batch_.store(&batch, std::memory_order_seq_cst);
  return lock;
}

void KeyIndex::end_batch() { batch_.store(nullptr, std::memory_order_seq_cst); }

void KeyIndex::prefetch_order(std::span<const OnItsWay> group) const {
  std::array<std::string_view, Session::kGroup> keys;
  std::size_t count = 0;
  for (const OnItsWay& one : group) {
    const Bytes key = one.record.key;
    if (map_->candidate(one.place) == kNoLine)
      keys[count++] = {reinterpret_cast<const char*>(key.data()), key.size()};
  }
  order_->prefetch(std::span(keys).first(count));
}

void retire(EpochDomain& epochs, std::unique_ptr<BatchUnderWay> batch) {
  epochs.retire(batch.release(), [](void* gone) { delete static_cast<BatchUnderWay*>(gone); });
}

}  // namespace holdfast::kv
