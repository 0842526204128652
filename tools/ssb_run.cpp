#include "ssb_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/olap/bandwidth.hpp>
#include <holdfast/olap/ssb/load.hpp>
#include <holdfast/olap/ssb/load_rows.hpp>
#include <holdfast/olap/ssb/queries.hpp>
#include <holdfast/olap/ssb/text_table.hpp>
#include <holdfast/results/environment.hpp>
#include <holdfast/results/output.hpp>
#include <holdfast/results/statistics.hpp>

#include "console.hpp"
#include "ssb_compare.hpp"
#include "ssb_engine.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {

using namespace olap;

namespace {

using Clock = std::chrono::steady_clock;
Status load_into(const SsbArguments& arguments, StarStore& store) {
  const auto begin = Clock::now();
  const auto order =
      arguments.order == "date" ? ssb::FactOrder::kByDate : ssb::FactOrder::kAsLoaded;
  const bool by_row = arguments.layout == "row";
  if (arguments.scale) {
    HF_ASSIGN_OR_RETURN(const auto generator,
                        ssb::Generator::create(*arguments.scale, arguments.seed));
    const auto source =
        fmt::format("generated, scale {}, seed {}", *arguments.scale, arguments.seed);
    HF_RETURN_IF_ERROR((by_row ? ssb::load_generated_rows : ssb::load_generated)(
        generator, source, store, arguments.threads, order));
  } else {
    HF_RETURN_IF_ERROR((by_row ? ssb::load_table_rows : ssb::load_tables)(
        arguments.tables, store, arguments.threads, order));
  }
  const auto& catalogue = store.catalogue();
  const auto rows = catalogue.rows();
  note("{} in {}, {} ({:.1f} bytes per row), loaded in {}\n", counted(rows, "row"),
       by_row ? counted(catalogue.row_tables.facts.size(), "run")
              : counted(catalogue.blocks.size(), "block"),
       human_bytes(static_cast<double>(catalogue.block_bytes())),
       static_cast<double>(catalogue.block_bytes()) /
           static_cast<double>(std::max<std::uint64_t>(rows, 1)),
       human_seconds(seconds_since(begin)));
  return {};
}

struct Timing {
  const StarQuery* query;
  ResultTable table;
  std::uint64_t rows = 0;
  SsbEngine::Bytes bytes{};
  std::vector<double> seconds;
  std::vector<OperatorSeconds> operators{};  // In these rounds.

