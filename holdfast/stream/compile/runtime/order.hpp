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

// By byte `number` of the nine, the last one first: what is equal stays in its order.
inline void sort_by_byte(std::vector<Place>& places, std::vector<Place>& other, unsigned number) {
  const auto byte_of = [number](const Place& place) -> unsigned {
    return number == 0 ? place.first : place.next8 >> (64 - 8 * number) & 0xFF;
  };
  std::array<std::size_t, 257> begins{};
  for (const auto& place : places)
    ++begins[byte_of(place) + 1];
  for (std::size_t i = 1; i < begins.size(); ++i)
    begins[i] += begins[i - 1];
  other.resize(places.size());
  for (const auto& place : places)
    other[begins[byte_of(place)]++] = place;
  places.swap(other);
}

// By all nine. Those that are the same in all places say nothing: most bytes of most numbers.
inline void sort_places(std::vector<Place>& places, std::vector<Place>& other) {
  if (places.empty()) return;
  std::uint64_t next8 = 0;
  unsigned first = 0;
  for (const auto& place : places) {
    next8 |= place.next8 ^ places.front().next8;
    first |= place.first ^ places.front().first;
  }
  for (unsigned number = 8; number > 0; --number) {
    if ((next8 >> (64 - 8 * number) & 0xFF) != 0) sort_by_byte(places, other, number);
  }
  if (first != 0) sort_by_byte(places, other, 0);
}

// Calls visit(entry) for each that is wanted(entry), in the order of the bytes that append(key,
// bytes) gives, until one gives false. O(entries) for keys of up to nine bytes; longer ones that
// begin alike are compared in whole.
template <class Key, class State, std::size_t kLeast, class Wanted, class Append, class Visit>
bool visit_in_order(const Table<Key, State, kLeast>& table, const Wanted& wanted,
                    const Append& append, const Visit& visit) {
  const auto& entries = table.entries();
  std::vector<Place> places, other;
  places.reserve(entries.size());
  std::string bytes, more;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    if (!wanted(entries[i])) continue;
    bytes.clear();
    append(entries[i].key, bytes);
    places.push_back(place_of(bytes, i));
  }
  sort_places(places, other);
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
  constexpr std::size_t kAhead = 16;  // An entry is anywhere in the table.
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) __builtin_prefetch(&entries[places[i + kAhead].entry]);
    if (!visit(entries[places[i].entry])) return false;
  }
  return true;
}
// All of them, by the keys' bytes.
template <class Key, class State, std::size_t kLeast, class Visit>
bool visit_in_order(const Table<Key, State, kLeast>& table, const Visit& visit) {
  return visit_in_order(
      table, [](const auto&) { return true; },
      [](const Key& key, std::string& bytes) { key.append(bytes); }, visit);
}

}  // namespace holdfast::query
