#include <holdfast/kv/lane_sealing.hpp>

#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

Result<std::uint64_t> seal_lanes(Rooms& rooms, Session& relocator, LaneChoice wanted) {
  std::uint64_t sealed = 0;
  const auto seal = [&](Lane& lane, Session& books, LaneOf whose) -> Status {
    const Lock lock(lane.latch);
    if (!wanted(lane, books, whose) || !lane.run.open() || lane.run.records == 0) return {};
    ++sealed;
    return rooms.appender.seal(lane);
  };
  const auto seal_those_of = [&](Sessions& sessions) -> Status {
    const Sessions::Revoked revoked(sessions);
    for (Session* session : revoked.sessions())
      HF_RETURN_IF_ERROR(seal(session->lane, *session, LaneOf::kSession));
    return {};
  };
  HF_RETURN_IF_ERROR(seal_those_of(rooms.sessions));
  HF_RETURN_IF_ERROR(seal(rooms.group.lane(), relocator, LaneOf::kGroup));
  HF_RETURN_IF_ERROR(seal(relocator.lane, relocator, LaneOf::kRelocator));
  Status outcome;
  rooms.spaces.for_each([&](SpaceRooms& space) {
    if (outcome) outcome = seal_those_of(space.sessions);
    if (outcome) outcome = seal(space.relocator->lane, *space.relocator, LaneOf::kRelocator);
  });
  HF_RETURN_IF_ERROR(std::move(outcome));
  return sealed;
}

}  // namespace holdfast::kv
