// successor.hpp: compiled operators for a pipeline that the interpreter has begun.
#pragma once

#include <functional>
#include <string>

#include <holdfast/stream/compile/compilation.hpp>
#include <holdfast/stream/pipeline.hpp>

namespace holdfast::stream::compile {

enum class CompileMode {
  kBackground,  // The interpreter begins, a compiler after a tenth of a second; compiled code takes
                // over when it is there.
  kWait,        // Compiled code from the first row on.
  kNever,
};

// For `plan`, which outlives it; `failed` is told why the interpreter has to do all of it.
Successor compiled_successor(const sql::Plan& plan, CompileMode mode,
                             const CompileSettings& settings,
                             std::function<void(const Error&)> failed);

}  // namespace holdfast::stream::compile
