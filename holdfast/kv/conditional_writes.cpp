// The writes that depend on what is there: they decide under the key's latch, and append, fence and
// publish under it.
#include <holdfast/kv/space_rooms.hpp>
#include <holdfast/kv/write_verbs.hpp>

#include <cstring>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

template <class R>
Result<Version> BasicWrites<R>::put_if(Bytes key, Bytes value, Condition condition,
                                       Version expected, WriteOptions options) {
  const auto attempt = [&] { return try_put_if(key, value, condition, expected, options); };
  auto outcome = attempt();
  if (!outcome) attempts_.settle(outcome, attempt);
  return outcome;
}

template <class R>
Result<Version> BasicWrites<R>::try_put_if(Bytes key, Bytes value, Condition condition,
                                           Version expected, WriteOptions options) {
  KeyIndex& index = rooms_.index;
  const NewRecord record{RecordKind::kPut, index.hash(key), key, value};
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(key.size(), value.size(), options));
  Place place = index.place(record.hash);
  for (;;) {
    auto home = index.latch(place, own);
    const Entry entry = home.find(index.matches(key));
    if (!entry && HF_MUTANT("K68", publication_.displaced(place), false)) {
      home.release();
      HF_RETURN_IF_ERROR(rooms_.displaced->settle(own, record.hash));
      continue;
    }
    const Line line = entry ? OffsetMap::Home::line(entry) : kNoLine;
    const bool exists = entry && index.is_there(rooms_.records.at(line), line);
    if (condition == Condition::kAbsent && exists) return Error{Errc::kAlreadyExists, {}};
    if (condition == Condition::kVersion) {
      const Version present = exists ? rooms_.records.at(line).sequence() : 0;
      if (HF_MUTANT("K32", present != expected, present < expected)) {
        return Error{Errc::kVersionMismatch, "expected version " + std::to_string(expected) +
                                                 ", the record has " + std::to_string(present)};
      }
    }
    // A place before anything is appended, so that nothing can fail behind that.
    const Entry claimed = entry ? Entry() : home.claim();
    if (!entry && !claimed) {
      home.release();
      HF_RETURN_IF_ERROR(index.map().grow(record.hash));
      continue;
    }
    Appended appended;
    auto written = publication_.write_record(own, record, true, Purpose::kPut, options, appended);
    if (!written) {
      if (claimed) home.remove(claimed);
      return std::move(written).error();
    }
    if (claimed) {
      home.replace(claimed, line_at(appended.offset));
      index.enter(key);
    } else {
      publication_.replace(own, home, entry, appended);
    }
    home.release();
    index.map().grow_in_turn();
    return appended.sequence;
  }
}

template <class R>
Error BasicWrites<R>::other_size(std::uint64_t value_bytes) {
  return {Errc::kInvalidOption,
          "the value of a typed store keeps its size of " + std::to_string(value_bytes) + " bytes"};
}

template <class R>
Result<Version> BasicWrites<R>::update(Bytes key, FunctionRef<void(std::string&)> change,
                                       bool fixed_bytes, WriteOptions options) {
  const auto attempt = [&] { return try_update(key, change, fixed_bytes, options); };
  auto outcome = attempt();
  if (!outcome) attempts_.settle(outcome, attempt);
  // `change` is called once: a run is opened at once, and paid for at the end.
  attempts_.pay_pause(rooms_.sessions.of_this_thread());
  return outcome;
}

