#include <holdfast/bench/runner.hpp>

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <thread>
#include <tuple>

namespace holdfast::bench {
namespace {

constexpr auto kNaN = std::numeric_limits<double>::quiet_NaN();

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// The CPUs this process may use; threads are pinned to them in turn.
std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  return cpus;
}

void pin_this_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // A refusal (a cpuset changed under us) costs steadiness, not truth: the wall clock decides.
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Lets all threads of a phase go at once. Spins while there is a CPU for each, since waking up from
// a futex takes longer than a short phase may take.
class StartLine {
 public:
  StartLine(unsigned threads, bool spin) : threads_(threads), spin_(spin) {}
  void arrive() { arrived_.fetch_add(1); }
  void arrive_and_wait() {
    arrive();
    while (arrived_.load() < threads_) {
      if (!spin_) std::this_thread::yield();
    }
  }

 private:
  const unsigned threads_;
  const bool spin_;
  std::atomic<unsigned> arrived_{0};
};

class TimedThread final : public PhaseThread {
 public:
  TimedThread(const Phase& phase, unsigned index, StartLine& line)
      : PhaseThread(phase, index), line_(line) {}

  void begin() override {
    before_ = persist_counts();
    line_.arrive_and_wait();
    started_ = true;
    cpu_seconds = -thread_cpu_seconds();
    begin_ = Clock::now();
    deadline_ = begin_ + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(phase_.seconds));
  }
  bool more(std::uint64_t done) const override {
    if (done >= quota() || interrupted().load(std::memory_order_relaxed)) return false;
    return Clock::now() < deadline_;
  }
  void end() override {
    end_ = Clock::now();
    cpu_seconds += thread_cpu_seconds();
    const auto& now = persist_counts();
    persists.fences = now.fences - before_.fences;
    persists.lines_written_back = now.lines_written_back - before_.lines_written_back;
  }
  // A thread whose subject failed before begin() must not keep the others waiting.
  void release_others() {
    if (!started_) line_.arrive();
  }
  bool complete() const { return started_ && end_ >= begin_; }
  Clock::time_point begin_time() const { return begin_; }
  Clock::time_point end_time() const { return end_; }

  PersistCounts persists;
  double cpu_seconds = 0;
  Status status;

 private:
  StartLine& line_;
  PersistCounts before_;
  bool started_ = false;
  Clock::time_point begin_{}, end_{}, deadline_{};
};

struct PhaseResult {
  double seconds = 0;
  double cpu_seconds = 0;  // Of its threads together.
  std::uint64_t operations = 0, bytes = 0, wrong_answers = 0;
  std::uint64_t fences = 0, lines = 0;              // On the paths of the operations.
  std::uint64_t fences_total = 0, lines_total = 0;  // With background work.
  Histogram latency;
  std::string failure;
};

PhaseResult run_phase(Subject& subject, const Phase& phase, const std::vector<int>& cpus) {
  const bool fits = phase.threads <= cpus.size();
  StartLine line(phase.threads, fits);
  std::vector<std::unique_ptr<TimedThread>> threads;
  for (unsigned i = 0; i < phase.threads; ++i)
    threads.push_back(std::make_unique<TimedThread>(phase, i, line));

  const auto total_before = subject.persist_total();
  std::vector<std::thread> running;
  for (unsigned i = 0; i < phase.threads; ++i) {
    running.emplace_back([&, i] {
      if (fits) pin_this_thread(cpus[i]);
      threads[i]->status = subject.run(*threads[i]);
      threads[i]->release_others();
    });
  }
  for (auto& thread : running)
    thread.join();
  const auto total_after = subject.persist_total();

  PhaseResult result;
  auto begin = Clock::time_point::max();
  auto end = Clock::time_point::min();
  for (const auto& thread : threads) {
    if (!thread->status) {
      if (result.failure.empty()) result.failure = thread->status.error().message();
      continue;
    }
    if (!thread->complete()) {
      result.failure =
          "thread " + std::to_string(thread->index()) + " did not begin and end its phase";
      continue;
    }
    begin = std::min(begin, thread->begin_time());
    end = std::max(end, thread->end_time());
    result.operations += thread->operations;
    result.bytes += thread->bytes;
    result.cpu_seconds += thread->cpu_seconds;
    result.fences += thread->persists.fences;
    result.lines += thread->persists.lines_written_back;
    result.wrong_answers += thread->wrong_answers;
    result.latency.merge(thread->latency);
    if (thread->wrong_answers > 0 && result.failure.empty()) {
      result.failure = std::to_string(thread->wrong_answers) + " of " +
                       std::to_string(thread->operations) +
                       " answers of a thread are wrong; the first: " + thread->first_wrong;
    }
  }
  if (result.failure.empty() && result.operations == 0)
    result.failure = "no operation was done in the time given";
  if (result.failure.empty()) result.seconds = seconds_between(begin, end);
  result.fences_total = total_after.fences - total_before.fences;
  result.lines_total = total_after.lines_written_back - total_before.lines_written_back;
  return result;
}

