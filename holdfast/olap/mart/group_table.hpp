// group_table.hpp: groups by the words of their keys, numbered in the order in which they come.
//
// A place holds a group's number beside 32 bits of its key's hash, so that keys of other groups are
// hardly ever compared. The upper bits of these choose the place: a table that grows is read and
// written from its beginning to its end, and no key is looked at.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/olap/mart/large_vectors.hpp>

namespace holdfast::olap::mart {

class GroupTable {
 public:
  // Keys of so many words, at least one.
  explicit GroupTable(std::size_t words) : words_(words), places_(std::size_t{1} << kFirstBits) {}

  std::size_t size() const { return groups_; }
  std::span<const std::int64_t> key(std::size_t group) const {
    return {keys_.data() + group * words_, words_};
  }
  // Of the words alone: the same in all tables.
  std::uint32_t hash(const std::int64_t* key) const {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < words_; ++i)
      hash = mix64(hash + static_cast<std::uint64_t>(key[i]) + 0x9e3779b97f4a7c15);
    return static_cast<std::uint32_t>(hash >> 32);
  }
  // Addresses for so many groups, without memory, so that keys need not move.
  void reserve(std::size_t groups) { reserve_large(keys_, groups * words_); }
  // The groups of `count` keys, which lie one behind the other. Places are asked for some keys
  // ahead, so that the waits for memory overlap.
  void find_or_add(const std::int64_t* keys, std::size_t count, std::uint32_t* groups) {
    std::array<std::uint32_t, kAtOnce> hashes;
    for (std::size_t first = 0; first < count; first += kAtOnce) {
      const auto some = std::min(kAtOnce, count - first);
      while ((groups_ + some) * 2 > places_.size())
        grow();
      for (std::size_t i = 0; i < some; ++i) {
        hashes[i] = hash(keys + (first + i) * words_);
        prefetch_for_read(&places_[hashes[i] >> shift_]);
      }
      // The key that is likely to be compared, or, where there is none, some other one.
      for (std::size_t i = 0; i < some; ++i) {
        const std::size_t number = places_[hashes[i] >> shift_].number;
        prefetch_for_read(keys_.data() + (number - (number != 0 ? 1 : 0)) * words_);
      }
      for (std::size_t i = 0; i < some; ++i)
        groups[first + i] = find_or_add(keys + (first + i) * words_, hashes[i]);
    }
  }

 private:
  static constexpr unsigned kFirstBits = 10;
  static constexpr std::size_t kAtOnce = 64;

  struct Place {
    std::uint32_t hash = 0, number = 0;  // Of the group, from 1; 0: none.
  };

  bool same(const std::int64_t* key, std::uint32_t number) const {
    const auto* const other = keys_.data() + (std::size_t{number} - 1) * words_;
    for (std::size_t i = 0; i < words_; ++i) {
      if (key[i] != other[i]) return false;
    }
    return true;
  }
  std::uint32_t find_or_add(const std::int64_t* key, std::uint32_t hash) {
    const auto mask = places_.size() - 1;
    for (std::size_t at = hash >> shift_;; at = (at + 1) & mask) {
      auto& place = places_[at];
      if (place.hash == hash && place.number != 0 && same(key, place.number))
        return place.number - 1;
      if (place.number != 0) continue;
      for (std::size_t i = 0; i < words_; ++i)
        keys_.push_back(key[i]);
      place = {hash, static_cast<std::uint32_t>(++groups_)};
      return place.number - 1;
    }
  }
  void grow() {
    if (shift_ == 0) throw std::bad_alloc();  // The hash has no more bits.
    --shift_;
    std::vector<Place> places;
    reserve_large(places, places_.size() * 2);
    places.resize(places_.size() * 2);
    const auto mask = places.size() - 1;
    for (const auto& place : places_) {
      if (place.number == 0) continue;
      std::size_t at = place.hash >> shift_;
      while (places[at].number != 0)
        at = (at + 1) & mask;
      places[at] = place;
    }
    places_ = std::move(places);
  }

  std::size_t words_;
  std::size_t groups_ = 0;
  std::vector<std::int64_t> keys_;
  std::vector<Place> places_;  // 2^(32 - shift_), at most half of them used.
  unsigned shift_ = 32 - kFirstBits;
};

}  // namespace holdfast::olap::mart
