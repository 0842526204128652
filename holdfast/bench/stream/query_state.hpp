// query_state.hpp: what the subjects that run a query have: its compiled code, and its state's
// region.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/bench/engine/interruption.hpp>
#include <holdfast/bench/engine/placement.hpp>
#include <holdfast/bench/runner.hpp>
#include <holdfast/stream/compile/library.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/pipeline.hpp>
#include <holdfast/stream/state_store.hpp>
#include <holdfast/stream/workers/part.hpp>

namespace holdfast::bench::stream {

// A plan as a library that is loaded before the clock starts.
class QueryCode {
 public:
  // `plan` outlives it; `stored`: it runs with a state store.
  QueryCode(const sql::Plan& plan, bool stored) : plan_(plan), stored_(stored) {}

  // Compiles, or finds it in the cache. Errors: kUnsupported, and those of the compiler.
  Status load();
  // Takes over at once. After load().
  holdfast::stream::Successor successor() const;

 private:
  const sql::Plan& plan_;
  const bool stored_;
  std::shared_ptr<const holdfast::stream::compile::QuerySource> source_;
  std::shared_ptr<const holdfast::stream::compile::Library> library_;
};

// Where the state of a query is. In memory it has no checkpoints.
enum class StateIn { kMemory, kKv, kRocksdb };

// A store that is empty; what was at `region` is gone. Errors: of RocksDB's module, where it is not
// built, what to install.
Result<std::unique_ptr<holdfast::stream::StateStore>> open_state(StateIn kind,
                                                                 const std::string& region);
void remove_state(const std::string& region);

// The operators of a plan that can be split, on so many workers. Errors: kNoSpace.
Result<std::unique_ptr<holdfast::stream::Operators>> on_workers(
    std::unique_ptr<holdfast::stream::MergingOperators> operators, unsigned workers);
holdfast::stream::Successor on_workers(holdfast::stream::Successor successor, unsigned workers);

struct QuerySetting {
  const sql::Plan* plan;  // Outlives the subject.
  StateIn state = StateIn::kMemory;
  bool interpreted = false;
  std::string region;
  double checkpoint_seconds = 1;

  bool has_checkpoints() const { return state != StateIn::kMemory; }
  std::chrono::milliseconds interval() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(checkpoint_seconds * 1'000));
  }
};

// A subject whose phases run a query, on as many workers as a phase has threads: its first thread
// starts them. `Base`: a subject that is made of an `Of`.
template <class Base>
class RunsQuery : public Base {
 public:
  template <class Of>
  RunsQuery(const Of& of, const QuerySetting& setting)
      : Base(of), setting_(setting), code_(*setting.plan, setting.has_checkpoints()) {}

  bool counts_persists() const override { return setting_.state == StateIn::kKv; }
  bool starts_threads() const override { return workers_ > 1; }
  Status create() override { return setting_.interpreted ? Status() : code_.load(); }
  Status before(const Phase& phase) override {
    workers_ = phase.threads;
    if (!setting_.has_checkpoints()) return {};
    state_.reset();  // Of the phase before, which is still open.
    HF_ASSIGN_OR_RETURN(state_, open_state(setting_.state, setting_.region));
    return {};
  }
  results::Fields phase_facts() const override {
    results::Fields facts;
    if (setting_.has_checkpoints()) facts.set("checkpoints", checkpoints_);
    return facts;
  }
  void destroy() override {
    state_.reset();
    if (setting_.has_checkpoints()) remove_state(setting_.region);
  }

 protected:
  const sql::Plan& plan() const { return *setting_.plan; }
  bool has_checkpoints() const { return setting_.has_checkpoints(); }
  holdfast::stream::StateStore* state() const { return state_.get(); }
  // Of the phase.
  unsigned workers() const { return workers_; }
  // So that workers do not share the CPU that the phase has put this thread on.
  void leave_own_cpu() const {
    if (workers_ > 1) put_this_thread_on(cpus_);
  }
  // To the end of its source.
  Status run_all(holdfast::stream::Pipeline& pipeline) {
    std::optional<holdfast::stream::Checkpoint> found;
    if (state_ != nullptr) {
      HF_ASSIGN_OR_RETURN(found, state_->open());
    }
    HF_RETURN_IF_ERROR(pipeline.resume(found));
    if (!setting_.interpreted) pipeline.set_successor(on_workers(code_.successor(), workers()));
    HF_RETURN_IF_ERROR(pipeline.run(setting_.interval(), interrupted()));
    checkpoints_ = pipeline.report().checkpoints;
    if (pipeline.report().taken_over == setting_.interpreted)
      return Error{Errc::kUnsupported, "the query was not compiled"};
    return {};
  }

 private:
  const QuerySetting setting_;
  QueryCode code_;
  std::unique_ptr<holdfast::stream::StateStore> state_;
  std::uint64_t checkpoints_ = 0;
  unsigned workers_ = 1;
  const std::set<int> cpus_ = cpus_of_this_thread();  // Before a phase begins: all that there are.
};

}  // namespace holdfast::bench::stream
