// shared_run.hpp: one query, shared out between processes by the splits of its source. Each split
// is a run of its own, with its state, its checkpoints and its part of the sink.
//
// Guarantee  Splits of a member that is gone go on elsewhere from their last checkpoints. A member
//            that comes gets its share: others end theirs with a checkpoint and give them back.
// Threads    Each split has a thread. `run` is called by several at a time.
// Errors     Those of a split's run: the others are stopped with a checkpoint, and the first error
//            is returned.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::stream {

struct SharedRun {
  std::string directory;  // Of members and locks: members.hpp.
  std::vector<std::string> splits;
  // Runs a split until its end or until `stop`, which leaves a checkpoint. True: to its end.
  std::function<Result<bool>(const std::string& split, const std::atomic<bool>& stop)> run;
  // May be empty. What this member holds now, whenever that changes.
  std::function<void(const std::vector<std::string>& held, std::size_t members)> shares;
};

// Runs until all splits have ended or `stop` is raised.
Status run_shared(const SharedRun& shared, const std::atomic<bool>& stop);

}  // namespace holdfast::stream
