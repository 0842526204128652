#include <holdfast/bench/kv/device_counters.hpp>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace holdfast::bench::kv {
namespace {

constexpr std::uint64_t kSectorBytes = 512;  // In /proc/diskstats, whatever the device has.

// "254 0 vda reads merged sectors ms writes merged sectors ms …"
void add_device(const std::string& path, DeviceCounts& counts) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return;
  std::ifstream stats("/proc/diskstats");
  for (std::string line; std::getline(stats, line);) {
    std::istringstream words(line);
    unsigned major_number = 0, minor_number = 0;
    std::string name;
    std::uint64_t reads, reads_merged, sectors_read, read_ms, writes, writes_merged,
        sectors_written;
    if (!(words >> major_number >> minor_number >> name >> reads >> reads_merged >> sectors_read >>
          read_ms >> writes >> writes_merged >> sectors_written))
      continue;
    if (major_number != major(info.st_dev) || minor_number != minor(info.st_dev)) continue;
    counts.device_known = true;
    counts.reads = reads;
    counts.read_bytes = sectors_read * kSectorBytes;
    counts.writes = writes;
    counts.write_bytes = sectors_written * kSectorBytes;
    return;
  }
}

void add_process(DeviceCounts& counts) {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  while (io >> name >> bytes) {
    if (name == "read_bytes:") counts.process_read_bytes = bytes;
    if (name == "write_bytes:") counts.process_write_bytes = bytes;
    counts.process_known = true;
  }
}

}  // namespace

DeviceCounts device_counts(const std::string& path) {
  DeviceCounts counts;
  add_device(path, counts);
  add_process(counts);
  return counts;
}

results::Fields per_operation(const DeviceCounts& before, const DeviceCounts& after,
                              std::uint64_t operations) {
  results::Fields fields;
  const auto set = [&](const char* name, std::uint64_t first, std::uint64_t last) {
    fields.set(name, static_cast<double>(last - std::min(first, last)) /
                         static_cast<double>(std::max<std::uint64_t>(operations, 1)));
  };
  if (before.device_known && after.device_known) {
    set("device_reads_per_op", before.reads, after.reads);
    set("device_read_bytes_per_op", before.read_bytes, after.read_bytes);
    set("device_writes_per_op", before.writes, after.writes);
    set("device_write_bytes_per_op", before.write_bytes, after.write_bytes);
  }
  if (before.process_known && after.process_known) {
    set("process_read_bytes_per_op", before.process_read_bytes, after.process_read_bytes);
    set("process_write_bytes_per_op", before.process_write_bytes, after.process_write_bytes);
  }
  return fields;
}

}  // namespace holdfast::bench::kv
