// samples.hpp: what the repetitions of one row come to.
//
// Every benchmark of the project measures its subjects in turn, in each repetition in another order
// (rotated()), and gives the median with an interval (statistics.hpp). Ratios divide repetition by
// repetition, so that what disturbed the machine cancels out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <holdfast/bench/engine/interruption.hpp>
#include <holdfast/results/result.hpp>

namespace holdfast::bench {

// 0 … count-1 beginning with `by` % count.
std::vector<std::size_t> rotated(std::size_t count, std::size_t by);

// Calls begin(repetition) and then turn(subject, repetition) for each subject, the order rotated,
// until begin() returns false, a turn fails, the repetitions are done, or the run is interrupted.
template <class Begin, class Turn>
Status in_turn(std::size_t subjects, unsigned repetitions, const Begin& begin, const Turn& turn) {
  for (unsigned repetition = 0; repetition < repetitions; ++repetition) {
    if (interrupted() || !begin(repetition)) return {};
    for (const auto subject : rotated(subjects, repetition)) {
      if (interrupted()) return {};
      HF_RETURN_IF_ERROR(turn(subject, repetition));
    }
  }
  return {};
}

// One repetition of one row. NaN: not measured.
struct Sample {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double operations = kNone;
  double seconds = kNone;
  double bytes = kNone;
  double cpu_seconds = kNone;
};

class Samples {
 public:
  Samples() = default;
  explicit Samples(unsigned repetitions) : all_(repetitions) {}

  void set(unsigned repetition, const Sample& sample) { all_.at(repetition) = sample; }
  // Repetitions that counted.
  std::uint64_t counted() const;
  std::vector<double> ops_per_s() const;
  std::vector<double> bytes_per_s() const;
  std::vector<double> cpu_ns_per_op() const;

  // ops_per_s_*, interval_coverage, ns_per_op_median, repetitions and, where they were measured,
  // cpu_ns_per_op_median and bytes_per_s_*.
  void describe(results::Row& row) const;

 private:
  std::vector<Sample> all_;
};

// <name>_median, _low, _high of a row, and with its samples.
void set_interval(results::Row& row, const std::string& name, const std::vector<double>& values);
void set_estimate(results::Row& row, const std::string& name, const std::vector<double>& values);

// time_x_<name>_median, _low, _high: of the row over the baseline's. Nothing where no repetition
// counted for both.
void compare(results::Row& row, const Samples& samples, const Samples& baseline,
             const std::string& name);

}  // namespace holdfast::bench
