// dimension_copy.hpp: the dimensions of a star of rows as some workers read them: their rows, and a
// Dash index of each, from a key to its row.
//
// As in the published benchmark (Daase, Bollmeier, Benson and Rabl, "Maximizing Persistent Memory
// Bandwidth Utilization for OLAP Workloads", SIGMOD 2021, section 6.2), an index holds the whole
// dimension: a join asks it first and looks at the conditions on the row afterwards. On a machine
// with several sockets facts are striped over them and dimensions are replicated, so that a join
// never leaves its socket. The copies are built anew for each opening of a star, each in a region
// of its own, which may be DRAM or any other medium that Dash takes (dash.hpp).
//
// Threads  find(), tuples(), of() from any.
// Errors   of Dash; kCorrupt (a damaged dimension); kIo.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/index/dash/dash.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/rows/stored_rows.hpp>

namespace holdfast::olap {

class DimensionCopy {
 public:
  // Where the rows of the dimensions are read.
  enum class Tuples : std::uint8_t {
    kInPlace,  // Where the star has them.
    kCopied,   // Behind the indexes.
  };

  // How large the region must be.
  static std::uint64_t bytes_needed(const StoredRows& rows, Tuples where = Tuples::kInPlace);
  // `region` holds no index yet, and must outlive the result. Also kNoSpace.
  static Result<DimensionCopy> build(const StoredRows& rows, Region& region,
                                     Tuples where = Tuples::kInPlace);

  // positions[i]: which row of the dimension has keys[i]; nothing where none has.
  Status find(Dimension dimension, std::span<const std::uint64_t> keys,
              std::span<std::optional<std::uint64_t>> positions) const {
    return indexes_[static_cast<std::size_t>(dimension)]->find_many(keys, positions);
  }
  std::span<const DimensionTuple> tuples(Dimension dimension) const {
    return tuples_[static_cast<std::size_t>(dimension)];
  }

 private:
  std::array<std::unique_ptr<index::Dash>, kDimensions> indexes_;
  std::array<std::span<const DimensionTuple>, kDimensions> tuples_;
};

// The copies of a star, by the NUMA node whose workers read them.
class DimensionCopies {
 public:
  DimensionCopies() = default;
  // One for all nodes.
  explicit DimensionCopies(DimensionCopy copy) { add(0, std::move(copy)); }

  void add(int node, DimensionCopy copy) { copies_.emplace_back(node, std::move(copy)); }
  // The node's copy; the first one for a node without a copy. At least one was added.
  const DimensionCopy& of(int node) const {
    for (const auto& [at, copy] : copies_) {
      if (at == node) return copy;
    }
    return copies_.front().second;
  }
  std::size_t size() const { return copies_.size(); }

 private:
  std::vector<std::pair<int, DimensionCopy>> copies_;
};

}  // namespace holdfast::olap
