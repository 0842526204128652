// result.hpp: expected failures are values that cannot be dropped.
//
// Nothing throws across the API of the library. Result<T> is a T or an Error; Status is a Result
// without a value. The verbs are those of std::expected, so that the type can become it.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <holdfast/base/check.hpp>

namespace holdfast {

// What went wrong, for programs. The detail of an Error says it for people: field, value seen, what
// is allowed, what to do. Values are stable; new ones are appended.
enum class Errc : int {
  kOk = 0,                // Never inside an Error.
  kInvalidOption = 1,     // An option or argument is out of its documented range.
  kNotFound = 2,          // The named thing does not exist.
  kAlreadyExists = 3,     // The named thing exists and must not.
  kBusy = 4,              // Another process holds the lock; the detail names its pid.
  kNotHoldfast = 5,       // The medium carries no Holdfast magic number.
  kNewerFormat = 6,       // Written by a newer format version than this build reads.
  kWrongType = 7,         // Opened with other key/value types or sizes than it was created with.
  kCorrupt = 8,           // The medium contradicts itself.
  kNoSpace = 9,           // The medium is full; reads and erases still work.
  kReadOnly = 10,         // Opened read-only, or made read-only by a failed sync.
  kIo = 11,               // A system call failed; the detail names it, its target and errno.
  kUnsupported = 12,      // This machine, kernel or medium cannot do it.
  kTooLarge = 13,         // Key or value above the documented limit.
  kVersionMismatch = 14,  // Compare-and-put: the record's version is another; nothing was written.
  kClosed = 15,           // The object was closed.
};

// "kBusy" and so on: the enumerator's name.
std::string_view name(Errc code);

struct Error {
  Errc code;
  std::string detail;

  // "kBusy: store /x is locked by process 4711; close it there or open read-only"
  std::string message() const;
};

namespace detail {

// Success, a code, or a code with a detail, in one word: what a verb returns in the ordinary case,
// absence included, costs a register and no allocation.
class ErrorWord {
 public:
  ErrorWord() = default;
  explicit ErrorWord(Error error)
      : word_(error.detail.empty()
                  ? static_cast<std::uintptr_t>(error.code) << 1 | 1
                  : reinterpret_cast<std::uintptr_t>(new Error(std::move(error)))) {}
  ErrorWord(const ErrorWord& other)
      : word_(other.owns() ? reinterpret_cast<std::uintptr_t>(new Error(*other.owned()))
                           : other.word_) {}
  ErrorWord(ErrorWord&& other) noexcept : word_(std::exchange(other.word_, 0)) {}
  ErrorWord& operator=(ErrorWord other) noexcept {
    std::swap(word_, other.word_);
    return *this;
  }
  ~ErrorWord() {
    if (owns()) [[unlikely]]
      delete owned();
  }

  bool ok() const { return word_ == 0; }
  Errc code() const { return owns() ? owned()->code : static_cast<Errc>(word_ >> 1); }
  const Error& get() const { return owns() ? *owned() : without_detail(code()); }

 private:
  bool owns() const { return word_ != 0 && (word_ & 1) == 0; }
  Error* owned() const { return reinterpret_cast<Error*>(word_); }
  static const Error& without_detail(Errc code);

  std::uintptr_t word_ = 0;
};

}  // namespace detail

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) { new (&value_) T(std::move(value)); }  // NOLINT: implicit by design.
  Result(Error error) : error_(std::move(error)) {}       // NOLINT: implicit by design.
  Result(const Result& other) : error_(other.error_) {
    if (other.has_value()) new (&value_) T(other.value_);
  }
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (other.has_value())
      new (&value_) T(std::move(other.value_));
    else
      error_ = other.error_;  // `other` stays an error.
  }
  // NOLINTNEXTLINE(performance-unnecessary-value-param): a copy or a moved one, as it is called.
  Result& operator=(Result other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (has_value()) value_.~T();
    error_ = other.error_;
    if (other.has_value()) new (&value_) T(std::move(other.value_));
    return *this;
  }
  ~Result() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (has_value()) value_.~T();
    }
  }

  bool has_value() const { return error_.ok(); }
  explicit operator bool() const { return has_value(); }

  // Require a value: calling them on an error is our mistake and stops the process.
  T& value() & { return check(), value_; }
  const T& value() const& { return check(), value_; }
  T&& value() && { return check(), std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? value_ : static_cast<T>(std::forward<U>(other));
  }

  const Error& error() const& {
    HF_CHECK(!has_value());
    return error_.get();
  }
  Error error() && { return static_cast<const Result&>(*this).error(); }
  Errc code() const { return error_.code(); }

 private:
  void check() const {
    if (!has_value()) [[unlikely]]
      check_failed(error_.get().message().c_str(), "Result::value", 0);
  }

  union {
    T value_;  // Constructed iff error_.ok().
  };
  detail::ErrorWord error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design.

  bool has_value() const { return error_.ok(); }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (!has_value()) [[unlikely]]
      check_failed(error_.get().message().c_str(), "Status::value", 0);
  }
  const Error& error() const& {
    HF_CHECK(!has_value());
    return error_.get();
  }
  Error error() && { return static_cast<const Result&>(*this).error(); }
  Errc code() const { return error_.code(); }

 private:
  detail::ErrorWord error_;
};

using Status = Result<void>;
inline Status ok_status() { return {}; }

}  // namespace holdfast

// Returns the error of `expression` to the caller, or goes on.
#define HF_RETURN_IF_ERROR(expression)                          \
  do {                                                          \
    if (auto hf_status = (expression); !hf_status) [[unlikely]] \
      return std::move(hf_status).error();                      \
  } while (false)

#define HF_CONCAT_INNER(a, b) a##b
#define HF_CONCAT(a, b) HF_CONCAT_INNER(a, b)
// HF_ASSIGN_OR_RETURN(auto region, Region::open(spec)): binds the value, or returns the error.
#define HF_ASSIGN_OR_RETURN(declaration, expression)           \
  auto HF_CONCAT(hf_result_, __LINE__) = (expression);         \
  if (!HF_CONCAT(hf_result_, __LINE__)) [[unlikely]]           \
    return std::move(HF_CONCAT(hf_result_, __LINE__)).error(); \
  declaration = std::move(HF_CONCAT(hf_result_, __LINE__)).value()
