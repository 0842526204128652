// star_plan.hpp: a SELECT over a star: one table that is read, and dimensions that its keys lead
// to.
//
// Names are looked up, types found and expressions bound by holdfast/sql. Whole numbers of any type
// are BIGINT in a query, so that sums and products have room.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/schema.hpp>
#include <holdfast/olap/mart/star_columns.hpp>
#include <holdfast/sql/aggregate.hpp>
#include <holdfast/sql/expression.hpp>

namespace holdfast::olap::mart {

struct StarPlan {
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  struct Key {  // Of ORDER BY.
    sql::ExpressionPointer value;
    bool descending = false, nulls_first = true;
  };

  std::uint32_t table = 0;                      // That is read.
  std::vector<std::uint32_t> inner;             // Its key columns, of which NULL drops the row.
  std::vector<ColumnSource> sources;            // Of the query's columns.
  std::vector<sql::ExpressionPointer> filters;  // All of them. Of the query's columns.
  // One row per group, [keys, aggregates]; else one per row that passes, of the query's columns.
  bool grouped = false;
  std::vector<sql::ExpressionPointer> keys;
  std::vector<sql::Aggregate> aggregates;
  // Of such rows:
  sql::ExpressionPointer having;  // Null: none.
  std::vector<sql::ExpressionPointer> items;
  std::vector<std::string> names;  // Of the items.
  std::vector<Key> order;
  std::uint64_t limit = kAll, offset = 0;

  // Rows up to the last one that the limit lets through.
  std::uint64_t first_rows() const {
    return limit > kAll - offset ? kAll : limit + HF_MUTANT("O44", offset, 0);
  }
};

// Errors: kInvalidOption, kUnsupported: with line, column and a hint.
Result<StarPlan> plan_star(std::string_view text, const Schema& schema);

}  // namespace holdfast::olap::mart
