#include <holdfast/bench/engine/samples.hpp>

#include <algorithm>
#include <cmath>

#include <holdfast/results/statistics.hpp>

namespace holdfast::bench {
namespace {

template <class Number>
std::vector<double> of_each(const std::vector<Sample>& samples, const Number& number) {
  std::vector<double> values;
  for (const auto& sample : samples)
    values.push_back(number(sample));
  return values;
}

}  // namespace

std::vector<std::size_t> rotated(std::size_t count, std::size_t by) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i)
    order[i] = (i + by) % count;
  return order;
}

std::uint64_t Samples::counted() const {
  return static_cast<std::uint64_t>(std::count_if(
      all_.begin(), all_.end(), [](const Sample& sample) { return !std::isnan(sample.seconds); }));
}

std::vector<double> Samples::ops_per_s() const {
  return of_each(all_, [](const Sample& s) { return s.operations / s.seconds; });
}

std::vector<double> Samples::bytes_per_s() const {
  return of_each(all_, [](const Sample& s) { return s.bytes / s.seconds; });
}

std::vector<double> Samples::cpu_ns_per_op() const {
  return of_each(all_, [](const Sample& s) { return 1e9 * s.cpu_seconds / s.operations; });
}

void Samples::describe(results::Row& row) const {
  const auto rates = ops_per_s();
  const auto rate = results::estimate(rates);
  set_estimate(row, "ops_per_s", rates);
  row.set("interval_coverage", rate.coverage);
  row.set("ns_per_op_median", 1e9 * static_cast<double>(row.threads()) / rate.median);
  row.set("repetitions", counted());
  if (const auto cpu = results::median(cpu_ns_per_op()); !std::isnan(cpu))
    row.set("cpu_ns_per_op_median", cpu);
  if (const auto bytes = bytes_per_s(); results::median(bytes) > 0)
    set_estimate(row, "bytes_per_s", bytes);
}

void set_interval(results::Row& row, const std::string& name, const std::vector<double>& values) {
  const auto interval = results::estimate(values);
  row.set(name + "_median", interval.median);
  row.set(name + "_low", interval.low);
  row.set(name + "_high", interval.high);
}

void set_estimate(results::Row& row, const std::string& name, const std::vector<double>& values) {
  set_interval(row, name, values);
  row.set(name + "_samples", values);
}

void compare(results::Row& row, const Samples& samples, const Samples& baseline,
             const std::string& name) {
  // Time is the inverse of the rate.
  const auto ratios = results::paired_ratios(baseline.ops_per_s(), samples.ops_per_s());
  if (!std::isnan(results::median(ratios))) set_interval(row, "time_x_" + name, ratios);
}

}  // namespace holdfast::bench
