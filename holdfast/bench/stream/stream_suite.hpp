// stream_suite.hpp: `holdfast stream bench`: a query of ours beside hand-written loops, over the
// same events in memory. Measured by bench/runner.hpp: subjects in turn, every answer checked.
//
//   floor             the shortest loop by hand: no NULL, no late rows, no checkpoints; of NEXMark
//                     q0 to q5, q7 and q8
//   tbb               of window-sum: the same loop over oneTBB's concurrent_hash_map
//   dram, kv          the query, compiled, with its state in DRAM without checkpoints, or in a
//                     region; dram-interpreted, kv-interpreted: the same by the interpreter
//   rocksdb           the same with its state in RocksDB, in a directory at the region's path;
//                     rocksdb-interpreted
//   duckdb, polars    other engines (`compare`), as a batch over the same events
//   flink-…           Apache Flink, of window-sum; both: peers/stream/stream_peers.hpp
//
// With several threads a query has as many workers. Loops by hand have one thread only, and so have
// queries that cannot be split: with more they have no row, and the document's warnings say so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/bench/runner.hpp>

namespace holdfast::bench::stream {

class OtherEngines;

struct StreamBenchOptions {
  std::vector<std::string> queries = {"window-sum"};  // And nexmark-q0 to nexmark-q22.
  std::vector<std::string> states = {"dram", "kv", "floor"};
  std::uint64_t keys = 15'000;          // Of window-sum: 1 to 100,000,000.
  std::uint64_t events = 2'000'000;     // Of NEXMark's three tables together: 1,000 to 100,000,000.
  std::vector<unsigned> threads = {1};  // Workers of a query, threads of others: 1 to 256 each.
  std::vector<std::string> compare;     // duckdb, polars, flink-sql, flink-ds and their states.
  std::string python;                   // Of the first two: one that has their packages.
  std::string flink;                    // A directory with the jars; empty: that of a checkout.
  // Of kv and rocksdb: a path that does not exist, of kv also dram; empty: below /dev/shm, of line
  // granularity.
  std::string region;
  double checkpoint_seconds = 1;    // Of `kv` and `rocksdb`.
  unsigned windows = 1;             // Of one round of window-sum's events: 1 to 100.
  unsigned repeat = 5;              // 1 to 1,000.
  double seconds = 2;               // Rounds are begun for this long; 0.001 to 3,600.
  std::uint64_t events_per_ms = 0;  // 1 to 100,000; 0: 100, and three per key and window at least.
  std::uint64_t seed = 1;
  bool progress = false;
};

// What it writes lies at the region's path, and is gone when it returns. Errors: kInvalidOption
// (names the option, the value seen and what is allowed), kAlreadyExists (the path is there),
// kNotFound (an engine to compare with is not installed: says how to), kIo (of such an engine).
Result<BenchResult> run_stream_bench(const StreamBenchOptions& options, OtherEngines& others);

}  // namespace holdfast::bench::stream
