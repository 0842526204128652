#include <holdfast/results/csv.hpp>
#include <holdfast/results/perma_bench.hpp>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace holdfast::results {
namespace {

using nlohmann::json;

// One benchmark of each kind, with every field that PerMA-Bench writes.
constexpr const char* kSingle = R"({
  "bm_name": "random_reads", "bm_type": "single", "matrix_args": ["number_threads", "access_size"],
  "benchmarks": [
    {"config": {"access_size": 64, "exec_mode": "random", "memory_range": 10737418240,
        "memory_type": "pmem", "min_io_chunk_size": 67108864, "numa_pattern": "near",
        "number_operations": 100000000, "number_partitions": 1, "number_threads": 1,
        "operation": "read", "prefault_file": true, "random_distribution": "uniform"},
     "results": {"accessed_bytes": 6442450944, "bandwidth": 2.5, "execution_time": 2.4,
        "thread_bandwidth_avg": 2.5, "thread_bandwidth_std_dev": 0.0,
        "threads": [{"accessed_bytes": 6442450944, "bandwidth": 2.5, "execution_time": 2.4}]}},
    {"config": {"access_size": 256, "exec_mode": "random", "memory_range": 10737418240,
        "memory_type": "pmem", "min_io_chunk_size": 67108864, "numa_pattern": "near",
        "number_operations": 100000000, "number_partitions": 1, "number_threads": 2,
        "operation": "read", "prefault_file": true, "random_distribution": "uniform"},
     "results": {"accessed_bytes": 25769803776, "bandwidth": 8.0, "execution_time": 3.0,
        "thread_bandwidth_avg": 4.0, "thread_bandwidth_std_dev": 1.4142135623730951,
        "threads": [{"accessed_bytes": 12884901888, "bandwidth": 3.0, "execution_time": 3.0},
                    {"accessed_bytes": 12884901888, "bandwidth": 5.0, "execution_time": 2.5}]}}
  ]})";
constexpr const char* kCustom = R"({
  "bm_name": "hash_index_update", "bm_type": "single", "matrix_args": [],
  "benchmarks": [
    {"config": {"custom_operations": "rp_512,wp_64_cache_128", "exec_mode": "custom",
        "memory_range": 10737418240, "memory_type": "pmem", "number_operations": 100000000,
        "number_threads": 1},
     "results": {"execution_time": 50.0, "num_operations": 100000000, "ops_per_second": 2e6,
        "thread_ops_per_second_avg": 2e6, "thread_ops_per_second_std_dev": 0.0,
        "latency": {"avg": 510.5, "min": 90, "max": 99000, "std_dev": 12.5, "median": 500,
          "lower_quartile": 400, "upper_quartile": 600, "percentile_90": 700, "percentile_95": 800,
          "percentile_99": 900, "percentile_999": 1000, "percentile_9999": 2000},
        "threads": [{"num_operations": 100000000, "execution_time": 50.0,
                     "ops_per_second": 2e6}]}}
  ]})";
constexpr const char* kParallel = R"({
  "bm_name": "page_propagation", "bm_type": "parallel", "sub_bm_names": ["page_in", "page_out"],
  "matrix_args": {"page_in": [], "page_out": []},
  "benchmarks": [
    {"configs": {
       "page_in": {"access_size": 4096, "number_threads": 16, "operation": "read"},
       "page_out": {"access_size": 256, "number_threads": 8, "operation": "write"}},
     "results": {
       "page_in": {"results": {"accessed_bytes": 1073741824, "bandwidth": 12.0,
          "execution_time": 10.0, "thread_bandwidth_avg": 0.75, "thread_bandwidth_std_dev": 0.0,
          "threads": []}},
       "page_out": {"results": {"accessed_bytes": 1073741824, "bandwidth": 4.0,
          "execution_time": 10.0, "thread_bandwidth_avg": 0.5, "thread_bandwidth_std_dev": 0.0,
          "threads": []}}}}
  ]})";

std::string all_kinds() {
  return "[" + std::string(kSingle) + "," + kCustom + "," + kParallel + "]";
}

