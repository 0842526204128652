// latencies.hpp: how long the verbs of a store take: a sample of its calls, while it is switched on
// (sample_latencies() in store.hpp).
// Public header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::kv {

// put_many and get_many count calls, not records.
enum class TimedVerb : std::uint8_t { kPut, kErase, kUpdateWord, kGet, kPutMany, kGetMany };
inline constexpr std::size_t kTimedVerbs = 6;
std::string_view name(TimedVerb verb);  // "put", "update_word", …

// Each power of two of nanoseconds has four buckets, so a value is known to a quarter.
struct LatencyCounts {
  static constexpr std::size_t kBuckets = 160;  // Up to 18 minutes, and all above.

  std::uint64_t calls = 0;   // That were timed.
  std::uint64_t sum_ns = 0;  // Of all of them.
  std::array<std::uint64_t, kBuckets> buckets{};

  // The largest value of a bucket.
  static std::uint64_t largest_ns(std::size_t bucket);
  static std::size_t bucket_of(std::uint64_t ns);
  // At least `share` (0 … 1) of the calls took no longer; 0 if none was timed.
  std::uint64_t quantile_ns(double share) const;
};

struct Latencies {
  std::uint32_t one_in = 0;  // One in so many calls is timed; 0: none.
  std::array<LatencyCounts, kTimedVerbs> verbs{};
  const LatencyCounts& of(TimedVerb verb) const { return verbs[static_cast<std::size_t>(verb)]; }
};

}  // namespace holdfast::kv
