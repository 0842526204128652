// order.hpp: the entries of a table in the order of their keys' bytes, in which results are shown.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/table.hpp>

namespace holdfast::query {

// An entry, and the first nine bytes of its key.
struct Place {
  std::uint64_t next8 = 0;  // Big-endian.
  std::uint32_t entry = 0;
  std::uint8_t first = 0;
};

inline Place place_of(const std::string& bytes, std::uint32_t entry) {
  unsigned char head[9] = {};
  std::memcpy(head, bytes.data(), bytes.size() < sizeof head ? bytes.size() : sizeof head);
  Place place{0, entry, head[0]};
  std::memcpy(&place.next8, head + 1, 8);
  place.next8 = __builtin_bswap64(place.next8);
  return place;
}

// Places in the order of their nine bytes. A caller that shows many groups keeps its Places, since
// the first touch of memory costs more than a pass over it. For the same reason they are sorted in
// place. O(places), for each byte that differs.
class Places {
 public:
  void clear(std::size_t most) {
    places_.clear();
    places_.reserve(most);
  }
  void add(const Place& place) { places_.push_back(place); }
  LargeVector<Place>& sorted() {
    sort(places_.data(), places_.size());
    return places_;
  }

 private:
  static constexpr unsigned kBytes = 9;
  static constexpr std::size_t kFew = 24, kFitsCache = 64 * 1024;

  static unsigned byte_of(const Place& place, unsigned number) {
    return number == 0 ? place.first : place.next8 >> (64 - 8 * number) & 0xFF;
  }
  static bool is_before(const Place& a, const Place& b) {
    return a.first != b.first ? a.first < b.first : a.next8 < b.next8;
  }

  [[gnu::noinline]] void sort(Place* places, std::size_t count) {
    if (count <= kFew) return insert_each(places, count);
    // Bits that are not alike in all of them.
    Place differ;
    for (std::size_t i = 1; i < count; ++i) {
      differ.first |= places[i].first ^ places[0].first;
      differ.next8 |= places[i].next8 ^ places[0].next8;
    }
    if (count > kFitsCache) return sort_parts(places, count, differ);
    if (other_.size() < count) other_.resize(std::min(places_.size(), kFitsCache));
    for (unsigned number = kBytes; number-- > 0;) {
      if (byte_of(differ, number) != 0) sort_by(number, places, count);
    }
  }
  [[gnu::noinline]] static void insert_each(Place* places, std::size_t count) {
    for (std::size_t i = 1; i < count; ++i) {
      const Place place = places[i];
      std::size_t at = i;
      for (; at > 0 && is_before(place, places[at - 1]); --at)
        places[at] = places[at - 1];
      places[at] = place;
    }
  }
  // Sorts by the first byte that differs; then each part by the rest.
  [[gnu::noinline]] void sort_parts(Place* places, std::size_t count, const Place& differ) {
    constexpr std::size_t kAhead = 8;  // Each part is a stream of its own.
    unsigned number = 0;
    while (number < kBytes && byte_of(differ, number) == 0)
      ++number;
    if (number == kBytes) return;
    std::size_t next[256], ends[256] = {}, begin = 0;
    for (std::size_t i = 0; i < count; ++i)
      ++ends[byte_of(places[i], number)];
    for (unsigned part = 0; part < 256; ++part)
      next[part] = std::exchange(begin, begin + ends[part]), ends[part] = begin;
    for (unsigned part = 0; part < 256; ++part) {
      while (next[part] != ends[part]) {
        Place place = places[next[part]];
        for (auto to = byte_of(place, number); to != part; to = byte_of(place, number)) {
          __builtin_prefetch(&places[next[to]] + kAhead, 1);
          std::swap(place, places[next[to]++]);
        }
        places[next[part]++] = place;
      }
    }
    begin = 0;
    for (const auto end : ends)
      sort(places + begin, end - begin), begin = end;
  }
  // What is alike stays in its order.
  [[gnu::noinline]] void sort_by(unsigned number, Place* places, std::size_t count) {
    std::uint32_t ends[256] = {}, begin = 0;
    for (std::size_t i = 0; i < count; ++i)
      ++ends[byte_of(places[i], number)];
    for (auto& end : ends)
      begin += std::exchange(end, begin);
    for (std::size_t i = 0; i < count; ++i)
      other_[ends[byte_of(places[i], number)]++] = places[i];
    std::copy_n(other_.begin(), count, places);
  }

