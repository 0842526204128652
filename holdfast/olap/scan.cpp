#include <holdfast/olap/scan.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include <holdfast/base/mutant.hpp>
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
class Worker {
 public:
  Worker(const StarVersion& star, const BoundQuery& query, const Kernels& kernels)
      : block_(star, query), kernels_(kernels), cells_(query.group_count) {}

  Status add_block(std::size_t number) {
    HF_ASSIGN_OR_RETURN(const bool open, block_.open(number));
    if (!open) return {};
    const auto add = add_rows_of(block_.query().sum, block_.digits().size());
    const auto rows = block_.info().rows;
    for (std::uint32_t first = 0; first < rows; first += kChunkRows)
      add(block_, passing(first, std::min(kChunkRows, rows - first)), cells_.data());
    return {};
  }
  const std::vector<Cell>& cells() const { return cells_; }

 private:
  Rows passing(std::uint32_t first, std::uint32_t count) {
    const auto groups = (count + kGroupRows - 1) / kGroupRows;
    set_all(count, masks_.data());
    for (const auto& filter : block_.filters())
      kernels_.narrow({filter.bytes + first, filter.ranges}, groups, masks_.data());
    auto found = kernels_.expand(masks_.data(), groups, first, rows_.data());
    if (!block_.query().pairs.empty()) {
      const auto end = std::remove_if(rows_.begin(), rows_.begin() + found, [&](std::uint32_t row) {
        return !HF_MUTANT("O06", block_.pairs_allow(row), true);
      });
      found = static_cast<std::uint32_t>(end - rows_.begin());
    }
    return {rows_.data(), found};
  }

  OpenBlock block_;
  const Kernels& kernels_;
  std::vector<Cell> cells_;
  alignas(64) std::array<std::uint64_t, kChunkGroups> masks_;
  alignas(64) std::array<std::uint32_t, kChunkRows + 16> rows_;
};

}  // namespace

Result<ScanResult> scan(const StarVersion& star, const BoundQuery& query, Team& team,
                        const Kernels& kernels) {
  ScanResult result;
  if (query.nothing) return result;
  std::vector<Extent> places;
  for (const auto& block : star.catalogue().blocks)
    places.push_back({block.offset, block.bytes});
  auto morsels = Morsels::of(star.region(), places, team);
  // All memory is taken here: a thread that finds none could not say so.
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < team.size(); ++i)
    workers.push_back(std::make_unique<Worker>(star, query, kernels));
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
