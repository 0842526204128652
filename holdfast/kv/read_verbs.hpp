// read_verbs.hpp: the verbs that read and are hot, as templates over what they are compiled for.
// Included where verbs are instantiated, and nowhere else.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/kv/hot_path.hpp>
#include <holdfast/kv/reads.hpp>

namespace holdfast::kv {

template <class Path>
void copy_text(Bytes value, std::string& to) {
  if (to.size() != value.size()) to.resize(value.size());
  Path::read(to.data(), value.data(), value.size());
}
// As much as fits; returns the whole length.
template <class Path>
std::uint64_t copy_bytes(Bytes value, std::span<std::byte> to) {
  Path::read(to.data(), value.data(), std::min(value.size(), to.size()));
  return value.size();
}

template <class R>
template <class Path, class Copy>
Result<std::uint64_t> BasicReads<R>::read(Bytes key, Copy&& copy) const {
  R& rooms = rooms_;
  Session& own = rooms.sessions.of_this_thread();
  const auto guard = rooms.epochs.enter(own.participant);
  const Place place = rooms.index.place(rooms.index.template hash<Path>(key));
  const Line line = rooms.index.template line_of<Path>(place, key);
  const RecordView record = rooms.records.at(line);
  if (!rooms.index.template is_live<Path>(record, line)) [[unlikely]] {
    Result<std::uint64_t> answer = Error{Errc::kNotFound, {}};
    HF_RETURN_IF_ERROR(
        read_elsewhere(place, key, line, guard,
                       [&](const RecordView& found, Bytes value) { answer = copy(found, value); }));
    return answer;
  }
  const std::uint64_t answer =
      copy(record, Bytes(record.value_data(), record.header().value_bytes()));
  make_durable(place, record);
  return answer;
}

template <class R>
template <class Path>
Result<Version> BasicReads<R>::get(Bytes key, std::string& value) const {
  return read<Path>(key, [&](const RecordView& record, Bytes whole) {
    const Version version = record.sequence();
    copy_text<Path>(whole, value);
    return version;
  });
}

// For a key of 8 to 16 bytes, where no batch is becoming visible.
template <class R>
template <class Path>
bool BasicReads<R>::leads_to_put(Line line, Bytes key) const {
  const Records& records = rooms_.records;
  if (!is_of_two_words(key.size()) || !records.is_put_of(line, key, Path::kHeaderBytes))
    return false;
  const std::uint64_t value_at = round_up(Path::kHeaderBytes + key.size(), 8);
  return rooms_.index.is_settled() &&
         records.value_fits_block(line, value_at,
                                  records.at(line, Path::kHeaderBytes).header().value_bytes());
}

template <class R>
template <class Path>
void BasicReads<R>::ask_for_records(std::span<const Place> places, Line* candidates) const {
  const auto bytes_at = [&](std::size_t i) { return rooms_.records.at(candidates[i]).bytes(); };
  for (std::size_t i = 0; i < places.size(); ++i) {
    candidates[i] = rooms_.index.map().template candidate<typename Path::Probing>(places[i]);
    if (candidates[i] != kNoLine) prefetch_for_read(bytes_at(i));
  }
  // When the first line's translation has come: else each line asks for it by itself.
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (candidates[i] == kNoLine) continue;
    for (std::size_t line = 1; line < 4; ++line)
      prefetch_for_read(bytes_at(i) + line * kCacheLineBytes);
  }
}

template <class R>
template <class Path, class Copy>
Status BasicReads<R>::get_many(const ByteSpans& keys, std::span<Errc> outcomes, Copy&& copy) const {
  // Stages over groups: buckets on their way, then records on their way, then copies. 16 misses of
  // each kind are about what a core can have outstanding.
  constexpr std::size_t kGroup = 16;
  R& rooms = rooms_;
  Session& own = rooms.sessions.of_this_thread();
  const auto guard = rooms.epochs.enter(own.participant);
  const auto copy_record = [copy](std::size_t i, const RecordView& record) {
    copy(i, record, Bytes(record.value_data(), record.header().value_bytes()));
  };
  std::array<Place, kGroup> places;
  std::array<Line, kGroup> candidates;
  for (std::size_t first = 0; first < keys.size(); first += kGroup) {
    const std::size_t size = std::min(kGroup, keys.size() - first);
    if constexpr (!Path::kFixed) {
      if (first % kFetched == 0) HF_RETURN_IF_ERROR(fetch_records(keys, first));
    }
    std::fill_n(outcomes.begin() + static_cast<std::ptrdiff_t>(first), size, Errc::kOk);
    for (std::size_t i = 0; i < size; ++i) {
      places[i] = rooms.index.place(rooms.index.template hash<Path>(keys.raw(first + i)));
      // Not the bucket behind it, where one key in twenty lies: of many keys it is in the way.
      prefetch_for_read(places[i].home);
    }
    ask_for_records<Path>(std::span(places).first(size), candidates.data());
    for (std::size_t i = 0; i < size; ++i) {
      if constexpr (Path::kFixed) {
        const Bytes key = keys.raw(first + i);
        if (candidates[i] && leads_to_put<Path>(candidates[i], key)) [[likely]] {
          const RecordView record = rooms.records.at(candidates[i], Path::kHeaderBytes);
          const std::byte* const value =
              record.bytes() + round_up(Path::kHeaderBytes + key.size(), 8);
          copy(first + i, record, Bytes(value, record.header().value_bytes()));
          if constexpr (Path::kHasWords) {
            if (rooms.index.map().may_be_patching(places[i])) [[unlikely]]
              make_durable(places[i], record);
          }
          continue;
        }
      }
      const Line line =
          rooms.index.template line_of<Path>(places[i], keys[first + i], candidates[i]);
      const RecordView record = rooms.records.at(line);
      if (!rooms.index.template is_live<Path>(record, line)) [[unlikely]] {
        outcomes[first + i] = Errc::kNotFound;
        // By value: what had an address would stay in memory for all keys.
        const auto copy_found = [at = first + i, outcomes, copy](const RecordView& found,
                                                                 Bytes value) {
          outcomes[at] = Errc::kOk;
          copy(at, found, value);
        };
        HF_RETURN_IF_ERROR(read_elsewhere(places[i], keys[first + i], line, guard, copy_found));
        continue;
      }
      copy_record(first + i, record);
      make_durable(places[i], record);
    }
  }
  return {};
}

}  // namespace holdfast::kv
