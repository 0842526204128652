#include "user_calls.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/civil.hpp>
#include <holdfast/sql/decimal.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/scalar_functions.hpp>
#include <holdfast/sql/user_functions.hpp>

namespace holdfast::sql {
namespace {

using functions::Overload;
using functions::Reply;

// "NET" of "NET[version 2]".
std::string_view plain_name(std::string_view name) { return name.substr(0, name.find('[')); }

// Why a value has no place in its type. Null: it has one.
const char* misfit_of(const Value& value, const Type& type) {
  switch (type.kind) {
    case Kind::kBoolean: return value.number == 0 || value.number == 1 ? nullptr : "no BOOLEAN";
    case Kind::kDecimal:
      return fits(value.number, type.precision) ? nullptr : "a decimal of too many digits";
    case Kind::kDate:
      return value.number * kDayMs >= kMinTimestampMs && value.number * kDayMs <= kMaxTimestampMs
                 ? nullptr
                 : "a date beyond the years 1 to 9999";
    case Kind::kTimestamp:
      return value.number >= kMinTimestampMs && value.number <= kMaxTimestampMs
                 ? nullptr
                 : "a time beyond the years 1 to 9999";
    case Kind::kString:
      if (value.text.size() > kMaxMadeText) return "a text that is longer than 16 MiB";
      return is_valid_utf8(value.text) ? nullptr : "a text that is no UTF-8";
    default:
      return type.is_real() || in_range(value.number, type.kind) ? nullptr
                                                                 : "a number beyond its type";
  }
}

}  // namespace

std::optional<Type> type_of(const functions::Type& type) {
  switch (type.kind) {
    case functions::Kind::kBoolean: return kBooleanType;
    case functions::Kind::kTinyInt: return Type{Kind::kTinyInt};
    case functions::Kind::kSmallInt: return Type{Kind::kSmallInt};
    case functions::Kind::kInt: return kIntType;
    case functions::Kind::kBigInt: return kBigIntType;
    case functions::Kind::kDecimal:
      if (type.precision < 1 || type.precision > kMaxDigits || type.scale > type.precision)
        return std::nullopt;
      return decimal_type(type.precision, type.scale);
    case functions::Kind::kFloat: return Type{Kind::kFloat};
    case functions::Kind::kDouble: return kDoubleType;
    case functions::Kind::kString: return kStringType;
    case functions::Kind::kDate: return Type{Kind::kDate};
    case functions::Kind::kTimestamp: return kTimestampType;
  }
  return std::nullopt;
}

std::string versioned_name(const UserFunction& function) {
  return function.name + "[version " + std::to_string(function.definition.version) + "]";
}

UserSlots::UserSlots(const Overload& overload, std::span<const Value> arguments) {
  for (std::size_t i = 0; i < overload.count; ++i) {
    auto& slot = slots_[i];
    const auto& value = arguments[i];
    slot.null = value.null;
    if (value.null) continue;
    switch (overload.arguments[i].kind) {
      case functions::Kind::kString: slot.text = {value.text.data(), value.text.size()}; break;
      case functions::Kind::kFloat:
      case functions::Kind::kDouble: slot.real = value.real; break;
      default: slot.number = value.number; break;
    }
  }
}

UserReply::UserReply() : functions::Reply{} {
  value.null = true;
  take_text = [](Reply& reply, const char* data, std::uint64_t bytes) {
    static_cast<UserReply&>(reply).text.assign(data, bytes);
  };
  fail = [](Reply& reply, const char* data, std::uint64_t bytes) {
    static_cast<UserReply&>(reply).error.assign(data, bytes);
  };
}

Result<Value> UserReply::take(const functions::Type& of) {
  if (value.null) return Value();
  const Type type = *type_of(of);
  Value taken = type.is_bytes()  ? Value::of_text(std::move(text))
                : type.is_real() ? Value::of_real(value.real)
                                 : Value::of(value.number);
  if (const char* wrong = misfit_of(taken, type))
    return Error{Errc::kInvalidOption, "the result is " + std::string(wrong)};
  return taken;
}

namespace {

Value value_of(const functions::Slot& slot, const Type& type) {
  if (slot.null) return {};
  if (type.is_bytes()) return Value::of_text(std::string(slot.text.data, slot.text.bytes));
  return type.is_real() ? Value::of_real(slot.real) : Value::of(slot.number);
}

}  // namespace

Error user_error(std::string_view name, const Overload& overload, const functions::Slot* arguments,
                 std::string_view what) {
  constexpr std::size_t kShown = 60;  // Bytes of an argument.
  std::string text(plain_name(name));
  for (std::uint32_t i = 0; i < overload.count; ++i) {
    const Type type = *type_of(overload.arguments[i]);
    const auto value = value_of(arguments[i], type);
    const auto shown = value.null ? "NULL" : escape(text_of(value, type), kShown);
    const bool quotes = !value.null && type.kind == Kind::kString;
    text += (i == 0 ? "(" : ", ") + (quotes ? "'" + shown + "'" : shown);
  }
  text += overload.count == 0 ? "(): " : "): ";
  return {Errc::kInvalidOption, text + escape(what)};
}

UserCall::UserCall(const UserFunction& function, const Overload& overload)
    : name_(versioned_name(function)),
      deterministic_(function.definition.deterministic),
      overload_(overload) {}

Status UserCall::compute(const functions::Slot* arguments, Value& out) const {
  UserReply reply;
  if (!overload_.call(overload_.target, arguments, reply))
    return user_error(name_, overload_, arguments, reply.error);
  auto value = reply.take(overload_.result);
  if (!value) return user_error(name_, overload_, arguments, value.error().detail);
  out = *std::move(value);
  return {};
}

}  // namespace holdfast::sql
