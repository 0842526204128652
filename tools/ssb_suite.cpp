#include "ssb_suite.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <holdfast/memory/topology.hpp>
#include <holdfast/olap/ssb/queries.hpp>
#include <holdfast/results/environment.hpp>
#include <holdfast/results/output.hpp>
#include <holdfast/results/statistics.hpp>

#include "console.hpp"
#include "ssb_engine.hpp"
#include "ssb_run.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {

using namespace olap;
using Json = nlohmann::ordered_json;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPublishedRows = 600e6;  // Scale 100.

// A step of table 1, with what was published in seconds: PMem and DRAM.
struct Step {
  const char* name;
  unsigned published_threads;
  double pmem_seconds, dram_seconds;
  bool all_threads, wants_nodes;
  Pinning pinning;
};
constexpr Step kSteps[] = {
    {"1 thread", 1, 306.7, 221.2, false, false, Pinning::kNone},
    {"all threads of a socket", 18, 25.1, 15.2, true, false, Pinning::kNone},
    {"both sockets", 36, 12.3, 9.2, true, true, Pinning::kNone},
    {"threads in NUMA regions", 36, 9.4, 5.2, true, true, Pinning::kNode},
    {"threads on cores", 36, 8.6, 5.2, true, false, Pinning::kCore},
};

// The same tables in one medium and layout.
struct Subject {
  std::string medium, layout;
  OpenStar star;
  std::unique_ptr<SsbEngine> engine;
  std::vector<std::vector<double>> seconds;  // By query.
  std::vector<std::vector<double>> steps;    // By step; empty: not on this machine.

  std::string name() const { return layout + " on " + medium; }
};

double geometric_mean(const std::vector<double>& values) {
  double logs = 0;
  for (const auto value : values)
    logs += std::log(value);
  return std::exp(logs / static_cast<double>(values.size()));
}

class Suite {
 public:
  explicit Suite(const SsbSuiteArguments& arguments) : arguments_(arguments) {
    for (const auto& node : read_topology().nodes)
      nodes_ += !node.cpus.empty();
  }

  Status run() {
    HF_RETURN_IF_ERROR(check_price("--dram-price", arguments_.dram_usd_per_gb));
    HF_RETURN_IF_ERROR(check_price("--region-price", arguments_.region_usd_per_gb));
    HF_RETURN_IF_ERROR(open());
    HF_RETURN_IF_ERROR(ask_all());
    HF_RETURN_IF_ERROR(climb());
    return report();
  }

 private:
  static Status check_price(const char* option, double price) {
    if (std::isfinite(price) && price > 0) return {};
    return Error{Errc::kInvalidOption,
                 fmt::format("{} {}: a number above 0 is wanted", option, price)};
  }

  Status open() {
    std::error_code code;
    std::filesystem::create_directories(arguments_.out, code);
    if (code) return Error{Errc::kIo, "--out " + arguments_.out + ": " + code.message()};
    medium_ = arguments_.region.empty() ? "file" : arguments_.region;
    const Team team(arguments_.threads, places_for(arguments_.threads, Pinning::kAuto));
    for (const std::string layout : {"row", "column"}) {
      for (const bool dram : {true, false}) {
        SsbArguments star;
        star.scale = arguments_.scale;
        star.seed = arguments_.seed;
        star.layout = layout;
        star.threads = arguments_.threads;
        if (!dram)
          star.region = (arguments_.region.empty() ? arguments_.out + "/star" : arguments_.region) +
                        "." + layout;
        Subject subject{dram ? "DRAM" : medium_, layout, {}, nullptr, {}, {}};
        HF_ASSIGN_OR_RETURN(subject.star, open_star(star, team.nodes()));
        HF_ASSIGN_OR_RETURN(
            auto engine,
            SsbEngine::create(*subject.star.store, VectorWidth::kAvx512, "dram", team.nodes()));
        subject.engine = std::make_unique<SsbEngine>(std::move(engine));
        subject.seconds.resize(ssb::queries().size());
        subject.steps.resize(std::size(kSteps));
        subjects_.push_back(std::move(subject));
      }
    }
    rows_ = subjects_[0].star.store->catalogue().rows();
    return {};
  }

  Result<double> time(Subject& subject, const StarQuery& query, Team& team, ResultTable& table) {
    const auto begin = Clock::now();
    HF_ASSIGN_OR_RETURN(auto answer, subject.engine->answer(query, team));
    const std::chrono::duration<double> took = Clock::now() - begin;
    table = std::move(answer.table);
    return took.count();
  }

  // In turn; the first round reads checksums and is not timed. All answers are equal.
  Status ask_all() {
    Team team(arguments_.threads, places_for(arguments_.threads, Pinning::kAuto));
    for (unsigned round = 0; round <= arguments_.repeat; ++round) {
      for (std::size_t i = 0; i < ssb::queries().size(); ++i) {
        const auto& query = ssb::queries()[i];
        ResultTable first;
        for (auto& subject : subjects_) {
          ResultTable table;
          HF_ASSIGN_OR_RETURN(const double seconds, time(subject, query, team, table));
          if (&subject == subjects_.data()) first = table;
          if (table != first)
            return Error{Errc::kCorrupt, query.name + ": " + subject.name() +
                                             " gives another answer than " + subjects_[0].name()};
          if (round > 0) subject.seconds[i].push_back(seconds);
        }
      }
    }
    return {};
  }

