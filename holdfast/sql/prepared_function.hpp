// prepared_function.hpp: a function of values that was made ready when its call was bound: a
// regular expression, a path into JSON.
//
// Threads  Any number call compute() at a time.
#pragma once

#include <span>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::sql {

class PreparedFunction {
 public:
  virtual ~PreparedFunction() = default;
  // Computes the result for the values of the call's arguments, each of which may be NULL. Errors
  // come without their place.
  virtual Status compute(std::span<const Value> arguments, Value& out) const = 0;
  // Whether compute() may be an error.
  virtual bool can_fail() const { return true; }
  // Whether equal arguments have equal results. If not, it is computed for each row.
  virtual bool is_deterministic() const { return true; }
  // Its name and what it was prepared of: equal texts are equal functions.
  virtual std::string text() const = 0;
};

}  // namespace holdfast::sql
