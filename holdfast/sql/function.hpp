// function.hpp: functions of SQL that a user writes in C++.
// Public header.
//
//   double net(double price, double rate) { return price / (1 + rate); }
//   HF_FUNCTION(net_price) = holdfast::functions::scalar(net);
//
//   struct Product {                       // An aggregate: the state of one group.
//     double product = 1;
//     void add(double value) { product *= value; }
//     void merge(const Product& other) { product *= other.product; }
//     double result() const { return product; }
//   };
//   HF_FUNCTION(product) = holdfast::functions::aggregate<Product>();
//
//   g++ -std=c++20 -O2 -shared -fPIC -I… functions.cpp -o libfunctions.so
//   CREATE FUNCTION NetPrice AS 'net_price' LANGUAGE CPP USING LIBRARY 'libfunctions.so';
//
// docs/functions.md is the guide. The header needs no library.
//
// Types    bool, std::int8_t to std::int64_t, float, double, std::string_view and std::string,
//          Date, Timestamp, Decimal<precision, scale>. An argument that may be NULL is a
//          std::optional of one: without it, a row with NULL there is not passed on (a scalar
//          function is NULL of it, an aggregate skips it).
// Results  T, std::optional<T>, or Outcome<T>, which may be an Error. An Error or an exception ends
//          the query; the message names the function and its arguments.
// Threads  A scalar function is called by several threads at a time, an aggregate's state by one.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast::functions {

// ---- Values ----

__extension__ typedef __int128 Int128;

struct Date {
  std::int32_t days = 0;  // Since 1970-01-01.
  auto operator<=>(const Date&) const = default;
};
struct Timestamp {
  std::int64_t ms = 0;  // Since 1970-01-01.
  auto operator<=>(const Timestamp&) const = default;
};
template <unsigned kPrecision, unsigned kScale>
struct Decimal {
  static_assert(kPrecision >= 1 && kPrecision <= 38 && kScale <= kPrecision);
  Int128 number = 0;  // 1.25 of scale 2 is 125.
  auto operator<=>(const Decimal&) const = default;
};

struct Error {
  std::string text;
};

// A T, NULL or an error. A user returns it by `return value;`, `return std::nullopt;` or
// `return Error{"…"};`.
template <class T>
class Outcome {
 public:
  template <std::convertible_to<T> U = T>
  Outcome(U&& value) : what_(std::in_place_type<T>, static_cast<T>(std::forward<U>(value))) {}
  Outcome(std::nullopt_t) {}
  Outcome(std::optional<T> value) {
    if (value) what_ = *std::move(value);
  }
  Outcome(Error error) : what_(std::move(error)) {}

  const T* value() const { return std::get_if<T>(&what_); }
  const Error* error() const { return std::get_if<Error>(&what_); }

 private:
  std::variant<std::monostate, T, Error> what_;
};
// What add(), take_back() and merge() may return.
template <>
class Outcome<void> {
 public:
  Outcome() = default;
  Outcome(Error error) : error_(std::move(error)) {}
  const Error* error() const { return error_ ? &*error_ : nullptr; }

 private:
  std::optional<Error> error_;
};

// ---- Where a library and the command meet: plain data, no class of the standard library ----

// Changes with any declaration of this part. A library of another interface is refused.
inline constexpr std::uint32_t kInterface = 1;

enum class Kind : std::uint8_t {
  kBoolean = 1,
  kTinyInt,
  kSmallInt,
  kInt,
  kBigInt,
  kDecimal,
  kFloat,
  kDouble,
  kString,
  kDate,
  kTimestamp,
};
struct Type {
  Kind kind = Kind::kBoolean;
  std::uint8_t precision = 0, scale = 0;  // Of a decimal.
  bool nullable = false;                  // Of an argument: the function sees NULL.
};

struct Text {
  const char* data;
  std::uint64_t bytes;
};
struct Slot {
  union {
    Int128 number;  // Booleans, integers, decimals, dates, timestamps.
    double real;
    Text text;
  };
  bool null;  // Nothing else is set then.
};
// What a call leaves behind. The functions copy what they are given.
struct Reply {
  Slot value;
  void (*take_text)(Reply& reply, const char* data, std::uint64_t bytes);
  void (*fail)(Reply& reply, const char* text, std::uint64_t bytes);
};

