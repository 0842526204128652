#include <holdfast/kv/key_order.hpp>

#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/sorted_keys.hpp>

namespace holdfast::kv {

Result<std::unique_ptr<KeyOrder>> KeyOrder::create(EpochDomain& domain) {
  HF_ASSIGN_OR_RETURN(auto keys, index::ordered::OrderedIndex::create(domain));
  return std::make_unique<KeyOrder>(std::move(keys));
}

// Its entry is in the index already: where there is no memory, the order is given up.
bool KeyOrder::note(Bytes key) {
  {
    const Lock lock(mutex_);
    if (!noting_) return false;
    try {
      noted_.emplace_back(text_of(key));
      return true;
    } catch (const std::bad_alloc&) {
    }
  }
  give_up();
  return true;
}

void KeyOrder::set(State state) {
  const Lock lock(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::kIncomplete)
    state_.store(state, std::memory_order_release);
  loaded_.notify_all();
}

void KeyOrder::wait_for_load() const {
  const Lock lock(mutex_);
  while (state() == State::kLoading)
    loaded_.wait(mutex_);
}

void KeyOrder::load(const index::OffsetMap& map, const Records& records, EpochDomain& domain,
                    unsigned threads, Settle settle, const std::atomic<bool>& stop) {
  const SortedKeys sorted(map, records, domain, threads, stop);
  auto participant = domain.join();
  std::size_t at = 0;
  const auto loaded = [&] {
    const auto guard = domain.enter(participant);
    return keys_->load([&](std::string_view& key) {
      if (at == sorted.size()) return false;
      key = sorted[at++];
      return true;
    });
  }();
  end_load(loaded && !stop.load(std::memory_order_relaxed), settle);
}

bool KeyOrder::load_stored(EpochDomain& domain, NextKey next, Settle settle,
                           const std::atomic<bool>& stop) {
  auto participant = domain.join();
  const auto loaded = [&] {
    const auto guard = domain.enter(participant);
    return keys_->load(
        [&](std::string_view& key) { return !stop.load(std::memory_order_relaxed) && next(key); });
  }();
  if (!loaded) return false;
  was_stored_.store(true, std::memory_order_release);
  end_load(!stop.load(std::memory_order_relaxed), settle);
  return true;
}

void KeyOrder::end_load(bool complete, Settle settle) {
  // From here on writers enter their keys themselves. Those that were noted before are asked of the
  // index, which is right whatever writers do meanwhile.
  std::vector<std::string> noted;
  {
    const Lock lock(mutex_);
    noting_ = false;
    noted = std::exchange(noted_, {});
  }
  for (const std::string& key : noted)
    HF_MUTANT("K94", settle(std::as_bytes(std::span(key))), void());
  set(complete ? State::kComplete : State::kIncomplete);
}

}  // namespace holdfast::kv
