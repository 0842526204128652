// join_form.hpp: which join over streams a condition means: by windows, by near times, or of all
// rows; and which rows of a ranking a condition keeps.
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/sql/plan.hpp>

namespace holdfast::sql {

// Sets the form of a join of these inputs, and moves what the form means out of its keys and its
// condition. `columns` of its output lose the roles that its rows do not keep.
void decide_form(Join& join, const Node& left, const Node& right, std::vector<Column>& columns);

// True: `condition` says no more than which values column `number` has, from 1 on; they are taken
// into [first, last].
bool take_bound(const Expression& condition, std::uint32_t number, std::uint64_t& first,
                std::uint64_t& last);

}  // namespace holdfast::sql
