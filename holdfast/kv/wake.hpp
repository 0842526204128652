// wake.hpp: how writers ask for the store's own work: room ahead of them, space back.
//
// Threads    ask(), stopped(): any. The rest: the store's, before there are callers or after them;
//            but the job itself may ask while lead_to() is called.
#pragma once

#include <atomic>

#include <holdfast/kv/crew.hpp>

namespace holdfast::kv {

class Wake {
 public:
  // From now on ask() asks for rounds of this job; null: of none.
  // The job may have begun before: a round that asks until then asks for nothing.
  void lead_to(Crew* crew, Crew::Job* job) {
    crew_.store(crew, std::memory_order_relaxed);
    job_.store(job, std::memory_order_release);
  }
  void ask() {
    if (Crew::Job* const job = job_.load(std::memory_order_acquire); job != nullptr)
      crew_.load(std::memory_order_relaxed)->ask(*job);
  }
  // The work under way is to end soon, and none is to begin.
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Crew*> crew_{nullptr};  // Of job_.
  std::atomic<Crew::Job*> job_{nullptr};
  std::atomic<bool> stopped_{false};
};

}  // namespace holdfast::kv
