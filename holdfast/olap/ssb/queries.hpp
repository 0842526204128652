// queries.hpp: the thirteen queries of the Star Schema Benchmark, by the SQL text of its paper.
//
// The paper contradicts itself in Q1.3 (quantity 26..35 in the SQL, 36..40 in the prose) and Q2.3
// (brand MFGR#2221 and MFGR#2339). The SQL counts; the prose has names of its own.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/query.hpp>

namespace holdfast::olap::ssb {

// "q1.1" to "q4.3".
std::span<const StarQuery> queries();
// The queries of a list of names with commas, or "all", which are those above. By name also
// "q1.3p" and "q2.3p": these two by the paper's prose. Errors: kInvalidOption, naming the unknown
// one.
Result<std::vector<const StarQuery*>> queries_of(std::string_view names);

}  // namespace holdfast::olap::ssb
