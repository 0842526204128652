#include <holdfast/olap/touched.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include <holdfast/olap/open_block.hpp>
#include <holdfast/olap/scan.hpp>

namespace holdfast::olap {
namespace {

// Ascending bytes of one column: how many lines they are.
class LineCount {
 public:
  void add(std::uint64_t first_byte, std::uint64_t last_byte) {
    const auto first = std::max(next_, first_byte / kCacheLineBytes);
    const auto end = last_byte / kCacheLineBytes + 1;
    if (end > first) lines_ += end - first;
    next_ = std::max(next_, end);
  }
  std::uint64_t lines() const { return lines_; }

 private:
  std::uint64_t next_ = 0, lines_ = 0;
};

// The columns of a query in the order in which they are read, and the lines of each.
class LineCounts {
 public:
  explicit LineCounts(const OpenBlock& block) : block_(block) {}

  void add(Column column, std::uint32_t row) {
    const std::uint64_t width = block_.info().columns[column].width;
    if (width == 0) return;
    counts_[column].add(row * width / 8, (row * width + width - 1) / 8);
  }
  std::uint64_t lines() const {
    std::uint64_t lines = 0;
    for (const auto& count : counts_)
      lines += count.lines();
    return lines;
  }

 private:
  const OpenBlock& block_;
  std::array<LineCount, kColumns> counts_;
};

void count_group(const OpenBlock& block, std::uint32_t first, std::uint32_t rows,
                 LineCounts& counts) {
  const auto& query = block.query();
  std::uint64_t mask = 0;
  set_all(rows, &mask);
  for (const auto& predicate : query.bytes) {
    const std::byte* bytes = block.bytes(predicate.column);
    for (const auto& filter : block.filters()) {
      if (filter.bytes != bytes || mask == 0) continue;
      counts.add(predicate.column, first);
      kernels(VectorWidth::kPortable).narrow({bytes + first, filter.ranges}, 1, &mask);
    }
  }
  for (; mask != 0; mask &= mask - 1) {
    const auto row = first + static_cast<std::uint32_t>(std::countr_zero(mask));
    for (const auto& pairs : query.pairs)
      counts.add(pairs.outer, row), counts.add(pairs.inner, row);
    if (!block.pairs_allow(row)) continue;
    for (const auto& digit : query.digits)
      counts.add(digit.column, row);
    counts.add(query.sum == Sum::kPriceTimesDiscount ? kExtendedPrice : kRevenue, row);
    if (query.sum == Sum::kPriceTimesDiscount) counts.add(kDiscount, row);
    if (query.sum == Sum::kProfit) counts.add(kSupplyCost, row);
  }
}

// What scan() reads of a block, as one worker.
class ReadCount {
 public:
  explicit ReadCount(const OpenBlock& block) : block_(block), late_(block.late_columns().size()) {}

  // Both return how many groups have a row that passes.
  std::uint32_t add_by_chunk(std::uint32_t rows) {
    std::uint32_t candidates = 0;
    for (std::uint32_t first = 0; first < rows; first += kChunkRows)
      candidates += add_chunk(first, std::min(kChunkRows, rows - first));
    return candidates;
  }
  std::uint32_t add_by_filter(std::uint32_t rows) {
    const auto groups = (rows + kGroupRows - 1) / kGroupRows;
    set_all(rows, masks_.data());
    auto candidates = groups;
    for (const auto& filter : block_.filters()) {
      lines_ += is_sparse(candidates, groups) ? candidates : groups;
      candidates = kernels(VectorWidth::kPortable).narrow(filter, groups, masks_.data());
    }
    add_rows(0, groups);
    return candidates;
  }
  std::uint64_t lines() const {
    auto lines = lines_;
    for (const auto& column : late_)
      lines += column.lines();
    return lines;
  }

 private:
  std::uint32_t add_chunk(std::uint32_t first, std::uint32_t rows) {
    const auto groups = (rows + kGroupRows - 1) / kGroupRows;
    set_all(rows, masks_.data());
    auto candidates = groups;
    for (const auto& filter : block_.filters()) {
      lines_ += groups;
      candidates = kernels(VectorWidth::kPortable)
                       .narrow({filter.bytes + first, filter.ranges}, groups, masks_.data());
      if (candidates == 0) return 0;
    }
    if (reads_all_lines(candidates, groups))
      add_late(first, first + rows - 1);
    else
      add_rows(first, groups);
    return candidates;
  }
  // The late columns of the masks' rows.
  void add_rows(std::uint32_t first, std::uint32_t groups) {
    for (std::uint32_t group = 0; group < groups; ++group) {
      for (auto mask = masks_[group]; mask != 0; mask &= mask - 1) {
        const auto row =
            first + group * kGroupRows + static_cast<std::uint32_t>(std::countr_zero(mask));
        add_late(row, row);
      }
    }
  }
  void add_late(std::uint64_t first, std::uint64_t last) {
    for (std::size_t i = 0; i < late_.size(); ++i) {
      const std::uint64_t width = block_.late_columns()[i].width;
      late_[i].add(first * width / 8, (last * width + width - 1) / 8);
    }
  }

  const OpenBlock& block_;
  std::vector<LineCount> late_;
  std::array<std::uint64_t, kMaxBlockGroups> masks_{};
  std::uint64_t lines_ = 0;
};

}  // namespace

Result<Touched> touched(const StarVersion& star, const BoundQuery& query) {
  Touched touched;
  if (query.nothing) return touched;
  OpenBlock block(star, query);
  bool sparse = expected_sparse(query);
  for (std::size_t number = 0; number < star.catalogue().blocks.size(); ++number) {
    HF_ASSIGN_OR_RETURN(const bool open, block.open(number));
    if (!open) continue;
    LineCounts counts(block);
    const auto rows = block.info().rows;
    for (std::uint32_t first = 0; first < rows; first += kGroupRows)
      count_group(block, first, std::min(kGroupRows, rows - first), counts);
    ReadCount read(block);
    const auto candidates = sparse ? read.add_by_filter(rows) : read.add_by_chunk(rows);
    sparse = is_sparse(candidates, (rows + kGroupRows - 1) / kGroupRows);
    ++touched.blocks;
    touched.lines += counts.lines();
    touched.lines_read += read.lines();
  }
  return touched;
}

}  // namespace holdfast::olap
