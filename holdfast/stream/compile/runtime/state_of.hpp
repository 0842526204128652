// state_of.hpp: all aggregates of a group.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <holdfast/stream/compile/runtime/aggregates.hpp>
#include <holdfast/stream/compile/runtime/several.hpp>

namespace holdfast::query {

template <class... Aggregates>
struct StateOf {
  // Whether one of them holds values.
  static constexpr bool kHoldsValues = (std::is_base_of_v<HasParts, Aggregates> || ...);

  Several<Aggregates...> all;

  template <std::size_t kNumber>
  auto& get() {
    return all.template get<kNumber>();
  }
  template <std::size_t kNumber>
  const auto& get() const {
    return all.template get<kNumber>();
  }
  void merge(const StateOf& other) { merge(other, std::index_sequence_for<Aggregates...>()); }
  void append(std::string& bytes) const {
    all.apply([&](const auto&... each) { (each.append(bytes), ...); });
  }
  // Visits the aggregates that hold values: visit(number, aggregate) -> go on.
  template <class Visit>
  bool for_each_of_values(const Visit& visit) {
    return for_each_of_values(*this, visit, std::index_sequence_for<Aggregates...>());
  }
  template <class Visit>
  bool for_each_of_values(const Visit& visit) const {
    return for_each_of_values(*this, visit, std::index_sequence_for<Aggregates...>());
  }
  bool has_parts() const {
    return !for_each_of_values([](std::int64_t, const auto& one) { return !one.has_parts(); });
  }
  // About, in memory, of values.
  std::uint64_t held_bytes() const {
    std::uint64_t bytes = 0;
    for_each_of_values(
        [&](std::int64_t, const auto& one) { return bytes += one.held_bytes(), true; });
    return bytes;
  }
  // False: the bytes are no such state, or there are more of them, or values are in parts.
  bool take(Text bytes) { return take_first(bytes) && !has_parts(); }
  // The same, but parts may follow, and end_taking() does.
  bool take_first(Text bytes) {
    const bool taken = all.apply([&](auto&... each) { return (each.take(bytes) && ...); });
    return taken && bytes.size == 0;
  }
  bool take_part(std::int64_t aggregate, std::int64_t number, Text part, std::uint64_t version) {
    bool taken = false;
    for_each_of_values([&](std::int64_t one, auto& values) {
      if (one == aggregate) taken = values.take_part(number, part, version);
      return true;
    });
    return taken;
  }
  bool end_taking() {
    return for_each_of_values([](std::int64_t, auto& values) { return values.end_taking(); });
  }

 private:
  template <class Self, class Visit, std::size_t... kNumbers>
  static bool for_each_of_values([[maybe_unused]] Self& self, const Visit& visit,
                                 std::index_sequence<kNumbers...>) {
    [[maybe_unused]] const auto one = [&](std::int64_t number, auto& aggregate) {
      if constexpr (std::is_base_of_v<HasParts, std::decay_t<decltype(aggregate)>>)
        return visit(number, aggregate);
      else
        return true;
    };
    return (one(kNumbers, self.template get<kNumbers>()) && ...);
  }
  template <std::size_t... kNumbers>
  void merge(const StateOf& other, std::index_sequence<kNumbers...>) {
    (get<kNumbers>().merge(other.get<kNumbers>()), ...);
  }
};

template <class... Aggregates>
inline constexpr bool merges_exactly<StateOf<Aggregates...>> = (merges_exactly<Aggregates> && ...);

}  // namespace holdfast::query
