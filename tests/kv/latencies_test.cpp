// How long verbs take: what is counted, when, and how Prometheus reads it.
#include <holdfast/kv/latencies.hpp>

#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include <holdfast/kv/prometheus.hpp>
#include <holdfast/kv/typed_store.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

TEST(LatencyCounts, EveryValueIsInTheBucketThatHoldsIt) {
  std::uint64_t last = 0;
  for (std::size_t bucket = 0; bucket + 1 < LatencyCounts::kBuckets; ++bucket) {
    const auto largest = LatencyCounts::largest_ns(bucket);
    EXPECT_EQ(LatencyCounts::bucket_of(largest), bucket);
    EXPECT_EQ(LatencyCounts::bucket_of(largest + 1), bucket + 1);
    EXPECT_LE(largest, last + 1 + (last + 1) / 4);
    last = largest;
  }
  EXPECT_EQ(LatencyCounts::bucket_of(~std::uint64_t{0}), LatencyCounts::kBuckets - 1);
}

TEST(LatencyCounts, QuantilesAreLargestValuesOfBuckets) {
  LatencyCounts counts;
  EXPECT_EQ(counts.quantile_ns(0.5), 0u);
  for (std::uint64_t ns = 1; ns <= 1000; ++ns)
    ++counts.buckets[LatencyCounts::bucket_of(ns)];
  counts.calls = 1000;
  EXPECT_EQ(counts.quantile_ns(0), 1u);
  EXPECT_GE(counts.quantile_ns(0.5), 500u);
  EXPECT_LE(counts.quantile_ns(0.5), 625u);
  EXPECT_GE(counts.quantile_ns(1), 1000u);
}

class Latency : public OnEveryPlace {};

TEST_P(Latency, IsCountedWhileItIsOnAndForEachVerb) {
  auto store = Store<>::open(spec(), with_words({0})).value();
  std::string value;
  std::vector<std::string_view> keys = {"a", "b"}, values = {"12345678", "12345678"};
  std::vector<std::string> got(2);
  std::vector<Errc> outcomes(2);
  std::vector<std::byte> buffer(8);
  const auto use = [&] {
    EXPECT_TRUE(store.put("k", "12345678"));
    EXPECT_TRUE(store.get("k", value));
    EXPECT_TRUE(store.get("k", std::span(buffer)));
    EXPECT_EQ(store.get("none", value).code(), Errc::kNotFound);
    EXPECT_TRUE(store.update_word("k", 0, [](std::uint64_t word) { return word + 1; }));
    EXPECT_TRUE(store.put_many(keys, values));
    EXPECT_TRUE(store.get_many(keys, got, outcomes));
    EXPECT_TRUE(store.erase("k"));
  };
  const auto calls = [&](TimedVerb verb) { return store.latencies().of(verb).calls; };
  use();
  EXPECT_EQ(store.latencies().one_in, 0u);
  EXPECT_EQ(calls(TimedVerb::kPut), 0u);

  ASSERT_TRUE(store.sample_latencies(1));
  use();
  use();
  EXPECT_EQ(store.latencies().one_in, 1u);
  EXPECT_EQ(calls(TimedVerb::kPut), 2u);
  EXPECT_EQ(calls(TimedVerb::kErase), 2u);
  EXPECT_EQ(calls(TimedVerb::kUpdateWord), 2u);
  EXPECT_EQ(calls(TimedVerb::kGet), 6u);
  EXPECT_EQ(calls(TimedVerb::kPutMany), 2u);
  EXPECT_EQ(calls(TimedVerb::kGetMany), 2u);
  EXPECT_GT(store.latencies().of(TimedVerb::kPut).sum_ns, 0u);

  ASSERT_TRUE(store.sample_latencies(0));
  use();
  EXPECT_EQ(calls(TimedVerb::kPut), 2u);

  ASSERT_TRUE(store.sample_latencies(10));
  // Verbs that take turns are timed alike, whatever the number.
  for (int i = 0; i < 10'000; ++i) {
    store.put("a", "12345678").value();
    (void)store.get("a", value);
  }
  for (const auto verb : {TimedVerb::kPut, TimedVerb::kGet}) {
    EXPECT_GE(calls(verb), 600u) << name(verb);
    EXPECT_LE(calls(verb), 1400u) << name(verb);
  }
  ASSERT_TRUE(store.close());
  EXPECT_EQ(store.sample_latencies(1).code(), Errc::kClosed);
  EXPECT_EQ(store.latencies().one_in, 0u);
}

