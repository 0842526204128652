#include "ssb_command.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/olap/ssb/load.hpp>
#include <holdfast/olap/ssb/write_tables.hpp>

#include "console.hpp"
#include "ssb_generate.hpp"
#include "ssb_run.hpp"
#include "ssb_suite.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

using namespace olap;

int ssb_failed(const Error& error) {
  complain("holdfast ssb", plain(error));
  return exit_code_of(error.code);
}

int load(const SsbArguments& arguments) {
  if (arguments.region.empty())
    return ssb_failed({Errc::kInvalidOption, "--region SPEC is wanted: where the star will be"});
  if (arguments.scale.has_value() == !arguments.tables.empty())
    return ssb_failed({Errc::kInvalidOption, "--sf F or --tbl DIR is wanted, one of the two"});
  if (ends_with_us(arguments.region))
    return ssb_failed({Errc::kInvalidOption,
                       "--region " + arguments.region +
                           " is memory that ends with this command; name a path or a /dev/daxX.Y, "
                           "or let `holdfast ssb run` load and ask at once"});
  auto star = open_star(arguments);
  if (!star) return ssb_failed(star.error());
  return kExitDone;
}

int verify_star(const SsbArguments& arguments) {
  if (arguments.region.empty())
    return ssb_failed({Errc::kInvalidOption, "--region SPEC is wanted"});
  auto star = open_star(arguments);
  if (!star) return ssb_failed(star.error());
  const auto found = star->store->verify();
  for (const auto& text : found)
    out("{}\n", text);
  const auto& catalogue = star->store->catalogue();
  const bool by_row = catalogue.layout == Layout::kByRow;
  note("{} in {}: {}\n", counted(catalogue.rows(), "row"),
       by_row ? counted(catalogue.row_tables.facts.size(), "run")
              : counted(catalogue.blocks.size(), "block"),
       found.empty() ? "all is well" : counted(found.size(), "damaged place"));
  return found.empty() ? kExitDone : kExitFailed;
}

// The star in the region, to be changed.
Result<OpenStar> open_to_write(const SsbArguments& arguments) {
  if (arguments.region.empty())
    return Error{Errc::kInvalidOption, "--region SPEC is wanted: where the star is"};
  RegionOptions options;
  options.access = RegionAccess::kOpen;
  HF_ASSIGN_OR_RETURN(auto region, Region::open(arguments.region, options));
  OpenStar star;
  star.region = std::make_unique<Region>(std::move(region));
  HF_ASSIGN_OR_RETURN(star.store, StarStore::open(*star.region));
  return star;
}

int append_tables(const SsbArguments& arguments) {
  auto star = open_to_write(arguments);
  if (!star) return ssb_failed(star.error());
  const auto lines = ssb::append_lines(arguments.tables, *star->store, arguments.threads);
  if (!lines) return ssb_failed(lines.error());
  const auto present = star->store->version();
  const auto& catalogue = present->catalogue();
  note("{} appended; {} in all, {} to be merged\n", counted(*lines, "row"),
       with_separators(catalogue.rows()), counted(catalogue.deltas.size(), "append"));
  return kExitDone;
}

int merge(const SsbArguments& arguments) {
  auto star = open_to_write(arguments);
  if (!star) return ssb_failed(star.error());
  const auto before = star->store->version();
  if (const auto merged = star->store->merge(); !merged) return ssb_failed(merged.error());
  const auto after = star->store->version();
  note("{} merged: {} before, {} now\n", counted(before->catalogue().deltas.size(), "append"),
       counted(before->catalogue().blocks.size(), "block"),
       with_separators(after->catalogue().blocks.size()));
  return kExitDone;
}

int export_fact(const SsbArguments& arguments) {
  if (arguments.region.empty())
    return ssb_failed({Errc::kInvalidOption, "--region SPEC is wanted: where the star is"});
  SsbArguments where = arguments;
  where.tables.clear();  // Here it is where lines go to.
  auto star = open_star(where);
  if (!star) return ssb_failed(star.error());
  const auto present = star->store->version();
  if (present->rows() == nullptr)
    return ssb_failed({Errc::kUnsupported,
                       "a star of columns has no columns for all fields; load with --layout row"});
  const auto written = ssb::export_lines(*present->rows(), arguments.tables, arguments.threads);
  if (!written) return ssb_failed(written.error());
  note("{}: {} lines, {}\n", arguments.tables, with_separators(written->lines),
       human_bytes(static_cast<double>(written->bytes)));
  return kExitDone;
}

void add_threads(CLI::App& app, SsbArguments& arguments) {
  app.add_option("--threads", arguments.threads, "Threads (default: one per CPU)")
      ->check(CLI::Range(1, 1024));
}

