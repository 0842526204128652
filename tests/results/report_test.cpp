#include <holdfast/results/report/report.hpp>

#include <cmath>
#include <regex>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <holdfast/results/report/assets.hpp>
#include <holdfast/results/report/published.hpp>

namespace holdfast::results::report {
namespace {

using nlohmann::json;

// The data of the page, as its script will read it.
json data_of(const std::string& html) {
  const std::string mark = R"(id="data">)";
  const auto begin = html.find(mark) + mark.size();
  return json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

Document document(double rate) {
  Document document;
  document.parameters = {"access_bytes"};
  auto& row = document.rows.emplace_back("holdfast", "sequential_reads", 2);
  row.set("access_bytes", 4096);
  row.set("bytes_per_s_median", rate);
  row.set("bytes_per_s_samples", Value(std::vector<double>{rate, rate, rate, rate}));
  return document;
}

TEST(Claims, TheEmbeddedFilesFitTogether) {
  const auto claims = parse_claims({kNumbers, kHardware, kPapers, kMatches});
  ASSERT_TRUE(claims) << claims.error().message();
  EXPECT_GT(claims->size(), 50u);
  std::set<std::string> seen;
  for (const auto& claim : *claims) {
    EXPECT_TRUE(claim.value > 0 && std::isfinite(claim.value)) << claim.id;
    EXPECT_FALSE(claim.hardware.empty()) << claim.id;
    EXPECT_TRUE(seen.insert(claim.id + claim.operation).second) << claim.id << " twice";
  }
}

TEST(Claims, UnitsAreThoseOfTheirText) {
  const auto claims = parse_claims({kNumbers, kHardware, kPapers, kMatches}).value();
  const auto value = [&](const std::string& id) {
    for (const auto& claim : claims) {
      if (claim.id == id) return claim.value;
    }
    return std::nan("");
  };
  EXPECT_EQ(value("seqread-b256"), 58 * 0x1p30);  // PerMA-Bench: a GB is 2^30.
  EXPECT_EQ(value("ol-rd-peak-grouped"), 40e9);   // The others: 10^9.
  EXPECT_EQ(value("viper-put-peak"), 15e6);
  EXPECT_EQ(value("viper-ycsb-p999-viper"), 25'000);  // us to ns.
}

TEST(Claims, ReadersFindThemInThePapersAndNotByLinesOfATextThatTheyLack) {
  const std::regex line("\\blines? [0-9]");
  const auto claims = parse_claims({kNumbers, kHardware, kPapers, kMatches}).value();
  for (const auto& claim : claims) {
    EXPECT_FALSE(std::regex_search(claim.note + claim.workload, line)) << claim.id << claim.note;
    EXPECT_EQ(claim.system.find(",p"), std::string::npos) << claim.system;
    // "Author: Title, year" and where in it, if it is a figure.
    EXPECT_TRUE(
        std::regex_match(claim.place, std::regex("[^:]+: .*, 20[0-9]{2}(, (Fig|Table) .*)?")))
        << claim.place;
  }
}

TEST(Claims, DamageIsRefusedWithItsPlace) {
  const std::string head =
      "id,paper,unit,value,value_low,value_high,comparison,system,hardware,workload,note,threads,"
      "access_bytes,figure_or_table\n";
  const std::string numbers = head + "a,p,GB/s,1,,,=,PMem,h,w,,,,\n";
  const auto error = [&](const std::string& claims, const std::string& matches) {
    const auto result =
        parse_claims({claims, "name,hardware\nh,metal\n",
                      "paper,citation,binary_units\np,\"A: B, 2020\",no\n", matches});
    return result ? std::string("none") : result.error().detail;
  };
  const std::string columns = "id,operation,field,where\n";
  EXPECT_EQ(error(numbers, columns + "a,reads,bytes_per_s,\n"), "none");
  EXPECT_EQ(error(numbers, columns + "b,reads,bytes_per_s,\n"), "numbers.csv: b is missing");
  EXPECT_EQ(error(numbers, columns + "a,reads,p99_ns,\n"),
            "matches.csv: a is in GB/s, which is no unit of p99_ns");
  EXPECT_EQ(error(numbers, columns + "a,reads\n"), "matches.csv:2: has 2 cells, not 4");
  const auto match = columns + "a,reads,bytes_per_s,\n";
  EXPECT_EQ(error(head + "a,p,GB/s,1,,,=,PMem,other,w,,,,\n", match),
            "hardware.csv: other is missing");
  EXPECT_EQ(error(head + "a,q,GB/s,1,,,=,PMem,h,w,,,,\n", match), "papers.csv: q is missing");
}

TEST(Claims, OnlyWhatSpeaksOfARowIsDrawn) {
  const auto with = document(1e9);
  auto without = with;
  without.rows[0].set("access_bytes", 1024);
  const auto claims = claims_for({&with}).value();
  EXPECT_EQ(claims.size(), 8u);
  EXPECT_TRUE(claims_for({&without}).value().empty());
}

TEST(Report, TheDataIsTheDocumentsWithoutTheirHistograms) {
  Histogram histogram;
  for (std::uint64_t ns = 1; ns <= 1000; ++ns)
    histogram.record(ns);
  auto one = document(2e9);
  one.rows[0].set_latency(histogram);
  const auto data = data_of(to_html({{"mine", one}}, {}).value());
  EXPECT_EQ(data["results"][0]["label"], "mine");
  const auto& row = data["results"][0]["document"]["rows"][0];
  EXPECT_EQ(row["bytes_per_s_median"], 2e9);
  EXPECT_FALSE(row.contains("latency_count"));
  // Read off at 0 %, 90 % and 99 %, exactly where the histogram is, within its 0.8 %.
  const auto& curve = row["latency_curve_ns"];
  EXPECT_EQ(curve[0], 1);
  EXPECT_NEAR(curve[20].get<double>(), 900, 8);
  EXPECT_NEAR(curve[40].get<double>(), 990, 8);
  EXPECT_EQ(curve.size(), 61u);  // To 99.9 %: the thousandth operation is the last.
  EXPECT_FALSE(data.contains("comparison"));
}

TEST(Report, TwoResultsBringTheirComparison) {
  const auto data = data_of(to_html({{"a", document(4e9)}, {"b", document(2e9)}}, {}).value());
  EXPECT_EQ(data["comparison"]["before"], "a");
  EXPECT_EQ(data["comparison"]["rows"][0]["ratio_median"], 0.5);
  EXPECT_EQ(data["comparison"]["rows"][0]["verdict"], "worse");
}

TEST(Report, TheTitleSaysWhatWasMeasured) {
  const auto title = [](const std::vector<std::string>& commands) {
    std::vector<NamedDocument> results;
    for (const auto& command : commands) {
      results.push_back({command, document(1)});
      results.back().document.command.set("name", Value(command));
    }
    return data_of(to_html(results, {}).value())["title"].get<std::string>();
  };
  EXPECT_EQ(title({"bench run"}), "What this memory delivers");
  EXPECT_EQ(title({"kv bench"}), "How the stores compare");
  EXPECT_EQ(title({"blocks bench", "blocks bench"}), "What the blocks cost");
  EXPECT_EQ(title({"bench run", "kv bench"}), "Measured by Holdfast");
}

TEST(Report, NoTextOfAResultIsMarkup) {
  const std::string evil = "</script><script>alert(1)</script><!--@STYLE@";
  auto one = document(1);
  one.environment.set("cpu_model", Value(evil));
  one.rows[0].invalidate(evil);
  one.warnings = {evil};
  ReportOptions options;
  options.title = evil;
  const auto html = to_html({{evil, one}}, options).value();
  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
  // Script elements: of data and of the script; nothing more was opened.
  std::size_t count = 0;
  for (auto at = html.find("<script"); at != std::string::npos; at = html.find("<script", at + 1))
    ++count;
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(data_of(html)["results"][0]["document"]["environment"]["cpu_model"], evil);
}

}  // namespace
}  // namespace holdfast::results::report