  LargeVector<Place> places_;
  std::vector<Place> other_;
};

// Sorts by is_before(context, a, b). Compiled once in a query.
using IsBefore = bool(void* context, const Place& a, const Place& b);
[[gnu::noinline]] inline void sort_alike(Place* begin, Place* end, IsBefore* is_before,
                                         void* context) {
  std::sort(begin, end, [&](const Place& a, const Place& b) { return is_before(context, a, b); });
}

// The entries that are wanted(entry), in the order of the bytes that append(key, bytes) gives.
// O(entries) for keys of up to nine bytes; longer ones that begin alike are compared in whole.
template <class Key, class State, std::size_t kLeast, class Wanted, class Append>
[[gnu::noinline]] const LargeVector<Place>& in_order(const Table<Key, State, kLeast>& table,
                                                     const Wanted& wanted, const Append& append,
                                                     Places& unsorted) {
  const auto& entries = table.entries();
  unsorted.clear(entries.size());
  std::string bytes, more;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    if (!wanted(entries[i])) continue;
    bytes.clear();
    append(entries[i].key, bytes);
    unsorted.add(place_of(bytes, i));
  }
  auto& places = unsorted.sorted();
  if constexpr (Key::kFixedBytes == 0 || Key::kFixedBytes > sizeof(std::uint64_t) + 1) {
    auto before = [&](const Place& a, const Place& b) {
      bytes.clear(), more.clear();
      append(entries[a.entry].key, bytes), append(entries[b.entry].key, more);
      return bytes < more;
    };
    const auto call = [](void* context, const Place& a, const Place& b) {
      return (*static_cast<decltype(before)*>(context))(a, b);
    };
    auto* const last = places.data() + places.size();
    for (auto* begin = places.data(); begin != last;) {
      auto* end = begin + 1;
      while (end != last && end->next8 == begin->next8 && end->first == begin->first)
        ++end;
      if (end - begin > 1) sort_alike(begin, end, call, &before);
      begin = end;
    }
  }
  return places;
}

// Calls visit(entry) for each that is wanted(entry), in that order, until one gives false.
template <class Key, class State, std::size_t kLeast, class Wanted, class Append, class Visit>
bool visit_in_order(const Table<Key, State, kLeast>& table, const Wanted& wanted,
                    const Append& append, Places& memory, const Visit& visit) {
  const auto& entries = table.entries();
  const auto& places = in_order(table, wanted, append, memory);
  constexpr std::size_t kAhead = 16;  // An entry is anywhere in the table.
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) __builtin_prefetch(&entries[places[i + kAhead].entry]);
    if (!visit(entries[places[i].entry])) return false;
  }
  return true;
}
// All of them, by the keys' bytes. Of a name, so that a table has one in_order() for all visitors:
// it is what a compiler takes longest for.
struct AnyEntry {
  template <class Entry>
  bool operator()(const Entry&) const {
    return true;
  }
};
struct BytesOfKey {
  template <class Key>
  void operator()(const Key& key, std::string& bytes) const {
    key.append(bytes);
  }
};
template <class Key, class State, std::size_t kLeast, class Visit>
bool visit_in_order(const Table<Key, State, kLeast>& table, Places& memory, const Visit& visit) {
  return visit_in_order(table, AnyEntry(), BytesOfKey(), memory, visit);
}
template <class Key, class State, std::size_t kLeast, class Visit>
bool visit_in_order(const Table<Key, State, kLeast>& table, const Visit& visit) {
  Places memory;
  return visit_in_order(table, memory, visit);
}

}  // namespace holdfast::query