  Status climb() {
    const auto& q21 = *std::find_if(ssb::queries().begin(), ssb::queries().end(),
                                    [](const StarQuery& query) { return query.name == "q2.1"; });
    for (std::size_t i = 0; i < std::size(kSteps); ++i) {
      const auto& step = kSteps[i];
      if (!missing(step).empty()) continue;
      const unsigned threads = step.all_threads ? arguments_.threads : 1;
      Team team(threads, places_for(threads, step.pinning));
      for (unsigned round = 0; round < arguments_.repeat; ++round) {
        for (auto& subject : subjects_) {
          ResultTable table;
          HF_ASSIGN_OR_RETURN(const double seconds, time(subject, q21, team, table));
          subject.steps[i].push_back(seconds);
        }
      }
    }
    return {};
  }

  std::string missing(const Step& step) const {
    if (step.wants_nodes && nodes_ < 2) return "this machine has one NUMA node";
    if (step.all_threads && arguments_.threads < 2) return "one thread";
    return "";
  }

  // Of the two media, query by query.
  std::vector<double> slower(std::size_t dram, std::size_t other, std::size_t first,
                             std::size_t last) const {
    std::vector<double> ratios;
    for (auto i = first; i < last; ++i)
      ratios.push_back(results::median(subjects_[other].seconds[i]) /
                       results::median(subjects_[dram].seconds[i]));
    return ratios;
  }

  // Of a column with a subject's name above it.
  std::size_t width() const {
    std::size_t widest = 12;
    for (const auto& subject : subjects_)
      widest = std::max(widest, subject.name().size());
    return widest;
  }

  std::string figure_14b() const {
    std::string text = fmt::format("{:<6}", "query");
    for (const auto& subject : subjects_)
      text += fmt::format(" {:>{}}", subject.name(), width());
    text += fmt::format(" {:>10} {:>10}\n", "row ratio", "col ratio");
    for (std::size_t i = 0; i < ssb::queries().size(); ++i) {
      text += fmt::format("{:<6}", ssb::queries()[i].name);
      for (const auto& subject : subjects_)
        text +=
            fmt::format(" {:>{}.3f} ms", results::median(subject.seconds[i]) * 1e3, width() - 3);
      text += fmt::format(" {:>10.2f} {:>10.2f}\n", slower(0, 1, i, i + 1)[0],
                          slower(2, 3, i, i + 1)[0]);
    }
    return text;
  }

  std::string slowdowns() const {
    const auto queries = ssb::queries().size();
    const auto row = slower(0, 1, 0, queries), column = slower(2, 3, 0, queries);
    return fmt::format(
        "{} over DRAM, geometric mean: rows {:.2f}, columns {:.2f}; flight 1: {:.2f}, {:.2f}.\n"
        "Published, PMem over DRAM, 36 threads, scale 100: 1.66 on average, 1.4 (Q3.3) to 3 "
        "(Q1.3);\nflight 1: 1.3 s and 0.5 s. Hyrise, scale 50: 5.3 on average, 2.5 to 7.7.\n",
        medium_, geometric_mean(row), geometric_mean(column), geometric_mean(slower(0, 1, 0, 3)),
        geometric_mean(slower(2, 3, 0, 3)));
  }

  // Nanoseconds per fact row and core: so machines and scales compare.
  double per_row(double seconds, unsigned threads, double rows) const {
    return seconds * 1e9 * threads / rows;
  }

  std::string table_1() const {
    std::string text = fmt::format("{:<26} {:>15} {:>15}", "ns per row and core", "published PMem",
                                   "published DRAM");
    for (const auto& subject : subjects_)
      text += fmt::format(" {:>{}}", subject.name(), width());
    text += "\n";
    for (std::size_t i = 0; i < std::size(kSteps); ++i) {
      const auto& step = kSteps[i];
      text += fmt::format("{:<26} {:>15.1f} {:>15.1f}", step.name,
                          per_row(step.pmem_seconds, step.published_threads, kPublishedRows),
                          per_row(step.dram_seconds, step.published_threads, kPublishedRows));
      if (!missing(step).empty()) {
        text += "   not here: " + missing(step) + "\n";
        continue;
      }
      const unsigned threads = step.all_threads ? arguments_.threads : 1;
      for (const auto& subject : subjects_)
        text += fmt::format(
            " {:>{}.2f}",
            per_row(results::median(subject.steps[i]), threads, static_cast<double>(rows_)),
            width());
      text += "\n";
    }
    return text;
  }