// An aggregate. Those that return bool return false after Reply::fail().
struct Aggregate {
  void* (*create)(Reply&);  // Null after Reply::fail().
  void* (*copy)(const void* state, Reply&);
  void (*destroy)(void* state);
  bool (*add)(void* state, const Slot* arguments, Reply&);
  bool (*take_back)(void* state, const Slot* arguments, Reply&);  // Null: there is none.
  bool (*merge)(void* state, const void* other, Reply&);          // Null: there is none.
  bool (*result)(const void* state, Reply&);
  bool (*encode)(const void* state, Reply&);  // To Reply::take_text().
  bool (*decode)(void* state, const char* data, std::uint64_t bytes, Reply&);
};
// One function of a name, told from others of it by its arguments.
struct Overload {
  const Type* arguments;
  std::uint32_t count;
  Type result;
  bool (*call)(const void* target, const Slot* arguments, Reply&);  // Null: an aggregate.
  const void* target;
  const Aggregate* aggregate;
};
struct Definition {
  std::uint32_t interface = kInterface;
  std::uint32_t version = 1;
  bool deterministic = true;
  std::uint32_t count = 0;
  const Overload* overloads = nullptr;

  // Raise it when the function computes something else, or its state has another form: a query
  // then refuses state that an earlier version has made.
  Definition with_version(std::uint32_t number) const {
    Definition changed = *this;
    changed.version = number;
    return changed;
  }
  // Equal arguments may have different results: it is called for each row, and once for each call
  // in the text.
  Definition not_deterministic() const {
    Definition changed = *this;
    changed.deterministic = false;
    return changed;
  }
};

// ---- From C++ types ----

namespace detail {

template <class T>
struct TypeOf {
  static_assert(sizeof(T) == 0, "no type of SQL: see the list in function.hpp");
};
template <Kind kKind, class T>
struct NumberType {
  static constexpr Type type{kKind};
  static T of(const Slot& slot) { return static_cast<T>(slot.number); }
  static void put(T value, Reply& reply) { reply.value.number = value; }
};
template <>
struct TypeOf<bool> : NumberType<Kind::kBoolean, bool> {};
template <>
struct TypeOf<std::int8_t> : NumberType<Kind::kTinyInt, std::int8_t> {};
template <>
struct TypeOf<std::int16_t> : NumberType<Kind::kSmallInt, std::int16_t> {};
template <>
struct TypeOf<std::int32_t> : NumberType<Kind::kInt, std::int32_t> {};
template <>
struct TypeOf<std::int64_t> : NumberType<Kind::kBigInt, std::int64_t> {};
template <>  // std::int64_t is `long` on this platform: the other type of 64 bits.
struct TypeOf<long long> : NumberType<Kind::kBigInt, long long> {};
template <Kind kKind, class T>
struct RealType {
  static constexpr Type type{kKind};
  static T of(const Slot& slot) { return static_cast<T>(slot.real); }
  static void put(T value, Reply& reply) { reply.value.real = static_cast<double>(value); }
};
template <>
struct TypeOf<float> : RealType<Kind::kFloat, float> {};
template <>
struct TypeOf<double> : RealType<Kind::kDouble, double> {};
template <class T>
struct TextType {
  static constexpr Type type{Kind::kString};
  static T of(const Slot& slot) { return T(slot.text.data, slot.text.bytes); }
  static void put(std::string_view text, Reply& reply) {
    reply.take_text(reply, text.data(), text.size());
  }
};
template <>
struct TypeOf<std::string_view> : TextType<std::string_view> {};
template <>
struct TypeOf<std::string> : TextType<std::string> {};
template <>
struct TypeOf<Date> {
  static constexpr Type type{Kind::kDate};
  static Date of(const Slot& slot) { return {static_cast<std::int32_t>(slot.number)}; }
  static void put(Date value, Reply& reply) { reply.value.number = value.days; }
};
template <>
struct TypeOf<Timestamp> {
  static constexpr Type type{Kind::kTimestamp};
  static Timestamp of(const Slot& slot) { return {static_cast<std::int64_t>(slot.number)}; }
  static void put(Timestamp value, Reply& reply) { reply.value.number = value.ms; }
};
template <unsigned kPrecision, unsigned kScale>
struct TypeOf<Decimal<kPrecision, kScale>> {
  static constexpr Type type{Kind::kDecimal, kPrecision, kScale};
  static Decimal<kPrecision, kScale> of(const Slot& slot) { return {slot.number}; }
  static void put(Decimal<kPrecision, kScale> value, Reply& reply) {
    reply.value.number = value.number;
  }
};

// Of an argument: T or std::optional<T>.
template <class T>
struct Argument {
  static constexpr Type type = TypeOf<T>::type;
  static T of(const Slot& slot) { return TypeOf<T>::of(slot); }
};
template <class T>
struct Argument<std::optional<T>> {
  static constexpr Type type{TypeOf<T>::type.kind, TypeOf<T>::type.precision, TypeOf<T>::type.scale,
                             true};
  static std::optional<T> of(const Slot& slot) {
    return slot.null ? std::nullopt : std::optional<T>(TypeOf<T>::of(slot));
  }
};

inline bool fail(std::string_view text, Reply& reply) {
  reply.fail(reply, text.data(), text.size());
  return false;
}

// How a result is put. False: it is an error.
template <class T>
struct Given {
  using Value = T;
  static bool put(const T& value, Reply& reply) {
    reply.value.null = false;
    TypeOf<T>::put(value, reply);
    return true;
  }
};
template <class T>
struct Given<std::optional<T>> {
  using Value = T;
  static bool put(const std::optional<T>& value, Reply& reply) {
    return value ? Given<T>::put(*value, reply) : (reply.value.null = true);
  }
};
template <class T>
struct Given<Outcome<T>> {
  using Value = T;
  static bool put(const Outcome<T>& outcome, Reply& reply) {
    if (outcome.error() != nullptr) return fail(outcome.error()->text, reply);
    return outcome.value() ? Given<T>::put(*outcome.value(), reply) : (reply.value.null = true);
  }
};

// Calls a function without a value. False: it made an error.
template <class Call>
bool done(const Call& call, Reply& reply) {
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return true;
  } else {
    const Outcome<void> outcome = call();
    return outcome.error() == nullptr || fail(outcome.error()->text, reply);
  }
}

