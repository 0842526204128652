// user_functions.hpp: functions that users wrote in C++ (function.hpp), by the names that SQL calls
// them by.
//
// Libraries  A library is loaded by CREATE FUNCTION, runs code then, and stays until the process
//            ends: queries call into it. Neither its path nor its name gets into a text that is
//            compiled.
// Errors     kInvalidOption, kUnsupported, with line and column.
// Threads    One at a time; what find() gives is only read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/aggregate.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/function.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

struct UserFunction {
  std::string name;  // In capitals: names of functions are the same in any case.
  functions::Definition definition;

  bool is_aggregate() const { return definition.overloads[0].aggregate != nullptr; }
};

class UserFunctions {
 public:
  Status add(const syntax::CreateFunction& statement);
  // One of the program itself. `at` is for errors.
  Status add(std::string_view name, const functions::Definition& definition, Position at = {});
  Status drop(const syntax::DropFunction& statement);
  // `name` in capitals. Null: there is none.
  const UserFunction* find(std::string_view name) const;
  std::vector<std::string_view> names() const;

 private:
  std::map<std::string, UserFunction, std::less<>> all_;
};

// A call, with its arguments bound. It means the overload of exactly their types, else the first
// to whose types they widen.
Result<ExpressionPointer> bind_user_function(const UserFunction& function, Position at,
                                             std::vector<ExpressionPointer> arguments);
Result<Aggregate> bind_user_aggregate(const UserFunction& function, Position at,
                                      std::vector<ExpressionPointer> arguments);

}  // namespace holdfast::sql
