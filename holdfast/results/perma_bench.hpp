// perma_bench.hpp: results of the published tool as results of ours, and back.
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

#include <holdfast/results/result.hpp>

namespace holdfast::results {

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

}  // namespace holdfast::results
