// Suite interference: scans, lookups, logging and page flushing in one process at the same time. A
// row is what one of them achieves while another one, or all of them, go on beside it; the ratio to
// `alone` is its slowdown. A pair is measured in both directions.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <holdfast/base/mutex.hpp>
#include <holdfast/bench/blocks/interference_tasks.hpp>
#include <holdfast/bench/engine/placement.hpp>

namespace holdfast::bench::blocks {
namespace {

// Threads that do `tasks` until it is destroyed, each all of them in turn.
class Beside {
 public:
  // They are at work when this returns, on the CPUs from number `first` on. As threads of `bench`
  // they have the numbers from `first` on, too.
  Beside(Workbench& bench, const std::vector<Task>& tasks, unsigned first, unsigned threads) {
    const auto cpus = usable_cpus();
    for (unsigned t = 0; t < threads; ++t) {
      threads_.emplace_back([this, &bench, &tasks, &cpus, number = first + t] {
        if (number < cpus.size()) put_this_thread_on({cpus[number]});
        const auto status = go_on(bench, tasks, number);
        const Lock lock(mutex_);
        if (!status && status_) status_ = status;
      });
    }
    while (at_work_.load() < threads)
      std::this_thread::yield();
  }
  ~Beside() { (void)stop(); }
  // What was wrong with their work.
  Status stop() {
    stop_.store(true);
    for (auto& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
    const Lock lock(mutex_);
    return status_;
  }

 private:
  Status go_on(Workbench& bench, const std::vector<Task>& tasks, unsigned number) {
    std::vector<std::unique_ptr<Work>> works;
    Status failure;
    for (const auto task : tasks) {
      auto work = bench.work(task, number, false);
      if (!work)
        failure = work.error();
      else
        works.push_back(std::move(*work));
    }
    at_work_.fetch_add(1);
    if (!failure) return failure;
    // A turn is long against a step, so that a task with short steps gets its share, too.
    constexpr auto kTurn = std::chrono::microseconds(50);
    for (std::size_t turn = 0; !stop_.load(std::memory_order_relaxed); ++turn) {
      auto& work = *works[turn % works.size()];
      const auto end = Clock::now() + kTurn;
      do {
        work.step();
      } while (Clock::now() < end);
    }
    for (auto& work : works) {
      if (const auto status = work->finish(); !status) failure = status;
    }
    return failure;
  }

  std::atomic<bool> stop_{false};
  std::atomic<unsigned> at_work_{0};
  KernelMutex mutex_;
  Status status_ HF_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

// The operation of a phase is the task that is measured.
class InterferenceSubject final : public BlockSubject {
 public:
  InterferenceSubject(const Context& context, std::shared_ptr<Workbench> bench,
                      std::vector<Task> beside, unsigned beside_threads)
      : BlockSubject(context),
        bench_(std::move(bench)),
        beside_tasks_(std::move(beside)),
        beside_threads_(beside_tasks_.empty() ? 0 : beside_threads) {}

  Status create() override { return bench_->prepare(); }
  Status before(const Phase& phase) override {
    const auto all = phase.threads + beside_threads_;
    HF_RETURN_IF_ERROR(bench_->begin(all, context_.options.seed + phase.number * 1000));
    if (beside_threads_ > 0)
      beside_ = std::make_unique<Beside>(*bench_, beside_tasks_, phase.threads, beside_threads_);
    return {};
  }
  Status run(PhaseThread& thread) override {
    const auto task = *std::find_if(kTasks.begin(), kTasks.end(), [&](Task candidate) {
      return name(candidate) == thread.phase().operation;
    });
    HF_ASSIGN_OR_RETURN(const auto work,
                        bench_->work(task, thread.index(), thread.phase().latency));
    HF_RETURN_IF_ERROR(timed_loop(thread, 1, work->operations_per_step(), work->bytes_per_step(),
                                  [&](std::uint64_t) { work->step(); }));
    return work->finish();
  }
  Status after(const Phase&) override {
    const auto status = beside_ != nullptr ? beside_->stop() : Status();
    beside_.reset();
    HF_RETURN_IF_ERROR(status);
    return bench_->check();
  }
  void destroy() override { beside_.reset(); }

 private:
  const std::shared_ptr<Workbench> bench_;
  const std::vector<Task> beside_tasks_;
  const unsigned beside_threads_;
  std::unique_ptr<Beside> beside_;
};

}  // namespace

std::vector<Experiment> interference_experiments(const Context& context) {
  const auto bench = std::make_shared<Workbench>(context);
  std::vector<Task> tasks;
  for (const auto task : kTasks) {
    const bool in_dram = task == Task::kScanDram || task == Task::kLookupDram;
    // A region that is DRAM itself would be the same twice.
    if (!in_dram || context.report.kind != "dram") tasks.push_back(task);
  }
  const auto cpus = std::max<std::size_t>(1, usable_cpus().size());
  std::vector<Experiment> experiments;
  for (const unsigned beside_threads : {1u, 5u, 10u}) {  // As in the paper, where CPUs allow.
    if (beside_threads > 1 && beside_threads >= cpus) continue;
    Experiment experiment;
    experiment.name = "interference, " + std::to_string(beside_threads) +
                      (beside_threads == 1 ? " thread beside" : " threads beside");
    experiment.what = "Section 2.4, figure 5: scans and lookups beside one another, logs and pages";
    experiment.part = "interference";
    experiment.parameters.set("beside_threads", beside_threads);
    auto& plan = experiment.plan;
    for (const auto threads : context.options.threads) {
      if (threads + beside_threads <= cpus) plan.threads.push_back(threads);
    }
    if (plan.threads.empty()) {
      plan.threads = {1};
      if (1 + beside_threads > cpus)
        experiment.warnings.emplace_back("more threads than CPUs: they take turns");
    }
    const auto add = [&](const std::string& name, const std::vector<Task>& beside) {
      plan.subjects.push_back(
          subject_entry<InterferenceSubject>(name, context, bench, beside, beside_threads));
    };
    add("alone", {});
    for (const auto task : tasks)
      add("beside-" + std::string(name(task)), {task});
    add("beside-all", tasks);
    for (const auto task : tasks)
      plan.operations.push_back({std::string(name(task)), {}});
    plan.baseline = "alone";
    experiments.push_back(std::move(experiment));
  }
  return experiments;
}

}  // namespace holdfast::bench::blocks
