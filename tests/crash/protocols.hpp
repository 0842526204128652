// protocols.hpp: what the protocol tests share. The protocols are small models of published
// algorithms, some with a known gap: the checker must find those and pass the others.
//
// "a/b" in the tests' comments is states enumerated / states that violate, as found by an
// independent enumerator of 200 lines. Where ours counts otherwise the test says why: we count
// distinct images, the acknowledged state included, and look at further crash points.
#pragma once

#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <holdfast/crash/checker.hpp>

namespace holdfast::crash::protocols {

using Words = std::vector<std::uint64_t>;

inline std::uint64_t* word(Region& region, std::uint64_t index) {
  return reinterpret_cast<std::uint64_t*>(region.data()) + index;
}
inline std::uint64_t load(Region& region, std::uint64_t index) {
  return Persist::load(word(region, index));
}
inline void store(Region& region, std::uint64_t index, std::uint64_t value,
                  std::source_location site = std::source_location::current()) {
  region.persist().store(word(region, index), value, site);
}
inline void persist(Region& region, std::uint64_t index, std::uint64_t words,
                    std::source_location site = std::source_location::current()) {
  region.persist().persist(word(region, index), words * 8, site);
}
inline void write_back(Region& region, std::uint64_t index, std::uint64_t words,
                       std::source_location site = std::source_location::current()) {
  region.persist().write_back(word(region, index), words * 8, site);
}
inline void fence(Region& region, std::source_location site = std::source_location::current()) {
  region.persist().fence(site);
}
inline void zero(Region& region, std::uint64_t index, std::uint64_t words) {
  for (std::uint64_t i = 0; i < words; ++i) {
    store(region, index + i, 0);
  }
}

// Everything is counted: no limit is met in these tests.
inline Options exhaustive(const Model& model, unsigned depth = 2) {
  Options options;
  options.model = model;
  options.size_bytes = options.unit_bytes = 4 * KiB;
  options.max_size_bytes = 4 * KiB;
  options.images_per_run = 100'000'000;
  options.depth = depth;
  options.keep_going = true;
  options.kills = false;  // These protocols are about power failures, and their numbers are known.
  return options;
}

// A log shows the entries of `past` that were acknowledged, and in order none, some or all of those
// in flight (they share one fence). `entry_of` gives the entry of an operation.
using Entries = std::vector<Words>;
template <class EntryOf>
std::string is_log_of(const Past<Entries>& past, const Entries& observed, EntryOf entry_of) {
  Entries expected = past.base;
  for (const Operation& operation : past.operations) {
    if (!operation.acknowledged()) {
      if (observed == expected) return {};
    }
    expected.push_back(entry_of(operation.id));
  }
  return observed == expected
             ? ""
             : "the log is neither what was acknowledged nor that and a prefix in flight";
}

inline std::string print_entries(const Entries& entries) {
  std::string text;
  for (const Words& entry : entries) {
    text += "[";
    for (const std::uint64_t value : entry) {
      text += " " + std::to_string(value);
    }
    text += " ]";
  }
  return text.empty() ? "empty" : text;
}

}  // namespace holdfast::crash::protocols
