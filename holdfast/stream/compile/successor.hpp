// successor.hpp: compiled operators for a pipeline that the interpreter has begun.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <holdfast/stream/compile/compilation.hpp>
#include <holdfast/stream/compile/compiled_shards.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/pipeline.hpp>

namespace holdfast::stream::compile {

enum class CompileMode {
  kBackground,  // The interpreter begins, a compiler after a tenth of a second; compiled code takes
                // over when it is there.
  kWait,        // Compiled code from the first row on.
  kNever,
};

// Operators of a library that was made of `source`, which was made of `plan`. They go on where
// `now` is. A graph has `shards`, if there are any.
Result<std::unique_ptr<Operators>> compiled_operators(Operators& now, const sql::Plan& plan,
                                                      std::shared_ptr<const QuerySource> source,
                                                      std::shared_ptr<const Library> library,
                                                      Sink& sink, StateStore* store,
                                                      const Shards* shards = nullptr);
// For `plan`, which outlives it, in runs of this shape. `failed` is told why the interpreter has to
// do all of it.
Successor compiled_successor(const sql::Plan& plan, CompileMode mode,
                             const CompileSettings& settings, const RunShape& shape,
                             std::function<void(const Error&)> failed,
                             std::optional<Shards> shards = {});

}  // namespace holdfast::stream::compile
