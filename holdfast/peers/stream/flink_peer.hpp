// flink_peer.hpp: Apache Flink as an engine to compare with: how its process is started.
//
// The program is java/flink-peer, which holds a whole cluster of Flink in one process and talks as
// the engines in Python do (peer_process.hpp).
//
//   flink-sql-rocksdb, flink-sql-heap    the query in Flink's SQL, its state in RocksDB or on the
//                                        heap; with RocksDB a checkpoint as often as ours
//   flink-ds-rocksdb, flink-ds-heap      the same by windows of Flink's DataStream API
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::bench::stream {

// One of the four.
bool is_flink(std::string_view name);
// "flink-sql" and "flink-ds" are both of their states; other names are as they were.
std::vector<std::string> with_states_of_flink(const std::vector<std::string>& names);

struct FlinkSetting {
  std::string jars;       // A directory; empty: where `./run bench stream` puts them.
  std::string directory;  // Of its state and checkpoints.
  double checkpoint_seconds = 1;
};

// The program and its words. Errors: kNotFound (no jars: says what builds them).
Result<std::vector<std::string>> flink_command(const std::string& name, unsigned threads,
                                               const FlinkSetting& setting);

}  // namespace holdfast::bench::stream
