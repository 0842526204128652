// query_state.hpp: what the subjects that run a query have: its compiled code, and its state's
// region.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/bench/engine/interruption.hpp>
#include <holdfast/bench/runner.hpp>
#include <holdfast/stream/compile/library.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/pipeline.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::bench::stream {

// A plan as a library that is loaded before the clock starts.
class QueryCode {
 public:
  // `plan` outlives it.
  explicit QueryCode(const sql::Plan& plan) : plan_(plan) {}

  // Compiles, or finds it in the cache. Errors: kUnsupported, and those of the compiler.
  Status load();
  // Takes over at once. After load().
  holdfast::stream::Successor successor() const;

 private:
  const sql::Plan& plan_;
  std::shared_ptr<const holdfast::stream::compile::QuerySource> source_;
  std::shared_ptr<const holdfast::stream::compile::Library> library_;
};

// A store that is empty; what was at `region` is gone.
Result<std::unique_ptr<holdfast::stream::StateStore>> open_state(const std::string& region);
void remove_state(const std::string& region);

struct QuerySetting {
  const sql::Plan* plan;  // Outlives the subject.
  bool in_kv = false;     // Else there are no checkpoints.
  bool interpreted = false;
  std::string region;
  double checkpoint_seconds = 1;

  std::chrono::milliseconds interval() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(checkpoint_seconds * 1'000));
  }
};

// A subject whose phases run a query. `Base`: a subject that is made of an `Of`.
template <class Base>
class RunsQuery : public Base {
 public:
  template <class Of>
  RunsQuery(const Of& of, const QuerySetting& setting)
      : Base(of), setting_(setting), code_(*setting.plan) {}

  bool counts_persists() const override { return setting_.in_kv; }
  Status create() override { return setting_.interpreted ? Status() : code_.load(); }
  Status before(const Phase&) override {
    if (!setting_.in_kv) return {};
    HF_ASSIGN_OR_RETURN(state_, open_state(setting_.region));
    return {};
  }
  Fields phase_facts() const override {
    Fields facts;
    if (setting_.in_kv) facts.set("checkpoints", checkpoints_);
    return facts;
  }
  void destroy() override {
    state_.reset();
    if (setting_.in_kv) remove_state(setting_.region);
  }

 protected:
  const sql::Plan& plan() const { return *setting_.plan; }
  bool in_kv() const { return setting_.in_kv; }
  holdfast::stream::StateStore* state() const { return state_.get(); }
  // To the end of its source.
  Status run_all(holdfast::stream::Pipeline& pipeline) {
    HF_RETURN_IF_ERROR(pipeline.resume());
    if (!setting_.interpreted) pipeline.set_successor(code_.successor());
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
};

}  // namespace holdfast::bench::stream
