// dash_crash.hpp: a Dash index under the harness of index_crash.hpp. A test names a key by its
// hash.
#pragma once

#include <utility>

#include "../index_crash.hpp"
#include "dash_support.hpp"

namespace holdfast::index {

template <>
struct IndexTraits<Dash> {
  static constexpr bool kOrdered = false;
  static std::uint64_t key_of(const Region& region, std::uint64_t hash) {
    return key_of_hash(hash, id_of(region));
  }
  static std::uint64_t name_of(const Region& region, std::uint64_t key) {
    return hash_of_key(key, id_of(region));
  }
  template <class Visit>
  static Status each(const Dash& dash, Visit&& visit) {
    return dash.for_each(std::forward<Visit>(visit));
  }
};

using DashRun = IndexRun<Dash, DashOptions>;

}  // namespace holdfast::index
