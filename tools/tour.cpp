#include "tour.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/modules/modules.hpp>

#include "console.hpp"
#include "kv_verbs.hpp"
#include "text_layout.hpp"
#include "tour_process.hpp"
#include "tour_workload.hpp"

namespace holdfast::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kTourCommand = "holdfast tour";
constexpr const char* kStar = "A star schema, scanned in place";
constexpr const char* kComparison =
    "Beside other stores (a small run; a real one: holdfast kv bench)";

// Set by Ctrl-C and SIGTERM, so that the child and the files go before we do.
volatile std::sig_atomic_t asked_to_stop = 0;
void on_interrupt(int) { asked_to_stop = 1; }

// A line of the table of kills; within 80 columns.
constexpr auto kKillLine = "{:>6} {:>8} {:>13} {:>9} {:>8} {:>12} {:>11} {:>5}";

std::string rate(std::uint64_t count, double seconds) {
  return with_separators(
      static_cast<std::uint64_t>(static_cast<double>(count) / std::max(seconds, 1e-9)));
}

// A paragraph, indented, as wide as the terminal is.
void paragraph(std::string_view text) {
  standard_output().write(wrap(fmt::format("  {}\n", text), prose_columns()));
}

void headline(std::string_view text) {
  out("\n{}\n", ink(stdout, Ink::kBold, text));
  standard_output().flush();
}

// One tour: the steps share the store, its workload and what has been seen so far.
class Tour {
 public:
  Tour(const TourArguments& arguments, std::uint64_t seed, ScratchDirectory scratch,
       std::unique_ptr<SharedBoard> board, Workload workload)
      : arguments_(arguments),
        random_(seed),
        scratch_(std::move(scratch)),
        board_(std::move(board)),
        workload_(std::move(workload)),
        store_(scratch_.path() + "/store" + (arguments.spec.empty() ? "" : "?" + arguments.spec)),
        input_(scratch_.path() + "/stanzas") {}

  // Each returns false after it has said what did not hold.
  bool stage_input();
  bool kill_repeatedly();
  bool finish_import();
  const ScratchDirectory& scratch() const { return scratch_; }
  void explain() const;

  std::uint64_t size() const { return workload_.size(); }
  std::uint64_t bytes() const { return workload_.bytes(); }
  const std::string& store() const { return store_; }
  std::uint64_t kills() const { return kills_; }
  std::uint64_t acknowledged() const {
    std::uint64_t sum = 0;
    for (const Board::Writer& writer : (*board_)->writers)
      sum += writer.acknowledged.load(std::memory_order_acquire);
    return sum;
  }

 private:
  // A store in which something did not hold is kept for a look. After an interrupt nothing is kept.
  bool fail(const Error& error) {
    (void)report_error(kTourCommand, store_, error);
    return keep_files();
  }
  bool fail(std::string_view what) {
    complain(kTourCommand, what);
    return keep_files();
  }
  bool keep_files() {
    scratch_.keep();
    note("  The files are kept: {}\n", scratch_.path());
    return false;
  }
  static bool stop() {
    complain(kTourCommand, "interrupted; the files are removed");
    return false;
  }
  Result<Child> start_child(std::uint64_t passes) {
    (*board_)->ready.store(0);
    return Child::start_self({"tour-child", "--store", store_, "--input", input_, "--board",
                              std::to_string(board_->fd()), "--passes", std::to_string(passes)},
                             board_->fd());
  }
  std::uint64_t passes_begun() const {
    std::uint64_t passes = 1;
    for (std::size_t writer = 0; writer < kWriters; ++writer) {
      const std::uint64_t started = (*board_)->writers[writer].started.load();
      if (started != 0) passes = std::max(passes, workload_.pass(writer, started - 1) + 1);
    }
    return passes;
  }
  bool one_kill(std::uint64_t number);
  bool check_store(Comparison& comparison, double& recovery_seconds);

  const TourArguments& arguments_;
  std::mt19937_64 random_;
  ScratchDirectory scratch_;
  std::unique_ptr<SharedBoard> board_;
  Workload workload_;
  std::string store_, input_;
  RegionReport region_;
  std::uint64_t kills_ = 0;
  double power_put_seconds_ = 0;
};

bool Tour::stage_input() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(input_.c_str(), "wbe"),
                                                             std::fclose};
  if (!file) return fail(Error{Errc::kIo, fmt::format("cannot write '{}'", input_)});
  Output output{file.get(), input_};
  output.write(workload_.text());
  if (const Status status = output.finish(); !status) return fail(status.error());
  return true;
}

