// rows.hpp: what the repetitions of one part of a run come to: a row of the result document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <holdfast/bench/memory/execution.hpp>
#include <holdfast/bench/memory/machine.hpp>
#include <holdfast/bench/memory/plan.hpp>
#include <holdfast/results/result.hpp>

namespace holdfast::bench::memory {

// The repetitions of one subject and part; empty where one did not count.
using Series = std::vector<std::optional<LoadResult>>;

// The names of all parameters that rows may have.
std::vector<std::string> parameter_names();
// What was measured, under the names of docs/results.md.
results::Fields parameters_of(const PlannedRun& run, std::size_t part);

struct RowContext {
  const PlannedRun& run;
  std::size_t part = 0;
  const Machine& machine;
  const MachineLimits& limits;
};
// `wrong`: why it must not be believed, or empty. Nothing where no repetition counted and nothing
// was wrong (interrupted).
std::optional<results::Row> row_of(const RowContext& context, const std::string& subject,
                                   const Series& series, const std::string& wrong);
// time_x_<name>_median, _low, _high: of `row`, whose repetitions are `series`, over the baseline's.
void compare(results::Row& row, const Series& series, const Series& baseline,
             const std::string& name);
// both_bytes_per_s_median, _low, _high: of the two parts of a pair together.
void add_both(results::Row& row, const Series& series, const Series& other);

}  // namespace holdfast::bench::memory
