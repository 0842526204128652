#include <holdfast/kv/writes.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

Error Writes::too_large(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  if (key_bytes > kMaxKeyBytes) {
    return {Errc::kTooLarge, "key of " + std::to_string(key_bytes) + " bytes; at most " +
                                 std::to_string(kMaxKeyBytes) + " are allowed"};
  }
  return {Errc::kTooLarge, "value of " + std::to_string(value_bytes) + " bytes; at most " +
                               std::to_string(kMaxValueBytes) + " are allowed"};
}

// ---- The two steps of every write: onto the medium, into the index ----

inline Status Writes::write_on_lines(Session& own, const NewRecord& record, bool fresh,
                                     Purpose purpose, Appended& appended) {
  const OwnLane hold(own.lane);
  HF_RETURN_IF_ERROR(rooms_.appender.append(own.lane, record, fresh, purpose, appended));
  own.count(1, appended.padded_bytes / kCacheLineBytes);
  return rooms_.appender.commit(own.lane);
}

inline Status Writes::write_record(Session& own, const NewRecord& record, bool fresh,
                                   Purpose purpose, Durability durability, Appended& appended) {
  if (rooms_.paged()) [[unlikely]] {
    Lane& lane = rooms_.group->lane();
    {
      const std::lock_guard lock(lane.latch);
      HF_RETURN_IF_ERROR(rooms_.appender.append(lane, record, fresh, purpose, appended));
      HF_RETURN_IF_ERROR(rooms_.appender.commit(lane));
    }
    return durability == Durability::kPower ? rooms_.group->wait() : ok_status();
  }
  return write_on_lines(own, record, fresh, purpose, appended);
}

void Writes::supersede(Session& own, Line line) {
  const RecordView record = rooms_.records.at(line);
  if (record.kind() == RecordKind::kErase) {
    rooms_.index.count_tombstone(-1);
    return;  // Its bytes count as dead since it was written.
  }
  own.notes.add(rooms_.table, line, record.padded_bytes());
}

void Writes::replace(Session& own, OffsetMap::Home& home, Entry entry, const Appended& record) {
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
  }
  supersede(own, old);
}

void Writes::disown(Session& own, std::uint64_t hash, const Appended& record, RecordKind kind) {
  rooms_.index.raise_horizon(hash, record.sequence);
  // The bytes of a tombstone count as dead already.
  own.notes.add(rooms_.table, line_at(record.offset),
                kind == RecordKind::kPut ? record.padded_bytes : 0);
  own.undone = true;
}

// ---- put ----

inline Result<PutOutcome> Writes::put(Bytes key, Bytes value, WriteOptions options) {
  const Durability durability = rooms_.effective(options);
  return settle([&] { return try_put(key, value, durability); });
}

inline Result<PutOutcome> Writes::try_put(Bytes key, Bytes value, Durability durability) {
  HF_RETURN_IF_ERROR(check(key.size(), value.size(), durability));
  const NewRecord record{RecordKind::kPut, rooms_.index.hash(key), key, value};
  if (rooms_.paged()) [[unlikely]]
    return try_put_on_pages(record, durability);
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  Place place = rooms_.index.place(record.hash);
  prefetch_for_write(place.home);
  Appended appended;
  HF_RETURN_IF_ERROR(write_on_lines(own, record, false, Purpose::kPut, appended));
  return publish_put(own, place, record, appended, durability);
}

inline Result<PutOutcome> Writes::publish_put(Session& own, Place& place, const NewRecord& record,
                                              const Appended& appended, Durability durability) {
  KeyIndex& index = rooms_.index;
  const Line line = line_at(appended.offset);
  // All that may miss comes before the latch. Behind it are comparisons and a store: what follows
  // the locked instruction holds up the next operation's write-backs.
  const Seen old = index.look(place, record.key);
  const RecordView superseded = rooms_.records.at(old.line());
  const std::uint64_t padded = superseded.padded_bytes();
  const bool plain = superseded.kind() == RecordKind::kPut &&
                     superseded.sequence() < appended.sequence &&
                     rooms_.versions.snapshots_open() == 0;
  auto home = index.latch(place, own);
  if (old) {
    if (plain && home.unchanged(old) && !index.behind_horizon(place, appended.sequence))
        [[likely]] {
      home.replace(old.entry, line);
      home.release();
      own.notes.add(rooms_.table, old.line(), padded);
      return PutOutcome::kOverwrote;
    }
  } else if (rooms_.versions.snapshots_open() == 0 &&
             !index.behind_horizon(place, appended.sequence) &&
             !home.find(index.matches(record.key))) [[likely]] {
    if (const Entry claimed = home.claim()) [[likely]] {
      home.replace(claimed, line);
      home.release();
      index.map().grow_in_turn();
      return PutOutcome::kInserted;
    }
  }
  return publish_put_slowly(own, std::move(home), place, record, appended, durability);
}

