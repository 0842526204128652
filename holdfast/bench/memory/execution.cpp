#include <holdfast/bench/memory/execution.hpp>

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include <holdfast/base/hash.hpp>
#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/tick_clock.hpp>
#include <holdfast/bench/memory/verification.hpp>
#include <holdfast/bench/memory/worker.hpp>
#include <holdfast/bench/runner.hpp>
#include <holdfast/memory/cpu.hpp>

namespace holdfast::bench::memory {
namespace {

unsigned usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0
             ? static_cast<unsigned>(std::max(1, CPU_COUNT(&set)))
             : 1;
}

double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// All threads of all parts leave together; and the flags that end them.
class StartAndStop {
 public:
  StartAndStop(unsigned threads, bool spin) : threads_(threads), spin_(spin) {}

  void wait_for_all() {
    arrived_.fetch_add(1);
    while (arrived_.load() < threads_) {
      if (!spin_) std::this_thread::yield();
    }
  }
  bool all_here() const { return arrived_.load() >= threads_; }
  void stop() { stop_.store(true, std::memory_order_relaxed); }
  const std::atomic<bool>& stop_flag() const { return stop_; }
  void thread_ended() { ended_.fetch_add(1); }
  bool all_ended() const { return ended_.load() >= threads_; }

 private:
  const unsigned threads_;
  const bool spin_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<unsigned> ended_{0};
  alignas(64) std::atomic<bool> stop_{false};
};

// What is measured of one thread, whatever it runs.
struct Measured {
  Clock::time_point begin{}, end{};
  double cpu_seconds = 0;
  std::uint64_t faults = 0, switches = 0;
  std::set<int> cpus;
  double core_ghz = 0;

  void start(StartAndStop& line) {
    line.wait_for_all();
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    faults = static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
    switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
    cpu_seconds = -thread_cpu_seconds();
    begin = Clock::now();
  }
  void stop() {
    end = Clock::now();
    cpu_seconds += thread_cpu_seconds();
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    faults = static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt) - faults;
    switches = static_cast<std::uint64_t>(usage.ru_nivcsw) - switches;
  }
  // When nobody waits for this thread any more.
  void look_around() {
    cpus = cpus_of_this_thread();
    core_ghz = TickClock::get().core_ghz();
  }
};

// Of the next thread, in their order.
void take(LoadResult& result, Clock::time_point& first, Clock::time_point& last, const Load& load,
          const Measured& thread, std::uint64_t operations) {
  const auto index = static_cast<unsigned>(result.thread_cpus.size());
  const auto wanted = load.placement.of_thread(index);
  result.threads_elsewhere += !wanted.empty() && thread.cpus != wanted;
  result.thread_cpus.push_back(list_of(thread.cpus));
  result.core_ghz = index == 0 ? thread.core_ghz : std::min(result.core_ghz, thread.core_ghz);
  first = std::min(first, thread.begin);
  last = std::max(last, thread.end);
  result.operations += operations;
  result.cpu_seconds += thread.cpu_seconds;
  result.page_faults += thread.faults;
  result.involuntary_switches += thread.switches;
  const auto seconds = std::chrono::duration<double>(thread.end - thread.begin).count();
  result.thread_ops_per_s.push_back(seconds > 0 ? static_cast<double>(operations) / seconds : 0);
}

// Waits for the end of all threads and ends them when their time is up.
void supervise(StartAndStop& line, double seconds_max) {
  Clock::time_point begin{};
  bool running = false;
  while (!line.all_ended()) {
    // From the start line on: on a busy machine threads take their time to get there.
    if (!running && line.all_here()) running = true, begin = Clock::now();
    const auto passed = running ? std::chrono::duration<double>(Clock::now() - begin).count() : 0.0;
    const bool up = seconds_max > 0 && running && passed >= seconds_max;
    if (up || interrupted().load(std::memory_order_relaxed)) line.stop();
    const auto left = !running ? 0.0 : seconds_max > 0 && !up ? seconds_max - passed : 0.001;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(left, 0.00005, 0.001)));
  }
}

double seconds_of(const Load& load) {
  const auto asked = load.config.run_time_s;
  if (asked == 0) return load.seconds_max;
  return load.seconds_max == 0 ? asked : std::min(asked, load.seconds_max);
}

}  // namespace

Flush flush_of(PersistKind kind) {
  switch (kind) {
    case PersistKind::kNone: return Flush::kNone;
    case PersistKind::kNoCache: return Flush::kNonTemporal;
    case PersistKind::kFence: return Flush::kFenceOnly;
    case PersistKind::kFlush: return Flush::kClflush;
    case PersistKind::kCache:
      if (cpu().clwb) return Flush::kClwb;
      [[fallthrough]];
    case PersistKind::kCacheInvalidate:
      return cpu().clflushopt ? Flush::kClflushopt : Flush::kClflush;
  }
  return Flush::kNone;
}

