#include <holdfast/kv/publication.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

template <class R>
Result<Appended> BasicPublication<R>::write_latched(Session& own, NewRecord record, bool fresh,
                                                    Purpose purpose) {
  const HeldLane lane(rooms_.group, own);
  Appended appended;
  HF_RETURN_IF_ERROR(rooms_.appender.append(*lane, record, fresh, purpose, appended));
  own.count(1, appended.padded_bytes / kCacheLineBytes);
  HF_RETURN_IF_ERROR(rooms_.appender.commit(*lane));
  return appended;
}

template <class R>
void BasicPublication<R>::supersede(Session& own, Line line, bool continues) {
  const RecordView record = rooms_.records.at(line);
  if (record.kind() == RecordKind::kErase) {
    rooms_.index.count_tombstone(-1);
    return;  // Its bytes count as dead since it was written.
  }
  if (continues) return own.notes.add_untold(rooms_.table, line, record.padded_bytes());
  own.notes.add(rooms_.table, line, record.padded_bytes());
}

template <class R>
void BasicPublication<R>::drop_behind(Session& own, Line line) {
  if (HF_MUTANT("K46", !rooms_.versions.held(), true)) [[likely]]
    return;
  while ((line = rooms_.versions.detach(line))) {
    const RecordView record = rooms_.records.at(line);
    if (is_put(record.kind())) own.notes.add(rooms_.table, line, record.padded_bytes());
  }
}

template <class R>
void BasicPublication<R>::replace(Session& own, OffsetMap::Home& home, Entry entry,
                                  const Appended& record, bool continues) {
  const Line line = line_at(record.offset);
  Line old = OffsetMap::Home::line(entry);
  if (rooms_.versions.snapshots_open() != 0) [[unlikely]] {
    const Line dead = rooms_.versions.retire(line, old);
    home.replace(entry, line);
    if (rooms_.records.at(old).kind() == RecordKind::kErase) {
      rooms_.index.count_tombstone(-1);
      return;
    }
    if (!dead) return;
    old = dead;
  } else {
    home.replace(entry, line);
    drop_behind(own, old);
  }
  supersede(own, old, continues);
}

template <class R>
Status BasicPublication<R>::write_newer(Session& own, const NewRecord& record, Appended& appended,
                                        WriteOptions options) {
  Appended again;
  auto written = write_record(own, record, true, Purpose::kAgain, options, again);
  if (written)
    appended = again;
  else
    disown(own, record.hash, appended, record.kind);
  return written;
}

template <class R>
Status BasicPublication<R>::settle(Session& own, const NewRecord& record,
                                   const Appended& appended) {
  auto settled = rooms_.displaced->settle(own, record.hash);
  if (!settled) disown(own, record.hash, appended, record.kind);
  return settled;
}

template <class R>
Result<PutOutcome> BasicPublication<R>::publish_put_slowly(Session& own, OffsetMap::Latched home,
                                                           Place place, NewRecord record,
                                                           Appended appended,
                                                           WriteOptions options) {
  KeyIndex& index = rooms_.index;
  for (;; home = index.latch(place, own)) {
    const Entry entry = home.find(index.matches(record.key));
    if (!entry && HF_MUTANT("K67", displaced(place), false)) {
      home.release();
      HF_RETURN_IF_ERROR(settle(own, record, appended));
      continue;
    }
    if (!is_newest(place, entry, appended.sequence)) {
      const Appended late = appended;
      HF_RETURN_IF_ERROR(write_newer(own, record, appended, options));
      own.notes.add(rooms_.table, line_at(late.offset), late.padded_bytes);
    }
    if (entry) {
      const Line old = OffsetMap::Home::line(entry);
      const bool existed = index.is_there(rooms_.records.at(old), old);
      replace(own, home, entry, appended);
      return existed ? PutOutcome::kOverwrote : PutOutcome::kInserted;
    }
    if (home.insert(line_at(appended.offset))) {
      index.enter(record.key);
      home.release();
      index.map().grow_in_turn();
      return PutOutcome::kInserted;
    }
    home.release();
    if (auto grown = index.map().grow(record.hash); !grown) {
      disown(own, record.hash, appended, record.kind);
      return std::move(grown).error();
    }
  }
}

// Called after append and commit. `unread`: what the place had before these, if the record there is
// not in memory.
template <class R>
Result<PutOutcome> BasicPublication<R>::publish_put_on_pages(Session& own, Place& place,
                                                             const NewRecord& record,
                                                             const Appended& appended,
                                                             const Seen& unread,
                                                             WriteOptions options) {
  KeyIndex& index = rooms_.index;
  // What the latch is not to be held for: the old record's page.
  if (!unread) (void)index.look(place, record.key);
  auto home = index.latch(place, own);
  if (unread && HF_MUTANT("K60", rooms_.displaced->still_alone(home, unread), true) &&
      HF_MUTANT("K61", !rooms_.versions.held(), true) &&
      HF_MUTANT("K62", !index.behind_horizon(place, appended.sequence), true)) {
    HF_MUTANT("K63", rooms_.displaced->add(place, unread.line()), void());
    home.replace(unread.entry, line_at(appended.offset));
    // It may be new: what stood there was not read.
    HF_MUTANT("K83", index.enter(record.key), void());
    return PutOutcome::kWritten;
  }
  return publish_put_slowly(own, std::move(home), place, record, appended, options);
}

