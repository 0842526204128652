// fastfair_support.hpp: what the tests of the FAST+FAIR tree share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include <gtest/gtest.h>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/index/fastfair/fastfair.hpp>

#include "../index_support.hpp"

namespace holdfast::index {

inline FastFairOptions slots_of(std::uint32_t slots) {
  FastFairOptions options;
  options.slots = slots;
  return options;
}

using Contents = std::map<std::uint64_t, std::uint64_t>;

inline Contents contents_of(const FastFair& tree) {
  Contents contents;
  tree.scan(0,
            [&](std::uint64_t key, std::uint64_t value) {
              EXPECT_TRUE(contents.emplace(key, value).second) << "twice: " << key;
              return true;
            })
      .value();
  return contents;
}

// Of a region that begins with a tree of this shape.
inline fastfair_detail::NodeHead& head_of(Region& region,
                                          const fastfair_detail::FastFairShape& shape,
                                          std::uint32_t node) {
  return *reinterpret_cast<fastfair_detail::NodeHead*>(region.data() + shape.node_at(node));
}
inline fastfair_detail::Entry* entries_of(fastfair_detail::NodeHead& head) {
  return reinterpret_cast<fastfair_detail::Entry*>(&head + 1);
}

}  // namespace holdfast::index