std::string_view name(Flush flush) {
  switch (flush) {
    case Flush::kNone: return "none";
    case Flush::kClwb: return "clwb";
    case Flush::kClflushopt: return "clflushopt";
    case Flush::kClflush: return "clflush";
    case Flush::kNonTemporal: return "ntstore";
    case Flush::kFenceOnly: return "fence only";
  }
  return "unknown";
}

struct PreparedLoad::Lists {
  std::vector<AccessList> target;  // One for each partition.
  std::vector<AccessList> dram;
  std::vector<ChainStep> chain;
};

PreparedLoad::PreparedLoad(Load load) : load_(std::move(load)), lists_(std::make_unique<Lists>()) {
  const auto& config = load_.config;
  if (config.custom())
    lists_->chain = chain_steps(config.chain, load_.target_bytes, load_.dram_bytes);
  if (config.exec_mode != ExecMode::kRandom && !config.custom()) return;
  const auto partitions = config.custom() ? 1 : config.partitions();
  const auto per_partition = config.number_operations / partitions + 1;
  const auto length = config.run_time_s > 0 ? kListMax / partitions : per_partition;
  const auto threads = usable_cpus();
  const auto make = [&](std::uint64_t slots, unsigned partition, std::uint64_t salt) {
    return AccessList(std::min(length, kListMax / partitions),
                      {slots / partitions * partition, slots / partitions}, config.distribution,
                      config.zipf_alpha, mix64(load_.seed ^ mix64(salt + partition)), threads);
  };
  for (unsigned partition = 0; partition < partitions; ++partition) {
    if (config.custom()) {
      lists_->target.push_back(make(lists_->chain.front().slots, partition, 1));
      continue;
    }
    if (config.uses_target())
      lists_->target.push_back(make(load_.target_bytes / config.access_bytes, partition, 1));
    if (config.uses_dram())
      lists_->dram.push_back(make(load_.dram_bytes / config.access_bytes, partition, 1'000'003));
  }
}

PreparedLoad::~PreparedLoad() = default;
PreparedLoad::PreparedLoad(PreparedLoad&&) noexcept = default;

void PreparedLoad::prepare_content() const {
  const auto& config = load_.config;
  const auto threads = usable_cpus();
  if (config.chase()) {
    load_.target->prepare_chase(load_.target_bytes, config.chase_window_bytes, load_.seed, threads);
    return;
  }
  if (!config.prefault) return;
  const bool every_word = config.access_bytes % kCacheLineBytes != 0 && config.has_reads();
  if (load_.target != nullptr)
    load_.target->prepare_content(load_.target_bytes, every_word, threads);
  if (load_.dram != nullptr) load_.dram->prepare_content(load_.dram_bytes, every_word, threads);
}

// One repetition of all loads.
class Execution {
 public:
  Execution(const std::vector<PreparedLoad*>& loads, std::uint64_t repetition)
      : loads_(loads), repetition_(repetition) {}

  std::vector<LoadResult> run() {
    unsigned threads = 0;
    double seconds = 0;
    for (auto* load : loads_) {
      load->prepare_content();
      threads += load->load().config.number_threads;
      // The part with the least time ends both.
      const auto own = seconds_of(load->load());
      if (own > 0) seconds = seconds == 0 ? own : std::min(seconds, own);
    }
    StartAndStop line(threads, threads <= usable_cpus());
    const StolenTime stolen;
    std::vector<Part> parts(loads_.size());
    std::vector<std::thread> running;
    for (std::size_t p = 0; p < loads_.size(); ++p) {
      start_part(parts[p], *loads_[p], line);
      for (unsigned t = 0; t < parts[p].workers.size(); ++t)
        running.emplace_back([&, p, t] { run_thread(parts[p], *loads_[p], t, line); });
    }
    supervise(line, seconds);
    for (auto& thread : running)
      thread.join();
    const auto stolen_ratio = stolen.ratio();
    std::vector<LoadResult> results;
    for (std::size_t p = 0; p < loads_.size(); ++p) {
      results.push_back(finish_part(parts[p], *loads_[p]));
      results.back().stolen_ratio = stolen_ratio;
    }
    return results;
  }

 private:
  struct Part {
    std::unique_ptr<SharedWork> work;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Measured> measured;
    std::atomic<unsigned> ended{0};
    std::uint64_t atomic_sum = 0;
  };

