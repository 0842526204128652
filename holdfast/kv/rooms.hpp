// rooms.hpp: the parts that a store is built of, in the order in which they are built.
//
//   medium, table      where bytes go, and whose blocks they are
//   mark               which of them a savepoint keeps
//   pace               how fast writers may take them
//   records, index     records where they lie; from a key to its record
//   expiry             which of them have expired
//   sequences          the order of all writes
//   group              what makes them durable beyond a fence; on page media all share a lane
//   sessions           a thread's lane and books
//   appender           records get onto the medium
//   displaced          on page media: what left the index unread
//   versions           what snapshots see
//   spaces             the keyspaces: sessions, index and versions of each (space_rooms.hpp)
//   pieces             values that grow
//
// Each part knows those above it that it was given, and none that comes later.
#pragma once

#include <memory>
#include <vector>

#include <holdfast/base/epoch.hpp>
#include <holdfast/kv/appender.hpp>
#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/displaced.hpp>
#include <holdfast/kv/event_queue.hpp>
#include <holdfast/kv/expiry_rules.hpp>
#include <holdfast/kv/group_commit.hpp>
#include <holdfast/kv/key_index.hpp>
#include <holdfast/kv/mark.hpp>
#include <holdfast/kv/medium.hpp>
#include <holdfast/kv/options.hpp>
#include <holdfast/kv/pace.hpp>
#include <holdfast/kv/pieces.hpp>
#include <holdfast/kv/records.hpp>
#include <holdfast/kv/sequences.hpp>
#include <holdfast/kv/sessions.hpp>
#include <holdfast/kv/space_table.hpp>
#include <holdfast/kv/superblock.hpp>
#include <holdfast/kv/versions.hpp>
#include <holdfast/kv/wake.hpp>
#include <holdfast/kv/write_gate.hpp>

namespace holdfast::kv {

struct OpenSuperblock : Superblock {
  explicit OpenSuperblock(const Superblock& found) : Superblock(found) {}

  Mutex raising;  // Of its flags.
};

// What writers and the store's own work tell one another.
struct Upkeep {
  Upkeep(BlockTable& table, const StoreOptions& options) : pace(table, options) {}

  Wake wake;  // Asks for that work.
  Pace pace;  // How much writers are ahead of it.
};

struct Rooms {
  Rooms(Medium medium, const StoreOptions& options, const Superblock& superblock);

  Durability effective(WriteOptions asked) const {
    return asked.durability == Durability::kDefault ? options.durability : asked.durability;
  }
  // A run was opened: asks for the store's own work, if there is any to do.
  void ask_if_short(const KeyIndex& of);
  // The books of the block table are exact then.
  void drain_notes();
  // raise_flag(), by any thread. Where it fails, nothing more is written.
  Status raise_flags(std::uint64_t flags);
  // Whether the calling thread is in a guard of the store, of whichever space.
  bool inside() const;
  // Or in a verb of a keyspace, which its drop waits for: in a walk of one, for instance.
  bool is_called_back() const;
  // Closes snapshots that ended within a verb. The caller is in no guard.
  void end_left_snapshots();
  // Whether any snapshot holds versions, of whichever space.
  bool versions_held() const;
  // What a record of this keyspace is found by; null of a space that was dropped.
  KeyIndex* index_of(std::uint16_t space);
  Versions* versions_of(std::uint16_t space);
  // The keyspace of a record of this run, which is sealed.
  std::uint16_t space_at(const BlockMeta& run, Line line) const {
    const std::uint16_t space = run.space.load(std::memory_order_relaxed);
    return space == kMixedSpaces ? records.at(line).header().space() : space;
  }

  StoreOptions options;  // As given, but durability: what the default is here.
  EventQueue events;     // Every room that reports events has a pointer to it.
  Medium medium;
  OpenSuperblock superblock;
  WriteGate gate;
  EpochDomain epochs;
  BlockTable table;
  Mark mark;
  Upkeep upkeep;
  Records records;
  Sequences sequences;
  GroupCommit group;
  Sessions sessions;
  ExpiryRules expiry;  // Of all keyspaces.
  KeyIndex index;
  std::unique_ptr<Displaced> displaced;  // Page media only.
  Versions versions;
  Appender appender;
  SpaceTable spaces;
  Pieces pieces;
};

}  // namespace holdfast::kv
