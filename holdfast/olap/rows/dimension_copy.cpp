#include <holdfast/olap/rows/dimension_copy.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <holdfast/base/units.hpp>

namespace holdfast::olap {
namespace {

// A record takes up to 32 bytes where segments have just been split, and a segment 16 KiB; twice
// that, so that no order of splits can fill it.
std::uint64_t index_bytes(const RowRun& dimension) {
  return round_up(std::uint64_t{dimension.rows} * 64 + MiB, MiB);
}

constexpr std::size_t kInsertedAtOnce = 256;

}  // namespace

std::uint64_t DimensionCopy::bytes_needed(const StoredRows& rows, Tuples where) {
  std::uint64_t bytes = 0;
  for (const auto& run : rows.tables().dimensions)
    bytes += index_bytes(run) + (where == Tuples::kCopied ? run.bytes() : 0);
  return bytes;
}

Result<DimensionCopy> DimensionCopy::build(const StoredRows& rows, Region& region, Tuples where) {
  if (region.size_bytes() < bytes_needed(rows, where))
    return Error{Errc::kNoSpace, "the indexes of the dimensions need a region of " +
                                     std::to_string(bytes_needed(rows, where)) + " bytes; it has " +
                                     std::to_string(region.size_bytes())};
  DimensionCopy built;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto bytes = index_bytes(rows.tables().dimensions[i]);
    HF_ASSIGN_OR_RETURN(built.indexes_[i], index::Dash::create(region, {at, bytes}));
    at += bytes;
    HF_ASSIGN_OR_RETURN(const auto tuples, rows.tuples(static_cast<Dimension>(i)));
    std::vector<index::DashRecord> records;
    std::vector<Errc> outcomes;
    for (std::size_t row = 0; row < tuples.size(); ++row) {
      records.push_back({tuples[row].key, row});
      if (records.size() < kInsertedAtOnce && row + 1 < tuples.size()) continue;
      outcomes.resize(records.size());
      HF_RETURN_IF_ERROR(built.indexes_[i]->insert_many(records, outcomes));
      if (std::find(outcomes.begin(), outcomes.end(), Errc::kAlreadyExists) != outcomes.end())
        return Error{Errc::kCorrupt, "star: table " + std::string(kShapes[i].table) +
                                         " has a key twice; load the tables again"};
      records.clear();
    }
    built.tuples_[i] = tuples;
  }
  if (where == Tuples::kInPlace) return built;
  for (auto& tuples : built.tuples_) {
    const auto bytes = std::as_bytes(tuples);
    HF_RETURN_IF_ERROR(region.write(at, bytes));
    tuples = {reinterpret_cast<const DimensionTuple*>(region.data() + at), tuples.size()};
    at += bytes.size();
  }
  return built;
}

}  // namespace holdfast::olap
