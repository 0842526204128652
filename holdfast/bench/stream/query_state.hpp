// query_state.hpp: what the subjects that run a query have: its compiled code, and its state's
// region.
#pragma once

#include <memory>
#include <string>

#include <holdfast/base/result.hpp>
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

}  // namespace holdfast::bench::stream
