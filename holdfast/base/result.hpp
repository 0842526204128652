// result.hpp: expected failures are values that cannot be dropped.
// Public header.
//
// Expected failures are not thrown across the API of the library. Result<T> is a T or an Error;
// Status is a Result without a value. The verbs are those of std::expected (C++23): has_value,
// value, *, ->, value_or, error, and_then, transform.
//
// Cost   An error without a text is one word. An error with a text allocates once, where it is
//        made: moving a Result and passing an error on (HF_RETURN_IF_ERROR, HF_ASSIGN_OR_RETURN)
//        neither allocate nor copy the text. Copying a Result copies it.
#pragma once

#include <cstdint>
#include <new>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <holdfast/base/check.hpp>  // Not needed here; many files get HF_CHECK by this include.
#include <holdfast/base/language.hpp>

namespace holdfast {

template <class T>
class Result;

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

// Success, a code, or a code with a text, in one word: what a verb returns in the ordinary case,
// absence included, costs a register and no allocation.
//
// A move hands the text over: it neither allocates nor copies. What was moved from keeps its code
// and loses its text, so that an error never turns into a success.
class ErrorWord {
 public:
  ErrorWord() = default;
  explicit ErrorWord(Error error)
      : word_(error.detail.empty()
                  ? bare(error.code)
                  : reinterpret_cast<std::uintptr_t>(new Error(std::move(error)))) {}
  ErrorWord(const ErrorWord& other)
      : word_(other.owns() ? reinterpret_cast<std::uintptr_t>(new Error(*other.owned()))
                           : other.word_) {}
  ErrorWord(ErrorWord&& other) noexcept : word_(other.word_) {
    if (owns()) [[unlikely]]
      other.word_ = bare(owned()->code);
  }
  ErrorWord& operator=(ErrorWord other) noexcept {
    std::swap(word_, other.word_);
    return *this;
  }
  ~ErrorWord() {
    if (owns()) [[unlikely]]
      delete owned();
  }

  // Over a call that returns in registers: RawResult.
  static ErrorWord adopt(std::uintptr_t word) {
    ErrorWord error;
    error.word_ = word;
    return error;
  }
  std::uintptr_t release() { return std::exchange(word_, 0); }
  static constexpr std::uintptr_t bare(Errc code) {
    return static_cast<std::uintptr_t>(code) << 1 | 1;
  }

  bool ok() const { return word_ == 0; }
  Errc code() const { return owns() ? owned()->code : static_cast<Errc>(word_ >> 1); }
  const Error& get() const { return owns() ? *owned() : without_detail(code()); }
  Error take() { return owns() ? Error{code(), std::move(owned()->detail)} : Error{code(), {}}; }

 private:
  bool owns() const { return word_ != 0 && (word_ & 1) == 0; }
  Error* owned() const { return reinterpret_cast<Error*>(word_); }
  static const Error& without_detail(Errc code);

  std::uintptr_t word_ = 0;  // 0: success. Odd: a code. Else the address of an Error it owns.
};

// Both say what was asked of the result, and where, and stop the process. `where` of the operators
// * and -> is unknown: they can have no further argument.
[[noreturn]] void stop_without_value(const Error& error,
                                     const std::source_location* where) noexcept;
[[noreturn]] void stop_without_error(const std::source_location& where) noexcept;

// What a Result can do whatever it holds. `Self` is the Result.
template <class Self>
class ResultBase {
  using Where = std::source_location;

 public:
  bool has_value() const { return error_.ok(); }
  explicit operator bool() const { return has_value(); }
  Errc code() const { return error_.code(); }  // kOk where there is a value.

  // Require an error. The second form moves its text out.
  const Error& error(const Where& where = Where::current()) const& {
    require_error(where);
    return error_.get();
  }
  Error error(const Where& where = Where::current()) && {
    require_error(where);
    return error_.take();
  }
  // Require an error: what a Result of another type takes over. The second form moves the text.
  ErrorWord pass_on(const Where& where = Where::current()) const& {
    require_error(where);
    return error_;
  }
  ErrorWord pass_on(const Where& where = Where::current()) && {
    require_error(where);
    return std::move(error_);
  }

  // next(value), which returns a Result, or this error.
  template <class F>
  auto and_then(F&& next) const& {
    return chain(self(), std::forward<F>(next));
  }
  template <class F>
  auto and_then(F&& next) && {
    return chain(std::move(self()), std::forward<F>(next));
  }
  // A Result of change(value), or this error.
  template <class F>
  auto transform(F&& change) const& {
    return changed(self(), std::forward<F>(change));
  }
  template <class F>
  auto transform(F&& change) && {
    return changed(std::move(self()), std::forward<F>(change));
  }

 protected:
  ResultBase() = default;
  explicit ResultBase(ErrorWord error) : error_(std::move(error)) {}

