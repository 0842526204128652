#include <holdfast/kv/key_index.hpp>

#include <array>

namespace holdfast::kv {

std::unique_lock<Mutex> KeyIndex::begin_batch(BatchUnderWay& batch) {
  std::unique_lock lock(batch_mutex_);
  batch_.store(&batch, std::memory_order_seq_cst);
  return lock;
}

void KeyIndex::end_batch() { batch_.store(nullptr, std::memory_order_seq_cst); }

void KeyIndex::prefetch_order(std::span<const OnItsWay> group, const ByteSpans& keys,
                              std::size_t first) const {
  std::array<std::string_view, Session::kGroup> texts;
  std::size_t count = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Bytes key = keys[first + i];
    if (map_->candidate(group[i].place) == kNoLine)
      texts[count++] = {reinterpret_cast<const char*>(key.data()), key.size()};
  }
  order_->prefetch(std::span(texts).first(count));
}

void retire(EpochDomain& epochs, std::unique_ptr<BatchUnderWay> batch) {
  epochs.retire(batch.release(), [](void* gone) { delete static_cast<BatchUnderWay*>(gone); });
}

}  // namespace holdfast::kv
