// write_verbs.hpp: the verbs that write and are hot, as templates over what they are compiled for.
// Included where something is written, and nowhere else. What is rare is behind calls, in
// writes.cpp.
#pragma once

#include <utility>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/kv/hot_path.hpp>
#include <holdfast/kv/writes.hpp>

namespace holdfast::kv {

// ---- put ----

template <class R>
template <class Path>
Result<PutOutcome> BasicWrites<R>::put(Bytes key, Bytes value, WriteOptions options) {
  auto outcome = try_put<Path>(key, value, options);
  if (!outcome) [[unlikely]]
    attempts_.settle(outcome, [=, this] { return try_put<AnyPath>(key, value, options); });
  return outcome;
}

template <class R>
template <class Path>
Result<PutOutcome> BasicWrites<R>::try_put(Bytes key, Bytes value, WriteOptions options) {
  R& rooms = rooms_;
  const NewRecord record{RecordKind::kPut, rooms.index.template hash<Path>(key), key, value};
  if constexpr (!Path::kFixed) {
    if (rooms.displaced) return try_put_on_pages(record, options);
  }
  Session& own = rooms.sessions.of_this_thread();
  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(key.size(), value.size(), options));
  Place place = rooms.index.place(record.hash);
  prefetch_for_write(place.home);
  if (rooms.index.is_ordered()) [[unlikely]]
    rooms.index.prefetch_order(place, record.key);  // Beside the fence.
  Appended appended;
  HF_RETURN_IF_ERROR(publication_.template write_record<Path>(own, record, false, Purpose::kPut,
                                                              options, appended));
  return publication_.template publish_put<Path>(own, place, record, appended, options);
}

template <class R>
template <class Path>
Result<PutOutcome> BasicWrites<R>::finish_put(Bytes key, Bytes value, std::uint64_t offset,
                                              std::uint64_t sequence) {
  Session& own = rooms_.sessions.of_this_thread();
  const NewRecord record{RecordKind::kPut, rooms_.index.template hash<Path>(key), key, value};
  const auto publish = [&] {
    const auto guard = rooms_.epochs.continues(own.participant);
    Place place = rooms_.index.place(record.hash);
    const std::uint64_t padded = Geometry::padded(record.bytes(rooms_.records.geometry()));
    return publication_.template publish_put<Path>(own, place, record, {offset, padded, sequence},
                                                   {});
  };
  auto outcome = publish();
  if (!outcome) [[unlikely]]
    attempts_.settle(outcome, [=, this] { return try_put<AnyPath>(key, value, {}); });
  return outcome;
}

// ---- erase ----

template <class R>
template <class Path>
Result<bool> BasicWrites<R>::erase(Bytes key, WriteOptions options) {
  auto outcome = try_erase<Path>(key, options);
  if (!outcome) [[unlikely]]
    attempts_.settle(outcome, [=, this] { return try_erase<AnyPath>(key, options); });
  return outcome;
}

template <class R>
template <class Path>
Result<bool> BasicWrites<R>::try_erase(Bytes key, WriteOptions options) {
  R& rooms = rooms_;
  // A key this long cannot exist. A tag may match by accident: then a tombstone would be written
  // with a length that no reader of the medium believes, and would hide what follows it in its run.
  if (key.size() > kMaxKeyBytes) [[unlikely]]
    return false;
  const NewRecord record{RecordKind::kErase, rooms.index.template hash<Path>(key), key, {}};
  if constexpr (!Path::kFixed) {
    if (rooms.displaced) return try_erase_on_pages(record, options);
  }
  Session& own = rooms.sessions.of_this_thread();
  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(0, 0, options));
  Place place = rooms.index.place(record.hash);
  prefetch_for_write(place.home);
  // An absent key leaves no trace on the medium, except about one in 10^4, whose tag another key
  // has. Reading the record as well would put its miss before the fence instead of beside it.
  if (!rooms.index.map().template look<typename Path::Probing>(place, [](Line) { return true; }))
    return false;
  Appended appended;
  HF_RETURN_IF_ERROR(publication_.template write_record<Path>(own, record, false, Purpose::kErase,
                                                              options, appended));
  return publication_.template publish_erase<Path>(own, place, record, appended, options);
}

