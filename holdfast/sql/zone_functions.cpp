#include "zone_functions.hpp"

#include <utility>

#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/zone.hpp>

namespace holdfast::sql {

ExpressionPointer at_wall_clock(ExpressionPointer value) {
  return value->type.zone == nullptr ? std::move(value) : cast_to(std::move(value), kTimestampType);
}

ExpressionPointer clock_word(std::string_view word, const syntax::Expression& e) {
  auto now = made(Operation::kProcessingTime, instant_type(e.zone), e.at);
  if (word == "CURRENT_DATE") return cast_to(std::move(now), Type{Kind::kDate});
  return word == "LOCALTIMESTAMP" ? at_wall_clock(std::move(now)) : std::move(now);
}

Result<ExpressionPointer> bind_in_zone(const syntax::Expression& call,
                                       std::vector<ExpressionPointer> arguments,
                                       const UserFunctions* users) {
  const bool to_text = call.name == "FROM_UNIXTIME" && !arguments.empty() && arguments.size() < 3;
  if (call.zone != nullptr &&
      (to_text || (call.name == "UNIX_TIMESTAMP" && arguments.size() == 1))) {
    if (to_text && arguments.size() == 1)
      arguments.push_back(literal_of(Value::of_text("yyyy-MM-dd HH:mm:ss"), kStringType, call.at));
    arguments.push_back(literal_of(Value::of_text(call.zone->name()), kStringType, call.at));
    return bind_function(call.name + " IN", call.at, std::move(arguments));
  }
  HF_ASSIGN_OR_RETURN(auto bound, bind_function(call.name, call.at, std::move(arguments), users));
  if (bound->operation == Operation::kProcessingTime ||
      bound->operation == Operation::kTimestampOfMs)
    bound->type = instant_type(call.zone);
  return bound;
}

}  // namespace holdfast::sql
