#include "olap_command.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/olap/mart/load.hpp>
#include <holdfast/olap/mart/star_answer.hpp>
#include <holdfast/results/output.hpp>
#include <holdfast/sql/patterns.hpp>

#include "console.hpp"
#include "olap_chart.hpp"
#include "olap_output.hpp"
#include "olap_schema.hpp"
#include "parquet_process.hpp"
#include "peer_python.hpp"
#include "ssb_run.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

using namespace olap::mart;
using olap::Team;
using Clock = std::chrono::steady_clock;

// Blocks that appends have left, from which on an append merges them.
constexpr std::size_t kMergeFrom = 16;

struct OlapArguments {
  std::string schema, data, region, size;
  std::string table, file;
  std::string text, format = "table", out, chart, python, kernel = "auto", pin = "auto";
  unsigned threads = 1, repeat = 1;
};

struct OpenMart {
  std::unique_ptr<Region> region;
  std::unique_ptr<MartStore> store;
};

int fail(const Error& error) {
  complain("holdfast olap", plain(error));
  return exit_code_of(error.code);
}

Result<OpenMart> open_mart(const OlapArguments& arguments, RegionAccess access) {
  RegionOptions options;
  options.access = access;
  if (!arguments.size.empty()) {
    HF_ASSIGN_OR_RETURN(const auto size, parse_bytes(arguments.size, "--size"));
    options.size_bytes = options.unit_bytes = options.reserve_bytes = round_up(size, 2 * MiB);
  }
  HF_ASSIGN_OR_RETURN(auto region, Region::open(arguments.region, options));
  OpenMart mart;
  mart.region = std::make_unique<Region>(std::move(region));
  HF_ASSIGN_OR_RETURN(mart.store, access == RegionAccess::kOpenOrCreate
                                      ? MartStore::open_or_create(*mart.region)
                                      : MartStore::open(*mart.region));
  return mart;
}

// The version that is loaded. Errors: kNotFound.
Result<std::shared_ptr<const MartVersion>> loaded(const OpenMart& mart,
                                                  const OlapArguments& arguments) {
  auto version = mart.store->version();
  if (version == nullptr)
    return Error{Errc::kNotFound, arguments.region + ": no tables are loaded; holdfast olap load"};
  return version;
}

Status read_file(Load& load, std::uint32_t table, const std::string& path, const CsvFormat& format,
                 const OlapArguments& arguments) {
  if (!path.ends_with(".parquet")) {
    HF_ASSIGN_OR_RETURN(auto reader, CsvReader::open(path, format));
    return load.read(table, reader, format.header);
  }
  if (!std::filesystem::exists(path)) return Error{Errc::kNotFound, path + ": there is none"};
  HF_ASSIGN_OR_RETURN(auto process, ParquetProcess::reader(peer_python(arguments.python), path));
  Status read;
  {
    CsvFormat rows;
    rows.skips_empty_lines = false;
    CsvReader reader(process.take_output(), path, rows);
    read = load.read(table, reader, true);
  }  // The process does not wait for somebody to read the rest.
  // What the process says is why the rows ended.
  HF_RETURN_IF_ERROR(process.finish());
  return read;
}

std::string path_of(const OlapArguments& arguments, const std::string& file) {
  if (arguments.data.empty()) return file;
  return (std::filesystem::path(arguments.data) / std::filesystem::path(file).filename()).string();
}

