// store_verbs.hpp: the verbs that are templates of their keys and values, so that each kind of
// store gets one function without calls for each: get, get_many, put, put_many, update_word, erase.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <holdfast/kv/store_append.hpp>

namespace holdfast::kv {

template <class Key, class Copy>
Result<Version> StoreCore::get(Key key, Copy&& copy) const {
  const std::uint64_t hash = hash64(key);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  OffsetMap::Sighting seen;
  Line line = index_->find(hash, matches(key), seen);
  if (line != kNoLine) line = settled(line);
  if (line == kNoLine) return Error{Errc::kNotFound, {}};
  const RecordView record = record_at(line);
  if (record.kind() != RecordKind::kPut) [[unlikely]] {
    if (record.kind() == RecordKind::kErase) return Error{Errc::kNotFound, {}};
    return damaged(line.number * kCacheLineBytes, "record of unknown kind");
  }
  if (!value_fits(record, line.number * kCacheLineBytes)) [[unlikely]]
    return damaged(line.number * kCacheLineBytes, "record longer than its run");
  HF_RETURN_IF_ERROR(check_read(record, line.number * kCacheLineBytes));
  const Version version = record.sequence();
  copy(record);
  if (!patchable_.empty() && index_->patching(hash, seen)) [[unlikely]] {
    // A word of this bucket's keys is being updated in place and may not be durable yet: what we
    // read is made durable before we tell anybody.
    medium_.persist().persist(record.bytes(), record.record_bytes());
  }
  return version;
}

template <class KeyAt, class Copy>
Status StoreCore::get_many(std::size_t count, KeyAt&& key_at, Copy&& copy,
                           std::span<Errc> outcomes) const {
  // Stages over groups: buckets on their way, then records on their way, then copies. 16 misses of
  // each kind are about what a core can have outstanding.
  constexpr std::size_t kGroup = 16;
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  std::array<std::uint64_t, kGroup> hashes;
  for (std::size_t first = 0; first < count; first += kGroup) {
    const std::size_t size = std::min(kGroup, count - first);
    for (std::size_t i = 0; i < size; ++i) {
      hashes[i] = hash64(key_at(first + i));
      index_->prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < size; ++i) {
      // The first candidate is nearly always the one.
      const Line candidate = index_->find(hashes[i], [](Line) { return true; });
      if (candidate == kNoLine) continue;
      const std::byte* const at = medium_.at(candidate.number * kCacheLineBytes);
      for (std::size_t line = 0; line < 4; ++line)
        prefetch_for_read(at + line * kCacheLineBytes);
    }
    for (std::size_t i = 0; i < size; ++i) {
      Line line = index_->find(hashes[i], matches(key_at(first + i)));
      if (line != kNoLine) line = settled(line);
      if (line == kNoLine || record_at(line).kind() == RecordKind::kErase) {
        outcomes[first + i] = Errc::kNotFound;
        continue;
      }
      const RecordView record = record_at(line);
      if (record.kind() != RecordKind::kPut || !value_fits(record, line.number * kCacheLineBytes)) {
        return damaged(line.number * kCacheLineBytes,
                       "record longer than its run or of unknown kind");
      }
      HF_RETURN_IF_ERROR(check_read(record, line.number * kCacheLineBytes));
      copy(first + i, record);
      if (!patchable_.empty() && index_->patching(hashes[i])) [[unlikely]] {
        medium_.persist().persist(record.bytes(), record.record_bytes());
      }
      outcomes[first + i] = Errc::kOk;
    }
  }
  return {};
}

template <class Key, class Value>
Result<PutOutcome> StoreCore::put(Key key, Value value, WriteOptions options) {
  return settle(try_put(key, value, options), &StoreCore::try_put<Key, Value>, key, value, options);
}

template <class Key, class Value>
Result<PutOutcome> StoreCore::try_put(Key key, Value value, WriteOptions options) {
  HF_RETURN_IF_ERROR(check_sizes(key.size(), value.size()));
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  const NewRecord<Key, Value> record{RecordKind::kPut, hash64(key), key, value};
  index_->prefetch_for_write(record.hash);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  HF_ASSIGN_OR_RETURN(const Appended appended,
                      write_record(own, record, false, BlockTable::Purpose::kPut, durability));
  return publish_put(own, record, appended, durability);
}

template <class Key, class Value>
Result<PutOutcome> StoreCore::publish_put(Session& session, const NewRecord<Key, Value>& record,
                                          Appended appended, Durability durability) {
  for (;;) {
    auto latched = index_->latch(record.hash);
    const auto entry = latched.find(matches(record.key));
    if (!newest(latched, entry, record.hash, appended.sequence)) [[unlikely]] {
      // A later writer of this key was faster. Once more, under the latch, with a newer sequence.
      auto again = write_record(session, record, true, BlockTable::Purpose::kPut, durability);
      if (!again) {
        disown(session, record.hash, appended, record.kind);
        return std::move(again).error();
      }
      abandon(appended);
      appended = *again;
    }
    const bool existed = entry && record_at(latched.line(entry)).kind() == RecordKind::kPut;
    if (publish(latched, entry, appended)) [[likely]]
      return existed ? PutOutcome::kOverwrote : PutOutcome::kInserted;
    latched.release();
    if (auto grown = index_->grow(record.hash); !grown) {
      disown(session, record.hash, appended, record.kind);
      return std::move(grown).error();
    }
  }
}

template <class KeyAt, class ValueAt>
Status StoreCore::put_many(std::size_t count, KeyAt&& key_at, ValueAt&& value_at,
                           WriteOptions options) {
  std::size_t done = 0;
  return settle(try_put_many(count, key_at, value_at, options, &done),
                &StoreCore::try_put_many<std::remove_cvref_t<KeyAt>, std::remove_cvref_t<ValueAt>>,
                count, key_at, value_at, options, &done);
}

template <class KeyAt, class ValueAt>
Status StoreCore::try_put_many(std::size_t count, const KeyAt& key_at, const ValueAt& value_at,
                               WriteOptions options, std::size_t* done) {
  using Key = decltype(key_at(0));
  using Value = decltype(value_at(0));
  constexpr std::size_t kGroup = 64;
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  for (std::size_t i = 0; i < count; ++i)
    HF_RETURN_IF_ERROR(check_sizes(key_at(i).size(), value_at(i).size()));
  Session& own = session();
  Lane& lane = lane_of(own);
  std::array<std::uint64_t, kGroup> hashes;
  std::array<Appended, kGroup> appended;
  while (*done < count) {
    const auto guard = epochs_.enter(own.participant);
    const std::size_t first = *done;
    const std::size_t size = std::min(kGroup, count - first);
    Status failed;
    std::size_t written = 0;
    {
      const std::lock_guard lock(lane.latch);
      // Newer than all that was acknowledged before: a record that finds a newer one of its key is
      // written once more, and would be missing from the prefix that a crash leaves.
      bool fresh = lane.end_sequence != next_sequence_.load(std::memory_order_acquire);
      for (; written < size; ++written) {
        const Key key = key_at(first + written);
        // One index line per record, not all at once: more misses than a core can have outstanding
        // would hold up what follows.
        hashes[written] = hash64(key);
        index_->prefetch_for_write(hashes[written]);
        const NewRecord<Key, Value> record{RecordKind::kPut, hashes[written], key,
                                           value_at(first + written)};
        failed = append(own, lane, record, 0, std::exchange(fresh, false),
                        BlockTable::Purpose::kPut, appended[written]);
        if (!failed) break;
      }
      HF_RETURN_IF_ERROR(commit(own, lane));
    }
    for (std::size_t i = 0; i < written; ++i)
      fetch_superseded(hashes[i], 0);
    if (medium_.paged()) HF_RETURN_IF_ERROR(wait_for_power(durability));
    for (std::size_t i = 0; i < written; ++i) {
      const NewRecord<Key, Value> record{RecordKind::kPut, hashes[i], key_at(first + i),
                                         value_at(first + i)};
      if (auto published = publish_put(own, record, appended[i], durability); !published) {
        for (std::size_t rest = i + 1; rest < written; ++rest) {
          const auto latched = index_->latch(hashes[rest]);
          disown(own, hashes[rest], appended[rest], RecordKind::kPut);
        }
        return std::move(published).error();
      }
      ++*done;
    }
    HF_RETURN_IF_ERROR(std::move(failed));
  }
  return {};
}

template <class Key, class Change>
Result<std::uint64_t> StoreCore::update_word(Key key, std::uint32_t offset_bytes, Change& change,
                                             WriteOptions options) {
  return settle(try_update_word(key, offset_bytes, &change, options),
                &StoreCore::try_update_word<Key, Change>, key, offset_bytes, &change, options);
}

template <class Key, class Change>
Result<std::uint64_t> StoreCore::try_update_word(Key key, std::uint32_t offset_bytes,
                                                 Change* change, WriteOptions options) {
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  const std::uint64_t hash = hash64(key);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  // Both misses before the latch, which as a locked instruction waits for the fence of the caller's
  // last write.
  fetch_superseded(hash, geometry_.value_at(key.size()) + offset_bytes);
  for (;;) {
    auto latched = index_->latch(hash);
    const auto entry = latched.find(matches(key));
    if (!entry) return Error{Errc::kNotFound, {}};
    const std::uint64_t offset = latched.line(entry).number * kCacheLineBytes;
    const RecordView old = record_at(latched.line(entry));
    if (old.kind() == RecordKind::kErase) return Error{Errc::kNotFound, {}};
    if (old.kind() != RecordKind::kPut || !value_fits(old, offset)) [[unlikely]]
      return damaged(offset, "record longer than its run or of unknown kind");
    if (offset_bytes % 8 != 0 || offset_bytes + sizeof(std::uint64_t) > old.value_bytes())
        [[unlikely]] {
      return Error{Errc::kInvalidOption,
                   "offset_bytes=" + std::to_string(offset_bytes) + " into a value of " +
                       std::to_string(old.value_bytes()) +
                       " bytes; a multiple of 8 with 8 bytes behind it is allowed"};
    }
    auto* const word = reinterpret_cast<std::uint64_t*>(old.value_data() + offset_bytes);
    BlockMeta& run = table_.run_of(offset);
    if (!medium_.paged() && patchable(offset_bytes) &&
        run.state.load(std::memory_order_acquire) == BlockState::kSealed &&
        !run.relocating.load(std::memory_order_acquire) &&
        snapshots_open_.load(std::memory_order_acquire) == 0) {
      // Pins since the latch was taken copy instead.
      if (run.pins.load(std::memory_order_seq_cst) == 0) [[likely]] {
        const std::uint64_t before = Persist::load(word);
        const std::uint64_t after = (*change)(before);
        latched.set_patching(true);  // Readers of this bucket from now on persist what they read.
        medium_.persist().store(word, after);
        medium_.persist().write_back(word, sizeof *word);
        medium_.persist().fence();
        latched.set_patching(false);
        own.note(1, 1);
        return before;
      }
    }
    HF_RETURN_IF_ERROR(check_read(old, offset));
    std::string value(old.value());
    std::uint64_t before;
    std::memcpy(&before, value.data() + offset_bytes, sizeof before);
    const std::uint64_t after = (*change)(before);
    std::memcpy(value.data() + offset_bytes, &after, sizeof after);
    const NewRecord<Bytes, Bytes> record{RecordKind::kPut, hash, key,
                                         std::as_bytes(std::span(value))};
    HF_ASSIGN_OR_RETURN(const Appended appended,
                        write_record(own, record, true, BlockTable::Purpose::kPut, durability));
    publish(latched, entry, appended);  // Replaces an entry, so the index has room.
    return before;
  }
}

template <class Key>
Result<bool> StoreCore::erase(Key key, WriteOptions options) {
  return settle(try_erase(key, options), &StoreCore::try_erase<Key>, key, options);
}

template <class Key>
Result<bool> StoreCore::try_erase(Key key, WriteOptions options) {
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  // No record has such a key, but one key in 10^4 has the tag of one: its tombstone would have a
  // length that no reader of the medium believes, and hide what follows it in its run.
  if (key.size() > kMaxKeyBytes) [[unlikely]]
    return false;
  const NewRecord<Key, Key> record{RecordKind::kErase, hash64(key), key, key};
  index_->prefetch_for_write(record.hash);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  // Absent keys leave no trace on the medium, save one in 10^4, whose tag another key has. To look
  // at the record as well would put its miss before the fence instead of beside it.
  if (!index_->find(record.hash, [](Line) { return true; })) return false;
  HF_ASSIGN_OR_RETURN(const Appended appended,
                      write_record(own, record, false, BlockTable::Purpose::kErase, durability));
  return publish_tombstone(own, record, appended, durability);
}

template <class Key>
Result<bool> StoreCore::publish_tombstone(Session& session, const NewRecord<Key, Key>& record,
                                          Appended appended, Durability durability) {
  auto latched = index_->latch(record.hash);
  const auto entry = latched.find(matches(record.key));
  if (!entry || record_at(latched.line(entry)).kind() == RecordKind::kErase) {
    // Somebody else erased it meanwhile. Our tombstone erases nothing, but recovery would let it
    // win over whatever is older than it: so nothing older may be published from here on.
    index_->raise_erase_horizon(record.hash, appended.sequence);
    return false;
  }
  if (!newest(latched, entry, record.hash, appended.sequence)) [[unlikely]] {
    auto again = write_record(session, record, true, BlockTable::Purpose::kErase, durability);
    if (!again) {
      disown(session, record.hash, appended, record.kind);
      return std::move(again).error();
    }
    appended = *again;
  }
  publish_erase(latched, entry, record.hash, appended);
  return true;
}

}  // namespace holdfast::kv
