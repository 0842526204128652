#include <holdfast/results/again.hpp>

#include <algorithm>
#include <cmath>

#include <holdfast/base/printed.hpp>
#include <holdfast/results/statistics.hpp>

namespace holdfast::results {
namespace {

// The clock of a core is told from a few microseconds: less than this is noise.
constexpr double kClockLimit = 0.01;
constexpr double kCpuShareLimit = 0.99;

class Reasons {
 public:
  Reasons(const Row& first, const Row& again) : first_(first), again_(again) {}

  std::string text() {
    others();
    host();
    faults();
    clock();
    pinning();
    spread();
    chance();
    if (text_.empty())
      text_ =
          "and nothing that was recorded explains it: CPU time, switches, page faults, core clock, "
          "stolen time and spread are alike; measure again, with more repetitions";
    return text_;
  }

 private:
  void add(const std::string& reason) { text_ += (text_.empty() ? "" : "; ") + reason; }
  double most(const char* field) const {
    return std::fmax(first_.number(field), again_.number(field));
  }

  void others() {
    const auto least = std::fmin(first_.number("cpu_share"), again_.number("cpu_share"));
    if (!(least < kCpuShareLimit)) return;
    add(printed(
        "others ran on its CPUs (%.0f and %.0f involuntary switches, its threads had %.1f %% "
        "and %.1f %% of the time)",
        first_.number("involuntary_switches"), again_.number("involuntary_switches"),
        100 * first_.number("cpu_share"), 100 * again_.number("cpu_share")));
  }
  void host() {
    if (most("stolen_ratio") > 0)
      add(printed("the host of this virtual machine took up to %.1f %% of a repetition's CPU time",
                  100 * most("stolen_ratio")));
  }
  void faults() {
    if (first_.number("page_faults") != again_.number("page_faults"))
      add(printed("%.0f page faults the first time and %.0f the second",
                  first_.number("page_faults"), again_.number("page_faults")));
  }
  void clock() {
    const auto before = median(first_.numbers("core_ghz_samples"));
    const auto after = median(again_.numbers("core_ghz_samples"));
    if (std::abs(after / before - 1) > kClockLimit)
      add(printed("the cores ran at %.2f GHz the first time and at %.2f GHz the second", before,
                  after));
  }
  void pinning() {
    if (again_.text("thread_pinning") == "none") add("its threads are not pinned");
  }
  void spread() {
    if (most("spread_ratio") > kAgainLimit)
      add(printed("repetitions differ by %.1f %% the first time and by %.1f %% the second",
                  100 * first_.number("spread_ratio"), 100 * again_.number("spread_ratio")));
  }
  void chance() {
    const auto low = again_.number("time_x_holdfast_low");
    const auto high = again_.number("time_x_holdfast_high");
    if (low <= 1 && 1 <= high)
      add(printed("the interval of their ratio, %.3f to %.3f, has 1 in it: it may be chance", low,
                  high));
  }

  const Row& first_;
  const Row& again_;
  std::string text_;
};

}  // namespace

std::string why_apart(const Row& first, const Row& again) { return Reasons(first, again).text(); }

bool judge_again(Row& again, const Row& first) {
  const auto apart = std::abs(again.number("time_x_holdfast_median") - 1);
  if (apart < kAgainLimit) return true;
  again.warn(printed("A/A: differs from the same measurement by %.1f %%: ", 100 * apart) +
             why_apart(first, again));
  return false;
}

}  // namespace holdfast::results
