// wake.hpp: how writers ask for the store's own work: room ahead of them, space back.
//
// Threads    ask(), stopped(): any. The rest: the store's, before there are callers or after them.
#pragma once

#include <atomic>

#include <holdfast/kv/crew.hpp>

namespace holdfast::kv {

class Wake {
 public:
  // From now on ask() asks for rounds of this job; null: of none.
  void lead_to(Crew* crew, Crew::Job* job) { crew_ = crew, job_ = job; }
  void ask() {
    if (job_ != nullptr) crew_->ask(*job_);
  }
  // The work under way is to end soon, and none is to begin.
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  Crew* crew_ = nullptr;
  Crew::Job* job_ = nullptr;
  std::atomic<bool> stopped_{false};
};

}  // namespace holdfast::kv
