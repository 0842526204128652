// order.hpp: the entries of a table in the order of their keys' bytes, in which results are shown.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/table.hpp>

namespace holdfast::query {

// An entry, and the first nine bytes of its key.
struct Place {
  std::uint64_t next8 = 0;  // Big-endian.
  std::uint32_t entry = 0;
  std::uint8_t first = 0;

  bool is_before(const Place& other) const {
    return first != other.first ? first < other.first : next8 < other.next8;
  }
  bool is_alike(const Place& other) const { return first == other.first && next8 == other.next8; }
};
// By the bytes of a key.
Place place_of_bytes(const std::string& bytes, std::uint32_t entry);
// Orders keys by their bytes.
class BytesOfKey {
 public:
  template <class Key>
  void operator()(const Key& key, std::string& bytes) const {
    key.append(bytes);
  }
  template <class Key>
  Place place(const Key& key, std::uint32_t entry) const {
    Place place{0, entry, 1};
    return key.begins_with(place.next8) ? place : whole(key, entry);
  }

 private:
  template <class Key>
  [[gnu::cold, gnu::noinline]] Place whole(const Key& key, std::uint32_t entry) const {
    std::string bytes;
    key.append(bytes);
    return place_of_bytes(bytes, entry);
  }
};

// Places in the order of their nine bytes. A caller that shows many groups keeps its Places, since
// the first touch of memory costs more than a pass over it. For the same reason they are sorted in
// place, but for few. O(places), for each byte that differs; those that are in order are read once.
// Where all fit the cache, what is alike stays in its order.
class Places {
 public:
  Places();
  ~Places();
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // Room for so many, whatever is there.
  Place* room_for(std::size_t most);
  // So many of them that were written there.
  std::span<Place> sorted(std::size_t count);
  // Those of the last sorted() that are alike, by is_before(context, a, b).
  using IsBefore = bool(void* context, const Place& a, const Place& b);
  void sort_alike(std::size_t count, IsBefore* is_before, void* context);

 private:
  static constexpr unsigned kBytes = 9;
  static constexpr std::size_t kFew = 24, kFitsCache = 64 * 1024;

  static unsigned byte_of(const Place& place, unsigned number);
  void sort(Place* places, std::size_t count);
  static void insert_each(Place* places, std::size_t count);
  void sort_parts(Place* places, std::size_t count, const Place& differ);
  static void sort_by(unsigned number, const Place* from, Place* to, std::size_t count);

  Place* places_ = nullptr;
  std::size_t room_ = 0;
  std::vector<Place> other_;
};

// The entries that are wanted(entry), in the order that `bytes` gives. O(entries) for keys of up to
// nine bytes; longer ones that begin alike are compared in whole.
template <class Key, class State, std::size_t kLeast, class Wanted, class Bytes>
[[gnu::noinline]] std::span<const Place> in_order(const Table<Key, State, kLeast>& table,
                                                  const Wanted& wanted, const Bytes& bytes,
                                                  Places& memory) {
  const auto& entries = table.entries();
  Place* const unsorted = memory.room_for(entries.size());
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    if (wanted(entries[i])) unsorted[count++] = bytes.place(entries[i].key, i);
  }
  const auto places = memory.sorted(count);
  if constexpr (Key::kFixedBytes == 0 || Key::kFixedBytes > sizeof(std::uint64_t) + 1) {
    auto before = [&](const Place& a, const Place& b) {
      std::string one, other;
      bytes(entries[a.entry].key, one), bytes(entries[b.entry].key, other);
      return one < other;
    };
    const auto call = [](void* context, const Place& a, const Place& b) {
      return (*static_cast<decltype(before)*>(context))(a, b);
    };
    memory.sort_alike(count, call, &before);
  }
  return places;
}