  double median() const { return results::median(seconds); }
  double median(double OperatorSeconds::* part) const {
    std::vector<double> parts;
    for (const auto& round : operators)
      parts.push_back(round.*part);
    return results::median(parts);
  }
};

struct Run {
  std::string source;
  std::uint64_t fact_rows;
  unsigned threads;
  std::string_view layout, kernel;
  double bandwidth;  // Bytes per second.
  bool cached;       // Of the CPU's caches, not of the memory.
  std::vector<Timing> timings;
};

void print_table(const Run& run) {
  standard_output().write(fit_terminal(fmt::format(
      "{}: {} by {}, {}, {} {}; reading alone: {:.1f} GB/s{}\n\n", run.source,
      counted(run.fact_rows, "row"), run.layout, counted(run.threads, "thread"), run.kernel,
      run.layout == "row" ? "joins" : "kernels", run.bandwidth / 1e9,
      run.cached ? " (caches: the rows take less than four times the last level)" : "")));
  out("{:<6} {:>10} {:>8} {:>12} {:>7} {:>10} {:>8} {:>11}\n", "query", "median ms", "ns/row",
      "rows passed", "groups", "touched MB", "read MB", "of reading");
  double sum = 0, logs = 0;
  for (const auto& timing : run.timings) {
    const auto median = timing.median();
    const auto read = static_cast<double>(timing.bytes.read);
    sum += median, logs += std::log(median);
    out("{:<6} {:>10.3f} {:>8.3f} {:>12} {:>7} {:>10.2f} {:>8.2f} {:>10.0f}%\n", timing.query->name,
        median * 1e3, median * 1e9 / static_cast<double>(std::max<std::uint64_t>(run.fact_rows, 1)),
        with_separators(timing.rows), timing.table.rows.size(),
        static_cast<double>(timing.bytes.needed) / 1e6, read / 1e6,
        run.bandwidth > 0 ? 100 * read / median / run.bandwidth : 0);
  }
  out("{:<6} {:>10.3f}\n{:<6} {:>10.3f}\n", "sum", sum * 1e3, "geomean",
      std::exp(logs / static_cast<double>(run.timings.size())) * 1e3);
}

void print_operators(const Run& run) {
  out("\n{:<6} {:>10} {:>10} {:>10}\n", "query", "bind us", "scan us", "order us");
  for (const auto& timing : run.timings)
    out("{:<6} {:>10.1f} {:>10.1f} {:>10.1f}\n", timing.query->name,
        timing.median(&OperatorSeconds::bind) * 1e6, timing.median(&OperatorSeconds::scan) * 1e6,
        timing.median(&OperatorSeconds::order) * 1e6);
}

SsbTimes times_of(const Run& run) {
  SsbTimes times;
  for (const auto& timing : run.timings) {
    times.queries.push_back(timing.query->name);
    times.seconds.push_back(timing.seconds);
  }
  return times;
}

nlohmann::ordered_json to_json(const Run& run) {
  nlohmann::ordered_json document;
  document["command"] = "ssb run";
  document["source"] = run.source;
  document["fact_rows"] = run.fact_rows;
  document["threads"] = run.threads;
  document["layout"] = run.layout;
  document["kernel"] = run.kernel;
  document["reading_bytes_per_second"] = run.bandwidth;
  document["reading_from_caches"] = run.cached;
  document["environment"] = environment_json();
  for (const auto& timing : run.timings) {
    const auto median = timing.median();
    document["queries"].push_back(
        {{"name", timing.query->name},
         {"subject", "holdfast"},
         {"median_seconds", median},
         {"seconds", timing.seconds},
         {"ns_per_row",
          median * 1e9 / static_cast<double>(std::max<std::uint64_t>(run.fact_rows, 1))},
         {"operator_seconds",
          {{"bind", timing.median(&OperatorSeconds::bind)},
           {"scan", timing.median(&OperatorSeconds::scan)},
           {"order", timing.median(&OperatorSeconds::order)}}},
         {"rows_passed", timing.rows},
         {"result_rows", timing.table.rows.size()},
         {"bytes_touched", timing.bytes.needed},
         {"bytes_read", timing.bytes.read}});
  }
  return document;
}

std::string answer_path(const std::string& directory, std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return directory + "/" + name + ".csv";
}

// Before anything is loaded.
Status make_answers(const std::string& directory, const StarQuery& first) {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  const auto status = code ? Status(Error{Errc::kIo, directory + ": " + code.message()})
                           : results::check_writable(answer_path(directory, first.name));
  return status ? status : Error{status.code(), "--out " + status.error().detail};
}

Status write_answers(const std::vector<Timing>& timings, const std::string& directory) {
  for (const auto& timing : timings)
    HF_RETURN_IF_ERROR(
        results::write_file(timing.table.csv(), answer_path(directory, timing.query->name)));
  return {};
}

VectorWidth star_width_of(std::string_view kernel) {
  if (kernel == "portable") return VectorWidth::kPortable;
  return kernel == "avx2" ? VectorWidth::kAvx2 : VectorWidth::kAvx512;
}

}  // namespace

nlohmann::ordered_json environment_json() {
  nlohmann::ordered_json document;
  const auto machine = results::environment();
  for (const auto& field : machine.all())
    std::visit([&](const auto& value) { document[field.name] = value; }, field.value);
  return document;
}

Pinning pinning_of(std::string_view word) {
  if (word == "core") return Pinning::kCore;
  if (word == "node") return Pinning::kNode;
  return word == "none" ? Pinning::kNone : Pinning::kAuto;
}

// What shall be loaded is there, as far as can be seen before a region is made for it.
Status check_source(const SsbArguments& arguments) {
  if (arguments.scale) HF_RETURN_IF_ERROR(ssb::Generator::create(*arguments.scale, arguments.seed));
  if (arguments.tables.empty()) return {};
  for (const char* table : {"lineorder", "customer", "supplier", "part", "date"})
    HF_RETURN_IF_ERROR(ssb::TextTable::open(arguments.tables + "/" + table + ".tbl"));
  return {};
}

