// compare.hpp: what changed between two results, and whether that can be chance.
//
// Rows of the same measurement (result.hpp) are paired. For each, the ratio of their values, with
// the interval and the significance of statistics.hpp's unpaired_ratio(): the two results are of
// two times, so nothing pairs their repetitions. A row is `worse` or `better` only if chance is
// ruled out at 5 % and the change is larger than the threshold; it is `same` only if the whole
// interval lies within the threshold. What is neither is `unsure`: more repetitions would tell.
//
// Threads: pure functions. Errors: kInvalidOption.
#pragma once

#include <string>
#include <vector>

#include <holdfast/results/result.hpp>
#include <holdfast/results/statistics.hpp>

namespace holdfast::results {

struct CompareOptions {
  double threshold = 0.05;  // 0 to 1: a change of less is no finding, however sure.
  // The field that is compared. Empty: bytes per second where both rows have it, else operations
  // per second. Of a field that ends in _ns, _s or _bytes, less is better.
  std::string field;
  unsigned columns = 0;  // Of table(): a wider one takes several lines for a row; 0: any width.
  Status validate() const;
};

enum class Verdict : std::uint8_t {
  kSame,    // No change beyond the threshold, at 95 %.
  kBetter,  // A change beyond the threshold, and not by chance.
  kWorse,
  kUnsure,   // The interval allows both.
  kInvalid,  // One of the two rows must not be believed.
};
std::string_view name(Verdict verdict);

struct ComparedRow {
  std::string identity;
  std::string field;  // What was compared: "bytes_per_s", "p99_ns".
  Row before, after;
  RatioEstimate ratio;  // after / before.
  bool more_is_better = true;
  Verdict verdict = Verdict::kSame;
  // Of kInvalid and kUnsure; and what the rows warn of, where they are not the same.
  std::string why;
};

struct Comparison {
  std::vector<ComparedRow> rows;
  std::vector<std::string> parameters;               // Of `before`.
  std::vector<std::string> only_before, only_after;  // Identities without a partner.
  // "kernel: Linux 6.1 -> Linux 6.18": what else changed that a speed may come from.
  std::vector<std::string> environment_changes;
  std::size_t count(Verdict verdict) const;
};

// The two measurements of a result in which everything was measured twice (`bench run --aa`), as
// two results. Errors: kInvalidOption where nothing was measured twice.
struct Twice {
  Document first, second;
};
Result<Twice> split_again(const Document& document);

Comparison compare(const Document& before, const Document& after, const CompareOptions& options);

// For people: a line per row, then what stands alone, then the environment.
std::string table(const Comparison& comparison, const CompareOptions& options);
// For programs.
std::string to_json(const Comparison& comparison, const CompareOptions& options);

}  // namespace holdfast::results