TEST(PermaBench, ItsResultsBecomeRowsWithUnits) {
  const auto document = from_perma_bench(all_kinds());
  ASSERT_TRUE(document) << document.error().message();
  ASSERT_EQ(document->rows.size(), 5u);
  const auto& plain = document->rows[1];
  EXPECT_EQ(plain.operation(), "random_reads");
  EXPECT_EQ(plain.threads(), 2u);
  EXPECT_EQ(plain.number("access_bytes"), 256);
  EXPECT_EQ(plain.text("access_kind"), "read");
  EXPECT_EQ(plain.number("bytes_per_s_median"), 8.0 * 0x1p30);
  EXPECT_NEAR(plain.number("ops_per_s_median"), 25769803776.0 / 256 / 3, 1e-3);
  EXPECT_EQ(plain.numbers("thread_bytes_per_s"), (std::vector<double>{3 * 0x1p30, 5 * 0x1p30}));
  const auto& custom = document->rows[2];
  EXPECT_EQ(custom.number("ops_per_s_median"), 2e6);
  EXPECT_EQ(custom.number("p9999_ns"), 2000);
  EXPECT_EQ(custom.number("mean_ns"), 510.5);
  EXPECT_EQ(document->rows[4].text("part"), "page_out");
  EXPECT_FALSE(document->warnings.empty());
}

TEST(PermaBench, ThereAndBackIsTheSameJson) {
  const auto document = from_perma_bench(all_kinds()).value();
  const auto out = to_perma_bench(document, "");
  EXPECT_TRUE(out.warnings.empty());
  auto expected = json::parse(all_kinds()), got = json::parse(out.text);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    // The order of the arguments of a matrix is not kept.
    if (got[i]["matrix_args"].is_array()) {
      std::sort(got[i]["matrix_args"].begin(), got[i]["matrix_args"].end());
      std::sort(expected[i]["matrix_args"].begin(), expected[i]["matrix_args"].end());
    }
    // Written as a double, counts are still the same numbers.
    EXPECT_EQ(got[i], expected[i]) << "\n" << got[i].dump(1);
  }
}

TEST(PermaBench, OlderKeysAndTheSuccessorsPairsAreRead) {
  const auto document = from_perma_bench(R"([
    {"bm_name": "old", "benchmarks": [{"config": {"number_threads": 1, "total_memory_range": 4096,
       "custom_ops": "r_256"}, "results": {"bandwidth": {"read": 3.5}}}]},
    {"bm_name": "new", "hostname": "there", "sub_bm_names": ["a", "b"], "benchmarks": [
       {"config": {"a": {"number_threads": 1}, "b": {"number_threads": 2}},
        "results": {"a": {"bandwidth": 1.0}, "b": {"ops_per_second": 5.0}}}]}])");
  ASSERT_TRUE(document) << document.error().message();
  EXPECT_EQ(document->rows[0].number("bytes_per_s_median"), 3.5 * 0x1p30);
  EXPECT_EQ(document->rows[0].number("memory_range_bytes"), 4096);
  EXPECT_EQ(document->rows[0].text("custom_operations"), "r_256");
  EXPECT_EQ(document->rows[2].number("ops_per_s_median"), 5);
  EXPECT_EQ(document->environment.text("host"), "there");
}

// Was written with neither of the two, as chains were taken to have a rate always, and so not read
// again.
TEST(PermaBench, AChainThatHasOnlyABandwidthKeepsIt) {
  const auto document = from_perma_bench(
      R"([{"bm_name": "chain", "bm_type": "single", "matrix_args": [], "benchmarks": [)"
      R"({"config": {"number_threads": 1, "custom_operations": "r_256"}, "results": {"bandwidth": 7.25}}]}])");
  ASSERT_TRUE(document.has_value()) << document.error().message();
  const auto again = from_perma_bench(to_perma_bench(*document, "").text);
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_DOUBLE_EQ(again->rows.at(0).number("bytes_per_s_median"), 7.25 * 0x1p30);
}

TEST(PermaBench, DamageIsNamedByItsPlace) {
  const auto detail = [](const std::string& text) {
    const auto result = from_perma_bench(text);
    return result ? std::string("no error") : result.error().detail;
  };
  EXPECT_EQ(detail("[{]"), "PerMA-Bench result: is not JSON");
  EXPECT_EQ(detail("{}"), "PerMA-Bench result: must be a list of benchmarks");
  EXPECT_EQ(detail("[1]"), "[0]: must be an object");
  EXPECT_EQ(detail("[{}]"), "[0].bm_name: is missing or not a text");
  EXPECT_EQ(detail(R"([{"bm_name":"x"}])"), "[0].benchmarks: is missing or not a list");
  EXPECT_EQ(detail(R"([{"bm_name":"x","benchmarks":[{}]}])"),
            "[0].benchmarks[0].config: is missing or not an object");
  EXPECT_EQ(
      detail(R"([{"bm_name":"x","benchmarks":[{"config":{"number_threads":-1},"results":{}}]}])"),
      "[0].benchmarks[0].config.number_threads: must be a number from 1 to a million");
  EXPECT_EQ(
      detail(R"([{"bm_name":"x","benchmarks":[{"config":{"number_threads":1},"results":{}}]}])"),
      "[0].benchmarks[0].results: has neither bandwidth nor ops_per_second");
  EXPECT_NE(
      detail(R"([{"bm_name":"x","sub_bm_names":["a"],"benchmarks":[{"configs":{},"results":{}}]}])")
          .find("(a).config"),
      std::string::npos);
}

