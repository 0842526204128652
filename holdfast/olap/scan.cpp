#include <holdfast/olap/scan.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/olap/morsels.hpp>
#include <holdfast/olap/open_block.hpp>

namespace holdfast::olap {
namespace {

using Rows = std::span<const std::uint32_t>;

template <Sum kSum>
std::int64_t value_of(const PackedView& first, const PackedView& second, const OpenBlock& block,
                      std::uint32_t row) {
  if constexpr (kSum == Sum::kPriceTimesDiscount)
    return static_cast<std::int64_t>(std::uint64_t{first[row]} * block.discount(row));
  if constexpr (kSum == Sum::kProfit) return std::int64_t{first[row]} - second[row];
  return first[row];
}

// The rows' values to their groups; the digits are a constant, so that their loop is unrolled.
template <Sum kSum, unsigned kDigits>
void add_rows(const OpenBlock& block, Rows rows, Cell* cells) {
  const PackedView first = block.measure(0), second = block.measure(1);
  std::array<OpenDigit, kDigits> digits;
  std::copy_n(block.digits().begin(), kDigits, digits.begin());
  const auto base = block.first_group();
  if constexpr (kDigits == 0) {
    std::int64_t sum = 0;
    for (const auto row : rows)
      sum += value_of<kSum>(first, second, block, row);
    cells[base].sum += sum;
    cells[base].rows += rows.size();
  } else {
    for (const auto row : rows) {
      auto group = base;
      for (const auto& digit : digits)
        group += digit.add[static_cast<std::uint8_t>(digit.bytes[row])];
      cells[group].sum += value_of<kSum>(first, second, block, row);
      ++cells[group].rows;
    }
  }
}

using AddRows = void (*)(const OpenBlock&, Rows, Cell*);

template <Sum kSum>
AddRows add_rows_of(std::size_t digits) {
  constexpr AddRows kBy[] = {add_rows<kSum, 0>, add_rows<kSum, 1>, add_rows<kSum, 2>,
                             add_rows<kSum, 3>, add_rows<kSum, 4>, add_rows<kSum, 5>,
                             add_rows<kSum, 6>, add_rows<kSum, 7>, add_rows<kSum, 8>};
  HF_CHECK(digits < std::size(kBy));
  return kBy[digits];
}
AddRows add_rows_of(Sum sum, std::size_t digits) {
  switch (sum) {
    case Sum::kPriceTimesDiscount: return add_rows_of<Sum::kPriceTimesDiscount>(digits);
    case Sum::kProfit: return add_rows_of<Sum::kProfit>(digits);
    default: return add_rows_of<Sum::kRevenues>(digits);
  }
}

// One thread's part of a scan.
class BlockWorker {
 public:
  BlockWorker(const StarVersion& star, const BoundQuery& query, const Kernels& kernels)
      : block_(star, query),
        kernels_(kernels),
        cells_(query.group_count),
        sparse_(expected_sparse(query)) {}

  Status add_block(std::size_t number) {
    HF_ASSIGN_OR_RETURN(const bool open, block_.open(number));
    if (!open) return {};
    const auto add = add_rows_of(block_.query().sum, block_.digits().size());
    const auto rows = block_.info().rows;
    const auto groups = (rows + kGroupRows - 1) / kGroupRows;
    const auto candidates = sparse_ ? add_by_filter(rows, groups, add) : add_by_chunk(rows, add);
    sparse_ = is_sparse(candidates, groups);  // The next one is like this one, mostly.
    return {};
  }
  const std::vector<Cell>& cells() const { return cells_; }

 private:
  // Rows whose lines are asked for one by one are summed later, so many at least at once: so their
  // lines come together.
  static constexpr std::uint32_t kRowsAtOnce = 128;

  // Both return how many groups have a row that passes all filters.
  std::uint32_t add_by_chunk(std::uint32_t rows, AddRows add) {
    std::uint32_t all = 0;
    for (std::uint32_t first = 0; first < rows; first += kChunkRows) {
      const auto count = std::min(kChunkRows, rows - first);
      const auto groups = (count + kGroupRows - 1) / kGroupRows;
      const auto candidates = narrow(first, count, groups);
      all += candidates;
      if (candidates == 0) continue;
      const bool many = reads_all_lines(candidates, groups);
      if (many) ask_for_all(first, count);
      if (found_ >= kRowsAtOnce) add_found(add);
      expand(masks_.data(), first, groups, !many);
      if (many) add_found(add);
    }
    add_found(add);
    return all;
  }
  std::uint32_t add_by_filter(std::uint32_t rows, std::uint32_t groups, AddRows add) {
    set_all(rows, masks_.data());
    auto candidates = groups;
    auto filter = block_.filters().begin();
    for (; filter != block_.filters().end() && !is_sparse(candidates, groups); ++filter)
      candidates = kernels_.narrow(*filter, groups, masks_.data());
    candidates = list_groups(masks_.data(), groups, list_.data());
    for (; filter != block_.filters().end() && candidates != 0; ++filter)
      candidates = kernels_.narrow_some(*filter, list_.data(), candidates, masks_.data());
    for (std::uint32_t i = 0; i < candidates; ++i) {
      if (found_ >= kRowsAtOnce) add_found(add);
      expand(&masks_[list_[i]], kGroupRows * list_[i], 1, true);
    }
    add_found(add);
    return candidates;
  }

