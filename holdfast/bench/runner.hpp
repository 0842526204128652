// runner.hpp: measures subjects against one another so that the machine's moods cancel out. What a
// benchmark of stores, logs or queries is written for; threads and repetitions are the engine's
// (engine/team.hpp, engine/samples.hpp), as they are those of the memory benchmark.
//
//   for each repetition r
//     for each subject, the order rotated by r
//       create, prefill, settle                              one subject alive at a time
//       for each operation, for each thread count
//         phase: all threads wait at a barrier, run, stop    earliest begin to latest end
//         check: what the phase wrote is there               outside the clock
//         latency pass, in the first repetition only, unless the phase timed its operations itself
//       extras (start-up times and the like), destroy
//
// A phase ends when its operations are done or its time is up, whichever is first. Rates are
// medians over repetitions with the interval of statistics.hpp; comparisons divide repetition by
// repetition.
//
// A row that must not be believed carries the reason in `valid`: a wrong answer, a failed call, a
// subject that is not built, no repetition that counted. Outcome::trustworthy is then false and a
// command exits with 3. On SIGINT (interrupt_on_signals) the phase ends early, the live subject is
// destroyed, and rows hold the repetitions that were complete.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/histogram.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/bench/engine/interruption.hpp>
#include <holdfast/bench/engine/team.hpp>
#include <holdfast/memory/persist.hpp>
#include <holdfast/results/result.hpp>
#include <holdfast/results/statistics.hpp>

namespace holdfast::bench {

// One measurement: what all its threads are told.
struct Phase {
  std::string operation;
  unsigned threads = 1;
  unsigned repetition = 0;
  std::uint64_t number = 1;      // 1, 2, … in the life of one subject.
  std::uint64_t operations = 0;  // Of all threads together; 0: until the time is up.
  double seconds = 0;
  bool latency = false;  // Time each operation into PhaseThread::latency.
};

// One thread of a phase, as the subject sees it. run() prepares what it needs, calls begin(), works
// in chunks while more(), calls end(), and fills in the counts.
class PhaseThread {
 public:
  PhaseThread(const Phase& phase, unsigned index) : phase_(phase), index_(index) {}
  virtual ~PhaseThread() = default;

  const Phase& phase() const { return phase_; }
  unsigned index() const { return index_; }
  // This thread's share of the phase's operations.
  std::uint64_t quota() const;

  // Waits until all threads of the phase are here, then starts the clock.
  virtual void begin() = 0;
  // False once `done` reached the quota, the time is up, or the run is interrupted. Reads the clock
  // (some 25 ns): call it once per chunk of a microsecond or more.
  virtual bool more(std::uint64_t done) const = 0;
  virtual void end() = 0;

  // A wrong answer. The first one is described in the row.
  void wrong(const std::string& what);

  // The result.
  std::uint64_t operations = 0;  // Keys, where an operation takes a batch.
  std::uint64_t bytes = 0;       // Keys and values moved.
  std::uint64_t wrong_answers = 0;
  std::string first_wrong;
  Histogram latency;

 protected:
  const Phase& phase_;
  unsigned index_;
};

// A measurement that a subject makes by itself.
struct ExtraSample {
  std::string operation;
  unsigned threads = 1;
  std::uint64_t operations = 1;
  double seconds = 0;
  results::Fields facts;
  std::string invalid;  // Empty, or why not to believe it.
};

// What is measured: a store, a log, a query, a bare loop. One object is one life, on one thread
// except for run(). An error of any call makes the subject's remaining rows of this repetition
// invalid.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual Status create() { return {}; }
  virtual Status prefill() { return {}; }
  // False: this subject has no such operation by its nature; then there is no row.
  virtual bool supports([[maybe_unused]] const std::string& operation) const { return true; }
  // How many of them a phase may do at most, all threads together; 0: as many as its time allows.
  virtual std::uint64_t operations_bound([[maybe_unused]] const std::string& operation) const {
    return 0;
  }
  // Before and after each phase, outside the clock. after() checks what the phase wrote and puts
  // right what it must not leave behind; a wrong answer is an error.
  virtual Status before([[maybe_unused]] const Phase& phase) { return {}; }
  virtual Status run(PhaseThread& thread) = 0;
  virtual Status after([[maybe_unused]] const Phase& phase) { return {}; }
  // What the last phase showed beside its rate; asked for after after(), and part of its row.
  virtual results::Fields phase_facts() const { return {}; }
  // Cumulative counts of the subject as a whole, background work included, or nothing.
  virtual PersistCounts persist_total() const { return {}; }
  virtual bool has_persist_total() const { return false; }
  // Whether its threads count their fences in persist_counts().
  virtual bool counts_persists() const { return false; }
  // True if the subject started threads of its own in the last phase; their CPU time is not known.
  virtual bool starts_threads() const { return false; }
  // For every row: parameters and properties (record sizes, durability, bytes per record). Asked
  // for once per life, after prefill.
  virtual results::Fields facts() const { return {}; }
  // Samples of its own, from any part of its life; asked for once, before destroy().
  virtual Result<std::vector<ExtraSample>> extras() { return std::vector<ExtraSample>{}; }
  // Ends everything and removes every file; also called after an error and after SIGINT.
  virtual void destroy() {}
};

struct SubjectEntry {
  std::string name;
  std::function<std::unique_ptr<Subject>(unsigned repetition)> make;  // Empty: not built.
  std::string missing;                                                // Why not.
  unsigned threads_max = 0;  // With more of them it has no row; 0: with any number it has one.

  bool takes(unsigned threads) const { return threads_max == 0 || threads <= threads_max; }
};

struct OperationEntry {
  std::string name;
  std::vector<unsigned> threads;  // Empty: Plan::threads.
};

struct Plan {
  std::vector<SubjectEntry> subjects = {};
  std::vector<OperationEntry> operations = {};
  std::vector<unsigned> threads = {1};
  unsigned repetitions = 5;
  double seconds = 3;                          // Bound on a phase.
  bool latency = true;                         // A latency pass in the first repetition…
  double latency_seconds = 0.5;                // …of at most this long…
  std::uint64_t latency_operations = 500'000;  // …and so many operations.
  bool progress = false;                       // A line on a terminal's standard error.
  std::string baseline =
      "floor";  // Rows get time_x_<baseline>_median, _low, _high if it takes part.
};

struct Outcome {
  std::vector<results::Row> rows;
  bool trustworthy = true;  // Every row is valid.
  bool interrupted = false;
};

Outcome run(const Plan& plan);

// What the plans of a command come to.
struct BenchResult {
  results::Document document;
  bool trustworthy = true;  // All rows valid.
  bool interrupted = false;
  void take(Outcome outcome);
};

// How long its phases take if every subject has every operation and each phase takes all its time;
// filling, checks and extras come on top.
double seconds_at_most(const Plan& plan);
// Says on standard error how much is ahead.
void announce(std::span<const Plan> plans);

}  // namespace holdfast::bench