Status load_all(const OlapArguments& arguments) {
  if (ends_with_us(arguments.region))
    return Error{Errc::kInvalidOption,
                 "--region " + arguments.region +
                     " is memory that ends with this command; name a path or a /dev/daxX.Y"};
  HF_ASSIGN_OR_RETURN(const auto description, read_olap_schema(arguments.schema));
  const auto& tables = description.schema.tables;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (description.files[i].empty())
      return Error{Errc::kInvalidOption, fmt::format("--schema {}: table {} names no file",
                                                     arguments.schema, escape(tables[i].name))};
    // Before a region is made for them.
    const auto path = path_of(arguments, description.files[i]);
    if (!std::filesystem::exists(path)) return Error{Errc::kNotFound, path + ": there is none"};
  }
  HF_ASSIGN_OR_RETURN(const auto mart, open_mart(arguments, RegionAccess::kOpenOrCreate));
  const auto begin = Clock::now();
  HF_ASSIGN_OR_RETURN(auto load,
                      Load::replace(*mart.store, description.schema, description.unknown));
  for (std::uint32_t i = 1; i <= tables.size(); ++i) {
    const auto table = static_cast<std::uint32_t>(i % tables.size());
    HF_RETURN_IF_ERROR(read_file(load, table, path_of(arguments, description.files[table]),
                                 description.csv, arguments));
  }
  HF_ASSIGN_OR_RETURN(const auto report, load.finish(arguments.schema));
  const auto version = mart.store->version();
  for (std::size_t i = 0; i < tables.size(); ++i)
    note("{}: {}\n", tables[i].name, counted(report.rows[i], "row"));
  if (report.unknown_keys > 0)
    note("{} that no dimension has became NULL\n", counted(report.unknown_keys, "key"));
  const auto bytes = static_cast<double>(version->catalogue().fact_bytes());
  std::uint64_t all = 0;
  for (const auto& extent : version->catalogue().extents())
    all += extent.size_bytes;
  note("{} in {} of {} ({:.1f} bytes per row), {} with dimensions and dictionaries, loaded in {}\n",
       human_bytes(bytes), counted(version->catalogue().tables[0].blocks.size(), "block"),
       tables[0].name, bytes / static_cast<double>(std::max<std::uint64_t>(report.rows[0], 1)),
       human_bytes(static_cast<double>(all)), human_seconds(seconds_since(begin)));
  return {};
}

Status append(const OlapArguments& arguments) {
  OlapSchema description;
  if (!arguments.schema.empty()) {
    HF_ASSIGN_OR_RETURN(description, read_olap_schema(arguments.schema));
  }
  HF_ASSIGN_OR_RETURN(const auto mart, open_mart(arguments, RegionAccess::kOpen));
  {
    HF_ASSIGN_OR_RETURN(const auto version, loaded(mart, arguments));
    if (!arguments.schema.empty() && description.schema != version->schema())
      return Error{Errc::kInvalidOption, fmt::format("--schema {}: the star in {} has another one",
                                                     arguments.schema, arguments.region)};
    const auto table = version->schema().find(arguments.table);
    if (!table)
      return Error{Errc::kInvalidOption, fmt::format("--table {}: the star has no such table; "
                                                     "holdfast olap schema shows them",
                                                     escape(arguments.table))};
    HF_ASSIGN_OR_RETURN(auto load, Load::append(*mart.store, description.unknown));
    HF_RETURN_IF_ERROR(read_file(load, *table, arguments.file, description.csv, arguments));
    HF_ASSIGN_OR_RETURN(const auto report, load.finish(""));
    note("{}: {} more\n", arguments.table, counted(report.rows[*table], "row"));
    if (report.unknown_keys > 0)
      note("{} that no dimension has became NULL\n", counted(report.unknown_keys, "key"));
  }
  const auto small = small_blocks(mart.store->version()->catalogue());
  if (small < kMergeFrom) return {};
  // The rows are there even if the merge fails. A user who reads of a failure would append them
  // again.
  if (const auto merged = merge(*mart.store); !merged)
    complain("holdfast olap",
             fmt::format("the rows are there, but {} blocks of appends are not merged: {}", small,
                         plain(merged.error())));
  else
    note("{} blocks of appends merged\n", small);
  return {};
}

Status merge_all(const OlapArguments& arguments) {
  HF_ASSIGN_OR_RETURN(const auto mart, open_mart(arguments, RegionAccess::kOpen));
  HF_ASSIGN_OR_RETURN(const auto before, loaded(mart, arguments));
  HF_RETURN_IF_ERROR(merge(*mart.store));
  note("{} of appends merged\n", counted(small_blocks(before->catalogue()), "block"));
  return {};
}

Result<int> verify(const OlapArguments& arguments) {
  HF_ASSIGN_OR_RETURN(const auto mart, open_mart(arguments, RegionAccess::kOpenReadOnly));
  HF_ASSIGN_OR_RETURN(const auto version, loaded(mart, arguments));
  const auto found = version->verify();
  for (const auto& text : found)
    out("{}\n", text);
  note("{} in {}: {}\n", counted(version->catalogue().fact_rows(), "row"),
       counted(version->catalogue().tables[0].blocks.size(), "block"),
       found.empty() ? "all is well" : counted(found.size(), "damaged place"));
  return found.empty() ? kExitDone : kExitFailed;
}

