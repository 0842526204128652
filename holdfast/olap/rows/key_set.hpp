// key_set.hpp: the keys of a dimension, to ask whether one is there. Dense keys take a bit each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

namespace holdfast::olap {

class KeySet {
 public:
  explicit KeySet(std::span<const std::uint32_t> keys) {
    const auto most = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
    if (most <= 256 * keys.size() + 4096) dense_.resize(std::size_t{most} + 1);
    for (const auto key : keys) {
      if (dense_.empty())
        sparse_.insert(key);
      else
        dense_[key] = true;
    }
  }
  bool contains(std::uint32_t key) const {
    if (dense_.empty()) return sparse_.find(key) != sparse_.end();
    return key < dense_.size() && dense_[key];
  }

 private:
  std::vector<bool> dense_;
  std::unordered_set<std::uint32_t> sparse_;
};

}  // namespace holdfast::olap