// Calls visit(entry) for each that is wanted(entry), in that order, until one gives false.
template <class Key, class State, std::size_t kLeast, class Wanted, class Bytes, class Visit>
bool visit_in_order(const Table<Key, State, kLeast>& table, const Wanted& wanted,
                    const Bytes& bytes, Places& memory, const Visit& visit) {
  const auto& entries = table.entries();
  const auto places = in_order(table, wanted, bytes, memory);
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
template <class Key, class State, std::size_t kLeast, class Visit>
bool visit_in_order(const Table<Key, State, kLeast>& table, Places& memory, const Visit& visit) {
  return visit_in_order(table, AnyEntry(), BytesOfKey(), memory, visit);
}
template <class Key, class State, std::size_t kLeast, class Visit>
bool visit_in_order(const Table<Key, State, kLeast>& table, const Visit& visit) {
  Places memory;
  return visit_in_order(table, memory, visit);
}

#ifndef HOLDFAST_APART

HF_APART Place place_of_bytes(const std::string& bytes, std::uint32_t entry) {
  unsigned char head[9] = {};
  std::memcpy(head, bytes.data(), bytes.size() < sizeof head ? bytes.size() : sizeof head);
  Place place{0, entry, head[0]};
  std::memcpy(&place.next8, head + 1, 8);
  place.next8 = __builtin_bswap64(place.next8);
  return place;
}

HF_APART Places::Places() {}
HF_APART Places::~Places() { give_pages(places_, room_ * sizeof(Place)); }
HF_APART Place* Places::room_for(std::size_t most) {
  if (most <= room_) return places_;
  give_pages(std::exchange(places_, nullptr), std::exchange(room_, 0) * sizeof(Place));
  places_ = static_cast<Place*>(take_pages(most * sizeof(Place)));
  room_ = most;
  return places_;
}
HF_APART std::span<Place> Places::sorted(std::size_t count) {
  sort(places_, count);
  return {places_, count};
}
HF_APART void Places::sort_alike(std::size_t count, IsBefore* is_before, void* context) {
  for (auto *begin = places_, *last = places_ + count; begin != last;) {
    auto* end = begin + 1;
    while (end != last && end->is_alike(*begin))
      ++end;
    if (end - begin > 1)
      std::sort(begin, end,
                [&](const Place& a, const Place& b) { return is_before(context, a, b); });
    begin = end;
  }
}
inline unsigned Places::byte_of(const Place& place, unsigned number) {
  return number == 0 ? place.first : place.next8 >> (64 - 8 * number) & 0xFF;
}
HF_APART void Places::sort(Place* places, std::size_t count) {
  if (count <= kFew) return insert_each(places, count);
  // Bits that are not alike in all of them.
  Place differ;
  bool in_order = true;
  for (std::size_t i = 1; i < count; ++i) {
    differ.first |= places[i].first ^ places[0].first;
    differ.next8 |= places[i].next8 ^ places[0].next8;
    in_order = in_order & !places[i].is_before(places[i - 1]);
  }
  if (in_order) return;
  if (count > kFitsCache) return sort_parts(places, count, differ);
  if (other_.size() < count) other_.resize(std::min(room_, kFitsCache));
  Place *from = places, *to = other_.data();
  for (unsigned number = kBytes; number-- > 0;) {
    if (byte_of(differ, number) == 0) continue;
    sort_by(number, from, to, count);
    std::swap(from, to);
  }
  if (from != places) std::copy_n(from, count, places);
}
HF_APART void Places::insert_each(Place* places, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    const Place place = places[i];
    std::size_t at = i;
    for (; at > 0 && place.is_before(places[at - 1]); --at)
      places[at] = places[at - 1];
    places[at] = place;
  }
}
// Sorts by the first byte that differs; then each part by the rest.
HF_APART void Places::sort_parts(Place* places, std::size_t count, const Place& differ) {
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
HF_APART void Places::sort_by(unsigned number, const Place* from, Place* to, std::size_t count) {
  std::uint32_t ends[256] = {}, begin = 0;
  for (std::size_t i = 0; i < count; ++i)
    ++ends[byte_of(from[i], number)];
  for (auto& end : ends)
    begin += std::exchange(end, begin);
  for (std::size_t i = 0; i < count; ++i)
    to[ends[byte_of(from[i], number)]++] = from[i];
}

#endif

}  // namespace holdfast::query
