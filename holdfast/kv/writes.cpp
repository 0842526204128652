#include <holdfast/kv/space_rooms.hpp>
#include <holdfast/kv/write_verbs.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

template <class R>
Status BasicWrites<R>::check_sizes(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  if (key_bytes > kMaxKeyBytes) {
    return Error{Errc::kTooLarge, "key of " + std::to_string(key_bytes) + " bytes; at most " +
                                      std::to_string(kMaxKeyBytes) + " are allowed"};
  }
  if (value_bytes <= kMaxValueBytes) return {};
  return Error{Errc::kTooLarge, "value of " + std::to_string(value_bytes) + " bytes; at most " +
                                    std::to_string(kMaxValueBytes) + " are allowed"};
}

template <class R>
Error BasicWrites<R>::no_word_at(std::uint32_t offset_bytes, std::uint64_t value_bytes) {
  return {Errc::kInvalidOption, "offset_bytes=" + std::to_string(offset_bytes) +
                                    " into a value of " + std::to_string(value_bytes) +
                                    " bytes; a multiple of 8 with 8 bytes behind it is allowed"};
}

template <class R>
Status BasicWrites<R>::take_back() {
  Session& own = rooms_.sessions.of_this_thread();
  if (!std::exchange(own.undone, false)) return {};
  return maintenance_.take_back(rooms_.sessions, rooms_.group.lane_of(own));
}

