// date_order.hpp: blocks that come in any order, written again in the order of their days.
//
// So a block holds few days, and its bounds rule it out for queries about others. Rows of one day
// stay in the order in which they came.
//
// Cost   All blocks and 8 bytes per row are in DRAM until write() has returned.
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/block.hpp>
#include <holdfast/olap/star_store.hpp>

namespace holdfast::olap {

class DateOrder {
 public:
  void add(EncodedBlock block) { blocks_.push_back(std::move(block)); }
  // Errors: of StarWriter::append.
  Status write(StarWriter& writer, unsigned threads) const;

 private:
  struct Place {
    std::uint32_t block, row;
  };
  std::vector<Place> by_day() const;
  std::uint32_t value(Place place, Column column) const {
    const auto& block = blocks_[place.block];
    return value_at(block.bytes.data(), block.info, column, place.row);
  }

  std::vector<EncodedBlock> blocks_;
};

}  // namespace holdfast::olap
