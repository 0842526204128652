// Workload files: what they mean, and every mistake with its place.
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include <holdfast/bench/memory/plan.hpp>
#include <holdfast/bench/memory/rows.hpp>
#include <holdfast/bench/memory/workload_file.hpp>
#include <holdfast/yaml/tree.hpp>

namespace holdfast::bench::memory {
namespace {

Workloads read(const std::string& text, yaml::Diagnostics& diagnostics) {
  Workloads workloads;
  read_workload_text(text, "w.yaml", workloads, diagnostics);
  return workloads;
}

Config config_of(const std::string& args) {
  yaml::Diagnostics diagnostics;
  const auto workloads = read("b:\n  args: {" + args + "}\n", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return workloads.benchmarks.empty() ? Config()
                                      : workloads.benchmarks[0].parts[0].variants[0].config;
}

// What is said about a file.
std::string mistakes(const std::string& text) {
  yaml::Diagnostics diagnostics;
  (void)read(text, diagnostics);
  return diagnostics.text();
}

TEST(WorkloadFile, DefaultsAreThoseOfThePublishedFormat) {
  const auto c = config_of("access_size: 256");
  EXPECT_EQ(c.access_bytes, 256u);
  EXPECT_EQ(c.memory_range.bytes, 10 * GiB);
  EXPECT_EQ(c.dram_memory_range.bytes, 0u);
  EXPECT_EQ(c.number_operations, 100'000'000u);
  EXPECT_EQ(c.number_threads, 1u);
  EXPECT_EQ(c.run_time_s, 0);
  EXPECT_EQ(c.operation, AccessKind::kRead);
  EXPECT_EQ(c.exec_mode, ExecMode::kSequential);
  EXPECT_EQ(c.persist, PersistKind::kNoCache);
  EXPECT_EQ(c.number_partitions, 1u);
  EXPECT_EQ(c.distribution, Distribution::kUniform);
  EXPECT_EQ(c.zipf_alpha, 0.9);
  EXPECT_EQ(c.latency_sample_frequency, 0u);
  EXPECT_TRUE(c.prefault);
  EXPECT_TRUE(c.dram_huge_pages);
  EXPECT_EQ(c.min_io_chunk_bytes, 64 * MiB);
}

TEST(WorkloadFile, AllNineteenPublishedKeysAreRead) {
  std::size_t published = 0;
  for (const auto& key : keys())
    published += key.published;
  EXPECT_EQ(published, 19u);
  const auto c = config_of(
      "access_size: 512, memory_range: 1G, dram_memory_range: 2G, dram_operation_ratio: 0.3, "
      "number_operations: 1000, number_threads: 4, run_time: 7, operation: write, exec_mode: "
      "random, "
      "persist_instruction: cacheinv, number_partitions: 2, numa_pattern: far, "
      "random_distribution: zipf, zipf_alpha: 0.5, latency_sample_frequency: 50, "
      "prefault_file: false, dram_huge_pages: false, min_io_chunk_size: 1M");
  EXPECT_EQ(c.access_bytes, 512u);
  EXPECT_EQ(c.memory_range.bytes, GiB);
  EXPECT_EQ(c.dram_memory_range.bytes, 2 * GiB);
  EXPECT_EQ(c.dram_operation_ratio, 0.3);
  EXPECT_EQ(c.number_operations, 1000u);
  EXPECT_EQ(c.number_threads, 4u);
  EXPECT_EQ(c.run_time_s, 7);
  EXPECT_EQ(c.operation, AccessKind::kWrite);
  EXPECT_EQ(c.exec_mode, ExecMode::kRandom);
  EXPECT_EQ(c.persist, PersistKind::kCacheInvalidate);
  EXPECT_EQ(c.number_partitions, 2u);
  EXPECT_EQ(c.numa_pattern, NumaPattern::kFar);
  EXPECT_EQ(c.distribution, Distribution::kZipf);
  EXPECT_EQ(c.zipf_alpha, 0.5);
  EXPECT_EQ(c.latency_sample_frequency, 50u);
  EXPECT_FALSE(c.prefault);
  EXPECT_FALSE(c.dram_huge_pages);
  EXPECT_EQ(c.min_io_chunk_bytes, MiB);
}

TEST(WorkloadFile, ListingOfThePaperIsReadAsPrinted) {
  yaml::Diagnostics diagnostics;
  const auto workloads = read(R"(hash_index_update:
 matrix:
   number_threads: [ 1, 4, 16 ]
 args:
   custom_ops: "r_256,w_64_cache_128,w_64_cache_-128"
   total_memory_range: 10G
   number_operations: 100000000
)",
                              diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  ASSERT_EQ(workloads.benchmarks.size(), 1u);
  const auto& variants = workloads.benchmarks[0].parts[0].variants;
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[2].config.number_threads, 16u);
  EXPECT_EQ(variants[0].config.exec_mode, ExecMode::kCustom);
  ASSERT_EQ(variants[0].config.chain.size(), 3u);
  EXPECT_EQ(variants[0].config.chain[2].offset, -128);
}

TEST(WorkloadFile, OlderSpellingsMeanTheSame) {
  EXPECT_EQ(config_of("write_ratio: 1").operation, AccessKind::kWrite);
  EXPECT_EQ(config_of("write_ratio: 0").operation, AccessKind::kRead);
  const auto c = config_of("pause_frequency: 1024, pause_length_micros: 10");
  EXPECT_EQ(c.delay_every_operations, 1024u);
  EXPECT_EQ(c.delay_ns, 10'000);
  EXPECT_EQ(config_of("custom_operations: \"r64,w64_cache\"").chain,
            config_of("custom_operations: \"r_64, w_64_cache\"").chain);
  // With a unit it is what it says.
  EXPECT_EQ(config_of("pause_frequency: 1, pause_length_micros: 20ns").delay_ns, 20);
}

TEST(WorkloadFile, MatrixIsEveryCombinationTheLastKeyFastest) {
  yaml::Diagnostics diagnostics;
  const auto workloads = read(
      "b:\n  matrix:\n    number_threads: [1, 2]\n    access_size: [64, 256, 4K]\n", diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const auto& variants = workloads.benchmarks[0].parts[0].variants;
  ASSERT_EQ(variants.size(), 6u);
  EXPECT_EQ(variants[1].config.number_threads, 1u);
  EXPECT_EQ(variants[1].config.access_bytes, 256u);
  EXPECT_EQ(variants[5].config.number_threads, 2u);
  EXPECT_EQ(variants[5].config.access_bytes, 4096u);
}

TEST(WorkloadFile, ParallelPairMultipliesBothMatrices) {
  yaml::Diagnostics diagnostics;
  const auto workloads = read(R"(pair:
  parallel_benchmark:
    one: { matrix: { number_threads: [1, 2, 3] }, args: { operation: write } }
    two: { matrix: { access_size: [64, 128] } }
)",
                              diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  EXPECT_TRUE(workloads.benchmarks[0].parallel());
  EXPECT_EQ(workloads.benchmarks[0].runs(), 6u);
}

TEST(WorkloadFile, SizesKnowUnitsFractionsAndShares) {
  EXPECT_EQ(config_of("memory_range: 1.5GiB").memory_range.bytes, 3 * GiB / 2);
  EXPECT_EQ(config_of("access_size: 4KiB").access_bytes, 4096u);
  EXPECT_EQ(config_of("memory_range: 20%").memory_range.percent, 20);
  EXPECT_DOUBLE_EQ(config_of("run_time: 500ms").run_time_s, 0.5);
  EXPECT_EQ(config_of("delay: 2us").delay_ns, 2000);
}

TEST(WorkloadFile, AnchorsAndAliasesAreUnderstood) {
  yaml::Diagnostics diagnostics;
  const auto workloads =
      read("a:\n  args: &common { access_size: 512 }\nb:\n  args: *common\n", diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  ASSERT_EQ(workloads.benchmarks.size(), 2u);
  EXPECT_EQ(workloads.benchmarks[1].parts[0].variants[0].config.access_bytes, 512u);
}

struct Mistake {
  const char* label;
  const char* text;
  const char* said;  // The whole of what must be said.
};

// One row per rule.
class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreSaidOnceWithPlaceAndRemedy) {
  EXPECT_EQ(mistakes(GetParam().text), GetParam().said);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Mistakes,
    testing::Values(
        Mistake{"UnknownKey", "b:\n  args:\n    acess_size: 64\n",
                "w.yaml:3:5: \"acess_size\" is unknown; did you mean \"access_size\"?\n"},
        Mistake{"WrongWord", "b:\n  args: { operation: raed }\n",
                "w.yaml:2:22: operation: the word \"raed\" is unknown; did you mean \"read\"?\n"},
        Mistake{
            "NoNumber", "b:\n  args: { access_size: 1oo }\n",
            "w.yaml:2:24: access_size: \"1oo\" is not a number of bytes; give for example 4096, "
            "64M or 1.5GiB\n"},
        Mistake{"OddAccessSize", "b:\n  args: { access_size: 100 }\n",
                "w.yaml:2:24: access_size: 100 must be 8, 16, 32 or a multiple of 64 up to 1G\n"},
        Mistake{"FenceOfReads", "b:\n  args: { fence_every_operations: 1 }\n",
                "w.yaml:2:35: fence_every_operations: says nothing where nothing is written\n"},
        Mistake{
            "FenceOfAChain",
            "b:\n  args: { custom_operations: \"r_64,w_64_cache\", fence_every_operations: 64 "
            "}\n",
            "w.yaml:2:73: fence_every_operations: says nothing in custom mode, where each write "
            "says how it persists; a fence without a flush is w_64_fence\n"},
        Mistake{
            "FenceOfAtomics",
            "b:\n  args: { operation: fetch-and-add, fence_every_operations: 1 }\n",
            "w.yaml:2:61: fence_every_operations: says nothing of fetch-and-add, which waits by "
            "itself\n"},
        Mistake{"MergeKey", "x: &x { args: { memory_range: 1M } }\nb:\n  args: { <<: *x }\n",
                "w.yaml:3:11: \"<<\" is unknown; merge keys of YAML 1.1 are not supported; write "
                "the keys out, or use an alias for a whole map\n"},
        Mistake{"KeyOfTheSuccessor", "b:\n  args: { numa_task_nodes: 1 }\n",
                "w.yaml:2:11: \"numa_task_nodes\" is unknown; use --numa for the nodes of threads, "
                "or numa_pattern\n"},
        Mistake{"ControlCharacterInAName", "\"b\\e[31mred\":\n  args: { memory_range: 1M }\n",
                "w.yaml:1:1: the name \"b\\x1b[31mred\" has a control character in it; leave it "
                "out\n"},
        Mistake{"NotWhole", "b:\n  args: { memory_range: 64.3M }\n",
                "w.yaml:2:25: memory_range: \"64.3M\" is not a whole number of bytes; give for "
                "example 4096, 64M or 1.5GiB\n"},
        Mistake{"TooLarge", "b:\n  args: { memory_range: 18446744073709551615 }\n",
                "w.yaml:2:25: memory_range: \"18446744073709551615\" is too large a number of "
                "bytes; give for example 4096, 64M or 1.5GiB\n"},
        Mistake{"BraceThatIsNotClosed", "b:\n  args: { memory_range: 1M\nc:\n",
                "w.yaml:2:9: is not YAML: a { is not closed\n"},
        Mistake{"DoesNotDivide", "b:\n  args: { access_size: 640, memory_range: 1G }\n",
                "w.yaml:2:43: memory_range: 1 GiB is no multiple of access_size, 640 B\n"},
        Mistake{"PartitionsDoNotDivide",
                "b:\n  args: { number_threads: 4, number_partitions: 3 }\n",
                "w.yaml:2:49: number_partitions: 3 must divide number_threads, 4\n"},
        Mistake{"KeyTwice", "b:\n  args:\n    run_time: 1\n    run_time: 2\n",
                "w.yaml:4:5: \"run_time\" is there twice, first in line 3; remove one of them\n"},
        Mistake{"KeyTwiceUnderOlderName",
                "b:\n  args: { memory_range: 1G, total_memory_range: 1G }\n",
                "w.yaml:2:29: memory_range is there twice below args, also under an older name\n"},
        Mistake{"ArgsAndMatrix",
                "b:\n  matrix: { access_size: [64] }\n  args: { access_size: 64 }\n",
                "w.yaml:2:13: access_size is below args and below matrix, first in line 3\n"},
        Mistake{"ListInArgs", "b:\n  args: { access_size: [64, 256] }\n",
                "w.yaml:2:24: access_size: a list belongs below matrix; args has one value\n"},
        Mistake{"EmptyMatrix", "b:\n  matrix: { access_size: [] }\n",
                "w.yaml:2:26: access_size: the list is empty\n"},
        Mistake{"NeitherArgsNorMatrix", "b: { description: x }\n",
                "w.yaml:1:1: benchmark \"b\" has neither args nor a matrix\n"},
        Mistake{"Misplaced", "b:\n  access_size: 64\n  args: { run_time: 1 }\n",
                "w.yaml:2:3: \"access_size\" is unknown in a benchmark; it belongs below args or "
                "matrix\n"},
        Mistake{"DramRatioNeedsRandom",
                "b:\n  args: { dram_operation_ratio: 0.5, dram_memory_range: 1G }\n",
                "w.yaml:2:33: dram_operation_ratio: needs exec_mode: random\n"},
        Mistake{
            "DramRangeMissing", "b:\n  args: { custom_operations: \"rd_64\" }\n",
            "w.yaml:1:1: benchmark \"b\": dram_memory_range: is 0, but operations go to DRAM; say "
            "how large that range is, for example dram_memory_range: 10G\n"},
        Mistake{"CustomWithoutChain", "b:\n  args: { exec_mode: custom }\n",
                "w.yaml:2:22: exec_mode: custom needs custom_operations\n"},
        Mistake{"ChainBeginsWithWrite", "b:\n  args: { custom_operations: \"w_64_cache\" }\n",
                "w.yaml:2:30: custom_operations: operation 1, \"w_64_cache\", is a write; the "
                "first one "
                "must be a read, which says where\n"},
        Mistake{"ChainBadSize", "b:\n  args: { custom_operations: \"r_100\" }\n",
                "w.yaml:2:30: custom_operations: operation 1, \"r_100\", the size 100 must be a "
                "multiple of 64, from 64 to 1G\n"},
        Mistake{
            "ChainBadPersist", "b:\n  args: { custom_operations: \"r_64,w_64_cahce\" }\n",
            "w.yaml:2:30: custom_operations: operation 2, \"w_64_cahce\", the persist instruction "
            "\"cahce\" is unknown; did you mean \"cache\"?\n"},
        Mistake{"ChainOddOffset", "b:\n  args: { custom_operations: \"r_64,w_64_cache_8\" }\n",
                "w.yaml:2:30: custom_operations: operation 2, \"w_64_cache_8\", the offset 8 is no "
                "multiple of 64, the size of a line\n"},
        Mistake{
            "ChainLeavesTheRange",
            "b:\n  args: { memory_range: 1K, custom_operations: \"r_64,w_64_cache_4096\" }\n",
            "w.yaml:2:48: custom_operations: operation 1 and the writes after it span 4.06 KiB, "
            "more than the range of 1 KiB: an offset leaves it\n"},
        Mistake{"WriteInTheOtherRegion",
                "b:\n  args: { dram_memory_range: 1G, custom_operations: \"rd_64,w_64_none\" }\n",
                "w.yaml:2:53: custom_operations: operation 2, \"w_64_none\", writes where the "
                "operation "
                "before it was, which is in the other region; read there first\n"},
        Mistake{"Zipf", "b:\n  args: { exec_mode: random, zipf_alpha: 1.5 }\n",
                "w.yaml:2:42: zipf_alpha: 1.5 must be from 0.01 to 0.999\n"},
        Mistake{"ThreePartsOfAPair",
                "b:\n  parallel_benchmark:\n    x: { args: {} }\n    y: { args: {} }\n    z: { "
                "args: {} "
                "}\n",
                "w.yaml:3:5: parallel_benchmark needs exactly two benchmarks, here are 3\n"},
        Mistake{"ArgsNoMap", "b:\n  args: 5\n", "w.yaml:2:9: args must be a map, this is a text\n"},
        Mistake{"MatrixNoMap", "b:\n  matrix: [1, 2]\n",
                "w.yaml:2:11: matrix must be a map, this is a list\n"},
        Mistake{"BenchmarkNoMap", "b: 7\n",
                "w.yaml:1:4: benchmark \"b\" must be a map, this is a text\n"},
        Mistake{"BenchmarkNothing", "b: ~\n",
                "w.yaml:1:4: benchmark \"b\" must be a map, this is nothing\n"},
        Mistake{"MapAsValue", "b:\n  args: { access_size: {x: 1} }\n",
                "w.yaml:2:24: access_size must be one value, this is a map\n"},
        Mistake{"FlagNoFlag", "b:\n  args: { prefault_file: 3 }\n",
                "w.yaml:2:26: prefault_file: \"3\" is neither true nor false\n"},
        Mistake{"ZeroThreads", "b:\n  args: { number_threads: 0 }\n",
                "w.yaml:2:27: number_threads: 0 must be from 1 to 4096\n"},
        Mistake{"NegativeThreads", "b:\n  args: { number_threads: -1 }\n",
                "w.yaml:2:27: number_threads: \"-1\" is not a number; give for example 1000, 2k or "
                "10M\n"},
        Mistake{"ChunkNoPowerOfTwo", "b:\n  args: { min_io_chunk_size: 3M }\n",
                "w.yaml:2:30: min_io_chunk_size: 3145728 must be a power of two, at least 64\n"},
        Mistake{"StrideDoesNotDivide",
                "b:\n  args: { exec_mode: strided, access_size: 64, stride: 192, memory_range: 1M "
                "}\n",
                "w.yaml:2:56: stride: 192 B must be a multiple of access_size and divide "
                "memory_range\n"},
        Mistake{"FenceBytesDoNotDivide",
                "b:\n  args: { operation: write, access_size: 256, fence_every_bytes: 640 }\n",
                "w.yaml:2:66: fence_every_bytes: 640 B must be a multiple of access_size, 256 B\n"},
        Mistake{"WindowDoesNotDivide",
                "b:\n  args: { exec_mode: chase, memory_range: 1M, chase_window: 3K }\n",
                "w.yaml:2:61: chase_window: 3 KiB must be a power of two, at least 128\n"},
        // They were accepted and did nothing.
        Mistake{"WindowWithoutAChase",
                "b:\n  args: { exec_mode: random, memory_range: 1M, chase_window: 4K }\n",
                "w.yaml:2:62: chase_window: needs exec_mode: chase\n"},
        Mistake{"RegionWithoutAccesses", "b:\n  args: { memory_range: 1M, dram_region: far }\n",
                "w.yaml:2:42: dram_region: says nothing where no access goes to the second range; "
                "dram_operation_ratio says how many do\n"},
        Mistake{"PausesWithoutADelay", "b:\n  args: { memory_range: 1M, pause_frequency: 64 }\n",
                "w.yaml:2:46: delay_every_operations: says nothing without a delay\n"},
        Mistake{"ChainWithoutComma", "b:\n  args: { custom_operations: r_64 w_64_cache }\n",
                "w.yaml:2:30: custom_operations: operation 1, \"r_64 w_64_cache\", has a space "
                "inside; operations are separated by commas\n"},
        Mistake{
            "ChainAsList", "b:\n  args: { custom_operations: [r_64, w_64_cache] }\n",
            "w.yaml:2:30: custom_operations: a list belongs below matrix; args has one value\n"},
        Mistake{"NoMap", "- a\n- b\n",
                "w.yaml:1:1: must be a map of benchmark names, this is a list\n"},
        Mistake{"Empty", "# nothing\n", "w.yaml: holds no benchmarks\n"},
        Mistake{"TwoDocuments", "a:\n  args: { run_time: 1 }\n---\nb: {}\n",
                "w.yaml:4:1: a second document; put all benchmarks of a file into one (remove the "
                "---)\n"},
        Mistake{
            "RegionWeights", "regions:\n  m: { nodes: [0, 1], weights: [1] }\n",
            "w.yaml:2:3: region \"m\" has 2 nodes and 1 weights; give one weight for each node\n"},
        Mistake{"RegionOfNothing", "regions:\n  m: {}\n  n: { nodes: [] }\n",
                "w.yaml:2:6: region \"m\" says nothing; give spec: (dram, node:N or a path) or "
                "nodes:\nw.yaml:3:15: nodes: the list is empty\n"},
        Mistake{"RegionWeightOfZero", "regions:\n  m: { nodes: [0, 1], weights: [1, 0] }\n",
                "w.yaml:2:36: weights: \"0\" must be a number from 1 to 1000\n"},
        Mistake{"ArgsMisspelt", "b:\n  arg: { access_size: 64 }\n",
                "w.yaml:2:3: \"arg\" is unknown in a benchmark; did you mean \"args\"?\n"},
        Mistake{"PartTwice",
                "b:\n  parallel_benchmark:\n    x: { args: {} }\n    x: { args: {} }\n",
                "w.yaml:4:5: \"x\" is there twice, first in line 3; remove one of them\n"},
        Mistake{"TooLargeAShare", "b:\n  args: { memory_range: 200% }\n",
                "w.yaml:2:25: memory_range: \"200%\" must be from 0% to 90% of the available "
                "memory\n"},
        Mistake{
            "ChainOfSeveralMistakes",
            "b:\n  args: { custom_operations: \"r_64,x_64,w_64_cahce,w_64_cache,rd_1\" }\n",
            "w.yaml:2:30: custom_operations: operation 2, \"x_64\", begins with \"x\", which is "
            "none of r, rp, rd, w, wp, wd; an operation is r_SIZE, w_SIZE_PERSIST or "
            "w_SIZE_PERSIST_OFFSET, with d for DRAM: rd_SIZE, wd_SIZE_PERSIST\n"
            "w.yaml:2:30: custom_operations: operation 3, \"w_64_cahce\", the persist "
            "instruction \"cahce\" is unknown; did you mean \"cache\"?\n"
            "w.yaml:2:30: custom_operations: operation 5, \"rd_1\", the size 1 must be a multiple "
            "of 64, from 64 to 1G\n"},
        Mistake{
            "ChainWithoutSize", "b:\n  args: { custom_operations: \"r_\" }\n",
            "w.yaml:2:30: custom_operations: operation 1, \"r_\", the size \"\" is no number of "
            "bytes, for example 64 or 4K\n"},
        Mistake{"QuoteNotClosed", "b:\n  description: \"x\n  args: { run_time: 1 }\n",
                "w.yaml:2:16: a text begins with a quote and is not closed by one\n"},
        Mistake{"SingleQuoteNotClosed", "b:\n  args: { run_time: 1 }\n  description: 'it''s\n",
                "w.yaml:3:16: a text begins with a quote and is not closed by one\n"},
        Mistake{"QuotesThatAreClosed",
                "b:\n  args: { run_time: 1 }\n  description: \"a \\\"b\\\\\"\n", ""},
        Mistake{"Tab", "b:\n  args:\n\t  access_size: 64\n",
                "w.yaml:3:1: is indented with a tab; YAML wants spaces\n"},
        Mistake{"Indentation", "b:\n  args:\n    access_size: 64\n   run_time: 1\n",
                "w.yaml:4:4: is not YAML: end of map not found; a line is indented unlike those it "
                "belongs to\n"},
        Mistake{"BraceNotClosed", "b:\n  args: { access_size: 64\n",
                "w.yaml:2:9: is not YAML: a { is not closed\n"},
        Mistake{"RegionKey", "regions:\n  m: { node: [0] }\n",
                "w.yaml:2:8: \"node\" is unknown in a region; did you mean \"nodes\"?\n"}),
    [](const auto& mistake) { return std::string(mistake.param.label); });

// BEN-5: files of cxlbench, the published tool's successor, were refused without a word on what does
// the same here.
TEST(WorkloadFile, KeysOfTheSuccessorSayWhatDoesTheSameHere) {
  EXPECT_EQ(mistakes("b:\n  args: { flush_instruction: cache }\n"), "");
  const std::pair<const char*, const char*> remedies[] = {
      {"numa_memory_nodes: 0", "regions: (nodes: [0, 1])"},
      {"numa_task_nodes: 0", "use --numa"},
      {"thread_cores: 1", "use thread_pinning: core"},
      {"device_path: /dev/dax0.0", "use --target"},
      {"percentage_pages_first_partition: 50", "(nodes: and weights:)"},
      {"node_count_first_partition: 1", "(nodes: and weights:)"},
      {"dependent_reads: true", "use exec_mode: chase"},
      {"m1_memory_range: 1G", "dram_memory_range"}};
  for (const auto& [line, remedy] : remedies) {
    const auto text = mistakes(std::string("b:\n  args: { ") + line + " }\n");
    EXPECT_NE(text.find(remedy), std::string::npos) << line << ": " << text;
  }
}

TEST(WorkloadFile, AllMistakesOfAFileAreSaidAtOnceInItsOrder) {
  EXPECT_EQ(
      mistakes("a:\n  args: { acess_size: 64, operation: raed }\nb:\n  matrix:\n    run_time: "
               "[1, x, -2]\n"),
      "w.yaml:2:11: \"acess_size\" is unknown; did you mean \"access_size\"?\n"
      "w.yaml:2:38: operation: the word \"raed\" is unknown; did you mean \"read\"?\n"
      "w.yaml:5:19: run_time: \"x\" is no time, for example 10, 500ms or 1.5s\n"
      "w.yaml:5:22: run_time: -2 must be from 0 to 86400 s\n");
}

TEST(WorkloadFile, MistakesOfBothPartsOfAPairAreFound) {
  const auto said = mistakes(
      "p:\n  parallel_benchmark:\n    x: { args: { access_size: 100 } }\n    y: { args: { "
      "access_size: 200 } }\n");
  EXPECT_NE(said.find("3:31: access_size: 100"), std::string::npos) << said;
  EXPECT_NE(said.find("4:31: access_size: 200"), std::string::npos) << said;
}

TEST(WorkloadFile, SyntaxErrorsHaveTheirPlace) {
  const auto said = mistakes("a:\n  args: { x: 1\n");
  EXPECT_TRUE(said.starts_with("w.yaml:2:9: is not YAML: ")) << said;
}

TEST(WorkloadFile, DepthAndNumberOfValuesAreBounded) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i)
    deep += '[';
  EXPECT_NE(mistakes(deep).find("nested deeper than 32 levels"), std::string::npos);
  std::string laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    laughs += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i)
      laughs += std::string(i ? "," : "") + "*" + static_cast<char>(c - 1);
    laughs += "]\n";
  }
  EXPECT_FALSE(mistakes(laughs).empty());  // And at once.
  EXPECT_NE(mistakes(
                "a:\n  matrix:\n    access_size: [64" +
                [] {
                  std::string more;
                  for (int i = 0; i < 300; ++i)
                    more += ",64";
                  return more;
                }() +
                "]\n    number_threads: [1" +
                [] {
                  std::string more;
                  for (int i = 0; i < 300; ++i)
                    more += ",1";
                  return more;
                }() +
                "]\n")
                .find("more than 10000 combinations"),
            std::string::npos);
}

