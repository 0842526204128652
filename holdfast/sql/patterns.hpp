// patterns.hpp: regular expressions. Their engine is a library, RE2, in a module that is loaded
// when a query has one: a program tells once how (set_pattern_loader).
//
// Cost     A search is linear in the text, whatever the pattern is. There are no references back
//          and no look-around: those cannot be had in linear time.
// Threads  A pattern is searched by any number of threads. offer_patterns and set_pattern_loader
//          before any query, or one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::sql {

class Pattern {
 public:
  virtual ~Pattern() = default;
  // The first match that begins at `from` or behind it: all of it, then its groups, as many as
  // `found` has places. One that took no part has no data(). False: there is no match.
  virtual bool find(std::string_view text, std::size_t from,
                    std::span<std::string_view> found) const = 0;
  virtual std::size_t groups() const = 0;
};

using CompilePattern = Result<std::unique_ptr<const Pattern>> (*)(std::string_view pattern);
void offer_patterns(CompilePattern compile);
// Loads what calls offer_patterns(). Errors: what to install.
void set_pattern_loader(std::function<Status()> load);

// Errors: kInvalidOption (what is wrong with the pattern), kUnsupported (there is no engine).
Result<std::unique_ptr<const Pattern>> compile_pattern(std::string_view pattern);

// The same of a pattern of SIMILAR TO, which matches a whole text: % any characters, _ one, and
// | * + ? {n} () [] as in regular expressions. `escape`: the next character stands for itself;
// '\0': there is none. Errors: kInvalidOption.
Result<std::string> pattern_of_similar(std::string_view similar, char escape);

}  // namespace holdfast::sql
