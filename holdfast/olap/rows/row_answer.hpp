// row_answer.hpp: a query answered from a star of rows, by hash joins: the published design.
//
// A run of fact rows is a morsel; workers take the next one of their node (morsels.hpp), and join
// with their node's copy of the dimensions. 1024 rows at a time:
// conditions on the row itself, then one join after the other. A join asks Dash for the keys of the
// rows that are left, loads the rows of the dimension, and looks at the conditions on them. What is
// left is added to its group, by a hash table of each worker's own.
//
// Where it differs from the publication, in its favour: numbers are binary, look-ups are
// interleaved and rows of dimensions are prefetched, the join that lets least pass comes first, and
// groups are summed at once, where the published one collects all joined rows and sorts them.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/olap/answer.hpp>
#include <holdfast/olap/rows/dimension_copy.hpp>
#include <holdfast/olap/rows/row_query.hpp>
#include <holdfast/olap/team.hpp>

namespace holdfast::olap {

// `copies` are those of `rows`. Threads: one query at a time per team.
// Errors: of bind(); kCorrupt (a damaged run, an index that contradicts the rows); kNoSpace (out of
// memory for groups); kUnsupported (more than kMaxGroups of them).
Result<Answer> answer(const StarQuery& query, const StoredRows& rows, const DimensionCopies& copies,
                      Team& team);

// The bytes of the fact's lines that the query cannot do without, given how many rows pass.
std::uint64_t touched_bytes(const StarQuery& query, const StoredRows& rows, std::uint64_t passed);

}  // namespace holdfast::olap
