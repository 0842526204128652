// scan_worker.hpp: one thread's part of a scan, and how the parts become one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <holdfast/olap/mart/aggregate_state.hpp>
#include <holdfast/olap/mart/group_table.hpp>
#include <holdfast/olap/mart/load_parts.hpp>
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

  // Takes over what another has gathered.
  void merge(ScanWorker& other);
  // The rows of a grouped plan: [keys, aggregates]; else outputs, in the order of storage.
  Result<std::vector<sql::Row>> rows();

 private:
  static constexpr std::uint32_t kChunkRows = 4096;

  // False: no row of the block can pass.
  Result<bool> open_filters(std::size_t number);
  Result<std::span<const std::uint32_t>> passing(const Input& input, std::uint32_t first,
                                                 std::uint32_t count);
  Status number_groups(const Input& input, std::span<const std::uint32_t> rows);
  Status add_words(const Input& input, std::span<const std::uint32_t> rows);
  Status add_aggregates(const Input& input, std::span<const std::uint32_t> rows);
  Status collect(const Input& input, std::size_t block, std::span<const std::uint32_t> rows);
  // With their place among all rows of the table.
  using Placed = std::pair<std::uint64_t, sql::Row>;
  bool comes_before(const Placed& a, const Placed& b) const;
  // For a plan with an order and a limit: drops rows that so many others come before.
  void drop_behind_limit();
  void grow();
  std::size_t groups() const { return dense_ ? *dense_ : table_.size(); }
  sql::Row keys_of(std::size_t group) const;

  const StarPlan& plan_;
  const PreparedPlan& prepared_;
  const IndexKernels& kernels_;
  std::optional<std::uint32_t> dense_;
  std::vector<std::pair<const SlotFilter*, IndexView>> open_;
  std::vector<std::uint32_t> rows_buffer_, group_numbers_, indexes_;
  std::vector<std::int64_t> words_;
  std::size_t key_words_ = 0;
  GroupTable table_;
  std::vector<TextNumbers> texts_;     // By key; of texts that programs make.
  std::vector<std::int64_t> members_;  // Rows of each group.
  std::vector<AggregateState> states_;
  std::vector<Vector> outputs_;  // Of the rows at hand.
  std::vector<Placed> rows_;
  std::uint64_t rows_kept_;  // That an answer with an order can have; all where it has no limit.
  std::optional<Placed> bound_;  // So many rows are not behind this one.
  ScanCounts counts_;
};

}  // namespace holdfast::olap::mart
