// open_block.hpp: a query against one block: which predicates are open, which columns are read.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/bound_query.hpp>
#include <holdfast/olap/kernels.hpp>
#include <holdfast/olap/star_version.hpp>

namespace holdfast::olap {

// Digit columns whose value differs within the block.
struct OpenDigit {
  const std::byte* bytes;
  const std::uint32_t* add;
};

// A column that is read for the rows that passed only.
struct LateColumn {
  const std::byte* bytes;
  std::uint32_t width;  // Bits per row.
};

// For one block after the other; open() allocates nothing.
class OpenBlock {
 public:
  OpenBlock(const StarVersion& star, const BoundQuery& query) : star_(star), query_(query) {
    filters_.reserve(query.bytes.size());
    digits_.reserve(query.digits.size());
    late_columns_.reserve(query.digits.size() + 2 * query.pairs.size() + 2);
  }

  // False: no row of the block can pass. Errors: kCorrupt.
  Result<bool> open(std::size_t number);

  const BlockInfo& info() const { return *info_; }
  // Those that the block's bounds leave open.
  std::span<const ByteFilter> filters() const { return filters_; }
  std::span<const LateColumn> late_columns() const { return late_columns_; }
  std::span<const OpenDigit> digits() const { return digits_; }
  std::uint32_t first_group() const { return first_group_; }  // What constant digits add up to.
  // Only with query().pairs: whether the row passes them.
  bool pairs_allow(std::uint32_t row) const;
  // The sum's columns: price and discount, revenue, or revenue and supply cost.
  const PackedView& measure(unsigned number) const { return measures_[number]; }
  std::uint32_t discount(std::uint32_t row) const {
    return discount_ == nullptr ? constant_discount_ : static_cast<std::uint32_t>(discount_[row]);
  }
  const BoundQuery& query() const { return query_; }
  // A column's bytes; null for a constant one. It must have been opened.
  const std::byte* bytes(Column column) const {
    const auto& of = info_->columns[column];
    return of.constant() ? nullptr : block_ + of.offset;
  }

 private:
  Status open_sum();
  Status use(Column column) const { return star_.use(number_, column); }
  Status use_late(Column column);

  const StarVersion& star_;
  const BoundQuery& query_;
  std::size_t number_ = 0;
  const BlockInfo* info_ = nullptr;
  const std::byte* block_ = nullptr;
  std::vector<ByteFilter> filters_;
  std::vector<LateColumn> late_columns_;
  std::vector<OpenDigit> digits_;
  std::uint32_t first_group_ = 0;
  std::array<PackedView, 2> measures_;
  const std::byte* discount_ = nullptr;
  std::uint32_t constant_discount_ = 0;
};

}  // namespace holdfast::olap
