// How long verbs take: what is counted, when, and how Prometheus reads it.
#include <holdfast/kv/latencies.hpp>

#include <limits>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include <holdfast/base/format.hpp>
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

// A reader of the text format, as strict as its description: one HELP and one TYPE before the samples
// of each metric, names and values in their alphabets, labels in UTF-8 with their three escapes, no
// sample twice, and histograms whose buckets are cumulative and end in +Inf with the count.
class Scrape {
 public:
  explicit Scrape(const std::string& text) {
    EXPECT_TRUE(is_valid_utf8(text));
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      read(line);
    for (const auto& [series, buckets] : buckets_) {
      EXPECT_EQ(buckets.rbegin()->first, std::numeric_limits<double>::infinity()) << series;
      double last = 0;
      for (const auto& [bound, calls] : buckets) {
        EXPECT_GE(calls, last) << series << " " << bound;
        last = calls;
      }
      EXPECT_EQ(counts_[series], last) << series;
      EXPECT_EQ(sums_.count(series), 1u) << series;
    }
  }
  // By name and labels as they are written, and the number of all.
  std::string value(const std::string& series) const {
    const auto found = samples_.find(series);
    return found == samples_.end() ? "none" : found->second;
  }
  std::set<std::string> series() const {
    std::set<std::string> names;
    for (const auto& [name, value] : samples_)
      names.insert(name);
    return names;
  }
  std::string type(const std::string& metric) const {
    const auto found = types_.find(metric);
    return found == types_.end() ? "none" : found->second;
  }
  // Of a verb, by bound.
  std::map<double, double> buckets(const std::string& verb) const {
    for (const auto& [series, buckets] : buckets_) {
      if (series.find("verb=\"" + verb + "\"") != std::string::npos) return buckets;
    }
    return {};
  }

 private:
  void read(const std::string& line) {
    static const std::regex comment(R"(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))");
    static const std::regex sample(
        R"(([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (\+Inf|[0-9.]+(?:e[+-]?[0-9]+)?))");
    std::smatch found;
    if (std::regex_match(line, found, comment)) {
      const std::string metric = found[2];
      if (found[1] == "HELP") {
        EXPECT_TRUE(helped_.insert(metric).second) << line;
      } else {
        EXPECT_EQ(helped_.count(metric), 1u) << line;
        EXPECT_TRUE(types_.emplace(metric, found[3]).second) << line;
        EXPECT_EQ(metric.ends_with("_total"), found[3] == "counter") << line;
      }
      now_ = metric;
      return;
    }
    ASSERT_TRUE(std::regex_match(line, found, sample)) << line;
    std::string metric = found[1], labels = found[2], part;
    const double value = std::stod(found[3]);
    EXPECT_TRUE(samples_.emplace(metric + "{" + labels + "}", found[3]).second) << line;
    if (type(now_) == "histogram") {
      ASSERT_TRUE(metric.starts_with(now_)) << line;
      part = metric.substr(now_.size());
      metric = now_;
    }
    EXPECT_EQ(metric, now_) << "samples of a metric stand together: " << line;
    EXPECT_EQ(types_.count(metric), 1u) << line;

    // name="value",…
    static const std::regex label(R"re(([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(,|$))re");
    std::string bound, others;
    auto at = labels.cbegin();
    for (std::smatch one; at != labels.cend(); at = one[0].second) {
      ASSERT_TRUE(
          std::regex_search(at, labels.cend(), one, label, std::regex_constants::match_continuous))
          << line;
      if (one[1] == "le")
        bound = one[2];
      else
        others += one[0].str();
    }
    if (!others.empty() && others.back() == ',') others.pop_back();
    if (part == "_bucket") {
      ASSERT_FALSE(bound.empty()) << line;
      EXPECT_TRUE(buckets_[others].emplace(std::stod(bound), value).second) << line;
    } else if (part == "_count") {
      counts_[others] = value;
    } else if (part == "_sum") {
      sums_[others] = value;
    } else {
      EXPECT_TRUE(part.empty() && bound.empty()) << line;
    }
  }

