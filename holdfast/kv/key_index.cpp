#include <holdfast/kv/key_index.hpp>

#include <algorithm>
#include <array>

#include <holdfast/kv/order_image.hpp>

namespace holdfast::kv {

void KeyIndex::begin_batch(BatchUnderWay& batch) {
  batch_.store(&batch, std::memory_order_seq_cst);
}

void KeyIndex::end_batch() { batch_.store(nullptr, std::memory_order_seq_cst); }

Status KeyIndex::clear(EpochDomain& epochs) {
  HF_RETURN_IF_ERROR(map_->clear());
  tombstones_.store(0, std::memory_order_relaxed);
  if (order_ == nullptr) return {};
  HF_ASSIGN_OR_RETURN(auto fresh, KeyOrder::create(epochs));
  order_->await_loader();
  order_ = std::move(fresh);
  return {};
}

void KeyIndex::prefetch_order(std::span<const OnItsWay> group, const ByteSpans& keys,
                              std::size_t first) const {
  std::array<std::string_view, Session::kGroup> texts;
  std::size_t count = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (map_->candidate(group[i].place) == kNoLine) texts[count++] = text_of(keys[first + i]);
  }
  order_->prefetch(std::span(texts).first(count));
}

void KeyIndex::load_order(Sessions& sessions, EpochDomain& epochs, unsigned threads,
                          const std::atomic<bool>& stop, StoredOrder* stored) {
  const auto settle = [&](Bytes key) {
    Session& own = sessions.of_this_thread();
    const auto guard = epochs.enter(own.participant);
    Place at = place(hash(key));
    OffsetMap::Latched home = latch(at, own);
    order_->enter_if(key, static_cast<bool>(home.find(matches(key))));
  };
  const auto next = [stored](std::string_view& key) { return stored->next(key); };
  if (stored != nullptr && order_->load_stored(epochs, next, settle, stop)) return;
  constexpr std::uint64_t kKeysPerThread = 10'000;
  const std::uint64_t worth = 1 + map_->size() / kKeysPerThread;
  order_->load(*map_, records_, epochs,
               static_cast<unsigned>(std::min<std::uint64_t>(threads, worth)), settle, stop);
}

void retire(EpochDomain& epochs, std::unique_ptr<BatchUnderWay> batch) {
  epochs.retire(batch.release(), [](void* gone) { delete static_cast<BatchUnderWay*>(gone); });
}

}  // namespace holdfast::kv
