// make_golden_indexes DIRECTORY: makes the golden indexes of the present formats, where they do not
// exist yet. Those of a released format are never made again: they must open for ever.
#include <cstdio>
#include <filesystem>

#include "index_golden.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::index;

template <class Index>
void make(const std::string& directory) {
  const auto path = directory + "/" + Golden<Index>::kName + ".v1.hex";
  if (std::filesystem::exists(path)) {
    std::printf("%s is there already\n", path.c_str());
    return;
  }
  auto region = region_of(kGoldenBytes);
  fill_golden<Index>(region);
  write_golden(region, path);
  std::printf("%s made\n", path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden_indexes DIRECTORY\n");
    return 2;
  }
  make<Dash>(argv[1]);
  make<NumberedBytes>(argv[1]);
  make<FpTree>(argv[1]);
  make<FastFair>(argv[1]);
}
