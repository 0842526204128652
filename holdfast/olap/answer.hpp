// answer.hpp: a query from its text-like form to rows of text.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/query.hpp>
#include <holdfast/olap/scan.hpp>
#include <holdfast/olap/star_store.hpp>

namespace holdfast::olap {

// Where the time of a query went. The scan is one pass: filters, joins and sums take turns in it.
struct OperatorSeconds {
  double bind = 0;   // Conditions on dimensions become ranges and tables.
  double scan = 0;   // All blocks, by all workers, and what these found as one.
  double order = 0;  // Groups get their labels, and rows their order.
};

struct Answer {
  ResultTable table;
  std::uint64_t rows = 0;  // Of the fact table, that passed.
  OperatorSeconds seconds{};
};

// The times between steps that follow one another.
class OperatorClock {
 public:
  double lap() {
    const auto before = std::exchange(at_, Clock::now());
    return std::chrono::duration<double>(at_ - before).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point at_ = Clock::now();
};

// Binds, scans, orders. Requires a loaded star of columns. Threads: one query at a time per team.
// Errors: of bind() and scan().
Result<Answer> answer(const StarQuery& query, const StarVersion& star, Team& team,
                      const Kernels& kernels);
// Answers from the version that the store has now, which stays until the query is done.
Result<Answer> answer(const StarQuery& query, const StarStore& store, Team& team,
                      const Kernels& kernels);

// Makes the table of a scan's cells. `groups` are those of the query, in its order; no cells: no
// row passed.
ResultTable to_table(const StarQuery& query, std::span<const GroupLabels> groups,
                     const std::vector<Cell>& cells);

}  // namespace holdfast::olap
