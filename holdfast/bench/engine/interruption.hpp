// interruption.hpp: a measurement that is ended from outside keeps what is complete.
#pragma once

#include <atomic>

namespace holdfast::bench {

// From now on SIGINT, SIGTERM and SIGHUP end the run in an orderly way; a second one ends the
// process.
void interrupt_on_signals();
std::atomic<bool>& interrupted();

// What a command ends with: 0 done, 1 interrupted, 3 a row is not to be trusted.
constexpr int exit_code(bool trustworthy, bool was_interrupted) {
  return was_interrupted ? 1 : trustworthy ? 0 : 3;
}

}  // namespace holdfast::bench
