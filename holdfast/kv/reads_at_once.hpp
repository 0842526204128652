// reads_at_once.hpp: what nearly every read of a store's own keys is: of a key of 8 to 16 bytes, by
// a thread that is in no guard, of a put that its bucket leads to at once, or of none. It calls
// nothing, so that a verb which is made of it needs no frame and ends in a jump to what is left to
// do. Included where verbs are instantiated, and nowhere else.
//
// read_verbs.hpp does all of it where something is unusual.
#pragma once

#include <holdfast/kv/rooms.hpp>
#include <holdfast/kv/verb_table.hpp>

namespace holdfast::kv {

struct ReadAtOnce {
  enum class Rest : std::uint8_t {
    kAll,      // Something was unusual, or a word of the value may be being updated: then what
               // was copied may not be durable. To be read anew.
    kNothing,  // The answer is right.
  };
  Rest rest = Rest::kAll;
  bool absent = false;
  std::uint64_t answer = 0;
};

// `copy(record, value)` is called while the record cannot go away, and if `copy.takes(value)`.
// kBehind: the key may lie one bucket behind, too.
template <class Path, bool kBehind, class Copy>
ReadAtOnce read_at_once(Rooms& rooms, Bytes key, Copy&& copy) {
  using Rest = ReadAtOnce::Rest;
  ReadAtOnce found;
  Session* const own = rooms.sessions.used_last();
  if (!is_of_two_words(key.size()) || own == nullptr || !own->participant.outside()) [[unlikely]]
    return found;
  const auto guard = rooms.epochs.enter_briefly(own->participant);
  const Place place = rooms.index.place(rooms.index.hash<Path>(key));
  prefetch_for_read(place.home + 1);  // Where one key in twenty lies.
  Seen seen;
  const bool sure = rooms.index.map().template glance<typename Path::Probing, kBehind>(
      place, [&](Line line) { return rooms.records.is_put_of(line, key, Path::kHeaderBytes); },
      seen);
  if (sure && seen) [[likely]] {
    const RecordView record = rooms.records.at(seen.line(), Path::kHeaderBytes);
    const std::uint64_t value_at = round_up(Path::kHeaderBytes + key.size(), 8);
    const Bytes value = {record.bytes() + value_at, own->sizes.of(record.header().value_bytes())};
    if (rooms.index.is_settled() &&
        rooms.records.value_fits_block(seen.line(), value_at, value.size()) && copy.takes(value))
        [[likely]] {
      found.answer = copy(record, value);
      if (!Path::kHasWords || !rooms.index.map().may_be_patching(place)) [[likely]]
        found.rest = Rest::kNothing;
    }
  } else if (sure) {
    found.rest = Rest::kNothing;
    found.absent = true;
  }
  return found;
}

}  // namespace holdfast::kv
