// make_golden_logs DIRECTORY: makes the golden logs of the present format, where they do not exist
// yet. Those of a released format are never made again: they must open for ever.
#include <cstdio>
#include <filesystem>

#include <holdfast/blocks/log/space.hpp>

#include "log_golden.hpp"

using namespace holdfast;
using namespace holdfast::blocks;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden_logs DIRECTORY\n");
    return 2;
  }
  for (const auto& kind : all_kinds()) {
    if (kind.format != LogFormat::kChecksum) continue;
    const std::string path = std::string(argv[1]) + "/log_" + kind.name() + ".v" +
                             std::to_string(log_detail::kLogSuperblock.version) + ".hex";
    if (std::filesystem::exists(path)) {
      std::printf("%s is there already\n", path.c_str());
      continue;
    }
    auto region = dram(kPageBytes + 4 * kGoldenLogSegment);
    fill_golden_log(region, kind.options(kGoldenLogSegment, 2));
    write_golden_log(region, path);
    std::printf("%s made\n", path.c_str());
  }
}
