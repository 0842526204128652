// published.hpp: what papers measured, beside which of our rows it is to be drawn.
//
// The claims are data/published/numbers.csv; data/published/matches.csv says for some of them which
// operation and field of a row they speak of, and what other fields must read. A claim without a
// match is not used: a wrong comparison is worse than none.
//
// Units: data/published/papers.csv says whether a GB of a paper is 2^30 bytes or 10^9.
// Threads: pure functions. Errors: kCorrupt, if the embedded files do not fit together (a test
// reads them all).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/results/result.hpp>

namespace holdfast::results::report {

struct Claim {
  std::string id;
  std::string operation;  // Of our rows.
  std::string field;      // "bytes_per_s", "ops_per_s", "p999_ns".
  std::vector<std::pair<std::string, std::string>> where;
  double value = 0, low = 0, high = 0;  // In the unit of `field`; low and high: NaN if not given.
  std::string how;                      // "about ", "at most ", "at least " or nothing.
  std::string text;                     // As published: "58 GB/s", "about 40 GB/s".
  std::string system, hardware_name, hardware, workload, note;
  std::string threads;  // As published, often empty.
  std::string place;  // "Benson: Efficient State Management with Persistent Memory, 2023, Fig 3.2a"
};

struct ClaimFiles {
  std::string_view numbers, hardware, papers, matches;
};

Result<std::vector<Claim>> parse_claims(const ClaimFiles& files);

// Those of the embedded ones that some row of the documents matches.
Result<std::vector<Claim>> claims_for(const std::vector<const Document*>& documents);

// The papers that the embedded claims are from: "Benson: Efficient State Management with …, 2023".
Result<std::vector<std::string>> citations();

}  // namespace holdfast::results::report