TEST_P(Latency, OfATypedStoreIsCounted) {
  auto store = Store<std::uint64_t, std::uint64_t>::open(spec(), tiny()).value();
  ASSERT_TRUE(store.sample_latencies(1));
  store.put(1, 2).value();
  std::uint64_t value = 0;
  EXPECT_TRUE(store.get(1, value));
  EXPECT_EQ(store.latencies().of(TimedVerb::kPut).calls, 1u);
  EXPECT_EQ(store.latencies().of(TimedVerb::kGet).calls, 1u);
}

INSTANTIATE_TEST_SUITE_P(Places, Latency, kEveryPlace, place_name);

// What a scraper demands: one HELP and one TYPE before the samples of each metric, names and values
// in their alphabets, cumulative buckets up to +Inf.
TEST(Prometheus, TheTextIsWellFormed) {
  StoreStats stats;
  stats.records = 42;
  stats.fences = 7;
  Latencies latencies;
  auto& put = latencies.verbs[static_cast<std::size_t>(TimedVerb::kPut)];
  for (const std::uint64_t ns : {3u, 100u, 1000u, 1000u, 5'000'000u})
    ++put.buckets[LatencyCounts::bucket_of(ns)];
  ++put.buckets[LatencyCounts::kBuckets - 1];
  put.calls = 6;
  put.sum_ns = 1'500'000'000;
  const auto text = prometheus_text(stats, latencies, "a\"b\\c\nd");
  EXPECT_NE(text.find("holdfast_store_records{store=\"a\\\"b\\\\c\\nd\"} 42\n"), std::string::npos);
  EXPECT_NE(text.find("# TYPE holdfast_store_fences_total counter\n"), std::string::npos);

  static const std::regex sample(
      R"re(([a-z_:]+)\{store="a\\"b\\\\c\\nd"(?:,verb="([a-z_]+)")?(?:,le="([^"]+)")?\} ([0-9.e+-]+))re");
  std::istringstream lines(text);
  std::set<std::string> described;
  std::uint64_t last = 0;
  double last_bound = 0, infinite = -1, count = -2;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line.starts_with("# HELP ")) {
      const auto name = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(described.insert(name).second) << name;
      ASSERT_TRUE(std::getline(lines, line));
      EXPECT_TRUE(line.starts_with("# TYPE " + name + " ")) << line;
      EXPECT_EQ(name.ends_with("_total"), line.ends_with(" counter")) << line;
      continue;
    }
    ASSERT_TRUE(std::regex_match(line, found, sample)) << line;
    const std::string name = found[1];
    if (name.ends_with("_bucket")) {
      const auto value = std::stoull(found[4]);
      EXPECT_GE(value, last) << line;
      last = value;
      if (found[3] == "+Inf") {
        infinite = static_cast<double>(value);
      } else {
        EXPECT_GT(std::stod(found[3]), last_bound) << line;
        last_bound = std::stod(found[3]);
      }
    } else if (name.ends_with("_count")) {
      count = std::stod(found[4]);
    } else if (name.ends_with("_sum")) {
      EXPECT_EQ(std::stod(found[4]), 1.5);
    } else {
      EXPECT_EQ(described.count(name), 1u) << line;
    }
  }
  EXPECT_EQ(infinite, 6);
  EXPECT_EQ(count, 6);
  EXPECT_GT(last_bound, 0.005);
  EXPECT_EQ(described.count("holdfast_store_verb_duration_seconds"), 1u);
  EXPECT_EQ(prometheus_text(stats, {}, "s").find("duration"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::kv
