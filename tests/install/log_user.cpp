// A user of log.hpp: a region in a plain file, a log that fills it, records that are read back.
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/blocks/log/log.hpp>

using holdfast::Region;
using holdfast::RegionOptions;
using holdfast::blocks::Log;

int main(int, char** argv) {
  RegionOptions options;
  options.layout = holdfast::RegionLayout::kFile;
  options.size_bytes = options.unit_bytes = 64 << 20;
  auto region = Region::open(argv[1], options);
  if (!region) return std::fprintf(stderr, "%s\n", region.error().message().c_str()), 1;
  auto log = Log::create(*region, holdfast::blocks::whole(*region));
  if (!log) return std::fprintf(stderr, "%s\n", log.error().message().c_str()), 1;
  for (const std::string_view word : {"one", "two", "three"}) {
    if (!log->append(std::as_bytes(std::span{word}))) return 1;
  }
  if (!log->sync()) return 1;
  std::string text;
  for (auto reader = log->read(); reader.next().value_or(false);) {
    const auto record = reader.record();
    text += (text.empty() ? "" : " ");
    text.append(reinterpret_cast<const char*>(record.data()), record.size());
  }
  std::printf("%s\n", text.c_str());
}
