// latency_sampler.hpp: the clock behind latencies.hpp.
//
// While it is off, the hot verbs of a store are those of its path and know nothing of this: the
// table of verbs (verb_table.hpp) is exchanged when it is switched (sampled_verbs() in
// latency_sampler.cpp). The verbs that are no part of that table ask `one_in()` once.
// Threads    Any.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include <holdfast/kv/latencies.hpp>
#include <holdfast/kv/verb_table.hpp>

namespace holdfast::kv {

class LatencySampler {
 public:
  std::uint32_t one_in() const { return one_in_.load(std::memory_order_relaxed); }
  void set(std::uint32_t one_in) { one_in_.store(one_in, std::memory_order_relaxed); }
  void record(TimedVerb verb, std::uint64_t ns) {
    Counts& counts = counts_[static_cast<std::size_t>(verb)];
    counts.sum_ns.fetch_add(ns, std::memory_order_relaxed);
    counts.buckets[LatencyCounts::bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
  }
  Latencies snapshot() const;

  // Whether this call of the thread is one to be timed.
  bool is_due() const {
    const std::uint32_t one_in = this->one_in();
    return one_in != 0 && drawn(one_in);
  }

 private:
  // One of `one_in` calls of a thread, at random: verbs that take turns are timed alike.
  static bool drawn(std::uint32_t one_in);
  struct Counts {
    std::atomic<std::uint64_t> sum_ns{0};
    std::array<std::atomic<std::uint64_t>, LatencyCounts::kBuckets> buckets{};
  };
  std::atomic<std::uint32_t> one_in_{0};
  std::array<Counts, kTimedVerbs> counts_;
};

// Times the scope it stands in, if its call is one to be timed.
class LatencyTimer {
 public:
  LatencyTimer(LatencySampler& sampler, TimedVerb verb)
      : sampler_(sampler.is_due() ? &sampler : nullptr), verb_(verb) {
    if (sampler_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }
  ~LatencyTimer() {
    if (sampler_ == nullptr) return;
    const auto spent = std::chrono::steady_clock::now() - begin_;
    sampler_->record(verb_,
                     static_cast<std::uint64_t>(
                         std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count()));
  }
  LatencyTimer(const LatencyTimer&) = delete;

 private:
  LatencySampler* const sampler_;
  const TimedVerb verb_;
  std::chrono::steady_clock::time_point begin_;
};

// The hot verbs of a StoreCore that ask its sampler and then do what its own do.
HotVerbs sampled_verbs();

}  // namespace holdfast::kv
