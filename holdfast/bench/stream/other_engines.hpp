// other_engines.hpp: what `holdfast stream bench --compare` measures beside queries of ours:
// engines that others made. The command gives them to the suite (peers/stream/stream_peers.hpp).
//
// Threads  One at a time.
#pragma once

#include <string>
#include <vector>

#include <holdfast/bench/runner.hpp>
#include <holdfast/bench/stream/nexmark_subject.hpp>
#include <holdfast/bench/stream/stream_suite.hpp>
#include <holdfast/bench/stream/window_sum.hpp>

namespace holdfast::bench::stream {

class OtherEngines {
 public:
  virtual ~OtherEngines() = default;

  // How rows name those that are asked for. Errors: kInvalidOption (there is no such engine).
  virtual Result<std::vector<std::string>> names(const std::vector<std::string>& asked) const = 0;
  // Those of options.compare, if any. Errors: kNotFound (one is not installed: says how to), kIo.
  virtual Status start(const StreamBenchOptions& options) = 0;
  // A subject of each that has the query, which outlives them; the others are added to `missing`.
  virtual std::vector<SubjectEntry> subjects(const WindowSum& query, const sql::Plan& plan,
                                             std::vector<std::string>& missing) = 0;
  virtual std::vector<SubjectEntry> subjects(const NexmarkQuery& query,
                                             std::vector<std::string>& missing) = 0;
};

}  // namespace holdfast::bench::stream
