// star_scan.hpp: the rows of a plan's table that pass, by a team of threads: as groups, or as rows.
//
// A block is a morsel. Conditions on one index column are tables of answers (index_kernels.hpp):
// the bounds of a block say which of them are open, and whether any row can pass; of the open ones
// that which lets least pass comes first. What is left to say is said of the rows that are left.
//
// Groups  Each worker has its own (groups.hpp). Many in hash tables become one by all threads: each
//         takes those of a part of the hashes.
// Errors  kCorrupt (a damaged block), kInvalidOption (an expression has no answer).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/star_plan.hpp>
#include <holdfast/olap/mart/vector.hpp>
#include <holdfast/olap/team.hpp>

namespace holdfast::olap::mart {

// So many groups may always lie in an array; more, where a worker will meet as many rows.
inline constexpr std::uint32_t kMaxDense = 1u << 17;
// From so many on, of all workers, they become one in parts.
inline constexpr std::uint64_t kManyGroups = 1u << 14;

struct ScanCounts {
  std::uint64_t rows = 0;              // Of the table.
  std::uint64_t passed = 0;            // Rows.
  std::uint64_t blocks = 0, read = 0;  // Of them, those in which a row could pass.

  void add(const ScanCounts& more) {
    rows += more.rows, passed += more.passed;
    blocks += more.blocks, read += more.read;
  }
};

class Groups;
struct PreparedPlan;

// The groups of a scan that have a row. The plan and the version must outlive them.
class FoundGroups {
 public:
  FoundGroups() = default;
  // Parts that have no group in common. Errors: an aggregate of one does not fit its type.
  static Result<FoundGroups> of(std::shared_ptr<const PreparedPlan> prepared,
                                std::vector<std::unique_ptr<Groups>> parts);

  std::size_t count() const { return first_.empty() ? 0 : first_.back(); }
  // Column `number` of [keys, aggregates] of these groups, whose form is that of `to`.
  Status column(std::size_t number, std::span<const std::uint32_t> groups, Vector& to) const;

 private:
  std::shared_ptr<const PreparedPlan> prepared_;  // Texts lie here, and in the parts.
  std::vector<std::shared_ptr<const Groups>> parts_;
  std::vector<std::vector<std::uint32_t>> met_;  // The numbers that they have in their part.
  std::vector<std::size_t> first_;               // Of each part, and behind the last one.
};

struct Scanned {
  FoundGroups groups;          // Of a grouped plan.
  std::vector<sql::Row> rows;  // Else: items, then order keys.
  ScanCounts counts;
};

// Without groups, rows come in the order in which they are stored. Of a plan with a limit some are
// left out that its answer has not: where it has no order, not all of them are looked at.
Result<Scanned> scan(const MartVersion& version, const StarPlan& plan, Team& team,
                     VectorWidth width);

}  // namespace holdfast::olap::mart
