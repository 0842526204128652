// engine.hpp: the machine of the crash checker: runs a workload, and from each of its crash points
// the recovery of each image.
//
// Internal to the checker; checker.hpp is what tests use.
#pragma once

#include <cstdint>

#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <holdfast/crash/checker.hpp>
#include <holdfast/crash/medium.hpp>
#include <holdfast/crash/recovery_thread.hpp>
#include <holdfast/crash/schedule.hpp>

namespace holdfast::crash::checker_detail {

// Depth d has the medium on which run d happens: 0 the workload, 1 the recovery from the first
// crash and the operation after it, and so on. At a crash point of depth d the images are explored
// at d + 1.
class Engine {
 public:
  Engine(Subject& subject, const Options& options);
  ~Engine();
  Report run();

  // For Workload.
  void at_point(unsigned depth, PointKind kind, const std::source_location& site);
  void mistake(unsigned depth, const std::string& text);
  const Options& options() const { return options_; }
  Scheduler& scheduler() { return *scheduler_; }
  std::string describe(std::uint64_t id) { return subject_.describe(id); }
  // For a fatal signal: where the checker is.
  std::string where();

 private:
  // What exploring one image has shown. It does not depend on what happened before the crash, so an
  // image met again, at another point, is not recovered again.
  struct Outcome {
    std::uint32_t observed = 0;
    // What recoveries from a crash inside this recovery have shown, each with one way to get there.
    std::vector<std::pair<std::uint32_t, std::string>> inner;
    std::string failure;  // Wrong whatever happened before; explained.
    bool recovered = false;
    bool counted = false;  // In the report. What only a kill led to is not.
  };

  using States = std::vector<CellState>;
  enum class Phase { kSilent, kRecovering, kOperating };

  struct Depth {
    std::unique_ptr<Medium> medium;
    Workload run;
    Phase phase = Phase::kSilent;
    std::uint32_t base = 0;
    bool stopped = false;
    std::string failure;
    std::vector<std::pair<std::uint32_t, std::string>> inner;
    std::unordered_map<std::uint64_t, Outcome> seen;  // By image hash; images at this depth.
    std::unordered_set<std::uint64_t> wrong;          // Distinct images found wrong here.
    std::optional<States>
        deferred;  // The first state of this point that only a further crash shows to be wrong.
    // Where a crash is being tried.
    bool trying = false;
    PointKind kind = PointKind::kEnd;
    std::source_location site;
    std::vector<std::uint32_t> cells;
    States states;
    std::optional<std::uint64_t> killed_after;  // Not a power failure but a kill, after this store.
    std::uint64_t last_point = 0;  // How many stores there were at the crash point before this one.
    std::unique_ptr<RecoveryThread> recoveries;  // Of the images at the next depth.
  };

  void run_schedule(const Schedule& schedule, ScheduleSource& source);
  void make_media();
  void on_recovery_thread(unsigned depth, std::size_t images, const std::function<void()>& recover);
  void explore_batch(unsigned depth, std::vector<std::pair<std::uint64_t, States>>& batch);
  Outcome explore(unsigned depth, const States& states);
  Outcome explore_killed(unsigned depth, std::uint64_t sequence);
  Outcome explore_loaded(unsigned depth);
  void try_kills(unsigned depth, std::uint64_t since);
  void count_image(unsigned depth, Outcome& outcome);
  void recover_and_go_on(unsigned depth, Outcome& outcome);
  Result<std::uint32_t> recover_quietly(unsigned depth);
  // What is wrong with an outcome in the present context of `depth`.
  struct Verdict {
    std::string wrong;       // "" if nothing is.
    bool by_itself = false;  // No further crash is needed to see it.
  };
  Verdict verdict(unsigned depth, const Outcome& outcome);
  std::string judge(unsigned depth, std::uint32_t observed);
  Verdict evaluate(unsigned depth, const States& states);
  void consider(unsigned depth, std::uint64_t image, const States& states, const Outcome& outcome);
  States shrink(unsigned depth, const States& states, bool by_itself);
  void fail(unsigned depth, const States& states, const Verdict& found);
  std::string explain_point(unsigned depth);
  std::uint64_t budget_left(unsigned depth) const;
  std::uint64_t exhaust_limit(unsigned depth) const;
  std::uint64_t sample_limit(unsigned depth) const;

  Subject& subject_;
  Options options_;
  Report report_;
  std::vector<Depth> depths_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unordered_map<std::uint64_t, std::string> verdicts_;
  std::uint64_t point_number_ = 0;
  bool in_a_kill_ = false;             // What is explored follows a kill.
  std::uint64_t images_in_kills_ = 0;  // Recovered there, at all depths.
};

}  // namespace holdfast::crash::checker_detail
