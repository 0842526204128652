#include <holdfast/kv/latency_sampler.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {
namespace {

constexpr unsigned kPartBits = 2;
constexpr std::uint64_t kParts = 1 << kPartBits;

// The verb of the table that `kMember` is, timed.
template <TimedVerb kVerb, auto kMember, class Returned, class... Arguments>
Returned timed(HotVerbs& table, Arguments... arguments) {
  StoreCore& core = static_cast<StoreCore&>(table);
  const LatencyTimer timer(core.latencies, kVerb);
  return (core.untimed().*kMember)(table, arguments...);
}

}  // namespace

std::string_view name(TimedVerb verb) {
  constexpr std::array<std::string_view, kTimedVerbs> kNames = {"put", "erase",    "update_word",
                                                                "get", "put_many", "get_many"};
  return kNames[static_cast<std::size_t>(verb)];
}

std::size_t LatencyCounts::bucket_of(std::uint64_t ns) {
  if (ns < kParts) return ns;
  const auto power = static_cast<unsigned>(std::bit_width(ns)) - 1;
  const std::uint64_t part = ns >> (power - kPartBits) & (kParts - 1);
  return std::min<std::size_t>(kParts * (power - kPartBits + 1) + part, kBuckets - 1);
}

std::uint64_t LatencyCounts::largest_ns(std::size_t bucket) {
  if (bucket < kParts) return bucket;
  const auto shift = bucket / kParts - 1;
  return ((kParts + bucket % kParts + 1) << shift) - 1;
}

std::uint64_t LatencyCounts::quantile_ns(double share) const {
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(calls))));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets[bucket];
    if (seen >= wanted) return largest_ns(bucket);
  }
  return 0;
}

bool LatencySampler::drawn(std::uint32_t one_in) {
  thread_local Random random(reinterpret_cast<std::uintptr_t>(&random));
  thread_local std::uint32_t drawn_for = 0;
  thread_local std::uint64_t to_skip = 0;  // Calls until the next one that is timed.
  if (drawn_for == one_in && to_skip != 0) {
    --to_skip;
    return false;
  }
  // After a change of `one_in` this call would always be taken: it may be skipped, too.
  const bool taken = drawn_for == one_in || one_in == 1;
  drawn_for = one_in;
  to_skip = random.below(2 * std::uint64_t{one_in} - 1);
  return taken;
}

Latencies LatencySampler::snapshot() const {
  Latencies latencies;
  latencies.one_in = one_in();
  for (std::size_t verb = 0; verb < kTimedVerbs; ++verb) {
    LatencyCounts& counts = latencies.verbs[verb];
    counts.sum_ns = counts_[verb].sum_ns.load(std::memory_order_relaxed);
    for (std::size_t bucket = 0; bucket < counts.buckets.size(); ++bucket) {
      counts.buckets[bucket] = counts_[verb].buckets[bucket].load(std::memory_order_relaxed);
      counts.calls += counts.buckets[bucket];
    }
  }
  return latencies;
}

HotVerbs sampled_verbs() {
  using Text = std::string_view;
  using Buffer = std::span<std::byte>;
  using Word = HotVerbs::Word;
  return {
      &timed<TimedVerb::kPut, &HotVerbs::put, RawResult<PutOutcome>, Text, Text>,
      &timed<TimedVerb::kErase, &HotVerbs::erase, RawResult<bool>, Text>,
      &timed<TimedVerb::kUpdateWord, &HotVerbs::update_word, Word, Text, std::uint32_t,
             HotVerbs::Change>,
      &timed<TimedVerb::kGet, &HotVerbs::get, Word, Text, Buffer>,
      &timed<TimedVerb::kGet, &HotVerbs::get_length, Word, Text, Buffer>,
      &timed<TimedVerb::kGet, &HotVerbs::get_text, Word, Text, std::string&>,
  };
}

}  // namespace holdfast::kv
