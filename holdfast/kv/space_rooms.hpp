// space_rooms.hpp: the parts that a keyspace's verbs are built on: the store's, by reference, and
// those that a space has of its own. Named as in Rooms, so that one text of the verbs serves both.
//
//   the store's   medium, table, pace, records, sequences, group, pieces, expiry, epochs, gate,
//                 wake
//   its own       sessions (with lanes), index, versions, appender, the relocator's session
#pragma once

#include <memory>

#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

struct SpaceRooms {
  static Result<std::unique_ptr<SpaceRooms>> make(Rooms& store, std::uint16_t id);
  SpaceRooms(Rooms& store, std::uint16_t id, std::unique_ptr<OffsetMap> map);

  // Gives a number to rooms that no id leads to and that have no record.
  void be(std::uint16_t number) {
    id = number;
    appender.serve(number);
  }

  Durability effective(WriteOptions asked) const { return store.effective(asked); }

  Rooms& store;
  std::uint16_t id;
  Medium& medium;
  WriteGate& gate;
  EpochDomain& epochs;
  BlockTable& table;
  Upkeep& upkeep;
  Records& records;
  Sequences& sequences;
  GroupCommit& group;
  Pieces& pieces;
  const ExpiryRules& expiry;
  // None: what a put of a space supersedes it has read, on page media too.
  Displaced* const displaced = nullptr;
  Sessions sessions;
  KeyIndex index;
  Versions versions;
  Appender appender;
  std::unique_ptr<Session> relocator;  // Its lane takes what reclamation moves.
};

inline std::uint16_t id_of(const Rooms&) { return kDefaultSpace; }
inline std::uint16_t id_of(const SpaceRooms& space) { return space.id; }
inline const Rooms& whole_store(const Rooms& rooms) { return rooms; }
inline const Rooms& whole_store(const SpaceRooms& space) { return space.store; }

}  // namespace holdfast::kv
