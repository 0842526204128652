#include <holdfast/crash/engine.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <algorithm>
#include <chrono>
#include <thread>

#include <holdfast/crash/failure.hpp>
#include <holdfast/crash/state_space.hpp>

namespace holdfast::crash::checker_detail {
namespace {

std::uint64_t combine(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

class SinkGuard {
 public:
  explicit SinkGuard(TraceSink* sink) : previous_(set_trace_sink(sink)) {}
  ~SinkGuard() { set_trace_sink(previous_); }
  SinkGuard(const SinkGuard&) = delete;
  SinkGuard& operator=(const SinkGuard&) = delete;

 private:
  TraceSink* previous_;
};

constexpr std::size_t kImagesOfAThread = 256;
constexpr std::uint64_t kShrinkTries = 400;
constexpr std::uint64_t kKillsBetweenPoints = 3;

Engine* active = nullptr;

// A recovery that dies takes the test with it; at least say on which crash state. Not
// async-signal-safe, which is as good as nothing else to be done.
void on_fatal_signal(int signal) {
  std::signal(signal, SIG_DFL);
  if (Engine* const engine = std::exchange(active, nullptr)) {
    const std::string text = engine->where();
    std::fprintf(stderr, "crash checker: signal %d\n%s", signal, text.c_str());
    std::fflush(stderr);
  }
  std::raise(signal);
}

class FatalSignals {
 public:
  explicit FatalSignals(Engine* engine) {
    active = engine;
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      previous_[i] = std::signal(kSignals[i], on_fatal_signal);
    }
  }
  ~FatalSignals() {
    active = nullptr;
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      std::signal(kSignals[i], previous_[i]);
    }
  }
  FatalSignals(const FatalSignals&) = delete;
  FatalSignals& operator=(const FatalSignals&) = delete;

 private:
  static constexpr int kSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  void (*previous_[std::size(kSignals)])(int) = {};
};

}  // namespace

Engine::Engine(Subject& subject, const Options& options) : subject_(subject), options_(options) {
  options_.validate().value();
  if (const char* seed = std::getenv("HOLDFAST_SEED")) {
    options_.seed = std::strtoull(seed, nullptr, 10);
  }
  report_.seed = options_.seed;
  report_.states.assign(options_.depth, 0);
  report_.images.assign(options_.depth, 0);
  report_.violations.assign(options_.depth, 0);
  depths_.resize(options_.depth + 1);
}

Engine::~Engine() {
  while (!depths_.empty()) {
    depths_.pop_back();  // Children before their parents.
  }
}

void Engine::make_media() {
  for (std::size_t depth = depths_.size(); depth > 0; --depth) {
    depths_[depth - 1].recoveries.reset();
    depths_[depth - 1].medium.reset();
  }
  for (unsigned depth = 0; depth < depths_.size(); ++depth) {
    Depth& here = depths_[depth];
    here.medium =
        std::make_unique<Medium>(MediumOptions{options_.model, options_.size_bytes,
                                               options_.unit_bytes, options_.max_size_bytes},
                                 depth == 0 ? nullptr : depths_[depth - 1].medium.get());
    here.medium->on_point = [this, depth](PointKind kind, const std::source_location& site) {
      at_point(depth, kind, site);
    };
    here.medium->on_error = [this, depth](const std::string& text) { mistake(depth, text); };
    here.run = Workload{};
    here.run.engine_ = this;
    here.run.medium_ = here.medium.get();
    here.run.depth_ = depth;
  }
}

Report Engine::run() {
  const auto begin = std::chrono::steady_clock::now();
  const FatalSignals fatal_signals(this);
  ScheduleSource source(options_.schedules, options_.seed);
  Schedule schedule;
  while ((report_.failures.empty() || options_.keep_going) && source.next(&schedule)) {
    run_schedule(schedule, source);
    ++report_.schedules;
  }
  for (unsigned depth = 0; depth < options_.depth; ++depth) {
    report_.violations[depth] = depths_[depth].wrong.size();
  }
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return std::move(report_);
}

