// Puts and erases on page media, where the record that they supersede may lie on a device
// (publication.hpp).
#include <holdfast/kv/space_rooms.hpp>
#include <holdfast/kv/write_verbs.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

namespace {

constexpr std::size_t kPagedGroup = 64;

}  // namespace

template <class R>
Result<PutOutcome> BasicWrites<R>::try_put_on_pages(const NewRecord& record, WriteOptions options) {
  Session& own = rooms_.sessions.of_this_thread();
  if (rooms_.displaced->full())
    HF_RETURN_IF_ERROR(rooms_.displaced->settle_some(own, Displaced::kSettledAtOnce));
  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(record.key.size(), record.value.size(), options));
  Place place = rooms_.index.place(record.hash);
  const Seen unread = rooms_.displaced->to_displace(place);
  Appended appended;
  HF_RETURN_IF_ERROR(
      publication_.write_record(own, record, false, Purpose::kPut, options, appended));
  return publication_.publish_put_on_pages(own, place, record, appended, unread, options);
}

// Brings into memory what the index names first at these places.
template <class R>
Status BasicWrites<R>::read_candidates(std::span<const Place> places) const {
  std::array<Extent, kPagedGroup> ranges;
  std::size_t found = 0;
  for (const Place& place : places) {
    if (const Seen seen = rooms_.index.map().look(place, [](Line) { return true; }))
      ranges[found++] = {offset_of(seen.line()), kCacheLineBytes};
  }
  return rooms_.medium.fetch(std::span(ranges).first(found));
}

// The next group of a put_many(): one write to the file, one wait for a sync. Counts what it
// published. In a keyspace nothing is displaced: what may be superseded is read, all at once.
template <class R>
Status BasicWrites<R>::put_group_on_pages(const ByteSpans& keys, const ByteSpans& values,
                                          WriteOptions options, std::size_t& done) {
  Session& own = rooms_.sessions.of_this_thread();
  if (rooms_.displaced && rooms_.displaced->full())
    HF_RETURN_IF_ERROR(rooms_.displaced->settle_some(own, Displaced::kSettledAtOnce));
  std::array<Place, kPagedGroup> places;
  std::array<Seen, kPagedGroup> unread;
  std::array<Appended, kPagedGroup> appended;
  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(0, 0, options));
  const std::size_t first = done;
  const std::size_t size = std::min(kPagedGroup, keys.size() - first);
  const auto record_at = [&](std::size_t i) {
    return NewRecord{RecordKind::kPut, places[i].hash, keys[first + i], values[first + i]};
  };
  for (std::size_t i = 0; i < size; ++i) {
    places[i] = rooms_.index.place(rooms_.index.hash(keys[first + i]));
    if (rooms_.displaced) unread[i] = rooms_.displaced->to_displace(places[i]);
  }
  if (!rooms_.displaced) HF_RETURN_IF_ERROR(read_candidates(std::span(places).first(size)));
  Status failed;
  std::size_t written = 0;
  {
    const HeldLane lane(rooms_.group, own);
    // Newer than all that was acknowledged before, as in try_put_many().
    bool fresh = !rooms_.sequences.is_newest(lane->chunk);
    for (; written < size; ++written) {
      failed = rooms_.appender.append(*lane, record_at(written), std::exchange(fresh, false),
                                      Purpose::kPut, appended[written]);
      if (!failed) break;
    }
    HF_RETURN_IF_ERROR(rooms_.appender.commit(*lane));
  }
  HF_RETURN_IF_ERROR(rooms_.group.wait_for(rooms_.effective(options)));
  for (std::size_t i = 0; i < written; ++i) {
    auto published = publication_.publish_grouped_put(own, places[i], record_at(i), appended[i],
                                                      unread[i], options);
    if (!published) {
      for (std::size_t rest = i + 1; rest < written; ++rest) {
        const auto home = rooms_.index.latch(places[rest], own);
        publication_.disown(own, places[rest].hash, appended[rest], RecordKind::kPut);
      }
      return std::move(published).error();
    }
    ++done;
  }
  return failed;
}

// An erase tells whether the key was there, so it reads the record; but that read is under way
// while the tombstone is written.
template <class R>
Result<bool> BasicWrites<R>::try_erase_on_pages(const NewRecord& record, WriteOptions options) {
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(0, 0, options));
  KeyIndex& index = rooms_.index;
  Place place = index.place(record.hash);
  // As on other media: a tag that matches is enough for a tombstone. Where something stands apart,
  // that is the tag of the record that displaced it.
  const Seen any = index.map().look(place, [](Line) { return true; });
  if (!any) return false;
  const Extent old{offset_of(any.line()), kCacheLineBytes};
  HF_RETURN_IF_ERROR(rooms_.medium.region().read_ahead({&old, 1}));
  Appended appended;
  HF_RETURN_IF_ERROR(
      publication_.write_record(own, record, false, Purpose::kErase, options, appended));
  return publication_.publish_erase_on_pages(own, place, record, appended, options);
}

template Result<PutOutcome> BasicWrites<Rooms>::try_put_on_pages(const NewRecord&, WriteOptions);
template Result<bool> BasicWrites<Rooms>::try_erase_on_pages(const NewRecord&, WriteOptions);
template Status BasicWrites<Rooms>::put_group_on_pages(const ByteSpans&, const ByteSpans&,
                                                       WriteOptions, std::size_t&);
template Result<PutOutcome> BasicWrites<SpaceRooms>::try_put_on_pages(const NewRecord&,
                                                                      WriteOptions);
template Result<bool> BasicWrites<SpaceRooms>::try_erase_on_pages(const NewRecord&, WriteOptions);
template Status BasicWrites<SpaceRooms>::put_group_on_pages(const ByteSpans&, const ByteSpans&,
                                                            WriteOptions, std::size_t&);

}  // namespace holdfast::kv
