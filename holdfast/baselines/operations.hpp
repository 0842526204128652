// operations.hpp: what the interleaved tables (fp_leaves.hpp, hash_buckets.hpp) take and give.
#pragma once

#include <cstdint>

namespace holdfast::baselines {

// How the operations of a *_many call run.
enum class Machinery : std::uint8_t {
  kLoop,           // One after the other.
  kStateMachines,  // Interleaved, hand-written.
  kCoroutines,     // Interleaved, C++20 coroutines.
};

enum class InsertResult : std::uint8_t { kInserted, kExists, kFull };

struct KeyValue {
  std::uint64_t key;
  std::uint64_t value;
  bool operator==(const KeyValue&) const = default;
};

}  // namespace holdfast::baselines
