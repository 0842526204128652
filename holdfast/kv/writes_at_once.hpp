// writes_at_once.hpp: what nearly every put, erase and update_word of a store's own keys is: by a
// thread that is in no guard, with room in its run, of a home that nobody holds, while there is no
// snapshot. Compiled so that it calls nothing: it needs no frame, and whatever is rare is a jump
// away. Included where verbs are instantiated, and nowhere else.
//
// The protocol is that of write_verbs.hpp, which does all of it where something is unusual.
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

// The calling thread's, where it may write at once; else null.
inline Session* writes_at_once(Rooms& rooms) {
  Session* const own = rooms.sessions.used_last();
  return own != nullptr && own->participant.outside() && rooms.gate.takes_all() ? own : nullptr;
}

template <class Path>
WriteRest put_at_once(Rooms& rooms, Bytes key, Bytes value, PutOutcome& outcome,
                      Appended& appended) {
  Session* const own = writes_at_once(rooms);
  if (!Path::is_usual(key.size(), value.size()) || own == nullptr) [[unlikely]]
    return WriteRest::kAll;
  auto guard = rooms.epochs.enter_briefly(own->participant);
  const NewRecord record{RecordKind::kPut, rooms.index.hash<Path>(key), key, value};
  const Place place = rooms.index.place(record.hash);
  prefetch_for_write(place.home);
  if (own->lane.revoked.load(std::memory_order_acquire) != 0 || !own->notes.has_room() ||
      !rooms.appender.append_at_once<Path>(own->lane, record, appended)) [[unlikely]] {
    return WriteRest::kAll;
  }
  own->count(1, appended.padded_bytes / kCacheLineBytes);
  if (rooms.index.is_ordered()) [[unlikely]]
    rooms.index.prefetch_order(place, key);  // Beside the fence.
  rooms.appender.commit_at_once<Path>(own->lane);

  if (publish_put_at_once<Path>(rooms, *own, place, key, appended, outcome)) [[likely]]
    return WriteRest::kNothing;
  guard.leave_open();
  return WriteRest::kPublish;
}

template <class Path>
WriteRest erase_at_once(Rooms& rooms, Bytes key, Appended& appended) {
  Session* const own = writes_at_once(rooms);
  if (key.size() != 16 || own == nullptr || rooms.index.is_ordered()) [[unlikely]]
    return WriteRest::kAll;
  auto guard = rooms.epochs.enter_briefly(own->participant);
  const NewRecord record{RecordKind::kErase, rooms.index.hash<Path>(key), key, {}};
  const Place place = rooms.index.place(record.hash);
  prefetch_for_write(place.home);
  // The key is compared behind the fence: its record's miss stands beside it, not before it.
  OffsetMap& map = rooms.index.map();
  Seen old;
  if (!map.glance<typename Path::Probing>(
          place, [](Line) { return true; }, old) ||
      !old || own->lane.revoked.load(std::memory_order_acquire) != 0 || !own->notes.has_room() ||
      !rooms.appender.append_at_once<Path>(own->lane, record, appended)) [[unlikely]] {
    return WriteRest::kAll;
  }
  own->count(1, 1);
  rooms.appender.commit_at_once<Path>(own->lane);

  const auto allowed = [&] {
    if (rooms.index.behind_horizon(place, appended.sequence)) return false;
    HF_MUTANT("K80", rooms.index.raise_horizon(record.hash, appended.sequence), void());
    return true;
  };
  if (rooms.records.is_put_of(old.line(), key, Path::kHeaderBytes)) [[likely]] {
    const RecordView superseded = rooms.records.at(old.line(), Path::kHeaderBytes);
    const std::uint64_t padded = superseded.padded_bytes_of_put();
    if (superseded.sequence() < appended.sequence && !rooms.versions.held() &&
        map.remove_at_once(place, old, *own->tally, allowed)) [[likely]] {
      own->notes.add(old.line(), padded);
      return WriteRest::kNothing;
    }
  }
  guard.leave_open();
  return WriteRest::kPublish;
}

// Latches the home of a word that may change in place. False: nothing has happened.
template <class Path>
bool latch_word_at_once(Rooms& rooms, Bytes key, std::uint32_t offset_bytes, LatchedWord& latched) {
  Session* const own = writes_at_once(rooms);
  if (!is_of_two_words(key.size()) || own == nullptr ||
      !Path::is_patchable(rooms.records.patchable(), offset_bytes)) [[unlikely]] {
    return false;
  }
  auto guard = rooms.epochs.enter_briefly(own->participant);
  const Place place = rooms.index.place(rooms.index.hash<Path>(key));
  OffsetMap& map = rooms.index.map();
  Seen seen;
  const bool sure = map.glance<typename Path::Probing>(
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
  // Under the latch: a snapshot, a pin or a relocation that began before is seen, and one that
  // begins later sees the latch or the mark.
  if (run.state.load(std::memory_order_acquire) != BlockState::kSealed ||
      run.fixed.load(std::memory_order_acquire) != 0 || rooms.versions.snapshots_open() != 0 ||
      run.pins.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
    const OffsetMap::PatchedHome ends(*place.home);
    return false;
  }
  latched = {own, place.home,
             reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(record.bytes()) + word_at)};
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