  void start_part(Part& part, const PreparedLoad& prepared, StartAndStop& line) {
    const auto& load = prepared.load();
    auto work = std::make_unique<SharedWork>();
    work->config = &load.config;
    if (load.target != nullptr) work->target = {load.target->data(), load.target_bytes, {}};
    if (load.dram != nullptr) work->dram = {load.dram->data(), load.dram_bytes, {}};
    for (const auto& list : prepared.lists_->target)
      work->target.lists.push_back(&list);
    for (const auto& list : prepared.lists_->dram)
      work->dram.lists.push_back(&list);
    work->chain = prepared.lists_->chain;
    // Not 0, and another one each time: lines of the last repetition must not pass for ours.
    work->tag = mix64(load.seed + 2 * repetition_ + 1) | 1;
    work->by_time = seconds_of(load) > 0 && load.config.run_time_s > 0;
    work->flush = flush_of(load.config.persist);
    work->stop = &line.stop_flag();
    if (load.config.chase()) work->chase_starts = &load.target->chase_starts();
    work->plan_packages();
    if (is_atomic(load.config)) part.atomic_sum = sum_of_atomic_words(*work);
    part.measured.resize(load.config.number_threads);
    for (unsigned t = 0; t < load.config.number_threads; ++t)
      part.workers.push_back(std::make_unique<Worker>(*work, t));
    part.work = std::move(work);
  }

  void run_thread(Part& part, const PreparedLoad& prepared, unsigned index, StartAndStop& line) {
    prepared.load().placement.apply(index);
    auto& worker = *part.workers[index];
    worker.warm_up();
    part.measured[index].start(line);
    worker.run();
    part.measured[index].stop();
    fence();  // Whoever checks sees what was streamed.
    if (part.ended.fetch_add(1) + 1 == part.workers.size()) line.stop();
    part.measured[index].look_around();
    line.thread_ended();
  }

  LoadResult finish_part(Part& part, const PreparedLoad& prepared) {
    const auto& load = prepared.load();
    LoadResult result;
    auto first = Clock::time_point::max();
    auto last = Clock::time_point::min();
    for (std::size_t t = 0; t < part.workers.size(); ++t) {
      take(result, first, last, load, part.measured[t], part.workers[t]->operations());
      result.fences += part.workers[t]->fences();
      result.latency.merge(part.workers[t]->latency());
    }
    result.seconds = std::chrono::duration<double>(last - first).count();
    result.bytes = result.operations * bytes_per_operation(load.config);
    if (result.operations == 0) {
      if (!interrupted()) result.wrong = "no operation was done in the time given";
      return result;
    }
    result.wrong = verify(*part.work, part.workers, part.atomic_sum);
    for (auto* tier : {load.target, load.dram}) {
      if (tier == nullptr || !load.config.has_writes()) continue;
      if (load.config.access_bytes % kCacheLineBytes == 0 || load.config.custom())
        tier->written_by_lines();
      else
        tier->written_otherwise();
    }
    return result;
  }

  const std::vector<PreparedLoad*>& loads_;
  const std::uint64_t repetition_;
};

std::vector<LoadResult> execute(const std::vector<PreparedLoad*>& loads, std::uint64_t repetition) {
  return Execution(loads, repetition).run();
}

LoadResult execute_foreign(const Load& load, const ForeignBody& body, std::uint64_t bytes_per_op) {
  class Thread final : public ForeignThread {
   public:
    Thread(unsigned index, StartAndStop& line) : index_(index), line_(line) {}
    unsigned index() const override { return index_; }
    void begin() override { measured.start(line_); }
    bool stop() const override { return line_.stop_flag().load(std::memory_order_relaxed); }
    void end(std::uint64_t done) override {
      measured.stop();
      operations = done;
    }
    void wrong(const std::string& what) override { wrong_answer = what; }
    Measured measured;
    std::uint64_t operations = 0;
    std::string wrong_answer;

   private:
    unsigned index_;
    StartAndStop& line_;
  };
  const auto count = load.config.number_threads;
  StartAndStop line(count, count <= usable_cpus());
  const StolenTime stolen;
  std::vector<std::unique_ptr<Thread>> threads;  // Complete before the first one runs.
  for (unsigned t = 0; t < count; ++t)
    threads.push_back(std::make_unique<Thread>(t, line));
  std::vector<std::thread> running;
  for (unsigned t = 0; t < count; ++t) {
    running.emplace_back([&, t] {
      load.placement.apply(t);
      body(*threads[t]);
      fence();
      threads[t]->measured.look_around();
      line.thread_ended();
    });
  }
  supervise(line, seconds_of(load));
  for (auto& thread : running)
    thread.join();
  LoadResult result;
  result.stolen_ratio = stolen.ratio();
  auto first = Clock::time_point::max();
  auto last = Clock::time_point::min();
  for (const auto& thread : threads) {
    take(result, first, last, load, thread->measured, thread->operations);
    if (result.wrong.empty()) result.wrong = thread->wrong_answer;
  }
  result.seconds = std::chrono::duration<double>(last - first).count();
  result.bytes = result.operations * bytes_per_op;
  return result;
}

}  // namespace holdfast::bench::memory
