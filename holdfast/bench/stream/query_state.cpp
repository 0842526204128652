#include <holdfast/bench/stream/query_state.hpp>

#include <filesystem>
#include <utility>

#include <holdfast/memory/spec.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/stream/compile/successor.hpp>
#include <holdfast/stream/workers/parallel_operators.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>
#include <holdfast/stream_rocksdb/rocksdb_state.hpp>

namespace holdfast::bench::stream {

namespace hs = holdfast::stream;

Status QueryCode::load() {
  HF_ASSIGN_OR_RETURN(auto source, hs::compile::query_source(plan_, {stored_, false}));
  HF_ASSIGN_OR_RETURN(auto compilation, hs::compile::Compilation::begin(source.text, {}));
  HF_ASSIGN_OR_RETURN(library_, compilation.wait());
  source_ = std::make_shared<const hs::compile::QuerySource>(std::move(source));
  return {};
}

hs::Successor QueryCode::successor() const {
  return [this](hs::Operators& now, hs::Sink& sink, hs::StateStore* store) {
    return hs::compile::compiled_operators(now, plan_, source_, library_, sink, store);
  };
}

Result<std::unique_ptr<hs::StateStore>> open_state(StateIn kind, const std::string& region) {
  remove_state(region);
  if (kind == StateIn::kRocksdb) {
    HF_ASSIGN_OR_RETURN(const auto open,
                        modules::function<Result<hs::StateOfQuery>(const std::string&)>("rocksdb"));
    HF_ASSIGN_OR_RETURN(const auto state_of_query, open(parts_of(region).place));
    return state_of_query(1);
  }
  HF_ASSIGN_OR_RETURN(auto store, hs::KvStateStore::open_region(region));
  return std::unique_ptr<hs::StateStore>(std::make_unique<hs::KvStateStore>(std::move(store), 1));
}

void remove_state(const std::string& region) {
  std::error_code ignored;
  if (region.starts_with("/")) std::filesystem::remove_all(parts_of(region).place, ignored);
}

// As many as a row of the table names.
constexpr hs::ActiveTimes kAll{.measured = false};

Result<std::unique_ptr<hs::Operators>> on_workers(std::unique_ptr<hs::MergingOperators> operators,
                                                  unsigned workers) {
  if (workers < 2) return std::unique_ptr<hs::Operators>(std::move(operators));
  HF_ASSIGN_OR_RETURN(auto parallel, hs::ParallelOperators::start(
                                         std::move(operators), workers, hs::Sharing::kMeasured,
                                         hs::ParallelOperators::kRound, kAll));
  return std::unique_ptr<hs::Operators>(std::move(parallel));
}

hs::Successor on_workers(hs::Successor successor, unsigned workers) {
  if (workers < 2) return successor;
  return hs::parallel_successor(std::move(successor), workers, hs::Sharing::kMeasured, kAll);
}

}  // namespace holdfast::bench::stream
