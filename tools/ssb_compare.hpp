// ssb_compare.hpp: the star beside others: rounds in turn, answers compared, ratios with intervals.
//
// A round asks each query of all, one after the other, so that what disturbs the machine disturbs
// all, and a ratio is of one round. An answer that is not the star's, row by row, ends the run: no
// time is printed for something else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <holdfast/base/result.hpp>

#include "ssb_subject.hpp"
#include "tour_process.hpp"

namespace holdfast::tools {

// Seconds of all timed rounds, query by query.
struct SsbTimes {
  std::vector<std::string> queries;
  std::vector<std::vector<double>> seconds;
};

class SsbComparison {
 public:
  // Those that --compare names, started, with the tables that the star was loaded from; nobody
  // where it names none. The team is for the row baseline, and must outlive the comparison.
  // Errors: kInvalidOption, kNotFound (a package that is missing), kIo.
  static Result<SsbComparison> start(const SsbArguments& arguments, olap::Team& team);

  bool empty() const { return others_.empty(); }
  // Asks all for a query; `place` is its number. Not timed: answers are compared only.
  // Errors: kCorrupt (an answer differs: says whose and where), kIo.
  Status ask(std::size_t place, const olap::StarQuery& query, const olap::ResultTable& ours,
             bool timed);

  // Of the star's times in the same rounds.
  void print(const SsbTimes& ours) const;
  void add_to(nlohmann::ordered_json& document, const SsbTimes& ours, unsigned threads) const;

 private:
  struct Other {
    std::unique_ptr<SsbSubject> subject;
    std::vector<std::vector<double>> seconds;  // By query.
  };
  SsbComparison() = default;

  std::optional<ScratchDirectory> scratch_;  // Outlives the processes that use it.
  std::vector<Other> others_;
};

}  // namespace holdfast::tools
