// sum_bound.hpp: whether sums fit 64 bits, from the largest values of columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/query.hpp>
#include <holdfast/olap/rows/row_format.hpp>

namespace holdfast::olap {

// Adds up what the sum over all rows could be at most.
class SumBound {
 public:
  explicit SumBound(Sum sum) : sum_(sum) {}

  // `rows` rows, up to kMaxBlockRows, with measures of at most these. Errors: kUnsupported.
  Status add(const MeasureBounds& most, std::uint64_t rows) {
    // A product is below 2^39, so that a block's sum is below 2^56.
    const auto of_row = sum_ == Sum::kPriceTimesDiscount
                            ? std::uint64_t{most.extended_price} * most.discount
                            : std::max(most.revenue, most.supply_cost);
    sum_most_ += of_row * rows;
    if (sum_most_ > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return Error{Errc::kUnsupported,
                   "the sum might not fit 64 bits: the largest values of the columns times the "
                   "number of rows exceed 2^63 - 1"};
    return {};
  }

 private:
  Sum sum_;
  std::uint64_t sum_most_ = 0;
};

}  // namespace holdfast::olap
