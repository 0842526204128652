#include <holdfast/sql/twice.hpp>

#include <string>

#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/user_calls.hpp>

namespace holdfast::sql {

Result<ExpressionPointer> again(const Expression& value) {
  constexpr std::size_t kLargest = 20'000;
  if (varying_call(value) != nullptr) return read_twice(value.at);
  if (size_of(value) > kLargest)
    return error_at(
        value.at,
        "an expression that is read twice has more than " + std::to_string(kLargest) + " parts",
        "compute it in a sub-query: SELECT … FROM (SELECT … AS x FROM …)");
  return clone(value);
}

Error read_twice(Position at) {
  return error_at(at, "a function that is not deterministic is read twice, as two values",
                  "compute it in a sub-query: SELECT … FROM (SELECT … AS x FROM …)");
}

}  // namespace holdfast::sql