  std::string now_;
  std::set<std::string> helped_;
  std::map<std::string, std::string> types_, samples_;
  std::map<std::string, std::map<double, double>> buckets_;
  std::map<std::string, double> counts_, sums_;
};

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
  const Scrape scrape(prometheus_text(stats, latencies, "a\"b\\c\nd"));
  const std::string store = R"(store="a\"b\\c\nd")";
  EXPECT_EQ(scrape.value("holdfast_store_records{" + store + "}"), "42");
  EXPECT_EQ(scrape.type("holdfast_store_fences_total"), "counter");
  EXPECT_EQ(scrape.type("holdfast_store_verb_duration_seconds"), "histogram");
  const std::string duration = "holdfast_store_verb_duration_seconds";
  EXPECT_EQ(scrape.value(duration + "_count{" + store + ",verb=\"put\"}"), "6");
  EXPECT_EQ(scrape.value(duration + "_sum{" + store + ",verb=\"put\"}"), "1.5");
  const auto buckets = scrape.buckets("put");
  EXPECT_EQ(buckets.begin()->second, 1) << "3 ns";
  EXPECT_EQ(buckets.lower_bound(1.1e-6)->second, 4);
  EXPECT_EQ(buckets.lower_bound(3e-3)->second, 4);
  EXPECT_EQ(buckets.lower_bound(5e-3)->second, 5);
  EXPECT_EQ(std::prev(buckets.end(), 2)->second, 5) << "the last has no bound";
  EXPECT_EQ(scrape.type("holdfast_store_sessions"), "gauge");
  EXPECT_EQ(Scrape(prometheus_text(stats, {}, "s")).type(duration), "none");
}

// A text with a byte that is no UTF-8 is refused as a whole, so a store in a directory of such a name
// had no metrics at all.
TEST(Prometheus, BytesOfANameThatAreNoUtf8AreEscaped) {
  const std::pair<std::string_view, std::string_view> names[] = {
      {"/s/\xff", "/s/\\\\xff"},                  // No beginning of a character.
      {"\xc3", "\\\\xc3"},                        // Cut off.
      {"a\xe2\x82z", "a\\\\xe2\\\\x82z"},         // Cut off by another one.
      {"\xed\xa0\x80", "\\\\xed\\\\xa0\\\\x80"},  // A surrogate.
      {"\xc3\xa4\xf0\x9f\x98\x80\\", "\xc3\xa4\xf0\x9f\x98\x80\\\\"}};
  for (const auto& [name, written] : names) {
    const Scrape scrape(prometheus_text({}, {}, name));
    EXPECT_EQ(scrape.value("holdfast_store_records{store=\"" + std::string(written) + "\"}"), "0");
  }
}

// To Prometheus a series that appears with the value 1 has not grown: rate() of a bucket that was not
// there before its first call missed this call.
TEST(Prometheus, AllSeriesAreThereFromTheStart) {
  Latencies latencies;
  latencies.one_in = 100;
  const Scrape before(prometheus_text({}, latencies, "s"));
  for (std::size_t i = 0; i < kTimedVerbs; ++i) {
    auto& counts = latencies.verbs[i];
    for (std::size_t bucket = 0; bucket < LatencyCounts::kBuckets; ++bucket)
      counts.calls += counts.buckets[bucket] = 1;
    const auto buckets = before.buckets(std::string(name(static_cast<TimedVerb>(i))));
    EXPECT_EQ(buckets.size(), 30u) << "29 powers of two, +Inf";
    for (const auto& [bound, calls] : buckets)
      EXPECT_EQ(calls, 0);
  }
  latencies.one_in = 0;  // Switched off: what was counted stays.
  EXPECT_EQ(Scrape(prometheus_text({}, latencies, "s")).series(), before.series());
}

}  // namespace
}  // namespace holdfast::kv
