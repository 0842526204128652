#include <holdfast/kv/read_verbs.hpp>
#include <holdfast/kv/reads_at_once.hpp>
#include <holdfast/kv/space_rooms.hpp>

#include <vector>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

template <class R>
Live BasicReads<R>::find_elsewhere(const Place& place, Bytes key, Line line,
                                   const EpochDomain::Guard& guard) const {
  return line || !rooms_.displaced ? rooms_.index.judge(line)
                                   : rooms_.displaced->find(place.hash, key, guard);
}

template <class R>
Status BasicReads<R>::read_elsewhere(const Place& place, Bytes key, Line line,
                                     const EpochDomain::Guard& guard,
                                     FunctionRef<void(const RecordView&, Bytes)> copy) const {
  const Live live = find_elsewhere(place, key, line, guard);
  if (live.outcome == Errc::kNotFound) return {};
  if (!live) return rooms_.index.error(live);
  std::string whole;
  HF_ASSIGN_OR_RETURN(const std::string_view value, value_of(live.record, whole));
  copy(live.record, std::as_bytes(std::span(value)));
  return {};
}

template <class R>
Live BasicReads<R>::find(const Place& place, Bytes key, const EpochDomain::Guard& guard) const {
  const Live live = rooms_.index.find(place, key, guard);
  if (live || live.line) [[likely]]
    return live;
  return find_elsewhere(place, key, live.line, guard);
}

template <class R>
[[gnu::flatten]] Result<typename BasicReads<R>::Found> BasicReads<R>::get_grouped(
    const Place& place, Bytes key, std::string* text, std::span<std::byte> buffer,
    const EpochDomain::Guard& guard) const {
  const Live live = find(place, key, guard);
  if (!live) return rooms_.index.error(live);
  std::string whole;
  HF_ASSIGN_OR_RETURN(const std::string_view value, value_of(live.record, whole));
  const Found found{live.record.sequence(), value.size()};
  if (text != nullptr)
    copy_text<AnyPath>(std::as_bytes(std::span(value)), *text);
  else if (!buffer.empty())
    read_words(buffer.data(), reinterpret_cast<const std::byte*>(value.data()),
               std::min(value.size(), buffer.size()));
  make_durable(place, live.record);
  return found;
}

template <class R>
Result<Pinned> BasicReads<R>::get_pinned(Bytes key) const {
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  const Place place = rooms_.index.place(rooms_.index.hash(key));
  const Live live = find(place, key, guard);
  if (!live) return rooms_.index.error(live);
  const Version version = live.record.sequence();
  if (live.record.is_in_pieces()) {
    HF_ASSIGN_OR_RETURN(std::string whole, rooms_.pieces.gather(live.record));
    return Pinned(std::move(whole), version);
  }
  BlockMeta& run = rooms_.table.run_of(offset_of(live.line));
  HF_MUTANT("K37", void(run.pins.fetch_add(1, std::memory_order_seq_cst)), void());
  if (!rooms_.records.patchable().empty() && rooms_.index.map().latched_or_patching(place.hash)) {
    // A word may be being updated in place right now, by a writer that has not seen our pin: a copy
    // is what stays as it was.
    run.pins.fetch_sub(1, std::memory_order_release);
    std::string copy;
    copy_text<AnyPath>(live.record.value_span(), copy);
    rooms_.medium.persist().persist(live.record.bytes(), live.record.record_bytes());
    return Pinned(std::move(copy), version);
  }
  return Pinned(run.pins, live.record.value(), version);
}

// ---- Snapshots ----

template <class R>
Result<Version> BasicReads<R>::get_at(Moment snapshot, Bytes key, std::string& value) const {
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  const Place place = rooms_.index.place(rooms_.index.hash(key));
  Line line = rooms_.index.map().find(place, rooms_.index.matches(key));
  if (line) line = rooms_.index.settled(line);
  if (!line && rooms_.displaced) line = rooms_.displaced->find(place.hash, key, guard).line;
  const Live live =
      rooms_.index.judge(rooms_.versions.visible_at(line, snapshot.version, guard), snapshot);
  if (!live) return rooms_.index.error(live);
  std::string whole;
  HF_ASSIGN_OR_RETURN(const std::string_view found, value_of(live.record, whole));
  value.assign(found);
  return live.record.sequence();
}

namespace reads_detail {

// Records that stay where they are until the guard of all of them ends.
struct PinnedLines {
  BlockTable& table;
  std::vector<Line> lines;

  void add(Line line) {
    lines.push_back(line);  // Before it is pinned: there may be no memory.
    table.run_of(offset_of(line)).pins.fetch_add(1, std::memory_order_seq_cst);
  }
  ~PinnedLines() {
    for (const Line line : lines)
      table.run_of(offset_of(line)).pins.fetch_sub(1, std::memory_order_release);
  }
};

}  // namespace reads_detail

template <class R>
Status BasicReads<R>::for_each_at(Moment snapshot, Visit visit) const {
  const OffsetMap& map = rooms_.index.map();
  Session& own = rooms_.sessions.of_this_thread();
  if (rooms_.displaced) HF_RETURN_IF_ERROR(rooms_.displaced->settle_all(own));
  Status damaged;  // The first that is; those behind it are visited.
  for (std::uint32_t partition = 0; partition < map.partitions(); ++partition) {
    reads_detail::PinnedLines pinned{rooms_.table, {}};
    {
      const auto guard = rooms_.epochs.enter(own.participant);
      // A batch that is being published is newer than every open snapshot, so its chains lead past
      // it.
      map.for_each(partition, [&](Line line) {
        if (const Line seen = rooms_.versions.visible_at(line, snapshot.version, guard))
          pinned.add(seen);
        return true;
      });
    }
    // Outside the guard: what the visitor does may take long.
    for (std::size_t i = 0; i < pinned.lines.size(); ++i) {
      if (i % kFetched == 0) HF_RETURN_IF_ERROR(fetch_records(std::span(pinned.lines).subspan(i)));
      const Line line = pinned.lines[i];
      const Live live = rooms_.index.judge(line, snapshot);
      if (live.outcome == Errc::kNotFound) continue;  // Expired.
      std::string whole;
      const auto value =
          live ? value_of(live.record, whole) : Result<std::string_view>(rooms_.index.error(live));
      if (!value) {
        if (damaged) damaged = value.error();
        continue;
      }
      if (!visit(live.record.key(), *value, live.record.sequence())) return {};
    }
  }
  return damaged;
}

template class BasicReads<Rooms>;
template class BasicReads<SpaceRooms>;

}  // namespace holdfast::kv