Status show_schema(const OlapArguments& arguments) {
  HF_ASSIGN_OR_RETURN(const auto mart, open_mart(arguments, RegionAccess::kOpenReadOnly));
  HF_ASSIGN_OR_RETURN(const auto version, loaded(mart, arguments));
  const auto& tables = version->schema().tables;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto& data = version->catalogue().tables[i];
    out("{} ({}){}\n", escape(tables[i].name), counted(data.rows(), "row"),
        i == 0 ? ", the fact" : "");
    for (std::uint32_t k = 0; k < tables[i].columns.size(); ++k) {
      const auto& column = tables[i].columns[k];
      std::string more;
      if (column.references != 0) more = ", key of " + escape(tables[column.references].name);
      if (i > 0 && k == tables[i].key) more = ", key";
      if (column.is_text()) more += fmt::format(", {} different", with_separators(data.texts(k)));
      out("  {} {}{}\n", escape(column.name), sql::name_of(column.type), more);
    }
  }
  return {};
}

Status write_answer(const std::string& path, const std::string& text) {
  if (!path.empty()) return results::write_file(text, path);
  standard_output().write(text);
  return {};
}

VectorWidth width_of(const std::string& kernel) {
  return kernel == "portable" ? VectorWidth::kPortable : VectorWidth::kAvx512;
}

Status query(const OlapArguments& arguments) {
  if (arguments.format == "parquet" && arguments.out.empty())
    return Error{Errc::kInvalidOption, "--format parquet wants --out FILE"};
  if (!arguments.chart.empty() && arguments.out.empty())
    return Error{Errc::kInvalidOption, "--chart wants --out FILE.html"};
  const auto writable = arguments.out.empty() ? Status() : results::check_writable(arguments.out);
  if (!writable) return Error{writable.code(), "--out " + writable.error().detail};
  HF_ASSIGN_OR_RETURN(const auto mart, open_mart(arguments, RegionAccess::kOpenReadOnly));
  HF_ASSIGN_OR_RETURN(const auto version, loaded(mart, arguments));
  sql::set_pattern_loader([] { return modules::load("re2"); });
  Team team(arguments.threads, olap::places_for(arguments.threads, pinning_of(arguments.pin)));
  StarAnswer found;
  std::vector<double> seconds;
  for (unsigned i = 0; i < arguments.repeat; ++i) {
    const auto begin = Clock::now();
    HF_ASSIGN_OR_RETURN(found, answer(arguments.text, *version, team, width_of(arguments.kernel)));
    seconds.push_back(seconds_since(begin));
  }
  std::sort(seconds.begin(), seconds.end());
  const auto median = seconds[seconds.size() / 2];
  note("{}; {} of {} passed, {} of {} read, {}\n", counted(found.rows.size(), "row"),
       with_separators(found.counts.passed), with_separators(found.table_rows),
       with_separators(found.counts.read), counted(found.counts.blocks, "block"),
       human_seconds(median));
  if (!arguments.chart.empty()) {
    HF_ASSIGN_OR_RETURN(
        const auto page,
        chart_page(found, arguments.chart == "bars" ? ChartKind::kBars : ChartKind::kLines,
                   arguments.text));
    return write_answer(arguments.out, page);
  }
  if (arguments.format == "parquet")
    return write_parquet(found, peer_python(arguments.python), arguments.out);
  if (arguments.format == "csv")
    return write_answer(arguments.out, csv_of(found, QuoteTexts::kAsNeeded, true));
  if (arguments.format == "json") return write_answer(arguments.out, json_of(found, median));
  return write_answer(arguments.out, table_of(found));
}

CLI::App& add_verb(CLI::App& olap, const char* name, const char* text,
                   const std::shared_ptr<OlapArguments>& arguments, int& exit_code,
                   Result<int> (*run)(const OlapArguments&)) {
  auto& verb = *olap.add_subcommand(name, text);
  verb.add_option("--region", arguments->region, "Where the star is")
      ->type_name("SPEC")
      ->required();
  verb.callback([arguments, &exit_code, run] {
    const auto done = run(*arguments);
    exit_code = done ? *done : fail(done.error());
  });
  return verb;
}

template <Status (*kRun)(const OlapArguments&)>
Result<int> done(const OlapArguments& arguments) {
  HF_RETURN_IF_ERROR(kRun(arguments));
  return kExitDone;
}

void add_python(CLI::App& app, OlapArguments& arguments) {
  app.add_option("--python", arguments.python,
                 "With pyarrow, for Parquet (default: HOLDFAST_PEER_PYTHON, else python3)")
      ->type_name("PATH");
}