Result<OpenStar> open_star(const SsbArguments& arguments, std::span<const int> nodes) {
  const bool loads = arguments.scale || !arguments.tables.empty();
  if (arguments.scale && !arguments.tables.empty())
    return Error{Errc::kInvalidOption, "a scale and a directory of tables exclude each other"};
  if (!loads && arguments.region.empty())
    return Error{Errc::kInvalidOption,
                 "what shall be asked? --sf F, --data DIR, or --region SPEC of a loaded star"};
  if (!loads && arguments.order == "date")
    return Error{Errc::kInvalidOption,
                 "--order date: rows get their order when they are loaded; give --sf F or --data "
                 "DIR, or leave it out"};
  if (!arguments.scale && arguments.seed != SsbArguments().seed)
    return Error{Errc::kInvalidOption,
                 fmt::format("--seed {} is of the generator: it goes with --sf", arguments.seed)};
  if (loads) HF_RETURN_IF_ERROR(check_source(arguments));
  RegionOptions options;
  options.access = loads ? RegionAccess::kOpenOrCreate : RegionAccess::kOpenReadOnly;
  if (!arguments.size.empty()) {
    HF_ASSIGN_OR_RETURN(const auto size, parse_bytes(arguments.size, "--size"));
    options.size_bytes = options.unit_bytes = options.reserve_bytes = round_up(size, 2 * MiB);
  }
  auto spec = arguments.region;
  if (spec.empty())
    spec = nodes.size() > 1 ? fmt::format("node:{}", fmt::join(nodes, ",")) : "dram";
  HF_ASSIGN_OR_RETURN(auto region, Region::open(spec, options));
  OpenStar star;
  star.region = std::make_unique<Region>(std::move(region));
  HF_ASSIGN_OR_RETURN(
      star.store, loads ? StarStore::open_or_create(*star.region) : StarStore::open(*star.region));
  if (loads) HF_RETURN_IF_ERROR(load_into(arguments, *star.store));
  if (!star.store->loaded())
    return Error{Errc::kNotFound, arguments.region + ": no tables are loaded; holdfast ssb load"};
  const bool by_row = star.store->rows() != nullptr;
  if (!arguments.layout.empty() && by_row != (arguments.layout == "row"))
    return Error{Errc::kInvalidOption,
                 fmt::format("--layout {}: the star in {} is by {}; leave it out, or load it again",
                             arguments.layout, arguments.region, by_row ? "row" : "column")};
  return star;
}

Status run_queries(const SsbArguments& arguments) {
  HF_ASSIGN_OR_RETURN(const auto chosen, ssb::queries_of(arguments.queries));
  if (!arguments.out.empty()) HF_RETURN_IF_ERROR(make_answers(arguments.out, *chosen.front()));
  Team team(arguments.threads, places_for(arguments.threads, pinning_of(arguments.pin)));
  // First: a package that is missing is found out before anything is loaded.
  HF_ASSIGN_OR_RETURN(auto others, SsbComparison::start(arguments, team));
  HF_ASSIGN_OR_RETURN(const auto star, open_star(arguments, team.nodes()));
  const StarStore& store = *star.store;
  HF_ASSIGN_OR_RETURN(const auto engine, SsbEngine::create(store, star_width_of(arguments.kernel),
                                                           arguments.index, team.nodes()));
  Run run{store.catalogue().source,
          store.catalogue().rows(),
          team.size(),
          engine.layout(),
          engine.kernel(),
          0,
          store.catalogue().block_bytes() < 4 * results::last_level_cache_bytes(),
          {}};
  // The first answer checks the checksums of what it reads, and is not timed.
  for (const StarQuery* query : chosen) {
    HF_ASSIGN_OR_RETURN(auto first, engine.answer(*query, team));
    HF_ASSIGN_OR_RETURN(const auto bytes, engine.bytes_of(*query, first.rows));
    run.timings.push_back({query, std::move(first.table), first.rows, bytes, {}});
  }
  for (std::size_t i = 0; i < run.timings.size(); ++i)
    HF_RETURN_IF_ERROR(others.ask(i, *run.timings[i].query, run.timings[i].table, false));
  run.bandwidth = measure_bandwidth(store, team, engine.kernels(), 5);
  for (unsigned round = 0; round < arguments.repeat; ++round) {
    for (std::size_t i = 0; i < run.timings.size(); ++i) {
      auto& timing = run.timings[i];
      const auto begin = Clock::now();
      HF_ASSIGN_OR_RETURN(const auto again, engine.answer(*timing.query, team));
      timing.seconds.push_back(seconds_since(begin));
      timing.operators.push_back(again.seconds);
      if (again.table != timing.table)
        return Error{Errc::kCorrupt, timing.query->name + ": two rounds gave different answers"};
      HF_RETURN_IF_ERROR(others.ask(i, *timing.query, timing.table, true));
    }
  }
  if (!arguments.out.empty()) HF_RETURN_IF_ERROR(write_answers(run.timings, arguments.out));
  if (arguments.json) {
    auto document = to_json(run);
    if (!others.empty()) others.add_to(document, times_of(run), run.threads);
    standard_output().write(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                            "\n");
    return {};
  }
  print_table(run);
  print_operators(run);
  if (!others.empty()) others.print(times_of(run));
  return {};
}

}  // namespace holdfast::tools
