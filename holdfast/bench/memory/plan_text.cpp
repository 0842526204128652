// A plan in words: for --list and --dry-run.
#include <algorithm>
#include <string>
#include <vector>

#include <holdfast/base/format.hpp>
#include <holdfast/base/printed.hpp>
#include <holdfast/bench/memory/plan.hpp>
#include <holdfast/bench/memory/worker.hpp>

namespace holdfast::bench::memory {

std::string list_text(const Plan& plan) {
  std::string text;
  std::size_t width = 0;
  for (const auto& benchmark : plan.workloads.benchmarks)
    width = std::max(width, display_width(benchmark.name));
  for (const auto& benchmark : plan.workloads.benchmarks) {
    const auto count = std::count_if(plan.runs.begin(), plan.runs.end(), [&](const auto& run) {
      return run.benchmark->name == benchmark.name;
    });
    text += pad_right(benchmark.name, width) + "  " + pad_left(std::to_string(count), 4) +
            (count == 1 ? " run   " : " runs  ");
    std::vector<std::string> keys;
    for (const auto& part : benchmark.parts)
      keys.insert(keys.end(), part.matrix_keys.begin(), part.matrix_keys.end());
    text +=
        benchmark.description.empty() ? joined(keys, " x ") : escape(benchmark.description, 200);
    text += "\n";
  }
  return text;
}

std::string dry_run_text(const Plan& plan) {
  std::string text;
  for (const auto& run : plan.runs) {
    text += run.label + "\n";
    for (const auto& part : run.parts) {
      const auto& c = part.config;
      text += "    ";
      if (run.parts.size() > 1) text += part.part->name + ": ";
      text +=
          std::to_string(c.number_threads) + (c.number_threads == 1 ? " thread, " : " threads, ");
      if (c.custom())
        text += "chain " + to_string(c.chain);
      else if (c.chase())
        text += "chase";
      else
        text += std::string(name(c.exec_mode)) + " " +
                (c.write_ratio > 0 && c.write_ratio < 1 ? std::string("read and write")
                                                        : std::string(name(c.operation))) +
                " of " + format_bytes(c.access_bytes);
      if (c.has_writes() && !c.custom() && !is_atomic(c))
        text += ", persist " + std::string(name(c.persist));
      if (part.uses_target)
        text += ", " + format_bytes(c.memory_range.bytes) + " of " + part.target.name + " (" +
                part.target.spec + ")";
      if (part.uses_dram)
        text += ", " + format_bytes(c.dram_memory_range.bytes) + " of " + part.dram.name + " (" +
                part.dram.spec + ")";
      text += "\n";
    }
  }
  return text;
}

}  // namespace holdfast::bench::memory