  void require_error(const Where& where) const {
    if (has_value()) [[unlikely]]
      stop_without_error(where);
  }
  void require_value(const Where* where) const {
    if (!has_value()) [[unlikely]]
      stop_without_value(error_.get(), where);
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
  Self& self() { return static_cast<Self&>(*this); }

  template <class R, class F>
  static decltype(auto) call(R&& result, F&& function) {
    if constexpr (std::is_void_v<typename Self::value_type>)
      return std::forward<F>(function)();
    else
      return std::forward<F>(function)(*std::forward<R>(result));
  }
  template <class R, class F>
  static auto chain(R&& result, F&& next) {
    using Next = std::remove_cvref_t<decltype(call(std::forward<R>(result), next))>;
    if (!result) return Next(std::forward<R>(result).pass_on());
    return Next(call(std::forward<R>(result), std::forward<F>(next)));
  }
  template <class R, class F>
  static auto changed(R&& result, F&& change) {
    using Value = std::remove_cvref_t<decltype(call(std::forward<R>(result), change))>;
    if (!result) return Result<Value>(std::forward<R>(result).pass_on());
    if constexpr (std::is_void_v<Value>) {
      call(std::forward<R>(result), std::forward<F>(change));
      return Result<Value>();
    } else {
      return Result<Value>(call(std::forward<R>(result), std::forward<F>(change)));
    }
  }

  ErrorWord error_;
  friend Self;
};

}  // namespace detail

// A Result of a small value as two registers hold it: what a function behind a pointer returns on
// a hot path, so that it can end in a jump to another one. Exactly one Result is made of it, which
// then owns the error.
template <class T>
struct RawResult {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uintptr_t));
  using value_type = T;
  std::uintptr_t error = 0;
  T value{};

  static RawResult without_detail(Errc code) { return {detail::ErrorWord::bare(code), {}}; }
};

template <class T>
class [[nodiscard]] Result : public detail::ResultBase<Result<T>> {
  using Base = detail::ResultBase<Result<T>>;
  using Where = std::source_location;

 public:
  using value_type = T;
  Result(T value) { new (&value_) T(std::move(value)); }              // NOLINT: implicit.
  Result(Error error) : Base(detail::ErrorWord(std::move(error))) {}  // NOLINT: implicit.
  Result(detail::ErrorWord error) : Base(std::move(error)) {}         // NOLINT: implicit.
  static Result of(RawResult<T> raw) {
    Result result(detail::ErrorWord::adopt(raw.error));
    new (&result.value_) T(raw.value);  // Trivial, and nobody looks at it beside an error.
    return result;
  }
  RawResult<T> raw() && {
    const T value = this->has_value() ? value_ : T{};
    return {this->error_.release(), value};
  }
  Result(const Result& other) : Base(other) {
    if (other.has_value()) new (&value_) T(other.value_);
  }
  Result(Result&& other) noexcept : Base(std::move(other)) {
    static_assert(std::is_nothrow_move_constructible_v<T>);
    if (this->has_value()) new (&value_) T(std::move(other.value_));
  }
  // NOLINTNEXTLINE(performance-unnecessary-value-param): a copy or a moved one, as it is called.
  Result& operator=(Result other) noexcept {
    if (this->has_value()) value_.~T();
    this->error_ = std::move(other.error_);
    if (this->has_value()) new (&value_) T(std::move(other.value_));
    return *this;
  }
  ~Result() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (this->has_value()) value_.~T();
    }
  }

  // Require a value. On an error the process stops and says which error it was and where this was
  // called; the operators cannot know where, so that samples and tests better say value().
  T& value(const Where& where = Where::current()) & { return this->require_value(&where), value_; }
  const T& value(const Where& where = Where::current()) const& {
    return this->require_value(&where), value_;
  }
  T&& value(const Where& where = Where::current()) && {
    return this->require_value(&where), std::move(value_);
  }
  T& operator*() & { return this->require_value(nullptr), value_; }
  const T& operator*() const& { return this->require_value(nullptr), value_; }
  T&& operator*() && { return this->require_value(nullptr), std::move(value_); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  template <class U>
  T value_or(U&& other) const& {
    return this->has_value() ? value_ : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return this->has_value() ? std::move(value_) : static_cast<T>(std::forward<U>(other));
  }

 private:
  union {
    T value_;  // Constructed iff has_value().
  };
};

template <>
class [[nodiscard]] Result<void> : public detail::ResultBase<Result<void>> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : ResultBase(detail::ErrorWord(std::move(error))) {}  // NOLINT: implicit.
  Result(detail::ErrorWord error) : ResultBase(std::move(error)) {}         // NOLINT: implicit.

  void value(const std::source_location& where = std::source_location::current()) const {
    require_value(&where);
  }
};

using Status = Result<void>;
inline Status ok_status() { return {}; }

}  // namespace holdfast

// Returns the error of `expression` to the caller, or goes on. The caller returns a Result.
#define HF_RETURN_IF_ERROR(expression)                          \
  do {                                                          \
    if (auto hf_status = (expression); !hf_status) [[unlikely]] \
      return std::move(hf_status).pass_on();                    \
  } while (false)

#define HF_CONCAT_INNER(a, b) a##b
#define HF_CONCAT(a, b) HF_CONCAT_INNER(a, b)
// HF_ASSIGN_OR_RETURN(auto region, Region::open(spec)): binds the value, or returns the error.
#define HF_ASSIGN_OR_RETURN(declaration, expression)             \
  auto HF_CONCAT(hf_result_, __LINE__) = (expression);           \
  if (!HF_CONCAT(hf_result_, __LINE__)) [[unlikely]]             \
    return std::move(HF_CONCAT(hf_result_, __LINE__)).pass_on(); \
  declaration = *std::move(HF_CONCAT(hf_result_, __LINE__))
