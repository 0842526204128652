// ssb_engine.hpp: the queries of a star, whichever its layout.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/answer.hpp>
#include <holdfast/olap/rows/dimension_copy.hpp>
#include <holdfast/olap/star_store.hpp>
#include <holdfast/olap/touched.hpp>

namespace holdfast::tools {

class SsbEngine {
 public:
  // Of a star of rows the indexes are built in a new region of `index_spec`, and standard error
  // says so. In DRAM each of `nodes`, those of the teams that will ask, gets indexes and rows of the
  // dimensions of its own. The store must be loaded and outlive the engine.
  static Result<SsbEngine> create(const olap::StarStore& store, VectorWidth width,
                                  const std::string& index_spec, std::span<const int> nodes);

  Result<olap::Answer> answer(const olap::StarQuery& query, olap::Team& team) const;
  // Of the fact table, given how many rows pass. By row both are the same.
  struct Bytes {
    std::uint64_t needed;  // In lines that the query must touch.
    std::uint64_t read;    // In lines that it reads.
  };
  Result<Bytes> bytes_of(const olap::StarQuery& query, std::uint64_t passed) const;

  const olap::Kernels& kernels() const { return *kernels_; }
  bool by_row() const { return store_->rows() != nullptr; }
  std::string_view layout() const { return by_row() ? "row" : "column"; }
  std::string_view kernel() const { return by_row() ? "Dash" : name(kernels_->width); }

 private:
  SsbEngine(const olap::StarStore& store, const olap::Kernels& kernels)
      : store_(&store), kernels_(&kernels) {}

  const olap::StarStore* store_;
  const olap::Kernels* kernels_;
  Status add_copy(int node, const std::string& spec, olap::DimensionCopy::Tuples where);

  std::vector<std::unique_ptr<Region>> index_regions_;
  olap::DimensionCopies copies_;
};

}  // namespace holdfast::tools
