// checker.hpp: runs a workload on a simulated medium, crashes it in every way the model allows,
// recovers each image and judges what a reader would see. docs/crash_checker.md has a worked
// example.
// Public header.
//
//   Protocol<State> protocol;
//   protocol.setup    = makes a fresh medium ready; `initial` is what recovery then shows
//   protocol.workload = runs operations between run.begin(id) and run.acknowledge(id)
//   protocol.recover  = opens the region as after a crash, returns the State a reader sees
//   protocol.check    = says what is wrong with an observed State after a crash, or ""
//   protocol.then     = one more normal operation on a recovered region (opens it itself)
//   const Report report = crash::check(protocol, {.model = crash::kLine});
//   EXPECT_TRUE(report.ok()) << report;
//
// Found     lost, torn, revived or reordered operations (check); a recovery that fails, does not
//           persist what it decided, or that a crash inside it breaks (depth 2 and more); anything
//           still pending at an acknowledgement; bytes changed without memory/persist.hpp; a region
//           on which a normal operation no longer works.
// Counted   barriers, write-backs and redundant ones per operation: exact numbers to assert on.
// Threads   A workload runs on the caller's thread, or on several under run.threads(). Recoveries
//           run on fresh threads, so that thread_local state of the workload cannot help them.
// Costs     Per distinct image one recovery plus time in proportion to the lines that differ.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/crash/medium.hpp>
#include <holdfast/crash/schedule.hpp>

namespace holdfast::crash {

struct Options {
  Model model = kLine;
  std::uint64_t size_bytes = 64 * KiB;
  std::uint64_t unit_bytes = 64 * KiB;
  std::uint64_t max_size_bytes = 4 * MiB;
  // Up to this many states a crash point is exhausted, beyond it covered and sampled.
  std::uint64_t states_per_point = 20'000;
  // The same for crash points inside recoveries and after them.
  std::uint64_t nested_states_per_point = 20'000;
  // Recoveries of distinct images, over all points, depths and schedules; half of them for first
  // crashes. As it is used up, points get smaller shares: a long run thins out rather than stops.
  std::uint64_t images_per_run = 200'000;
  // Crashes in a row. 2: also in the recovery from the first, and in the operation after it.
  unsigned depth = 2;
  std::uint64_t seed = 1;    // The environment's HOLDFAST_SEED goes before.
  Schedules schedules = {};  // For workloads that use run.threads().
  // Count all violations instead of stopping at the first one; only the first is explained.
  bool keep_going = false;
  // Kills, too: the process dies, the caches stay, and the power fails in the recovery or after it.
  // At each crash point and at a few moments between; needs a depth of 2. Their recoveries have a
  // quarter of images_per_run for themselves, and are in no other count than Report::kills.
  bool kills = true;
  // What a recovery after a kill has shown must be found after the power failure. Off, for what
  // readers may see before it is durable: then that is judged like the first crash, and `then` does
  // not follow a kill.
  bool kept_once_shown = true;
  // Pending bytes at an acknowledgement are a failure by themselves.
  bool durable_at_acknowledge = true;

  Status validate() const;
};

// One operation of a workload. Times count begins and acknowledgements from 1.
struct Operation {
  std::uint64_t id = 0;
  std::uint32_t session = 0;
  std::uint64_t begun_at = 0;
  std::uint64_t acknowledged_at = 0;  // 0: in flight when the crash came.
  std::uint32_t thread = 0;
  std::uint64_t sequence_at_begin = 0;
  StepCounts counts;  // Of its thread between begin and acknowledge. Until then: at begin.

  bool acknowledged() const { return acknowledged_at != 0; }
};

// What a check knows: the State that was durable and seen before, and the operations since.
template <class State>
struct Past {
  const State& base;
  std::span<const Operation> operations;  // By begun_at. Never empty: without operations the
                                          // checker itself demands that `base` is found again.
};

struct Report {
  std::vector<std::string> failures;  // Explained, with seed, crash state and sites.
  std::uint64_t points = 0;           // Crash points, all depths.
  std::uint64_t sampled_points = 0;   // Of these, not exhausted.
  // By depth: [0] the first crash, [1] a crash in its recovery or after it.
  std::vector<std::uint64_t> states;      // Possible at exhausted points, visited at sampled ones.
  std::vector<std::uint64_t> images;      // Distinct images recovered.
  std::vector<std::uint64_t> violations;  // Distinct images found wrong (with keep_going: all).
  std::uint64_t kills = 0;  // Distinct ones, each recovered with crashes inside and after.
  std::uint64_t schedules = 0;
  double seconds = 0;
  std::uint64_t seed = 0;

  // Of the last schedule.
  std::map<std::uint64_t, StepCounts> operations;        // By id.
  std::map<std::string, std::uint64_t> redundant_sites;  // "fence file:line" -> times.

  bool ok() const { return failures.empty(); }
  // Every state of every point was tried.
  bool exhaustive() const { return sampled_points == 0; }
  std::uint64_t images_in_all() const;
  // An operation's counts; an id that was never acknowledged stops the process.
  const StepCounts& operation(std::uint64_t id) const;
  std::string text() const;
};
std::ostream& operator<<(std::ostream& out, const Report& report);

namespace checker_detail {
class Engine;
}

// A workload's way to talk to the checker. From any of its threads.
class Workload {
 public:
  // An operation starts on this thread. Ids are unique within a run; a session has one at a time.
  void begin(std::uint64_t id, std::uint32_t session = 0);
  // It has returned success: from now on a crash must not lose it.
  void acknowledge(std::uint64_t id);
  // It has returned an error and changed nothing: as if never begun.
  void withdraw(std::uint64_t id);
  // begin, f(), acknowledge. Returns what f returns.
  template <class F>
  auto perform(std::uint64_t id, F&& f, std::uint32_t session = 0);

