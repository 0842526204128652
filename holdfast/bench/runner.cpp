#include <holdfast/bench/runner.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include <holdfast/bench/engine/placement.hpp>
#include <holdfast/bench/engine/samples.hpp>

namespace holdfast::bench {
namespace {

class TimedThread final : public PhaseThread {
 public:
  TimedThread(const Phase& phase, Seat& seat) : PhaseThread(phase, seat.index()), seat_(seat) {}

  void begin() override {
    before_ = persist_counts();
    seat_.begin();
    deadline_ = seat_.begin_time() + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(phase_.seconds));
  }
  bool more(std::uint64_t done) const override {
    if (done >= quota() || interrupted().load(std::memory_order_relaxed)) return false;
    return Clock::now() < deadline_;
  }
  void end() override {
    seat_.end();
    const auto& now = persist_counts();
    persists.fences = now.fences - before_.fences;
    persists.lines_written_back = now.lines_written_back - before_.lines_written_back;
  }

  PersistCounts persists;
  Status status;

 private:
  Seat& seat_;
  PersistCounts before_;
  Clock::time_point deadline_{};
};

struct PhaseResult {
  double seconds = 0;
  double cpu_seconds = 0;  // Of its threads together.
  std::uint64_t operations = 0, bytes = 0;
  std::uint64_t fences = 0, lines = 0;              // On the paths of the operations.
  std::uint64_t fences_total = 0, lines_total = 0;  // With background work.
  Histogram latency;
  std::string failure;
};

// Adds what one thread did; the first failure of all of them stays.
void take(PhaseResult& result, TeamTimes& times, const TimedThread& thread, const Seat& seat) {
  const auto fail = [&](const std::string& why) {
    if (result.failure.empty()) result.failure = why;
  };
  if (!thread.status) return fail(thread.status.error().message());
  if (!seat.complete())
    return fail("thread " + std::to_string(seat.index()) + " did not begin and end its phase");
  times.add(seat);
  result.operations += thread.operations;
  result.bytes += thread.bytes;
  result.fences += thread.persists.fences;
  result.lines += thread.persists.lines_written_back;
  result.latency.merge(thread.latency);
  if (thread.wrong_answers > 0) {
    fail(std::to_string(thread.wrong_answers) + " of " + std::to_string(thread.operations) +
         " answers of a thread are wrong; the first: " + thread.first_wrong);
  }
}

PhaseResult run_phase(Subject& subject, const Phase& phase, const std::vector<int>& cpus) {
  Team team(phase.threads);
  Placement placement;
  if (phase.threads <= cpus.size()) placement = {cpus, true};
  std::vector<std::unique_ptr<TimedThread>> threads;
  for (unsigned i = 0; i < phase.threads; ++i)
    threads.push_back(std::make_unique<TimedThread>(phase, team.seat(i)));

  const auto total_before = subject.persist_total();
  team.run([&](Seat& seat) {
    placement.apply(seat.index());
    auto& thread = *threads[seat.index()];
    thread.status = subject.run(thread);
  });
  const auto total_after = subject.persist_total();

  PhaseResult result;
  TeamTimes times;
  for (unsigned i = 0; i < phase.threads; ++i)
    take(result, times, *threads[i], team.seat(i));
  if (result.failure.empty() && result.operations == 0)
    result.failure = "no operation was done in the time given";
  if (result.failure.empty()) result.seconds = times.seconds();
  result.cpu_seconds = times.cpu_seconds;
  result.fences_total = total_after.fences - total_before.fences;
  result.lines_total = total_after.lines_written_back - total_before.lines_written_back;
  return result;
}

// What the repetitions of one row say.
struct Series {
  explicit Series(unsigned repetitions) : samples(repetitions) {}
  Samples samples;
  std::uint64_t operations = 0, fences = 0, lines = 0, fences_total = 0, lines_total = 0;
  bool has_path_counts = false, has_total_counts = false;
  std::optional<Histogram> latency;
  std::vector<results::Fields> facts;
  std::string invalid;
};

using SeriesKey = std::tuple<std::string, std::string, unsigned>;  // Subject, operation, threads.

class Run {
 public:
  explicit Run(const Plan& plan) : plan_(plan), cpus_(usable_cpus()), begin_(Clock::now()) {}

