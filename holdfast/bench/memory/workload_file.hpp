// workload_file.hpp: YAML files of benchmarks, as values.
//
//   hash_index_update:                  the name of the benchmark
//     description: …                    ours; for --list
//     matrix:                           every combination of these lists is measured
//       number_threads: [1, 4, 16]
//     args:                             what all combinations share
//       custom_operations: "r_256,w_64_cache_128,w_64_cache_-128"
//       memory_range: 10G
//
//   log_beside_index:
//     parallel_benchmark:               two benchmarks at the same time
//       log:   { args: … }
//       index: { matrix: …, args: … }
//
//   regions:                            ours: names for memory, for `region:` and `dram_region:`
//     far: { spec: "node:1" }
//     mix: { nodes: [0, 2], weights: [3, 1] }      pages 3 : 1 over two nodes
//
// The format of PerMA-Bench (config.hpp says where it is published), unchanged; config.hpp has the
// keys. A directory stands for all its .yaml and .yml files, recursively, in the order of their
// paths.
//
// Errors     All mistakes of all files at once, with places; what is right is returned beside them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <holdfast/bench/memory/config.hpp>
#include <holdfast/yaml/diagnostics.hpp>

namespace holdfast::bench::memory {

// One combination of a matrix.
struct Variant {
  Config config;
  std::vector<std::pair<std::string, std::string>> matrix;  // Key and value, as in the file.
};

// A benchmark, or one of the two of a parallel one.
struct Part {
  std::string name;
  yaml::Position position;
  std::vector<std::string> matrix_keys;
  std::vector<Variant> variants;  // At least one.
};

struct Benchmark {
  std::string name;
  std::string description;
  std::string file;
  yaml::Position position;
  std::vector<Part> parts;  // One, or two that run at the same time.
  bool parallel() const { return parts.size() > 1; }
  // Combinations of the variants of all parts.
  std::size_t runs() const;
};

struct RegionDefinition {
  std::string name;
  std::string spec = "dram";      // memory/region.hpp.
  std::vector<int> nodes;         // Not empty: pages are spread over these NUMA nodes…
  std::vector<unsigned> weights;  // …so many on each in turn; empty: one.
  std::string file;
  yaml::Position position;
};

struct Workloads {
  std::vector<Benchmark> benchmarks;
  std::vector<RegionDefinition> regions;
};

inline constexpr std::size_t kVariantsMax = 10'000;  // Of one benchmark.

// `path` is a file or a directory.
Workloads read_workloads(const std::string& path, yaml::Diagnostics& diagnostics);
// One file's text; `file` is its name for messages.
void read_workload_text(const std::string& text, const std::string& file, Workloads& workloads,
                        yaml::Diagnostics& diagnostics);

}  // namespace holdfast::bench::memory