template <class R>
template <class Path>
Result<bool> BasicWrites<R>::finish_erase(Bytes key, std::uint64_t offset, std::uint64_t sequence) {
  Session& own = rooms_.sessions.of_this_thread();
  const NewRecord record{RecordKind::kErase, rooms_.index.template hash<Path>(key), key, {}};
  const auto publish = [&] {
    const auto guard = rooms_.epochs.continues(own.participant);
    Place place = rooms_.index.place(record.hash);
    const std::uint64_t padded = Geometry::padded(record.bytes(rooms_.records.geometry()));
    return publication_.template publish_erase<Path>(own, place, record, {offset, padded, sequence},
                                                     {});
  };
  auto outcome = publish();
  if (!outcome) [[unlikely]]
    attempts_.settle(outcome, [=, this] { return try_erase<AnyPath>(key, {}); });
  return outcome;
}

// ---- update_word ----

template <class R>
template <class Path>
Result<std::uint64_t> BasicWrites<R>::update_word(Bytes key, std::uint32_t offset_bytes,
                                                  Change change, WriteOptions options) {
  auto outcome = try_update_word<Path>(key, offset_bytes, change, options);
  if (!outcome) [[unlikely]]
    attempts_.settle(outcome, [=, this] {
      return try_update_word<AnyPath>(key, offset_bytes, change, options);
    });
  return outcome;
}

template <class R>
template <class Path>
Result<std::uint64_t> BasicWrites<R>::try_update_word(Bytes key, std::uint32_t offset_bytes,
                                                      Change change, WriteOptions options) {
  R& rooms = rooms_;
  Session& own = rooms.sessions.of_this_thread();
  auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(key.size(), 0, options));
  Place place = rooms.index.place(rooms.index.template hash<Path>(key));
  for (;;) {
    // The misses before the latch, which as a locked instruction waits for the fence of the
    // caller's last write.
    const Seen seen = rooms.index.template look<Path>(place, key);
    const RecordView record = rooms.records.at(seen.line());
    if (!rooms.index.template is_live<Path>(record, seen.line())) [[unlikely]] {
      if constexpr (!Path::kFixed) {
        if (!seen.line() && rooms.displaced) {
          HF_ASSIGN_OR_RETURN(const bool absent, publication_.is_absent(own, place, key));
          if (!absent) continue;
        }
      }
      const Live live = rooms.index.judge(seen.line());
      // A tombstone may be that of a batch that nobody sees yet, and which holds the latch.
      if (live.outcome == Errc::kNotFound && seen.line() &&
          !rooms.index.latch(place, own).unchanged(seen))
        continue;
      if (!live) return rooms.index.error(live);
      guard.end();
      return update_word_in_pieces(key, offset_bytes, change, options);
    }
    const std::uint64_t value_bytes = record.header().value_bytes();
    if (offset_bytes % 8 != 0 || offset_bytes + sizeof(std::uint64_t) > value_bytes) [[unlikely]]
      return no_word_at(offset_bytes, value_bytes);
    auto* const word = reinterpret_cast<std::uint64_t*>(record.value_data() + offset_bytes);
    const BlockMeta& run = rooms.table.run_of(offset_of(seen.line()));
    auto home = rooms.index.latch(place, own);
    if (!home.unchanged(seen)) [[unlikely]]
      continue;
    if (publication_.template may_patch<Path>(run, offset_bytes)) [[likely]] {
      const Persist& persist = rooms.medium.persist();
      const std::uint64_t before = Persist::load(word);
      const std::uint64_t after = change(before);
      home.set_patching(true);  // Readers of this bucket from now on persist what they read.
      persist.store(word, after);
      persist.write_back_word(word);
      Path::fence(persist);
      home.set_patching(false);
      home.release();
      own.count(1, 1);
      return before;
    }
    auto before = update_word_by_copy(own, std::move(home), seen.entry, key, place.hash,
                                      offset_bytes, change, options);
    guard.end();
    attempts_.pay_pause(own);
    return before;
  }
}

}  // namespace holdfast::kv