  Outcome all() {
    const auto turn = [&](std::size_t subject, unsigned repetition) {
      live(plan_.subjects[subject], repetition);
      ++lives_done_;
      return ok_status();  // A subject that fails has invalid rows.
    };
    (void)in_turn(plan_.subjects.size(), plan_.repetitions, [](unsigned) { return true; }, turn);
    if (plan_.progress && ::isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K");
    return outcome();
  }

 private:
  std::vector<unsigned> threads_of(const OperationEntry& operation) const {
    return operation.threads.empty() ? plan_.threads : operation.threads;
  }

  Series& series(const std::string& subject, const std::string& operation, unsigned threads) {
    const SeriesKey key{subject, operation, threads};
    auto [found, inserted] = series_.try_emplace(key, plan_.repetitions);
    if (inserted) order_.push_back(key);
    return found->second;
  }

  void invalidate(Series& series, const std::string& reason) {
    if (series.invalid.empty()) series.invalid = reason;
  }

  // Marks every row that this subject could have had.
  void invalidate_all(const SubjectEntry& entry, const Subject* subject,
                      const std::string& reason) {
    for (const auto& operation : plan_.operations) {
      if (subject != nullptr && !subject->supports(operation.name)) continue;
      for (const auto threads : threads_of(operation)) {
        if (entry.takes(threads)) invalidate(series(entry.name, operation.name, threads), reason);
      }
    }
  }

  void live(const SubjectEntry& entry, unsigned repetition) {
    if (!entry.make) return invalidate_all(entry, nullptr, "not built: " + entry.missing);
    const auto subject = entry.make(repetition);
    show(entry.name, "filling", repetition);
    if (const auto status = create_and_fill(*subject); !status) {
      if (!interrupted()) invalidate_all(entry, subject.get(), status.error().message());
    } else {
      phases(entry, *subject, repetition);
    }
    subject->destroy();
  }

  static Status create_and_fill(Subject& subject) {
    HF_RETURN_IF_ERROR(subject.create());
    return subject.prefill();
  }

  void phases(const SubjectEntry& entry, Subject& subject, unsigned repetition) {
    const auto facts = subject.facts();
    std::uint64_t number = 0;
    for (const auto& operation : plan_.operations) {
      if (!subject.supports(operation.name)) continue;
      for (const auto threads : threads_of(operation)) {
        if (interrupted()) return;
        if (!entry.takes(threads)) continue;
        show(entry.name, operation.name + " " + std::to_string(threads) + "T", repetition);
        Phase phase{
            operation.name, threads, repetition, ++number, subject.operations_bound(operation.name),
            plan_.seconds,  false};
        auto& row = series(entry.name, operation.name, threads);
        auto result = measured(subject, phase);
        if (interrupted()) return;  // A phase cut short is no sample.
        take(row, subject, repetition, result, facts);
        const bool timed_itself = result.latency.count() > 0;
        if (!result.failure.empty() || !plan_.latency || repetition > 0 || timed_itself) continue;
        phase.number = ++number;
        phase.latency = true;
        phase.seconds = std::min(plan_.seconds, plan_.latency_seconds);
        phase.operations = phase.operations == 0
                               ? plan_.latency_operations
                               : std::min(phase.operations, plan_.latency_operations);
        result = measured(subject, phase);
        if (interrupted()) return;
        if (result.failure.empty())
          row.latency = result.latency;
        else
          invalidate(row, "latency pass: " + result.failure);
      }
    }
    take_extras(entry, subject, repetition, facts);
  }

  PhaseResult measured(Subject& subject, const Phase& phase) {
    PhaseResult result;
    if (const auto status = subject.before(phase); !status) {
      result.failure = status.error().message();
      return result;
    }
    result = run_phase(subject, phase, cpus_);
    if (interrupted()) return result;
    if (const auto status = subject.after(phase); !status && result.failure.empty()) {
      result.failure = status.error().message();
    }
    return result;
  }

  void take(Series& row, const Subject& subject, unsigned repetition, const PhaseResult& result,
            const results::Fields& facts) {
    row.facts.push_back(facts);
    if (!result.failure.empty()) return invalidate(row, result.failure);
    row.facts.back().merge(subject.phase_facts());
    if (result.latency.count() > 0) {
      if (!row.latency) row.latency.emplace();
      row.latency->merge(result.latency);
    }
    row.samples.set(
        repetition,
        {static_cast<double>(result.operations), result.seconds, static_cast<double>(result.bytes),
         subject.starts_threads() ? Sample{}.cpu_seconds : result.cpu_seconds});
    row.operations += result.operations;
    row.fences += result.fences;
    row.lines += result.lines;
    row.fences_total += result.fences_total;
    row.lines_total += result.lines_total;
    row.has_path_counts = subject.counts_persists();
    row.has_total_counts = subject.has_persist_total();
  }

  void take_extras(const SubjectEntry& entry, Subject& subject, unsigned repetition,
                   const results::Fields& facts) {
    show(entry.name, "closing and opening", repetition);
    const auto extras = subject.extras();
    if (interrupted()) return;
    if (!extras) return invalidate(series(entry.name, "extras", 1), extras.error().message());
    for (const auto& sample : *extras) {
      auto& row = series(entry.name, sample.operation, sample.threads);
      row.facts.push_back(facts);
      row.facts.back().merge(sample.facts);
      if (sample.invalid.empty())
        row.samples.set(repetition, {static_cast<double>(sample.operations), sample.seconds});
      else
        invalidate(row, sample.invalid);
    }
  }

  Outcome outcome() {
    Outcome outcome;
    outcome.interrupted = interrupted();
    for (const auto& operation_first : ordered_keys()) {
      auto& series = series_.at(operation_first);
      if (series.samples.counted() == 0 && series.invalid.empty()) {
        if (outcome.interrupted) continue;
        series.invalid = "no repetition counted";
      }
      outcome.rows.push_back(row_of(operation_first, series));
      outcome.trustworthy = outcome.trustworthy && outcome.rows.back().valid();
    }
    return outcome;
  }

  // Grouped by operation, then threads, subjects in the order of the plan.
  std::vector<SeriesKey> ordered_keys() const {
    std::vector<std::string> operations;
    for (const auto& operation : plan_.operations)
      operations.push_back(operation.name);
    for (const auto& [subject, operation, threads] : order_)
      operations.push_back(operation);
    const auto rank = [&](const SeriesKey& key) {
      const auto subject =
          std::find_if(plan_.subjects.begin(), plan_.subjects.end(),
                       [&](const auto& entry) { return entry.name == std::get<0>(key); });
      return std::tuple{
          std::find(operations.begin(), operations.end(), std::get<1>(key)) - operations.begin(),
          std::get<2>(key), subject - plan_.subjects.begin()};
    };
    auto keys = order_;
    std::sort(keys.begin(), keys.end(),
              [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return keys;
  }

  results::Row row_of(const SeriesKey& key, const Series& series) const {
    const auto& [subject, operation, threads] = key;
    results::Row row(subject, operation, threads);
    if (!series.invalid.empty()) row.invalidate(series.invalid);
    add_facts(row, series.facts);
    series.samples.describe(row);
    if (series.operations > 0) {
      const auto per_op = [&](std::uint64_t n) {
        return static_cast<double>(n) / static_cast<double>(series.operations);
      };
      if (series.has_path_counts) {
        row.set("fences_per_op", per_op(series.fences));
        row.set("lines_per_op", per_op(series.lines));
      }
      if (series.has_total_counts) {
        row.set("fences_per_op_with_background", per_op(series.fences_total));
        row.set("lines_per_op_with_background", per_op(series.lines_total));
      }
    }
    if (series.latency) row.set_latency(*series.latency);
    const auto baseline = series_.find({plan_.baseline, operation, threads});
    if (baseline != series_.end() && subject != plan_.baseline)
      compare(row, series.samples, baseline->second.samples, plan_.baseline);
    return row;
  }

  // Numbers that vary from life to life are given as their median, the rest as last seen.
  static void add_facts(results::Row& row, const std::vector<results::Fields>& lives) {
    if (lives.empty()) return;
    for (const auto& field : lives.back().all()) {
      if (!std::holds_alternative<double>(field.value)) {
        row.set(field.name, field.value);
        continue;
      }
      std::vector<double> values;
      for (const auto& life : lives)
        values.push_back(life.number(field.name));
      row.set(field.name, results::median(values));
    }
  }

  void show(const std::string& subject, const std::string& what, unsigned repetition) const {
    if (!plan_.progress || ::isatty(STDERR_FILENO) != 1) return;
    const auto lives = plan_.subjects.size() * plan_.repetitions;
    std::string remaining;
    if (lives_done_ >= plan_.subjects.size() || (lives_done_ > 0 && lives_done_ * 2 >= lives)) {
      // From one whole round on: before, the slow subjects may not have had their turn.
      const auto passed = seconds_since(begin_);
      const auto left =
          passed / static_cast<double>(lives_done_) * static_cast<double>(lives - lives_done_);
      remaining = ", about " + std::to_string(static_cast<unsigned>(left) / 60) + " min " +
                  std::to_string(static_cast<unsigned>(left) % 60) + " s left";
    }
    std::fprintf(stderr, "\r\033[K[%zu of %zu] repetition %u, %s: %s%s", lives_done_ + 1, lives,
                 repetition + 1, subject.c_str(), what.c_str(), remaining.c_str());
    std::fflush(stderr);
  }

  const Plan& plan_;
  const std::vector<int> cpus_;
  const Clock::time_point begin_;
  std::size_t lives_done_ = 0;
  std::map<SeriesKey, Series> series_;
  std::vector<SeriesKey> order_;
};

}  // namespace

std::uint64_t PhaseThread::quota() const {
  if (phase_.operations == 0) return std::numeric_limits<std::uint64_t>::max();
  const auto share = phase_.operations / phase_.threads;
  return std::max<std::uint64_t>(1, share);
}

void PhaseThread::wrong(const std::string& what) {
  if (wrong_answers++ == 0) first_wrong = what;
}

Outcome run(const Plan& plan) { return Run(plan).all(); }

void BenchResult::take(Outcome outcome) {
  for (auto& row : outcome.rows) {
    trustworthy = trustworthy && row.valid();
    document.rows.push_back(std::move(row));
  }
  interrupted = outcome.interrupted;
}

double seconds_at_most(const Plan& plan) {
  double seconds = 0;
  for (const auto& entry : plan.subjects) {
    if (!entry.make) continue;
    for (const auto& operation : plan.operations) {
      const auto& counts = operation.threads.empty() ? plan.threads : operation.threads;
      const auto threads = std::count_if(counts.begin(), counts.end(),
                                         [&](unsigned count) { return entry.takes(count); });
      const auto latency = plan.latency ? std::min(plan.seconds, plan.latency_seconds) : 0;
      seconds += static_cast<double>(threads) * (plan.seconds * plan.repetitions + latency);
    }
  }
  return seconds;
}

void announce(std::span<const Plan> plans) {
  double seconds = 0;
  for (const auto& plan : plans)
    seconds += seconds_at_most(plan);
  const auto whole = static_cast<unsigned long>(std::ceil(seconds));
  const auto text = whole < 120
                        ? std::to_string(whole) + " s"
                        : std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  std::fprintf(stderr, "%zu comparison%s, at most %s in phases; filling and checks come on top\n",
               plans.size(), plans.size() == 1 ? "" : "s", text.c_str());
}

}  // namespace holdfast::bench
