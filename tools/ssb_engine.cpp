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
                                    const std::string& index_spec, std::span<const int> nodes) {
  SsbEngine engine(store, olap::kernels(width));
  if (!engine.by_row()) return engine;
  const auto begin = std::chrono::steady_clock::now();
  const bool replicated = index_spec == "dram" && nodes.size() > 1;
  if (!replicated)
    HF_RETURN_IF_ERROR(engine.add_copy(0, index_spec, DimensionCopy::Tuples::kInPlace));
  else
    for (const int node : nodes)
      HF_RETURN_IF_ERROR(
          engine.add_copy(node, fmt::format("node:{}", node), DimensionCopy::Tuples::kCopied));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  note("four Dash indexes in {}{}, built in {}\n", index_spec,
       replicated ? fmt::format(", with their tables, on each of {} NUMA nodes", nodes.size()) : "",
       human_seconds(took.count()));
  return engine;
}

Status SsbEngine::add_copy(int node, const std::string& spec, DimensionCopy::Tuples where) {
  RegionOptions options;
  options.access = RegionAccess::kCreate;
  options.size_bytes = options.unit_bytes =
      round_up(DimensionCopy::bytes_needed(*store_->rows(), where), 2 * MiB);
  HF_ASSIGN_OR_RETURN(auto region, Region::open(spec, options));
  index_regions_.push_back(std::make_unique<Region>(std::move(region)));
  HF_ASSIGN_OR_RETURN(auto copy,
                      DimensionCopy::build(*store_->rows(), *index_regions_.back(), where));
  copies_.add(node, std::move(copy));
  return {};
}

Result<Answer> SsbEngine::answer(const StarQuery& query, Team& team) const {
  if (by_row()) return olap::answer(query, *store_->rows(), copies_, team);
  return olap::answer(query, *store_, team, *kernels_);
}

Result<SsbEngine::Bytes> SsbEngine::bytes_of(const StarQuery& query, std::uint64_t passed) const {
  if (by_row()) {
    const auto bytes = touched_bytes(query, *store_->rows(), passed);
    return Bytes{bytes, bytes};
  }
  HF_ASSIGN_OR_RETURN(const auto bound, bind(query, store_->catalogue()));
  HF_ASSIGN_OR_RETURN(const auto lines, touched(*store_->version(), bound));
  return Bytes{lines.bytes(), lines.bytes_read()};
}

}  // namespace holdfast::tools