// What the repetitions of one row say.
struct Series {
  std::vector<double> ops_per_s;  // One per repetition; NaN where it did not count.
  std::vector<double> bytes_per_s, cpu_ns_per_op;
  std::uint64_t operations = 0, fences = 0, lines = 0, fences_total = 0, lines_total = 0;
  bool has_path_counts = false, has_total_counts = false;
  std::optional<Histogram> latency;
  std::vector<Fields> facts;
  std::string invalid;
};

using SeriesKey = std::tuple<std::string, std::string, unsigned>;  // Subject, operation, threads.

class Run {
 public:
  explicit Run(const Plan& plan) : plan_(plan), cpus_(usable_cpus()), begin_(Clock::now()) {}

  Outcome all() {
    const auto count = plan_.subjects.size();
    for (unsigned repetition = 0; repetition < plan_.repetitions && !interrupted(); ++repetition) {
      for (const auto index : rotated(count, repetition)) {
        if (interrupted()) break;
        live(plan_.subjects[index], repetition);
        ++lives_done_;
      }
    }
    if (plan_.progress) std::fprintf(stderr, "\r\033[K");
    return outcome();
  }

 private:
  std::vector<unsigned> threads_of(const OperationEntry& operation) const {
    return operation.threads.empty() ? plan_.threads : operation.threads;
  }

  Series& series(const std::string& subject, const std::string& operation, unsigned threads) {
    const SeriesKey key{subject, operation, threads};
    auto [found, inserted] = series_.try_emplace(key);
    if (inserted) order_.push_back(key);
    auto& result = found->second;
    if (result.ops_per_s.size() < plan_.repetitions) {
      result.ops_per_s.resize(plan_.repetitions, kNaN);
      result.bytes_per_s.resize(plan_.repetitions, kNaN);
      result.cpu_ns_per_op.resize(plan_.repetitions, kNaN);
    }
    return result;
  }

  void invalidate(Series& series, const std::string& reason) {
    if (series.invalid.empty()) series.invalid = reason;
  }

