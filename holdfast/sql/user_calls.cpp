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

bool is_text(const functions::Type& type) { return type.kind == functions::Kind::kString; }
bool is_real(const functions::Type& type) {
  return type.kind == functions::Kind::kFloat || type.kind == functions::Kind::kDouble;
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

const char* UserReply::misfit(const functions::Type& type) const {
  if (value.null) return nullptr;
  const auto within = [this](Int128 least, Int128 most) {
    return value.number >= least && value.number <= most;
  };
  constexpr const char* kNumber = "the result is a number beyond its type";
  switch (type.kind) {
    case functions::Kind::kBoolean: return within(0, 1) ? nullptr : "the result is no BOOLEAN";
    case functions::Kind::kTinyInt:
      return in_range(value.number, Kind::kTinyInt) ? nullptr : kNumber;
    case functions::Kind::kSmallInt:
      return in_range(value.number, Kind::kSmallInt) ? nullptr : kNumber;
    case functions::Kind::kInt: return in_range(value.number, Kind::kInt) ? nullptr : kNumber;
    case functions::Kind::kBigInt: return in_range(value.number, Kind::kBigInt) ? nullptr : kNumber;
    case functions::Kind::kDecimal:
      return fits(value.number, type.precision) ? nullptr
                                                : "the result is a decimal of too many digits";
    case functions::Kind::kFloat:
    case functions::Kind::kDouble: return nullptr;
    case functions::Kind::kString:
      if (text.size() > kMaxMadeText) return "the result is a text that is longer than 16 MiB";
      return is_valid_utf8(text) ? nullptr : "the result is a text that is no UTF-8";
    case functions::Kind::kDate:
      return within(kMinTimestampMs / kDayMs, kMaxTimestampMs / kDayMs)
                 ? nullptr
                 : "the result is a date beyond the years 1 to 9999";
    case functions::Kind::kTimestamp:
      return within(kMinTimestampMs, kMaxTimestampMs)
                 ? nullptr
                 : "the result is a time beyond the years 1 to 9999";
  }
  return nullptr;
}

Value UserReply::take(const functions::Type& type) {
  if (value.null) return {};
  if (is_text(type)) return Value::of_text(std::move(text));
  return is_real(type) ? Value::of_real(value.real) : Value::of(value.number);
}

Error user_error(std::string_view name, std::string_view what) {
  return {Errc::kInvalidOption, std::string(plain_name(name)) + ": " + escape(what)};
}

Error user_error(std::string_view name, const Overload& overload, const functions::Slot* arguments,
                 std::string_view what) {
  constexpr std::size_t kShown = 60;  // Bytes of an argument.
  std::string text(plain_name(name));
  for (std::uint32_t i = 0; i < overload.count; ++i) {
    const auto& type = overload.arguments[i];
    const auto& slot = arguments[i];
    std::string shown = "NULL";
    if (!slot.null && is_text(type))
      shown = "'" + escape({slot.text.data, slot.text.bytes}, kShown) + "'";
    else if (!slot.null)
      shown = text_of(is_real(type) ? Value::of_real(slot.real) : Value::of(slot.number),
                      *type_of(type));
    text += (i == 0 ? "(" : ", ") + shown;
  }
  text += overload.count == 0 ? "(): " : "): ";
  return {Errc::kInvalidOption, text + escape(what)};
}

UserCall::UserCall(const UserFunction& function, const Overload& overload)
    : name_(versioned_name(function)),
      deterministic_(function.definition.deterministic),
      overload_(overload) {}

Status UserCall::call(const functions::Slot* arguments, UserReply& reply) const {
  if (!overload_.call(overload_.target, arguments, reply))
    return user_error(name_, overload_, arguments, reply.error);
  if (const char* wrong = reply.misfit(overload_.result))
    return user_error(name_, overload_, arguments, wrong);
  return {};
}

Status UserCall::compute(std::span<const Value> arguments, Value& out) const {
  UserReply reply;
  HF_RETURN_IF_ERROR(call(UserSlots(overload_, arguments).data(), reply));
  out = reply.take(overload_.result);
  return {};
}

}  // namespace holdfast::sql