bool Tour::check_store(Comparison& comparison, double& recovery_seconds) {
  const auto start = Clock::now();
  auto store = open_for_writing(store_, RegionAccess::kOpen, false);
  recovery_seconds = seconds_since(start);
  if (!store) return fail(store.error());
  region_ = store->region_report();
  auto compared = compare(*store, workload_, **board_);
  if (!compared) return fail(compared.error());
  comparison = std::move(*compared);
  if (const Status closed = store->close(); !closed) return fail(closed.error());
  for (const std::string& wrong : comparison.wrong)
    out("  {} {}\n", ink(stdout, Ink::kBad, "LOST"), wrong);
  if (comparison.wrong_total != 0)
    return fail(fmt::format("{} did not hold", counted(comparison.wrong_total, "record")));
  return true;
}

// Starts the child, kills it at a random operation, looks at what is left.
bool Tour::one_kill(std::uint64_t number) {
  const std::uint64_t before = acknowledged();
  const std::uint64_t step = std::max<std::uint64_t>(size() / (arguments_.kills + 1), 2);
  const std::uint64_t target =
      before + std::uniform_int_distribution<std::uint64_t>{step / 10, step}(random_);
  const auto delay = std::chrono::microseconds{std::uniform_int_distribution<int>{0, 300}(random_)};

  // It is given more passes than it can make before it is killed.
  auto child = start_child(passes_begun() + 3);
  if (!child) return fail(child.error());
  ProgressLine progress{true};
  auto started = Clock::now();
  int status = 0;
  bool ready = false;
  while (acknowledged() < target && !asked_to_stop) {
    if (!ready && (*board_)->ready.load() != 0) ready = true, started = Clock::now();
    if (child->ended(status))
      return fail(
          fmt::format("the child ended by itself (status {}); see its message above", status));
    if (progress.due()) {
      progress.show(fmt::format("  {} records acknowledged", with_separators(acknowledged())));
    }
    std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  if (!asked_to_stop) std::this_thread::sleep_for(delay);
  child->kill_now();
  status = child->wait();
  const double lived = seconds_since(started);
  progress.finish();
  if (asked_to_stop) return stop();
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
    return fail(fmt::format("the child was to die of SIGKILL and ended with status {}", status));
  }
  ++kills_;

  Comparison seen;
  double recovery_seconds = 0;
  if (!check_store(seen, recovery_seconds)) return false;
  out(kKillLine, number, human_seconds(lived), with_separators(seen.acknowledged), seen.in_flight,
      seen.in_flight_there, human_seconds(recovery_seconds), with_separators(seen.records_compared),
      ink(stdout, Ink::kGood, fmt::format("{:>5}", 0)));
  out("\n");
  standard_output().flush();
  return true;
}

bool Tour::kill_repeatedly() {
  paragraph(fmt::format(
      "A child process writes with two threads: one record at a time, and groups of {} that share "
      "a "
      "fence. At a random moment it is killed (SIGKILL). The store is opened again, and every "
      "record "
      "that was acknowledged is compared byte for byte; one in flight may be there whole or not at "
      "all.",
      kGroup));
  out("\n{}\n", ink(stdout, Ink::kDim,
                    fmt::format(kKillLine, "kill", "after", "acknowledged", "in flight", "(whole)",
                                "reopened in", "compared", "lost")));
  for (std::uint64_t number = 1; number <= arguments_.kills; ++number) {
    if (!one_kill(number)) return false;
  }
  return true;
}