// Every key says itself in a form that it reads again.
TEST(Keys, WhatIsShownCanBeReadAgain) {
  Config config;
  config.chain = parse_chain("r_64,w_64_none_64").value();
  config.write_ratio = 0.5;
  config.huge_pages = "2M";
  config.stride_bytes = 128;
  config.fence_every_bytes = 512;
  config.chase_window_bytes = 4096;
  config.repetitions = 3;
  for (const auto& key : keys()) {
    auto text = key.get(config);
    std::erase(text, ' ');
    if (key.id == KeyId::kDelayNs) text += "ns";
    Config read;
    EXPECT_TRUE(key.set(read, text)) << key.name << " " << text;
    auto again = key.get(read);
    std::erase(again, ' ');
    if (key.id == KeyId::kDelayNs) again += "ns";
    EXPECT_EQ(again, text) << key.name;
  }
}

TEST(Chain, ReachIsWhatTheWritesTouch) {
  const auto chain = parse_chain("r_512,w_64_cache_320,w_64_cache_-448,r_64").value();
  EXPECT_EQ(reach_of(chain, 0).low, -128);
  EXPECT_EQ(reach_of(chain, 0).high, 512);
  EXPECT_EQ(fences_of(chain), 2u);
  EXPECT_EQ(bytes_of(chain), 704u);
}

}  // namespace
}  // namespace holdfast::bench::memory
