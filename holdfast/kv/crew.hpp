// crew.hpp: a few threads that do many jobs, each again and again.
//
// A job has rounds: one after each interval, or earlier when it is asked for. No two threads do
// rounds of one job at a time. Of the jobs that are due, the one whose last round is the longest
// ago comes first, so that none of them starves.
//
// Threads    Any, except in a round: add() and remove() are not called there. The crew starts a
//            thread for each job up to its limit, and ends them when it is destroyed.
// Fork       A child that fork() makes has none of the threads: add() refuses there, and the
//            destructor leaves everything as it is.
// Cost       Choosing a round is O(jobs).   Errors  kNoSpace: no thread could be started.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include <holdfast/base/result.hpp>

namespace holdfast::kv {

class Crew {
 public:
  struct Job;

  explicit Crew(unsigned most_threads);
  ~Crew();  // All jobs were removed.
  Crew(const Crew&) = delete;

  Result<Job*> add(std::chrono::milliseconds interval, std::function<void()> round);
  // Returns when no round of it is under way; none follows.
  void remove(Job* job);
  // A round soon. Without a lock: one that comes too early is heard at the next interval.
  void ask(Job& job);

  unsigned threads() const;         // Started so far.
  bool of_another_process() const;  // It was made before a fork().

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::kv