void Engine::run_schedule(const Schedule& schedule, ScheduleSource& source) {
  make_media();
  verdicts_.clear();  // Another schedule may give an operation another effect.
  scheduler_ = std::make_unique<Scheduler>(schedule);
  Depth& root = depths_[0];
  root.phase = Phase::kSilent;
  root.stopped = false;
  root.base = subject_.initial();
  const SinkGuard sink(root.medium.get());
  {
    Region region = root.medium->open();
    subject_.setup(region);
  }
  root.phase = Phase::kOperating;
  {
    Region region = root.medium->open();
    subject_.workload(region, root.run);
  }
  root.medium->check_bypass(std::source_location::current());
  at_point(0, PointKind::kEnd, std::source_location::current());
  root.phase = Phase::kSilent;
  source.ran(*scheduler_);
  report_.operations.clear();
  for (const Operation& operation : root.run.operations_) {
    if (operation.acknowledged()) report_.operations[operation.id] = operation.counts;
  }
  report_.redundant_sites = root.medium->redundant_sites();
}

std::uint64_t Engine::budget_left(unsigned depth) const {
  const std::uint64_t half = options_.images_per_run / 2 + 1;
  if (in_a_kill_) return half / 2 > images_in_kills_ ? half / 2 - images_in_kills_ : 0;
  return report_.images[depth] < half ? half - report_.images[depth] : 0;
}

// The first crashes of a run are few and matter most: exhausted as long as there is budget for it.
// Of crashes inside recoveries there are thousands: each gets a small share.
std::uint64_t Engine::exhaust_limit(unsigned depth) const {
  const std::uint64_t left = budget_left(depth);
  return depth == 0 ? std::clamp<std::uint64_t>(left / 2, 16, options_.states_per_point)
                    : std::clamp<std::uint64_t>(left / 1024, 8, options_.nested_states_per_point);
}

std::uint64_t Engine::sample_limit(unsigned depth) const {
  const std::uint64_t left = budget_left(depth);
  return depth == 0 ? std::clamp<std::uint64_t>(left / 32, 16, options_.states_per_point)
                    : std::clamp<std::uint64_t>(left / 1024, 8, options_.nested_states_per_point);
}

void Engine::at_point(unsigned depth, PointKind kind, const std::source_location& site) {
  Depth& here = depths_[depth];
  const std::uint64_t since = std::exchange(here.last_point, here.medium->sequence());
  if (here.phase == Phase::kSilent || here.run.quiet_ > 0 || here.stopped || here.trying ||
      depth >= options_.depth) {
    return;
  }
  if (!in_a_kill_) ++report_.points;
  StateSpace space(*here.medium, exhaust_limit(depth), sample_limit(depth),
                   combine(options_.seed, ++point_number_));
  here.kind = kind;
  here.site = site;
  here.cells.assign(space.cells().begin(), space.cells().end());
  here.trying = true;
  here.deferred.reset();

  auto& seen = depths_[depth + 1].seen;
  std::vector<std::pair<std::uint64_t, States>> batch;
  std::unordered_set<std::uint64_t> queued;
  const std::uint64_t visited =
      space.for_each([&](std::span<const CellState> states, std::uint64_t image) {
        const auto found = seen.find(image);
        if (found != seen.end()) {
          count_image(depth, found->second);
          consider(depth, image, {states.begin(), states.end()}, found->second);
        } else if (queued.insert(image).second) {
          batch.emplace_back(image, States(states.begin(), states.end()));
          if (batch.size() == kImagesOfAThread) {
            explore_batch(depth, batch);
            queued.clear();
          }
        }
        return !here.stopped;
      });
  if (!here.stopped) explore_batch(depth, batch);
  if (!here.stopped && here.deferred) {
    const States states = *here.deferred;
    fail(depth, states, evaluate(depth, states));
  }
  if (!in_a_kill_) {
    if (!space.exhaustive()) ++report_.sampled_points;
    report_.states[depth] += space.exhaustive() ? space.states() : visited;
  }
  if (!here.stopped) try_kills(depth, since);
  here.trying = false;
}

// The process dies here, or after one of the stores since the point before. A kill by itself leaves
// nothing that a power failure could not; what is pending then is pending when the next process
// recovers. On byte media nothing is.
void Engine::try_kills(unsigned depth, std::uint64_t since) {
  Depth& here = depths_[depth];
  if (!options_.kills || depth + 1 >= options_.depth ||
      options_.model.granularity == Granularity::kByte) {
    return;
  }
  std::vector<std::uint64_t> moments{here.last_point};
  const std::uint64_t between = here.last_point - since;
  for (std::uint64_t i = 0; i < std::min(between, kKillsBetweenPoints); ++i) {
    moments.push_back(between <= kKillsBetweenPoints
                          ? since + i
                          : since + combine(options_.seed + i, point_number_) % between);
  }
  for (const std::uint64_t moment : moments) {
    const std::optional<std::uint64_t> image = here.medium->killed_hash(moment);
    if (!image) continue;  // Nothing is pending.
    if (here.stopped) break;
    here.killed_after = moment;
    here.states.clear();
    const bool in_another = std::exchange(in_a_kill_, true);
    auto& seen = depths_[depth + 1].seen;
    if (!seen.contains(*image)) {
      ++report_.kills;
      on_recovery_thread(depth, 1,
                         [&] { seen.emplace(*image, explore_killed(depth + 1, moment)); });
    }
    consider(depth, *image, {}, seen.find(*image)->second);
    in_a_kill_ = in_another;
    here.killed_after.reset();
  }
}

