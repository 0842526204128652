// words.hpp: the words of a workload file that stand for one of a few things, and back.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/bench/memory/custom_operation.hpp>
#include <holdfast/yaml/diagnostics.hpp>

namespace holdfast::bench::memory {

enum class AccessKind : std::uint8_t {
  kRead,
  kWrite,
  kStreamRead,      // Non-temporal loads. On write-back memory CPUs treat them as loads.
  kCompareAndSwap,  // Of the last 8 bytes of each access.
  kFetchAndAdd,
};

enum class ExecMode : std::uint8_t {
  kSequential,
  kSequentialDescending,
  kStrided,  // Ascending, `stride` bytes apart.
  kRandom,
  kCustom,  // Chains of custom_operations.
  kChase,   // Each address is known only from the read before: latency.
};

enum class NumaPattern : std::uint8_t { kNear, kFar, kBoth };
enum class Distribution : std::uint8_t { kUniform, kZipf };

// How threads divide a sequential range: Daase, Bollmeier, Benson and Rabl, "Maximizing Persistent
// Memory Bandwidth Utilization for OLAP Workloads" (SIGMOD 2021), section 3.1.
enum class Grouping : std::uint8_t {
  kPackages,    // Threads pull packages of min_io_chunk_size from a queue: the published tool.
  kGrouped,     // Access i of thread t is number i * threads + t: one stream of all.
  kIndividual,  // A range for each thread; number_partitions: 0.
};
enum class Pinning : std::uint8_t { kNone, kNode, kCore };

template <class Enum>
struct Word {
  std::string_view text;
  Enum value;
};

// The first word of a value is its name, the others are accepted, too.
template <class Enum>
struct Words;

template <>
struct Words<PersistKind> {
  static constexpr std::array<Word<PersistKind>, 11> kAll = {
      {{"none", PersistKind::kNone},
       {"cache", PersistKind::kCache},
       {"cacheinv", PersistKind::kCacheInvalidate},
       {"nocache", PersistKind::kNoCache},
       {"flush", PersistKind::kFlush},
       {"fence", PersistKind::kFence},
       {"clflush", PersistKind::kFlush},
       {"write-back", PersistKind::kCache},
       {"flush-opt", PersistKind::kCacheInvalidate},
       {"clwb", PersistKind::kCache},
       {"ntstore", PersistKind::kNoCache}}};
};
template <>
struct Words<AccessKind> {
  static constexpr std::array<Word<AccessKind>, 5> kAll = {
      {{"read", AccessKind::kRead},
       {"write", AccessKind::kWrite},
       {"stream-read", AccessKind::kStreamRead},
       {"compare-and-swap", AccessKind::kCompareAndSwap},
       {"fetch-and-add", AccessKind::kFetchAndAdd}}};
};
template <>
struct Words<ExecMode> {
  static constexpr std::array<Word<ExecMode>, 8> kAll = {
      {{"sequential", ExecMode::kSequential},
       {"sequential_desc", ExecMode::kSequentialDescending},
       {"strided", ExecMode::kStrided},
       {"random", ExecMode::kRandom},
       {"custom", ExecMode::kCustom},
       {"chase", ExecMode::kChase},
       {"random_latency", ExecMode::kChase},
       {"latency", ExecMode::kChase}}};
};
template <>
struct Words<NumaPattern> {
  static constexpr std::array<Word<NumaPattern>, 3> kAll = {
      {{"near", NumaPattern::kNear}, {"far", NumaPattern::kFar}, {"both", NumaPattern::kBoth}}};
};
template <>
struct Words<Distribution> {
  static constexpr std::array<Word<Distribution>, 3> kAll = {{{"uniform", Distribution::kUniform},
                                                              {"zipf", Distribution::kZipf},
                                                              {"zipfian", Distribution::kZipf}}};
};
template <>
struct Words<Grouping> {
  static constexpr std::array<Word<Grouping>, 3> kAll = {{{"packages", Grouping::kPackages},
                                                          {"grouped", Grouping::kGrouped},
                                                          {"individual", Grouping::kIndividual}}};
};
template <>
struct Words<Pinning> {
  static constexpr std::array<Word<Pinning>, 5> kAll = {{{"none", Pinning::kNone},
                                                         {"node", Pinning::kNode},
                                                         {"core", Pinning::kCore},
                                                         {"all-numa", Pinning::kNode},
                                                         {"single-fixed", Pinning::kCore}}};
};

template <class Enum>
std::string_view name(Enum value)
  requires requires { Words<Enum>::kAll; }
{
  for (const auto& word : Words<Enum>::kAll) {
    if (word.value == value) return word.text;
  }
  return "unknown";
}

// Errors: kInvalidOption, naming `what`, the word and the nearest one that is valid.
template <class Enum>
Result<Enum> word_of(std::string_view text, std::string_view what) {
  std::vector<std::string_view> all;
  for (const auto& word : Words<Enum>::kAll) {
    if (word.text == text) return word.value;
    all.push_back(word.text);
  }
  return Error{Errc::kInvalidOption, std::string(what) + " " + yaml::in_quotes(text) +
                                         " is unknown" + yaml::suggestion(text, all)};
}

}  // namespace holdfast::bench::memory
