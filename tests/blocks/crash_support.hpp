// crash_support.hpp: what the crash tests of the building blocks share.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <holdfast/crash/checker.hpp>

namespace holdfast::blocks {

// A share of a second per test; with HOLDFAST_THOROUGH=1 fifty times the states.
inline crash::Options crash_options(const crash::Model& model, std::uint64_t size_bytes) {
  const bool thorough = std::getenv("HOLDFAST_THOROUGH") != nullptr;
  crash::Options options;
  options.model = model;
  options.size_bytes = options.unit_bytes = options.max_size_bytes = size_bytes;
  options.states_per_point = thorough ? 20'000 : 1'000;
  options.nested_states_per_point = thorough ? 20'000 : 40;
  options.images_per_run = thorough ? 200'000 : 3'000;
  return options;
}

using Texts = std::vector<std::string>;

// Of operations in order, each of which adds some texts: all that were acknowledged are there, of
// the one in flight a prefix. `of` gives what an operation adds.
template <class Of>
std::string is_sequence_of(const crash::Past<Texts>& past, const Texts& observed, Of of) {
  Texts expected = past.base;
  for (const crash::Operation& operation : past.operations) {
    for (const std::string& text : of(operation.id)) {
      if (!operation.acknowledged() && observed == expected) return {};
      expected.push_back(text);
    }
  }
  return observed == expected
             ? ""
             : "neither what was acknowledged nor that and a prefix of what was in flight";
}

inline std::string print_texts(const Texts& texts) {
  std::string out;
  for (const auto& text : texts)
    out += "[" + std::to_string(text.size()) + " bytes " + (text.size() < 9 ? text : "") + "]";
  return out.empty() ? "empty" : out;
}

}  // namespace holdfast::blocks