void add_source(CLI::App& app, SsbArguments& arguments, const std::string& tables) {
  app.add_option("--sf", arguments.scale, "Scale factor of generated tables; may be a fraction");
  app.add_option(tables, arguments.tables, "A directory with the five .tbl files")
      ->type_name("DIR");
  app.add_option("--seed", arguments.seed, "Of the generator")->capture_default_str();
  app.add_option("--order", arguments.order,
                 "Of the fact's rows: as they come, or by date, which takes DRAM for all of them")
      ->check(CLI::IsMember({"loaded", "date"}))
      ->capture_default_str();
  app.add_option("--layout", arguments.layout,
                 "column, or row: 128 bytes per row, the published baseline (default: column; of a "
                 "star that is there: its own)")
      ->check(CLI::IsMember({"column", "row"}));
  app.add_option("--size", arguments.size,
                 "Of a new region, which this load does not let grow; a multiple of 2M")
      ->type_name("SIZE");
}

void add_region(CLI::App& app, SsbArguments& arguments, const std::string& text) {
  app.add_option("--region", arguments.region, text)->type_name("SPEC");
}

void add_run(CLI::App& ssb, const std::shared_ptr<SsbArguments>& arguments, int& exit_code) {
  auto& run = *ssb.add_subcommand("run", "Answer and time the thirteen queries");
  add_source(run, *arguments, "--data");
  add_region(run, *arguments, "Where the star is, or is loaded to (default: dram)");
  add_threads(run, *arguments);
  run.add_option("--queries", arguments->queries,
                 "q1.1,q1.2,… or all; q1.3p and q2.3p are by the paper's prose")
      ->capture_default_str();
  run.add_option("--repeat", arguments->repeat, "Timed rounds over all queries")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  run.add_option("--kernel", arguments->kernel, "Widest vectors to use")
      ->check(CLI::IsMember({"auto", "portable", "avx2", "avx512"}))
      ->capture_default_str();
  run.add_option("--pin", arguments->pin,
                 "Threads to a CPU each (core), to a NUMA node (node), or not (none); auto: core "
                 "where there are several nodes")
      ->check(CLI::IsMember({"auto", "none", "node", "core"}))
      ->capture_default_str();
  run.add_option("--index", arguments->index,
                 "Where the Dash indexes of a star of rows are built; what is there must be empty")
      ->type_name("SPEC")
      ->capture_default_str();
  run.add_option("--compare", arguments->compare,
                 "In turn with duckdb,chdb,datafusion,polars from PyPI, and row, the published "
                 "design: answers must be equal")
      ->type_name("NAMES");
  run.add_option("--python", arguments->python,
                 "That has them (default: HOLDFAST_PEER_PYTHON, else python3)")
      ->type_name("PATH");
  run.add_option("--format", arguments->format, "Of what --out gets: csv")
      ->check(CLI::IsMember({"csv"}))
      ->capture_default_str();
  run.add_option("--out", arguments->out, "A directory for q1_1.csv to q4_3.csv")->type_name("DIR");
  run.add_flag("--json", arguments->json, "The table as JSON");
  run.footer(
      "Examples:\n"
      "  holdfast ssb run --sf 1                   # generate into DRAM, run all thirteen\n"
      "  holdfast ssb run --region ./star1 --queries q2.1,q4.3 --out ./answers\n"
      "  holdfast ssb run --sf 1 --layout row      # the published design\n"
      "  holdfast ssb run --sf 1 --compare row,duckdb --python peers/bin/python");
  run.callback([arguments, &exit_code] {
    const auto done = run_queries(*arguments);
    exit_code = done ? kExitDone : ssb_failed(done.error());
  });
}

void add_suite(CLI::App& ssb, int& exit_code) {
  const auto arguments = std::make_shared<SsbSuiteArguments>();
  arguments->threads = std::max(1u, std::thread::hardware_concurrency());
  auto& suite = *ssb.add_subcommand(
      "suite", "Section 6 of the paper here: two media, threads and pinning, prices; a report");
  suite.add_option("--sf", arguments->scale, "Scale factor")->capture_default_str();
  suite.add_option("--seed", arguments->seed, "Of the generator")->capture_default_str();
  suite
      .add_option("--region", arguments->region,
                  "The medium beside DRAM: two stars come here, SPEC.row and SPEC.column (default: "
                  "files in --out)")
      ->type_name("PATH");
  suite.add_option("--out", arguments->out, "A directory for suite.html and suite.json")
      ->type_name("DIR")
      ->required();
  suite.add_option("--threads", arguments->threads, "Threads (default: one per CPU)")
      ->check(CLI::Range(1, 1024));
  suite.add_option("--repeat", arguments->repeat, "Timed rounds")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  suite.add_option("--dram-price", arguments->dram_usd_per_gb,
                   "USD per GB of DRAM (default: the paper's)");
  suite.add_option("--region-price", arguments->region_usd_per_gb,
                   "USD per GB of the other medium (default: the paper's of persistent memory)");
  suite.footer(
      "Examples:\n"
      "  holdfast ssb suite --sf 1 --out ./study\n"
      "  holdfast ssb suite --sf 1 --region /mnt/pmem/ssb --out ./study");
  suite.callback([arguments, &exit_code] {
    const auto done = run_suite(*arguments);
    exit_code = done ? kExitDone : ssb_failed(done.error());
  });
}

}  // namespace

