#include "successor.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <holdfast/stream/compile/compiled_graph.hpp>
#include <holdfast/stream/compile/compiled_operators.hpp>

namespace holdfast::stream::compile {
namespace {

using OperatorsResult = Result<std::unique_ptr<Operators>>;

using Clock = std::chrono::steady_clock;

// A query that is done sooner needs no compiler.
constexpr std::chrono::milliseconds kWorthCompiling{100};
// Between two questions; the pipeline has one every few microseconds.
constexpr std::chrono::milliseconds kPause{1};

class Attempt {
 public:
  Attempt(const sql::Plan& plan, CompileMode mode, const CompileSettings& settings,
          const RunShape& shape, std::function<void(const Error&)> failed,
          std::optional<Shards> shards)
      : plan_(plan),
        mode_(mode),
        settings_(settings),
        shape_(shape),
        failed_(std::move(failed)),
        shards_(std::move(shards)),
        next_(Clock::now() + (mode == CompileMode::kWait ? Clock::duration{} : kWorthCompiling)) {}

  OperatorsResult poll(Operators& now, Sink& sink, StateStore* store) {
    if (given_up_ || Clock::now() < next_) return std::unique_ptr<Operators>();
    next_ = Clock::now() + kPause;
    if (!compilation_) begin();
    if (!compilation_) return std::unique_ptr<Operators>();
    const auto library = mode_ == CompileMode::kWait ? compilation_->wait() : compilation_->poll();
    if (!library) give_up(library.error());
    if (!library || *library == nullptr || !now.has_begun()) return std::unique_ptr<Operators>();
    return compiled_operators(now, plan_, source_, *library, sink, store,
                              shards_ ? &*shards_ : nullptr);
  }

 private:
  void begin() {
    auto source = query_source(plan_, shape_);
    if (!source) return give_up(source.error());
    source_ = std::make_shared<const QuerySource>(*std::move(source));
    auto compilation = Compilation::begin(source_->text, settings_);
    if (!compilation) return give_up(compilation.error());
    compilation_.emplace(*std::move(compilation));
  }
  void give_up(const Error& error) {
    compilation_.reset();
    given_up_ = true;
    if (failed_) failed_(error);
  }

  const sql::Plan& plan_;
  const CompileMode mode_;
  const CompileSettings settings_;
  const RunShape shape_;
  const std::function<void(const Error&)> failed_;
  const std::optional<Shards> shards_;
  std::shared_ptr<const QuerySource> source_;
  std::optional<Compilation> compilation_;
  Clock::time_point next_;  // Not before.
  bool given_up_ = false;
};

}  // namespace

Result<std::unique_ptr<Operators>> compiled_operators(Operators& now, const sql::Plan& plan,
                                                      std::shared_ptr<const QuerySource> source,
                                                      std::shared_ptr<const Library> library,
                                                      Sink& sink, StateStore* store,
                                                      const Shards* shards) {
  HF_RETURN_IF_ERROR(now.settle());
  if (const auto* graph = dynamic_cast<const graph::GraphOperators*>(&now)) {
    if (shards != nullptr) {
      HF_ASSIGN_OR_RETURN(
          auto made, CompiledShards::after(*graph, plan, *shards, source, library, sink, store));
      return std::unique_ptr<Operators>(std::move(made));
    }
    HF_ASSIGN_OR_RETURN(auto made,
                        CompiledGraph::after(*graph, plan, source, library, sink, store));
    return std::unique_ptr<Operators>(std::move(made));
  }
  HF_ASSIGN_OR_RETURN(auto made, CompiledOperators::after(now, plan, source, library, sink, store));
  return std::unique_ptr<Operators>(std::move(made));
}

Successor compiled_successor(const sql::Plan& plan, CompileMode mode,
                             const CompileSettings& settings, const RunShape& shape,
                             std::function<void(const Error&)> failed,
                             std::optional<Shards> shards) {
  if (mode == CompileMode::kNever) return {};
  const auto attempt =
      std::make_shared<Attempt>(plan, mode, settings, shape, std::move(failed), std::move(shards));
  return [attempt](Operators& now, Sink& sink, StateStore* store) {
    return attempt->poll(now, sink, store);
  };
}

}  // namespace holdfast::stream::compile
