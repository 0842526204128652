#include <holdfast/kv/reads.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

template <class Copy>
inline Result<Version> Reads::read(Bytes key, Copy&& copy) const {
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  const Place place = rooms_.index.place(rooms_.index.hash(key));
  const Live live = rooms_.index.find(place, key);
  if (!live) [[unlikely]] {
    if (rooms_.displaced == nullptr) return rooms_.index.error(live);
    const Live apart = rooms_.displaced->find(place.hash, key);
    if (!apart) return rooms_.index.error(apart);
    copy(apart.record);
    return apart.record.sequence();
  }
  const Version version = live.record.sequence();
  copy(live.record);
  make_durable(place, live.record);
  return version;
}

inline Result<Version> Reads::get(Bytes key, std::span<std::byte> buffer,
                                  std::uint64_t& value_bytes) const {
  return read(key, [&](const RecordView& record) {
    value_bytes = record.value_bytes();
    if (!buffer.empty())  // An empty span may have no address.
      read_words(buffer.data(), record.value_data(),
                 std::min<std::uint64_t>(value_bytes, buffer.size()));
  });
}

namespace {

void copy_text(const RecordView& record, std::string& to) {
  to.resize(record.value_bytes());
  read_words(to.data(), record.value_data(), to.size());
}

}  // namespace

Result<Version> Reads::get(Bytes key, std::string& value) const {
  return read(key, [&](const RecordView& record) { copy_text(record, value); });
}

template <class Copy>
inline Status Reads::read_many(const ByteSpans& keys, std::span<Errc> outcomes, Copy&& copy) const {
  // Stages over groups: buckets on their way, then records on their way, then copies. 16 misses of
  // each kind are about what a core can have outstanding.
  constexpr std::size_t kGroup = 16;
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  std::array<Place, kGroup> places;
  for (std::size_t first = 0; first < keys.size(); first += kGroup) {
    const std::size_t size = std::min(kGroup, keys.size() - first);
    if (rooms_.paged() && first % kFetched == 0) [[unlikely]]
      HF_RETURN_IF_ERROR(fetch_records(keys, first));
    for (std::size_t i = 0; i < size; ++i) {
      places[i] = rooms_.index.place(rooms_.index.hash(keys[first + i]));
      prefetch_for_read(places[i].home);
    }
    for (std::size_t i = 0; i < size; ++i) {
      // The first candidate is nearly always the one.
      const Line candidate = rooms_.index.map().candidate(places[i]);
      if (candidate == kNoLine) continue;
      const std::byte* const at = rooms_.medium.at(offset_of(candidate));
      for (std::size_t line = 0; line < 4; ++line)
        prefetch_for_read(at + line * kCacheLineBytes);
    }
    for (std::size_t i = 0; i < size; ++i) {
      Live live = rooms_.index.find(places[i], keys[first + i]);
      if (!live) [[unlikely]]
        live = find_elsewhere(places[i], keys[first + i], live);
      outcomes[first + i] = live.outcome;
      if (live.outcome == Errc::kNotFound) continue;
      if (!live) return rooms_.index.error(live);
      copy(first + i, live.record);
      make_durable(places[i], live.record);
    }
  }
  return {};
}

inline Status Reads::get_many(const ByteSpans& keys, std::byte* objects, std::size_t object_bytes,
                              std::string* texts, std::span<Errc> outcomes) const {
  if (texts != nullptr) {
    return read_many(keys, outcomes,
                     [&](std::size_t i, const RecordView& record) { copy_text(record, texts[i]); });
  }
  return read_many(keys, outcomes, [&](std::size_t i, const RecordView& record) {
    read_words(objects + i * object_bytes, record.value_data(),
               std::min<std::uint64_t>(object_bytes, record.value_bytes()));
  });
}

Result<Pinned> Reads::get_pinned(Bytes key) const {
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  const Place place = rooms_.index.place(rooms_.index.hash(key));
  const Live live = find_elsewhere(place, key, rooms_.index.find(place, key));
  if (!live) return rooms_.index.error(live);
  const Version version = live.record.sequence();
  BlockMeta& run = rooms_.table.run_of(offset_of(live.line));
  run.pins.fetch_add(1, std::memory_order_seq_cst);
  if (!rooms_.records.patchable().empty() && rooms_.index.map().latched_or_patching(place.hash)) {
    // A word may be being updated in place right now, by a writer that has not seen our pin: a copy
    // is what stays as it was.
    run.pins.fetch_sub(1, std::memory_order_release);
    std::string copy;
    copy_text(live.record, copy);
    rooms_.medium.persist().persist(live.record.bytes(), live.record.record_bytes());
    return Pinned(std::move(copy), version);
  }
  return Pinned(run.pins, live.record.value(), version);
}

