// convert.hpp: results for other programs, and those of the published tool.
//
// CSV: one line per row, one column per field that any row has, in order of appearance; RFC 4180
// quoting, "\n" line ends, lists joined by ';'. Histograms are left out: they have a form in JSON.
//
// The JSON of PerMA-Bench (an array of benchmarks with config and results, github.com/hpides/
// perma-bench; also its older keys and the parallel pairs of its successor): docs/results.md has
// the table of names. What that format cannot say (repetitions, INVALID, units, environment) is
// lost on the way out and missing on the way in, and said in `warnings`.
//
// Threads: pure functions. Errors: kCorrupt and kNotHoldfast name the place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <holdfast/bench/result.hpp>

namespace holdfast::bench {

std::string to_csv(const Document& document);
// The cells of RFC 4180 text, line by line; a quote that does not end takes the rest.
std::vector<std::vector<std::string>> parse_csv(std::string_view text);

inline constexpr std::string_view kPermaBenchSubject = "perma-bench";

// Whether `text` begins as that format does; tells it from a result document.
bool looks_like_perma_bench(std::string_view text);
Result<Document> from_perma_bench(std::string_view text);

struct PermaBenchJson {
  std::string text;
  std::vector<std::string> warnings;  // What could not be said, one line each.
};
// Rows of `subject` only; empty: "holdfast" where there are such rows, else all.
PermaBenchJson to_perma_bench(const Document& document, const std::string& subject);

}  // namespace holdfast::bench
