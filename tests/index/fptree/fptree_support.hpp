// fptree_support.hpp: what the tests of the FP-Tree share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include <gtest/gtest.h>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/index/fptree/fptree.hpp>

#include "../index_support.hpp"

namespace holdfast::index {

inline fptree_detail::LeafHead* head_of(std::byte* leaf) {
  return reinterpret_cast<fptree_detail::LeafHead*>(leaf);
}

inline FpTreeOptions leaves_of(std::uint32_t records) {
  FpTreeOptions options;
  options.records = records;
  return options;
}

using Contents = std::map<std::uint64_t, std::uint64_t>;

inline Contents contents_of(const FpTree& tree) {
  Contents contents;
  tree.scan(0,
            [&](std::uint64_t key, std::uint64_t value) {
              EXPECT_TRUE(contents.emplace(key, value).second) << "twice: " << key;
              return true;
            })
      .value();
  return contents;
}

}  // namespace holdfast::index
