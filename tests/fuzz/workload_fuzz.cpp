// workload_fuzz.cpp: any bytes as a workload file. Whatever they are, they give mistakes or a plan;
// chains are read by themselves, too. Nothing is measured.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <holdfast/bench/memory/workload_file.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast::bench::memory;
  const std::string text(reinterpret_cast<const char*>(data), size);
  Workloads workloads;
  holdfast::yaml::Diagnostics diagnostics;
  read_workload_text(text, "fuzz.yaml", workloads, diagnostics);
  // What is right has a configuration that holds its own rules.
  for (const auto& benchmark : workloads.benchmarks) {
    for (const auto& part : benchmark.parts) {
      if (part.variants.empty() || !problems_of(part.variants.front().config).empty()) std::abort();
    }
  }
  (void)diagnostics.text();
  if (const auto chain = parse_chain(text)) {
    // Written and read again it is the same chain.
    if (parse_chain(to_string(*chain)).value() != *chain) std::abort();
  }
  return 0;
}
