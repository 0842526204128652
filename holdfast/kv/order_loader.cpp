#include <holdfast/kv/order_loader.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/kv/space_rooms.hpp>
#include <holdfast/kv/workers.hpp>

namespace holdfast::kv {

Status OrderLoader::begin(std::unique_ptr<StoredOrder> stored) {
  stored_ = std::move(stored);
  HF_ASSIGN_OR_RETURN(auto created, KeyOrder::create(rooms_.epochs));
  rooms_.index.adopt(std::move(created));
  // Those that recovery found. A space that is created later is in order from the first.
  std::vector<SpaceRooms*> spaces;
  rooms_.spaces.for_each([&](SpaceRooms& space) {
    if (space.index.is_ordered()) spaces.push_back(&space);
  });
  // On page media a key may leave the index and live on (displaced.hpp); the index does not say so.
  if (rooms_.options.background && rooms_.displaced == nullptr) {
    thread_ = thread_if_possible([this, spaces] { load(spaces); });
    if (thread_.joinable()) return {};
  }
  load(spaces);
  const auto complete = [](const KeyIndex& index) {
    return index.order()->state() == KeyOrder::State::kComplete;
  };
  if (complete(rooms_.index) && std::all_of(spaces.begin(), spaces.end(), [&](SpaceRooms* space) {
        return complete(space->index);
      }))
    return {};
  return Error{Errc::kNoSpace, "there is no memory to keep the keys in order"};
}

void OrderLoader::load(const std::vector<SpaceRooms*>& spaces) {
  const unsigned threads = worker_count(rooms_.options.recovery_threads);
  rooms_.index.load_order(rooms_.sessions, rooms_.epochs, threads, stop_, stored_.get());
  stored_.reset();
  for (SpaceRooms* const space : spaces)
    space->index.load_order(space->sessions, rooms_.epochs, threads, stop_);
}

void OrderLoader::stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

}  // namespace holdfast::kv
