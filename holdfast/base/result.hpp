// result.hpp: expected failures are values that cannot be dropped.
//
// Nothing throws across the API of the library. Result<T> is a T or an Error; Status is a Result
// without a value. The verbs are those of std::expected, so that the type can become it.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <holdfast/base/check.hpp>

namespace holdfast {

// What went wrong, for programs. The detail of an Error says it for people: field, value seen, what
// is allowed, what to do. Values are stable; new ones are appended.
enum class Errc : int {
  kOk = 0,              // Never inside an Error.
  kInvalidOption = 1,   // An option or argument is out of its documented range.
  kNotFound = 2,        // The named thing does not exist.
  kAlreadyExists = 3,   // The named thing exists and must not.
  kBusy = 4,            // Another process holds the lock; the detail names its pid.
  kNotHoldfast = 5,     // The medium carries no Holdfast magic number.
  kNewerFormat = 6,     // Written by a newer format version than this build reads.
  kWrongType = 7,       // Opened with other key/value types or sizes than it was created with.
  kCorrupt = 8,         // The medium contradicts itself.
  kNoSpace = 9,         // The medium is full; reads and erases still work.
  kReadOnly = 10,       // Opened read-only, or made read-only by a failed sync.
  kIo = 11,             // A system call failed; the detail names it, its target and errno.
  kUnsupported = 12,    // This machine, kernel or medium cannot do it.
  kTooLarge = 13,       // Key or value above the documented limit.
  kVersionMismatch = 14,  // Compare-and-put: the record's version is another; nothing was written.
  kClosed = 15,         // The object was closed.
};

// "kBusy" and so on: the enumerator's name.
std::string_view name(Errc code);

struct Error {
  Errc code;
  std::string detail;

  // "kBusy: store /x is locked by process 4711; close it there or open read-only"
  std::string message() const;
};

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design.
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Require a value: calling them on an error is our mistake and stops the process.
  T& value() & { return check(), *std::get_if<0>(&state_); }
  const T& value() const& { return check(), *std::get_if<0>(&state_); }
  T&& value() && { return check(), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(other));
  }

  const Error& error() const& {
    HF_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    HF_CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }
  Errc code() const { return has_value() ? Errc::kOk : error().code; }

 private:
  void check() const {
    if (!has_value()) [[unlikely]] fail();
  }
  [[noreturn]] void fail() const {
    check_failed(std::get_if<1>(&state_)->message().c_str(), "Result::value", 0);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design.

  bool has_value() const { return error_.code == Errc::kOk; }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (!has_value()) [[unlikely]] check_failed(error_.message().c_str(), "Status::value", 0);
  }
  const Error& error() const& {
    HF_CHECK(!has_value());
    return error_;
  }
  Error&& error() && {
    HF_CHECK(!has_value());
    return std::move(error_);
  }
  Errc code() const { return error_.code; }

 private:
  Error error_{Errc::kOk, {}};
};

using Status = Result<void>;
inline Status ok_status() { return {}; }

}  // namespace holdfast

// Returns the error of `expression` to the caller, or goes on.
#define HF_RETURN_IF_ERROR(expression)                                         \
  do {                                                                         \
    if (auto hf_status = (expression); !hf_status) [[unlikely]]                \
      return std::move(hf_status).error();                                     \
  } while (false)

#define HF_CONCAT_INNER(a, b) a##b
#define HF_CONCAT(a, b) HF_CONCAT_INNER(a, b)
// HF_ASSIGN_OR_RETURN(auto region, Region::open(spec)): binds the value, or returns the error.
#define HF_ASSIGN_OR_RETURN(declaration, expression)                           \
  auto HF_CONCAT(hf_result_, __LINE__) = (expression);                         \
  if (!HF_CONCAT(hf_result_, __LINE__)) [[unlikely]]                           \
    return std::move(HF_CONCAT(hf_result_, __LINE__)).error();                 \
  declaration = std::move(HF_CONCAT(hf_result_, __LINE__)).value()
