// again.hpp: two measurements of the same (--aa): how far they are apart, and what of that is
// explained by what was recorded beside them.
//
// A tool that differs from itself must say why, or nobody can know which difference between two
// machines is real. So everything that is known to move a rate and was recorded is looked at, on
// both sides; where none of it differs the row says that, too.
#pragma once

#include <string>

#include <holdfast/results/result.hpp>

namespace holdfast::results {

inline constexpr double kAgainLimit = 0.03;

// Why `again` may differ from `first`, both rows of `bench run`: the reasons that hold, separated
// by "; ", never empty.
std::string why_apart(const Row& first, const Row& again);

// Where time_x_holdfast_median of `again` is further than kAgainLimit from 1, warns there with
// why_apart(). Returns whether it is within.
bool judge_again(Row& again, const Row& first);

}  // namespace holdfast::results