void add_query(CLI::App& olap, const std::shared_ptr<OlapArguments>& arguments, int& exit_code) {
  auto& verb = add_verb(olap, "query", "Answer a SELECT", arguments, exit_code, done<query>);
  verb.add_option("sql", arguments->text, "The SELECT")->required();
  verb.add_option("--threads", arguments->threads, "Threads (default: one per CPU)")
      ->check(CLI::Range(1, 1024));
  verb.add_option("--format", arguments->format, "Of the answer")
      ->check(CLI::IsMember({"table", "csv", "json", "parquet"}))
      ->capture_default_str();
  verb.add_option("--out", arguments->out, "A file (default: standard output)")->type_name("FILE");
  verb.add_option("--chart", arguments->chart, "The answer as a page with bars or lines, to --out")
      ->check(CLI::IsMember({"bars", "lines"}));
  verb.add_option("--repeat", arguments->repeat, "Ask so often; the median time is said")
      ->check(CLI::Range(1, 1'000'000));
  verb.add_option("--pin", arguments->pin,
                  "Threads to a CPU each (core), to a NUMA node (node), or not (none); auto: core "
                  "where there are several nodes")
      ->check(CLI::IsMember({"auto", "none", "node", "core"}))
      ->capture_default_str();
  verb.add_option("--kernel", arguments->kernel, "Widest vectors to use")
      ->check(CLI::IsMember({"auto", "portable"}))
      ->capture_default_str();
  add_python(verb, *arguments);
  verb.footer(
      "Examples:\n"
      "  holdfast olap query 'SELECT region, SUM(price) FROM sales JOIN customers\n"
      "      ON customer = ckey GROUP BY region' --region ./star\n"
      "  holdfast olap query 'SELECT channel, COUNT(*) FROM sales GROUP BY channel'\n"
      "      --region ./star --chart bars --out sales.html\n"
      "What the SELECT can be: docs/own_star.md");
}

}  // namespace

void add_olap_command(CLI::App& root, int& exit_code) {
  auto& olap = *root.add_subcommand("olap", kOlapHelp);
  olap.require_subcommand(1);
  olap.footer(
      "Examples:\n"
      "  holdfast olap load --schema star.yaml --region ./star\n"
      "  holdfast olap query 'SELECT region, SUM(price) FROM sales JOIN customers\n"
      "      ON customer = ckey GROUP BY region' --region ./star\n"
      "  holdfast olap append --region ./star --table sales --file more.csv\n"
      "What a description has: docs/own_star.md. What a region SPEC may be: holdfast mem --help");
  const auto arguments = std::make_shared<OlapArguments>();
  arguments->threads = std::max(1u, std::thread::hardware_concurrency());

  auto& load =
      add_verb(olap, "load", "Load a star; one that is there is replaced at the end, by one word",
               arguments, exit_code, done<load_all>);
  load.add_option("--schema", arguments->schema, "The description, in YAML")
      ->type_name("FILE")
      ->required();
  load.add_option("--data", arguments->data, "Where the files are (default: as it says)")
      ->type_name("DIR");
  load.add_option("--size", arguments->size,
                  "Of a new region, which this load does not let grow; a multiple of 2M")
      ->type_name("SIZE");
  add_python(load, *arguments);
  load.footer(
      "Examples:\n"
      "  holdfast olap load --schema star.yaml --region ./star\n"
      "  holdfast olap load --schema star.yaml --data ./files --region ./star\n"
      "What a description has: docs/own_star.md");

  auto& more = add_verb(olap, "append", "Add rows to a table, all or none, durably", arguments,
                        exit_code, done<append>);
  more.add_option("--table", arguments->table, "The fact, or a dimension")->required();
  more.add_option("--file", arguments->file, "CSV, or .parquet")->type_name("FILE")->required();
  more.add_option("--schema", arguments->schema,
                  "The description: its csv and unknown_keys (default: CSV with a header)")
      ->type_name("FILE");
  add_python(more, *arguments);
  more.footer(
      "Rows of a dimension come before those of the fact that name them.\n"
      "Examples:\n"
      "  holdfast olap append --region ./star --table customers --file new_customers.csv\n"
      "  holdfast olap append --region ./star --table sales --file more.csv");

  add_query(olap, arguments, exit_code);
  add_verb(olap, "merge", "Make blocks of the usual size of what was appended", arguments,
           exit_code, done<merge_all>)
      .footer("Example:\n  holdfast olap merge --region ./star");
  add_verb(olap, "schema", "Show tables, columns and keys", arguments, exit_code, done<show_schema>)
      .footer("Example:\n  holdfast olap schema --region ./star");
  add_verb(olap, "verify", "Check all checksums and values", arguments, exit_code, verify)
      .footer("Exit code 1 if there is damage.\nExample:\n  holdfast olap verify --region ./star");
}

}  // namespace holdfast::tools
