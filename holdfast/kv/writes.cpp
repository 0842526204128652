#include <holdfast/kv/space_rooms.hpp>
#include <holdfast/kv/write_verbs.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

template <class R>
Error BasicWrites<R>::no_word_at(std::uint32_t offset_bytes, std::uint64_t value_bytes) {
  return {Errc::kInvalidOption, "offset_bytes=" + std::to_string(offset_bytes) +
                                    " into a value of " + std::to_string(value_bytes) +
                                    " bytes; a multiple of 8 with 8 bytes behind it is allowed"};
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
  if (!outcome)
    attempts_.settle(outcome, [&] { return try_put_many(keys, values, options, done); });
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
  auto published = publication_.template publish_put<AnyPath>(
      own, place, {RecordKind::kPut, place.hash, key, value}, one.appended, options);
  if (published) return {};
  publication_.disown(own, group.subspan(1));
  return std::move(published).error();
}

// From the first that is not `done` on; counts as far as it gets.
template <class R>
Status BasicWrites<R>::try_put_many(const ByteSpans& keys, const ByteSpans& values,
                                    WriteOptions options, std::size_t& done) {
  if (done == keys.size()) return {};
  R& rooms = rooms_;
  HF_RETURN_IF_ERROR(attempts_.check(keys.largest(done), values.largest(done), options));
  while (rooms.group.needed() && done < keys.size())
    HF_RETURN_IF_ERROR(put_group_on_pages(keys, values, options, done));
  Session& own = rooms.sessions.of_this_thread();
  while (done < keys.size()) {
    const auto guard = attempts_.begin(own);
    HF_RETURN_IF_ERROR(attempts_.check(0, 0, options));
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

// ---- For groups of operations, which do not inline them ----

template <class R>
Status BasicWrites<R>::put_within(Bytes key, Bytes value, Purpose purpose, WriteOptions options) {
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(key.size(), value.size(), options));
  const NewRecord record{RecordKind::kPut, rooms_.index.hash(key), key, value};
  Place place = rooms_.index.place(record.hash);
  Appended appended;
  HF_RETURN_IF_ERROR(publication_.write_record(own, record, true, purpose, options, appended));
  HF_RETURN_IF_ERROR(
      publication_.template publish_put<AnyPath>(own, place, record, appended, options));
  return {};
}

template <class R>
Result<PutOutcome> BasicWrites<R>::put_alone(Bytes key, Bytes value, WriteOptions options) {
  return put<AnyPath>(key, value, options);
}

template <class R>
Status BasicWrites<R>::put_to_make_room(Bytes key, Bytes value, WriteOptions options) {
  const auto attempt = [=, this] { return put_within(key, value, Purpose::kErase, options); };
  Status outcome = attempt();
  attempts_.settle(outcome, attempt);
  attempts_.pay_pause(rooms_.sessions.of_this_thread());
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