Result<PutOutcome> Writes::publish_put_slowly(Session& own, OffsetMap::Latched home, Place& place,
                                              const NewRecord& record, Appended appended,
                                              Durability durability) {
  KeyIndex& index = rooms_.index;
  for (;; home = index.latch(place, own)) {
    const Entry entry = home.find(index.matches(record.key));
    if (!entry && displaced(place)) {
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
      auto written = write_record(own, record, true, Purpose::kPut, durability, again);
      if (!written) {
        disown(own, record.hash, appended, record.kind);
        return std::move(written).error();
      }
      abandon(own, appended);
      appended = again;
    }
    if (entry) {
      const bool existed =
          rooms_.records.at(OffsetMap::Home::line(entry)).kind() == RecordKind::kPut;
      replace(own, home, entry, appended);
      return existed ? PutOutcome::kOverwrote : PutOutcome::kInserted;
    }
    if (home.insert(line_at(appended.offset))) {
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

inline Status Writes::put_many(const ByteSpans& keys, const ByteSpans& values,
                               WriteOptions options) {
  const Durability durability = rooms_.effective(options);
  std::size_t done = 0;
  return settle([&] { return try_put_many(keys, values, durability, done); });
}

// From the first that is not `done` on; counts as far as it gets.
inline Status Writes::try_put_many(const ByteSpans& keys, const ByteSpans& values,
                                   Durability durability, std::size_t& done) {
  constexpr std::size_t kGroup = 64;
  for (std::size_t i = done; i < keys.size(); ++i)
    HF_RETURN_IF_ERROR(check(keys[i].size(), values[i].size(), durability));
  while (rooms_.paged() && done < keys.size())
    HF_RETURN_IF_ERROR(put_group_on_pages(keys, values, durability, done));
  Session& own = rooms_.sessions.of_this_thread();
  Lane& lane = own.lane;
  std::array<Place, kGroup> places;
  std::array<Appended, kGroup> appended;
  while (done < keys.size()) {
    const auto guard = rooms_.epochs.enter(own.participant);
    const std::size_t first = done;
    const std::size_t size = std::min(kGroup, keys.size() - first);
    Status failed;
    std::size_t written = 0;
    const auto record_at = [&](std::size_t i) {
      return NewRecord{RecordKind::kPut, places[i].hash, keys[first + i], values[first + i]};
    };
    const auto append_group = [&]() -> Status {
      // Newer than all that was acknowledged before: a record that finds a newer one of its key is
      // written once more, and would be missing from the prefix that a crash leaves.
      bool fresh = !rooms_.sequences.is_newest(lane.chunk);
      for (; written < size; ++written) {
        // One index line per record, not all at once: more misses than a core can have outstanding
        // would hold up what follows.
        places[written] = rooms_.index.place(rooms_.index.hash(keys[first + written]));
        prefetch_for_write(places[written].home);
        failed = rooms_.appender.append(lane, record_at(written), std::exchange(fresh, false),
                                        Purpose::kPut, appended[written]);
        if (!failed) break;
      }
      return rooms_.appender.commit(lane);
    };
    {
      const OwnLane hold(own.lane);
      HF_RETURN_IF_ERROR(append_group());
      own.count(1, 0);
    }
    for (std::size_t i = 0; i < written; ++i) {
      own.count(0, appended[i].padded_bytes / kCacheLineBytes);
      rooms_.index.prefetch_record(places[i]);
    }
    for (std::size_t i = 0; i < written; ++i) {
      auto published = publish_put(own, places[i], record_at(i), appended[i], durability);
      if (!published) [[unlikely]] {
        for (std::size_t rest = i + 1; rest < written; ++rest) {
          const auto home = rooms_.index.latch(places[rest], own);
          disown(own, places[rest].hash, appended[rest], RecordKind::kPut);
        }
        return std::move(published).error();
      }
      ++done;
    }
    HF_RETURN_IF_ERROR(std::move(failed));
  }
  return {};
}

// ---- erase ----

inline Result<bool> Writes::erase(Bytes key, WriteOptions options) {
  const Durability durability = rooms_.effective(options);
  return settle([&] { return try_erase(key, durability); });
}

inline Result<bool> Writes::try_erase(Bytes key, Durability durability) {
  HF_RETURN_IF_ERROR(check(0, 0, durability));
  // A key this long cannot exist. A tag may match by accident: then a tombstone would be written
  // with a length that no reader of the medium believes, and would hide what follows it in its run.
  if (key.size() > kMaxKeyBytes) [[unlikely]]
    return false;
  const NewRecord record{RecordKind::kErase, rooms_.index.hash(key), key, {}};
  if (rooms_.paged()) [[unlikely]]
    return try_erase_on_pages(record, durability);
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  Place place = rooms_.index.place(record.hash);
  prefetch_for_write(place.home);
  // An absent key leaves no trace on the medium, except about one in 10^4, whose tag another key
  // has. Reading the record as well would put its miss before the fence instead of beside it.
  if (!rooms_.index.map().look(place, [](Line) { return true; })) return false;
  Appended appended;
  HF_RETURN_IF_ERROR(write_on_lines(own, record, false, Purpose::kErase, appended));
  return publish_erase(own, place, record, appended, durability);
}

inline Result<bool> Writes::publish_erase(Session& own, Place& place, const NewRecord& record,
                                          const Appended& appended, Durability durability) {
  KeyIndex& index = rooms_.index;
  const Seen old = index.look(place, record.key);
  const RecordView superseded = rooms_.records.at(old.line());
  const std::uint64_t padded = superseded.padded_bytes();
  const bool plain = old && superseded.kind() == RecordKind::kPut &&
                     superseded.sequence() < appended.sequence &&
                     rooms_.versions.snapshots_open() == 0;
  auto home = index.latch(place, own);
  if (plain && home.unchanged(old) && !index.behind_horizon(place, appended.sequence)) [[likely]] {
    index.raise_horizon(record.hash, appended.sequence);
    home.remove(old.entry);
    home.release();
    own.notes.add(rooms_.table, old.line(), padded);
    return true;
  }
  return publish_erase_slowly(own, std::move(home), place, record, appended, durability);
}

Result<bool> Writes::publish_erase_slowly(Session& own, OffsetMap::Latched home, Place& place,
                                          const NewRecord& record, Appended appended,
                                          Durability durability) {
  KeyIndex& index = rooms_.index;
  const Entry entry = home.find(index.matches(record.key));
  if (!entry || rooms_.records.at(OffsetMap::Home::line(entry)).kind() == RecordKind::kErase) {
    // Another thread erased it meanwhile. This tombstone erases nothing, but recovery would let it
    // win over whatever is older: so nothing older may be published from here on.
    index.raise_horizon(record.hash, appended.sequence);
    return false;
  }
  if (!is_newest(place, entry, appended.sequence)) {
    Appended again;
    auto written = write_record(own, record, true, Purpose::kErase, durability, again);
    if (!written) {
      disown(own, record.hash, appended, record.kind);
      return std::move(written).error();
    }
    appended = again;
  }
  index.raise_horizon(record.hash, appended.sequence);
  const Line old = OffsetMap::Home::line(entry);
  if (rooms_.versions.snapshots_open() == 0) {
    home.remove(entry);
    supersede(own, old);
    return true;
  }
  // Snapshots still need the way to the old record: the key stays indexed, by its tombstone.
  const Line line = line_at(appended.offset);
  const Line dead = rooms_.versions.retire(line, old);
  index.count_tombstone(1);
  home.replace(entry, line);
  rooms_.versions.note_tombstone(record.hash, appended.sequence);
  if (dead) supersede(own, dead);
  return true;
}

// ---- update_word ----

inline Result<std::uint64_t> Writes::update_word(Bytes key, std::uint32_t offset_bytes,
                                                 Change change, WriteOptions options) {
  const Durability durability = rooms_.effective(options);
  return settle([&] { return try_update_word(key, offset_bytes, change, durability); });
}

inline Result<std::uint64_t> Writes::try_update_word(Bytes key, std::uint32_t offset_bytes,
                                                     Change change, Durability durability) {
  HF_RETURN_IF_ERROR(check(key.size(), 0, durability));
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  Place place = rooms_.index.place(rooms_.index.hash(key));
  for (;;) {
    // The misses before the latch, which as a locked instruction waits for the fence of the
    // caller's last write.
    const Seen seen = rooms_.index.look(place, key);
    const Live live = rooms_.index.judge(seen.line());
    if (!live) [[unlikely]] {
      if (live.line || !displaced(place)) return rooms_.index.error(live);
      HF_RETURN_IF_ERROR(rooms_.displaced->settle(own, place.hash));
      continue;
    }
    if (offset_bytes % 8 != 0 || offset_bytes + sizeof(std::uint64_t) > live.record.value_bytes())
        [[unlikely]] {
      return Error{Errc::kInvalidOption,
                   "offset_bytes=" + std::to_string(offset_bytes) + " into a value of " +
                       std::to_string(live.record.value_bytes()) +
                       " bytes; a multiple of 8 with 8 bytes behind it is allowed"};
    }
    auto* const word = reinterpret_cast<std::uint64_t*>(live.record.value_data() + offset_bytes);
    const BlockMeta& run = rooms_.table.run_of(offset_of(live.line));
    const bool in_place = !rooms_.paged() && rooms_.records.patchable(offset_bytes);
    auto home = rooms_.index.latch(place, own);
    if (!home.unchanged(seen)) [[unlikely]]
      continue;
    // Under the latch: a snapshot, a pin or a relocation that began before is seen, and one that
    // begins later sees the latch or the mark.
    if (in_place && run.state.load(std::memory_order_acquire) == BlockState::kSealed &&
        !run.relocating.load(std::memory_order_acquire) && rooms_.versions.snapshots_open() == 0 &&
        run.pins.load(std::memory_order_seq_cst) == 0) [[likely]] {
      const Persist& persist = rooms_.medium.persist();
      const std::uint64_t before = Persist::load(word);
      const std::uint64_t after = change(before);
      home.set_patching(true);  // Readers of this bucket from now on persist what they read.
      persist.store(word, after);
      persist.write_back(word, sizeof *word);
      persist.fence();
      home.set_patching(false);
      home.release();
      own.count(1, 1);
      return before;
    }
    return update_word_by_copy(own, std::move(home), seen.entry, key, place.hash, offset_bytes,
                               change, durability);
  }
}

Result<std::uint64_t> Writes::update_word_by_copy(Session& own, OffsetMap::Latched home,
                                                  Entry entry, Bytes key, std::uint64_t hash,
                                                  std::uint32_t offset_bytes, Change change,
                                                  Durability durability) {
  std::string value(rooms_.records.at(OffsetMap::Home::line(entry)).value());
  std::uint64_t before;
  std::memcpy(&before, value.data() + offset_bytes, sizeof before);
  const std::uint64_t after = change(before);
  std::memcpy(value.data() + offset_bytes, &after, sizeof after);
  const NewRecord record{RecordKind::kPut, hash, key, std::as_bytes(std::span(value))};
  Appended appended;
  HF_RETURN_IF_ERROR(write_record(own, record, true, Purpose::kPut, durability, appended));
  replace(own, home, entry, appended);
  return before;
}

// ---- The verbs of stores: each with all that it calls in one function ----

namespace {

Status check_counts(std::size_t keys, std::size_t values) {
  if (keys == values) return {};
  return Error{Errc::kInvalidOption, "put_many: " + std::to_string(keys) + " keys and " +
                                         std::to_string(values) +
                                         " values; equally many are allowed"};
}

}  // namespace

[[gnu::flatten]] Result<PutOutcome> StoreBase::put_bytes(std::string_view key,
                                                         std::string_view value,
                                                         WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->writes.put(bytes_of(key), bytes_of(value), options);
}

[[gnu::flatten]] Status StoreBase::put_texts(std::span<const std::string_view> keys,
                                             std::span<const std::string_view> values,
                                             WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  HF_RETURN_IF_ERROR(check_counts(keys.size(), values.size()));
  return core_->writes.put_many(ByteSpans(keys), ByteSpans(values), options);
}

[[gnu::flatten]] Status StoreBase::put_objects(Objects keys, Objects values, WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  HF_RETURN_IF_ERROR(check_counts(keys.count, values.count));
  return core_->writes.put_many(ByteSpans(keys.first, keys.bytes, keys.count),
                                ByteSpans(values.first, values.bytes, values.count), options);
}

[[gnu::flatten]] Result<bool> StoreBase::erase_bytes(std::string_view key, WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->writes.erase(bytes_of(key), options);
}

[[gnu::flatten]] Result<std::uint64_t> StoreBase::update_word_of(std::string_view key,
                                                                 std::uint32_t offset_bytes,
                                                                 WordChange change,
                                                                 WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->writes.update_word(bytes_of(key), offset_bytes, change, options);
}

}  // namespace holdfast::kv