// What `bench run` writes has repetitions and regions; theirs has one time, one amount, two kinds
// of memory.
TEST(PermaBench, AResultOfOursHasAllThatTheirsMustHave) {
  Document document;
  document.parameters = {"access_bytes", "region"};
  document.regions.resize(2);
  document.regions[0].set("name", "target");
  document.regions[0].set("kind", "dram");
  document.regions[1].set("name", "far");
  document.regions[1].set("kind", "devdax");
  for (const auto* region : {"target", "far"}) {
    auto& row = document.rows.emplace_back("holdfast", "reads", 2);
    row.set("access_bytes", 256);
    row.set("region", region);
    row.set("bytes_per_s_median", 2 * 0x1p30);
    row.set("seconds_samples", Value(std::vector<double>{1, 3, 2}));
    row.set("thread_ops_per_s", Value(std::vector<double>{0x1p22, 0x1p22}));
  }
  const auto out = json::parse(to_perma_bench(document, "").text);
  const auto& runs = out[0]["benchmarks"];
  EXPECT_EQ(runs[0]["config"]["memory_type"], "dram");
  EXPECT_EQ(runs[1]["config"]["memory_type"], "pmem");
  EXPECT_EQ(runs[0]["results"]["execution_time"], 2.0);
  EXPECT_EQ(runs[0]["results"]["accessed_bytes"], std::uint64_t{4} << 30);
  EXPECT_EQ(runs[0]["results"]["threads"].size(), 2u);
  EXPECT_EQ(runs[0]["results"]["threads"][0]["bandwidth"], 1.0);
  EXPECT_EQ(runs[0]["results"]["thread_bandwidth_avg"], 1.0);
}

TEST(PermaBench, WhatItCannotSayIsLeftOutAndSaid) {
  Document document;
  for (const auto* subject : {"holdfast", "floor"}) {
    auto& row = document.rows.emplace_back(subject, "read", 1);
    row.set("bytes_per_s_median", 0x1p30);
  }
  document.rows.push_back(document.rows.front());
  document.rows.back().invalidate("beyond this machine");
  const auto out = to_perma_bench(document, "");
  EXPECT_EQ(json::parse(out.text)[0]["benchmarks"].size(), 1u);
  EXPECT_EQ(out.warnings.size(), 2u);
  EXPECT_EQ(json::parse(to_perma_bench(document, "floor").text)[0]["benchmarks"].size(), 1u);
}

TEST(PermaBench, AHalfThatIsInvalidTakesItsPartnerWithItAndNotThatOfTheNextRun) {
  Document document;
  for (const unsigned threads : {1, 2, 4}) {
    for (const auto* part : {"reader", "writer"}) {
      auto& row = document.rows.emplace_back("holdfast", "both", threads);
      row.set("part", part);
      row.set("bytes_per_s_median", threads * 0x1p30);
    }
  }
  document.rows[1].invalidate("beyond this machine");  // The writer of one thread.
  const auto out = to_perma_bench(document, "");
  const auto runs = json::parse(out.text)[0]["benchmarks"];
  ASSERT_EQ(runs.size(), 2u);
  for (const auto& run : runs)
    EXPECT_EQ(run["configs"]["reader"]["number_threads"],
              run["configs"]["writer"]["number_threads"]);
  EXPECT_EQ(out.warnings.size(), 2u);
}

TEST(Csv, HasAColumnPerFieldAndQuotesWhatMustBe) {
  Document document;
  auto& one = document.rows.emplace_back("holdfast", "read, then write", 1);
  one.set("ops_per_s_median", 0.1);
  one.set("ops_per_s_samples", Value(std::vector<double>{1, 2.5}));
  one.set("latency_count", Value(std::vector<double>{1, 2.5}));
  auto& other = document.rows.emplace_back("a \"b\"", "x", 2);
  other.set("access_bytes", 256);
  other.invalidate("two\nlines");
  EXPECT_EQ(to_csv(document),
            "subject,operation,threads,valid,ops_per_s_median,ops_per_s_samples,access_bytes\n"
            "holdfast,\"read, then write\",1,true,0.1,1;2.5,\n"
            "\"a \"\"b\"\"\",x,2,\"two\nlines\",,,256\n");
}

}  // namespace
}  // namespace holdfast::results
