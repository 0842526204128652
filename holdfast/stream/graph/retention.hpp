// retention.hpp: how long state is kept that no row has changed (Flink: 'table.exec.state.ttl').
//
// Guarantee  An entry is kept for `idle_ms` after its last change at least. It goes with the first
//            row that comes half as long again after that, or before.
// Time       Of the machine's clock: it goes on while a query does not run.
#pragma once

#include <cstdint>

#include <holdfast/stream/graph/clock.hpp>

namespace holdfast::stream::graph {

struct Retention {
  std::int64_t idle_ms = 0;  // 0: without end.
  std::int64_t (*now)() = system_clock_ms;

  bool ends() const { return idle_ms != 0; }
};

// When an operator looks through its state: each half of the time that it is kept.
class Sweeps {
 public:
  explicit Sweeps(const Retention& retention) : retention_(retention) {}

  // Whether it is time, and until when an entry must have changed to stay.
  bool due(std::int64_t& oldest) {
    if (!retention_.ends()) return false;
    const auto now = retention_.now();
    if (now < next_) return false;
    next_ = now + (retention_.idle_ms + 1) / 2;
    oldest = now - retention_.idle_ms;
    return true;
  }

 private:
  Retention retention_;
  std::int64_t next_ = 0;
};

}  // namespace holdfast::stream::graph
