#include <holdfast/olap/rows/stored_rows.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/rows/key_set.hpp>

namespace holdfast::olap {

StoredRows::StoredRows(const Region& region, RowTables tables)
    : region_(&region),
      tables_(std::move(tables)),
      checked_(std::make_unique<std::atomic<bool>[]>(tables_.facts.size() + kDimensions)) {}

std::vector<Extent> StoredRows::places() const {
  std::vector<Extent> places;
  for (const auto& run : tables_.facts)
    places.push_back({run.offset, run.bytes()});
  return places;
}

std::uint64_t StoredRows::rows() const {
  std::uint64_t rows = 0;
  for (const auto& run : tables_.facts)
    rows += run.rows;
  return rows;
}

std::string StoredRows::name(std::size_t number) const {
  if (number < runs()) return "run " + std::to_string(number) + " of lineorder";
  return "table " + std::string(kShapes[number - runs()].table);
}

Status StoredRows::check(std::size_t number) const {
  const RowRun& of = run(number);
  if (HF_MUTANT("O07",
                checksum64({region_->data() + of.offset, of.bytes()}, of.rows) != of.checksum,
                false))
    return Error{Errc::kCorrupt,
                 "star: " + name(number) + " (at " + std::to_string(of.offset) +
                     "): the checksum does not fit; load the tables again, or restore a copy"};
  checked_[number].store(true, std::memory_order_release);
  return {};
}

Result<std::span<const FactRow>> StoredRows::facts(std::size_t number) const {
  HF_RETURN_IF_ERROR(use(number));
  return view<FactRow>(tables_.facts[number]);
}

Result<std::span<const DimensionTuple>> StoredRows::tuples(Dimension dimension) const {
  const auto number = static_cast<std::size_t>(dimension);
  HF_RETURN_IF_ERROR(use(runs() + number));
  return view<DimensionTuple>(tables_.dimensions[number]);
}

std::vector<std::string> StoredRows::verify() const {
  std::vector<std::string> found;
  std::vector<bool> good(runs() + kDimensions);
  for (std::size_t number = 0; number < good.size(); ++number) {
    // check() and not use(): it may have been damaged since it was used.
    const auto status = check(number);
    good[number] = static_cast<bool>(status);
    if (!status) found.push_back(status.error().detail);
  }
  std::vector<KeySet> keys;
  for (const auto& run : tables_.dimensions) {
    std::vector<std::uint32_t> of_table;
    for (const auto& tuple : view<DimensionTuple>(run))
      of_table.push_back(tuple.key);
    keys.emplace_back(of_table);
  }
  for (std::size_t number = 0; number < runs(); ++number) {
    if (!good[number]) continue;
    std::array<std::uint64_t, kDimensions> without{};
    MeasureBounds most;
    for (const auto& row : view<FactRow>(tables_.facts[number])) {
      most.include(row);
      for (std::size_t i = 0; i < kDimensions; ++i)
        without[i] += !keys[i].contains(key_of(row, static_cast<Dimension>(i)));
    }
    if (most != tables_.facts[number].most)
      found.push_back("star: " + name(number) + ": its largest values are not those that its " +
                      "catalogue has, though its checksum fits");
    for (std::size_t i = 0; i < kDimensions; ++i) {
      // Of a damaged dimension nothing follows.
      if (without[i] == 0 || !good[runs() + i]) continue;
      found.push_back("star: " + name(number) + ": " + std::to_string(without[i]) +
                      " keys lead to no row of " + std::string(kShapes[i].table) +
                      ", though its checksum fits");
    }
  }
  return found;
}

}  // namespace holdfast::olap