  std::string prices() const {
    const double dearer = arguments_.dram_usd_per_gb / arguments_.region_usd_per_gb;
    const auto queries = ssb::queries().size();
    const double row = geometric_mean(slower(0, 1, 0, queries));
    const double column = geometric_mean(slower(2, 3, 0, queries));
    return fmt::format(
        "DRAM at {:.2f} USD per GB is {:.2f} times as dear as {} at {:.2f}. It is {:.2f} times as "
        "fast by rows\nand {:.2f} by columns: per dollar {} answers {:.2f} times as much by rows, "
        "{:.2f} by columns.\nPublished: 2.4 times as dear and 1.6 times as fast: 1.5 times as much "
        "per dollar on PMem.\n",
        arguments_.dram_usd_per_gb, dearer, medium_, arguments_.region_usd_per_gb, row, column,
        medium_, dearer / row, dearer / column);
  }

  Json document() const {
    Json document{
        {"command", "ssb suite"}, {"scale", arguments_.scale},         {"fact_rows", rows_},
        {"numa_nodes", nodes_},   {"environment", environment_json()}, {"rows", Json::array()}};
    const auto add = [&](const Subject& subject, const std::string& operation, unsigned threads,
                         const std::vector<double>& seconds) {
      const auto time = results::estimate(seconds);
      document["rows"].push_back({{"subject", subject.layout},
                                  {"medium", subject.medium},
                                  {"operation", operation},
                                  {"threads", threads},
                                  {"ns_per_op_median", time.median * 1e9},
                                  {"ns_per_op_low", time.low * 1e9},
                                  {"ns_per_op_high", time.high * 1e9},
                                  {"repetitions", seconds.size()},
                                  {"valid", true}});
    };
    for (const auto& subject : subjects_) {
      for (std::size_t i = 0; i < ssb::queries().size(); ++i)
        add(subject, ssb::queries()[i].name, arguments_.threads, subject.seconds[i]);
      for (std::size_t i = 0; i < std::size(kSteps); ++i) {
        if (!subject.steps[i].empty())
          add(subject, std::string("q2.1, ") + kSteps[i].name,
              kSteps[i].all_threads ? arguments_.threads : 1, subject.steps[i]);
      }
    }
    return document;
  }

  // The table's columns are set; the words flow.
  struct Section {
    std::string title, table, words;
  };
  std::vector<Section> sections() const {
    const auto machine = results::environment();
    return {
        {fmt::format("{} fact rows (scale {}), {}, {} in turn; all answers equal, row by "
                     "row.",
                     with_separators(rows_), arguments_.scale,
                     counted(arguments_.threads, "thread"), counted(arguments_.repeat, "round")),
         "",
         fmt::format("{}, {}, kernel {}, {}.\n", machine.text("cpu_model"),
                     counted(static_cast<std::uint64_t>(machine.number("cpus_usable")), "CPU"),
                     machine.text("kernel"), machine.text("utc_time"))},
        {"Figure 14b: thirteen queries on two media", figure_14b(), slowdowns()},
        {"Table 1: Q2.1 by threads, sockets and pinning", table_1(), ""},
        {"Section 7: price and performance", "", prices()},
        {"Sections 3 to 5: reading, writing, mixed and random access", "",
         "holdfast bench run workloads/olap/sequential_reads.yaml --dram --scale auto\n"
         "and sequential_writes, mixed_and_random, two_sockets; holdfast bench report draws "
         "them\nbeside the published figures.\n"}};
  }

  Status report() const {
    std::string page =
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\">\n<title>The Star Schema "
        "Benchmark on two media</title>\n<style>body{font:15px/1.4 system-ui,sans-serif;"
        "max-width:80rem;margin:2rem auto;padding:0 1rem}pre{overflow-x:auto}</style>\n";
    for (const auto& [title, table, words] : sections()) {
      out("{}\n{}{}\n", ink(stdout, Ink::kBold, title), table, words);
      page += fmt::format("<h2>{}</h2>\n", markup_free(title));
      if (!table.empty()) page += fmt::format("<pre>{}</pre>\n", markup_free(table));
      if (!words.empty()) page += fmt::format("<p>{}</p>\n", markup_free(words));
    }
    page +=
        "<p>Daase, Bollmeier, Benson, Rabl: Maximizing Persistent Memory Bandwidth Utilization for "
        "OLAP "
        "Workloads. SIGMOD 2021.</p></html>\n";
    HF_RETURN_IF_ERROR(write(arguments_.out + "/suite.html", page));
    return write(arguments_.out + "/suite.json",
                 document().dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  static Status write(const std::string& path, const std::string& text) {
    HF_RETURN_IF_ERROR(results::write_file(text, path));
    note("{}\n", path);
    return {};
  }

  const SsbSuiteArguments& arguments_;
  std::size_t nodes_ = 0;
  std::string medium_;
  std::uint64_t rows_ = 0;
  // Rows on DRAM, rows on the other medium, columns on DRAM, columns on the other medium.
  std::vector<Subject> subjects_;
};

}  // namespace

Status run_suite(const SsbSuiteArguments& arguments) { return Suite(arguments).run(); }

}  // namespace holdfast::tools
