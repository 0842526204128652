// row_query.hpp: a query in terms of rows: which joins it needs, what a joined row must fulfil.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/query.hpp>
#include <holdfast/olap/rows/stored_rows.hpp>

namespace holdfast::olap {

// A condition, applied to rows of a dimension.
class TupleFilter {
 public:
  explicit TupleFilter(const AttributeFilter& condition);
  bool allows(const DimensionTuple& tuple) const;

 private:
  std::size_t attribute_;
  bool numeric_, any_of_;
  std::int64_t from_ = 0, to_ = 0;            // Of numbers.
  std::string from_text_, to_text_;           // Of texts.
  std::vector<std::uint32_t> numbers_;        // Either of these:
  std::vector<DimensionTuple::Place> texts_;  // any one of them.
};

struct Join {
  Dimension dimension;
  std::span<const DimensionTuple> tuples;
  std::vector<TupleFilter> filters;  // All of them.
  double passing;                    // Estimated share of rows.

  bool allows(const DimensionTuple& tuple) const {
    for (const auto& filter : filters) {
      if (!filter.allows(tuple)) return false;
    }
    return true;
  }
};

struct RowQuery {
  std::vector<Join> joins;  // Those that let least pass come first. At most one per dimension.
  std::vector<MeasureRange> ranges;
  struct Group {
    std::uint8_t join;  // Of `joins`.
    std::uint8_t attribute;
  };
  std::vector<Group> groups;
  Sum sum = Sum::kRevenues;
};

// The share that passes is counted over some hundred rows of each dimension. Errors: kUnsupported
// (a sum that 64 bits might not hold), kCorrupt (a damaged dimension).
Result<RowQuery> bind(const StarQuery& query, const StoredRows& rows);

}  // namespace holdfast::olap
