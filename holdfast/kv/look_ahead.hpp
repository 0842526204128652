// look_ahead.hpp: asks for the index entries and records of the keys that a cursor comes to next,
// so that the misses of several look-ups overlap.
//
// Nothing is read before its turn: a record is what it is when the cursor comes to it.
//
// Threads    One, inside a guard.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/index/ordered/cursor.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/key_index.hpp>
#include <holdfast/kv/reads.hpp>

namespace holdfast::kv {

class LookAhead {
 public:
  // The cursor came to another place, or turned round.
  void forget() { records_asked_ = entries_asked_ = fetched_ = 0; }

  // The cursor is at a key, one move beyond the last call if nothing was forgotten. On page media
  // this reads records from the device. Errors: kIo.
  template <class R>
  Status step(const R& rooms, const BasicReads<R>& reads, const index::ordered::Cursor& keys,
              bool forward) {
    if (rooms.medium.paged()) return fetch(reads, keys, forward);
    prefetch(rooms.index, keys, forward);
    return {};
  }

 private:
  void prefetch(const KeyIndex& index, const index::ordered::Cursor& keys, bool forward) {
    if (entries_asked_ > 0) --entries_asked_;
    if (records_asked_ > 0) --records_asked_;
    for (; entries_asked_ <= kEntries; ++entries_asked_) {
      const auto key = keys.ahead(forward, entries_asked_);
      if (!key) break;
      prefetch_for_read(place_of(index, *key).home);
    }
    for (; records_asked_ < std::min(kRecords + 1, entries_asked_); ++records_asked_) {
      const auto key = keys.ahead(forward, records_asked_);
      const Line line = index.map().candidate<AnyPath::Probing>(place_of(index, *key));
      if (line == index::kNoLine) continue;
      const std::byte* const at = index.records().at(line).bytes();
      for (std::size_t i = 0; i < kRecordLines; ++i)
        prefetch_for_read(at + i * kCacheLineBytes);
    }
  }

  // Many records at once.
  template <class R>
  Status fetch(const BasicReads<R>& reads, const index::ordered::Cursor& keys, bool forward) {
    if (fetched_ > 0) return --fetched_, ok_status();
    std::array<std::string_view, BasicReads<R>::kFetched> next;
    std::size_t found = 0;
    while (found < next.size()) {
      const auto key = keys.ahead(forward, found);
      if (!key) break;
      next[found++] = *key;
    }
    fetched_ = found - 1;
    return reads.fetch_records(ByteSpans(std::span(next).first(found)), 0);
  }

  // An entry comes from memory, then its record: of each about as many as a core has under way.
  static constexpr std::size_t kEntries = 16, kRecords = 8, kRecordLines = 4;

  static Place place_of(const KeyIndex& index, std::string_view key) {
    return index.place(index.hash(bytes_of(key)));
  }

  // For how many keys, from the cursor's on, entries and records were prefetched.
  std::size_t entries_asked_ = 0, records_asked_ = 0;
  std::size_t fetched_ = 0;
};

}  // namespace holdfast::kv