bool Tour::finish_import() {
  const std::uint64_t before = acknowledged();
  auto child = start_child(passes_begun());
  if (!child) return fail(child.error());
  auto started = Clock::now();
  bool ready = false;
  int status = 0;
  double writing_seconds = 0;
  const std::uint64_t total = passes_begun() * size();
  while (!child->ended(status)) {
    if (asked_to_stop) return stop();
    if (!ready && (*board_)->ready.load() != 0) ready = true, started = Clock::now();
    if (writing_seconds == 0 && acknowledged() == total) writing_seconds = seconds_since(started);
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  if (writing_seconds == 0) writing_seconds = seconds_since(started);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(
        fmt::format("the last child was to finish the import and ended with status {}", status));
  }
  const std::uint64_t written = acknowledged() - before;
  paragraph(fmt::format(
      "The last child wrote what was left: {} in {} ({} per second), then closed the store.",
      counted(written, "record"), human_seconds(writing_seconds), rate(written, writing_seconds)));

  auto store = open_for_writing(store_, RegionAccess::kOpen, false);
  if (!store) return fail(store.error());
  out("  Opened again {} in {}: {} records.\n",
      store->recovery().clean ? "after that clean close" : "by recovery",
      human_seconds(store->recovery().seconds), with_separators(store->count()));
  const auto compare_start = Clock::now();
  const auto seen = compare(*store, workload_, **board_);
  if (!seen) return fail(seen.error());
  const double compare_seconds = seconds_since(compare_start);
  for (const std::string& wrong : seen->wrong)
    out("  {} {}\n", ink(stdout, Ink::kBad, "LOST"), wrong);
  if (seen->wrong_total != 0)
    return fail(fmt::format("{} did not hold", counted(seen->wrong_total, "record")));
  if (seen->records_compared != size())
    return fail(fmt::format("{} of {} records imported", seen->records_compared, size()));
  out("  All {} compared byte for byte in {} ({} per second).\n",
      with_separators(seen->records_compared), human_seconds(compare_seconds),
      rate(seen->records_compared, compare_seconds));
  const kv::VerifyReport verified = store->verify();
  for (const kv::Defect& defect : verified.defects)
    out("  damage at byte {}: {}\n", defect.offset, defect.what);
  if (!verified.ok())
    return fail(fmt::format("verify found {}", counted(verified.defects_total, "defect")));
  out("  verify: {}; {} blocks, {} read and checked.\n", ink(stdout, Ink::kGood, "sound"),
      with_separators(verified.blocks), human_bytes(static_cast<double>(verified.bytes)));

  // What the stronger promise costs here: the first record once more, as it is, and waited for.
  const TourRecord& first = workload_.record(0, 0);
  std::string value;
  Workload::value_into(first, passes_begun() - 1, value);
  region_ = store->region_report();
  if (region_.granularity == Granularity::kPage) {
    const auto put_start = Clock::now();
    const auto put = store->put(first.key, value, {kv::Durability::kPower});
    if (!put) return fail(put.error());
    power_put_seconds_ = seconds_since(put_start);
  }
  const kv::StoreStats stats = store->stats();
  out("  {} live in {} on the medium, {:.1f} bytes of DRAM per record.\n",
      human_bytes(static_cast<double>(stats.live_bytes)),
      human_bytes(static_cast<double>(stats.used_bytes)),
      static_cast<double>(stats.dram_index_bytes) / static_cast<double>(stats.records));
  if (const Status closed = store->close(); !closed) return fail(closed.error());
  return true;
}

void Tour::explain() const {
  const std::string place = region_.file_system.empty() ? region_.kind : region_.file_system;
  paragraph(fmt::format("the death of the process   {}: {}, {}, none lost.",
                        ink(stdout, Ink::kGood, "durable"), counted(kills_, "kill"),
                        counted(acknowledged(), "acknowledged write")));
  switch (region_.granularity) {
    case Granularity::kNone:
      paragraph(fmt::format(
          "power loss                 {}: {} lives in DRAM. What looks like a file is gone when "
          "the "
          "power is. For more: run the tour with --dir on a disk, an fsdax mount or a devdax.",
          ink(stdout, Ink::kBad, "no power durability"), place));
      break;
    case Granularity::kPage:
      paragraph(fmt::format(
          "power loss                 durable {}: on {} each write survives the process at once, "
          "and "
          "power loss from the next sync on, 100 ms later at most. A put that asks for kPower "
          "returns "
          "after the sync of its group; one alone took {} here.",
          ink(stdout, Ink::kBold, "once synced"), place, human_seconds(power_put_seconds_)));
      break;
    default:
      paragraph("power loss                 each acknowledged write was fenced: it " +
                survival_of(region_).words + ".");
  }
  paragraph(
      "not shown here             a power loss itself: killing a process loses nothing that the "
      "kernel holds. Missing flushes and fences are found by the crash checker (./run test), not "
      "by "
      "this tour.");
  paragraph(fmt::format("where the store was        {}: {}; granularity found by: {}", place,
                        region_.mapping, region_.granularity_source));
  paragraph("more                       docs/durability.md");
}

// The stores of the comparison that this machine has.
std::string stores_to_compare() {
  std::string stores = "holdfast";
  const auto installed = modules::installed();
  for (const std::string_view peer : {"rocksdb", "lmdb", "leveldb"}) {
    if (std::find(installed.begin(), installed.end(), peer) != installed.end())
      stores += "," + std::string(peer);
  }
  return stores;
}

