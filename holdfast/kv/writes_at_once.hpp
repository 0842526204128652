// writes_at_once.hpp: the usual put, erase and update_word of a store's own keys. Usual means: the
// thread is in no guard, its run has room, the key's home is not latched, and there is no snapshot.
// Put and erase here are for stores without an order. The code calls nothing, so it needs no stack
// frame; each rare case is a jump away.
//
// The protocol is that of write_verbs.hpp, which does the whole operation where something is
// unusual. Included where verbs are instantiated, and nowhere else.
#pragma once

#include <holdfast/kv/verb_table.hpp>
#include <holdfast/kv/write_verbs.hpp>

namespace holdfast::kv {

// What is left to do. kAll: nothing has happened. kPublish: the record is durable, and
// Writes::finish_*() publishes it, in the guard that is left open.
enum class WriteRest : std::uint8_t { kAll, kNothing, kPublish };

// What latch_word_at_once() leaves latched, and change_word() continues with.
struct LatchedWord {
  Session* own = nullptr;
  index::Bucket* home = nullptr;
  std::uint64_t* word = nullptr;
};

// The calling thread's, where it may write at once if the gate then takes_all(); else null.
inline Session* writes_at_once(Rooms& rooms) {
  Session* const own = rooms.sessions.used_last();
  return own != nullptr && own->participant.outside() ? own : nullptr;
}

template <class Path>
WriteRest put_at_once(Rooms& rooms, Bytes key, Bytes value, PutOutcome& outcome,
                      Appended& appended) {
  Session* const own = writes_at_once(rooms);
  if (!Path::is_usual(key.size(), value.size()) || own == nullptr) [[unlikely]]
    return WriteRest::kAll;
  auto guard = rooms.epochs.enter_briefly(own->participant, EpochDomain::Role::kWriter);
  const NewRecord record{RecordKind::kPut, rooms.index.hash<Path>(key), key, value};
  const Place place = rooms.index.place(record.hash);
  prefetch_for_write(place.home);
  prefetch_for_read(place.home + 1);
  if (!rooms.gate.takes_all() || own->lane.revoked.load(std::memory_order_acquire) != 0 ||
      !own->notes.has_room() || !rooms.appender.append_at_once<Path>(own->lane, record, appended))
      [[unlikely]] {
    return WriteRest::kAll;
  }
  own->count(1, appended.padded_bytes / kCacheLineBytes);
  rooms.appender.commit_at_once<Path>(own->lane);

  if (publish_put_at_once<Path>(rooms, *own, place, key, appended, outcome)) [[likely]]
    return WriteRest::kNothing;
  guard.leave_open();
  return WriteRest::kPublish;
}

// What publish_erase() nearly always does, of a key of 8 to 16 bytes (of others it does nothing)
// whose one entry of this tag is `old`, while there is no snapshot. False: nothing has happened.
template <class Path>
bool publish_erase_over(Rooms& rooms, Session& own, const Place& place, Bytes key,
                        const Appended& appended, const Seen& old) {
  const auto allowed = [&] {
    if (rooms.index.behind_horizon(place, appended.sequence)) return false;
    HF_MUTANT("K80", rooms.index.raise_horizon(place.hash, appended.sequence), void());
    return true;
  };
  if (!is_of_two_words(key.size()) || !rooms.records.is_put_of(old.line(), key, Path::kHeaderBytes))
      [[unlikely]]
    return false;
  const RecordView superseded = rooms.records.at(old.line(), Path::kHeaderBytes);
  const std::uint64_t padded = superseded.padded_bytes_of_put();
  if (superseded.sequence() >= appended.sequence || rooms.versions.held() ||
      !rooms.index.map().remove_at_once(place, old, *own.tally, allowed)) [[unlikely]]
    return false;
  own.notes.add(old.line(), padded);
  return true;
}

template <class Path>
WriteRest erase_at_once(Rooms& rooms, Bytes key, Appended& appended) {
  Session* const own = writes_at_once(rooms);
  if (key.size() != 16 || own == nullptr) [[unlikely]]
    return WriteRest::kAll;
  auto guard = rooms.epochs.enter_briefly(own->participant, EpochDomain::Role::kWriter);
  const NewRecord record{RecordKind::kErase, rooms.index.hash<Path>(key), key, {}};
  const Place place = rooms.index.place(record.hash);
  prefetch_for_write(place.home);
  prefetch_for_read(place.home + 1);
  // The key is compared behind the fence: its record's miss stands beside it, not before it.
  OffsetMap& map = rooms.index.map();
  Seen old;
  if (!map.glance<typename Path::Probing>(
          place, [](Line) { return true; }, old) ||
      !old || !rooms.gate.takes_all() || own->lane.revoked.load(std::memory_order_acquire) != 0 ||
      !own->notes.has_room() || !rooms.appender.append_at_once<Path>(own->lane, record, appended))
      [[unlikely]] {
    return WriteRest::kAll;
  }
  own->count(1, 1);
  rooms.appender.commit_at_once<Path>(own->lane);

  if (publish_erase_over<Path>(rooms, *own, place, key, appended, old)) [[likely]]
    return WriteRest::kNothing;
  guard.leave_open();
  return WriteRest::kPublish;
}

// Latches the home of a word that may change in place, of a key of 8 to 16 bytes. False: nothing
// has happened. Inside a guard. kBehind: the key may lie one bucket behind, too.
template <class Path, bool kBehind>
bool latch_word_in_guard(Rooms& rooms, std::uint64_t hash, Bytes key, std::uint32_t offset_bytes,
                         LatchedWord& latched) {
  if (!is_of_two_words(key.size()) || !Path::is_patchable(rooms.records.patchable(), offset_bytes))
      [[unlikely]]
    return false;
  const Place place = rooms.index.place(hash);
  OffsetMap& map = rooms.index.map();
  Seen seen;
  const bool sure = map.glance<typename Path::NarrowProbing, kBehind>(
      place, [&](Line line) { return rooms.records.is_put_of(line, key, Path::kHeaderBytes); },
      seen);
  if (!sure || !seen) [[unlikely]]
    return false;
  const RecordView record = rooms.records.at(seen.line(), Path::kHeaderBytes);
  const std::uint64_t word_at = round_up(Path::kHeaderBytes + key.size(), 8) + offset_bytes;
  const std::uint64_t value_bytes = record.header().value_bytes();
  const BlockMeta& run = rooms.table.run_of(offset_of(seen.line()));
  if (value_bytes < offset_bytes + sizeof(std::uint64_t) ||
      !rooms.records.value_fits_block(seen.line(), word_at - offset_bytes, value_bytes) ||
      !map.latch_at_once(place, seen)) [[unlikely]] {
    return false;
  }
  // Under the latch: a snapshot, a pin or a relocation that began before is seen. A pin that begins
  // later sees the latch or the mark; a snapshot and a relocation wait for the guard.
  if (run.state.load(std::memory_order_acquire) != BlockState::kSealed ||
      run.fixed.load(std::memory_order_acquire) != 0 || rooms.versions.snapshots_open() != 0 ||
      run.pins.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
    const OffsetMap::PatchedHome ends(*place.home);
    return false;
  }
  latched.home = place.home;
  latched.word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(record.bytes()) + word_at);
  return true;
}
template <class Path, bool kBehind>
bool latch_word_at_once(Rooms& rooms, Bytes key, std::uint32_t offset_bytes, LatchedWord& latched) {
  Session* const own = writes_at_once(rooms);
  // Both are asked for before the hash is made.
  if (own == nullptr || !is_of_two_words(key.size())) [[unlikely]]
    return false;
  auto guard = rooms.epochs.enter_briefly(own->participant, EpochDomain::Role::kWriter);
  latched.own = own;
  if (!rooms.gate.takes_all() ||
      !latch_word_in_guard<Path, kBehind>(rooms, rooms.index.hash<Path>(key), key, offset_bytes,
                                          latched)) [[unlikely]]
    return false;
  guard.leave_open();
  return true;
}

// Goes on where latch_word_at_once() was.
template <class Path>
std::uint64_t change_word(Rooms& rooms, const LatchedWord& latched, HotVerbs::Change change) {
  const auto guard = rooms.epochs.continues(latched.own->participant);
  const OffsetMap::PatchedHome home(*latched.home);
  const Persist& persist = rooms.medium.persist();
  const std::uint64_t before = Persist::load(latched.word);
  const std::uint64_t after = change(before);
  home.set_patching(true);  // Readers of this bucket from now on persist what they read.
  persist.store(latched.word, after);
  persist.write_back_word(latched.word);
  Path::fence(persist);
  home.set_patching(false);
  latched.own->count(1, 1);
  return before;
}

}  // namespace holdfast::kv
