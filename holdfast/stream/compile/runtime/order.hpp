// order.hpp: the entries of a table in the order of their keys' bytes, in which results are shown.
#pragma once

#include <array>

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

// Places in the order of their nine bytes; what is equal stays in its order. O(places), for each
// byte that differs; all of them are counted at once.
class Places {
 public:
  explicit Places(std::size_t most) { places_.reserve(most); }
  void add(const Place& place) {
    places_.push_back(place);
    for (unsigned number = 0; number < kBytes; ++number)
      ++counts_[number][byte_of(place, number)];
  }
  LargeVector<Place>& sorted() {
    LargeVector<Place> other;
    for (unsigned number = kBytes; number-- > 0;) {
      auto& ends = counts_[number];
      if (std::find(ends.begin(), ends.end(), places_.size()) != ends.end())
        continue;  // One value.
      std::size_t begin = 0;
      for (auto& count : ends)
        begin += std::exchange(count, begin);
      other.resize(places_.size());
      for (const auto& place : places_)
        other[ends[byte_of(place, number)]++] = place;
      places_.swap(other);
    }
    return places_;
  }

 private:
  static constexpr unsigned kBytes = 9;
  static unsigned byte_of(const Place& place, unsigned number) {
    return number == 0 ? place.first : place.next8 >> (64 - 8 * number) & 0xFF;
  }

  LargeVector<Place> places_;
  std::array<std::array<std::size_t, 256>, kBytes> counts_{};
};

// The entries that are wanted(entry), in the order of the bytes that append(key, bytes) gives.
// O(entries) for keys of up to nine bytes; longer ones that begin alike are compared in whole.
template <class Key, class State, std::size_t kLeast, class Wanted, class Append>
[[gnu::noinline]] LargeVector<Place> in_order(const Table<Key, State, kLeast>& table,
                                              const Wanted& wanted, const Append& append) {
  const auto& entries = table.entries();
  Places unsorted(entries.size());
  std::string bytes, more;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    if (!wanted(entries[i])) continue;
    bytes.clear();
    append(entries[i].key, bytes);
    unsorted.add(place_of(bytes, i));
  }
  auto& places = unsorted.sorted();
  if constexpr (Key::kFixedBytes == 0 || Key::kFixedBytes > sizeof(std::uint64_t) + 1) {
    const auto before = [&](const Place& a, const Place& b) {
      bytes.clear(), more.clear();
      append(entries[a.entry].key, bytes), append(entries[b.entry].key, more);
      return bytes < more;
    };
    for (auto begin = places.begin(); begin != places.end();) {
      const auto end = std::find_if(begin, places.end(), [&](const Place& place) {
        return place.next8 != begin->next8 || place.first != begin->first;
      });
      if (end - begin > 1) std::sort(begin, end, before);
      begin = end;
    }
  }
  return std::move(places);
}

// Calls visit(entry) for each that is wanted(entry), in that order, until one gives false.
template <class Key, class State, std::size_t kLeast, class Wanted, class Append, class Visit>
bool visit_in_order(const Table<Key, State, kLeast>& table, const Wanted& wanted,
                    const Append& append, const Visit& visit) {
  const auto& entries = table.entries();
  const auto places = in_order(table, wanted, append);
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
bool visit_in_order(const Table<Key, State, kLeast>& table, const Visit& visit) {
  return visit_in_order(table, AnyEntry(), BytesOfKey(), visit);
}

}  // namespace holdfast::query