template <class R>
Result<PutOutcome> BasicPublication<R>::publish_grouped_put(Session& own, Place& place,
                                                            const NewRecord& record,
                                                            const Appended& appended,
                                                            const Seen& unread,
                                                            WriteOptions options) {
  if (rooms_.displaced) return publish_put_on_pages(own, place, record, appended, unread, options);
  return publish_put<AnyPath>(own, place, record, appended, options);
}

template <class R>
Result<bool> BasicPublication<R>::publish_erase_slowly(Session& own, OffsetMap::Latched home,
                                                       Place place, NewRecord record,
                                                       Appended appended, WriteOptions options) {
  KeyIndex& index = rooms_.index;
  const Entry entry = home.find(index.matches(record.key));
  if (!entry || rooms_.records.at(OffsetMap::Home::line(entry)).kind() == RecordKind::kErase) {
    // Another thread erased it meanwhile. This tombstone erases nothing, but recovery would let it
    // win over whatever is older: so nothing older may be published from here on.
    HF_MUTANT("K33", index.raise_horizon(record.hash, appended.sequence), void());
    return false;
  }
  if (!is_newest(place, entry, appended.sequence))
    HF_RETURN_IF_ERROR(write_newer(own, record, appended, options));
  HF_MUTANT("K33", index.raise_horizon(record.hash, appended.sequence), void());
  const Line old = OffsetMap::Home::line(entry);
  const bool existed = index.is_there(rooms_.records.at(old), old);
  if (rooms_.versions.snapshots_open() == 0) {
    home.remove(entry);
    index.leave(record.key);
    drop_behind(own, old);
    supersede(own, old);
    return existed;
  }
  // Snapshots still need the way to the old record: the key stays indexed, by its tombstone.
  const Line line = line_at(appended.offset);
  const Line dead = rooms_.versions.retire(line, old);
  index.count_tombstone(1);
  home.replace(entry, line);
  rooms_.versions.note_tombstone(record.hash, appended.sequence);
  if (dead) supersede(own, dead);
  return existed;
}

// Nothing of this key may be left where readers look when the index does not have it.
template <class R>
Result<bool> BasicPublication<R>::publish_erase_on_pages(Session& own, Place& place,
                                                         const NewRecord& record,
                                                         const Appended& appended,
                                                         WriteOptions options) {
  for (;;) {
    (void)rooms_.index.look(place, record.key);  // What the latch is not to be held for.
    auto home = rooms_.index.latch(place, own);
    if (HF_MUTANT("K64", !displaced(place), true))
      return publish_erase_slowly(own, std::move(home), place, record, appended, options);
    home.release();
    HF_RETURN_IF_ERROR(settle(own, record, appended));
  }
}

template <class R>
Result<bool> BasicPublication<R>::publish_grouped_erase(Session& own, Place& place,
                                                        const NewRecord& record,
                                                        const Appended& appended,
                                                        WriteOptions options) {
  if (rooms_.displaced) return publish_erase_on_pages(own, place, record, appended, options);
  return publish_erase<AnyPath>(own, place, record, appended, options);
}

template <class R>
Result<bool> BasicPublication<R>::is_absent(Session& own, Place& place, Bytes key) {
  if (rooms_.index.look(place, key)) return false;
  while (rooms_.displaced) {
    {
      const auto home = rooms_.index.latch(place, own);
      if (home.find(rooms_.index.matches(key))) return false;
      if (HF_MUTANT("K65", !displaced(place), true)) return true;
    }
    HF_RETURN_IF_ERROR(rooms_.displaced->settle(own, place.hash));
  }
  return true;
}

template <class R>
Status BasicPublication<R>::latch_all(Session& own, std::span<const std::uint64_t> hashes) {
  for (;;) {
    own.latches.acquire(rooms_.index.map(), hashes);
    if (!rooms_.displaced || rooms_.displaced->count() == 0) return {};
    const auto apart = std::find_if(hashes.begin(), hashes.end(), [&](std::uint64_t hash) {
      return HF_MUTANT("K66", displaced(rooms_.index.place(hash)), false);
    });
    if (apart == hashes.end()) return {};
    own.latches.release();
    HF_RETURN_IF_ERROR(rooms_.displaced->settle(own, *apart));
  }
}

template <class R>
void BasicPublication<R>::disown(Session& own, std::uint64_t hash, Appended record,
                                 RecordKind kind) {
  if (record.offset == 0) return;  // Nothing was appended.
  rooms_.index.raise_horizon(hash, record.sequence);
  // The bytes of a tombstone count as dead already.
  own.notes.add(rooms_.table, line_at(record.offset), is_put(kind) ? record.padded_bytes : 0);
  own.undone = true;
}

template <class R>
void BasicPublication<R>::disown(Session& own, std::span<OnItsWay> puts) {
  for (OnItsWay& put : puts) {
    const auto home = rooms_.index.latch(put.place, own);
    disown(own, put.place.hash, put.appended, RecordKind::kPut);
  }
}

template class BasicPublication<Rooms>;
template class BasicPublication<SpaceRooms>;

}  // namespace holdfast::kv