void add_ssb_command(CLI::App& root, int& exit_code) {
  auto& ssb = *root.add_subcommand("ssb", kSsbHelp);
  ssb.require_subcommand(1);
  ssb.footer(
      "Examples:\n"
      "  holdfast ssb run --sf 1                   # generate into DRAM, run all thirteen\n"
      "  holdfast ssb generate --sf 1 --tbl ./ssb1 # the five tables; --csv, --parquet\n"
      "  holdfast ssb load --tbl ./ssb1 --region ./star1\n"
      "  holdfast ssb run --region ./star1 --queries q2.1,q4.3 --out ./answers\n"
      "  holdfast ssb run --sf 1 --layout row      # the published design\n"
      "  holdfast ssb run --sf 1 --compare row,duckdb --python peers/bin/python\n"
      "  holdfast ssb suite --sf 1 --region /mnt/pmem/ssb --out ./study\n"
      "  holdfast ssb append --region ./star1 --tbl ./more.tbl\n"
      "  holdfast ssb verify --region ./star1\n"
      "What a region SPEC may be: holdfast mem --help");
  const auto arguments = std::make_shared<SsbArguments>();
  arguments->threads = std::max(1u, std::thread::hardware_concurrency());
  offer_ssb_generate(ssb, exit_code);
  auto& load_app = *ssb.add_subcommand(
      "load", "Load tables; a star that is there is replaced at the end, by one word");
  add_source(load_app, *arguments, "--tbl");
  add_region(load_app, *arguments, "Where the star will be");
  add_threads(load_app, *arguments);
  load_app.footer(
      "Examples:\n"
      "  holdfast ssb load --sf 1 --region ./star1\n"
      "  holdfast ssb load --tbl ./ssb1 --region ./star1 --order date");
  load_app.callback([arguments, &exit_code] { exit_code = load(*arguments); });

  auto& append_app = *ssb.add_subcommand(
      "append", "Add lines of the fact table to a star of columns, all or none, durably");
  append_app
      .add_option("--tbl", arguments->tables,
                  "A file in the form of lineorder.tbl, whose keys are "
                  "those of the dimensions that are there")
      ->type_name("FILE")
      ->required();
  add_region(append_app, *arguments, "Where the star is");
  add_threads(append_app, *arguments);
  append_app.footer("Example:\n  holdfast ssb append --region ./star1 --tbl ./more.tbl");
  append_app.callback([arguments, &exit_code] { exit_code = append_tables(*arguments); });

  auto& merge_app =
      *ssb.add_subcommand("merge", "Make blocks of the usual size of what was appended");
  add_region(merge_app, *arguments, "Where the star is");
  merge_app.footer("Example:\n  holdfast ssb merge --region ./star1");
  merge_app.callback([arguments, &exit_code] { exit_code = merge(*arguments); });

  auto& export_app =
      *ssb.add_subcommand("export", "Write the fact table of a star of rows, all fields of it");
  export_app.add_option("--tbl", arguments->tables, "The file, in the form of lineorder.tbl")
      ->type_name("FILE")
      ->required();
  add_region(export_app, *arguments, "Where the star is");
  add_threads(export_app, *arguments);
  export_app.footer("Example:\n  holdfast ssb export --region ./star1 --tbl ./lineorder.tbl");
  export_app.callback([arguments, &exit_code] { exit_code = export_fact(*arguments); });

  add_run(ssb, arguments, exit_code);
  add_suite(ssb, exit_code);

  auto& verify_app = *ssb.add_subcommand("verify", "Check all checksums and values of a star");
  add_region(verify_app, *arguments, "Where the star is");
  verify_app.footer(
      "Exit code 1 if there is damage.\nExample:\n  holdfast ssb verify --region ./star1");
  verify_app.callback([arguments, &exit_code] { exit_code = verify_star(*arguments); });
}

}  // namespace holdfast::tools
