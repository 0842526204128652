#include "ssb_engine.hpp"

#include <chrono>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/olap/rows/row_answer.hpp>

#include "console.hpp"

namespace holdfast::tools {

using namespace olap;

Result<SsbEngine> SsbEngine::create(const StarStore& store, VectorWidth width,
                                    const std::string& index_spec) {
  SsbEngine engine(store, olap::kernels(width));
  if (!engine.by_row()) return engine;
  const auto begin = std::chrono::steady_clock::now();
  RegionOptions options;
  options.access = RegionAccess::kCreate;
  options.size_bytes = options.unit_bytes =
      round_up(DimensionIndexes::bytes_needed(*store.rows()), 2 * MiB);
  HF_ASSIGN_OR_RETURN(auto region, Region::open(index_spec, options));
  engine.index_region_ = std::make_unique<Region>(std::move(region));
  HF_ASSIGN_OR_RETURN(engine.indexes_,
                      DimensionIndexes::build(*store.rows(), *engine.index_region_));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  note("four Dash indexes in {}, built in {}\n", index_spec, human_seconds(took.count()));
  return engine;
}

Result<Answer> SsbEngine::answer(const StarQuery& query, Team& team) const {
  if (by_row()) return olap::answer(query, *store_->rows(), *indexes_, team);
  return olap::answer(query, *store_, team, *kernels_);
}

Result<std::uint64_t> SsbEngine::touched_bytes(const StarQuery& query, std::uint64_t passed) const {
  if (by_row()) return olap::touched_bytes(query, *store_->rows(), passed);
  HF_ASSIGN_OR_RETURN(const auto bound, bind(query, store_->catalogue()));
  HF_ASSIGN_OR_RETURN(const auto lines, touched(*store_->version(), bound));
  return lines.bytes();
}

}  // namespace holdfast::tools
