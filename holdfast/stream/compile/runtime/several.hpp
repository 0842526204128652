// several.hpp: values of several types, one behind the other. What std::tuple is, for which a
// compiler instantiates four to five functions per value and use.
#pragma once

#include <cstddef>
#include <utility>

namespace holdfast::query {

template <std::size_t kNumber, class T>
struct NumberedValue {
  T value{};
};

template <class Numbers, class... Values>
class NumberedValues;

template <std::size_t... kNumbers, class... Values>
class NumberedValues<std::index_sequence<kNumbers...>, Values...>
    : NumberedValue<kNumbers, Values>... {
 public:
  static constexpr std::size_t kCount = sizeof...(Values);

  NumberedValues() = default;
  explicit NumberedValues(const Values&... values)
    requires(kCount > 0)
      : NumberedValue<kNumbers, Values>{values}... {}

  template <std::size_t kNumber>
  auto& get() {
    return of<kNumber>(*this);
  }
  template <std::size_t kNumber>
  const auto& get() const {
    return of<kNumber>(*this);
  }
  // visit(value...)
  template <class Visit>
  decltype(auto) apply(const Visit& visit) {
    return visit(of<kNumbers>(*this)...);
  }
  template <class Visit>
  decltype(auto) apply(const Visit& visit) const {
    return visit(of<kNumbers>(*this)...);
  }

 private:
  template <std::size_t kNumber, class T>
  static T& of(NumberedValue<kNumber, T>& numbered) {
    return numbered.value;
  }
  template <std::size_t kNumber, class T>
  static const T& of(const NumberedValue<kNumber, T>& numbered) {
    return numbered.value;
  }
};

template <class... Values>
using Several = NumberedValues<std::index_sequence_for<Values...>, Values...>;

}  // namespace holdfast::query
