#include "ssb_generate.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/base/format.hpp>
#include <holdfast/olap/ssb/write_tables.hpp>

#include "console.hpp"
#include "parquet_process.hpp"
#include "peer_python.hpp"

namespace holdfast::tools {
namespace {

using namespace olap;

struct GenerateArguments {
  double scale = 0;
  std::string tbl, csv, parquet;  // Directories; one of them is given.
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::string python;

  const std::string& directory() const { return !tbl.empty() ? tbl : !csv.empty() ? csv : parquet; }
};

std::string header_of(const ssb::TableColumns& table) {
  std::string header;
  for (const auto& column : table.columns)
    (header += header.empty() ? "" : ",") += column.name;
  return header + "\n";
}

class ParquetSink : public ssb::TableSink {
 public:
  explicit ParquetSink(ParquetProcess process) : process_(std::move(process)) {}
  Status append(std::string_view text) override { return process_.write(text); }
  Status close() override { return process_.finish(); }

 private:
  ParquetProcess process_;
};

Result<std::unique_ptr<ssb::TableSink>> open_table(const GenerateArguments& arguments,
                                                   const ssb::TableColumns& table) {
  const auto path = arguments.directory() + "/" + std::string(table.table);
  if (!arguments.tbl.empty()) return ssb::file_sink(path + ".tbl");
  if (!arguments.csv.empty()) {
    HF_ASSIGN_OR_RETURN(auto file, ssb::file_sink(path + ".csv"));
    HF_RETURN_IF_ERROR(file->append(header_of(table)));
    return file;
  }
  std::vector<std::string> names, types;
  for (const auto& column : table.columns) {
    names.emplace_back(column.name);
    types.push_back(column.text ? "STRING" : "BIGINT");
  }
  HF_ASSIGN_OR_RETURN(auto process, ParquetProcess::writer(peer_python(arguments.python),
                                                           path + ".parquet", names, types));
  return std::unique_ptr<ssb::TableSink>(std::make_unique<ParquetSink>(std::move(process)));
}

Result<ssb::WrittenTables> write(const GenerateArguments& arguments) {
  const int given = !arguments.tbl.empty() + !arguments.csv.empty() + !arguments.parquet.empty();
  if (given != 1)
    return Error{Errc::kInvalidOption,
                 "--tbl DIR, --csv DIR or --parquet DIR is wanted, one of the three"};
  HF_ASSIGN_OR_RETURN(const auto generator,
                      ssb::Generator::create(arguments.scale, arguments.seed));
  std::error_code code;
  std::filesystem::create_directories(arguments.directory(), code);
  if (code) return Error{Errc::kIo, arguments.directory() + ": " + code.message()};
  const auto form = arguments.tbl.empty() ? ssb::TableText::kCsv : ssb::TableText::kTbl;
  const auto open = [&](const ssb::TableColumns& table) { return open_table(arguments, table); };
  return ssb::write_tables(generator, form, open, arguments.threads);
}

int generate(const GenerateArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const auto written = write(arguments);
  if (!written) {
    complain("holdfast ssb", plain(written.error()));
    return exit_code_of(written.error().code);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  note("{}: {} lines of lineorder, {} of text in all, {}\n", arguments.directory(),
       with_separators(written->lines), human_bytes(static_cast<double>(written->bytes)),
       human_seconds(took.count()));
  return kExitDone;
}

}  // namespace

void offer_ssb_generate(CLI::App& ssb, int& exit_code) {
  auto& app = *ssb.add_subcommand("generate", "Write the five tables as files");
  const auto arguments = std::make_shared<GenerateArguments>();
  arguments->threads = std::max(1u, std::thread::hardware_concurrency());
  app.add_option("--sf", arguments->scale, "Scale factor; may be a fraction")->required();
  app.add_option("--tbl", arguments->tbl, "A directory for .tbl files")->type_name("DIR");
  app.add_option("--csv", arguments->csv, "A directory for .csv files with a header")
      ->type_name("DIR");
  app.add_option("--parquet", arguments->parquet, "A directory for .parquet files, by pyarrow")
      ->type_name("DIR");
  app.add_option("--seed", arguments->seed, "Other seeds, other rows")->capture_default_str();
  app.add_option("--threads", arguments->threads, "Threads (default: one per CPU)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--python", arguments->python,
                 "With pyarrow, for Parquet (default: HOLDFAST_PEER_PYTHON, else python3)")
      ->type_name("PATH");
  app.footer(
      "Examples:\n"
      "  holdfast ssb generate --sf 1 --tbl ./ssb1\n"
      "  holdfast ssb generate --sf 0.1 --csv ./ssb --seed 7\n"
      "  holdfast ssb generate --sf 10 --parquet ./ssb10 --python peers/bin/python");
  app.callback([arguments, &exit_code] { exit_code = generate(*arguments); });
}

}  // namespace holdfast::tools
