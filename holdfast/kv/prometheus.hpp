// prometheus.hpp: what a store knows of itself as text for Prometheus, to be served by the program
// that has the store, or printed by `holdfast kv STORE stats --prometheus`.
// Public header.
#pragma once

#include <string>
#include <string_view>

#include <holdfast/kv/latencies.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

// The exposition format, version 0.0.4: HELP and TYPE of each metric, then its samples, with the
// label store="…", in which bytes that are no UTF-8 are \xNN. While calls are timed, and
// afterwards, each verb has a histogram with the same buckets, whatever was called. Pure.
std::string prometheus_text(const StoreStats& stats, const Latencies& latencies,
                            std::string_view store);

}  // namespace holdfast::kv
