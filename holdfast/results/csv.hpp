// csv.hpp: a result as a table for other programs, and such tables as cells.
//
// One line per row, one column per field that any row has, in order of appearance; RFC 4180
// quoting, "\n" line ends, lists joined by ';'. Histograms are left out: they have a form in JSON.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <holdfast/results/result.hpp>

namespace holdfast::results {

std::string to_csv(const Document& document);
// The cells of RFC 4180 text, line by line; a quote that does not end takes the rest.
std::vector<std::vector<std::string>> parse_csv(std::string_view text);

}  // namespace holdfast::results
