// user_calls.hpp: calls of functions that users wrote in C++ (function.hpp): types, values, errors.
//
// What a function returns is checked: it has a place in its type, or the call has failed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/function.hpp>
#include <holdfast/sql/prepared_function.hpp>
#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::sql {

struct UserFunction;

inline constexpr std::uint32_t kMostUserArguments = 16;

// None: it is no type.
std::optional<Type> type_of(const functions::Type& type);
// "NET[version 2]"
std::string versioned_name(const UserFunction& function);

// The arguments of a call, as the function takes them. They point into the values.
class UserSlots {
 public:
  UserSlots(const functions::Overload& overload, std::span<const Value> arguments);
  const functions::Slot* data() const { return slots_.data(); }

 private:
  std::array<functions::Slot, kMostUserArguments> slots_;
};

// What a call leaves behind.
class UserReply : public functions::Reply {
 public:
  UserReply();
  // After a call that was good: why the value has no place in the type. Null: it has one.
  const char* misfit(const functions::Type& type) const;
  Value take(const functions::Type& type);
  std::string text;   // Of take_text().
  std::string error;  // Of fail().
};

// "NET: what", and "NET('a', 3): what". `name`: as versioned_name() has it.
Error user_error(std::string_view name, std::string_view what);
Error user_error(std::string_view name, const functions::Overload& overload,
                 const functions::Slot* arguments, std::string_view what);

// A call of a scalar function. Errors come without their place.
class UserCall : public PreparedFunction {
 public:
  UserCall(const UserFunction& function, const functions::Overload& overload);

  // The value is that of the reply, and has a place in its type.
  Status call(const functions::Slot* arguments, UserReply& reply) const;
  Status compute(std::span<const Value> arguments, Value& out) const override;
  bool is_deterministic() const override { return deterministic_; }
  std::string text() const override { return name_; }

 private:
  const std::string name_;
  const bool deterministic_;
  const functions::Overload& overload_;
};

}  // namespace holdfast::sql