// Recovered for the first time, or met for the first time without a kill.
void Engine::count_image(unsigned depth, Outcome& outcome) {
  if (outcome.counted) return;
  outcome.counted = !in_a_kill_;
  if (outcome.counted) ++report_.images[depth];
}

void Engine::on_recovery_thread(unsigned depth, std::size_t images,
                                const std::function<void()>& recover) {
  auto& thread = depths_[depth].recoveries;
  if (thread == nullptr || thread->images() + images > kImagesOfAThread) {
    thread.reset();
    thread = std::make_unique<RecoveryThread>();
  }
  thread->run(recover, images);
}

void Engine::explore_batch(unsigned depth, std::vector<std::pair<std::uint64_t, States>>& batch) {
  if (batch.empty()) return;
  on_recovery_thread(depth, batch.size(), [&] {
    for (const auto& [image, states] : batch) {
      if (depths_[depth].stopped) break;
      Outcome& outcome =
          depths_[depth + 1].seen.emplace(image, explore(depth + 1, states)).first->second;
      count_image(depth, outcome);
      consider(depth, image, states, outcome);
    }
  });
  batch.clear();
}

// Recovers the image that `states` of the depth above make, and everything below it.
Engine::Outcome Engine::explore(unsigned depth, const States& states) {
  Depth& above = depths_[depth - 1];
  above.states = states;
  depths_[depth].medium->load(above.cells, states);
  return explore_loaded(depth);
}

Engine::Outcome Engine::explore_killed(unsigned depth, std::uint64_t sequence) {
  depths_[depth].medium->load_killed(sequence);
  return explore_loaded(depth);
}

Engine::Outcome Engine::explore_loaded(unsigned depth) {
  Depth& here = depths_[depth];
  if (in_a_kill_) ++images_in_kills_;
  here.last_point = here.medium->sequence();
  here.run.operations_.clear();
  here.run.history_hash_ = 0;
  here.run.clock_ = 0;
  here.run.quiet_ = 0;
  here.stopped = false;
  here.trying = false;
  here.failure.clear();
  here.inner.clear();
  Outcome outcome;
  const SinkGuard sink(here.medium.get());
  recover_and_go_on(depth, outcome);
  here.phase = Phase::kSilent;
  if (outcome.failure.empty()) outcome.failure = here.failure;
  outcome.inner = std::move(here.inner);
  return outcome;
}

void Engine::recover_and_go_on(unsigned depth, Outcome& outcome) {
  Depth& here = depths_[depth];
  here.phase = Phase::kRecovering;
  {
    Region region = here.medium->open();
    Result<std::uint32_t> recovered = subject_.recover(region);
    if (!recovered) {
      outcome.failure = "  the recovery returns an error: " + recovered.error().message() + "\n";
      return;
    }
    outcome.observed = *recovered;
    outcome.recovered = true;
  }
  here.medium->check_bypass(std::source_location::current());
  if (!here.failure.empty()) return;
  if (depths_[depth - 1].killed_after && !options_.kept_once_shown) {
    at_point(depth, PointKind::kRecovered, std::source_location::current());
    return;
  }
  // What it has shown was served to readers: from here on exactly that must be found again.
  here.base = outcome.observed;
  here.phase = Phase::kOperating;
  if (depth < options_.depth) {
    at_point(depth, PointKind::kRecovered, std::source_location::current());
  } else if (options_.depth > 1) {
    return;  // The last of several crashes: going on from here is what the one before has shown.
  }
  const auto expect = [&](const char* when) {
    if (!here.failure.empty()) return;
    const Result<std::uint32_t> again = recover_quietly(depth);
    const std::string wrong =
        again ? judge(depth, *again)
              : "  the recovery returns an error: " + again.error().message() + "\n";
    if (!wrong.empty()) outcome.failure = std::string("  ") + when + ":\n" + wrong;
  };
  expect("a second recovery right after the first, without a crash");
  if (!subject_.has_then() || !outcome.failure.empty() || !here.failure.empty()) return;
  {
    Region region = here.medium->open();
    subject_.then(region, here.run, outcome.observed);
  }
  here.medium->check_bypass(std::source_location::current());
  if (!here.failure.empty()) return;
  if (depth < options_.depth) at_point(depth, PointKind::kEnd, std::source_location::current());
  expect("after the recovery and one more operation, opened again without a crash");
}