  // These bytes may be pending at an acknowledgement: hints that recovery can do without.
  void hint(std::uint64_t offset, std::uint64_t bytes);

  // No crash points while it is alive: for the uninteresting part of a workload.
  class Quiet {
   public:
    explicit Quiet(Workload& run) : run_(run) { ++run_.quiet_; }
    ~Quiet() { --run_.quiet_; }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    Workload& run_;
  };
  [[nodiscard]] Quiet quiet() { return Quiet(*this); }

  // Another Region over the same medium, for a workload that closes and opens again. (The one that
  // a callback gets may be moved from.)
  Region open_again();

  // Runs the bodies as threads, one at a time, in the order of the current schedule.
  void threads(std::vector<std::function<void()>> bodies);

  // Counts of an acknowledged operation.
  const StepCounts& counts(std::uint64_t id) const;
  std::span<const Operation> operations() const { return operations_; }

 private:
  friend class checker_detail::Engine;
  Operation& find(std::uint64_t id);

  checker_detail::Engine* engine_ = nullptr;
  Medium* medium_ = nullptr;
  unsigned depth_ = 0;
  unsigned quiet_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t history_hash_ = 0;
  std::vector<Operation> operations_;
};

template <class F>
auto Workload::perform(std::uint64_t id, F&& f, std::uint32_t session) {
  begin(id, session);
  if constexpr (std::is_void_v<decltype(f())>) {
    f();
    acknowledge(id);
  } else {
    auto result = f();
    acknowledge(id);
    return result;
  }
}

// State: copyable, compared with ==.
template <class State>
struct Protocol {
  State initial{};
  std::function<void(Region&)> setup;                // Not crashed. May be empty.
  std::function<void(Region&, Workload&)> workload;  // Required.
  std::function<Result<State>(Region&)> recover;     // Required. An error is a failure.
  std::function<std::string(const Past<State>&, const State& observed)> check;  // Required.
  std::function<void(Region&, Workload&, const State& found)> then;             // May be empty.
  std::function<std::string(const State&)> print;                               // May be empty.
  std::function<std::string(std::uint64_t id)> describe;  // Names an operation. May be empty.
};

namespace checker_detail {

// A Protocol without its type: States are numbers, equal States have equal ones.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::uint32_t initial() = 0;
  virtual void setup(Region& region) = 0;
  virtual void workload(Region& region, Workload& run) = 0;
  virtual Result<std::uint32_t> recover(Region& region) = 0;
  virtual std::string check(std::uint32_t base, std::span<const Operation> operations,
                            std::uint32_t observed) = 0;
  virtual bool has_then() const = 0;
  virtual void then(Region& region, Workload& run, std::uint32_t found) = 0;
  virtual std::string print(std::uint32_t state) = 0;
  virtual std::string describe(std::uint64_t id) = 0;
};

Report run_check(Subject& subject, const Options& options);

template <class State>
class TypedSubject final : public Subject {
 public:
  explicit TypedSubject(const Protocol<State>& protocol) : protocol_(protocol) {}
  std::uint32_t initial() override { return number(protocol_.initial); }
  void setup(Region& region) override {
    if (protocol_.setup) protocol_.setup(region);
  }
  void workload(Region& region, Workload& run) override { protocol_.workload(region, run); }
  Result<std::uint32_t> recover(Region& region) override {
    HF_ASSIGN_OR_RETURN(State state, protocol_.recover(region));
    return number(std::move(state));
  }
  std::string check(std::uint32_t base, std::span<const Operation> operations,
                    std::uint32_t observed) override {
    return protocol_.check(Past<State>{*states_[base], operations}, *states_[observed]);
  }
  bool has_then() const override { return static_cast<bool>(protocol_.then); }
  void then(Region& region, Workload& run, std::uint32_t found) override {
    protocol_.then(region, run, *states_[found]);
  }
  std::string print(std::uint32_t state) override {
    return protocol_.print ? protocol_.print(*states_[state]) : "state #" + std::to_string(state);
  }
  std::string describe(std::uint64_t id) override {
    return protocol_.describe ? protocol_.describe(id) : "operation " + std::to_string(id);
  }

 private:
  // The same few states come again and again, most often the last one.
  std::uint32_t number(State state) {
    if (last_ < states_.size() && *states_[last_] == state) return last_;
    for (std::size_t i = states_.size(); i > 0; --i) {  // Recent ones are likelier.
      if (*states_[i - 1] == state) return last_ = static_cast<std::uint32_t>(i - 1);
    }
    states_.push_back(std::make_unique<State>(std::move(state)));
    return last_ = static_cast<std::uint32_t>(states_.size() - 1);
  }

  const Protocol<State>& protocol_;
  std::vector<std::unique_ptr<State>> states_;  // Stay where they are: check() may hold references.
  std::uint32_t last_ = 0;
};

}  // namespace checker_detail

template <class State>
Report check(const Protocol<State>& protocol, const Options& options = {}) {
  HF_CHECK(protocol.workload && protocol.recover && protocol.check);
  checker_detail::TypedSubject<State> subject(protocol);
  return checker_detail::run_check(subject, options);
}

}  // namespace holdfast::crash
