// group_table.hpp: groups by the words of their keys, numbered in the order in which they come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/base/hash.hpp>

namespace holdfast::olap::mart {

class GroupTable {
 public:
  // Keys of so many words, at least one.
  explicit GroupTable(std::size_t words) : words_(words), places_(1024) {}

  std::size_t size() const { return groups_; }
  std::span<const std::int64_t> key(std::size_t group) const {
    return {keys_.data() + group * words_, words_};
  }
  std::uint32_t find_or_add(const std::int64_t* key) {
    if (groups_ * 2 >= places_.size()) grow();
    auto& place = place_of(key);
    if (place != 0) return place - 1;
    keys_.insert(keys_.end(), key, key + words_);
    place = static_cast<std::uint32_t>(++groups_);
    return place - 1;
  }

 private:
  std::uint64_t hash(const std::int64_t* key) const {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < words_; ++i)
      hash = mix64(hash + static_cast<std::uint64_t>(key[i]) + 0x9e3779b97f4a7c15);
    return hash;
  }
  // Where the group with this key is, or would be: group + 1, or 0.
  std::uint32_t& place_of(const std::int64_t* key) {
    const auto mask = places_.size() - 1;
    for (auto at = hash(key) & mask;; at = (at + 1) & mask) {
      auto& place = places_[at];
      if (place == 0 || std::equal(key, key + words_, keys_.data() + (place - 1) * words_))
        return place;
    }
  }
  void grow() {
    places_.assign(places_.size() * 4, 0);
    for (std::size_t group = 0; group < groups_; ++group)
      place_of(keys_.data() + group * words_) = static_cast<std::uint32_t>(group) + 1;
  }

  std::size_t words_;
  std::size_t groups_ = 0;
  std::vector<std::int64_t> keys_;
  std::vector<std::uint32_t> places_;  // A power of two, at most half of them used.
};

}  // namespace holdfast::olap::mart
