// Reading records that may lie on a device: all of a group are asked for before the first is waited
// for.
#include <holdfast/kv/reads.hpp>
#include <holdfast/kv/space_rooms.hpp>

#include <algorithm>
#include <array>

namespace holdfast::kv {

// The records that the index names first, which are nearly always those of the keys; a record of
// another key is not missed, only waited for alone.
template <class R>
Status BasicReads<R>::fetch_records(const ByteSpans& keys, std::size_t first) const {
  if (!rooms_.medium.paged()) return {};
  std::array<Line, kFetched> lines;
  std::size_t found = 0;
  for (std::size_t i = first; i < keys.size() && i < first + kFetched; ++i) {
    const Place place = rooms_.index.place(rooms_.index.hash(keys[i]));
    const Seen seen = rooms_.index.map().look(place, [](Line) { return true; });
    if (seen && seen.line()) lines[found++] = seen.line();
  }
  return fetch_records(std::span(lines).first(found));
}

// Each one's first page at once, then what goes on beyond it.
template <class R>
Status BasicReads<R>::fetch_records(std::span<const Line> lines) const {
  if (!rooms_.medium.paged()) return {};
  std::array<Extent, kFetched> ranges;
  lines = lines.first(std::min(kFetched, lines.size()));
  for (std::size_t i = 0; i < lines.size(); ++i)
    ranges[i] = {offset_of(lines[i]), kCacheLineBytes};
  Region& region = rooms_.medium.region();
  HF_RETURN_IF_ERROR(region.fetch(std::span(ranges).first(lines.size())));
  std::size_t longer = 0;
  for (const Line line : lines) {
    const std::uint64_t offset = offset_of(line);
    const std::uint64_t page_end = round_up(offset + 1, kPageBytes);
    const RecordView record = rooms_.records.at(line);
    if (rooms_.records.fits(record, line) && offset + record.record_bytes() > page_end)
      ranges[longer++] = {page_end, offset + record.record_bytes() - page_end};
  }
  return region.fetch(std::span(ranges).first(longer));
}

template Status BasicReads<Rooms>::fetch_records(const ByteSpans&, std::size_t) const;
template Status BasicReads<Rooms>::fetch_records(std::span<const Line>) const;
template Status BasicReads<SpaceRooms>::fetch_records(const ByteSpans&, std::size_t) const;
template Status BasicReads<SpaceRooms>::fetch_records(std::span<const Line>) const;

}  // namespace holdfast::kv