// Nothing is thrown across the border.
template <class Call>
bool guarded(Reply& reply, const Call& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return fail(e.what(), reply);
  } catch (...) {
    return fail("an exception that is no std::exception", reply);
  }
}

template <class R, class... Arguments>
struct Signature {
  using Result = std::remove_cvref_t<R>;
  static constexpr std::uint32_t kCount = sizeof...(Arguments);
  // One more, since there is no array of none.
  static constexpr Type kTypes[kCount + 1] = {Argument<std::remove_cvref_t<Arguments>>::type...};

  static bool has_unwanted_null(const Slot* slots) {
    for (std::uint32_t i = 0; i < kCount; ++i)
      if (slots[i].null && !kTypes[i].nullable) return true;
    return false;
  }
  // function(arguments…). A result that refers to an argument is valid within `function` only.
  template <class F>
  static bool apply(const F& function, const Slot* slots) {
    return apply(function, slots, std::make_index_sequence<kCount>());
  }

 private:
  template <class F, std::size_t... kNumbers>
  static bool apply(const F& function, [[maybe_unused]] const Slot* slots,
                    std::index_sequence<kNumbers...>) {
    return function(Argument<std::remove_cvref_t<Arguments>>::of(slots[kNumbers])...);
  }
};

template <class F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
template <class R, class... Arguments>
struct SignatureOf<R (*)(Arguments...)> : Signature<R, Arguments...> {};
template <class R, class... Arguments>
struct SignatureOf<R (*)(Arguments...) noexcept> : Signature<R, Arguments...> {};
template <class R, class C, class... Arguments>
struct SignatureOf<R (C::*)(Arguments...)> : Signature<R, Arguments...> {};
template <class R, class C, class... Arguments>
struct SignatureOf<R (C::*)(Arguments...) const> : Signature<R, Arguments...> {};
template <class R, class C, class... Arguments>
struct SignatureOf<R (C::*)(Arguments...) noexcept> : Signature<R, Arguments...> {};
template <class R, class C, class... Arguments>
struct SignatureOf<R (C::*)(Arguments...) const noexcept> : Signature<R, Arguments...> {};

// What queries call is there until the process ends. It is in a list, so that it is no leak.
struct Kept {
  Kept* next = nullptr;
};
inline std::atomic<Kept*> all_kept{nullptr};
template <class T>
const T* keep(T value) {
  struct Holder : Kept {
    explicit Holder(T held) : value(std::move(held)) {}
    const T value;
  };
  auto* const holder = new Holder(std::move(value));
  holder->next = all_kept.exchange(holder);
  return &holder->value;
}

template <class F>
Overload scalar_overload(F function) {
  using Of = SignatureOf<F>;
  using Result = Given<typename Of::Result>;
  const auto call = [](const void* target, const Slot* slots, Reply& reply) {
    if (Of::has_unwanted_null(slots)) return reply.value.null = true;
    const auto put = [&](auto&&... values) {
      const F& called = *static_cast<const F*>(target);
      return Result::put(called(std::forward<decltype(values)>(values)...), reply);
    };
    return guarded(reply, [&] { return Of::apply(put, slots); });
  };
  return {
      Of::kTypes, Of::kCount, TypeOf<typename Result::Value>::type, call, keep(std::move(function)),
      nullptr};
}

template <class S>
concept TakesBack = requires { &S::take_back; };
template <class S>
concept Merges = requires { &S::merge; };
template <class S>
concept Encodes = requires { &S::encode; };

// The functions of Aggregate, of a state of class S.
template <class S>
struct Calls {
  using Of = SignatureOf<decltype(&S::add)>;
  using Result = Given<typename SignatureOf<decltype(&S::result)>::Result>;
  static_assert(Encodes<S> || std::is_trivially_copyable_v<S>,
                "the state is stored as its bytes: it wants encode() and decode(), or no pointers");

