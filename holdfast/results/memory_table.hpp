// memory_table.hpp: the rows of `bench run` for people: one block per benchmark, a column for each
// parameter that varies in it, bandwidth or rate, interval, latency.
#pragma once

#include <functional>
#include <string>

#include <holdfast/results/result.hpp>

namespace holdfast::results {

// Bandwidth is in GiB/s (2^30 bytes), as in the paper. Ends with the reasons of rows that are
// INVALID and with the warnings, those that many rows share once. `heading_of`: what stands above
// the column of a parameter.
std::string memory_table(const Document& document,
                         const std::function<std::string(const std::string&)>& heading_of);

}  // namespace holdfast::results
