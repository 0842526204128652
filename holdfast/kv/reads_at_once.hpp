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
    kAll,          // Something was unusual; nothing has happened.
    kNothing,      // The answer is right.
    kMakeDurable,  // A word of the value may be being updated: tell_durable().
  };
  Rest rest = Rest::kAll;
  bool absent = false;
  std::uint64_t answer = 0, hash = 0;
  Line line;
};

// In a guard of its own. If the key leads to that record no more, it was moved or superseded since.
// Both wait for the end of an update of it, so the word is durable.
[[gnu::noinline, gnu::cold]] HotVerbs::Word tell_durable(Rooms& rooms, std::uint64_t hash,
                                                         Line line, std::uint64_t answer);

// `copy(record, value)` is called while the record cannot go away, and if `copy.takes(value)`.
template <class Path, class Copy>
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
  const bool sure = rooms.index.map().template glance<typename Path::Probing>(
      place, [&](Line line) { return rooms.records.is_put_of(line, key, Path::kHeaderBytes); },
      seen);
  if (sure && seen) [[likely]] {
    const RecordView record = rooms.records.at(seen.line(), Path::kHeaderBytes);
    const std::uint64_t value_at = round_up(Path::kHeaderBytes + key.size(), 8);
    const Bytes value = {record.bytes() + value_at, own->sizes.of(record.header().value_bytes())};
    found.hash = place.hash;
    found.line = seen.line();
    if (rooms.index.is_settled() &&
        rooms.records.value_fits_block(seen.line(), value_at, value.size()) && copy.takes(value))
        [[likely]] {
      found.answer = copy(record, value);
      found.rest = Path::kHasWords && rooms.index.map().may_be_patching(place) ? Rest::kMakeDurable
                                                                               : Rest::kNothing;
    }
  } else if (sure) {
    found.rest = Rest::kNothing;
    found.absent = true;
  }
  return found;
}

}  // namespace holdfast::kv