template <class R>
void BasicWrites<R>::pay_pause(Session& own) {
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
void BasicWrites<R>::pause_to_be_admitted(Session& own) {
  pay_pause(own);
  Lane& lane = rooms_.group.lane_of(own);
  const Lock lock(lane.latch);
  lane.admitted = true;
}

// ---- The two steps of every write: onto the medium, into the index ----

template <class R>
Result<Appended> BasicWrites<R>::write_latched(Session& own, NewRecord record, bool fresh,
                                               Purpose purpose) {
  const HeldLane lane(rooms_.group, own);
  Appended appended;
  HF_RETURN_IF_ERROR(rooms_.appender.append(*lane, record, fresh, purpose, appended));
  own.count(1, appended.padded_bytes / kCacheLineBytes);
  HF_RETURN_IF_ERROR(rooms_.appender.commit(*lane));
  return appended;
}

template <class R>
void BasicWrites<R>::supersede(Session& own, Line line, bool continues) {
  const RecordView record = rooms_.records.at(line);
  if (record.kind() == RecordKind::kErase) {
    rooms_.index.count_tombstone(-1);
    return;  // Its bytes count as dead since it was written.
  }
  if (continues) return own.notes.add_untold(rooms_.table, line, record.padded_bytes());
  own.notes.add(rooms_.table, line, record.padded_bytes());
}

template <class R>
void BasicWrites<R>::drop_behind(Session& own, Line line) {
  if (HF_MUTANT("K46", !rooms_.versions.held(), true)) [[likely]]
    return;
  while ((line = rooms_.versions.detach(line))) {
    const RecordView record = rooms_.records.at(line);
    if (is_put(record.kind())) own.notes.add(rooms_.table, line, record.padded_bytes());
  }
}

template <class R>
void BasicWrites<R>::replace(Session& own, OffsetMap::Home& home, Entry entry,
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
void BasicWrites<R>::disown(Session& own, std::uint64_t hash, Appended record, RecordKind kind) {
  if (record.offset == 0) return;  // Nothing was appended.
  rooms_.index.raise_horizon(hash, record.sequence);
  // The bytes of a tombstone count as dead already.
  own.notes.add(rooms_.table, line_at(record.offset), is_put(kind) ? record.padded_bytes : 0);
  own.undone = true;
}

template <class R>
void BasicWrites<R>::disown(Session& own, std::span<OnItsWay> puts) {
  for (OnItsWay& put : puts) {
    const auto home = rooms_.index.latch(put.place, own);
    disown(own, put.place.hash, put.appended, RecordKind::kPut);
  }
}

// ---- put ----

template <class R>
Result<PutOutcome> BasicWrites<R>::publish_put_slowly(Session& own, OffsetMap::Latched home,
                                                      Place place, NewRecord record,
                                                      Appended appended, WriteOptions options) {
  KeyIndex& index = rooms_.index;
  for (;; home = index.latch(place, own)) {
    const Entry entry = home.find(index.matches(record.key));
    if (!entry && HF_MUTANT("K67", displaced(place), false)) {
      home.release();
      if (auto settled = rooms_.displaced->settle(own, record.hash); !settled) {
        disown(own, record.hash, appended, record.kind);
        return std::move(settled).error();
      }
      continue;
    }
    if (!is_newest(place, entry, appended.sequence)) {
      // A later writer of this key was faster. Once more, under the latch, with a newer sequence.
      Appended again;
      auto written = write_record(own, record, true, Purpose::kAgain, options, again);
      if (!written) {
        disown(own, record.hash, appended, record.kind);
        return std::move(written).error();
      }
      abandon(own, appended);
      appended = again;
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

// ---- put_many ----

template <class R>
Status BasicWrites<R>::put_many(const ByteSpans& keys, const ByteSpans& values,
                                WriteOptions options, std::size_t& done) {
  return settle_puts(try_put_many(keys, values, options, done), keys, values, options, done);
}

template <class R>
Status BasicWrites<R>::settle_puts(Status outcome, const ByteSpans& keys, const ByteSpans& values,
                                   WriteOptions options, std::size_t& done) {
  if (!outcome) settle(outcome, [&] { return try_put_many(keys, values, options, done); });
  return outcome;
}

template <class R>
Status BasicWrites<R>::put_some(const ByteSpans& keys, const ByteSpans& values,
                                WriteOptions options, std::size_t& done) {
  const std::size_t end = std::min(done + Session::kGroup, keys.size());
  return put_many(keys.first(end), values.first(end), options, done);
}

template <class R>
Status BasicWrites<R>::publish_first(Session& own, Bytes key, Bytes value,
                                     std::span<OnItsWay> group, WriteOptions options) {
  const OnItsWay one = group.front();
  Place place = one.place;
  auto published = publish_put<AnyPath>(own, place, {RecordKind::kPut, place.hash, key, value},
                                        one.appended, options);
  if (published) return {};
  disown(own, group.subspan(1));
  return std::move(published).error();
}

// From the first that is not `done` on; counts as far as it gets.
template <class R>
Status BasicWrites<R>::try_put_many(const ByteSpans& keys, const ByteSpans& values,
                                    WriteOptions options, std::size_t& done) {
  if (done == keys.size()) return {};
  R& rooms = rooms_;
  HF_RETURN_IF_ERROR(check(keys.largest(done), values.largest(done), options));
  while (rooms.group.needed() && done < keys.size())
    HF_RETURN_IF_ERROR(put_group_on_pages(keys, values, options, done));
  Session& own = rooms.sessions.of_this_thread();
  while (done < keys.size()) {
    const auto guard = rooms.epochs.enter(own.participant);
    const std::size_t first = done, size = std::min(Session::kGroup, keys.size() - first);
    std::size_t written = 0;
    Status failed;
    const auto append_group = [&]() -> Status {
      const HeldLane lane(rooms_.group, own);
      // Newer than all that was acknowledged before: a record that finds a newer one of its key is
      // written once more, and would be missing from the prefix that a crash leaves.
      bool fresh = !rooms.sequences.is_newest(lane->chunk);
      for (; written < size; ++written) {
        OnItsWay& one = own.group[written];
        one.place = rooms.index.place(rooms.index.hash(keys[first + written]));
        prefetch_for_write(one.place.home);
        const NewRecord record{RecordKind::kPut, one.place.hash, keys[first + written],
                               values[first + written]};
        failed = rooms.appender.append(*lane, record, std::exchange(fresh, false), Purpose::kPut,
                                       one.appended);
        if (!failed) break;
        own.count(0, one.appended.padded_bytes / kCacheLineBytes);
      }
      return rooms.appender.commit(*lane);
    };
    HF_RETURN_IF_ERROR(append_group());
    own.count(1, 0);
    const auto group = std::span(own.group).first(written);
    for (const OnItsWay& one : group)
      rooms.index.prefetch_record(one.place);
    if (rooms.index.is_ordered()) rooms.index.prefetch_order(group, keys, first);
    for (; done - first < written; ++done) {
      HF_RETURN_IF_ERROR(
          publish_first(own, keys[done], values[done], group.subspan(done - first), options));
    }
    HF_RETURN_IF_ERROR(std::move(failed));
  }
  return {};
}

// ---- erase ----

template <class R>
Result<bool> BasicWrites<R>::publish_erase_slowly(Session& own, OffsetMap::Latched home,
                                                  Place place, NewRecord record, Appended appended,
                                                  WriteOptions options) {
  KeyIndex& index = rooms_.index;
  const Entry entry = home.find(index.matches(record.key));
  if (!entry || rooms_.records.at(OffsetMap::Home::line(entry)).kind() == RecordKind::kErase) {
    // Another thread erased it meanwhile. This tombstone erases nothing, but recovery would let it
    // win over whatever is older: so nothing older may be published from here on.
    HF_MUTANT("K33", index.raise_horizon(record.hash, appended.sequence), void());
    return false;
  }
  if (!is_newest(place, entry, appended.sequence)) {
    Appended again;
    auto written = write_record(own, record, true, Purpose::kAgain, options, again);
    if (!written) {
      disown(own, record.hash, appended, record.kind);
      return std::move(written).error();
    }
    appended = again;
  }
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

// ---- update_word ----

template <class R>
Result<std::uint64_t> BasicWrites<R>::update_word_by_copy(Session& own, OffsetMap::Latched home,
                                                          Entry entry, Bytes key,
                                                          std::uint64_t hash,
                                                          std::uint32_t offset_bytes, Change change,
                                                          WriteOptions options) {
  std::string value(rooms_.records.at(OffsetMap::Home::line(entry)).value());
  std::uint64_t before;
  std::memcpy(&before, value.data() + offset_bytes, sizeof before);
  const std::uint64_t after = change(before);
  std::memcpy(value.data() + offset_bytes, &after, sizeof after);
  const NewRecord record{RecordKind::kPut, hash, key, std::as_bytes(std::span(value))};
  Appended appended;
  HF_RETURN_IF_ERROR(write_record(own, record, true, Purpose::kUpdate, options, appended));
  replace(own, home, entry, appended);
  return before;
}

// ---- For groups of operations, which do not inline them ----

template <class R>
Result<PutOutcome> BasicWrites<R>::publish_grouped_put(Session& own, Place& place,
                                                       const NewRecord& record,
                                                       const Appended& appended, const Seen& unread,
                                                       WriteOptions options) {
  if (rooms_.displaced) return publish_put_on_pages(own, place, record, appended, unread, options);
  return publish_put<AnyPath>(own, place, record, appended, options);
}

template <class R>
Result<bool> BasicWrites<R>::publish_grouped_erase(Session& own, Place& place,
                                                   const NewRecord& record,
                                                   const Appended& appended, WriteOptions options) {
  if (rooms_.displaced) return publish_erase_on_pages(own, place, record, appended, options);
  return publish_erase<AnyPath>(own, place, record, appended, options);
}

template <class R>
Status BasicWrites<R>::put_within(Bytes key, Bytes value, Purpose purpose, WriteOptions options) {
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  const NewRecord record{RecordKind::kPut, rooms_.index.hash(key), key, value};
  Place place = rooms_.index.place(record.hash);
  Appended appended;
  HF_RETURN_IF_ERROR(write_record(own, record, true, purpose, options, appended));
  HF_RETURN_IF_ERROR(publish_put<AnyPath>(own, place, record, appended, options));
  return {};
}

template <class R>
Result<PutOutcome> BasicWrites<R>::put_alone(Bytes key, Bytes value, WriteOptions options) {
  return put<AnyPath>(key, value, options);
}

template <class R>
Status BasicWrites<R>::put_to_make_room(Bytes key, Bytes value, WriteOptions options) {
  const auto attempt = [=, this]() -> Status {
    HF_RETURN_IF_ERROR(check(key.size(), value.size(), options));
    return put_within(key, value, Purpose::kErase, options);
  };
  Status outcome = attempt();
  settle(outcome, attempt);
  pay_pause(rooms_.sessions.of_this_thread());
  return outcome;
}

template <class R>
Result<bool> BasicWrites<R>::erase_alone(Bytes key, WriteOptions options) {
  return erase<AnyPath>(key, options);
}

template <class R>
Result<std::uint64_t> BasicWrites<R>::update_word_alone(Bytes key, std::uint32_t offset_bytes,
                                                        Change change, WriteOptions options) {
  return update_word<AnyPath>(key, offset_bytes, change, options);
}

template class BasicWrites<Rooms>;
template class BasicWrites<SpaceRooms>;

}  // namespace holdfast::kv
