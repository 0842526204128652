// pack_verbs.hpp: what fill() of a cursor does to a run of keys that it knows: looks them up and
// packs their records. Included where verbs are instantiated, and nowhere else.
//
// A look-up waits twice, for the entry of the index and for the record. While a record is packed,
// those of the next keys and the entries of the keys behind them are on their way.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/index/ordered/cursor.hpp>
#include <holdfast/kv/packing.hpp>
#include <holdfast/kv/read_verbs.hpp>

namespace holdfast::kv {

// For the next keys: where their entries are, and which records these name.
template <class Path>
class KeysAhead {
 public:
  // `most`: records that find room.
  KeysAhead(const KeyIndex& index, index::ordered::Cursor& keys, std::size_t most)
      : index_(index), keys_(keys), most_(most) {}

  // Whether there is a key `at` to look up: one more than finds room, since the cursor stays there.
  // While the last known keys are looked up, those of the next leaf become known.
  bool has(std::size_t at) {
    if (at == learn_at_) [[unlikely]]
      learn(at);
    return at < count_;
  }
  std::string_view key(std::size_t at) const { return keys_.known(at); }
  const Place& place(std::size_t at) const { return places_[at % kRing]; }
  Line candidate(std::size_t at) const { return candidates_[at % kRing]; }

  // Before the key `at` is looked up. `record_lines`: of a record, most likely.
  void step(std::size_t at, std::size_t record_lines) {
    for (const std::size_t end = std::min(count_, at + kEntries); entries_ < end; ++entries_) {
      Place& place = places_[entries_ % kRing];
      place = index_.place(index_.hash<Path>(raw_bytes(key(entries_))));
      prefetch_for_read(place.home);
      prefetch_for_read(place.home + 1);  // Where one key in twenty lies.
    }
    for (const std::size_t end = std::min(count_, at + kRecords); records_ < end; ++records_) {
      const Line line = index_.map().candidate<typename Path::Probing>(place(records_));
      candidates_[records_ % kRing] = line;
      if (line == index::kNoLine) continue;
      const std::byte* const record = index_.records().at(line).bytes();
      for (std::size_t i = 0; i < record_lines; ++i)
        prefetch_for_read(record + i * kCacheLineBytes);
    }
  }

 private:
  static constexpr std::size_t kEntries = 24, kRecords = 12, kRing = 32;
  static constexpr std::size_t kNever = ~std::size_t{0};
  static constexpr std::size_t kMostKeys = 512;  // Of one guard: what a buffer takes may be much.

  void learn(std::size_t at) {
    std::size_t known = keys_.known_keys();
    const auto wanted = [&] { return known <= most_ && known < kMostKeys; };
    bool more = wanted();
    while (more && known - at <= kEntries) {
      more = keys_.read_on();
      known = keys_.known_keys();
      more = more && wanted();
    }
    if (more) keys_.prefetch_on();
    learn_at_ = more ? known - kEntries : kNever;
    count_ = most_ < known ? most_ + 1 : known;
  }

  const KeyIndex& index_;
  index::ordered::Cursor& keys_;
  const std::size_t most_;
  std::size_t count_ = 0, learn_at_ = 0;
  std::size_t entries_ = 0, records_ = 0;  // Asked for.
  std::array<Place, kRing> places_;
  std::array<Line, kRing> candidates_;
};

template <class R>
template <class Path>
Packed BasicReads<R>::pack(index::ordered::Cursor& keys, Packing& packing, RecordAt& next) const {
  constexpr std::size_t kMostLines = 8;
  R& rooms = rooms_;
  const auto guard = rooms.epochs.enter(rooms.sessions.of_this_thread().participant);
  Packed done;
  KeysAhead<Path> ahead(rooms.index, keys, packing.most - packing.records);
  std::size_t lines = 4;
  const auto add = [&](std::string_view key, const RecordView& record, Bytes value) {
    lines = std::min<std::size_t>(
        (record.value_at() + value.size() + kCacheLineBytes - 1) / kCacheLineBytes, kMostLines);
    if (packing.takes(key.size(), value.size())) [[likely]] {
      packing.add<Path>(key, value, record.sequence());
      return;
    }
    copy_text<Path>(value, next.value);
    next.version = record.sequence();
    done.end = Packed::End::kNoRoom;
  };
  for (; ahead.has(done.keys); ++done.keys) {
    ahead.step(done.keys, lines);
    const std::string_view key = ahead.key(done.keys);
    const Place& place = ahead.place(done.keys);
    const Line candidate = ahead.candidate(done.keys);
    if constexpr (Path::kFixed) {
      if (candidate && leads_to_put<Path>(candidate, raw_bytes(key))) [[likely]] {
        const RecordView record = rooms.records.at(candidate, Path::kHeaderBytes);
        const std::byte* const value =
            record.bytes() + round_up(Path::kHeaderBytes + key.size(), 8);
        add(key, record, Bytes(value, record.header().value_bytes()));
        if constexpr (Path::kHasWords) {
          if (rooms.index.map().may_be_patching(place)) [[unlikely]]
            make_durable(place, record);
        }
        if (done.end != Packed::End::kAllKeys) return done;
        continue;
      }
    }
    const Line line = rooms.index.template line_of<Path>(place, bytes_of(key), candidate);
    const RecordView record = rooms.records.at(line);
    if (rooms.index.template is_live<Path>(record, line)) [[likely]] {
      add(key, record, Bytes(record.value_data(), record.header().value_bytes()));
      make_durable(place, record);
    } else if (!read_elsewhere(
                   place, bytes_of(key), line, guard,
                   [&](const RecordView& found, Bytes value) { add(key, found, value); })) {
      done.end = Packed::End::kUnreadable;
    }
    if (done.end != Packed::End::kAllKeys) return done;
  }
  return done;
}

}  // namespace holdfast::kv
