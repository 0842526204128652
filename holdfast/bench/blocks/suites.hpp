// suites.hpp: the suites of `holdfast blocks bench`: which there are, and what one is made of.
//
// A suite is a list of experiments; an experiment is one Plan of the runner (bench/runner.hpp):
// subjects that are measured against one another, interleaved, over operations and thread counts.
// Its rows carry `suite`, `experiment` (the part: what belongs into one chart), `case` (the name of
// the one Plan within which ratios are taken) and the experiment's parameters. A suite lives in
// <name>_suite.cpp; adding one means its line in suites.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/bench/calibration.hpp>
#include <holdfast/bench/runner.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::blocks {

struct BlocksBenchOptions {
  std::vector<std::string> suites;  // Names as in suites(); empty: all.
  // A path that does not exist or is empty, dram, node:N, /dev/daxX.Y; options as in region.hpp.
  std::string region;
  std::vector<unsigned> threads = {1, 2};  // 1 to 64 each.
  unsigned repeat = 5;                     // 1 to 1,000.
  double seconds = 0.2;                    // Bound on a phase; 0.001 to 3,600.
  std::uint64_t region_bytes = 1 * GiB;    // What the suites may use; 64 MiB to 1 TiB.
  // Experiments whose name contains one of these; empty: all.
  std::vector<std::string> only;
  // For peers that need files where `region` is no path; empty: below /dev/shm.
  std::string peer_directory;
  bool erase_device = false;  // Consent: a device in `region` loses all it holds.
  bool quick = false;         // Three points per curve, where a suite has more.
  bool latency = false;       // Percentiles, from a pass of their own.
  // For suites that mix operations (bench/index/mix.hpp); empty: what they have.
  std::string mix;
  // For suites that draw keys by Zipf (bench/index/key_choice.hpp): above 0, below 1.
  double zipf = Zipf::kYcsbTheta;
  // For suites whose keys and values have lengths (bench/index/record_sizes.hpp); empty: theirs.
  std::string sizes;
  bool progress = false;
  std::uint64_t seed = 1;

  unsigned threads_most() const { return *std::max_element(threads.begin(), threads.end()); }
};

// What a suite builds its experiments from. Outlives them.
struct Context {
  const BlocksBenchOptions& options;
  // Mapped, prefaulted, nobody else's: at least options.region_bytes; contents are leftovers. One
  // subject is alive at a time and may use all of it.
  Region& region;
  RegionReport report;
  Limits limits;
  std::string peer_directory;  // Exists, and is empty; peers remove what they make.
  std::uint64_t last_level_cache_bytes = 0;
};

struct Experiment {
  std::string name;  // "log 64 B padded": unique in its suite.
  std::string what;  // What it varies, and where the paper has it.
  // "log padded": experiments of one part differ in their parameters only, and a report draws one
  // chart over these. Empty: the name, and there are no parameters.
  std::string part;
  // What tells its rows from those of the other experiments: record_bytes, dirty_lines, … Set on
  // every row, over what Subject::facts() says of the same name.
  results::Fields parameters;
  // threads, repetitions, seconds, latency and progress are filled in by the run, threads only
  // where the plan has none.
  Plan plan{.threads = {}};
  std::vector<std::string> warnings;  // Of every row.
  std::uint64_t footprint_bytes = 0;  // For check_against_limits().
};

struct Suite {
  std::string name;
  std::string what;
  std::vector<Experiment> (*experiments)(const Context& context);
};

// Ours, in the order in which they run and are listed.
const std::vector<Suite>& suites();

// Runs those of `all` that the options name; `command` is what the document says of its origin.
// Everything it writes lies below the region's path and the peer directory, and is gone when it
// returns, also after SIGINT. Errors: kInvalidOption (names the option, the value seen and what is
// allowed), kAlreadyExists (the path holds something), kNoSpace, kUnsupported (a region of page
// granularity), what opening the region says.
Result<BenchResult> run_suites(const std::string& command, const std::vector<Suite>& all,
                               const BlocksBenchOptions& options);

// The points of a curve. With `quick` the first, the middle one and the last.
template <class T>
std::vector<T> points(const BlocksBenchOptions& options, std::initializer_list<T> all) {
  if (!options.quick || all.size() <= 3) return all;
  return {*all.begin(), all.begin()[all.size() / 2], *(all.end() - 1)};
}

// ---- For subjects ----

// A subject of type S, made anew for each repetition from the context and what follows it.
template <class S, class... Arguments>
SubjectEntry subject_entry(std::string name, const Context& context, Arguments... arguments) {
  const auto make = [&context, arguments...](unsigned) -> std::unique_ptr<Subject> {
    return std::make_unique<S>(context, arguments...);
  };
  return {std::move(name), make, ""};
}

// What the module of `library` makes of the arguments of a suite; where there is no module, a row
// named `subject` that says so. The parameters are those of the module's function.
template <class... Parameters>
SubjectEntry module_entry(std::string_view library, const std::string& subject,
                          const Context& context, std::type_identity_t<Parameters>... arguments) {
  const auto make = modules::function<SubjectEntry(const Context&, Parameters...)>(library);
  if (!make) return {subject, {}, make.error().detail};
  return (*make)(context, std::forward<Parameters>(arguments)...);
}

// Memory of this process, present.
Result<Region> open_dram(std::uint64_t bytes);

// A Subject on the region.
class BlockSubject : public Subject {
 public:
  explicit BlockSubject(const Context& context) : context_(context) {}
  bool counts_persists() const override { return true; }

 protected:
  std::byte* memory() const { return context_.region.data(); }
  const Persist& persist() const { return context_.region.persist(); }
  const Context& context_;
};

// Calls operation(i) for i = 0, 1, … until the phase ends, begin() and end() included; each counts
// as `keys` operations of `bytes` bytes together. The clock is read once per `chunk` calls, so that
// a chunk should take microseconds. In a latency pass each call is timed.
template <class Operation>
Status timed_loop(PhaseThread& thread, unsigned chunk, unsigned keys, std::uint64_t bytes,
                  Operation&& operation) {
  const bool timed = thread.phase().latency;
  const auto quota = thread.quota();
  std::uint64_t done = 0;  // Calls.
  thread.begin();
  while (thread.more(done * keys)) {
    auto last = timed ? Clock::now() : Clock::time_point();
    for (unsigned j = 0; j < chunk && done * keys < quota; ++j, ++done) {
      operation(done);
      if (!timed) [[likely]]
        continue;
      const auto now = Clock::now();
      thread.latency.record(static_cast<std::uint64_t>((now - last).count()));
      last = now;
    }
  }
  thread.end();
  thread.operations = done * keys;
  thread.bytes = done * bytes;
  return {};
}

}  // namespace holdfast::bench::blocks