// ---- Snapshots ----

Result<Version> Reads::get_at(Version snapshot, Bytes key, std::string& value) const {
  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  const Place place = rooms_.index.place(rooms_.index.hash(key));
  Line line = rooms_.index.map().find(place, rooms_.index.matches(key));
  if (line) line = rooms_.index.settled(line);
  if (!line && rooms_.displaced) line = rooms_.displaced->find(place.hash, key).line;
  const Live live = rooms_.index.judge(rooms_.versions.visible_at(line, snapshot));
  if (!live) return rooms_.index.error(live);
  value.assign(live.record.value());
  return live.record.sequence();
}

namespace {

// Records that stay where they are until the guard of all of them ends.
struct PinnedLines {
  BlockTable& table;
  std::vector<Line> lines;

  void add(Line line) {
    table.run_of(offset_of(line)).pins.fetch_add(1, std::memory_order_seq_cst);
    lines.push_back(line);
  }
  ~PinnedLines() {
    for (const Line line : lines)
      table.run_of(offset_of(line)).pins.fetch_sub(1, std::memory_order_release);
  }
};

}  // namespace

Status Reads::for_each_at(Version snapshot, Visit visit) const {
  const OffsetMap& map = rooms_.index.map();
  Session& own = rooms_.sessions.of_this_thread();
  if (rooms_.displaced) HF_RETURN_IF_ERROR(rooms_.displaced->settle_all(own));
  for (std::uint32_t partition = 0; partition < map.partitions(); ++partition) {
    PinnedLines pinned{rooms_.table, {}};
    {
      const auto guard = rooms_.epochs.enter(own.participant);
      // A batch that is being published is newer than every open snapshot, so its chains lead past
      // it.
      map.for_each(partition, [&](Line line) {
        if (const Line seen = rooms_.versions.visible_at(line, snapshot)) pinned.add(seen);
        return true;
      });
    }
    // Outside the guard: what the visitor does may take long.
    for (std::size_t i = 0; i < pinned.lines.size(); ++i) {
      if (rooms_.paged() && i % kFetched == 0)
        HF_RETURN_IF_ERROR(fetch_records(std::span(pinned.lines).subspan(i)));
      const Line line = pinned.lines[i];
      const Live live = rooms_.index.judge(line);
      if (!live) return rooms_.index.error(live);
      if (!visit(live.record.key(), live.record.value(), live.record.sequence())) return {};
    }
  }
  return {};
}

// ---- The verbs of stores: each with all that it calls in one function ----

namespace {

// kInvalidOption unless all are equally many.
Status check_counts(std::size_t keys, std::size_t values, std::size_t outcomes) {
  if (keys == values && keys == outcomes) return {};
  return Error{Errc::kInvalidOption,
               "get_many: " + std::to_string(keys) + " keys, " + std::to_string(values) +
                   " values, " + std::to_string(outcomes) + " outcomes; equally many are allowed"};
}

}  // namespace

[[gnu::flatten]] Result<Version> StoreBase::get_bytes(std::string_view key,
                                                      std::span<std::byte> buffer,
                                                      std::uint64_t& value_bytes) const {
  if (!core_) [[unlikely]]
    return closed();
  return core_->reads.get(bytes_of(key), buffer, value_bytes);
}

Status StoreBase::get_texts(std::span<const std::string_view> keys, std::span<std::string> values,
                            std::span<Errc> outcomes) const {
  if (!core_) [[unlikely]]
    return closed();
  HF_RETURN_IF_ERROR(check_counts(keys.size(), values.size(), outcomes.size()));
  return core_->reads.get_many(ByteSpans(keys), nullptr, 0, values.data(), outcomes);
}

Status StoreBase::get_objects(Objects keys, Objects values, std::span<Errc> outcomes) const {
  if (!core_) [[unlikely]]
    return closed();
  HF_RETURN_IF_ERROR(check_counts(keys.count, values.count, outcomes.size()));
  // NOLINTNEXTLINE: the caller's values, which it may write.
  auto* const to = static_cast<std::byte*>(const_cast<void*>(values.first));
  return core_->reads.get_many(ByteSpans(keys.first, keys.bytes, keys.count), to, values.bytes,
                               nullptr, outcomes);
}

}  // namespace holdfast::kv