  // Marks every row that this subject could have had.
  void invalidate_all(const SubjectEntry& entry, const Subject* subject,
                      const std::string& reason) {
    for (const auto& operation : plan_.operations) {
      if (subject != nullptr && !subject->supports(operation.name)) continue;
      for (const auto threads : threads_of(operation))
        invalidate(series(entry.name, operation.name, threads), reason);
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
        show(entry.name, operation.name + " " + std::to_string(threads) + "T", repetition);
        Phase phase{
            operation.name, threads, repetition, ++number, subject.operations_bound(operation.name),
            plan_.seconds,  false};
        auto& row = series(entry.name, operation.name, threads);
        auto result = measured(subject, phase);
        if (interrupted()) return;  // A phase cut short is no sample.
        take(row, subject, repetition, result, facts);
        if (!result.failure.empty() || !plan_.latency || repetition > 0) continue;
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
            const Fields& facts) {
    row.facts.push_back(facts);
    if (!result.failure.empty()) return invalidate(row, result.failure);
    row.ops_per_s[repetition] = static_cast<double>(result.operations) / result.seconds;
    row.bytes_per_s[repetition] = static_cast<double>(result.bytes) / result.seconds;
    row.cpu_ns_per_op[repetition] =
        1e9 * result.cpu_seconds / static_cast<double>(result.operations);
    row.operations += result.operations;
    row.fences += result.fences;
    row.lines += result.lines;
    row.fences_total += result.fences_total;
    row.lines_total += result.lines_total;
    row.has_path_counts = subject.counts_persists();
    row.has_total_counts = subject.has_persist_total();
  }

  void take_extras(const SubjectEntry& entry, Subject& subject, unsigned repetition,
                   const Fields& facts) {
    show(entry.name, "closing and opening", repetition);
    const auto extras = subject.extras();
    if (interrupted()) return;
    if (!extras) return invalidate(series(entry.name, "extras", 1), extras.error().message());
    for (const auto& sample : *extras) {
      auto& row = series(entry.name, sample.operation, sample.threads);
      row.facts.push_back(facts);
      row.facts.back().merge(sample.facts);
      if (sample.invalid.empty())
        row.ops_per_s[repetition] = static_cast<double>(sample.operations) / sample.seconds;
      else
        invalidate(row, sample.invalid);
    }
  }

  Outcome outcome() {
    Outcome outcome;
    outcome.interrupted = interrupted();
    for (const auto& operation_first : ordered_keys()) {
      auto& series = series_.at(operation_first);
      const bool counted = std::any_of(series.ops_per_s.begin(), series.ops_per_s.end(),
                                       [](double v) { return !std::isnan(v); });
      if (!counted && series.invalid.empty()) {
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

  Row row_of(const SeriesKey& key, const Series& series) const {
    const auto& [subject, operation, threads] = key;
    Row row(subject, operation, threads);
    if (!series.invalid.empty()) row.invalidate(series.invalid);
    add_facts(row, series.facts);
    const auto rate = estimate(series.ops_per_s);
    row.set("ops_per_s_median", rate.median);
    row.set("ops_per_s_low", rate.low);
    row.set("ops_per_s_high", rate.high);
    row.set("interval_coverage", rate.coverage);
    row.set("ns_per_op_median", 1e9 * threads / rate.median);
    row.set("repetitions", Value(static_cast<std::uint64_t>(
                               std::count_if(series.ops_per_s.begin(), series.ops_per_s.end(),
                                             [](double v) { return !std::isnan(v); }))));
    row.set("ops_per_s_samples", series.ops_per_s);
    if (const auto cpu = median(series.cpu_ns_per_op); !std::isnan(cpu))
      row.set("cpu_ns_per_op_median", cpu);
    if (const auto bytes = estimate(series.bytes_per_s); bytes.median > 0) {
      row.set("bytes_per_s_median", bytes.median);
      row.set("bytes_per_s_low", bytes.low);
      row.set("bytes_per_s_high", bytes.high);
      row.set("bytes_per_s_samples", series.bytes_per_s);
    }
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
    compare_with_baseline(row, key, series);
    return row;
  }

  // Numbers that vary from life to life are given as their median, the rest as last seen.
  static void add_facts(Row& row, const std::vector<Fields>& lives) {
    if (lives.empty()) return;
    for (const auto& field : lives.back().all()) {
      if (!std::holds_alternative<double>(field.value)) {
        row.set(field.name, field.value);
        continue;
      }
      std::vector<double> values;
      for (const auto& life : lives)
        values.push_back(life.number(field.name));
      row.set(field.name, median(values));
    }
  }

  void compare_with_baseline(Row& row, const SeriesKey& key, const Series& series) const {
    const auto found = series_.find({plan_.baseline, std::get<1>(key), std::get<2>(key)});
    if (found == series_.end() || std::get<0>(key) == plan_.baseline) return;
    // Time is the inverse of the rate.
    const auto ratio = estimate(paired_ratios(found->second.ops_per_s, series.ops_per_s));
    if (std::isnan(ratio.median)) return;
    row.set("time_x_" + plan_.baseline + "_median", ratio.median);
    row.set("time_x_" + plan_.baseline + "_low", ratio.low);
    row.set("time_x_" + plan_.baseline + "_high", ratio.high);
  }

  void show(const std::string& subject, const std::string& what, unsigned repetition) const {
    if (!plan_.progress) return;
    const auto lives = plan_.subjects.size() * plan_.repetitions;
    std::string remaining;
    if (lives_done_ >= plan_.subjects.size() || (lives_done_ > 0 && lives_done_ * 2 >= lives)) {
      // From one whole round on: before, the slow subjects may not have had their turn.
      const auto passed = seconds_between(begin_, Clock::now());
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

void on_signal(int signal) {
  interrupted().store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

std::uint64_t PhaseThread::quota() const {
  if (phase_.operations == 0) return std::numeric_limits<std::uint64_t>::max();
  const auto share = phase_.operations / phase_.threads;
  return std::max<std::uint64_t>(1, share);
}

void PhaseThread::wrong(const std::string& what) {
  if (wrong_answers++ == 0) first_wrong = what;
}

std::vector<std::size_t> rotated(std::size_t count, std::size_t by) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i)
    order[i] = (i + by) % count;
  return order;
}

Outcome run(const Plan& plan) { return Run(plan).all(); }

std::atomic<bool>& interrupted() {
  static std::atomic<bool> flag{false};
  return flag;
}

void interrupt_on_signals() {
  (void)interrupted();  // Made here, so that the handler does not initialise a static.
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  // A connection that is lost; under nohup it stays ignored.
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

}  // namespace holdfast::bench