template <class R>
Result<Version> BasicWrites<R>::try_update(Bytes key, FunctionRef<void(std::string&)> change,
                                           bool fixed_bytes, WriteOptions options) {
  KeyIndex& index = rooms_.index;
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(key.size(), 0, options));
  Place place = index.place(index.hash(key));
  auto home = index.latch(place, own);
  Entry entry = home.find(index.matches(key));
  while (!entry && HF_MUTANT("K69", publication_.displaced(place), false)) {
    home.release();
    HF_RETURN_IF_ERROR(rooms_.displaced->settle(own, place.hash));
    home = index.latch(place, own);
    entry = home.find(index.matches(key));
  }
  const Live live = index.judge(entry ? OffsetMap::Home::line(entry) : kNoLine);
  if (!live) return index.error(live);
  std::string value;
  if (live.record.is_in_pieces()) {
    HF_ASSIGN_OR_RETURN(value, rooms_.pieces.gather(live.record));
  } else {
    value = live.record.value();
  }
  change(value);
  if (options.renew) {
    const std::string_view name(reinterpret_cast<const char*>(key.data()), key.size());
    rooms_.expiry.renew(id_of(rooms_), name, value);
  }
  if (fixed_bytes && value.size() != live.record.value_bytes())
    return other_size(live.record.value_bytes());
  HF_RETURN_IF_ERROR(attempts_.check(key.size(), value.size(), options));
  const NewRecord record{RecordKind::kPut, place.hash, key, std::as_bytes(std::span(value))};
  Appended appended;
  HF_RETURN_IF_ERROR(
      publication_.write_record(own, record, true, Purpose::kUpdate, options, appended));
  publication_.replace(own, home, entry, appended);
  return appended.sequence;
}

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
  HF_RETURN_IF_ERROR(
      publication_.write_record(own, record, true, Purpose::kUpdate, options, appended));
  publication_.replace(own, home, entry, appended);
  return before;
}

template <class R>
Result<std::uint64_t> BasicWrites<R>::update_word_in_pieces(Bytes key, std::uint32_t offset_bytes,
                                                            Change change, WriteOptions options) {
  std::uint64_t before = 0, value_bytes = 0;
  bool there = false;
  const auto change_word = [&](std::string& value) {
    value_bytes = value.size();
    there = offset_bytes % 8 == 0 && offset_bytes + sizeof before <= value.size();
    if (!there) return;
    std::memcpy(&before, value.data() + offset_bytes, sizeof before);
    const std::uint64_t after = change(before);
    std::memcpy(value.data() + offset_bytes, &after, sizeof after);
  };
  HF_RETURN_IF_ERROR(try_update(key, change_word, false, options));
  if (!there) return no_word_at(offset_bytes, value_bytes);
  return before;
}

template Result<Version> BasicWrites<Rooms>::put_if(Bytes, Bytes, Condition, Version, WriteOptions);
template Result<Version> BasicWrites<Rooms>::update(Bytes, FunctionRef<void(std::string&)>, bool,
                                                    WriteOptions);
template Result<std::uint64_t> BasicWrites<Rooms>::update_word_by_copy(Session&, OffsetMap::Latched,
                                                                       Entry, Bytes, std::uint64_t,
                                                                       std::uint32_t, Change,
                                                                       WriteOptions);
template Result<std::uint64_t> BasicWrites<Rooms>::update_word_in_pieces(Bytes, std::uint32_t,
                                                                         Change, WriteOptions);
template Error BasicWrites<Rooms>::other_size(std::uint64_t);
template Result<Version> BasicWrites<SpaceRooms>::put_if(Bytes, Bytes, Condition, Version,
                                                         WriteOptions);
template Result<Version> BasicWrites<SpaceRooms>::update(Bytes, FunctionRef<void(std::string&)>,
                                                         bool, WriteOptions);
template Result<std::uint64_t> BasicWrites<SpaceRooms>::update_word_by_copy(
    Session&, OffsetMap::Latched, Entry, Bytes, std::uint64_t, std::uint32_t, Change, WriteOptions);
template Result<std::uint64_t> BasicWrites<SpaceRooms>::update_word_in_pieces(Bytes, std::uint32_t,
                                                                              Change, WriteOptions);
template Error BasicWrites<SpaceRooms>::other_size(std::uint64_t);

}  // namespace holdfast::kv
