// star_answer.hpp: a SELECT from its text to rows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/mart_store.hpp>
#include <holdfast/olap/mart/star_scan.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::olap::mart {

struct StarAnswer {
  std::vector<std::string> names;
  std::vector<sql::Type> types;
  std::vector<sql::Row> rows;
  ScanCounts counts;
  std::uint64_t table_rows = 0;  // Of the table that is read.
};

// Rows that ORDER BY leaves equal are in the order in which they are stored; groups, in that of the
// values of their keys as they were first met. Threads: one query at a time per team. Errors: of
// plan_star() and scan().
Result<StarAnswer> answer(std::string_view text, const MartVersion& version, Team& team,
                          VectorWidth width);
Result<StarAnswer> answer(const StarPlan& plan, const MartVersion& version, Team& team,
                          VectorWidth width);

}  // namespace holdfast::olap::mart