  // The masks of the chunk's rows that pass all filters; how many groups have one.
  std::uint32_t narrow(std::uint32_t first, std::uint32_t count, std::uint32_t groups) {
    set_all(count, masks_.data());
    auto candidates = groups;
    for (const auto& filter : block_.filters()) {
      candidates = kernels_.narrow({filter.bytes + first, filter.ranges}, groups, masks_.data());
      if (candidates == 0) break;
    }
    return candidates;
  }

  // All lines of the columns behind the filters.
  void ask_for_all(std::uint32_t first, std::uint32_t count) const {
    for (const auto& column : block_.late_columns()) {
      const std::byte* at = column.bytes + std::uint64_t{first} * column.width / 8;
      const std::byte* const end = at + std::uint64_t{count} * column.width / 8;
      for (; at < end; at += kCacheLineBytes)
        prefetch_for_read(at);
    }
  }
  void ask_for(Rows rows) const {
    for (const auto& column : block_.late_columns()) {
      for (const auto row : rows)
        prefetch_for_read(column.bytes + std::uint64_t{row} * column.width / 8);
    }
  }

  // The masks' rows, behind those that were found before.
  void expand(const std::uint64_t* masks, std::uint32_t first, std::uint32_t groups, bool ask) {
    const Rows found{rows_.data() + found_,
                     kernels_.expand(masks, groups, first, rows_.data() + found_)};
    if (ask) ask_for(found);
    found_ += static_cast<std::uint32_t>(found.size());
  }

  void add_found(AddRows add) {
    auto* end = rows_.data() + std::exchange(found_, 0);
    if (!block_.query().pairs.empty()) {
      end = std::remove_if(rows_.data(), end, [&](std::uint32_t row) {
        return !HF_MUTANT("O06", block_.pairs_allow(row), true);
      });
    }
    add(block_, {rows_.data(), end}, cells_.data());
  }

  OpenBlock block_;
  const Kernels& kernels_;
  std::vector<Cell> cells_;
  alignas(64) std::array<std::uint64_t, kMaxBlockGroups> masks_;
  std::array<std::uint32_t, kMaxBlockGroups> list_;  // Of groups.
  alignas(64) std::array<std::uint32_t, kRowsAtOnce + kChunkRows + 16> rows_;
  std::uint32_t found_ = 0;
  bool sparse_;  // What the next block is expected to be.
};

}  // namespace

bool expected_sparse(const BoundQuery& query) {
  double passing = 1;
  for (const auto& predicate : query.bytes)
    passing *= predicate.passing;
  return passing * kGroupRows < 0.25;
}

Result<ScanResult> scan(const StarVersion& star, const BoundQuery& query, Team& team,
                        const Kernels& kernels) {
  ScanResult result;
  if (query.nothing) return result;
  std::vector<Extent> places;
  for (const auto& block : star.catalogue().blocks)
    places.push_back({block.offset, block.bytes});
  auto morsels = Morsels::of(star.region(), places, team);
  // All memory is taken here: a thread that finds none could not say so.
  std::vector<std::unique_ptr<BlockWorker>> workers;
  for (unsigned i = 0; i < team.size(); ++i)
    workers.push_back(std::make_unique<BlockWorker>(star, query, kernels));
  std::vector<Status> statuses(team.size());
  team.run([&](unsigned number) {
    while (const auto block = morsels.next(team.node_of(number))) {
      statuses[number] = workers[number]->add_block(*block);
      if (!statuses[number]) return;
    }
  });
  for (auto& status : statuses)
    HF_RETURN_IF_ERROR(std::move(status));
  result.cells.resize(query.group_count);
  for (const auto& worker : workers) {
    for (std::size_t i = 0; i < result.cells.size(); ++i) {
      result.cells[i].sum += worker->cells()[i].sum;
      result.cells[i].rows += worker->cells()[i].rows;
      result.rows += worker->cells()[i].rows;
    }
  }
  return result;
}

}  // namespace holdfast::olap
