// scan_worker.hpp: one thread's part of a scan, and how the parts become one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <holdfast/olap/mart/groups.hpp>
#include <holdfast/olap/mart/prepared_plan.hpp>
#include <holdfast/olap/mart/star_scan.hpp>

namespace holdfast::olap::mart {

class ScanWorker {
 public:
  ScanWorker(const StarPlan& plan, const PreparedPlan& prepared, const IndexKernels& kernels);

  // `most`: rows that are wanted of it, of a plan without groups.
  Status add_block(std::size_t number, std::uint64_t most);
  // Rows that passed, of a plan without groups.
  std::uint64_t collected() const { return counts_.passed; }
  const ScanCounts& counts() const { return counts_; }

  // What it has gathered, of a grouped plan.
  std::unique_ptr<Groups> take_groups() { return std::move(groups_); }
  // Of a plan without groups: takes over what another has gathered.
  void merge(ScanWorker& other);
  // The outputs of all rows, in the order of storage.
  std::vector<sql::Row> take_rows();

 private:
  static constexpr std::uint32_t kChunkRows = 4096;

  // False: no row of the block can pass.
  Result<bool> open_filters(std::size_t number);
  Result<std::span<const std::uint32_t>> passing(const Input& input, std::uint32_t first,
                                                 std::uint32_t count);
  Status collect(const Input& input, std::size_t block, std::span<const std::uint32_t> rows);
  // With their place among all rows of the table.
  using Placed = std::pair<std::uint64_t, sql::Row>;
  bool comes_before(const Placed& a, const Placed& b) const;
  // For a plan with an order and a limit: drops rows that so many others come before.
  void drop_behind_limit();

  const StarPlan& plan_;
  const PreparedPlan& prepared_;
  const IndexKernels& kernels_;
  std::unique_ptr<Groups> groups_;  // Of a grouped plan.
  std::vector<std::pair<const SlotFilter*, IndexView>> open_;
  std::vector<std::uint32_t> rows_buffer_;
  std::vector<Vector> outputs_;  // Of the rows at hand.
  std::vector<Placed> rows_;
  std::uint64_t rows_kept_;  // That an answer with an order can have; all where it has no limit.
  std::optional<Placed> bound_;  // So many rows are not behind this one.
  ScanCounts counts_;
};

}  // namespace holdfast::olap::mart