Result<std::uint32_t> Engine::recover_quietly(unsigned depth) {
  Depth& here = depths_[depth];
  const Workload::Quiet quiet(here.run);
  Region region = here.medium->open();
  return subject_.recover(region);
}

std::string Engine::judge(unsigned depth, std::uint32_t observed) {
  const Depth& here = depths_[depth];
  const std::uint64_t key = combine(combine(here.base, observed), here.run.history_hash_);
  const auto found = verdicts_.find(key);
  if (found != verdicts_.end()) return found->second;
  std::string wrong;
  if (!here.run.operations_.empty()) {
    wrong = subject_.check(here.base, here.run.operations_, observed);
  } else if (observed != here.base) {
    wrong = "nothing was done since a reader saw " + subject_.print(here.base);
  }
  if (!wrong.empty()) wrong = "  " + wrong + "\n  observed: " + subject_.print(observed) + "\n";
  return verdicts_.emplace(key, std::move(wrong)).first->second;
}

Engine::Verdict Engine::verdict(unsigned depth, const Outcome& outcome) {
  if (!outcome.recovered) return {outcome.failure, true};
  if (depths_[depth].phase != Phase::kRecovering) {
    if (std::string wrong = judge(depth, outcome.observed); !wrong.empty()) return {wrong, true};
    for (const auto& [observed, how] : outcome.inner) {
      if (std::string wrong = judge(depth, observed); !wrong.empty()) {
        return {wrong + "  after a second crash, inside the recovery:\n" + how, false};
      }
    }
  }
  return {outcome.failure, false};
}

void Engine::consider(unsigned depth, std::uint64_t image, const States& states,
                      const Outcome& outcome) {
  Depth& here = depths_[depth];
  if (here.phase == Phase::kRecovering && outcome.failure.empty()) {
    // Not yet to be judged: what was before the first crash decides.
    const auto add = [&](std::uint32_t observed, const std::string* how) {
      for (const auto& known : here.inner) {
        if (known.first == observed) return;
      }
      here.states = states;
      here.inner.emplace_back(observed, explain_point(depth) + (how ? *how : std::string()));
    };
    add(outcome.observed, nullptr);
    for (const auto& [observed, how] : outcome.inner) {
      add(observed, &how);
    }
    return;
  }
  const Verdict found = verdict(depth, outcome);
  if (found.wrong.empty()) return;
  if (in_a_kill_) {  // Counted nowhere.
  } else if (found.by_itself) {
    here.wrong.insert(image);
  } else if (outcome.failure.empty()) {
    depths_[depth + 1].wrong.insert(image);  // A crash in its recovery; counted once per image.
  }
  // A state that is wrong by itself explains more than one that a further crash brings to light.
  if (found.by_itself || options_.keep_going || here.killed_after) {
    fail(depth, states, found);
  } else if (!here.deferred) {
    here.deferred = states;
  }
}

Engine::Verdict Engine::evaluate(unsigned depth, const States& states) {
  Depth& here = depths_[depth];
  std::uint64_t delta = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    delta += here.medium->hash_delta(here.cells[i], states[i]);
  }
  const std::uint64_t image = here.medium->hash_with(delta);
  auto& seen = depths_[depth + 1].seen;
  auto found = seen.find(image);
  if (found == seen.end()) {
    // Not on the depth's own thread, which may be what called this.
    std::thread([&] { found = seen.emplace(image, explore(depth + 1, states)).first; }).join();
    count_image(depth, found->second);
  }
  return verdict(depth, found->second);
}