  static S& state(void* at) { return *static_cast<S*>(at); }
  static const S& state(const void* at) { return *static_cast<const S*>(at); }

  template <class Make>
  static void* made(Reply& reply, const Make& make) {
    void* state = nullptr;
    return guarded(reply, [&] { return (state = make()) != nullptr; }) ? state : nullptr;
  }
  static void* create(Reply& reply) {
    return made(reply, [] { return new S(); });
  }
  static void* copy(const void* of, Reply& reply) {
    return made(reply, [&] { return new S(state(of)); });
  }
  static void destroy(void* at) { delete &state(at); }
  static bool add(void* at, const Slot* slots, Reply& reply) {
    if (Of::has_unwanted_null(slots)) return true;
    const auto add_one = [&](auto&&... values) {
      return done([&] { return state(at).add(std::forward<decltype(values)>(values)...); }, reply);
    };
    return guarded(reply, [&] { return Of::apply(add_one, slots); });
  }
  static bool take_back(void* at, const Slot* slots, Reply& reply) {
    if (Of::has_unwanted_null(slots)) return true;
    const auto take_one = [&](auto&&... values) {
      const auto call = [&] {
        return state(at).take_back(std::forward<decltype(values)>(values)...);
      };
      return done(call, reply);
    };
    return guarded(reply, [&] { return Of::apply(take_one, slots); });
  }
  static bool merge(void* at, const void* other, Reply& reply) {
    return guarded(reply,
                   [&] { return done([&] { return state(at).merge(state(other)); }, reply); });
  }
  static bool result(const void* at, Reply& reply) {
    return guarded(reply, [&] { return Result::put(state(at).result(), reply); });
  }
  static bool encode(const void* at, Reply& reply) {
    return guarded(reply, [&] {
      if constexpr (Encodes<S>) {
        const std::string bytes = state(at).encode();
        reply.take_text(reply, bytes.data(), bytes.size());
      } else {
        reply.take_text(reply, static_cast<const char*>(at), sizeof(S));
      }
      return true;
    });
  }
  static bool decode(void* at, const char* data, std::uint64_t bytes, Reply& reply) {
    return guarded(reply, [&]() -> bool {
      if constexpr (Encodes<S>) {
        if (state(at).decode(std::string_view(data, bytes))) return true;
      } else if (bytes == sizeof(S)) {
        std::memcpy(at, data, sizeof(S));
        return true;
      }
      return fail("the bytes are no state of it", reply);
    });
  }
};

// Kept as scalar functions are. A static here would be one for all libraries of a process with a
// state class of this name.
template <class S>
Overload aggregate_overload() {
  using All = Calls<S>;
  Aggregate calls{};
  calls.create = All::create;
  calls.copy = All::copy;
  calls.destroy = All::destroy;
  calls.add = All::add;
  if constexpr (TakesBack<S>) calls.take_back = All::take_back;
  if constexpr (Merges<S>) calls.merge = All::merge;
  calls.result = All::result;
  calls.encode = All::encode;
  calls.decode = All::decode;
  return {All::Of::kTypes, All::Of::kCount, TypeOf<typename All::Result::Value>::type,
          nullptr,         nullptr,         keep(calls)};
}

template <class... Overloads>
Definition definition_of(Overloads... overloads) {
  using All = std::array<Overload, sizeof...(Overloads)>;
  Definition definition;
  definition.count = sizeof...(Overloads);
  definition.overloads = keep(All{overloads...})->data();
  return definition;
}

}  // namespace detail

// ---- What a user calls ----

// Functions of one name. A call means the one of exactly its types, else the first to whose types
// its arguments widen.
template <class... Functions>
Definition scalar(Functions... functions) {
  static_assert(sizeof...(Functions) > 0);
  return detail::definition_of(detail::scalar_overload(std::move(functions))...);
}

// Aggregates of one name, told apart as above. A State has
//   void add(arguments…)               a row's values (or Outcome<void>, as below)
//   T result() const
// and if it can
//   void merge(const State& other)     rows of `other`: without it, state is not put together of
//                                      parts, and the order of rows may count
//   void take_back(arguments…)         undoes an add(); without it, values that may be taken back
//                                      are all kept
//   std::string encode() const, bool decode(std::string_view)
//                                      for the checkpoint; without them it is stored as it is
template <class... States>
Definition aggregate() {
  static_assert(sizeof...(States) > 0);
  return detail::definition_of(detail::aggregate_overload<States>()...);
}

}  // namespace holdfast::functions

// Exports a definition by a name, which CREATE FUNCTION … AS 'name' says.
#define HF_FUNCTION(name)                                           \
  extern "C" __attribute__((visibility("default")))                 \
  const ::holdfast::functions::Definition holdfast_function_##name; \
  const ::holdfast::functions::Definition holdfast_function_##name
