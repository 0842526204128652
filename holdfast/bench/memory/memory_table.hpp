// memory_table.hpp: the rows of `bench run` for people: one block per benchmark, a column for each
// parameter that varies in it, bandwidth or rate, interval, latency.
#pragma once

#include <string>

#include <holdfast/bench/result.hpp>

namespace holdfast::bench::memory {

// Bandwidth is in GiB/s (2^30 bytes), as in the paper. Ends with the reasons of rows that are
// INVALID and with the warnings, those that many rows share once.
std::string memory_table(const Document& document);

}  // namespace holdfast::bench::memory