// A child of our own, to its end. Nothing: interrupted, or it could not be started, and that is said.
std::optional<int> run_child(std::vector<std::string> words) {
  standard_output().flush();
  auto child = Child::start_self(std::move(words), -1);
  if (!child) return report_error(kTourCommand, "", child.error()), std::nullopt;
  int status = 0;
  while (!child->ended(status)) {
    if (asked_to_stop) {
      complain(kTourCommand, "interrupted; the files are removed");
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  return status;
}

// An exit code.
int scan_a_star() {
  paragraph(
      "The Star Schema Benchmark at scale 0.1, 600,000 rows in DRAM: a query of each flight, as "
      "columns scanned in place and in the published design (rows of 128 bytes, Dash joins), which "
      "took 369 ns per row and core. Answers are compared row by row.");
  out("\n");
  const auto status = run_child({"ssb", "run", "--sf", "0.1", "--queries", "q1.1,q2.1,q3.1,q4.1",
                                 "--repeat", "5", "--compare", "row"});
  if (!status) return kExitFailed;
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return kExitDone;
  complain(kTourCommand, fmt::format("the star schema failed (status {})", *status));
  return kExitFailed;
}

// An exit code.
int compare_with_others(const ScratchDirectory& scratch) {
  const std::string stores = stores_to_compare();
  if (stores == "holdfast") {
    paragraph(
        "There is none: the modules for RocksDB, LMDB and LevelDB are not built. `./run bench kv` "
        "installs what they need and builds them.");
    return kExitDone;
  }
  paragraph(
      "On the same medium and with the same promise, the death of the process; medians of three, "
      "one thread.");
  out("\n");
  const auto ended = run_child({"kv",
                                "bench",
                                "--stores",
                                stores,
                                "--against",
                                "holdfast",
                                "--records",
                                "100k",
                                "--key",
                                "16",
                                "--value",
                                "200",
                                "--threads",
                                "1",
                                "--ops",
                                "put,get,overwrite,erase",
                                "--repeat",
                                "3",
                                "--seconds",
                                "1",
                                "--quick",
                                "--region",
                                scratch.path() + "/bench",
                                "--peer-directory",
                                scratch.path()});
  if (!ended) return kExitFailed;
  const int status = *ended;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitUntrusted) {
    complain(kTourCommand,
             "a row of the table is marked INVALID: that number is not to be trusted");
    return kExitUntrusted;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    complain(kTourCommand, fmt::format("the comparison failed (status {})", status));
    return kExitFailed;
  }
  return kExitDone;
}

Result<Workload> load_input(const TourArguments& arguments) {
  if (!arguments.input.empty()) return Workload::from_file(arguments.input, arguments.records);
  const std::string remedy =
      "the tour wants the Debian package index: run `apt-get update`, or name a file of stanzas "
      "with --input FILE";
  const auto text = output_of({"apt-cache", "dumpavail"});
  if (!text) return Error{text.code(), text.error().detail + "; " + remedy};
  auto workload = Workload::from_text(*text, arguments.records);
  if (!workload)
    return Error{Errc::kNotFound, fmt::format("`apt-cache dumpavail` gives {}; {}",
                                              workload.error().detail, remedy)};
  return workload;
}

std::string directory_for(const TourArguments& arguments) {
  if (!arguments.directory.empty()) return arguments.directory;
  const char* temporary = std::getenv("TMPDIR");
  return temporary != nullptr && *temporary != '\0' ? temporary : ".";
}

// An exit code.
int compare_only(const TourArguments& arguments, const std::string& directory) {
  const auto scratch = ScratchDirectory::create(directory, arguments.keep);
  if (!scratch) return report_error(kTourCommand, directory, scratch.error());
  headline(kComparison);
  const int compared = compare_with_others(*scratch);
  if (compared == kExitFailed) return kExitFailed;
  headline(kStar);
  return scan_a_star() == kExitFailed ? kExitFailed : compared;
}

}  // namespace

