// puts_at_once.hpp: what nearly every group of put_many is: of keys of 16 bytes, with room in the
// run, of homes that nobody holds, while there is no snapshot. In stages, each a loop that calls
// nothing:
//
//   append_puts_at_once    records are stored and written back, index lines asked for
//   (one fence)
//   look_for_puts          index lines are looked at, records to be superseded asked for
//   publish_puts_at_once   entries are set
//
// Each stage stops at the first record that is unusual; write_verbs.hpp does all of it. Included
// where verbs are instantiated, and nowhere else.
#pragma once

#include <holdfast/kv/write_verbs.hpp>

namespace holdfast::kv {

// Appends the keys and values from `first` on, one for each place in `group`. Returns how many.
template <class Path>
std::size_t append_puts_at_once(Rooms& rooms, Lane& lane, const ByteSpans& keys,
                                const ByteSpans& values, std::size_t first,
                                std::span<OnItsWay> group) {
  const std::size_t ready = rooms.appender.ready_for(lane, group.size());
  for (std::size_t i = 0; i < ready; ++i) {
    const Bytes key = keys.raw(first + i), value = values.raw(first + i);
    if (!Path::is_usual(key.size(), value.size())) [[unlikely]]
      return i;
    const NewRecord record{RecordKind::kPut, rooms.index.hash<Path>(key), key, value};
    OnItsWay& one = group[i];
    one.place = rooms.index.place(record.hash);
    // One index line per record, not all at once: more misses than a core can have outstanding
    // would hold up what follows.
    prefetch_for_write(one.place.home);
    prefetch_for_read(one.place.home + 1);
    if (!rooms.appender.append_next<Path>(lane, record, one.appended)) [[unlikely]]
      return i;
  }
  return ready;
}

// Where the home is full, a new key may go further behind than what was asked for with it. The
// buckets there are asked for without a branch, which would be predicted wrongly one time in four.
template <class Path>
void prefetch_room_behind(const Place& place) {
  const bool full = Path::Probing::vacancy(*place.home, place.tag).free == 0;
  const index::Bucket* const from = place.home + 2 * static_cast<std::size_t>(full);
  prefetch_for_read(from);
  prefetch_for_read(from + 1);
}

// Looks the keys up. Called after the fence.
template <class Path>
void look_for_puts(Rooms& rooms, std::span<OnItsWay> group) {
  for (OnItsWay& one : group) {
    one.sure = rooms.index.map().template glance<typename Path::Probing>(
        one.place, [](Line) { return true; }, one.old);
    if (one.sure && one.old) prefetch_for_read(rooms.records.at(one.old.line()).bytes());
    prefetch_room_behind<Path>(one.place);
  }
}

// Publishes the puts of the keys from `first` on. Returns how many.
template <class Path>
std::size_t publish_puts_at_once(Rooms& rooms, Session& own, const ByteSpans& keys,
                                 std::size_t first, std::span<const OnItsWay> group) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    const OnItsWay& one = group[i];
    PutOutcome outcome;
    // Where the record may lie behind its home, the insert searches for it.
    if ((!one.sure && one.old) || !own.notes.has_room() ||
        !publish_put_over<Path, true>(rooms, own, one.place, keys.raw(first + i), one.appended,
                                      one.old, outcome)) [[unlikely]]
      return i;
  }
  return group.size();
}

}  // namespace holdfast::kv
