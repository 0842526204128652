#include <holdfast/bench/engine/interruption.hpp>

#include <csignal>

namespace holdfast::bench {
namespace {

void on_signal(int signal) {
  interrupted().store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

std::atomic<bool>& interrupted() {
  static std::atomic<bool> flag{false};
  return flag;
}

void interrupt_on_signals() {
  (void)interrupted();  // Made here, so that the handler does not initialise a static.
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  // A connection that is lost; under nohup it stays ignored.
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

}  // namespace holdfast::bench
