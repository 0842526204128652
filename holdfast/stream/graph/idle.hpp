// idle.hpp: when a table that had no row is asked for one again, while others have rows.
//
// A source without a row waits for one, 100 ms at most (source.hpp), and so do the other tables of
// its query meanwhile. So it is left alone kRest times as long as its last answer took: the others
// have the clock for all but an eleventh.
//
// Threads  One at a time.
#pragma once

#include <chrono>
#include <utility>

namespace holdfast::stream::graph {

class Idle {
 public:
  using Clock = std::chrono::steady_clock;

  bool rests(Clock::time_point now) const { return now < ask_again_; }
  // It is asked; then it had a row or had none. A table that has rows looks at no clock.
  void ask() {
    if (had_none_) asked_ = Clock::now();
  }
  void answer(bool row) {
    if (row) return static_cast<void>(*this = {});
    if (!std::exchange(had_none_, true)) return;
    const auto now = Clock::now();
    if (now - asked_ >= kWait) ask_again_ = now + kRest * (now - asked_);
  }

 private:
  static constexpr int kRest = 10;
  static constexpr std::chrono::milliseconds kWait{10};  // Else it read, and found none.

  bool had_none_ = false;
  Clock::time_point asked_, ask_again_;
};

}  // namespace holdfast::stream::graph
