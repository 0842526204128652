// crash_test.cpp: tests checkpoint.hpp in every state that a power failure can leave.
//
//   crash_test                  exit code 0: the structure keeps its promise
//   crash_test --without-fence  exit code 1: shows what a forgotten fence loses
//
// docs/test_your_structure.md.
#include <iostream>
#include <string>

#include <holdfast/crash/checker.hpp>

#include "checkpoint.hpp"

namespace crash = holdfast::crash;

// What operation `id` writes: a pair that belongs together.
Position position_of(std::uint64_t id) { return {id * 1000, id}; }

crash::Protocol<Position> protocol(bool careful) {
  crash::Protocol<Position> protocol;
  // What the program does. After acknowledge() a crash must not lose the operation.
  protocol.workload = [=](holdfast::Region& region, crash::Workload& run) {
    Checkpoint checkpoint(region);
    for (std::uint64_t id = 1; id <= 3; ++id) {
      run.begin(id);
      checkpoint.update(position_of(id), careful);
      run.acknowledge(id);
    }
  };
  // What a reader sees after a crash.
  protocol.recover = [](holdfast::Region& region) -> holdfast::Result<Position> {
    return Checkpoint(region).read();
  };
  // Is that right? The last acknowledged position, or the one of the operation in flight.
  protocol.check = [](const crash::Past<Position>& past, const Position& seen) -> std::string {
    Position expected = past.base;
    for (const auto& operation : past.operations) {
      if (!operation.acknowledged() && seen == expected) return "";
      expected = position_of(operation.id);
    }
    if (seen == expected) return "";
    return "the position is neither the last acknowledged one nor the one in flight";
  };
  // The structure must go on after a recovery. Crashes are tried in here, too.
  protocol.then = [=](holdfast::Region& region, crash::Workload& run, const Position&) {
    run.begin(9);
    Checkpoint(region).update(position_of(9), careful);
    run.acknowledge(9);
  };
  protocol.print = [](const Position& seen) {
    return "offset " + std::to_string(seen.offset) + ", count " + std::to_string(seen.count);
  };
  return protocol;
}

int main(int count, char** arguments) {
  const bool careful = count < 2 || std::string(arguments[1]) != "--without-fence";
  bool good = true;
  // A checkpoint stores to its mapping, so media that are written by system calls are not for it.
  for (const auto& model : {crash::kLine, crash::kLineStreaming, crash::kByte}) {
    const auto report = crash::check(protocol(careful), {.model = model});
    std::cout << report << "\n";
    good = good && report.ok();
    // Two fences for each update: a number worth a test of its own.
    if (careful && report.operation(2).barriers() != 2) good = false;
    if (report.images_in_all() < 5)
      good = false;  // Nothing tested would pass for the wrong reason.
  }
  return good ? 0 : 1;
}
