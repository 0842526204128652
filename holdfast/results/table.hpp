// table.hpp: a result document for people.
#pragma once

#include <string>

#include <holdfast/results/result.hpp>

namespace holdfast::results {

struct TableOptions {
  // A column with the time as a ratio to this subject; empty: none. Rows that name a `baseline` of
  // their own have the ratio to that one in it.
  std::string baseline = "floor";
  std::string subject;  // And one to this; empty: none.
  // Width to stay within, where that is possible: columns are left out, the least wanted first, and
  // named below the table. 0: all of them.
  unsigned columns = 0;
};

// One line per row: rate, time per operation and thread, latencies and fences where they were
// measured, ratios with their intervals; then the rows that are invalid, with reasons.
// Ratios are of paired repetitions (statistics.hpp); "1.31 [1.28, 1.35]" is median [low, high].
std::string table(const Document& document, const TableOptions& options);

// "312 ns", "1.25 us", "30.1 ms", "2.40 s"; "1.25 M"; "256 KiB" are what the table prints numbers
// as.
std::string human_time(double nanoseconds);
std::string human_count(double count);

}  // namespace holdfast::results
