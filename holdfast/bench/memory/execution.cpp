#include <holdfast/bench/memory/execution.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include <holdfast/base/hash.hpp>
#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/tick_clock.hpp>
#include <holdfast/bench/memory/verification.hpp>
#include <holdfast/bench/memory/worker.hpp>
#include <holdfast/memory/cpu.hpp>

namespace holdfast::bench::memory {
namespace {

unsigned threads_for_preparing() {
  return static_cast<unsigned>(std::max<std::size_t>(1, usable_cpus().size()));
}

// What a thread tells of itself when nobody waits for it any more.
struct Surroundings {
  std::set<int> cpus;
  double core_ghz = 0;
  static Surroundings look() { return {cpus_of_this_thread(), TickClock::get().core_ghz()}; }
};

// Of the next thread, in their order.
void take(LoadResult& result, TeamTimes& times, const Load& load, const Seat& seat,
          const Surroundings& around, std::uint64_t operations) {
  const auto index = static_cast<unsigned>(result.thread_cpus.size());
  const auto wanted = load.placement.of_thread(index);
  times.add(seat);
  result.threads_elsewhere += !wanted.empty() && around.cpus != wanted;
  result.thread_cpus.push_back(list_of(around.cpus));
  result.core_ghz = index == 0 ? around.core_ghz : std::min(result.core_ghz, around.core_ghz);
  result.operations += operations;
  result.page_faults += seat.page_faults();
  result.involuntary_switches += seat.involuntary_switches();
  const auto seconds = seat.seconds();
  result.thread_ops_per_s.push_back(seconds > 0 ? static_cast<double>(operations) / seconds : 0);
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
  const auto threads = threads_for_preparing();
  const auto make = [&](std::uint64_t slots, unsigned partition, std::uint64_t salt) {
    const bool shifted =
        config.distribution == Distribution::kUniform && slots / partitions <= kShiftedSlotsMax;
    return AccessList(std::min(length, shifted ? kShiftedListMax : kListMax / partitions),
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
  const auto threads = threads_for_preparing();
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
    Team team(threads);
    std::vector<Part> parts(loads_.size());
    std::vector<std::pair<std::size_t, unsigned>> places;  // Part and thread of each seat.
    for (std::size_t p = 0; p < loads_.size(); ++p) {
      parts[p].first_seat = static_cast<unsigned>(places.size());
      start_part(parts[p], *loads_[p], team);
      for (unsigned t = 0; t < parts[p].workers.size(); ++t)
        places.emplace_back(p, t);
    }
    team.run_at_most(seconds, [&](Seat& seat) {
      const auto [p, t] = places[seat.index()];
      run_thread(parts[p], *loads_[p], t, team, seat);
    });
    std::vector<LoadResult> results;
    for (std::size_t p = 0; p < loads_.size(); ++p) {
      results.push_back(finish_part(parts[p], *loads_[p], team));
      results.back().stolen_ratio = team.stolen_ratio();
    }
    return results;
  }

 private:
  struct Part {
    std::unique_ptr<SharedWork> work;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Surroundings> around;
    unsigned first_seat = 0;
    std::atomic<unsigned> ended{0};
    std::uint64_t atomic_sum = 0;
  };

  void start_part(Part& part, const PreparedLoad& prepared, const Team& team) {
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
    work->stop = &team.stop_flag();
    if (load.config.chase()) work->chase_starts = &load.target->chase_starts();
    work->plan_packages();
    if (is_atomic(load.config)) part.atomic_sum = sum_of_atomic_words(*work);
    part.around.resize(load.config.number_threads);
    for (unsigned t = 0; t < load.config.number_threads; ++t)
      part.workers.push_back(std::make_unique<Worker>(*work, t));
    part.work = std::move(work);
  }

  static void run_thread(Part& part, const PreparedLoad& prepared, unsigned index, Team& team,
                         Seat& seat) {
    prepared.load().placement.apply(index);
    auto& worker = *part.workers[index];
    worker.warm_up();
    seat.begin();
    worker.run();
    seat.end();
    fence();  // The check sees what was streamed.
    if (part.ended.fetch_add(1) + 1 == part.workers.size()) team.stop();
    part.around[index] = Surroundings::look();
  }

  LoadResult finish_part(Part& part, const PreparedLoad& prepared, Team& team) {
    const auto& load = prepared.load();
    LoadResult result;
    TeamTimes times;
    for (unsigned t = 0; t < part.workers.size(); ++t) {
      take(result, times, load, team.seat(part.first_seat + t), part.around[t],
           part.workers[t]->operations());
      result.fences += part.workers[t]->fences();
      result.latency.merge(part.workers[t]->latency());
    }
    result.seconds = times.seconds();
    result.cpu_seconds = times.cpu_seconds;
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
  Team team(load.config.number_threads);
  std::vector<ForeignResult> done(team.threads());
  std::vector<Surroundings> around(team.threads());
  team.run_at_most(seconds_of(load), [&](Seat& seat) {
    load.placement.apply(seat.index());
    done[seat.index()] = body(seat, team.stop_flag());
    fence();
    around[seat.index()] = Surroundings::look();
  });
  LoadResult result;
  result.stolen_ratio = team.stolen_ratio();
  TeamTimes times;
  for (unsigned t = 0; t < team.threads(); ++t) {
    take(result, times, load, team.seat(t), around[t], done[t].operations);
    if (result.wrong.empty()) result.wrong = done[t].wrong;
  }
  result.seconds = times.seconds();
  result.cpu_seconds = times.cpu_seconds;
  result.bytes = result.operations * bytes_per_op;
  return result;
}

}  // namespace holdfast::bench::memory
