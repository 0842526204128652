// active_workers.hpp: how many of the workers of a query are at work, as measured.
//
// Every fifth of a second it looks at how busy they were:
//
// - For a second fewer could have done it, each busy for 70 %: so many are tried. A merge that one
//   worker makes while the others wait is shorter.
// - None had any rest: twice as many are tried, up to those that have a core of their own, then
//   all. Or, if there are more than cores, as many as there are cores: whether threads that share a
//   core are worth it depends on the query.
//
// What was tried is kept if it was worth it, by the rows that came in a second: more workers if
// they are faster, or leave some rest and are as fast (then the source sets the pace); fewer if
// they are as fast. If not, the former number stays for a minute.
//
// After Benson, "Efficient State Management with Persistent Memory", 2023, 5.4.3 and 5.5: pipelines
// with little to do are merged, those that hold rows up are split, and whether threads share a
// core depends on the workload. The text has no numbers, and does not say when a split is taken
// back; both are ours.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace holdfast::stream {

struct ActiveTimes {
  double look_seconds = 0.2;
  double keep_seconds = 60;
  bool measured = true;  // False: all are at work.
};

class ActiveWorkers {
 public:
  static constexpr double kNoRest = 0.8;  // So much of its time a worker wants the CPU.
  static constexpr double kFull = 0.7;    // As much as fewer workers may have to do.
  static constexpr double kWorthwhile = 0.05;
  static constexpr double kAsFast = 0.8;  // A source has no even pace.
  static constexpr double kWarm = 1;      // Seconds before the first trial.
  static constexpr unsigned kCalm = 5;    // Looks one after the other.

  // `cores`: how many of them have a core of their own.
  ActiveWorkers(unsigned most, unsigned cores, ActiveTimes times = {})
      : most_(most),
        cores_(std::clamp(cores, 1u, most)),
        times_(times),
        number_(most),
        since_trial_(times.keep_seconds - kWarm) {}

  unsigned number() const { return number_; }

  // A round: how long it took, and how many of its workers wanted a CPU, on average.
  void note(std::uint64_t rows, double seconds, double busy) {
    if (!times_.measured) return;
    rows_ += static_cast<double>(rows);
    seconds_ += seconds;
    busy_seconds_ += busy * seconds;
    since_trial_ += seconds;
    if (seconds_ <= times_.look_seconds) return;
    look(busy_seconds_ / seconds_, rows_ / seconds_);
    rows_ = seconds_ = busy_seconds_ = 0;
  }

 private:
  void look(double busy, double rate) {
    const bool no_rest = busy >= kNoRest * number_;
    calm_ = busy <= kFull * (number_ - 1) ? calm_ + 1 : 0;
    busiest_ = calm_ <= 1 ? busy : std::max(busiest_, busy);
    if (before_ != 0) {
      judge(no_rest, rate);
    } else if (no_rest && since_trial_ >= times_.keep_seconds) {
      if (number_ > cores_) {
        try_number(cores_, rate, 1 - kWorthwhile);
      } else if (number_ < most_) {
        try_number(std::min(2 * number_, number_ < cores_ ? cores_ : most_), rate, kAsFast);
      }
    } else if (calm_ >= kCalm && may_rest()) {
      try_number(std::max(1u, static_cast<unsigned>(std::ceil(busiest_ / kFull))), rate, kAsFast);
      resting_ = true;
    }
  }

  bool may_rest() const { return !rest_failed_ || since_trial_ >= times_.keep_seconds; }

  void try_number(unsigned number, double rate, double as_fast) {
    before_ = number_;
    before_rate_ = rate;
    as_fast_ = as_fast;
    number_ = number;
    calm_ = 0;
    resting_ = false;
  }

  void judge(bool no_rest, double rate) {
    const bool more = number_ > before_;
    const double wanted = before_rate_ * (more && no_rest ? 1 + kWorthwhile : as_fast_);
    const bool worth_it = rate >= wanted;
    if (!worth_it || (!resting_ && (!more || number_ > cores_))) since_trial_ = 0;
    if (resting_) rest_failed_ = !worth_it;
    if (!worth_it) number_ = before_;
    before_ = 0;
  }

  const unsigned most_, cores_;
  const ActiveTimes times_;
  unsigned number_;
  double since_trial_;  // Seconds since one that is not to be made again at once.
  // While another number is tried: how many there were, and how fast these were.
  unsigned before_ = 0;
  double before_rate_ = 0, as_fast_ = 0;
  bool resting_ = false, rest_failed_ = false;
  unsigned calm_ = 0;   // Looks, up to the last, that found too many,
  double busiest_ = 0;  // and how many workers were busy at most in them.
  double rows_ = 0, seconds_ = 0, busy_seconds_ = 0;
};

}  // namespace holdfast::stream