// The failing state with the fewest cells that differ from nothing kept, or from everything kept.
Engine::States Engine::shrink(unsigned depth, const States& states, bool by_itself) {
  Depth& here = depths_[depth];
  States best = states;
  std::size_t best_differing = states.size() + 1;
  std::uint64_t tries = 0;
  for (const bool to_newest : {false, true}) {
    const auto reference = [&](std::size_t i) {
      return to_newest ? here.medium->newest(here.cells[i]) : CellState{};
    };
    States now = states;
    for (bool changed = true; changed && tries < kShrinkTries;) {
      changed = false;
      for (std::size_t i = 0; i < now.size() && tries < kShrinkTries; ++i) {
        if (now[i] == reference(i)) continue;
        const CellState before = std::exchange(now[i], reference(i));
        ++tries;
        const Verdict verdict_now = evaluate(depth, now);
        if (verdict_now.wrong.empty() || verdict_now.by_itself != by_itself) {
          now[i] = before;
        } else {
          changed = true;
        }
      }
    }
    std::size_t differing = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      differing += now[i] != reference(i);
    }
    if (differing < best_differing) {
      best = now;
      best_differing = differing;
    }
  }
  return best;
}

void Engine::fail(unsigned depth, const States& states, const Verdict& found) {
  Depth& here = depths_[depth];
  const bool first = depth == 0 ? report_.failures.empty() : here.failure.empty();
  if (!options_.keep_going) here.stopped = true;
  if (!first) return;
  std::string text = found.wrong;
  if (!here.killed_after) {  // Of a kill there is nothing to make smaller.
    const States small = options_.keep_going ? states : shrink(depth, states, found.by_itself);
    text = evaluate(depth, small).wrong;
    if (text.empty()) text = found.wrong;  // A recovery that is not deterministic.
    here.states = small;
  }
  text = explain_point(depth) + text;
  if (depth > 0) {
    here.failure = text;
    return;
  }
  report_.failures.push_back("FAILED (model " + name(options_.model) + ", seed " +
                             std::to_string(options_.seed) + ", schedule " +
                             scheduler_->schedule().describe() + ")\n" + text);
}

void Engine::mistake(unsigned depth, const std::string& text) {
  Depth& here = depths_[depth];
  if (here.stopped) return;
  here.stopped = true;
  std::string operations;
  for (const Operation& operation : here.run.operations_) {
    if (!operation.acknowledged()) operations += " " + subject_.describe(operation.id);
  }
  const std::string full =
      "  " + text + "\n" + (operations.empty() ? "" : "  during" + operations + "\n");
  if (depth > 0) {
    here.failure = full;
    return;
  }
  report_.failures.push_back("FAILED (model " + name(options_.model) + ", seed " +
                             std::to_string(options_.seed) + ", schedule " +
                             scheduler_->schedule().describe() + ")\n" + full);
}

std::string Engine::explain_point(unsigned depth) {
  const Depth& here = depths_[depth];
  std::string text = here.killed_after ? "  killed " : "  crash ";
  text += name(here.kind);
  const bool has_site = here.kind == PointKind::kFence || here.kind == PointKind::kSync ||
                        here.kind == PointKind::kStore || here.kind == PointKind::kBeforeResize ||
                        here.kind == PointKind::kAfterResize;
  if (has_site) text += " at " + to_string(here.site);
  if (depth > 0) {
    text += here.phase == Phase::kRecovering ? ", in the recovery" : ", after the recovery";
  }
  std::string in_flight;
  std::string acknowledged;
  for (const Operation& operation : here.run.operations_) {
    (operation.acknowledged() ? acknowledged : in_flight) +=
        " " + subject_.describe(operation.id) + ";";
  }
  constexpr std::size_t kTail = 400;
  if (acknowledged.size() > kTail) {
    acknowledged = " …" + acknowledged.substr(acknowledged.size() - kTail);
  }
  text += "\n";
  if (!acknowledged.empty()) text += "    acknowledged:" + acknowledged + "\n";
  if (!in_flight.empty()) text += "    in flight:" + in_flight + "\n";
  if (here.killed_after) {
    return text + "    what it stored is in the caches; " +
           std::to_string(here.last_point - *here.killed_after) +
           " stores before the next crash point were not made\n";
  }
  return text + describe_state(*here.medium, here.cells, here.states);
}

std::string Engine::where() {
  std::string text = "model " + name(options_.model) + ", seed " + std::to_string(options_.seed) +
                     ", schedule " + scheduler_->schedule().describe() + "\n";
  bool crashed = false;
  for (unsigned depth = 0; depth < options_.depth; ++depth) {
    if (!depths_[depth].trying) break;
    text += explain_point(depth);
    crashed = true;
  }
  return text + (crashed ? "  while recovering this image or going on from it\n"
                         : "  in the workload itself, no crash being tried\n");
}

Report run_check(Subject& subject, const Options& options) {
  return Engine(subject, options).run();
}

}  // namespace holdfast::crash::checker_detail