int run_tour(const TourArguments& arguments) {
  const auto start = Clock::now();
  const std::uint64_t seed = arguments.seed ? *arguments.seed : std::random_device{}() % 1'000'000;
  const std::string directory = directory_for(arguments);
  struct statvfs space{};
  if (statvfs(directory.c_str(), &space) != 0) {
    complain(kTourCommand, fmt::format("--dir '{}' is no directory that can be used", directory));
    return kExitBadRequest;
  }
  const std::uint64_t free_bytes = space.f_bavail * space.f_frsize;
  if (free_bytes < 1 * GiB) {
    complain(kTourCommand,
             fmt::format("'{}' has {} free; the tour wants 1 GiB", directory,
                         human_bytes(static_cast<double>(free_bytes))),
             "Name another place: --dir PATH");
    return kExitFailed;
  }
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);

  if (arguments.only_compare) return compare_only(arguments, directory);
  out("{}   seed {} (--seed {} kills at the same operations)\n",
      ink(stdout, Ink::kBold, "Holdfast tour"), seed, seed);
  headline("1. Real records");
  auto workload = load_input(arguments);
  if (!workload) {
    complain(kTourCommand, plain(workload.error()));
    return kExitFailed;
  }
  auto scratch = ScratchDirectory::create(directory, arguments.keep);
  if (!scratch) return report_error(kTourCommand, directory, scratch.error());
  auto board = SharedBoard::create();
  if (!board) return report_error(kTourCommand, directory, board.error());
  Tour tour{arguments, seed, std::move(*scratch), std::move(*board), std::move(*workload)};
  paragraph(fmt::format(
      "{} package stanzas, {}, from {}; the store: {}", with_separators(tour.size()),
      human_bytes(static_cast<double>(tour.bytes())),
      arguments.input.empty() ? "this machine's own index (apt-cache dumpavail)" : arguments.input,
      tour.store()));
  if (!tour.stage_input()) return kExitFailed;

  headline("2. Written, killed, reopened");
  if (!tour.kill_repeatedly()) return kExitFailed;
  headline("3. The rest, and a check of everything");
  if (!tour.finish_import()) return kExitFailed;
  int comparison = kExitDone;
  if (arguments.compare) {
    headline(fmt::format("4. {}", kComparison));
    comparison = compare_with_others(tour.scratch());
    if (comparison == kExitFailed) return kExitFailed;
    headline(fmt::format("5. {}", kStar));
    if (scan_a_star() == kExitFailed) return kExitFailed;
  }
  headline(arguments.compare ? "6. What was durable, and against what"
                             : "4. What was durable, and against what");
  tour.explain();
  if (arguments.keep) out("\n  Kept. Try: holdfast kv {} stats\n", tour.store());
  out("\n{} {} kills, {} acknowledged writes, 0 lost, in {}.\n",
      ink(stdout, Ink::kGood, "Everything held:"), tour.kills(),
      with_separators(tour.acknowledged()), human_seconds(seconds_since(start)));
  return comparison;
}

void add_tour_command(CLI::App& root, int& exit_code) {
  const auto arguments = std::make_shared<TourArguments>();
  auto* tour = root.add_subcommand(
      "tour", "Watch records survive: write, kill -9, reopen, compare; about ten seconds");
  tour->add_option("--dir", arguments->directory,
                   "Where the store goes (default: $TMPDIR, else here); removed afterwards");
  tour->add_option("--spec", arguments->spec,
                   "How to take the place, for example granularity=line or huge=2M");
  tour->add_option("--input", arguments->input,
                   "A file of Debian control stanzas instead of `apt-cache dumpavail`");
  tour->add_option("--seed", arguments->seed, "Chooses the moments of the kills");
  tour->add_option("--kills", arguments->kills, "How often")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  tour->add_option("--records", arguments->records, "At most so many records; 0 is all");
  tour->add_flag("!--no-compare", arguments->compare,
                 "Leave out the tables with other stores and designs");
  tour->add_flag("--only-compare", arguments->only_compare, "Nothing but those tables");
  tour->add_flag("--keep", arguments->keep, "Leave the store where it is");
  tour->footer(
      "Examples:\n"
      "  holdfast tour\n"
      "  holdfast tour --kills 200 --no-compare   # a soak test of process durability\n"
      "  holdfast tour --dir /mnt/pmem            # on an fsdax mount\n"
      "Exit code 0 only if everything held.");
  tour->final_callback([arguments, &exit_code] { exit_code = run_tour(*arguments); });

  // The child that is killed: not for people, so not in the help.
  const auto child_arguments = std::make_shared<TourChildArguments>();
  auto* child = root.add_subcommand("tour-child", "Internal to tour")->group("");
  child->add_option("--store", child_arguments->store)->required();
  child->add_option("--input", child_arguments->input)->required();
  child->add_option("--board", child_arguments->board_fd)->required();
  child->add_option("--passes", child_arguments->passes)->required();
  child->final_callback(
      [child_arguments, &exit_code] { exit_code = run_tour_child(*child_arguments); });
}

}  // namespace holdfast::tools
