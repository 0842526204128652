#include <holdfast/kv/attempts.hpp>

#include <string>
#include <utility>

#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

template <class R>
Status BasicAttempts<R>::check_sizes(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  if (key_bytes > kMaxKeyBytes) {
    return Error{Errc::kTooLarge, "key of " + std::to_string(key_bytes) + " bytes; at most " +
                                      std::to_string(kMaxKeyBytes) + " are allowed"};
  }
  if (value_bytes <= kMaxValueBytes) return {};
  return Error{Errc::kTooLarge, "value of " + std::to_string(value_bytes) + " bytes; at most " +
                                    std::to_string(kMaxValueBytes) + " are allowed"};
}

template <class R>
EpochDomain::Guard BasicAttempts<R>::begin_behind_hold(Session& own, EpochDomain::Guard guard) {
  guard.end();
  const auto enter = [&] {
    return rooms_.epochs.enter(own.participant, EpochDomain::Role::kWriter);
  };
  if (whole_store(rooms_).inside()) return enter();
  return rooms_.gate.enter_between_holds(enter);
}

template <class R>
Status BasicAttempts<R>::take_back() {
  Session& own = rooms_.sessions.of_this_thread();
  if (!std::exchange(own.undone, false)) return {};
  return maintenance_.take_back(rooms_.sessions, rooms_.group.lane_of(own));
}

template <class R>
void BasicAttempts<R>::pay_pause(Session& own) {
  Lane& lane = rooms_.group.lane_of(own);
  std::uint64_t blocks = 0;
  {
    const Lock lock(lane.latch);
    blocks = std::exchange(lane.unpaid_blocks, 0);
  }
  if (blocks == 0 || own.participant.inside()) return;
  // What this session has superseded counts from here on: the last pass may have found too little.
  rooms_.upkeep.wake.ask();
  rooms_.upkeep.pace.pause(blocks);
}

template <class R>
void BasicAttempts<R>::pause_to_be_admitted(Session& own) {
  pay_pause(own);
  Lane& lane = rooms_.group.lane_of(own);
  const Lock lock(lane.latch);
  lane.admitted = true;
}

template class BasicAttempts<Rooms>;
template class BasicAttempts<SpaceRooms>;

}  // namespace holdfast::kv
