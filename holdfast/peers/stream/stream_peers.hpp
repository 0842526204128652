// stream_peers.hpp: other engines as subjects of `holdfast stream bench`: duckdb and polars hold
// the same events as columns in memory, and answer the query as a batch (stream_peers.py); Flink as
// flink_peer.hpp says.
//
// Their seconds are those that they took themselves, from the query to its answer. Each answer is
// compared with ours, outside of these.
#pragma once

#include <memory>
#include <string_view>

#include <holdfast/bench/stream/other_engines.hpp>

namespace holdfast::bench::stream {

extern const std::string_view kStreamPeers;  // stream_peers.py, as it is.

// Their names: duckdb, polars, and those of Flink.
std::unique_ptr<OtherEngines> stream_peers();

}  // namespace holdfast::bench::stream
