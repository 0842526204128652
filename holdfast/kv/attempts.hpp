// attempts.hpp: what stands around an attempt to write: what is checked before it, and what its
// failure calls for.
//
//   a full medium     room is made (maintenance.hpp), and the attempt is made again
//   a run refused     its writer pauses (pace.hpp), and the attempt is made again
//   a hold            its writer waits before the attempt (write_gate.hpp)
//   another failure   what the attempt had appended is marked dead on the medium, so that it does
//                     not appear after a crash
//
// Threads    Any.   Errors  see store.hpp.
#pragma once

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/maintenance.hpp>
#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

// `R`: of the store's own keys, or of a space's (space_rooms.hpp).
template <class R>
class BasicAttempts {
 public:
  BasicAttempts(R& rooms, Maintenance& maintenance) : rooms_(rooms), maintenance_(maintenance) {}

  Status check(std::uint64_t key_bytes, std::uint64_t value_bytes, WriteOptions options) const {
    if ((key_bytes >> 16 | value_bytes >> 32) != 0) [[unlikely]]
      HF_RETURN_IF_ERROR(check_sizes(key_bytes, value_bytes));
    if (rooms_.gate.takes_all()) [[likely]]
      return {};
    return rooms_.gate.check(rooms_.effective(options) == Durability::kPower);
  }
  // The guard of an attempt. Waits while writes are held, but not within another write of the same
  // thread: the hold waits for that one. check() comes after it, since a failure may have closed
  // the store while it waited.
  EpochDomain::Guard begin(Session& own) {
    auto guard = rooms_.epochs.enter(own.participant, EpochDomain::Role::kWriter);
    if (HF_MUTANT("K165", !rooms_.gate.held(), true)) [[likely]]
      return guard;
    return begin_behind_hold(own, std::move(guard));
  }
  // For a verb whose first attempt failed. Where it found the medium full, `outcome` becomes that
  // of `again()`, which is called when dead records have made room.
  template <class Outcome, class Attempt>
  [[gnu::noinline, gnu::cold]] void settle(Outcome& outcome, const Attempt& again);
  // Pauses for runs that the session's lane has opened or is to open (pace.hpp). Called in no guard
  // but that of an operation around this one; in such a guard it does not wait.
  [[gnu::noinline, gnu::cold]] void pay_pause(Session& own);
  // Marks dead on the medium what the caller's session disowned. In no guard.
  Status take_back();

 private:
  [[gnu::noinline, gnu::cold]] EpochDomain::Guard begin_behind_hold(Session& own,
                                                                    EpochDomain::Guard guard);
  // For sizes that may be too large.
  static_assert(kMaxKeyBytes >= 1 << 16 && kMaxValueBytes >= std::uint64_t{1} << 32);
  [[gnu::noinline, gnu::cold]] static Status check_sizes(std::uint64_t key_bytes,
                                                         std::uint64_t value_bytes);
  // Pauses, and then the run that was refused may be opened.
  [[gnu::noinline, gnu::cold]] void pause_to_be_admitted(Session& own);

  R& rooms_;
  Maintenance& maintenance_;
};

template <class R>
template <class Outcome, class Attempt>
void BasicAttempts<R>::settle(Outcome& outcome, const Attempt& again) {
  for (Maintenance::RoomSoFar so_far;;) {
    // What it appended is marked dead on the medium, so that it does not appear after a crash.
    if (auto marked = take_back(); !marked) {
      outcome = std::move(marked).error();
      return;
    }
    if (outcome.has_value()) return;
    if (outcome.code() == Errc::kBusy) {
      pause_to_be_admitted(rooms_.sessions.of_this_thread());
      outcome = again();
      continue;
    }
    if (outcome.code() != Errc::kNoSpace) return;
    auto room = maintenance_.make_room(so_far);
    if (!room) {
      outcome = std::move(room).error();
      return;
    }
    if (!*room) {
      outcome = maintenance_.full(std::move(outcome).error());
      return;
    }
    outcome = again();
  }
}

}  // namespace holdfast::kv
